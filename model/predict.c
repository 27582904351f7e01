/* A model's prediction of all tokens at one place. The head is applied on the host, in double: no
 * kernel set has all logits of a row, and it is done once per run. */
#include "model/engine_parts.h"

#include "kernels/shared.h"

#include <math.h>
#include <stdlib.h>

int engine_forward(struct engine *g, const int32_t *ids, struct error *e)
{
    if (engine_expects(g, REQUEST_GRADIENT, e) || engine_upload(g, ids, 1, e) ||
        forward_blocks(g, 1, e))
        return -1;
    forward_last(g, (struct rows){1, 1});
    return g->k->synchronize(g->k, e);
}

/* logit [vocabulary] from the head's input x [E]. -1: out of memory. */
static int apply_head(double *logit, const double *x, const struct decoder *d)
{
    const view *head = d->tied ? &d->embedding : &d->head.weight, *bias = &d->head.bias;
    size_t width = (size_t)d->embedding_width, count = (size_t)d->vocabulary;
    int failed = 0;
#pragma omp parallel reduction(| : failed)
    {
        double *row = malloc(width * sizeof *row);
        failed = !row;
#pragma omp for
        for (size_t t = 0; t < count; t++) {
            double sum = 0, shift = 0;
            if (!row)
                continue;
            weight_parts_read_f64(row, head, t, 0, width);
            for (size_t c = 0; c < width; c++)
                sum += row[c] * x[c];
            if (bias->data)
                weight_parts_read_f64(&shift, bias, t, 0, 1);
            sum += shift;
            logit[t] = d->head_soft_cap > 0 ? d->head_soft_cap * tanh(sum / d->head_soft_cap) : sum;
        }
        free(row);
    }
    return failed ? -1 : 0;
}

int engine_predict(struct engine *g, double *logprob, struct error *e)
{
    const struct decoder *d = g->d;
    size_t width = (size_t)d->embedding_width, count = (size_t)d->vocabulary;
    double *x = malloc(width * sizeof *x), most = -INFINITY, sum = 0;
    int rc = -1;
    if (engine_expects(g, REQUEST_GRADIENT, e))
        goto end;
    if (!x) {
        fail_memory(e, (double)width * sizeof *x, "the head's input");
        goto end;
    }
    g->k->read(g->k, x, g->last, 0, width);
    if (g->k->synchronize(g->k, e))
        goto end;
    if (apply_head(logprob, x, d)) {
        fail_memory(e, (double)width * sizeof *x, "a row of the head");
        goto end;
    }
    for (size_t t = 0; t < count; t++)
        most = logprob[t] > most ? logprob[t] : most;
    for (size_t t = 0; t < count; t++)
        sum += exp(logprob[t] - most);
    for (size_t t = 0; t < count; t++)
        logprob[t] -= most + log(sum);
    rc = 0;
end:
    free(x);
    return rc;
}
