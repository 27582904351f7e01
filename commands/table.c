/* Aligned tables on a text screen. */
#include "commands/table.h"

#include "commands/screen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table {
    const char *alignment;
    size_t columns, count; /* cells so far */
    char **cell;
    int failed;
};

struct table *table_create(const char *alignment)
{
    struct table *t = calloc(1, sizeof *t);

    if (t) {
        t->alignment = alignment;
        t->columns = strlen(alignment);
    }
    return t;
}

void table_cell(struct table *t, const char *format, ...)
{
    char **grown = reallocarray(t->cell, t->count + 1, sizeof *grown), *text;
    va_list arguments;
    int length;

    if (!grown) {
        t->failed = 1;
        return;
    }
    t->cell = grown;
    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        t->failed = 1;
        return;
    }
    t->cell[t->count++] = text;
}

int table_print(FILE *f, const struct table *t)
{
    int *width = calloc(t->columns, sizeof *width), gap = 0;

    if (!width || t->failed) {
        free(width);
        return -1;
    }
    for (size_t i = 0; i < t->count; i++) {
        int n = screen_columns(t->cell[i]);

        width[i % t->columns] = n > width[i % t->columns] ? n : width[i % t->columns];
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;
        int length = screen_columns(t->cell[i]), blank = width[column] - length, right = t->alignment[column] == 'r';

        gap = column == 0 ? 0 : gap + 2;
        if (length > 0) /* no blanks at the end of a line */
            fprintf(f, "%*s%s", gap + (right ? blank : 0), "", t->cell[i]);
        gap = length == 0 ? gap + width[column] : right ? 0 : blank;
        if (column + 1 == t->columns)
            fputc('\n', f);
    }
    free(width);
    return 0;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t);
}
