/* A model's prediction of all tokens at one place. The head is applied on the host, in double: no
 * kernel set has all logits of a row, and it is done once per text. */
#include "model/engine_parts.h"

#include "kernels/shared.h"

#include <math.h>
#include <stdlib.h>

int engine_forward(struct engine *g, const int32_t *ids, int count, struct error *e)
{
    if (engine_expects(g, REQUEST_GRADIENT, e) || engine_upload(g, ids, 0, count, e) ||
        forward_blocks(g, count, e))
        return -1;
    forward_last(g, (struct rows){count, g->shape.outputs});
    return g->k->synchronize(g->k, e);
}

/* logit [count, vocabulary] from the head's inputs x [count, E], each row of the head read once.
 * -1: out of memory. */
static int apply_head(double *logit, const double *x, size_t count, const struct decoder *d)
{
    const view *head = d->tied ? &d->embedding : &d->head.weight, *bias = &d->head.bias;
    size_t width = (size_t)d->embedding_width, vocabulary = (size_t)d->vocabulary;
    int failed = 0;
#pragma omp parallel reduction(| : failed)
    {
        double *row = malloc(width * sizeof *row);
        failed = !row;
#pragma omp for
        for (size_t t = 0; t < vocabulary; t++) {
            double shift = 0;
            if (!row)
                continue;
            weight_parts_read_f64(row, head, t, 0, width);
            if (bias->data)
                weight_parts_read_f64(&shift, bias, t, 0, 1);
            for (size_t i = 0; i < count; i++) {
                double sum = 0;
                for (size_t c = 0; c < width; c++)
                    sum += row[c] * x[i * width + c];
                sum += shift;
                logit[i * vocabulary + t] = d->head_soft_cap > 0
                                                ? d->head_soft_cap * tanh(sum / d->head_soft_cap)
                                                : sum;
            }
        }
        free(row);
    }
    return failed ? -1 : 0;
}

/* Logits [count] of one place -> log p. */
static void normalize(double *logit, size_t count)
{
    double most = -INFINITY, sum = 0;
    for (size_t t = 0; t < count; t++)
        most = logit[t] > most ? logit[t] : most;
    for (size_t t = 0; t < count; t++)
        sum += exp(logit[t] - most);
    for (size_t t = 0; t < count; t++)
        logit[t] -= most + log(sum);
}

int engine_predict(struct engine *g, double *logprob, int first, int count, struct error *e)
{
    const struct decoder *d = g->d;
    size_t width = (size_t)d->embedding_width, values = (size_t)count * width;
    double *x = malloc(values * sizeof *x);
    int rc = -1;
    if (engine_expects(g, REQUEST_GRADIENT, e))
        goto end;
    if (!x) {
        fail_memory(e, (double)values * sizeof *x, "the head's input");
        goto end;
    }
    g->k->read(g->k, x, g->last, (size_t)first * width, values);
    if (g->k->synchronize(g->k, e))
        goto end;
    if (apply_head(logprob, x, (size_t)count, d)) {
        fail_memory(e, (double)width * sizeof *x, "a row of the head");
        goto end;
    }
#pragma omp parallel for
    for (int i = 0; i < count; i++)
        normalize(logprob + (size_t)i * (size_t)d->vocabulary, (size_t)d->vocabulary);
    rc = 0;
end:
    free(x);
    return rc;
}
