/* Parses arguments, and records them. */
#include "commands/options.h"

#include "run/steps.h"
#include "io/spelling.h"

#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 64 };

const char *option_dashed(char out[OPTION_NAME_MAX], const char *name)
{
    snprintf(out, OPTION_NAME_MAX, "%s%s", strlen(name) == 1 ? "-" : "--", name);
    return out;
}

static const struct option_row *find(const struct verb *v, const char *name, size_t length)
{
    for (size_t i = 0; i < v->option_count; i++)
        if (strncmp(v->options[i].name, name, length) == 0 && v->options[i].name[length] == 0)
            return &v->options[i];
    return NULL;
}

const struct option_row *option_find(const struct verb *v, const char *name)
{
    return find(v, name, strlen(name));
}

/* ---- arguments ---- */

struct arguments {
    int count;
    char **text;
    int at; /* the next one to read */
    int only_operands; /* after `--` */
};

/* An option's value: after its `=`, or the next argument; *value NULL if it takes none. */
static int take_value(struct arguments *a, const struct option_row *o, const char *equals,
                      const char **value, struct error *e)
{
    char name[OPTION_NAME_MAX];

    option_dashed(name, o->name);
    *value = NULL;
    if (!o->value)
        return equals ? fail(e, "%s: takes no value (expected just %s)", name, name) : 0;
    if (!equals && a->at >= a->count)
        return fail(e, "%s: has no value (expected %s %s)", name, name, o->value);
    *value = equals ? equals + 1 : a->text[a->at++];
    return 0;
}

static int fail_unknown(const struct verb *v, const char *text, const char *name, size_t length,
                        struct error *e)
{
    for (size_t i = 0; i < v->option_count && length > NEAR; i++)
        if (edit_distance(name, length, v->options[i].name) <= NEAR)
            return fail(e, "%s: unknown option (did you mean --%s?)", text, v->options[i].name);
    return fail(e, "%s: unknown option", text);
}

/* Reads the option that starts `text`. */
static int take_option(struct arguments *a, void *options, const struct verb *v, const char *text,
                       int *given, struct error *e)
{
    const char *name = text + (text[1] == '-' ? 2 : 1), *equals = strchr(name, '='), *value;
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *o = (text[1] == '-') == (length > 1)
                                     ? find(v, name, length)
                                     : NULL; /* `--o` is not a spelling of -o */
    char dashed[OPTION_NAME_MAX];
    int nth;

    if (!o)
        return fail_unknown(v, text, name, length, e);
    if (take_value(a, o, equals, &value, e) != 0)
        return -1;
    nth = given[o - v->options]++;
    if (nth && o->value && o->type != OPTION_LIST && !(o->flags & OPTION_REPEATED))
        return fail(e, "%s: is given twice (expected once)", option_dashed(dashed, o->name));
    return option_read(options, o, value, nth, e);
}

/* "MODEL FILE OUT", "DIR...", "no arguments". */
static void list_operands(char *out, size_t size, const struct verb *v)
{
    size_t at = (size_t)snprintf(out, size, "%s", v->operand_count ? "" : "no arguments");

    for (size_t i = 0; i < v->operand_count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s%s", i ? " " : "", v->operands[i].name,
                               v->operands[i].flags & OPERAND_LIST ? "..." : "");
}

static int take_operand(void *options, const struct verb *v, const char *text, size_t *count,
                        struct error *e)
{
    size_t last = v->operand_count - 1;
    const struct operand_row *o;
    char expected[200];

    if (v->operand_count && *count > last && v->operands[last].flags & OPERAND_LIST)
        *count = last;
    if (*count >= v->operand_count) {
        list_operands(expected, sizeof expected, v);
        return fail(e, "%s: unexpected argument (expected %s)", text, expected);
    }
    o = &v->operands[(*count)++];
    if (!*text || (strcmp(text, "-") == 0 && !(o->flags & (OPERAND_STREAM | OPERAND_FORMULA))))
        return fail(e, "\"%s\": is not a valid %s (expected %s)", text, o->name, o->expected);
    if (o->flags & OPERAND_LIST)
        return text_list_add(&OPTION_FIELD(struct text_list, options, o), text, e);
    OPTION_FIELD(const char *, options, o) = text;
    return o->choices && read_choice(o->name, text, o->choices, e) < 0 ? -1 : 0;
}

