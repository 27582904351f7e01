/* Gates of linear recurrent units of the cpu set: each row by itself, so threads may divide them in
 * any way. */
#include "kernels/cpu/state.h"

static void lru(struct kernels *k, struct buffer *steps, struct buffer *y, const struct buffer *x,
                const struct buffer *raw, const struct weight *rate, struct rows rows, int width,
                int before)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    size_t w = (size_t)width, count = (size_t)rows.count;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < (size_t)rows.segments * count; r++)
        vector->lru((float *)steps->data + r * w, (float *)y->data + r * w,
                    (const float *)x->data + r * w, (const float *)raw->data + r * 2 * w,
                    rate->data, w, !before && r % count == 0);
}

static void lru_reverse(struct kernels *k, struct buffer *d_x, struct buffer *d_raw,
                        const struct buffer *d_y, const struct buffer *d_steps,
                        const struct buffer *x, const struct buffer *raw, const struct weight *rate,
                        struct rows rows, int width, int before)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    size_t w = (size_t)width, count = (size_t)rows.count;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < (size_t)rows.segments * count; r++)
        vector->lru_reverse((float *)d_x->data + r * w, (float *)d_raw->data + r * 2 * w,
                            (const float *)d_y->data + r * w, (const float *)d_steps->data + r * w,
                            (const float *)x->data + r * w, (const float *)raw->data + r * 2 * w,
                            rate->data, w, !before && r % count == 0);
}

void cpu_fill_lru(struct kernels *k)
{
    k->lru = lru;
    k->lru_reverse = lru_reverse;
}
