/* Reference set: convolutions over the rows before. */
#include "kernels/reference/reference.h"

/* The channels of one segment's rows, and where its queries begin. */
struct channels {
    const real *row; /* of x, [keys, stride] */
    const real *taps, *bias; /* [width, taps]; [width] or NULL */
    size_t reach, width, stride, first, keys;
    int gated;
};

/* x, or b x, of channel c in row t. */
static double written(const struct channels *s, size_t t, size_t c)
{
    const real *row = s->row + t * s->stride;
    return s->gated ? (double)row[c] * row[2 * s->width + c] : row[c];
}

/* The factor of the sum of row t. */
static double gate_of(const struct channels *s, size_t t, size_t c)
{
    return s->gated ? s->row[t * s->stride + s->width + c] : 1;
}

/* The sum over the rows up to t. */
static double convolved(const struct channels *s, size_t t, size_t c)
{
    const real *taps = s->taps + c * s->reach;
    double sum = s->bias ? s->bias[c] : 0;
    for (size_t back = 0; back < s->reach && back <= t; back++)
        sum += taps[s->reach - 1 - back] * written(s, t - back, c);
    return sum;
}

/* Segment i. */
static struct channels channels_of(const struct buffer *x, const struct convolution *v, size_t i,
                                   int queries, int keys, int width)
{
    struct channels s = {.taps = v->taps->data,
                         .bias = v->bias ? v->bias->data : NULL,
                         .reach = (size_t)v->reach,
                         .width = (size_t)width,
                         .stride = (size_t)width * (v->gated ? 3 : 1),
                         .first = (size_t)(keys - queries),
                         .keys = (size_t)keys,
                         .gated = v->gated};
    s.row = x ? (const real *)x->data + i * s.keys * s.stride : NULL;
    return s;
}

static void convolve(struct kernels *k, struct buffer *y, const struct buffer *x,
                     const struct convolution *v, int segments, int queries, int keys, int width)
{
    size_t rows = (size_t)segments * (size_t)queries, w = (size_t)width;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        struct channels s = channels_of(x, v, r / (size_t)queries, queries, keys, width);
        size_t t = s.first + r % (size_t)queries;
        real *out = (real *)y->data + r * w; /* [width] */
        for (size_t c = 0; c < w; c++)
            out[c] = (real)(gate_of(&s, t, c) * convolved(&s, t, c));
    }
}

/* dx[stride] of row t from dy[queries, width] of its segment. */
static void row_reverse(real *dx, const real *dy, const struct channels *s, size_t t)
{
    size_t w = s->width;
    for (size_t c = 0; c < w; c++) {
        double sum = 0;
        for (size_t on = t < s->first ? s->first - t : 0; on < s->reach && t + on < s->keys; on++)
            sum += (double)s->taps[c * s->reach + s->reach - 1 - on] *
                   dy[(t + on - s->first) * w + c] * gate_of(s, t + on, c);
        if (!s->gated) {
            dx[c] = (real)sum;
            continue;
        }
        const real *row = s->row + t * s->stride;
        dx[c] = (real)(sum * row[2 * w + c]);
        dx[w + c] = t < s->first ? 0 : (real)(dy[(t - s->first) * w + c] * convolved(s, t, c));
        dx[2 * w + c] = (real)(sum * row[c]);
    }
}

static void convolve_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                             const struct buffer *x, const struct convolution *v, int segments,
                             int queries, int keys, int width)
{
    size_t rows = (size_t)segments * (size_t)keys, w = (size_t)width;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        size_t i = r / (size_t)keys;
        struct channels s = channels_of(x, v, i, queries, keys, width);
        row_reverse((real *)dx->data + r * s.stride,
                    (const real *)dy->data + i * (size_t)queries * w, &s, r % (size_t)keys);
    }
}

void fill_convolution(struct kernels *k)
{
    k->convolve = convolve;
    k->convolve_reverse = convolve_reverse;
}
