/* Operations of the cpu set on rows and elements: embedding, norms, activations, rotation, sums.
 * Each row or element has its own result, so threads may divide them in any way. */
#include "kernels/cpu/state.h"

#include <math.h>

enum { SPAN = 4096, COLUMNS = 256 };

static size_t row_count(struct rows rows)
{
    return (size_t)rows.segments * (size_t)rows.count;
}

static void embed(struct kernels *k, struct buffer *x, const struct buffer *tokens,
                  const struct weight *table, const struct weight *position_table,
                  int position_count, double scale, struct rows rows, int width)
{
    const int32_t *token = tokens->data; /* [R] */
    size_t w = (size_t)width, count = (size_t)rows.count;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++) {
        float shift[COLUMNS] = {0};
        int known = token[r] >= 0 && (size_t)token[r] < table->rows;
        size_t position = (size_t)position_count - count + r % count;
        if (!known)
            kernels_keep_error(k, "embedding: token id %d (expected 0 to %zu)", (int)token[r],
                               table->rows - 1);
        for (size_t c0 = 0; c0 < w; c0 += COLUMNS) {
            float *out = (float *)x->data + r * w + c0; /* [some] */
            size_t some = smaller(COLUMNS, w - c0);
            if (known)
                weight_parts_read_f32(out, table->parts, (size_t)token[r], c0, some);
            if (position_table)
                weight_parts_read_f32(shift, position_table->parts, position, c0, some);
            for (size_t c = 0; c < some; c++)
                out[c] = known ? (float)(scale * out[c] + shift[c]) : 0.0f;
        }
    }
}

/* Head h's part of a norm's vector, which is for all heads or for each. */
static const float *of_head(const float *vector, const struct weight *w, size_t h, size_t size)
{
    return vector && w && w->rows > size ? vector + h * size : vector;
}

/* A norm's scale and shift for the vector kernels, [width] or more (shift NULL: none): their own
 * data, or one value broadcast to scratch. -1, with the error kept, without memory. */
static int norm_vectors(const float **scale, const float **shift, struct kernels *k,
                        const struct norm *norm, size_t width)
{
    const struct weight *given[2] = {norm->scale, norm->shift};
    const float **out[2] = {scale, shift};
    float *spread = NULL;
    for (size_t i = 0; i < 2; i++) {
        *out[i] = given[i] ? given[i]->data : NULL;
        if (given[i] ? given[i]->rows >= width : i == 1)
            continue;
        if (!spread && !(spread = cpu_scratch(k, 2 * width * sizeof *spread, "a norm's scale")))
            return -1;
        float value = given[i] ? **out[i] : 1;
        for (size_t c = 0; c < width; c++)
            spread[i * width + c] = value;
        *out[i] = spread + i * width;
    }
    return 0;
}

static void norm_forward(struct kernels *k, struct buffer *y, struct buffer *statistics,
                         const struct buffer *x, const struct norm *norm, struct rows rows,
                         int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const float *scale, *shift;
    size_t w = (size_t)width;
    if (norm_vectors(&scale, &shift, k, norm, w))
        return;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++)
        v->norm(y ? (float *)y->data + r * w : NULL, (float *)statistics->data + 2 * r,
                (const float *)x->data + r * w, scale, shift, norm->kind, norm->epsilon, w);
}

static void norm_reverse(struct kernels *k, struct buffer *dx, struct buffer *rounded,
                         const struct buffer *dy, const struct buffer *x,
                         const struct buffer *statistics, const struct norm *norm, struct rows rows,
                         int width, int accumulate)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const float *scale, *shift;
    size_t w = (size_t)width;
    (void)statistics; /* recomputed in double, which is cheap and exact */
    if (norm_vectors(&scale, &shift, k, norm, w))
        return;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++)
        v->norm_reverse((float *)dx->data + r * w, (const float *)dy->data + r * w,
                        (const float *)x->data + r * w, scale, norm->kind, norm->epsilon, w,
                        accumulate);
    if (rounded)
        k->copy(k, rounded, dx, rows, width);
}

static void norm_heads(struct kernels *k, struct buffer *y, struct buffer *statistics,
                       const struct buffer *x, const struct norm *norm, struct rows rows, int heads,
                       int head_size, int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const float *scale, *shift;
    size_t count = (size_t)heads, size = (size_t)head_size;
    if (norm_vectors(&scale, &shift, k, norm, size))
        return;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++)
        for (size_t h = 0; h < count; h++) {
            size_t at = r * (size_t)width + h * size;
            v->norm((float *)y->data + at, (float *)statistics->data + 2 * (r * count + h),
                    (const float *)x->data + at, of_head(scale, norm->scale, h, size),
                    of_head(shift, norm->shift, h, size), norm->kind, norm->epsilon, size);
        }
}