/* 1 if an argument with one dash or none is an option. */
static int is_short_option(const struct verb *v, const char *text)
{
    int takes_formulas = v->operand_count && v->operands[0].flags & OPERAND_FORMULA;

    return text[0] == '-' && text[1] && text[1] != '-' &&
           (strcmp(text, "-o") == 0 || !takes_formulas);
}

/* An option that goes with few others lists these, so that options added to the table later are
 * refused with it, not ignored. */
static int stands_beside(const struct option_row *o, const char *name)
{
    if (o->against && strcmp(o->against, name) == 0)
        return 0;
    for (const char *const *other = o->beside; other && *other; other++)
        if (strcmp(*other, name) == 0)
            return 1;
    return !o->beside || strcmp(o->name, name) == 0;
}

/* Options that exclude each other, then those without effect because another is missing: whoever
 * gave one that has no place here is not sent to give more. */
static int check_beside(const struct verb *v, const int *given, struct error *e)
{
    char name[OPTION_NAME_MAX], other[OPTION_NAME_MAX];

    for (size_t i = 0; i < v->option_count; i++)
        for (size_t k = 0; given[i] && k < v->option_count; k++)
            if (given[k] && !stands_beside(&v->options[i], v->options[k].name))
                return fail(e, "%s and %s are both given (expected one of them)",
                            option_dashed(other, v->options[k].name),
                            option_dashed(name, v->options[i].name));
    for (size_t i = 0; i < v->option_count; i++) {
        const struct option_row *o = &v->options[i],
                                *with = given[i] && o->with ? option_find(v, o->with) : NULL;

        if (with && !with->standard && !given[with - v->options])
            return fail(e, "%s is given without %s (expected both, or neither)",
                        option_dashed(name, o->name), option_dashed(other, with->name));
    }
    return 0;
}

static int set_defaults(void *options, const struct verb *v, struct error *e)
{
    memset(options, 0, v->options_size);
    for (size_t i = 0; i < v->option_count; i++) {
        const struct option_row *o = &v->options[i];

        if (o->standard && !(o->flags & OPTION_LATER)) {
            if (option_read(options, o, o->standard, 0, e) != 0)
                return -1;
        } else if (o->type == OPTION_INT)
            OPTION_FIELD(int, options, o) = (int)o->absent;
        else if (o->type == OPTION_LONG)
            OPTION_FIELD(long, options, o) = o->absent;
    }
    return 0;
}

/* A shell lists checkpoint-1000 before checkpoint-200. A plain number may be a formula. */
static int sort_operands(void *options, const struct verb *v, struct error *e)
{
    const struct operand_row *o = v->operand_count ? &v->operands[v->operand_count - 1] : NULL;

    return o && o->flags & OPERAND_BY_STEP
               ? steps_sort(&OPTION_FIELD(struct text_list, options, o),
                            o->flags & OPERAND_FORMULA ? STEPS_STATED : STEPS_NUMBERS, e)
               : 0;
}

static int has_word(int argc, char **argv, const char *word)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return 1;
    return 0;
}

