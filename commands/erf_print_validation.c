/* The output of `reach erf --validate`: how much text each model's loss depends on, and the
 * field. */
#include "commands/erf.h"

#include "run/validate/validate.h"

#include <math.h>

static void mean_cells(struct table *t, const struct validation_mean *m)
{
    if (isnan(m->mean))
        table_cell(t, "-");
    else
        table_cell(t, "%.3f", m->mean);
    if (isnan(m->lo))
        table_cell(t, "-");
    else
        table_cell(t, "[%.3f, %.3f]", m->lo, m->hi);
}

static void model_row(struct table *t, const struct result_model *m)
{
    const struct validation *v = m->validation;
    const char *all = v->enough == v->positions ? ">= " : "";

    table_cell(t, "%s", m->name);
    table_cell(t, "%zu", v->used);
    table_cell(t, "%s%zu", all, v->enough);
    if (v->used > 1)
        table_cell(t, "[%zu, %zu]", v->enough_lo, v->enough_hi);
    else
        table_cell(t, "-");
    table_cell(t, "%.3f", v->enough_gradient);
    mean_cells(t, &v->correlation);
    mean_cells(t, &v->within_octaves);
}

int erf_table_validation(const struct result *r, table_sink *put, FILE *f)
{
    struct table *t = table_create("lrrlrrl2rl1");
    int rc;

    if (!t)
        return -1;
    table_caption(t,
                  "field and loss: with other inputs before the last k, -log p changes by no more "
                  "than %g nats, up or down",
                  validation_within);
    table_cells(t, (const char *const[]){"model", "tests", "k", "95 % interval", "gradient there",
                                         "single inputs", "95 % interval", "in octaves",
                                         "95 % interval", NULL});
    for (size_t i = 0; i < r->model_count; i++)
        model_row(t, &r->models[i]);
    table_note(t, "gradient there: share of the last k; single inputs: rank correlation of norm "
                  "and |change| when one input is replaced, over all distances and within octaves "
                  "of the distance; all numbers are in validation.csv");
    rc = put(f, t);
    table_free(t);
    return rc;
}
