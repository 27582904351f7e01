/* Differences of NLL between contexts, over the same targets. */
#include "run/plot/rows.h"

#include "analyze/perplexity.h"
#include "plots/ppl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    struct plot_row at;
    const char *model;
    double context, row, position, nll;
};
static const struct plot_column column[] = {PLOT_TEXT(row, model), PLOT_NUMBER(row, context, 1, 0),
                                            PLOT_NUMBER(row, row, 1, 0),
                                            PLOT_NUMBER(row, position, 0, 0),
                                            PLOT_NUMBER(row, nll, 0, NAN)};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_TARGETS, "the FILE of --per-token",
                                                        column, row, NULL);

/* A model's targets at a context, by row and position. */
struct targets {
    const struct row **at; /* [count], owned */
    size_t count;
};

static int before(const struct row *x, const struct row *y)
{
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->position > y->position) - (x->position < y->position);
}

static int by_place(const void *a, const void *b)
{
    return before(*(const struct row *const *)a, *(const struct row *const *)b);
}

static int collect(struct targets *out, const struct row *rows, size_t count, const char *model,
                   double context, struct error *e)
{
    *out = (struct targets){calloc(count ? count : 1, sizeof *out->at), 0};
    if (!out->at)
        return fail_memory(e, (double)count * sizeof *out->at, "the targets");
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].model, model) == 0 && rows[i].context == context && !isnan(rows[i].nll))
            out->at[out->count++] = &rows[i];
    qsort(out->at, out->count, sizeof *out->at, by_place);
    return 0;
}

/* The change of a point relative to the reference, over the targets that both have. */
static int compare(struct ppl_point *p, const struct targets *here, const struct targets *there,
                   struct error *e)
{
    size_t most = here->count < there->count ? here->count : there->count, count = 0;
    double *a = calloc(most ? most : 1, sizeof *a), *b = calloc(most ? most : 1, sizeof *b);
    struct perplexity_difference found;

    if (!a || !b) {
        free(a);
        free(b);
        return fail_memory(e, 2.0 * (double)most * sizeof *a, "the differences");
    }
    for (size_t i = 0, j = 0; i < here->count && j < there->count;) {
        int order = before(here->at[i], there->at[j]);

        if (order == 0)
            a[count] = here->at[i]->nll, b[count++] = there->at[j]->nll;
        i += order <= 0;
        j += order >= 0;
    }
    if (count) {
        found = perplexity_compare(a, b, count);
        p->change = found.difference, p->change_error = found.std_error;
    }
    free(a);
    free(b);
    return 0;
}

int plot_add_changes(struct plot_run *r, struct ppl_line *lines, size_t count,
                     const struct report *targets, struct error *e)
{
    size_t row_count;
    const struct row *rows = plot_rows(r, &columns, targets, &row_count, e);
    int rc = rows ? 0 : -1;

    for (size_t i = 0; i < count && rc == 0; i++) {
        struct ppl_line *line = &lines[i];
        double reference = ppl_reference(line);
        struct targets there = {NULL, 0};

        for (size_t j = 0; j < i && rc == 0; j++)
            if (strcmp(lines[j].label, line->label) == 0)
                rc = fail(e,
                          "%s: does not say which protocol of %s its targets are of (expected "
                          "ppl.csv of one run)",
                          targets->path, line->label);
        if (rc == 0)
            rc = collect(&there, rows, row_count, line->label, reference, e);
        for (size_t j = 0; j < line->count && rc == 0 && there.count; j++) {
            struct ppl_point *p = (struct ppl_point *)&line->points[j];
            struct targets here;

            rc = collect(&here, rows, row_count, line->label, p->context, e);
            if (rc == 0)
                rc = compare(p, &here, &there, e);
            if (rc == 0 && !isnan(p->change))
                line->reference = reference;
            free(here.at);
        }
        free(there.at);
    }
    return rc;
}
