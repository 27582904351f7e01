/* The heads in kernel_run.h: log p and gradients, of one row a segment and of many. */
#include "tests/kernel_run.h"

#include "kernels/plugin.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outputs run_head(struct kernels *k, const struct head_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->width, V = (size_t)c->vocabulary, S = (size_t)c->segments;
    double *x = random_segments(c->segments, c->first, width, 1, c->size),
           *w = random_values(V * width, 2, 0.5), *b = random_values(V, 3, 1);
    int32_t *target = allocate(S * sizeof *target);
    for (size_t s = 0; s < S; s++)
        target[s] = (int32_t)((7 * (s + (size_t)c->first) + V - 1) % V);
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * width),
                  *bdx = buffer_new(k, ROLE_ACTIVATION, S * width);
    struct buffer *logprob = buffer_new(k, ROLE_STATISTIC, S), *targets = index_of(k, target, S);
    struct weight *table = weight_of(k, WEIGHT_TABLE, w, V, width),
                  *bias = c->bias ? weight_of(k, WEIGHT_VECTOR, b, V, 1) : NULL;
    k->head(k, bdx, logprob, bx, targets, table, bias, c->soft_cap, c->seed, c->segments, c->width);
    struct output *dx = kernel_collect(&o, k, "head dx", bdx, width, bounds),
                  *lp = kernel_collect(&o, k, "head logprob", logprob, 1, bounds);
    double w_norm = 0, w_size = kernel_largest(w, V * width);
    for (size_t v = 0; bounds && v < V; v++) {
        double squares = 0;
        for (size_t i = 0; i < width; i++)
            squares += w[v * width + i] * w[v * width + i];
        w_norm = fmax(w_norm, sqrt(squares));
    }
    for (size_t s = 0; bounds && s < S; s++) {
        /* a logit is wrong by a few roundings of |x| |w|; p by that relative to itself; the two
         * halves of the gradient have the size of w */
        double squares = 0;
        for (size_t i = 0; i < width; i++)
            squares += x[s * width + i] * x[s * width + i];
        double z = 1 + sqrt(squares) * w_norm + 2 * c->bias;
        lp->bound[s] = 8 * z + 2 * fabs(lp->value[s]);
        for (size_t i = 0; i < width; i++)
            dx->bound[s * width + i] = 16 * z * fabs(c->seed) * 2 * w_size;
    }
    k->destroy(k, bx);
    k->destroy(k, targets);
    k->weight_free(k, table);
    k->weight_free(k, bias);
    free(x), free(w), free(b), free(target);
    return o;
}

struct outputs run_head_rows(struct kernels *k, const struct head_rows_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t width = (size_t)c->width, V = (size_t)c->vocabulary, count = (size_t)c->rows,
           n = (size_t)c->segments * count;
    double *x = random_segments(c->segments, c->first, count * width, 1, c->size),
           *w = random_values(V * width, 2, 0.5), *b = random_values(V, 3, 1);
    int32_t *target = allocate(n * sizeof *target);
    for (size_t r = 0; r < n; r++)
        target[r] = (int32_t)((7 * (r + (size_t)c->first * count) + V - 1) % V);
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, n * width),
                  *logprob = buffer_new(k, ROLE_STATISTIC, n), *targets = index_of(k, target, n);
    struct weight *table = weight_of(k, WEIGHT_TABLE, w, V, width),
                  *bias = c->bias ? weight_of(k, WEIGHT_VECTOR, b, V, 1) : NULL;
    k->head_rows(k, logprob, bx, targets, table, bias, c->soft_cap,
                 (struct rows){c->segments, c->rows}, c->width);
    struct output *lp = kernel_collect(&o, k, "head_rows logprob", logprob, count, bounds);
    double w_norm = 0;
    for (size_t v = 0; bounds && v < V; v++) {
        double squares = 0;
        for (size_t i = 0; i < width; i++)
            squares += w[v * width + i] * w[v * width + i];
        w_norm = fmax(w_norm, sqrt(squares));
    }
    for (size_t r = 0; bounds && r < n; r++) {
        /* a logit summed in single precision is wrong by roundings of |x| |w| that grow as
         * sqrt(width) */
        double squares = 0;
        for (size_t i = 0; i < width; i++)
            squares += x[r * width + i] * x[r * width + i];
        lp->bound[r] = (8 + sqrt((double)width)) * (1 + sqrt(squares) * w_norm + 2 * c->bias) +
                       2 * fabs(lp->value[r]);
    }
    k->destroy(k, bx);
    k->destroy(k, targets);
    k->weight_free(k, table);
    k->weight_free(k, bias);
    free(x), free(w), free(b), free(target);
    return o;
}
