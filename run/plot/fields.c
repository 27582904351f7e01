/* Theoretical and measured fields. */
#include "run/plot/plot.h"

#include "analyze/curve.h"
#include "plots/trf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the figure while they are collected. Labels are owned. */
struct fields {
    struct field_row *rows;
    size_t count;
};

static struct field_row *field_named(struct fields *all, const char *label, struct error *e)
{
    struct field_row *grown;
    char *copy;

    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->rows[i].label, label) == 0)
            return &all->rows[i];
    grown = reallocarray(all->rows, all->count + 1, sizeof *grown);
    if (grown)
        all->rows = grown;
    copy = grown ? strdup(label) : NULL;
    if (!copy) {
        fail(e, "%s: out of memory for the figure", label);
        return NULL;
    }
    all->rows[all->count] = (struct field_row){.label = copy};
    return &all->rows[all->count++];
}

enum {
    COLUMN_FORMULA,
    COLUMN_HEAD,
    COLUMN_LENGTH,
    COLUMN_LAYERS,
    COLUMN_EPSILON,
    COLUMN_VERDICT,
    COLUMN_TRF_HI,
    COLUMN_LAYER,
    COLUMN_LOG10_TRF_HI,
    COLUMN_COUNT
};
static const char *const column_names[COLUMN_COUNT] = {"formula", "head",    "length",
                                                       "layers",  "epsilon", "verdict",
                                                       "trf_hi",  "layer",   "log10_trf_hi"};

struct trf_table {
    const struct report *report;
    int column[COLUMN_COUNT];
};

static const char *cell(const struct trf_table *t, size_t row, int column)
{
    return report_cell(t->report, row, t->column[column]);
}

/* The table's epsilon nearest to `wanted`; NaN without any. */
static double nearest_epsilon(const struct trf_table *t, double wanted)
{
    double best = NAN;

    for (size_t row = 0; row < t->report->table.rows; row++) {
        double epsilon = strtod(cell(t, row, COLUMN_EPSILON), NULL);

        if (!(fabs(epsilon - wanted) >= fabs(best - wanted)))
            best = epsilon;
    }
    return best;
}

/* 1 if this name has a row for all heads, which is then used; else the largest head. */
static int has_all_heads(const struct trf_table *t, const char *name)
{
    for (size_t row = 0; row < t->report->table.rows; row++)
        if (strcmp(cell(t, row, COLUMN_FORMULA), name) == 0 &&
            strcmp(cell(t, row, COLUMN_HEAD), "all") == 0)
            return 1;
    return 0;
}

/* Upper end of a row's field; +inf if the series does not converge, 0 if there is none. */
static double field_of_row(const struct trf_table *t, size_t row)
{
    const char *digits = cell(t, row, COLUMN_TRF_HI),
               *logarithm = cell(t, row, COLUMN_LOG10_TRF_HI);

    if (*digits && strlen(digits) < 300)
        return strtod(digits, NULL);
    if (*logarithm)
        return pow(10, strtod(logarithm, NULL));
    return strcmp(cell(t, row, COLUMN_VERDICT), "not applicable") == 0 ? 0 : INFINITY;
}

static int add_table(struct fields *all, const struct report *report, double *epsilon, long *layers,
                     struct error *e)
{
    struct trf_table t = {.report = report};

    if (report_columns(report, column_names, COLUMN_COUNT, "trf.csv of `reach trf`", t.column, e) !=
        0)
        return -1;
    *epsilon = nearest_epsilon(&t, *epsilon);
    for (size_t row = 0; row < t.report->table.rows; row++) {
        const char *name = cell(&t, row, COLUMN_FORMULA);
        long depth = strtol(cell(&t, row, COLUMN_LAYERS), NULL, 10);
        struct field_row *field;
        double value;

        if (strtod(cell(&t, row, COLUMN_EPSILON), NULL) != *epsilon ||
            strcmp(cell(&t, row, COLUMN_LENGTH), "inf") != 0)
            continue;
        field = field_named(all, name, e);
        if (!field)
            return -1;
        if (has_all_heads(&t, name) && strcmp(cell(&t, row, COLUMN_HEAD), "all") != 0)
            continue;
        value = field_of_row(&t, row);
        if (isnan(value))
            return fail(e,
                        "%s: row %zu has \"%s\" as trf_hi and \"%s\" as log10_trf_hi (expected "
                        "numbers, or inf)",
                        report->path, row + 1, cell(&t, row, COLUMN_TRF_HI),
                        cell(&t, row, COLUMN_LOG10_TRF_HI));
        if (depth > 1) {
            field->trf_depth = fmax(field->trf_depth, value);
            *layers = depth;
        } else {
            field->trf = fmax(field->trf, value);
        }
    }
    return 0;
}

static int add_curve(struct fields *all, const struct figure_curve *c, double threshold,
                     struct error *e)
{
    struct field_row *field = field_named(all, c->label, e);

    if (!field)
        return -1;
    field->erf = (double)c->erf;
    field->saturated = c->saturated;
    field->train_length = c->train_length;
    field->cone = c->cone;
    /* a higher curve reaches the threshold sooner */
    field->erf_lo = c->c_hi ? (double)curve_erf(c->c_hi, c->positions, threshold) : field->erf;
    field->erf_hi = c->c_lo ? (double)curve_erf(c->c_lo, c->positions, threshold) : field->erf;
    return 0;
}

int plot_fields(const struct plot_run *r, double threshold, const char *const *comments,
                struct error *e)
{
    struct fields all = {0};
    double epsilon = 1 - threshold;
    long layers = 0;
    char subtitle[128];
    int rc = 0;

    for (size_t i = 0; rc == 0 && plot_table(r, REPORT_FIELDS, i); i++)
        rc = add_table(&all, plot_table(r, REPORT_FIELDS, i), &epsilon, &layers, e);
    for (size_t i = 0; i < r->curve_count && rc == 0; i++)
        rc = add_curve(&all, &r->curves[i].figure, threshold, e);
    if (rc == 0) {
        struct field_row *picked;
        size_t count = all.count;
        int used = snprintf(subtitle, sizeof subtitle, "Theoretical field TRF(%.6g)", epsilon);

        if (r->curve_count)
            used += snprintf(subtitle + used, sizeof subtitle - (size_t)used,
                             " beside measured ERF(%.6g)", threshold);
        if (layers)
            snprintf(subtitle + used, sizeof subtitle - (size_t)used, "; across %ld layers",
                     layers);
        picked = plot_pick(r, "fields", all.rows, sizeof *picked, &count, e);
        rc = picked ? figure_fields(r->options->folder, "fields", picked, count, subtitle, comments,
                                    &r->style, e)
                    : -1;
        free(picked);
    }
    for (size_t i = 0; i < all.count; i++)
        free((char *)all.rows[i].label);
    free(all.rows);
    return rc;
}
