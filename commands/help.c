/* Printing of help. */
#include "commands/options.h"

#include "commands/screen.h"

#include "analyze/formula.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MOST = 96, HELP_INDENT = 26, GROUPED_FROM = 12, EXAMPLES_MOST = 2, SCREEN_WIDTH = 80 };

static int help_width(void)
{
    return screen_width() < WIDTH_MOST ? screen_width() : WIDTH_MOST;
}

/* Prints TEXT filled to the width of the screen, indented by `indent` after line 1; starts in
 * column `at`. */
static void print_filled(FILE *f, const char *text, int indent, int at)
{
    const char *word = text;

    while (*word) {
        int length = (int)strcspn(word, " \n");

        if (at > indent && at + 1 + length > help_width()) {
            fprintf(f, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', f);
            at++;
        }
        fprintf(f, "%.*s", length, word);
        at += length;
        word += length;
        word += strspn(word, " \n");
    }
    fputc('\n', f);
}

/* Paragraphs separated by empty lines; lines that begin with a blank are kept. */
static void print_paragraphs(FILE *f, const char *text)
{
    const char *line = text;

    while (*line) {
        size_t length = strcspn(line, "\n");

        if (length == 0 || *line == ' ') {
            fprintf(f, "%.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        } else {
            const char *end = strstr(line, "\n\n"), *kept = strstr(line, "\n ");
            char paragraph[2048];
            size_t size;

            end = kept && (!end || kept < end) ? kept : end;
            size = end ? (size_t)(end - line) : strlen(line);
            snprintf(paragraph, sizeof paragraph, "%.*s", (int)size, line);
            print_filled(f, paragraph, 0, 0);
            line += size + (line[size] == '\n');
        }
    }
}

static const char *const group_titles[OPTION_GROUPS] = {
    [GROUP_INPUT] = "Input",         [GROUP_MEASURED] = "What is measured",
    [GROUP_MODEL] = "Model changes", [GROUP_MACHINE] = "Machine",
    [GROUP_FIGURE] = "Figure",       [GROUP_OUTPUT] = "Output",
    [GROUP_RUN] = "Run control"};

/* Lines of the synopsis, each filled and under the beginning of the first. */
static void print_synopsis(FILE *f, const struct verb *v)
{
    const char *line = v->synopsis;
    int first = 1, indent = 13 + (int)strlen(v->name) + 1;

    while (*line) {
        int length = (int)strcspn(line, "\n");
        char one[512];

        snprintf(one, sizeof one, "%.*s", length, line);
        fprintf(f, "%s%s%*s ", first ? "usage: " : "       ", first ? "reach " : "      ",
                (int)strlen(v->name), first ? v->name : "");
        print_filled(f, one, indent, indent);
        first = 0;
        line += length + (line[length] == '\n');
    }
    if (first)
        fprintf(f, "usage: reach %s\n", v->name);
}

static void print_row(FILE *f, const char *dashed, const char *value, const char *help)
{
    int at = fprintf(f, "  %s%s%s", dashed, value ? " " : "", value ? value : "");

    if (at + 2 > HELP_INDENT)
        at = 0, fputc('\n', f);
    fprintf(f, "%*s", HELP_INDENT - at, "");
    print_filled(f, help, HELP_INDENT, HELP_INDENT);
}

void option_help(char *out, size_t size, const struct option_row *o)
{
    const char *place = strstr(o->help, "%s"), *standard = o->standard ? o->standard : "";

    if (place)
        snprintf(out, size, "%.*s%s%s", (int)(place - o->help), o->help, standard, place + 2);
    else
        snprintf(out, size, o->standard ? "%s (default %s)" : "%s", o->help, standard);
}

void option_brief(char *out, size_t size, const struct option_row *o)
{
    static const char *const ends[] = {"; ", ". ", ": ", " ("};
    size_t length = strlen(o->brief ? o->brief : o->help);

    for (size_t i = 0; i < sizeof ends / sizeof *ends && !o->brief; i++) {
        const char *end = strstr(o->help, ends[i]);

        if (end && (size_t)(end - o->help) < length)
            length = (size_t)(end - o->help);
    }
    snprintf(out, size, o->standard ? "%.*s (default %s)" : "%.*s", (int)length,
             o->brief ? o->brief : o->help, o->standard);
}

static void print_option(FILE *f, const struct option_row *o)
{
    char dashed[OPTION_NAME_MAX], help[HELP_MAX];

    option_help(help, sizeof help, o);
    print_row(f, option_dashed(dashed, o->name), o->value, help);
}

/* The rows of one group, or all common ones. */
static void print_group(FILE *f, const struct verb *v, const char *title, int common,
                        enum option_group group)
{
    int printed = 0;

    for (size_t i = 0; i < v->option_count; i++) {
        const struct option_row *o = &v->options[i];
        int is_common = (o->flags & OPTION_COMMON) != 0;

        if (is_common != common || (!common && o->group != group))
            continue;
        if (!printed++)
            fprintf(f, "\n%s:\n", title);
        print_option(f, o);
    }
}

/* All of it. */
static void print_all(FILE *f, const struct verb *v)
{
    print_synopsis(f, v);
    fputc('\n', f);
    print_paragraphs(f, v->description);
    if (v->option_count < GROUPED_FROM) {
        fputs("\nOptions:\n", f);
        for (size_t i = 0; i < v->option_count; i++)
            print_option(f, &v->options[i]);
    } else {
        print_group(f, v, "Common options", 1, 0);
        for (int group = 0; group < OPTION_GROUPS; group++)
            print_group(f, v, group_titles[group], 0, (enum option_group)group);
        fputs("\nHelp:\n", f);
    }
    print_row(f, "-h, --help", NULL, "the options used most");
    print_row(f, "-h, --help --all", NULL, "this text");
    if (*v->examples)
        fprintf(f, "\nExamples:\n%s", v->examples);
    if (v->print_more)
        v->print_more(f);
}

/* A line each. */
static void print_briefly(FILE *f, const struct option_row *o)
{
    char dashed[OPTION_NAME_MAX], brief[HELP_MAX];

    option_brief(brief, sizeof brief, o);
    print_row(f, option_dashed(dashed, o->name), o->value, brief);
}

/* The first examples that have room in a line, and in so many lines. */
static void print_examples(FILE *f, const struct verb *v, int lines)
{
    const char *line = v->examples;
    int count = 0, most = lines - 2 < EXAMPLES_MOST ? lines - 2 : EXAMPLES_MOST;

    while (*line && count < most) {
        int length = (int)strcspn(line, "\n");

        if (length <= SCREEN_WIDTH)
            fprintf(f, "%s%.*s\n", count++ ? "" : "\nExamples:\n", length, line);
        line += length + (line[length] != 0);
    }
}

/* The names of the presets, of a verb that takes formulas. */
static void print_presets(FILE *f, const struct verb *v)
{
    char names[512] = "Presets:";

    if (!v->operand_count || !(v->operands[0].flags & OPERAND_FORMULA))
        return;
    for (int i = 0; i < formula_preset_count; i++) {
        size_t at = strlen(names);

        snprintf(names + at, sizeof names - at, "%s %s", i ? "," : "", formula_presets[i].name);
    }
    fputc('\n', f);
    print_filled(f, names, 2, 0);
}

/* What is used most. */
static void print_common(FILE *f, const struct verb *v)
{
    char summary[256];

    print_synopsis(f, v);
    snprintf(summary, sizeof summary, "%c%s.", toupper((unsigned char)*v->summary), v->summary + 1);
    fputc('\n', f);
    print_filled(f, summary, 0, 0);
    for (int group = 0; group < OPTION_GROUPS; group++) {
        int printed = 0;

        for (size_t i = 0; i < v->option_count; i++) {
            const struct option_row *o = &v->options[i];

            if (!(o->flags & OPTION_COMMON) || o->group != (enum option_group)group)
                continue;
            if (!printed++)
                fprintf(f, "\n%s:\n", group_titles[group]);
            print_briefly(f, o);
        }
    }
    print_presets(f, v);
}

static void print_end(FILE *f, const struct verb *v)
{
    fprintf(f, "\nreach %s --help --all has every option; `man reach` is the manual.\n", v->name);
}

static int lines_of(const char *text)
{
    int count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* What `print` prints; the caller frees. NULL: out of memory. */
static char *text_of(const struct verb *v, void (*print)(FILE *f, const struct verb *v))
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (f)
        print(f, v);
    if (f && !(ferror(f) | fclose(f)))
        return text;
    free(text);
    return NULL;
}

void help_print(FILE *f, const struct verb *v, int all)
{
    char *whole = text_of(v, print_all), *common = text_of(v, print_common);

    if (whole && common && !all && lines_of(whole) > HELP_LINES) {
        fputs(common, f);
        print_examples(f, v, HELP_LINES - 2 - lines_of(common));
        print_end(f, v);
    } else
        fputs(whole ? whole : "", f);
    free(whole);
    free(common);
}
