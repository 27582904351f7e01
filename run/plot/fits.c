/* The figure of tables of fits, fit.csv: only the fitted curves, since it has no points. */
#include "run/plot/rows.h"

#include "plots/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 512 };

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

/* A fit of rows [count]: the form over its range. */
static int add_fit(struct plot_run *r, struct fit_figure *out, const struct row *rows, size_t count,
                   struct error *e)
{
    const struct row *row = rows;
    int rc = -1;
    double from = row->first, to = isnan(row->last) ? from : row->last,
           *values = plot_new(r, POINTS, 2 * sizeof *values, e);
    struct fit_result *result = values ? plot_new(r, 1, sizeof *result, e) : NULL;
    struct fit_form form;
    struct formula_error why;

    if (!result)
        return -1;
    if (to < from)
        return fail(e, "%s: row %zu has %g as last (expected at least its first, %g)",
                    row->at.from->path, row->at.number, to, from);
    if (fit_form_parse(&form, row->form, &why) != 0)
        return fail(e, "%s: row %zu: %s", row->at.from->path, row->at.number, why.message);
    if (read_result(result, &form, rows, count, e) != 0)
        goto end;
    for (size_t k = 0; k < POINTS; k++) { /* dense at the start, for a logarithmic axis */
        values[k] = exp(log1p(from) + (log1p(to) - log1p(from)) * (double)k / (POINTS - 1)) - 1;
        values[POINTS + k] = fit_evaluate(&form, result, values[k]);
    }
    values[0] = from, values[POINTS - 1] = to;
    result->r2 = row->r2;
    *out = (struct fit_figure){.form = row->form,
                               .result = result,
                               .t = values,
                               .fitted = values + POINTS,
                               .points = POINTS};
    rc = 0;
end:
    fit_form_free(&form);
    return rc;
}

/* 1 if two fits differ by their layers alone. */
static int are_alike(const struct fit_figure *a, const struct row *x, const struct fit_figure *b,
                     const struct row *y)
{
    int same = strcmp(x->formula, y->formula) == 0 && strcmp(x->head, y->head) == 0 &&
               strcmp(x->form, y->form) == 0 && *x->layer && *y->layer && x->first == y->first &&
               x->last == y->last && a->result->r2 == b->result->r2;

    for (int c = 0; same && c < a->result->count; c++)
        same = a->result->value[c] == b->result->value[c];
    return same;
}

/* Joins the fits [count] of layers that share a bias, and labels those that are left; returns how
 * many, or -1. `rows` [count]: the first of each. */
static long join_layers(struct plot_run *r, struct fit_figure *fits, const struct row **rows,
                        size_t count, struct error *e)
{
    size_t *owner = plot_new(r, count, sizeof *owner, e), kept = 0;
    long *layers = owner ? plot_new(r, count, sizeof *layers, e) : NULL;

    if (!layers)
        return -1;
    for (size_t i = 0; i < count; i++)
        while (owner[i] < i && !(owner[owner[i]] == owner[i] &&
                                 are_alike(&fits[owner[i]], rows[owner[i]], &fits[i], rows[i])))
            owner[i]++;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = rows[i];
        int has_head = *row->head && strcmp(row->head, "all") != 0;
        size_t members = 0, all = 0;

        if (owner[i] != i)
            continue;
        for (size_t k = 0; k < count; k++) {
            all += strcmp(rows[k]->formula, row->formula) == 0 &&
                   strcmp(rows[k]->head, row->head) == 0 && strcmp(rows[k]->form, row->form) == 0;
            if (owner[k] == i)
                layers[members++] = strtol(rows[k]->layer, NULL, 10);
        }
        fits[kept] = fits[i];
        fits[kept].name = row->formula;
        fits[kept].layers = *row->layer && members < all ? plot_layers_text(r, layers, members, e)
                                                         : "";
        fits[kept].label = fits[kept].layers
                               ? plot_text(r, e, "%s%s%s%s%s", row->formula,
                                           *fits[kept].layers ? ", " : "", fits[kept].layers,
                                           has_head ? ", head " : "", has_head ? row->head : "")
                               : NULL;
        if (!fits[kept++].label)
            return -1;
    }
    return (long)kept;
}

int plot_fit(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    struct fit_figure *fits;
    const struct row **first_of;
    size_t rows_count, count = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &rows_count, e);
    long kept;

    fits = rows ? plot_new(r, rows_count, sizeof *fits, e) : NULL;
    first_of = fits ? plot_new(r, rows_count, sizeof *first_of, e) : NULL;
    if (!first_of)
        return -1;
    for (size_t first = 0, last; first < rows_count; first = last) {
        for (last = first + 1; last < rows_count && !rows[last].at.begins;)
            last++;
        first_of[count] = &rows[first];
        if (add_fit(r, &fits[count++], &rows[first], last - first, e) != 0)
            return -1;
    }
    kept = join_layers(r, fits, first_of, count, e);
    if (kept < 0)
        return -1;
    count = (size_t)kept;
    fits = plot_pick(r, to->stem, fits, sizeof *fits, &count, e);
    return fits ? figure_fit(to, &(struct fit_figures){fits, count, "y"}, e) : -1;
}
