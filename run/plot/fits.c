/* The figure of tables of fits, fit.csv: only the fitted curves, since it has no points. */
#include "run/plot/plot.h"

#include "analyze/fit.h"
#include "plots/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIT_FORMULA,
    FIT_HEAD,
    FIT_FORM,
    FIT_FIRST,
    FIT_LAST,
    FIT_COEFFICIENT,
    FIT_VALUE,
    FIT_R2,
    FIT_LAYER,
    FIT_COLUMNS
};
static const char *const columns[FIT_COLUMNS] = {"formula",     "head",  "form", "first", "last",
                                                 "coefficient", "value", "r2",   "layer"};
enum { POINTS = 512, FITS_MAX = 24 };

struct table {
    const struct report *report;
    int column[FIT_COLUMNS];
};

static const char *cell(const struct table *t, size_t row, int column)
{
    return report_cell(t->report, row, t->column[column]);
}

static int is_same(const struct table *t, size_t a, size_t b)
{
    static const int groups[] = {FIT_FORMULA, FIT_HEAD, FIT_FORM, FIT_FIRST, FIT_LAST, FIT_LAYER};

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(cell(t, a, groups[i]), cell(t, b, groups[i])) != 0)
            return 0;
    return 1;
}

/* The coefficients of rows first .. last-1 in the order of the form. */
static int read_result(struct fit_result *out, const struct fit_form *form, const struct table *t,
                       size_t first, size_t last, struct error *e)
{
    *out = (struct fit_result){.count = form->count};
    for (int c = 0; c < form->count; c++) {
        const char *name = form->formula->parameters[form->slot[c]].name;
        size_t row = first;

        while (row < last && strcmp(cell(t, row, FIT_COEFFICIENT), name) != 0)
            row++;
        if (row == last)
            return fail(e, "%s: row %zu has no coefficient %s of its form beside it",
                        t->report->path, first + 1, name);
        snprintf(out->name[c], sizeof out->name[c], "%s", name);
        if (report_number(t->report, row, t->column[FIT_VALUE], -INFINITY, NAN, &out->value[c],
                          e) != 0)
            return -1;
    }
    return 0;
}

/* "y = a + b*ln(1+t), a = -0.794, ...", as in `reach fit`. */
static char *curve_text(const struct table *t, size_t first, const struct fit_result *result)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    fprintf(f, "y = %s", cell(t, first, FIT_FORM));
    for (int c = 0; c < result->count; c++)
        fprintf(f, ", %s = %.4g", result->name[c], result->value[c]);
    fprintf(f, ", R\xc2\xb2 = %.3f", strtod(cell(t, first, FIT_R2), NULL));
    failed = ferror(f);
    if (fclose(f) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

/* Evaluates the form over its range. */
static int add_fit(struct fit_figure *out, const struct table *t, size_t first, size_t last,
                   struct error *e)
{
    const char *head = cell(t, first, FIT_HEAD), *layer = cell(t, first, FIT_LAYER);
    int has_head = *head && strcmp(head, "all") != 0;
    struct fit_result result;
    struct fit_form form;
    struct formula_error why;
    double from, to, *values = calloc(POINTS, 2 * sizeof *values);
    char *label = NULL;
    int rc = -1;

    if (!values)
        return fail_memory(e, POINTS * 2.0 * sizeof *values, "a fit");
    *out = (struct fit_figure){.t = values, .fitted = values + POINTS, .points = POINTS};
    if (fit_form_parse(&form, cell(t, first, FIT_FORM), &why) != 0)
        return fail(e, "%s: row %zu: %s", t->report->path, first + 1, why.message);
    if (read_result(&result, &form, t, first, last, e) != 0 ||
        report_number(t->report, first, t->column[FIT_FIRST], 0, 0, &from, e) != 0 ||
        report_number(t->report, first, t->column[FIT_LAST], from, from, &to, e) != 0)
        goto end;
    for (size_t k = 0; k < POINTS; k++) { /* dense at the start, for a logarithmic axis */
        values[k] = exp(log1p(from) + (log1p(to) - log1p(from)) * (double)k / (POINTS - 1)) - 1;
        values[POINTS + k] = fit_evaluate(&form, &result, values[k]);
    }
    values[0] = from, values[POINTS - 1] = to;
    if (asprintf(&label, "%s%s%s%s%s", cell(t, first, FIT_FORMULA), *layer ? ", layer " : "", layer,
                 has_head ? ", head " : "", has_head ? head : "") < 0)
        label = NULL;
    out->label = label;
    out->curve = curve_text(t, first, &result);
    rc = out->label && out->curve ? 0 : fail(e, "out of memory for the figure");
end:
    fit_form_free(&form);
    return rc;
}

static int add_table(struct fit_figure *fits, size_t *count, const struct report *report,
                     struct error *e)
{
    struct table t = {.report = report};

    if (report_columns(report, columns, FIT_COLUMNS, "fit.csv of `reach fit`", t.column, e) != 0)
        return -1;
    for (size_t first = 0, last; first < report->table.rows; first = last) {
        for (last = first + 1; last < report->table.rows && is_same(&t, first, last);)
            last++;
        if (*count == FITS_MAX)
            return fail(e, "%s: has more than %d fits, too many for one figure", report->path,
                        FITS_MAX);
        if (add_fit(&fits[(*count)++], &t, first, last, e) != 0)
            return -1;
    }
    return 0;
}

int plot_fit(const struct plot_run *r, double threshold, const char *const *comments,
             struct error *e)
{
    struct fit_figure fits[FITS_MAX] = {{0}}, *picked = NULL;
    size_t count = 0, kept;
    int rc = 0;

    (void)threshold;
    for (size_t i = 0; rc == 0 && plot_table(r, REPORT_FITS, i); i++)
        rc = add_table(fits, &count, plot_table(r, REPORT_FITS, i), e);
    kept = count;
    if (rc == 0 && !(picked = plot_pick(r, "fit", fits, sizeof *picked, &kept, e)))
        rc = -1;
    if (rc == 0)
        rc = figure_fit(r->options->folder, "fit", picked, kept, "y", comments, &r->style, e);
    free(picked);
    for (size_t i = 0; i < count; i++) {
        free((double *)fits[i].t);
        free((char *)fits[i].label);
        free((char *)fits[i].curve);
    }
    return rc;
}
