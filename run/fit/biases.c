/* Points from position biases. */
#include "run/fit/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_DEFAULT = 8191, MODEL_LAST_DEFAULT = 2047 };

/* The points of one bias, a set for each head. */
static int add_bias(struct fit_run *r, const struct formula_argument *a, int bias, struct error *e)
{
    const struct fit_options *o = r->options;
    const struct layer_bias *b = &a->set.biases[bias];
    long last = o->last >= 0              ? o->last
                : !a->is_model            ? LAST_DEFAULT
                : a->set.train_length > 1 ? a->set.train_length - 1
                                          : MODEL_LAST_DEFAULT;
    size_t count = (size_t)(last - o->first) + 1, distances = (size_t)last + 1, bytes;
    int heads = bias_rows(&a->set, b), rc = 0;
    double *table;

    if (__builtin_mul_overflow((size_t)heads * sizeof *table, distances, &bytes) ||
        !(table = malloc(bytes)))
        return fail_memory(e, (double)heads * (double)distances * sizeof *table,
                           "a table of the bias");
    rc = bias_table(table, &a->set, b, distances, a->label, e);
    for (int h = 0; h < heads && rc == 0; h++) {
        struct fit_points *p = fit_points_add(r, a->label, count, e);

        if (!p) {
            rc = -1;
            break;
        }
        for (size_t i = 0; i < count; i++) {
            p->t[i] = (double)o->first + (double)i;
            p->y[i] = table[(size_t)h * distances + (size_t)o->first + i];
        }
        p->count = count;
        if (heads > 1)
            snprintf(p->head, sizeof p->head, "%d", h + 1);
        else
            snprintf(p->head, sizeof p->head, "all");
        bias_layers_text(p->layers, sizeof p->layers, &a->set, bias);
        if (!a->is_model)
            continue;
        p->members = calloc((size_t)a->set.layers, sizeof *p->members);
        if (!p->members)
            rc = fail_memory(e, (double)a->set.layers * sizeof *p->members, "the layers");
        for (int l = 0; l < a->set.layers && rc == 0; l++)
            if (a->set.bias_of_layer[l] == bias)
                p->members[p->member_count++] = l + 1;
    }
    free(table);
    return rc;
}

enum run_status fit_read_biases(struct fit_run *r, struct error *e)
{
    const struct fit_options *o = r->options;
    struct text_list one = {.item = (const char *[]){o->argument}, .count = 1};
    struct formula_argument *a = NULL;
    enum run_status status;
    int rc = 0, usable = 0;

    status = formula_arguments_read(&a, &one, &o->formulas, r->progress, e);
    if (status != RUN_DONE)
        return status;
    r->quantity = "bias b(t)";
    for (int b = 0; b < a->set.bias_count && rc == 0; b++)
        if (a->set.biases[b].formula && !a->set.biases[b].reason[0]) {
            usable = 1;
            rc = add_bias(r, a, b, e);
        }
    if (rc == 0 && !usable)
        rc = fail(e, "%s: has no bias to fit: %s", a->label, a->set.biases[0].reason);
    if (rc == 0 && !a->is_model) {
        const struct formula *f = a->set.biases[0].formula;

        r->is_sandwich = strcmp(f->source, "sandwich") == 0 &&
                         strcmp(o->form, FIT_FORM_DEFAULT) == 0;
        for (int p = 0; p < f->parameter_count; p++)
            r->is_sandwich &= f->parameters[p].count == 0;
    }
    formula_arguments_free(a, 1);
    return rc == 0 ? RUN_DONE : RUN_FAILED;
}
