#include "run/plot/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_cell(char *row, const struct plot_column *c, int column, struct error *e)
{
    const struct plot_row *at = (const struct plot_row *)row;
    const char *text = report_cell(at->from, at->number - 1, column);
    double value;

    if (c->kind == CELL_TEXT) {
        memcpy(row + c->offset, &text, sizeof text);
        return 0;
    }
    if (report_number(at->from, at->number - 1, column, c->least, c->empty, &value, e) != 0)
        return -1;
    if (c->kind == CELL_WHOLE &&
        (!(value >= c->least && value <= c->most) || value != floor(value)))
        return fail(e, "%s: row %zu has \"%s\" as %s (expected a whole number from %g to %.16g)",
                    at->from->path, at->number, text, c->name, c->least, c->most);
    memcpy(row + c->offset, &value, sizeof value);
    return 0;
}

/* 1 if a column that tells lines apart has another text. */
static int is_other_line(const struct plot_columns *c, const int *column, const struct plot_row *a,
                         const struct plot_row *b)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->column[i].tells_lines && strcmp(report_cell(a->from, a->number - 1, column[i]),
                                               report_cell(b->from, b->number - 1, column[i])) != 0)
            return 1;
    return 0;
}

/* Appends the rows of a table. */
static int add_table(char *rows, const struct plot_columns *c, const struct report *table,
                     size_t *count, struct error *e)
{
    enum { MOST = 16 };
    const char *names[MOST];
    const struct plot_row *before = NULL;
    int column[MOST];

    for (size_t i = 0; i < c->count; i++)
        names[i] = c->column[i].name;
    if (report_columns(table, names, (int)c->count, c->expected, column, e) != 0)
        return -1;
    for (size_t number = 1; number <= table->table.rows; number++) {
        char *row = rows + *count * c->size;
        struct plot_row *at = (struct plot_row *)row;

        if (c->only && strcmp(report_cell(table, number - 1, column[0]), c->only) != 0)
            continue;
        *at = (struct plot_row){.from = table, .number = number};
        at->begins = !before || is_other_line(c, column, before, at);
        for (size_t i = 0; i < c->count; i++)
            if (read_cell(row, &c->column[i], column[i], e) != 0)
                return -1;
        before = at;
        ++*count;
    }
    return 0;
}

void *plot_rows(struct plot_run *r, const struct plot_columns *c, const struct report *table,
                size_t *count, struct error *e)
{
    const struct report *t = table;
    size_t most = 0;
    char *rows;

    for (size_t i = 0; table ? i == 0 : (t = plot_table(r, c->kind, i)) != NULL; i++)
        most += t->table.rows;
    rows = plot_new(r, most, c->size, e);
    *count = 0;
    for (size_t i = 0; rows && (table ? i == 0 : (t = plot_table(r, c->kind, i)) != NULL); i++)
        if (add_table(rows, c, t, count, e) != 0)
            return NULL;
    return rows;
}

static struct plot_row *row_at(void *rows, size_t size, size_t i)
{
    return (struct plot_row *)((char *)rows + i * size);
}

static int by_line(const void *a, const void *b)
{
    const struct plot_row *x = a, *y = b;

    return x->order != y->order   ? (x->order > y->order) - (x->order < y->order)
           : x->along != y->along ? (x->along > y->along) - (x->along < y->along)
           : x->from != y->from   ? (x->from > y->from) - (x->from < y->from)
                                  : (x->number > y->number) - (x->number < y->number);
}

void plot_sort(void *rows, size_t count, size_t size)
{
    size_t lines = 0;

    for (size_t i = 0; i < count; i++) {
        struct plot_row *at = row_at(rows, size, i);
        size_t k = i ? i - 1 : 0; /* most rows stand beside another one of their line */

        if (i && strcmp(row_at(rows, size, k)->line, at->line) != 0)
            for (k = 0; strcmp(row_at(rows, size, k)->line, at->line) != 0;)
                k++;
        at->order = k < i ? row_at(rows, size, k)->order : lines++;
    }
    qsort(rows, count, size, by_line);
    for (size_t i = 0; i < count; i++)
        row_at(rows, size, i)->begins = !i || row_at(rows, size, i)->order !=
                                                  row_at(rows, size, i - 1)->order;
}

double plot_nearest(const double *first, size_t size, size_t count, double wanted)
{
    double best = NAN;

    for (size_t i = 0; i < count; i++) {
        double value = *(const double *)((const char *)first + i * size);

        if (!(fabs(value - wanted) >= fabs(best - wanted)))
            best = value;
    }
    return best;
}
