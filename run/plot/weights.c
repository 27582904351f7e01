/* The figure of tables of weights.csv. */
#include "run/plot/rows.h"

#include "plots/trf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    struct plot_row at;
    const char *formula, *layers, *head, *length, *verdict, *field;
    double epsilon, tokens, weight, beyond, trf;
};
static const struct plot_column column[] = {
    PLOT_LINE(row, formula),
    PLOT_LINE(row, layers),
    PLOT_LINE(row, head),
    PLOT_LINE(row, length),
    PLOT_LINE_NUMBER(row, epsilon, 0, 0),
    PLOT_LINE(row, verdict),
    PLOT_LINE(row, field),
    PLOT_WHOLE(row, tokens, 1, 0x1p63),
    PLOT_NUMBER(row, weight, 0, 0),
    PLOT_NUMBER(row, beyond, 0, NAN),
    PLOT_NUMBER(row, trf, 0, 0),
};
static const struct plot_columns columns =
    PLOT_COLUMNS(REPORT_WEIGHTS, "weights.csv of `reach trf`", column, row, NULL);

/* The row behind the curve of this one: that of another line, or of another argument of the same
 * name, whose tokens begin anew. */
static size_t end_of_curve(const struct row *rows, size_t first, size_t count)
{
    size_t last = first + 1;

    while (last < count && !rows[last].at.begins && rows[last].tokens != rows[first].tokens)
        last++;
    return last;
}

/* 1 if no single heads of the mean kernel in this row are beside its curve. */
static int is_alone(const struct row *row, const struct row *beside)
{
    return strcmp(beside->formula, row->formula) != 0 || strcmp(beside->head, row->head) == 0;
}

/* The curve of rows [count]. */
static int add_curve(struct plot_run *r, struct trf_curve *out, const struct row *rows,
                     size_t count, int alone, struct error *e)
{
    double *tokens = plot_new(r, count, 3 * sizeof *tokens, e);
    char *label = tokens ? trf_curve_label(rows->formula, rows->layers, rows->head, alone) : NULL;

    if (!tokens)
        return -1;
    *out = (struct trf_curve){.label = label ? plot_text(r, e, "%s", label) : NULL,
                              .head = (int)strtol(rows->head, NULL, 10),
                              .verdict = rows->verdict,
                              .field_text = rows->field,
                              .length = rows->length,
                              .tokens = tokens,
                              .weight = tokens + count,
                              .beyond = isnan(rows->beyond) ? NULL : tokens + 2 * count,
                              .points = count,
                              .field = rows->trf};
    free(label);
    for (size_t i = 0; i < count; i++) {
        if (i && !(rows[i].tokens > rows[i - 1].tokens))
            return fail(e, "%s: row %zu has %.16g as tokens (expected more than in the row before)",
                        rows[i].at.from->path, rows[i].at.number, rows[i].tokens);
        if (isnan(rows[i].beyond) != isnan(rows->beyond))
            return fail(e,
                        "%s: row %zu has another kind of cell as beyond than row %zu (expected "
                        "numbers in all rows of a curve, or in none)",
                        rows[i].at.from->path, rows[i].at.number, rows->at.number);
        tokens[i] = rows[i].tokens;
        tokens[count + i] = rows[i].weight;
        tokens[2 * count + i] = rows[i].beyond;
    }
    return out->label ? 0 : fail(e, "out of memory for the labels");
}

int plot_weights(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    size_t count, curves = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct trf_curve *curve = rows ? plot_new(r, count, sizeof *curve, e) : NULL;

    if (!curve)
        return -1;
    for (size_t first = 0, last; first < count; first = last) {
        last = end_of_curve(rows, first, count);
        if (rows[first].epsilon != rows->epsilon)
            return fail(e,
                        "%s: row %zu has the epsilon %g, others have %g (expected tables of one "
                        "epsilon)",
                        rows[first].at.from->path, rows[first].at.number, rows[first].epsilon,
                        rows->epsilon);
        if (add_curve(r, &curve[curves++], &rows[first], last - first,
                      (first == 0 || is_alone(&rows[first], &rows[first - 1])) &&
                          (last == count || is_alone(&rows[first], &rows[last])),
                      e) != 0)
            return -1;
    }
    curve = plot_pick(r, to->stem, curve, sizeof *curve, &curves, e);
    return curve ? figure_trf(to,
                              &(struct trf_curves){curve, curves,
                                                   fmax(count ? rows->epsilon : 0, 1e-300)},
                              e)
                 : -1;
}
