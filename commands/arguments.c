/* Parsing of arguments. */
#include "commands/arguments.h"

#include <string.h>

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
