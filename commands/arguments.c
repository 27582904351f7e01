/* Parsing of options and printing of help. */
#include "commands/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
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

int arguments_next(struct arguments *a, const struct verb_help *h, const char **value, struct error *e)
{
    const char *text, *equals;
    size_t length;
    int dash_count;

    *value = NULL;
    if (a->at >= a->count)
        return ARGUMENT_END;
    text = a->text[a->at++];
    if (a->only_operands || text[0] != '-' || text[1] == 0) {
        *value = text;
        return ARGUMENT_OPERAND;
    }
    if (strcmp(text, "--") == 0) {
        a->only_operands = 1;
        return arguments_next(a, h, value, e);
    }
    if (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0)
        return ARGUMENT_HELP;
    if (text[1] != '-' && strcmp(text, "-o") != 0) {
        *value = text;
        return ARGUMENT_OPERAND;
    }
    dash_count = text[1] == '-' ? 2 : 1;
    text += dash_count;
    equals = strchr(text, '=');
    length = equals ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < h->option_count; i++) {
        const struct argument_row *o = &h->options[i];
        const char *dashes = strlen(o->name) == 1 ? "-" : "--";

        if (strncmp(o->name, text, length) != 0 || o->name[length] != 0 ||
            dash_count != (int)strlen(dashes)) /* `--o` is no spelling of -o */
            continue;
        if (!o->value) {
            if (equals) {
                fail(e, "%s%s: takes no value (expected %s%s alone)", dashes, o->name, dashes, o->name);
                return ARGUMENT_ERROR;
            }
            return (int)i;
        }
        if (equals)
            *value = equals + 1;
        else if (a->at < a->count)
            *value = a->text[a->at++];
        else {
            fail(e, "%s%s: has no value (expected %s%s %s)", dashes, o->name, dashes, o->name, o->value);
            return ARGUMENT_ERROR;
        }
        return (int)i;
    }
    fail(e, "%s: unknown option", a->text[a->at - 1]);
    return ARGUMENT_ERROR;
}

int read_whole(const char *option, const char *text, long low, long high, long *out, struct error *e)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (!(isdigit((unsigned char)text[0]) || (text[0] == '-' && isdigit((unsigned char)text[1]))) || *end || errno == ERANGE ||
        value < low || value > high)
        return fail(e, "%s: \"%s\" is not valid (expected a whole number from %ld to %ld)", option, text, low, high);
    *out = value;
    return 0;
}

int read_unsigned(const char *option, const char *text, uint64_t *out, struct error *e)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno == ERANGE)
        return fail(e, "%s: \"%s\" is not valid (expected a whole number from 0 to %llu)", option, text, ~0ULL);
    *out = value;
    return 0;
}

int read_between(const char *option, const char *text, double low, double high, double *out, struct error *e)
{
    char *end;
    double value = strtod(text, &end);

    if (!(isdigit((unsigned char)text[0]) || text[0] == '.' || text[0] == '-') || text[strcspn(text, "xX")] || *end ||
        !(value > low && value < high))
        return fail(e, "%s: \"%s\" is not valid (expected a number above %g and below %g)", option, text, low, high);
    *out = value;
    return 0;
}

int read_size(const char *option, const char *text, size_t *out, struct error *e)
{
    static const char suffixes[] = "KMGT";
    char *end;
    unsigned long long value;
    const char *suffix;

    errno = 0;
    value = strtoull(text, &end, 10);
    suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (!isdigit((unsigned char)text[0]) || errno == ERANGE || (*end && (!suffix || end[1])))
        goto refuse;
    for (const char *s = suffixes; suffix && s <= suffix; s++)
        if (__builtin_mul_overflow(value, 1024ULL, &value))
            goto refuse;
    if (value == 0 || value > SIZE_MAX)
        goto refuse;
    *out = (size_t)value;
    return 0;
refuse:
    return fail(e, "%s: \"%s\" is not valid (expected bytes, as 800M or 16G)", option, text);
}

int print_failure(const char *verb, const struct error *e)
{
    fflush(stdout);
    fprintf(stderr, "reach %s: %s\n", verb, e->text);
    return EXIT_FAILED;
}

int print_usage_error(const char *verb, const struct error *e)
{
    fflush(stdout);
    fprintf(stderr, "reach %s: %s; see `reach %s --help`\n", verb, e->text, verb);
    return EXIT_USAGE;
}

void command_word(FILE *f, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";

    fputc(' ', f);
    if (*word && word[strspn(word, plain)] == 0) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            fputc(*word, f);
    fputc('\'', f);
}
