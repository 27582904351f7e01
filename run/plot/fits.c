/* The figure of tables of fits, fit.csv: only the fitted curves, since it has no points. */
#include "run/plot/rows.h"

#include "analyze/fit.h"
#include "plots/matrix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 512, FITS_MAX = 24 };

struct row {
    struct plot_row at;
    const char *formula, *head, *form, *layer, *coefficient;
    double first, last, value, r2;
};
static const struct plot_column column[] = {
    PLOT_LINE(row, formula),
    PLOT_LINE(row, head),
    PLOT_LINE(row, form),
    PLOT_LINE(row, layer),
    PLOT_LINE_NUMBER(row, first, 0, 0),
    PLOT_LINE_NUMBER(row, last, 0, NAN),
    PLOT_TEXT(row, coefficient),
    PLOT_NUMBER(row, value, -INFINITY, NAN),
    PLOT_NUMBER(row, r2, -INFINITY, 0),
};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_FITS, "fit.csv of `reach fit`",
                                                        column, row, NULL);

/* The coefficients of a fit's rows [count] in the order of the form. */
static int read_result(struct fit_result *out, const struct fit_form *form, const struct row *rows,
                       size_t count, struct error *e)
{
    *out = (struct fit_result){.count = form->count};
    for (int c = 0; c < form->count; c++) {
        const char *name = form->formula->parameters[form->slot[c]].name;
        size_t i = 0;

        while (i < count && strcmp(rows[i].coefficient, name) != 0)
            i++;
        if (i == count)
            return fail(e, "%s: row %zu has no coefficient %s of its form beside it",
                        rows->at.from->path, rows->at.number, name);
        snprintf(out->name[c], sizeof out->name[c], "%s", name);
        out->value[c] = rows[i].value;
    }
    return 0;
}

/* "y = a + b*ln(1+t), a = -0.794, ...", as in `reach fit`. */
static const char *curve_text(struct plot_run *r, const struct row *row,
                              const struct fit_result *result, struct error *e)
{
    const char *text = plot_text(r, e, "y = %s", row->form);

    for (int c = 0; text && c < result->count; c++)
        text = plot_text(r, e, "%s, %s = %.4g", text, result->name[c], result->value[c]);
    return text ? plot_text(r, e, "%s, R\xc2\xb2 = %.3f", text, row->r2) : NULL;
}

/* A fit of rows [count]: the form over its range. */
static int add_fit(struct plot_run *r, struct fit_figure *out, const struct row *rows, size_t count,
                   struct error *e)
{
    const struct row *row = rows;
    int has_head = *row->head && strcmp(row->head, "all") != 0, rc = -1;
    double from = row->first, to = isnan(row->last) ? from : row->last,
           *values = plot_new(r, POINTS, 2 * sizeof *values, e);
    struct fit_result result;
    struct fit_form form;
    struct formula_error why;

    if (!values)
        return -1;
    if (to < from)
        return fail(e, "%s: row %zu has %g as last (expected at least its first, %g)",
                    row->at.from->path, row->at.number, to, from);
    if (fit_form_parse(&form, row->form, &why) != 0)
        return fail(e, "%s: row %zu: %s", row->at.from->path, row->at.number, why.message);
    if (read_result(&result, &form, rows, count, e) != 0)
        goto end;
    for (size_t k = 0; k < POINTS; k++) { /* dense at the start, for a logarithmic axis */
        values[k] = exp(log1p(from) + (log1p(to) - log1p(from)) * (double)k / (POINTS - 1)) - 1;
        values[POINTS + k] = fit_evaluate(&form, &result, values[k]);
    }
    values[0] = from, values[POINTS - 1] = to;
    *out = (struct fit_figure){.label = plot_text(r, e, "%s%s%s%s%s", row->formula,
                                                  *row->layer ? ", layer " : "", row->layer,
                                                  has_head ? ", head " : "",
                                                  has_head ? row->head : ""),
                               .curve = curve_text(r, row, &result, e),
                               .t = values,
                               .fitted = values + POINTS,
                               .points = POINTS};
    rc = out->label && out->curve ? 0 : -1;
end:
    fit_form_free(&form);
    return rc;
}

int plot_fit(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    struct fit_figure fits[FITS_MAX], *picked;
    size_t rows_count, count = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &rows_count, e);

    if (!rows)
        return -1;
    for (size_t first = 0, last; first < rows_count; first = last) {
        for (last = first + 1; last < rows_count && !rows[last].at.begins;)
            last++;
        if (count == FITS_MAX)
            return fail(e, "%s: has more than %d fits, too many for one figure",
                        rows[first].at.from->path, FITS_MAX);
        if (add_fit(r, &fits[count++], &rows[first], last - first, e) != 0)
            return -1;
    }
    picked = plot_pick(r, to->stem, fits, sizeof *picked, &count, e);
    return picked ? figure_fit(to, &(struct fit_figures){picked, count, "y"}, e) : -1;
}
