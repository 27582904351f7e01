/* Points out of CSV files. */
#include "run/fit/fit.h"

#include "io/csv.h"
#include "run/results.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How the columns of a known file are read. */
struct layout {
    const char *t, *y;
    const char *groups[4]; /* a new value in one of them begins a new set; the first is the label */
    const char *head, *layer;
    const char *quantity;
    int is_measured; /* a result of `reach erf` */
};

static const struct layout layouts[] = {
    {"distance", "c", {"model", "target", "layer", "attribution"}, NULL, NULL, "share c of the most recent tokens", 1},
    {"distance", "bias", {"formula", "head", "layer", NULL}, "head", "layer", "bias b(t)", 0},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static const char *cell(const struct csv_table *t, size_t row, int column)
{
    return column < 0 ? "" : t->cell[row * t->columns + (size_t)column];
}

/* A whole cell as a number, inf and -inf among them; 0 or -1. */
static int read_number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && *end == 0 && !isspace((unsigned char)text[0]) && !isnan(*out) ? 0 : -1;
}

struct point {
    double t, y;
};

static int by_distance(const void *a, const void *b)
{
    double x = ((const struct point *)a)->t, y = ((const struct point *)b)->t;

    return (x > y) - (x < y);
}

/* Rows first .. last-1 are one set. */
static int add_set(struct fit_run *r, const struct csv_table *t, size_t first, size_t last, int t_column, int y_column,
                   const char *label, const char *path, struct error *e)
{
    const struct fit_options *o = r->options;
    struct point *all = calloc(last - first, sizeof *all);
    struct fit_points *p = NULL;
    size_t count = 0;

    if (!all)
        return fail_memory(e, (double)(last - first) * sizeof *all, "the points of a fit");
    for (size_t row = first; row < last; row++) {
        struct point *at = &all[count];

        if (read_number(cell(t, row, t_column), &at->t) != 0 || read_number(cell(t, row, y_column), &at->y) != 0) {
            fail(e, "%s: row %zu has \"%s\", \"%s\" (expected two numbers)", path, row + 1, cell(t, row, t_column),
                 cell(t, row, y_column));
            goto end;
        }
        count += o->last < 0 || (at->t >= (double)o->first && at->t <= (double)o->last);
    }
    if (count == 0) {
        fail(e, "%s: has no row of %s between distances %ld and %ld", path, label, o->first, o->last);
        goto end;
    }
    qsort(all, count, sizeof *all, by_distance);
    p = fit_points_add(r, label, count, e);
    if (!p)
        goto end;
    for (size_t i = 0; i < count; i++) {
        p->t[i] = all[i].t;
        p->y[i] = all[i].y;
    }
    p->count = count;
end:
    free(all);
    return p ? 0 : -1;
}

static int read_layout(struct fit_run *r, const struct csv_table *t, const struct layout *l, const char *path, struct error *e)
{
    int group[4], t_column = csv_column(t, l->t), y_column = csv_column(t, l->y), head = l->head ? csv_column(t, l->head) : -1;
    int layer = l->layer ? csv_column(t, l->layer) : -1;

    r->quantity = l->quantity;
    for (int i = 0; i < 4; i++)
        group[i] = l->groups[i] ? csv_column(t, l->groups[i]) : -1;
    for (size_t first = 0, last; first < t->rows; first = last) {
        const struct fit_points *p;
        int same = 1;

        for (last = first + 1; last < t->rows && same; last += same != 0)
            for (int i = 0; i < 4; i++)
                same &= strcmp(cell(t, last, group[i]), cell(t, first, group[i])) == 0;
        if (add_set(r, t, first, last, t_column, y_column, group[0] < 0 ? path : cell(t, first, group[0]), path, e) != 0)
            return -1;
        p = &r->points[r->count - 1];
        snprintf((char *)p->head, sizeof p->head, "%s", cell(t, first, head));
        snprintf((char *)p->layer, sizeof p->layer, "%s", cell(t, first, layer));
        if (p->layer[0])
            snprintf((char *)p->layers, sizeof p->layers, "layer %s", p->layer);
    }
    return 0;
}

/* Two columns; a header of two numbers is a row too. */
static int read_pairs(struct fit_run *r, const struct csv_table *t, const char *path, struct error *e)
{
    const char *name = strrchr(path, '/');
    struct csv_table whole = *t;
    double ignored;
    int rc;

    if (read_number(t->header[0], &ignored) != 0 || read_number(t->header[1], &ignored) != 0)
        return add_set(r, t, 0, t->rows, 0, 1, name ? name + 1 : path, path, e);
    whole.rows = t->rows + 1;
    whole.cell = calloc(whole.rows * 2, sizeof *whole.cell);
    if (!whole.cell)
        return fail_memory(e, (double)whole.rows * 2 * sizeof *whole.cell, path);
    memcpy(whole.cell, t->header, 2 * sizeof *whole.cell);
    if (t->rows)
        memcpy(whole.cell + 2, t->cell, t->rows * 2 * sizeof *whole.cell);
    rc = add_set(r, &whole, 0, whole.rows, 0, 1, name ? name + 1 : path, path, e);
    free(whole.cell);
    return rc;
}

int fit_read_csv(struct fit_run *r, const char *path, struct error *e)
{
    struct csv_table t;
    int rc = -1;

    if (csv_read(path, &t, e) != 0)
        return -1;
    for (int i = 0; i < LAYOUTS; i++)
        if (csv_column(&t, layouts[i].t) >= 0 && csv_column(&t, layouts[i].y) >= 0) {
            if (layouts[i].is_measured && results_check_finished(path, e) != 0)
                goto end;
            rc = t.rows ? read_layout(r, &t, &layouts[i], path, e) : fail(e, "%s: has no rows", path);
            goto end;
        }
    if (t.columns == 2)
        rc = read_pairs(r, &t, path, e);
    else
        fail(e, "%s: has %zu columns, and not those of curve.csv or bias.csv (expected one of these, or two columns t, y)", path,
             t.columns);
end:
    csv_table_free(&t);
    return rc;
}
