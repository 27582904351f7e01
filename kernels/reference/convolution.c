/* Reference set: gated convolutions over the rows before. */
#include "kernels/reference/reference.h"

/* The channels of one segment's rows, [keys, 3 width] each, and where its queries begin. */
struct channels {
    const real *row; /* of x */
    const real *taps, *bias; /* [width, taps]; [width] or NULL */
    size_t reach, width, first, keys;
};

/* b x of channel c in row t. */
static double written(const struct channels *s, size_t t, size_t c)
{
    const real *row = s->row + t * 3 * s->width;
    return (double)row[c] * row[2 * s->width + c];
}

/* The sum over the rows up to t, which the gate of row t is multiplied with. */
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
    return (struct channels){(const real *)x->data + i * (size_t)keys * 3 * (size_t)width,
                             v->taps->data,
                             v->bias ? v->bias->data : NULL,
                             (size_t)v->reach,
                             (size_t)width,
                             (size_t)(keys - queries),
                             (size_t)keys};
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
        const real *gate = s.row + t * 3 * w + w; /* [width] */
        real *out = (real *)y->data + r * w; /* [width] */
        for (size_t c = 0; c < w; c++)
            out[c] = (real)(gate[c] * convolved(&s, t, c));
    }
}

/* dx[3 width] of row t from dy[queries, width] of its segment. */
static void row_reverse(real *dx, const real *dy, const struct channels *s, size_t t)
{
    size_t w = s->width;
    const real *row = s->row + t * 3 * w;
    for (size_t c = 0; c < w; c++) {
        double sum = 0;
        for (size_t on = t < s->first ? s->first - t : 0; on < s->reach && t + on < s->keys; on++)
            sum += (double)s->taps[c * s->reach + s->reach - 1 - on] *
                   dy[(t + on - s->first) * w + c] * s->row[(t + on) * 3 * w + w + c];
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
        row_reverse((real *)dx->data + r * 3 * w, (const real *)dy->data + i * (size_t)queries * w,
                    &s, r % (size_t)keys);
    }
}

void fill_convolution(struct kernels *k)
{
    k->convolve = convolve;
    k->convolve_reverse = convolve_reverse;
}
