/* Combines the rows from experts, and computes their weights' derivatives, in the cpu set: one row
 * per thread. The reference's entries choose and gather. */
#include "kernels/cpu/state.h"

#include <string.h>

static void combine(struct kernels *k, struct buffer *y, const struct buffer *x,
                    const struct buffer *index, const struct buffer *weights, struct rows rows,
                    int each, int width, int accumulate)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const int32_t *from = index ? index->data : NULL; /* [R, each] */
    const float *weight = weights ? weights->data : NULL; /* [R, each] */
    size_t total = (size_t)rows.segments * (size_t)rows.count, w = (size_t)width, n = (size_t)each;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++) {
        float *out = (float *)y->data + r * w; /* [width] */
        if (!accumulate)
            memset(out, 0, w * sizeof *out);
        for (size_t i = r * n; i < (r + 1) * n; i++)
            v->add_scaled(out, (const float *)x->data + (from ? (size_t)from[i] : i) * w,
                          weight ? weight[i] : 1.0f, w);
    }
}

static void combine_reverse(struct kernels *k, struct buffer *d_weights, const struct buffer *dy,
                            const struct buffer *x, const struct buffer *index, struct rows rows,
                            int each, int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const int32_t *from = index ? index->data : NULL; /* [R, each] */
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)each, w = (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i++)
        ((float *)d_weights->data)[i] =
            (float)v->dot_double((const float *)dy->data + i / (size_t)each * w,
                                 (const float *)x->data + (from ? (size_t)from[i] : i) * w, w);
}

static void weigh_reverse(struct kernels *k, struct buffer *d_weights, struct buffer *dx,
                          const struct buffer *x, const struct buffer *index,
                          const struct buffer *weights, size_t count, int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const int32_t *to = index ? index->data : NULL; /* [count] */
    size_t w = (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t s = 0; s < count; s++) {
        size_t i = to ? (size_t)to[s] : s;
        float *gradient = (float *)dx->data + s * w,
              weight = ((const float *)weights->data)[i]; /* [width] */
        ((float *)d_weights->data)[i] = (float)v->dot_double((const float *)x->data + s * w,
                                                             gradient, w);
        for (size_t c = 0; c < w; c++)
            gradient[c] *= weight;
    }
}

void cpu_fill_experts(struct kernels *k)
{
    k->combine = combine;
    k->combine_reverse = combine_reverse;
    k->weigh_reverse = weigh_reverse;
}
