/* Pieces of text shared by the parser and by --set: names, decimals, error messages. */
#include "analyze/formula_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int formula_refuse(struct formula_error *e, size_t at, const char *format, ...)
{
    if (!e)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->message, sizeof e->message, format, arguments);
    va_end(arguments);
    e->at = at;
    return -1;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t name_length(const char *text)
{
    size_t n = 0;
    if (is_name_start(text[0]))
        while (is_name_start(text[n]) || is_digit(text[n]))
            n++;
    return n;
}

size_t decimal_length(const char *text)
{
    size_t n = 0, digits = 0;
    for (; is_digit(text[n]); n++)
        digits++;
    if (text[n] == '.')
        for (n++; is_digit(text[n]); n++)
            digits++;
    if (digits == 0)
        return 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t exponent = n + 1;
        if (text[exponent] == '+' || text[exponent] == '-')
            exponent++;
        if (is_digit(text[exponent]))
            for (n = exponent; is_digit(text[n]);)
                n++;
    }
    return n;
}

int decimal_value(double *value, const char *decimal)
{
    *value = strtod(decimal, NULL);
    if (!isfinite(*value))
        return -1;
    if (*value == 0)
        for (const char *c = decimal; *c && *c != 'e' && *c != 'E'; c++)
            if (*c >= '1' && *c <= '9')
                return -1;
    return 0;
}
