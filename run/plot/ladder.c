/* The figure of tables of measured fields, summary.csv. */
#include "run/plot/plot.h"

#include "plots/ladder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LADDER_MODEL,
    LADDER_THRESHOLD,
    LADDER_ERF,
    LADDER_LO,
    LADDER_HI,
    LADDER_SATURATED,
    LADDER_TARGET,
    LADDER_LAYER,
    LADDER_COLUMNS
};
static const char *const ladder_columns[LADDER_COLUMNS] = {"model",  "threshold", "erf",
                                                           "erf_lo", "erf_hi",    "saturated",
                                                           "target", "layer"};

/* A table and the indices of its columns. */
struct table {
    const struct report *report;
    int column[LADDER_COLUMNS];
};

static const char *cell(const struct table *t, size_t row, int column)
{
    return report_cell(t->report, row, t->column[column]);
}

static int number_cell(const struct table *t, size_t row, int column, double least, double none,
                       double *out, struct error *e)
{
    return report_number(t->report, row, t->column[column], least, none, out, e);
}

struct ladder_data {
    struct ladder_row *rows;
    size_t count;
    double *thresholds;
    size_t threshold_count;
};

static void ladder_free(struct ladder_data *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free((char *)d->rows[i].label);
        free(d->rows[i].erf);
        free(d->rows[i].saturated);
    }
    free(d->rows);
    free(d->thresholds);
}

/* The thresholds of all tables, each once, ascending. */
static int add_threshold(struct ladder_data *d, double threshold, struct error *e)
{
    size_t at = 0;
    double *grown;

    while (at < d->threshold_count && d->thresholds[at] < threshold)
        at++;
    if (at < d->threshold_count && d->thresholds[at] == threshold)
        return 0;
    grown = reallocarray(d->thresholds, d->threshold_count + 1, sizeof *grown);
    if (!grown)
        return fail_memory(e, 0, "the thresholds");
    d->thresholds = grown;
    memmove(grown + at + 1, grown + at, (d->threshold_count++ - at) * sizeof *grown);
    grown[at] = threshold;
    return 0;
}

static struct ladder_row *add_row(struct ladder_data *d, const char *label, struct error *e)
{
    struct ladder_row *grown = reallocarray(d->rows, d->count + 1, sizeof *grown);
    size_t n = d->threshold_count;
    double *fields = calloc(n, 3 * sizeof *fields);
    unsigned char *saturated = calloc(n, 1);
    char *copy = strdup(label);

    if (grown)
        d->rows = grown;
    if (!grown || !fields || !saturated || !copy) {
        free(fields);
        free(saturated);
        free(copy);
        fail_memory(e, 0, "a row of the figure");
        return NULL;
    }
    grown[d->count] = (struct ladder_row){copy, fields, fields + n, fields + 2 * n, saturated};
    return &grown[d->count++];
}

/* Rows of one table: those of a model's first target and layer: the whole segment at the
 * embeddings. */
static int add_ladder(struct ladder_data *d, const struct table *t, struct error *e)
{
    struct ladder_row *row = NULL;
    size_t main = 0;

    for (size_t i = 0; i < t->report->table.rows; i++) {
        double threshold, erf, lo, hi;
        size_t k = 0;

        if (i == 0 || strcmp(cell(t, i, LADDER_MODEL), cell(t, main, LADDER_MODEL)) != 0) {
            main = i;
            row = add_row(d, cell(t, i, LADDER_MODEL), e);
            if (!row)
                return -1;
        }
        if (strcmp(cell(t, i, LADDER_TARGET), cell(t, main, LADDER_TARGET)) != 0 ||
            strcmp(cell(t, i, LADDER_LAYER), cell(t, main, LADDER_LAYER)) != 0)
            continue;
        if (number_cell(t, i, LADDER_THRESHOLD, 0, 0, &threshold, e) != 0 ||
            number_cell(t, i, LADDER_ERF, 0, 0, &erf, e) != 0 ||
            number_cell(t, i, LADDER_LO, 0, erf, &lo, e) != 0 ||
            number_cell(t, i, LADDER_HI, 0, erf, &hi, e) != 0)
            return -1;
        while (k < d->threshold_count && d->thresholds[k] != threshold)
            k++;
        if (k == d->threshold_count)
            continue;
        row->erf[k] = erf, row->erf_lo[k] = lo, row->erf_hi[k] = hi;
        row->saturated[k] = strcmp(cell(t, i, LADDER_SATURATED), "1") == 0;
    }
    return 0;
}

int plot_ladder(const struct plot_run *r, double threshold, const char *const *comments,
                struct error *e)
{
    struct table *all = calloc(r->table_count, sizeof *all);
    struct ladder_data d = {0};
    int rc = all ? 0 : fail_memory(e, (double)r->table_count * sizeof *all, "the tables");
    size_t main = 0, count = 0;

    for (; rc == 0 && plot_table(r, REPORT_LADDER, count); count++) {
        all[count].report = plot_table(r, REPORT_LADDER, count);
        rc = report_columns(all[count].report, ladder_columns, LADDER_COLUMNS,
                            "a table of `reach erf`", all[count].column, e);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        for (size_t row = 0; row < all[i].report->table.rows && rc == 0; row++) {
            double value;

            rc = number_cell(&all[i], row, LADDER_THRESHOLD, 0, 0, &value, e) == 0
                     ? add_threshold(&d, value, e)
                     : -1;
        }
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_ladder(&d, &all[i], e);
    for (size_t k = 1; k < d.threshold_count; k++)
        if (fabs(d.thresholds[k] - threshold) < fabs(d.thresholds[main] - threshold))
            main = k;
    if (rc == 0 && r->options->threshold > 0 && d.threshold_count &&
        fabs(d.thresholds[main] - threshold) > 1e-9)
        rc = fail(e, "%s: has no ERF(%.6g) (expected a threshold that `reach erf` was asked for)",
                  all[0].report->path, threshold);
    if (rc == 0) {
        struct ladder_row *rows;
        char subtitle[64];

        snprintf(subtitle, sizeof subtitle, "Empirical receptive field; interval of ERF(%.6g)",
                 d.threshold_count ? d.thresholds[main] : threshold);
        count = d.count;
        rows = plot_pick(r, "ladder", d.rows, sizeof *rows, &count, e);
        rc = rows ? figure_ladder(r->options->folder, "ladder", rows, count, d.thresholds,
                                  d.threshold_count, main, (int)r->options->train_length, subtitle,
                                  comments, &r->style, e)
                  : -1;
        free(rows);
    }
    free(all);
    ladder_free(&d);
    return rc;
}
