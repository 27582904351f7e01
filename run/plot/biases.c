/* Figures of tables of biases, bias.csv. */
#include "run/plot/rows.h"

#include "plots/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 24, PANELS_MAX = 16, SHOWN = 8 };

struct row {
    struct plot_row at;
    const char *formula, *head, *layer, *distance, *bias;
};
static const struct plot_column column[] = {PLOT_LINE(row, formula), PLOT_LINE(row, head),
                                            PLOT_LINE(row, layer), PLOT_TEXT(row, distance),
                                            PLOT_TEXT(row, bias)};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_BIASES, "bias.csv of `reach bias`",
                                                        column, row, NULL);

/* The number of a row, which must be at the distance t. */
static int read_bias(double *out, const struct row *row, size_t t, struct error *e)
{
    char wanted[24], *end;

    snprintf(wanted, sizeof wanted, "%zu", t);
    *out = strtod(row->bias, &end);
    if (strcmp(row->distance, wanted) != 0 || end == row->bias || *end || isnan(*out) ||
        *out == INFINITY)
        return fail(e,
                    "%s: row %zu has \"%s\" at distance \"%s\" (expected a number or -inf at "
                    "distance %s)",
                    row->at.from->path, row->at.number, row->bias, row->distance, wanted);
    return 0;
}

/* The biases of all rows, each of one head at distances 0, 1, ... */
static struct matrix_bias *read_biases(struct plot_run *r, struct matrix_biases *u, struct error *e)
{
    size_t count;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct matrix_bias *biases = rows ? plot_new(r, count, sizeof *biases, e) : NULL;
    double *values = biases ? plot_new(r, count, sizeof *values, e) : NULL;

    if (!values)
        return NULL;
    for (size_t first = 0, last; first < count; first = last) {
        const struct row *row = &rows[first];
        int all = strcmp(row->head, "all") == 0;
        const char *label = plot_text(r, e, "%s%s%s%s%s", row->formula,
                                      *row->layer ? ", layer " : "", row->layer,
                                      all ? "" : ", head ", all ? "" : row->head);

        if (!label)
            return NULL;
        for (last = first + 1; last < count && !rows[last].at.begins;)
            last++;
        biases[u->count++] = (struct matrix_bias){label, values + first};
        u->length = u->count == 1 ? last : u->length;
        if (last - first != u->length) {
            fail(e, "%s: has %zu distances of %s, and %zu of %s (expected as many of each)",
                 row->at.from->path, last - first, label, u->length, biases[0].label);
            return NULL;
        }
        for (size_t i = first; i < last; i++)
            if (read_bias(&values[i], &rows[i], i - first, e) != 0)
                return NULL;
    }
    return biases;
}

/* At most `most` of the biases, evenly spread; with --only as many as there is room for. */
static int draw(struct plot_run *r, const struct figure_place *to, size_t most,
                int (*figure)(const struct figure_place *, const struct matrix_biases *,
                              struct error *),
                struct error *e)
{
    struct matrix_biases u = {0};
    struct matrix_bias drawn[LINES_MAX], *all = read_biases(r, &u, e);
    size_t count = u.count;

    most = r->options->only.count ? (size_t)LINES_MAX : most;
    all = all ? plot_pick(r, to->stem, all, sizeof *all, &count, e) : NULL;
    if (!all)
        return -1;
    u.biases = drawn;
    u.count = count < most ? count : most;
    if (u.count < count)
        progress_warning(r->progress,
                         "%s.gp: %zu of %zu biases are drawn, evenly spread (--only "
                         "chooses others)",
                         to->stem, u.count, count);
    for (size_t i = 0; i < u.count; i++)
        drawn[i] = all[u.count > 1 ? i * (count - 1) / (u.count - 1) : count - 1];
    return figure(to, &u, e);
}

int plot_bias(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    return draw(r, to, SHOWN, figure_bias, e);
}

int plot_matrix(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    return draw(r, to, PANELS_MAX, figure_matrix, e);
}
