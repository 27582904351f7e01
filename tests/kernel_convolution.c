/* Convolutions in kernel_run.h. */
#include "tests/kernel_run.h"

#include <math.h>
#include <stdlib.h>

/* Bounds of one channel of a segment, without gates: of y and dx, from the sizes of the products
 * that are summed. */
static void bound_plain(double *y, double *dx, const struct convolution_case *c, const double *x,
                        const double *dy, const double *taps, double bias)
{
    size_t w = (size_t)c->width, keys = (size_t)c->keys, begin = keys - (size_t)c->queries,
           reach = (size_t)c->reach;
    double unit = (double)reach + 2;
    for (size_t t = 0; t < keys; t++) {
        double sum = fabs(bias), d = 0;
        for (size_t back = 0; back < reach && back <= t; back++)
            sum += fabs(taps[reach - 1 - back] * x[(t - back) * w]);
        for (size_t on = t < begin ? begin - t : 0; on < reach && t + on < keys; on++)
            d += fabs(taps[reach - 1 - on] * dy[(t + on - begin) * w]);
        if (t >= begin)
            y[(t - begin) * w] = unit * sum;
        dx[t * w] = unit * d;
    }
}

/* The same with gates: of y, and of dx's three parts. */
static void bound_channel(double *y, double *dx, const struct convolution_case *c, const double *x,
                          const double *dy, const double *taps, double bias)
{
    size_t w = (size_t)c->width, keys = (size_t)c->keys, begin = keys - (size_t)c->queries,
           reach = (size_t)c->reach;
    double unit = (double)reach + 4;
    for (size_t t = 0; t < keys; t++) {
        const double *row = x + t * 3 * w;
        double sum = fabs(bias), d = 0;
        for (size_t back = 0; back < reach && back <= t; back++)
            sum += fabs(taps[reach - 1 - back] * (row - back * 3 * w)[0] *
                        (row - back * 3 * w)[2 * w]);
        for (size_t on = t < begin ? begin - t : 0; on < reach && t + on < keys; on++)
            d += fabs(taps[reach - 1 - on] * dy[(t + on - begin) * w] * (row + on * 3 * w)[w]);
        if (t >= begin)
            y[(t - begin) * w] = unit * sum * fabs(row[w]);
        dx[t * 3 * w] = unit * d * fabs(row[2 * w]);
        dx[t * 3 * w + w] = t < begin ? 0 : unit * sum * fabs(dy[(t - begin) * w]);
        dx[t * 3 * w + 2 * w] = unit * d * fabs(row[0]);
    }
}

struct outputs run_convolution(struct kernels *k, const struct convolution_case *c, int bounds)
{
    struct outputs o = {.segments = c->segments};
    size_t S = (size_t)c->segments, w = (size_t)c->width,
           in = (size_t)c->keys * (c->gated ? 3 : 1) * w, out = (size_t)c->queries * w,
           reach = (size_t)c->reach;
    double *x = random_segments(c->segments, c->first, in, 1, 1),
           *dy = random_segments(c->segments, c->first, out, 2, 1),
           *taps = random_values(w * reach, 3, 1), *bias = random_values(w, 4, 1);
    struct weight *wt = weight_of(k, WEIGHT_VECTOR, taps, w * reach, 1),
                  *wb = c->bias ? weight_of(k, WEIGHT_VECTOR, bias, w, 1) : NULL;
    const struct convolution v = {c->reach, c->gated, wt, wb};
    struct buffer *bx = buffer_of(k, ROLE_ACTIVATION, x, S * in),
                  *bdy = buffer_of(k, ROLE_ACTIVATION, dy, S * out),
                  *by = buffer_new(k, ROLE_ACTIVATION, S * out),
                  *bdx = buffer_new(k, ROLE_ACTIVATION, S * in);
    k->convolve(k, by, bx, &v, c->segments, c->queries, c->keys, c->width);
    k->convolve_reverse(k, bdx, bdy, c->gated ? bx : NULL, &v, c->segments, c->queries, c->keys,
                        c->width);
    struct output *y = kernel_collect(&o, k, "convolve", by, out, bounds),
                  *dx = kernel_collect(&o, k, "convolve dx", bdx, in, bounds);
    for (size_t s = 0; bounds && s < S; s++)
        for (size_t i = 0; i < w; i++)
            (c->gated ? bound_channel : bound_plain)(y->bound + s * out + i, dx->bound + s * in + i,
                                                     c, x + s * in + i, dy + s * out + i,
                                                     taps + i * reach, c->bias ? bias[i] : 0);
    k->destroy(k, bx), k->destroy(k, bdy);
    k->weight_free(k, wt);
    if (wb)
        k->weight_free(k, wb);
    free(x), free(dy), free(taps), free(bias);
    return o;
}
