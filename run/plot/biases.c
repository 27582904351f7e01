/* Figures of tables of biases, bias.csv. */
#include "run/plot/plot.h"

#include "plots/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BIAS_FORMULA, BIAS_HEAD, BIAS_DISTANCE, BIAS_VALUE, BIAS_LAYER, BIAS_COLUMNS };
static const char *const columns[BIAS_COLUMNS] = {"formula", "head", "distance", "bias", "layer"};
enum { LINES_MAX = 24, PANELS_MAX = 16, SHOWN = 8 };

struct biases {
    struct matrix_bias *all; /* [count]; labels and values are owned */
    size_t count, length;
};

struct table {
    const struct report *report;
    int column[BIAS_COLUMNS];
};

static const char *cell(const struct table *t, size_t row, int column)
{
    return report_cell(t->report, row, t->column[column]);
}

static int is_same(const struct table *t, size_t a, size_t b)
{
    static const int groups[] = {BIAS_FORMULA, BIAS_HEAD, BIAS_LAYER};

    for (int i = 0; i < 3; i++)
        if (strcmp(cell(t, a, groups[i]), cell(t, b, groups[i])) != 0)
            return 0;
    return 1;
}

/* Rows first .. last-1: one head at distances 0, 1, ... */
static int add_bias(struct biases *b, const struct table *t, size_t first, size_t last,
                    struct error *e)
{
    struct matrix_bias *grown = reallocarray(b->all, b->count + 1, sizeof *grown);
    double *values = calloc(last - first, sizeof *values);
    const char *head = cell(t, first, BIAS_HEAD), *layer = cell(t, first, BIAS_LAYER);
    char *label = NULL;

    if (grown)
        b->all = grown;
    if (!grown || !values ||
        asprintf(&label, "%s%s%s%s%s", cell(t, first, BIAS_FORMULA), *layer ? ", layer " : "",
                 layer, strcmp(head, "all") ? ", head " : "",
                 strcmp(head, "all") ? head : "") < 0) {
        free(values);
        return fail_memory(e, (double)(last - first) * sizeof *values, "a bias");
    }
    grown[b->count++] = (struct matrix_bias){label, values};
    b->length = b->count == 1 ? last - first : b->length;
    if (last - first != b->length)
        return fail(e, "%s: has %zu distances of %s, and %zu of %s (expected as many of each)",
                    t->report->path, last - first, label, b->length, b->all[0].label);
    for (size_t i = first; i < last; i++) {
        const char *distance = cell(t, i, BIAS_DISTANCE), *value = cell(t, i, BIAS_VALUE);
        char wanted[24], *end;

        snprintf(wanted, sizeof wanted, "%zu", i - first);
        values[i - first] = strtod(value, &end);
        if (strcmp(distance, wanted) != 0 || end == value || *end || isnan(values[i - first]) ||
            values[i - first] == INFINITY)
            return fail(e,
                        "%s: row %zu has \"%s\" at distance \"%s\" (expected a number or -inf at "
                        "distance %s)",
                        t->report->path, i + 1, value, distance, wanted);
    }
    return 0;
}

static int add_table(struct biases *b, const struct report *report, struct error *e)
{
    struct table t = {.report = report};

    if (report_columns(report, columns, BIAS_COLUMNS, "bias.csv of `reach bias`", t.column, e) != 0)
        return -1;
    for (size_t first = 0, last; first < report->table.rows; first = last) {
        for (last = first + 1; last < report->table.rows && is_same(&t, first, last);)
            last++;
        if (add_bias(b, &t, first, last, e) != 0)
            return -1;
    }
    return 0;
}

/* At most `most` of `count`, evenly spread; with --only as many as there is room for. */
static size_t choose(struct matrix_bias *drawn, const struct matrix_bias *from, size_t count,
                     size_t most)
{
    size_t shown = count < most ? count : most;

    for (size_t i = 0; i < shown; i++)
        drawn[i] = from[shown > 1 ? i * (count - 1) / (shown - 1) : count - 1];
    return shown;
}

static int draw(const struct plot_run *r, const char *stem, size_t most,
                int (*figure)(const char *, const char *, const struct matrix_bias *, size_t,
                              size_t, const char *const *, const struct figure_style *,
                              struct error *),
                const char *const *comments, struct error *e)
{
    struct biases b = {0};
    struct matrix_bias drawn[LINES_MAX], *picked = NULL;
    size_t count;
    int rc = 0;

    for (size_t i = 0; rc == 0 && plot_table(r, REPORT_BIASES, i); i++)
        rc = add_table(&b, plot_table(r, REPORT_BIASES, i), e);
    count = b.count;
    if (rc == 0 && !(picked = plot_pick(r, stem, b.all, sizeof *picked, &count, e)))
        rc = -1;
    if (rc == 0)
        rc = figure(r->options->folder, stem, drawn,
                    choose(drawn, picked, count, r->options->only.count ? LINES_MAX : most),
                    b.length, comments, &r->style, e);
    for (size_t i = 0; i < b.count; i++) {
        free((char *)b.all[i].label);
        free((double *)b.all[i].bias);
    }
    free(b.all);
    free(picked);
    return rc;
}

int plot_bias(const struct plot_run *r, double threshold, const char *const *comments,
              struct error *e)
{
    (void)threshold;
    return draw(r, "bias", SHOWN, figure_bias, comments, e);
}

int plot_matrix(const struct plot_run *r, double threshold, const char *const *comments,
                struct error *e)
{
    (void)threshold;
    return draw(r, "matrix", PANELS_MAX, figure_matrix, comments, e);
}
