/* Aligned tables, on a text screen and in a page. */
#include "commands/table.h"

#include "commands/screen.h"
#include "io/glyph.h"
#include "page/escape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NOTES = 4 };

struct table {
    char *alignment, *rank; /* a letter and a digit for each column; rank 0: always shown */
    size_t columns, count; /* cells so far */
    char **cell, *caption, *note[NOTES];
    size_t notes;
    int failed;
};

struct table *table_create(const char *alignment)
{
    struct table *t = calloc(1, sizeof *t);
    size_t most = strlen(alignment) + 1;

    if (!t || !(t->alignment = calloc(most, 1)) || !(t->rank = calloc(most, 1))) {
        table_free(t);
        return NULL;
    }
    for (; *alignment; alignment++)
        if (*alignment >= '0' && *alignment <= '9')
            t->rank[t->columns - 1] = *alignment;
        else
            t->alignment[t->columns++] = *alignment;
    return t;
}

static char *format_text(struct table *t, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Names in it may come from files. */
static char *format_text(struct table *t, const char *format, va_list arguments)
{
    char *text, *shown = NULL;

    if (vasprintf(&text, format, arguments) >= 0) {
        shown = glyphs_of(text);
        free(text);
    }
    t->failed |= !shown;
    return shown;
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

void table_count(struct table *t, size_t n)
{
    if (n)
        table_cell(t, "%zu", n);
    else
        table_cell(t, "-");
}

void table_cells(struct table *t, const char *const *texts)
{
    for (; *texts; texts++)
        table_cell(t, "%s", *texts);
}

/* Removes columns (width 0) until the rest fits. Returns how many. */
static size_t leave_out(const struct table *t, int *width, int columns)
{
    size_t left_out = 0;
    int total = -2;

    for (size_t i = 0; i < t->columns; i++)
        total += width[i] + 2;
    while (columns && total > columns) {
        size_t next = t->columns;

        for (size_t i = 0; i < t->columns; i++)
            if (t->rank[i] && width[i] && (next == t->columns || t->rank[i] <= t->rank[next]))
                next = i;
        if (next == t->columns)
            break;
        total -= width[next] + 2;
        width[next] = 0;
        left_out++;
    }
    return left_out;
}

static void print_rows(FILE *f, const struct table *t, const int *width)
{
    int gap = 0;

    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;
        int length = screen_columns(t->cell[i]), blank = width[column] - length,
            right = t->alignment[column] == 'r';

        gap = column == 0 ? 0 : gap;
        if (width[column] && length > 0) { /* no trailing blanks */
            fprintf(f, "%*s%s", gap + (right ? blank : 0), "", t->cell[i]);
            gap = (right ? 0 : blank) + 2;
        } else if (width[column])
            gap += width[column] + 2;
        if (column + 1 == t->columns)
            fputc('\n', f);
    }
}

/* Says what is not shown, so that nobody looks for it elsewhere. */
static void print_left_out(FILE *f, const struct table *t, const int *width, int columns)
{
    const int most = columns < 72 ? 72 : columns; /* on lines that most screens have */
    const char *joint = "";
    int at = fprintf(f, "(in %d columns without ", columns);

    for (size_t i = 0; i <= t->columns; i++) {
        const char *next = i == t->columns ? "--wide has all)" : t->cell[i];

        if (i < t->columns && (width[i] || !t->rank[i]))
            continue;
        if (i == t->columns)
            joint = ";";
        at += fprintf(f, "%s", joint);
        if (*joint)
            at = at + 2 + screen_columns(next) > most ? (fputs("\n", f), 0) : at + fprintf(f, " ");
        at += fprintf(f, "%s", next);
        joint = ",";
    }
    fputs("\n", f);
}

int table_print_within(FILE *f, const struct table *t, int columns)
{
    int *width = calloc(t->columns, sizeof *width);
    size_t left_out;

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
    left_out = leave_out(t, width, columns);
    print_rows(f, t, width);
    if (left_out)
        print_left_out(f, t, width, columns);
    for (size_t i = 0; i < t->notes; i++)
        fprintf(f, "%s\n", t->note[i]);
    free(width);
    return 0;
}

int table_print(FILE *f, const struct table *t)
{
    return table_print_within(f, t, f == stdout ? screen_table_width() : 0);
}

int table_html(FILE *f, const struct table *t)
{
    if (t->failed)
        return -1;
    fputs("<div class=wide tabindex=0 role=group aria-label=\"", f);
    html_text(f, t->caption ? t->caption : "table");
    fputs("\"><table>", f);
    if (t->caption) {
        fputs("<caption>", f);
        html_text(f, t->caption);
        fputs("</caption>", f);
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t column = i % t->columns;
        const char *kind = i < t->columns ? "th scope=col" : column ? "td" : "th scope=row";

        fprintf(f, "%s<%s%s>",
                column ? ""
                : i    ? "\n<tr>"
                       : "\n<thead><tr>",
                kind, t->alignment[column] == 'r' ? " class=r" : "");
        html_text(f, t->cell[i]);
        fprintf(f, "</%.2s>%s", kind,
                column + 1 < t->columns ? ""
                : i < t->columns        ? "</tr></thead><tbody>"
                                        : "</tr>");
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
    free(t->rank);
    free(t->caption);
    for (size_t i = 0; i < t->notes; i++)
        free(t->note[i]);
    for (size_t i = 0; i < t->count; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t);
}
