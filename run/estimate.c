#include "run/estimate.h"

#include "run/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Operations a second of y = x w^T in this kernel set with the up projection of the model's first MLP or expert, best of several;
 * 0 with *e on failure. */
static double product_rate(struct kernels *k, const struct decoder *d, int positions, struct error *e)
{
    const struct block *b = &d->blocks[0];
    const struct weight_part *part = b->up.weight.data ? &b->up.weight : &b->experts.expert[0].up.weight;
    struct rows shape = {1, positions < 256 ? positions : 256};
    size_t in = part->columns, out = part->groups * part->rows, inputs = (size_t)shape.count * in;
    struct buffer *x = k->create(k, ROLE_ACTIVATION, inputs, e),
                  *y = x ? k->create(k, ROLE_ACTIVATION, (size_t)shape.count * out, e) : NULL;
    struct weight *w = y ? k->weight_load(k, WEIGHT_MATRIX, part, 1, e) : NULL;
    double *ones = calloc(inputs, sizeof *ones), operations = 2.0 * shape.count * (double)in * (double)out, best = 0,
           started = progress_now();

    if (!w || !ones) {
        if (w)
            fail_memory(e, (double)inputs * sizeof *ones, "the measurement of the rate");
        goto end;
    }
    k->write(k, x, 0, ones, inputs);
    for (int i = 0; i < 200 && (i < 3 || progress_now() - started < 0.25); i++) {
        double start = progress_now();

        k->linear(k, y, x, w, NULL, shape, 0);
        if (k->synchronize(k, e) != 0) {
            best = 0;
            break;
        }
        best = fmax(best, operations / fmax(progress_now() - start, 1e-9));
    }
end:
    if (w)
        k->weight_free(k, w);
    k->destroy(k, y);
    k->destroy(k, x);
    free(ones);
    return best;
}

int run_estimate(struct run_estimate *out, const struct decoder *d, long length, const char *dtype, size_t memory,
                 struct error *e)
{
    struct engine_request options = {.kind = REQUEST_GRADIENT, .positions = (int)length - 1, .memory = memory};
    struct kernels *k = kernels_open(dtype, e);
    int rc = 0;

    *out = (struct run_estimate){0};
    if (!k)
        return -1;
    snprintf(out->kernels, sizeof out->kernels, "%s", k->name);
    out->refused = d->position_limit > 0 && length - 1 > d->position_limit;
    if (!out->refused && (rc = engine_estimate(&out->plan, k, d, &options, e)) != 0)
        out->plan = (struct memory_plan){0};
    if (!out->refused && rc == 0) {
        out->rate = product_rate(k, d, (int)length - 1, e);
        rc = out->rate > 0 ? 0 : -1;
    }
    k->close(k);
    return rc;
}
