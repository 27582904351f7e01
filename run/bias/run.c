#include "run/bias/bias.h"

#include "run/results.h"

#include <stdlib.h>

static int evaluate(struct bias_run *r, struct error *e)
{
    size_t length = (size_t)r->options->length, total = 0;

    for (int i = 0; i < r->count; i++)
        total += (size_t)r->arguments[i].set.bias_count;
    r->values = calloc(total + 1, sizeof *r->values);
    if (!r->values)
        return fail_memory(e, (double)total * sizeof *r->values, "the biases");
    for (int i = 0; i < r->count; i++)
        for (int b = 0; b < r->arguments[i].set.bias_count; b++) {
            const struct formula_argument *a = &r->arguments[i];
            struct bias_values *v = &r->values[r->value_count];
            size_t bytes;

            if (!a->set.biases[b].formula)
                continue;
            *v = (struct bias_values){.argument = a,
                                      .bias = b,
                                      .rows = bias_rows(&a->set, &a->set.biases[b])};
            if (__builtin_mul_overflow((size_t)v->rows * sizeof *v->table, length, &bytes) ||
                !(v->table = malloc(bytes)))
                return fail_memory(e, (double)v->rows * (double)length * sizeof *v->table,
                                   "a table of the bias");
            r->value_count++;
            if (bias_table(v->table, &a->set, &a->set.biases[b], length, a->label, e) != 0)
                return -1;
        }
    return 0;
}

enum run_status bias_run(struct bias_run *r, struct error *e)
{
    const struct bias_options *o = r->options;
    struct results results = {.lock = -1};
    enum run_status status = formula_arguments_read(&r->arguments, &o->arguments, &o->formulas,
                                                    r->progress, e);
    int rc = 0;

    if (status != RUN_DONE)
        return status;
    r->count = o->arguments.count;
    if (o->folder)
        rc = results_open(&results, o->folder, &bias_layout, o->force, e);
    if (rc == 0)
        rc = evaluate(r, e);
    if (rc == 0 && o->folder)
        rc = results_drawn(bias_write(r, e), o->folder, o->formats, NULL, r->progress, e);
    results_close(&results);
    return rc == 0 ? RUN_DONE : RUN_FAILED;
}

void bias_run_free(struct bias_run *r)
{
    for (int i = 0; i < r->value_count; i++)
        free(r->values[i].table);
    free(r->values);
    formula_arguments_free(r->arguments, r->count);
    r->values = NULL;
    r->arguments = NULL;
    r->value_count = 0;
}
