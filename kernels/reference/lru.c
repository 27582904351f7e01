/* Reference set: gates of linear recurrent units (ops.h), each number by itself, in double.
 *
 * Reverse, with i = sigma(raw i), m = sqrt(1 - e^(-2 rate dt)): dx = m i dy; d_i = m x dy; dt's
 * gradient gains x i dy rate e^(-2 rate dt) / m, but in a segment's first row, whose m is 1. */
#include "kernels/reference/reference.h"

#include <math.h>
#include <omp.h>

#define LRU_SHARPNESS 8.0

/* m of a row, and its derivative by dt; 0 where m is, for which it has none. */
static double measure(double *slope, double rate, double dt, int first)
{
    double m = first ? 1 : sqrt(-expm1(-2 * rate * dt));
    *slope = first || m == 0 ? 0 : rate * exp(-2 * rate * dt) / m;
    return m;
}

static void lru(struct kernels *k, struct buffer *steps, struct buffer *y, const struct buffer *x,
                const struct buffer *raw, const struct weight *rate, struct rows rows, int width,
                int before)
{
    size_t w = (size_t)width, total = (size_t)rows.segments * (size_t)rows.count * w;
    const real *in = raw->data, *xs = x->data, *rates = rate->data;
    real *dt_out = steps->data, *out = y->data;
    (void)k;
#pragma omp parallel for
    for (size_t e = 0; e < total; e++) {
        size_t row = e / w, c = e % w;
        double slope, dt = LRU_SHARPNESS * sigmoid(in[row * 2 * w + c]),
                      m = measure(&slope, rates[c], dt, !before && row % (size_t)rows.count == 0);
        dt_out[e] = (real)dt;
        out[e] = (real)(m * sigmoid(in[row * 2 * w + w + c]) * xs[e]);
    }
}

static void lru_reverse(struct kernels *k, struct buffer *d_x, struct buffer *d_raw,
                        const struct buffer *d_y, const struct buffer *d_steps,
                        const struct buffer *x, const struct buffer *raw, const struct weight *rate,
                        struct rows rows, int width, int before)
{
    size_t w = (size_t)width, total = (size_t)rows.segments * (size_t)rows.count * w;
    const real *in = raw->data, *xs = x->data, *rates = rate->data, *dy = d_y->data,
               *dt_in = d_steps->data;
    real *out = d_x->data, *d = d_raw->data;
    (void)k;
#pragma omp parallel for
    for (size_t e = 0; e < total; e++) {
        size_t row = e / w, c = e % w, at = row * 2 * w + c;
        double slope, r = in[at], i = in[at + w], open = sigmoid(i),
                      m = measure(&slope, rates[c], LRU_SHARPNESS * sigmoid(r),
                                  !before && row % (size_t)rows.count == 0),
                      g = dy[e], v = xs[e];
        out[e] = (real)(m * open * g);
        d[at] = (real)((dt_in[e] + slope * open * v * g) * LRU_SHARPNESS * sigmoid(r) *
                       sigmoid(-r));
        d[at + w] = (real)(m * v * g * open * sigmoid(-i));
    }
}

void fill_lru(struct kernels *k)
{
    k->lru = lru;
    k->lru_reverse = lru_reverse;
}
