/* Printing of help. */
#include "commands/arguments.h"

#include <string.h>

enum { HELP_WIDTH = 96, HELP_INDENT = 26 };

/* Prints TEXT filled to HELP_WIDTH, every line after the first behind `indent` blanks; the cursor stands at column `at`. */
static void print_filled(FILE *f, const char *text, int indent, int at)
{
    const char *word = text;

    while (*word) {
        int length = (int)strcspn(word, " \n");

        if (at > indent && at + 1 + length > HELP_WIDTH) {
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

/* Paragraphs divided by empty lines; lines that begin with a blank stand as they are. */
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

void verb_help_print(FILE *f, const struct verb_help *h)
{
    const char *line = h->synopsis;
    int first = 1;

    while (*line) {
        int length = (int)strcspn(line, "\n");

        fprintf(f, "%s%s%s %.*s\n", first ? "usage: " : "       ", first ? "reach " : "      ", first ? h->verb : "   ", length,
                line);
        first = 0;
        line += length + (line[length] == '\n');
    }
    if (first)
        fprintf(f, "usage: reach %s\n", h->verb);
    fputc('\n', f);
    print_paragraphs(f, h->description);
    fputs("\nOptions:\n", f);
    for (size_t i = 0; i < h->option_count; i++) {
        const struct argument_row *o = &h->options[i];
        int at = fprintf(f, "  %s%s%s%s", strlen(o->name) == 1 ? "-" : "--", o->name, o->value ? " " : "",
                         o->value ? o->value : "");

        if (at + 2 > HELP_INDENT)
            at = 0, fputc('\n', f);
        fprintf(f, "%*s", HELP_INDENT - at, "");
        print_filled(f, o->help, HELP_INDENT, HELP_INDENT);
    }
    fprintf(f, "  -h, --help%*s", HELP_INDENT - 12, "");
    print_filled(f, "this text", HELP_INDENT, HELP_INDENT);
    if (h->examples && *h->examples)
        fprintf(f, "\nExamples:\n%s", h->examples);
}
