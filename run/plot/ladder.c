/* The figure of tables of measured fields, summary.csv. */
#include "run/plot/rows.h"

#include "plots/ladder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct row {
    struct plot_row at;
    const char *model, *saturated, *target, *layer;
    double threshold, erf, erf_lo, erf_hi;
};
static const struct plot_column column[] = {PLOT_LINE(row, model),
                                            PLOT_TEXT(row, saturated),
                                            PLOT_TEXT(row, target),
                                            PLOT_TEXT(row, layer),
                                            PLOT_NUMBER(row, threshold, 0, 0),
                                            PLOT_NUMBER(row, erf, 0, 0),
                                            PLOT_NUMBER(row, erf_lo, 0, NAN),
                                            PLOT_NUMBER(row, erf_hi, 0, NAN)};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_LADDER, "a table of `reach erf`",
                                                        column, row, NULL);

/* The thresholds of all rows, each once, ascending; returns how many. */
static size_t find_thresholds(double *thresholds, const struct row *rows, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        while (at < found && thresholds[at] < rows[i].threshold)
            at++;
        if (at < found && thresholds[at] == rows[i].threshold)
            continue;
        memmove(thresholds + at + 1, thresholds + at, (found++ - at) * sizeof *thresholds);
        thresholds[at] = rows[i].threshold;
    }
    return found;
}

/* One line of the figure for each model, of its first target and layer: the whole segment at the
 * embeddings. */
static int add_models(struct plot_run *r, struct ladder *u, struct ladder_row *out,
                      const struct row *rows, size_t count, struct error *e)
{
    const struct row *main = rows;
    size_t n = u->threshold_count;

    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        struct ladder_row *line;
        size_t k = 0;

        if (row->at.begins) {
            double *fields = plot_new(r, n, 3 * sizeof *fields, e);
            unsigned char *saturated = fields ? plot_new(r, n, 1, e) : NULL;

            if (!saturated)
                return -1;
            out[u->count++] = (struct ladder_row){row->model, fields, fields + n, fields + 2 * n,
                                                  saturated};
            main = row;
        }
        if (strcmp(row->target, main->target) != 0 || strcmp(row->layer, main->layer) != 0)
            continue;
        line = &out[u->count - 1];
        while (u->thresholds[k] != row->threshold)
            k++;
        line->erf[k] = row->erf;
        line->erf_lo[k] = isnan(row->erf_lo) ? row->erf : row->erf_lo;
        line->erf_hi[k] = isnan(row->erf_hi) ? row->erf : row->erf_hi;
        line->saturated[k] = strcmp(row->saturated, "1") == 0;
    }
    return 0;
}

int plot_ladder(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    char subtitle[64];
    struct ladder u = {.train_length = (int)r->options->train_length, .subtitle = subtitle};
    size_t count;
    int has_interval = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    double *thresholds = rows ? plot_new(r, count, sizeof *thresholds, e) : NULL;
    struct ladder_row *models = thresholds ? plot_new(r, count, sizeof *models, e) : NULL;

    if (!models)
        return -1;
    u.thresholds = thresholds;
    u.threshold_count = find_thresholds(thresholds, rows, count);
    if (add_models(r, &u, models, rows, count, e) != 0)
        return -1;
    for (size_t k = 1; k < u.threshold_count; k++)
        if (fabs(thresholds[k] - r->threshold) < fabs(thresholds[u.main] - r->threshold))
            u.main = k;
    if (r->options->threshold > 0 && count && fabs(thresholds[u.main] - r->threshold) > 1e-9)
        return fail(e, "%s: has no ERF(%.6g) (expected a threshold that `reach erf` was asked for)",
                    rows[0].at.from->path, r->threshold);
    for (size_t i = 0; i < count; i++)
        has_interval |= rows[i].erf_lo < rows[i].erf_hi; /* equal ends: none */
    snprintf(subtitle, sizeof subtitle, "Empirical receptive field");
    if (has_interval)
        snprintf(subtitle, sizeof subtitle, "Empirical receptive field; interval of ERF(%.6g)",
                 thresholds[u.main]);
    u.rows = plot_pick(r, to->stem, models, sizeof *models, &u.count, e);
    return u.rows ? figure_ladder(to, &u, e) : -1;
}