static void norm_heads_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                               const struct buffer *x, const struct buffer *statistics,
                               const struct norm *norm, struct rows rows, int heads, int head_size,
                               int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const float *scale, *shift;
    size_t count = (size_t)heads, size = (size_t)head_size;
    (void)statistics;
    if (norm_vectors(&scale, &shift, k, norm, size))
        return;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++)
        for (size_t h = 0; h < count; h++) {
            size_t at = r * (size_t)width + h * size;
            v->norm_reverse((float *)dx->data + at, (const float *)dy->data + at,
                            (const float *)x->data + at, of_head(scale, norm->scale, h, size),
                            norm->kind, norm->epsilon, size, 0);
        }
}

static void activate(struct kernels *k, struct buffer *y, const struct buffer *up,
                     const struct buffer *gate, enum activation kind, struct rows rows, int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t total = row_count(rows) * (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i += SPAN)
        v->activate((float *)y->data + i, (const float *)up->data + i,
                    gate ? (const float *)gate->data + i : NULL, kind, smaller(SPAN, total - i));
}

static void activate_reverse(struct kernels *k, struct buffer *d_up, struct buffer *d_gate,
                             const struct buffer *dy, const struct buffer *up,
                             const struct buffer *gate, enum activation kind, struct rows rows,
                             int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t total = row_count(rows) * (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i += SPAN)
        v->activate_reverse((float *)d_up->data + i, gate ? (float *)d_gate->data + i : NULL,
                            (const float *)dy->data + i, (const float *)up->data + i,
                            gate ? (const float *)gate->data + i : NULL, kind,
                            smaller(SPAN, total - i));
}

static void xielu(struct kernels *k, struct buffer *y, const struct buffer *x,
                  const struct xielu *numbers, struct rows rows, int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t total = row_count(rows) * (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i += SPAN)
        v->xielu((float *)y->data + i, (const float *)x->data + i, numbers,
                 smaller(SPAN, total - i));
}

static void xielu_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                          const struct buffer *x, const struct xielu *numbers, struct rows rows,
                          int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t total = row_count(rows) * (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i += SPAN)
        v->xielu_reverse((float *)dx->data + i, (const float *)dy->data + i,
                         (const float *)x->data + i, numbers, smaller(SPAN, total - i));
}

static void rotate(struct kernels *k, struct buffer *x, const struct attention *a, struct rows rows,
                   int heads, int width, int direction)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    const struct attention_shape *s = &a->shape;
    const struct cpu_attention *f = a->fast;
    size_t pairs = (size_t)s->rotary_size / 2,
           stride = s->pairing == PAIRING_HALF ? pairs : 2 * pairs;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++) {
        size_t position = (size_t)(s->positions - rows.count) + r % (size_t)rows.count;
        for (int h = 0; h < heads; h++)
            (s->pairing == PAIRING_HALF
                 ? v->rotate_half
                 : v->rotate_interleaved)((float *)x->data + r * (size_t)width +
                                              (size_t)h * (size_t)s->head_size +
                                              (size_t)s->rotary_first,
                                          f->cosine + position * stride,
                                          f->sine + position * stride, pairs, (float)direction);
    }
}

static void row_norms(struct kernels *k, struct buffer *norms, const struct buffer *x,
                      double factor, struct rows rows, int width)
{
    const struct vector_kernels *v = cpu_state(k)->vector;
    size_t w = (size_t)width;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < row_count(rows); r++) {
        const float *row = (const float *)x->data + r * w; /* [width] */
        ((float *)norms->data)[r] = (float)(factor * sqrt(v->dot_double(row, row, w)));
    }
}

void cpu_fill_rows(struct kernels *k)
{
    k->embed = embed;
    k->norm = norm_forward;
    k->norm_reverse = norm_reverse;
    k->norm_heads = norm_heads;
    k->norm_heads_reverse = norm_heads_reverse;
    k->activate = activate;
    k->activate_reverse = activate_reverse;
    k->xielu = xielu;
    k->xielu_reverse = xielu_reverse;
    k->rotate = rotate;
    k->row_norms = row_norms;
}
