/* Points from CSV files. */
#include "run/fit/fit.h"

#include "run/report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of a known file. */
struct layout {
    const char *t, *y;
    const char *groups[4]; /* a new value in one of them starts a new set; the first is the label */
    const char *head, *layer;
    const char *quantity;
};

static const struct layout curves[] = {[FIT_C] = {"distance",
                                                  "c",
                                                  {"model", "target", "layer", "attribution"},
                                                  NULL,
                                                  NULL,
                                                  "share c of the most recent tokens"},
                                       [FIT_S] = {"distance",
                                                  "s",
                                                  {"model", "target", "layer", "attribution"},
                                                  NULL,
                                                  NULL,
                                                  "share s of one token"},
                                       [FIT_LN_S] = {"distance",
                                                     "s",
                                                     {"model", "target", "layer", "attribution"},
                                                     NULL,
                                                     NULL,
                                                     "ln of the share s of one token"}};
static const struct layout biases = {"distance", "bias",  {"formula", "head", "layer", NULL},
                                     "head",     "layer", "bias b(t)"};

/* A whole cell as a number, including inf and -inf; 0 or -1. */
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

/* Makes rows first .. last-1 one set. Logarithms of 0, such as shares beyond a window, are left
 * out. */
static int add_set(struct fit_run *r, const struct report *t, size_t first, size_t last,
                   int t_column, int y_column, const char *label, struct error *e)
{
    const struct fit_options *o = r->options;
    struct point *all = calloc(last - first, sizeof *all);
    struct fit_points *p = NULL;
    size_t count = 0;

    if (!all)
        return fail_memory(e, (double)(last - first) * sizeof *all, "the points of a fit");
    for (size_t row = first; row < last; row++) {
        struct point *at = &all[count];

        if (read_number(report_cell(t, row, t_column), &at->t) != 0 ||
            read_number(report_cell(t, row, y_column), &at->y) != 0) {
            fail(e, "%s: row %zu has \"%s\", \"%s\" (expected two numbers)", t->path, row + 1,
                 report_cell(t, row, t_column), report_cell(t, row, y_column));
            goto end;
        }
        if (o->of == FIT_LN_S && at->y < 0) {
            fail(e, "%s: row %zu has \"%s\" as a share (expected 0 to 1)", t->path, row + 1,
                 report_cell(t, row, y_column));
            goto end;
        }
        if (o->of == FIT_LN_S)
            at->y = log(at->y);
        count += (o->last < 0 || (at->t >= (double)o->first && at->t <= (double)o->last)) &&
                 !(o->of == FIT_LN_S && isinf(at->y));
    }
    if (count == 0) {
        if (o->last < 0)
            fail(e, "%s: has no row of %s%s", t->path, label,
                 o->of == FIT_LN_S ? " with a share above 0" : "");
        else
            fail(e, "%s: has no row of %s between distances %ld and %ld%s", t->path, label,
                 o->first, o->last, o->of == FIT_LN_S ? " with a share above 0" : "");
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

static int read_layout(struct fit_run *r, const struct report *t, const struct layout *l,
                       struct error *e)
{
    int group[4], t_column = csv_column(&t->table, l->t), y_column = csv_column(&t->table, l->y),
                  head = l->head ? csv_column(&t->table, l->head) : -1;
    int layer = l->layer ? csv_column(&t->table, l->layer) : -1;

    r->quantity = l->quantity;
    for (int i = 0; i < 4; i++)
        group[i] = l->groups[i] ? csv_column(&t->table, l->groups[i]) : -1;
    for (size_t first = 0, last; first < t->table.rows; first = last) {
        const struct fit_points *p;
        int same = 1;

        for (last = first + 1; last < t->table.rows && same; last += same != 0)
            for (int i = 0; i < 4; i++)
                same &= strcmp(report_cell(t, last, group[i]), report_cell(t, first, group[i])) ==
                        0;
        if (add_set(r, t, first, last, t_column, y_column,
                    group[0] < 0 ? t->path : report_cell(t, first, group[0]), e) != 0)
            return -1;
        p = &r->points[r->count - 1];
        snprintf((char *)p->head, sizeof p->head, "%s", report_cell(t, first, head));
        snprintf((char *)p->layer, sizeof p->layer, "%s", report_cell(t, first, layer));
        if (p->layer[0])
            snprintf((char *)p->layers, sizeof p->layers, "layer %s", p->layer);
    }
    return 0;
}

/* Two columns; a header of two numbers counts as a row. */
static int read_pairs(struct fit_run *r, const struct report *t, struct error *e)
{
    const char *slash = strrchr(t->path, '/'), *name = slash ? slash + 1 : t->path;
    struct report whole = *t;
    double ignored;
    int rc;

    if (read_number(t->table.header[0], &ignored) != 0 ||
        read_number(t->table.header[1], &ignored) != 0)
        return add_set(r, t, 0, t->table.rows, 0, 1, name, e);
    whole.table.rows++;
    whole.table.cell = calloc(whole.table.rows * 2, sizeof *whole.table.cell);
    if (!whole.table.cell)
        return fail_memory(e, (double)whole.table.rows * 2 * sizeof *whole.table.cell, t->path);
    memcpy(whole.table.cell, t->table.header, 2 * sizeof *whole.table.cell);
    if (t->table.rows)
        memcpy(whole.table.cell + 2, t->table.cell, t->table.rows * 2 * sizeof *whole.table.cell);
    rc = add_set(r, &whole, 0, whole.table.rows, 0, 1, name, e);
    free(whole.table.cell);
    return rc;
}

int fit_read_csv(struct fit_run *r, const char *path, struct error *e)
{
    struct report t;
    int rc;

    if (report_open(&t, path, e) != 0)
        return -1;
    if (r->options->of != FIT_C && t.kind != REPORT_CURVES)
        rc = fail(
            e, "%s: has no shares by token, which --of is for (expected curve.csv of `reach erf`)",
            path);
    else if ((t.kind == REPORT_CURVES || t.kind == REPORT_BIASES) && t.table.rows == 0)
        rc = fail(e, "%s: has no rows", path);
    else if (t.kind == REPORT_CURVES || t.kind == REPORT_BIASES)
        rc = read_layout(r, &t, t.kind == REPORT_CURVES ? &curves[r->options->of] : &biases, e);
    else if (t.kind == REPORT_TABLE && t.table.columns == 2)
        rc = read_pairs(r, &t, e);
    else
        rc = fail(e,
                  "%s: has %zu columns, which are not those of curve.csv or bias.csv (expected one "
                  "of these, or two columns t, y)",
                  path, t.table.columns);
    report_close(&t);
    return rc;
}