int options_parse(void *options, const struct verb *v, int argc, char **argv, struct error *e)
{
    struct arguments a = {.count = argc, .text = argv};
    int given[OPTIONS_MAX] = {0}, rc = set_defaults(options, v, e);
    size_t operands = 0;

    while (rc == 0 && a.at < a.count) {
        const char *text = a.text[a.at++];

        if (!a.only_operands && strcmp(text, "--") == 0)
            a.only_operands = 1;
        else if (!a.only_operands && (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0))
            return has_word(argc, argv, "--all") ? PARSED_HELP_ALL : PARSED_HELP;
        else if (!a.only_operands && strcmp(text, "--all") == 0 &&
                 (has_word(argc, argv, "--help") || has_word(argc, argv, "-h")))
            continue;
        else if (!a.only_operands && (strncmp(text, "--", 2) == 0 || is_short_option(v, text)))
            rc = take_option(&a, options, v, text, given, e);
        else
            rc = take_operand(options, v, text, &operands, e);
    }
    if (rc == 0 && operands < v->operand_count)
        rc = fail(e, "no %s is given (expected %s)", v->operands[operands].name,
                  v->operands[operands].expected);
    if (rc == 0)
        rc = check_beside(v, given, e);
    if (rc == 0)
        rc = sort_operands(options, v, e);
    return rc == 0 && v->check ? v->check(options, e) : rc;
}

void options_free(void *options, const struct verb *v)
{
    for (size_t i = 0; i < v->option_count; i++)
        if (v->options[i].type == OPTION_LIST)
            text_list_free(&OPTION_FIELD(struct text_list, options, &v->options[i]));
    for (size_t i = 0; i < v->operand_count; i++)
        if (v->operands[i].flags & OPERAND_LIST)
            text_list_free(&OPTION_FIELD(struct text_list, options, &v->operands[i]));
}

/* ---- recording ---- */

/* Value number nth as given; NULL: none, or *failed: out of memory. Caller frees. */
static char *value_text(const void *options, const struct option_row *row, int nth, int *failed)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int is_there = f && option_write(f, options, row, nth);

    if (!f || fclose(f) != 0)
        *failed = 1;
    if (is_there && !*failed)
        return text;
    free(text);
    return NULL;
}

static int write_option(FILE *f, const void *options, const struct option_row *row)
{
    char name[OPTION_NAME_MAX], *text, *next;
    int failed = 0, nth = 0;

    option_dashed(name, row->name);
    text = value_text(options, row, nth++, &failed);
    for (; text; text = next) {
        next = value_text(options, row, nth++, &failed);
        if (nth > 2 || next || row->flags & OPTION_RECORDED || !row->standard ||
            strcmp(text, row->standard) != 0) {
            fprintf(f, " %s", name);
            if (row->value)
                command_word(f, text);
        }
        free(text);
    }
    return failed ? -1 : 0;
}

char *options_command(const void *options, const struct verb *v)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed = 0;

    if (!f)
        return NULL;
    fprintf(f, "reach %s", v->name);
    for (size_t i = 0; i < v->operand_count; i++) {
        const struct operand_row *o = &v->operands[i];

        if (o->flags & OPERAND_LIST)
            for (int k = 0; k < OPTION_FIELD(const struct text_list, options, o).count; k++)
                command_word(f, OPTION_FIELD(const struct text_list, options, o).item[k]);
        else
            command_word(f, OPTION_FIELD(const char *, options, o));
    }
    for (size_t i = 0; i < v->option_count; i++)
        if (v->options[i].flags & OPTION_RESULT && write_option(f, options, &v->options[i]) != 0)
            failed = 1;
    failed |= ferror(f);
    if (fclose(f) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

/* All values of an option in one line. */
static char *setting_text(const void *options, const struct option_row *row)
{
    char *text = NULL, *value;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed = 0, nth = 0;

    if (!f)
        return NULL;
    while ((value = value_text(options, row, nth, &failed))) {
        if (nth++)
            fputc(' ', f);
        fputs(value, f);
        free(value);
    }
    failed |= ferror(f);
    if (fclose(f) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

int options_settings(struct settings *out, const void *options, const struct verb *v,
                     struct error *e)
{
    for (size_t i = 0; i < v->option_count; i++)
        if (v->options[i].flags & OPTION_RESULT &&
            settings_add(out, v->options[i].name, setting_text(options, &v->options[i]), e) != 0)
            return -1;
    return 0;
}
