/* Figures of tables of attention, attention.csv. */
#include "run/plot/plot.h"

#include "plots/result.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_MODEL, HEADS_LAYER, HEADS_HEAD, HEADS_EPSILON, HEADS_ERF, HEADS_TRF, HEADS_COLUMNS };
static const char *const columns[HEADS_COLUMNS] = {"model",   "layer",         "head",
                                                   "epsilon", "attention_erf", "trf_length"};
enum { LARGEST = 1 << 14 }; /* layer and head */

struct table {
    const struct report *report;
    int column[HEADS_COLUMNS];
};

/* A whole number of at least `least`; an empty cell is refused for a layer or head, else 0. */
static int whole(const struct table *t, size_t row, int column, double least, size_t *out,
                 struct error *e)
{
    double most = column < HEADS_EPSILON ? LARGEST : 0x1p53, value;

    if (report_number(t->report, row, t->column[column], least, 0, &value, e) != 0)
        return -1;
    if (!(value >= least && value <= most) || value != floor(value))
        return fail(e, "%s: row %zu has \"%s\" as %s (expected a whole number from %g to %.16g)",
                    t->report->path, row + 1, report_cell(t->report, row, t->column[column]),
                    columns[column], least, most);
    *out = (size_t)value;
    return 0;
}

/* The table's epsilon nearest to 1 - threshold; NaN without rows. */
static double nearest_epsilon(const struct table *t, double threshold)
{
    double best = NAN;

    for (size_t i = 0; i < t->report->table.rows; i++) {
        double epsilon = strtod(report_cell(t->report, i, t->column[HEADS_EPSILON]), NULL);

        if (!(fabs(epsilon - (1 - threshold)) >= fabs(best - (1 - threshold))))
            best = epsilon;
    }
    return best;
}

/* Rows of one model from `first` to `last` at the epsilon, as a result's model. */
static int add_model(struct result *out, const struct table *t, size_t first, size_t last,
                     double epsilon, struct error *e)
{
    struct result_model *grown = reallocarray(out->models, out->model_count + 1, sizeof *grown), *m;
    size_t layer, head;

    if (!grown)
        return fail_memory(e, (double)(out->model_count + 1) * sizeof *grown, "the models");
    out->models = grown;
    m = &grown[out->model_count++];
    *m = (struct result_model){.fields = NULL};
    for (size_t i = first; i < last; i++) {
        if (whole(t, i, HEADS_LAYER, 1, &layer, e) != 0 ||
            whole(t, i, HEADS_HEAD, 1, &head, e) != 0)
            return -1;
        m->attention.layers = layer > m->attention.layers ? layer : m->attention.layers;
        m->attention.heads = head > m->attention.heads ? head : m->attention.heads;
    }
    if (m->attention.layers * m->attention.heads > last - first)
        return fail(e,
                    "%s: has %zu rows of %s, and layers up to %zu of heads up to %zu (expected a "
                    "row of each head)",
                    t->report->path, last - first,
                    report_cell(t->report, first, t->column[HEADS_MODEL]), m->attention.layers,
                    m->attention.heads);
    m->attention.rows = calloc(m->attention.layers * m->attention.heads, sizeof *m->attention.rows);
    if (!m->attention.rows)
        return fail_memory(e,
                           (double)(m->attention.layers * m->attention.heads) *
                               sizeof *m->attention.rows,
                           "the heads");
    for (size_t i = first; i < last; i++) {
        struct attention_row *row;

        if (strtod(report_cell(t->report, i, t->column[HEADS_EPSILON]), NULL) != epsilon)
            continue;
        if (whole(t, i, HEADS_LAYER, 1, &layer, e) != 0 ||
            whole(t, i, HEADS_HEAD, 1, &head, e) != 0)
            return -1;
        row = &m->attention.rows[(layer - 1) * m->attention.heads + head - 1];
        if (whole(t, i, HEADS_ERF, 0, &row->erf, e) != 0 ||
            whole(t, i, HEADS_TRF, 0, &row->trf_length, e) != 0)
            return -1;
    }
    return 0;
}

/* All models of a table, each at the figure's epsilon: that of the first table. Also extends
 * `labels` [model_count]; names are borrowed from the table. */
static int add_table(struct result *out, const char ***labels, const struct plot_run *r,
                     const struct report *report, double threshold, struct error *e)
{
    struct table t = {.report = report};
    double epsilon;

    if (report_columns(report, columns, HEADS_COLUMNS, "attention.csv of `reach erf --attention`",
                       t.column, e) != 0)
        return -1;
    epsilon = nearest_epsilon(&t, out->model_count ? out->main_threshold : threshold);
    if (isnan(epsilon))
        return fail(e, "%s: has no rows", report->path);
    if ((r->options->threshold > 0 && fabs(epsilon - (1 - threshold)) > 1e-9) ||
        (out->model_count && fabs(epsilon - (1 - out->main_threshold)) > 1e-9))
        return fail(
            e,
            "%s: has no rows of epsilon %.6g (expected a threshold that `reach erf` was asked for)",
            report->path, 1 - (out->model_count ? out->main_threshold : threshold));
    for (size_t first = 0, last; first < report->table.rows; first = last) {
        const char *name = report_cell(report, first, t.column[HEADS_MODEL]), **grown;

        for (last = first; last < report->table.rows &&
                           strcmp(report_cell(report, last, t.column[HEADS_MODEL]), name) == 0;)
            last++;
        grown = reallocarray(*labels, out->model_count + 1, sizeof *grown);
        if (!grown)
            return fail_memory(e, 0, "the names");
        *labels = grown;
        grown[out->model_count] = name;
        if (add_model(out, &t, first, last, epsilon, e) != 0)
            return -1;
        out->main_threshold = 1 - epsilon;
    }
    return 0;
}

static int draw(const struct plot_run *r, const char *stem, double threshold,
                int (*figure)(const char *, const char *, const struct result *,
                              const struct figure_style *, struct error *),
                struct error *e)
{
    struct result all = {.version = (char *)REACH_VERSION,
                         .command = (char *)r->command,
                         .threshold_count = 1};
    const char **labels = NULL;
    unsigned char *keep = NULL;
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && plot_table(r, REPORT_ATTENTION, i); i++)
        rc = add_table(&all, &labels, r, plot_table(r, REPORT_ATTENTION, i), threshold, e);
    if (rc == 0 && !(keep = calloc(all.model_count ? all.model_count : 1, 1)))
        rc = fail(e, "out of memory for the names");
    if (rc == 0)
        rc = plot_names(r, stem, labels, keep, all.model_count, e);
    for (size_t i = 0; rc == 0 && i < all.model_count; i++) { /* those left out go to the end */
        struct result_model m = all.models[i];

        if (!keep[i])
            continue;
        plot_set_name(&m, labels[i]);
        all.models[i] = all.models[kept];
        all.models[kept++] = m;
    }
    if (rc == 0) {
        struct result shown = all;

        shown.model_count = kept;
        rc = figure(r->options->folder, stem, &shown, &r->style, e);
    }
    for (size_t i = 0; i < all.model_count; i++)
        free(all.models[i].attention.rows);
    free(all.models);
    free(labels);
    free(keep);
    return rc;
}

int plot_attention(const struct plot_run *r, double threshold, const char *const *comments,
                   struct error *e)
{
    (void)comments;
    return draw(r, "attention", threshold, figure_attention, e);
}

int plot_heads(const struct plot_run *r, double threshold, const char *const *comments,
               struct error *e)
{
    (void)comments;
    return draw(r, "heads", threshold, figure_heads, e);
}
