/* Convolutions of the cpu set: each row by itself, so threads may divide them in any way. */
#include "kernels/cpu/state.h"

/* The bias, then the taps from that of the row itself backwards, [reach + 1, width], so that
 * neighbouring channels lie together. NULL, with the error kept, without memory. */
static const float *turned(struct kernels *k, const struct convolution *v, size_t width)
{
    size_t reach = (size_t)v->reach;
    const float *taps = v->taps->data, *bias = v->bias ? v->bias->data : NULL;
    float *out = cpu_scratch(k, (reach + 1) * width * sizeof *out, "a convolution's taps");
    for (size_t c = 0; out && c < width; c++) {
        out[c] = bias ? bias[c] : 0;
        for (size_t back = 0; back < reach; back++)
            out[(back + 1) * width + c] = taps[c * reach + reach - 1 - back];
    }
    return out;
}

static void convolve(struct kernels *k, struct buffer *y, const struct buffer *x,
                     const struct convolution *v, int segments, int queries, int keys, int width)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    size_t w = (size_t)width, each = (size_t)queries, rows = (size_t)segments * each,
           all = (size_t)keys, reach = (size_t)v->reach, stride = v->gated ? 3 * w : w;
    const float *taps = turned(k, v, w);
    if (!taps)
        return;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        size_t t = all - each + r % each;
        (v->gated ? vector->convolve
                  : vector->convolve_plain)((float *)y->data + r * w,
                                            (const float *)x->data + (r / each * all + t) * stride,
                                            taps, smaller(reach, t + 1), w);
    }
}

static void convolve_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                             const struct buffer *x, const struct convolution *v, int segments,
                             int queries, int keys, int width)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    size_t w = (size_t)width, each = (size_t)queries, all = (size_t)keys,
           rows = (size_t)segments * all, reach = (size_t)v->reach, begin = all - each;
    const float *taps = turned(k, v, w);
    if (!taps)
        return;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        size_t t = r % all, first = t < begin ? begin - t : 0; /* rows on to the first query */
        const float *seeds = (const float *)dy->data + (r / all * each + (t + first - begin)) * w;
        if (v->gated)
            vector->convolve_reverse((float *)dx->data + r * 3 * w, seeds,
                                     (const float *)x->data + r * 3 * w, taps,
                                     smaller(reach, t + 1), first, smaller(reach, all - t), w);
        else
            vector->convolve_plain_reverse((float *)dx->data + r * w, seeds, taps, first,
                                           smaller(reach, all - t), w);
    }
}

void cpu_fill_convolution(struct kernels *k)
{
    k->convolve = convolve;
    k->convolve_reverse = convolve_reverse;
}
