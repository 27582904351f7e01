/* Differences of NLL between contexts, over the same targets. */
#include "run/plot/plot.h"

#include "analyze/perplexity.h"
#include "plots/ppl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TARGETS_MODEL,
    TARGETS_CONTEXT,
    TARGETS_ROW,
    TARGETS_POSITION,
    TARGETS_NLL,
    TARGETS_COLUMNS
};
static const char *const columns[TARGETS_COLUMNS] = {"model", "context", "row", "position", "nll"};

struct target {
    double row, position, nll;
};

/* A model's targets at a context, by row and position. */
struct targets {
    struct target *at; /* owned */
    size_t count;
};

static int by_place(const void *a, const void *b)
{
    const struct target *x = a, *y = b;

    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->position > y->position) - (x->position < y->position);
}

static int collect(struct targets *out, const struct report *t, const int *column,
                   const char *model, double context, struct error *e)
{
    *out = (struct targets){calloc(t->table.rows ? t->table.rows : 1, sizeof *out->at), 0};
    if (!out->at)
        return fail_memory(e, (double)t->table.rows * sizeof *out->at, "the targets");
    for (size_t i = 0; i < t->table.rows; i++) {
        struct target *at = &out->at[out->count];
        double own;

        if (strcmp(report_cell(t, i, column[TARGETS_MODEL]), model) != 0)
            continue;
        if (report_number(t, i, column[TARGETS_CONTEXT], 1, 0, &own, e) != 0)
            return -1;
        if (own != context)
            continue;
        if (report_number(t, i, column[TARGETS_ROW], 1, 0, &at->row, e) != 0 ||
            report_number(t, i, column[TARGETS_POSITION], 0, 0, &at->position, e) != 0 ||
            report_number(t, i, column[TARGETS_NLL], 0, NAN, &at->nll, e) != 0)
            return -1;
        out->count += !isnan(at->nll);
    }
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
        int order = by_place(&here->at[i], &there->at[j]);

        if (order == 0)
            a[count] = here->at[i].nll, b[count++] = there->at[j].nll;
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

int plot_add_changes(struct ppl_line *lines, size_t count, const struct report *targets,
                     struct error *e)
{
    int column[TARGETS_COLUMNS], rc = report_columns(targets, columns, TARGETS_COLUMNS,
                                                     "the FILE of --per-token", column, e);

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
            rc = collect(&there, targets, column, line->label, reference, e);
        for (size_t j = 0; j < line->count && rc == 0 && there.count; j++) {
            struct ppl_point *p = (struct ppl_point *)&line->points[j];
            struct targets here;

            rc = collect(&here, targets, column, line->label, p->context, e);
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
