/* Values of options: read, and written as they are given. */
#include "commands/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
