/* Figures of tables of attention, attention.csv. */
#include "run/plot/rows.h"

#include "plots/result.h"

#include <math.h>
#include <string.h>

enum { LARGEST = 1 << 14, CELLS_MOST = 1 << 16 }; /* layer and head; all heads */

struct row {
    struct plot_row at;
    const char *model;
    double layer, head, epsilon, attention_erf, trf_length;
};
static const struct plot_column column[] = {
    PLOT_LINE(row, model),
    PLOT_WHOLE(row, layer, 1, LARGEST),
    PLOT_WHOLE(row, head, 1, LARGEST),
    PLOT_NUMBER(row, epsilon, 0, 0),
    PLOT_WHOLE(row, attention_erf, 0, 0x1p53),
    PLOT_WHOLE(row, trf_length, 0, 0x1p53),
};
static const struct plot_columns columns =
    PLOT_COLUMNS(REPORT_ATTENTION, "attention.csv of `reach erf --attention`", column, row, NULL);

/* Columns of a table; -1 in one of before mixers were named. */
struct mixer_columns {
    int mixer, log_decay;
};

static struct mixer_columns mixer_columns(const struct row *row)
{
    return (struct mixer_columns){csv_column(&row->at.from->table, "mixer"),
                                  csv_column(&row->at.from->table, "log_decay")};
}

static int recurs(const struct row *row, struct mixer_columns at)
{
    return at.mixer >= 0 && at.log_decay >= 0 &&
           strcmp(report_cell(row->at.from, row->at.number - 1, at.mixer), "recurrence") == 0;
}

/* The layers and heads of the rows, and memory for them. */
static int add_room(struct plot_run *r, struct result_attention *out, const struct row *rows,
                    size_t count, struct mixer_columns at, struct error *e)
{
    size_t cells;

    for (size_t i = 0; i < count; i++) {
        size_t *heads = recurs(&rows[i], at) ? &out->recurrence_heads : &out->heads;

        out->layers = (size_t)fmax((double)out->layers, rows[i].layer);
        *heads = (size_t)fmax((double)*heads, rows[i].head);
    }
    cells = out->layers * (out->heads > out->recurrence_heads ? out->heads : out->recurrence_heads);
    if (cells > (at.mixer < 0 ? count : CELLS_MOST))
        return fail(e,
                    "%s: has %zu rows of %s, and layers up to %zu of heads up to %zu (expected a "
                    "row of each head)",
                    rows->at.from->path, count, rows->model, out->layers, cells / out->layers);
    out->rows = plot_new(r, cells, sizeof *out->rows, e);
    out->log_decay = plot_new(r, cells, sizeof *out->log_decay, e);
    if (!out->rows || !out->log_decay)
        return -1;
    for (size_t i = 0; i < cells; i++)
        out->log_decay[i] = NAN;
    return 0;
}

/* One model's rows [count] at the epsilon, as a result's model. */
static int add_model(struct plot_run *r, struct result_attention *out, const struct row *rows,
                     size_t count, double epsilon, struct error *e)
{
    struct mixer_columns at = mixer_columns(rows);

    if (add_room(r, out, rows, count, at, e) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        size_t layer = (size_t)row->layer - 1, head = (size_t)row->head - 1;
        struct attention_row *to = &out->rows[layer * out->heads + head];

        if (row->epsilon != epsilon)
            continue;
        if (recurs(row, at)) {
            if (report_number(row->at.from, row->at.number - 1, at.log_decay, -INFINITY, NAN,
                              &out->log_decay[layer * out->recurrence_heads + head], e) != 0)
                return -1;
            continue;
        }
        to->erf = (size_t)row->attention_erf;
        to->trf_length = (size_t)row->trf_length;
    }
    return 0;
}

/* All models of a table's rows [count], each at the figure's epsilon: that of the first table. Also
 * extends `labels`, whose names are borrowed from the table. */
static int add_table(struct plot_run *r, struct result *out, const char **labels,
                     const struct row *rows, size_t count, struct error *e)
{
    double threshold = out->model_count ? out->main_threshold : r->threshold,
           epsilon = plot_nearest(&rows->epsilon, sizeof *rows, count, 1 - threshold);

    if ((r->options->threshold > 0 || out->model_count) && fabs(epsilon - (1 - threshold)) > 1e-9)
        return fail(
            e,
            "%s: has no rows of epsilon %.6g (expected a threshold that `reach erf` was asked for)",
            rows->at.from->path, 1 - threshold);
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count && !rows[last].at.begins;)
            last++;
        labels[out->model_count] = rows[first].model;
        if (add_model(r, &out->models[out->model_count++].attention, &rows[first], last - first,
                      epsilon, e) != 0)
            return -1;
        out->main_threshold = 1 - epsilon;
    }
    return 0;
}

static int draw(struct plot_run *r, const struct figure_place *to, plot_result *figure,
                struct error *e)
{
    struct result all = {.threshold_count = 1};
    const struct report *t;
    const char **labels;
    size_t count, models = 0, first = 0, last = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);

    for (size_t i = 0; rows && i < count; i++)
        models += (size_t)rows[i].at.begins;
    labels = rows ? plot_new(r, models, sizeof *labels, e) : NULL;
    all.models = labels ? plot_new(r, models, sizeof *all.models, e) : NULL;
    if (!all.models)
        return -1;
    for (size_t i = 0; (t = plot_table(r, REPORT_ATTENTION, i)) != NULL; i++, first = last) {
        while (last < count && rows[last].at.from == t)
            last++;
        if (first == last)
            return fail(e, "%s: has no rows", t->path);
        if (add_table(r, &all, labels, &rows[first], last - first, e) != 0)
            return -1;
    }
    return plot_models(r, to, &all, labels, figure, e);
}

int plot_attention(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    return draw(r, to, figure_attention, e);
}

int plot_heads(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    return draw(r, to, figure_heads, e);
}
