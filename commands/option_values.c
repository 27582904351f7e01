/* Values of options: read into their fields, and written as they are given. */
#include "commands/options.h"

#include "io/formats/csv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int read_whole(const char *option, const char *text, long low, long high, long *out,
               struct error *e)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (!(isdigit((unsigned char)text[0]) || (text[0] == '-' && isdigit((unsigned char)text[1]))) ||
        *end || errno == ERANGE || value < low || value > high)
        return fail(e, "%s: \"%s\" is not valid (expected a whole number from %ld to %ld)", option,
                    text, low, high);
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
        return fail(e, "%s: \"%s\" is not valid (expected a whole number from 0 to %llu)", option,
                    text, ~0ULL);
    *out = value;
    return 0;
}

int read_between(const char *option, const char *text, double low, double high, double *out,
                 struct error *e)
{
    char *end;
    double value = strtod(text, &end);

    if (!(isdigit((unsigned char)text[0]) || text[0] == '.' || text[0] == '-') ||
        text[strcspn(text, "xX")] || *end || !(value > low && value < high))
        return fail(e, "%s: \"%s\" is not valid (expected a number above %g and below %g)", option,
                    text, low, high);
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
        if (__builtin_mul_overflow(value, 1000ULL, &value))
            goto refuse;
    if (value == 0 || value > SIZE_MAX)
        goto refuse;
    *out = (size_t)value;
    return 0;
refuse:
    return fail(e, "%s: \"%s\" is not valid (expected bytes, such as 800M or 16G)", option, text);
}

/* "a, b or c" */
static void list_choices(char *out, size_t size, const char *const *choices)
{
    size_t at = 0;

    *out = 0;
    for (choices += !**choices; *choices && at < size; choices++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", *choices,
                               !choices[1]   ? ""
                               : !choices[2] ? " or "
                                             : ", ");
}

int read_choice(const char *option, const char *text, const char *const *choices, struct error *e)
{
    char expected[200];

    for (int i = 0; choices[i]; i++)
        if (*text && strcmp(text, choices[i]) == 0)
            return i;
    list_choices(expected, sizeof expected, choices);
    return fail(e, "%s: \"%s\" is not valid (expected %s)", option, text, expected);
}

/* Lists of files to read accept standard input; output never replaces a file by standard output. */
static int is_standard_stream(const struct option_row *row, const char *value)
{
    return strcmp(value, "-") == 0 &&
           (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "DIR") == 0);
}

int option_read(void *options, const struct option_row *row, const char *value, int nth,
                struct error *e)
{
    char name[OPTION_NAME_MAX];
    long whole = 0;
    int rc;

    option_dashed(name, row->name);
    switch (row->type) {
    case OPTION_FLAG: OPTION_FIELD(int, options, row) = 1; return 0;
    case OPTION_LIST:
    case OPTION_TEXT:
        if (!*value)
            return fail(e, "%s: is empty (expected %s)", name, row->value);
        if (row->type == OPTION_TEXT && is_standard_stream(row, value))
            return fail(e, "%s: \"-\" is not valid (expected %s; a file of that name is ./-)", name,
                        row->value);
        if (row->type == OPTION_LIST)
            return text_list_add(&OPTION_FIELD(struct text_list, options, row), value, e);
        OPTION_FIELD(const char *, options, row) = value;
        return row->check ? row->check(value, e) : 0;
    case OPTION_CHOICE:
        OPTION_FIELD(const char *, options, row) = value;
        return read_choice(name, value, row->choices, e) < 0 ? -1 : 0;
    case OPTION_NUMBERED_CHOICE:
        rc = read_choice(name, value, row->choices, e);
        OPTION_FIELD(int, options, row) = rc;
        return rc < 0 ? -1 : 0;
    case OPTION_INT:
    case OPTION_LONG:
    case OPTION_SIZE:
        whole = (long)row->low;
        rc = row->choices && strcmp(value, row->choices[0]) == 0
                 ? 0
                 : read_whole(name, value, (long)row->low, (long)row->high, &whole, e);
        if (row->type == OPTION_INT)
            OPTION_FIELD(int, options, row) = (int)whole;
        else if (row->type == OPTION_LONG)
            OPTION_FIELD(long, options, row) = whole;
        else
            OPTION_FIELD(size_t, options, row) = (size_t)whole;
        return rc;
    case OPTION_UNSIGNED:
        return read_unsigned(name, value, &OPTION_FIELD(uint64_t, options, row), e);
    case OPTION_BYTES: return read_size(name, value, &OPTION_FIELD(size_t, options, row), e);
    case OPTION_REAL:
        return read_between(name, value, row->low, row->high, &OPTION_FIELD(double, options, row),
                            e);
    case OPTION_OWN: return row->read(options, value, nth, e);
    }
    return fail(e, "%s: has no type", name);
}

int option_default(void *options, const struct verb *v, const char *name, struct error *e)
{
    const struct option_row *o = option_find(v, name);

    return option_read(options, o, o->standard, 0, e);
}

/* The value of a whole-number field. */
static long whole_of(const void *options, const struct option_row *row)
{
    return row->type == OPTION_INT    ? OPTION_FIELD(const int, options, row)
           : row->type == OPTION_LONG ? OPTION_FIELD(const long, options, row)
                                      : (long)OPTION_FIELD(const size_t, options, row);
}

/* A number, unless it means none. */
static int write_number(FILE *f, const void *options, const struct option_row *row)
{
    char text[32] = "";
    int is_absent = !row->standard || row->flags & OPTION_LATER;

    switch (row->type) {
    case OPTION_INT:
    case OPTION_LONG:
    case OPTION_SIZE:
        if (!is_absent || whole_of(options, row) != row->absent)
            snprintf(text, sizeof text, "%ld", whole_of(options, row));
        break;
    case OPTION_UNSIGNED:
        snprintf(text, sizeof text, "%llu",
                 (unsigned long long)OPTION_FIELD(const uint64_t, options, row));
        break;
    case OPTION_BYTES:
        if (OPTION_FIELD(const size_t, options, row))
            snprintf(text, sizeof text, "%zu", OPTION_FIELD(const size_t, options, row));
        break;
    default:
        if (!is_absent || OPTION_FIELD(const double, options, row) != 0)
            csv_format_real(text, OPTION_FIELD(const double, options, row));
        break;
    }
    fputs(text, f);
    return *text != 0;
}

int option_write(FILE *f, const void *options, const struct option_row *row, int nth)
{
    const struct text_list *list;
    const char *text;

    if (row->write)
        return row->write(f, options, nth);
    if (row->type == OPTION_LIST) {
        list = &OPTION_FIELD(const struct text_list, options, row);
        text = nth < list->count ? list->item[nth] : NULL;
    } else if (nth > 0 || (row->type == OPTION_FLAG && !OPTION_FIELD(const int, options, row)))
        text = NULL;
    else if (row->type == OPTION_FLAG)
        text = "yes";
    else if (row->type == OPTION_TEXT || row->type == OPTION_CHOICE)
        text = OPTION_FIELD(const char *, options, row);
    else if (row->type == OPTION_NUMBERED_CHOICE)
        text = row->choices[OPTION_FIELD(const int, options, row)];
    else
        return write_number(f, options, row);
    if (!text || !*text)
        return 0;
    fputs(text, f);
    return 1;
}

void command_word(FILE *f, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";

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
