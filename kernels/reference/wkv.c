/* Reference set: means by channel (RWKV-4), one channel after the other, in double.
 *
 * Forward keeps sums over earlier rows, A of the values and B of 1, as A e^p and B e^p, so that
 * no exponential overflows. Reverse keeps sums over later rows in the same way, X of e^-z do and
 * Y of e^-z do o, where z is the logarithm of a row's denominator; for t downwards
 *     d_v = e^(first + k - z) do + e^k X
 *     d_k = e^(first + k - z) do (v - o) + e^k (v X - Y)
 *     (X, Y) = e^-rate (X, Y) + e^-z (do, do o) */
#include "kernels/reference/reference.h"

#include <omp.h>

/* Below any exponent: of sums over no rows. */
#define NONE (-1e38)

/* One channel of one segment: row t of k and v is at t * stride, of query t of the others too. */
struct channel {
    const real *k, *v;
    size_t stride, queries, rows;
    double rate, first;
};

static struct channel channel_at(const struct wkv *w, const struct buffer *k,
                                 const struct buffer *v, size_t segment, size_t c, size_t queries,
                                 size_t rows)
{
    size_t stride = (size_t)w->channels, at = segment * rows * stride + c;
    return (struct channel){.k = (const real *)k->data + at,
                            .v = (const real *)v->data + at,
                            .stride = stride,
                            .queries = queries,
                            .rows = rows,
                            .rate = ((const real *)w->rate->data)[c],
                            .first = ((const real *)w->first->data)[c]};
}

static void forward(real *o, real *log_sum, const struct channel *c)
{
    double a = 0, b = 0, p = NONE;
    for (size_t t = 0; t < c->rows; t++) {
        double k = c->k[t * c->stride], v = c->v[t * c->stride], own = c->first + k;
        if (t + c->queries >= c->rows) {
            size_t at = (t + c->queries - c->rows) * c->stride;
            double m = fmax(p, own), before = exp(p - m), here = exp(own - m),
                   sum = before * b + here;
            o[at] = (real)((before * a + here * v) / sum);
            if (log_sum)
                log_sum[at] = (real)(m + log(sum));
        }
        double m = fmax(p - c->rate, k), before = exp(p - c->rate - m), here = exp(k - m);
        a = before * a + here * v, b = before * b + here, p = m;
    }
}

static void reverse(real *d_k, real *d_v, const real *d_o, const real *o, const real *log_sum,
                    const struct channel *c)
{
    double x = 0, y = 0, p = NONE;
    for (size_t t = c->rows; t-- > 0;) {
        double k = c->k[t * c->stride], v = c->v[t * c->stride], later = exp(k + p), own = 0, d = 0,
               out = 0, z = -NONE;
        if (t + c->queries >= c->rows) {
            size_t at = (t + c->queries - c->rows) * c->stride;
            d = d_o[at], out = o[at], z = log_sum[at];
            own = exp(c->first + k - z);
        }
        d_v[t * c->stride] = (real)(own * d + later * x);
        d_k[t * c->stride] = (real)(own * d * (v - out) + later * (v * x - y));
        double m = fmax(p - c->rate, -z), before = exp(p - c->rate - m), here = exp(-z - m);
        x = before * x + here * d, y = before * y + here * d * out, p = m;
    }
}

static void wkv(struct kernels *set, struct buffer *o, struct buffer *log_sum,
                const struct buffer *k, const struct buffer *v, const struct wkv *w, int segments,
                int queries, int rows)
{
    size_t channels = (size_t)w->channels, all = (size_t)segments * channels;
    (void)set;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < all; i++) {
        size_t segment = i / channels, c = i % channels,
               at = segment * (size_t)queries * channels + c;
        struct channel one = channel_at(w, k, v, segment, c, (size_t)queries, (size_t)rows);
        forward((real *)o->data + at, log_sum ? (real *)log_sum->data + at : NULL, &one);
    }
}

static void wkv_reverse(struct kernels *set, struct buffer *d_k, struct buffer *d_v,
                        const struct buffer *d_o, const struct buffer *o,
                        const struct buffer *log_sum, const struct buffer *k,
                        const struct buffer *v, const struct wkv *w, int segments, int queries,
                        int rows)
{
    size_t channels = (size_t)w->channels, all = (size_t)segments * channels;
    (void)set;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < all; i++) {
        size_t segment = i / channels, c = i % channels,
               at = segment * (size_t)queries * channels + c,
               row = segment * (size_t)rows * channels + c;
        struct channel one = channel_at(w, k, v, segment, c, (size_t)queries, (size_t)rows);
        reverse((real *)d_k->data + row, (real *)d_v->data + row, (const real *)d_o->data + at,
                (const real *)o->data + at, (const real *)log_sum->data + at, &one);
    }
}

void fill_wkv(struct kernels *set)
{
    set->wkv = wkv;
    set->wkv_reverse = wkv_reverse;
}
