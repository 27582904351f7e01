/* Aligned tables, on a text screen and in a page. */
#include "commands/table.h"

#include "commands/screen.h"
#include "page/escape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES = 4 };

struct table {
    char *alignment;
    size_t columns, count; /* cells so far */
    char **cell, *caption, *note[NOTES];
    size_t notes;
    int failed;
};

struct table *table_create(const char *alignment)
{
    struct table *t = calloc(1, sizeof *t);

    if (t && (t->alignment = strdup(alignment))) {
        t->columns = strlen(alignment);
        return t;
    }
    free(t);
    return NULL;
}

static char *format_text(struct table *t, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

static char *format_text(struct table *t, const char *format, va_list arguments)
{
    char *text;

    if (vasprintf(&text, format, arguments) >= 0)
        return text;
    t->failed = 1;
    return NULL;
}

void table_caption(struct table *t, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    t->caption = format_text(t, format, arguments);
    va_end(arguments);
}

void table_note(struct table *t, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (t->notes < NOTES && (t->note[t->notes] = format_text(t, format, arguments)))
        t->notes++;
    va_end(arguments);
}

void table_cell(struct table *t, const char *format, ...)
{
    char **grown = reallocarray(t->cell, t->count + 1, sizeof *grown);
    va_list arguments;

    if (!grown) {
        t->failed = 1;
        return;
    }
    t->cell = grown;
    va_start(arguments, format);
    if ((t->cell[t->count] = format_text(t, format, arguments)))
        t->count++;
    va_end(arguments);
}

void table_cells(struct table *t, const char *const *texts)
{
    for (; *texts; texts++)
        table_cell(t, "%s", *texts);
}

int table_print(FILE *f, const struct table *t)
{
    int *width = calloc(t->columns, sizeof *width), gap = 0;

    if (!width || t->failed) {
        free(width);
        return -1;
    }
    if (t->caption)
        fprintf(f, "\n%s:\n", t->caption);
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
    for (size_t i = 0; i < t->notes; i++)
        fprintf(f, "%s\n", t->note[i]);
    free(width);
    return 0;
}

int table_html(FILE *f, const struct table *t)
{
    if (t->failed)
        return -1;
    fputs("<div class=wide><table>", f);
    if (t->caption) {
        fputs("<caption>", f);
        html_text(f, t->caption);
        fputs("</caption>", f);
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;
        const char *kind = i < t->columns ? "th scope=col" : column ? "td" : "th scope=row";

        fprintf(f, "%s<%s%s>", column ? "" : i ? "\n<tr>" : "\n<thead><tr>", kind, t->alignment[column] == 'r' ? " class=r" : "");
        html_text(f, t->cell[i]);
        fprintf(f, "</%.2s>%s", kind, column + 1 < t->columns ? "" : i < t->columns ? "</tr></thead><tbody>" : "</tr>");
    }
    fputs("</tbody></table></div>\n", f);
    for (size_t i = 0; i < t->notes; i++) {
        fputs("<p class=about>", f);
        html_text(f, t->note[i]);
        fputs("</p>\n", f);
    }
    return 0;
}

void table_free(struct table *t)
{
    if (!t)
        return;
    free(t->alignment);
    free(t->caption);
    for (size_t i = 0; i < t->notes; i++)
        free(t->note[i]);
    for (size_t i = 0; i < t->count; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t);
}
