/* Reference set: operations on one row or element at a time: embedding, rotation, clipping, norms
 * of rows. */
#include "kernels/reference/reference.h"

#include <math.h>

static void embed(struct kernels *k, struct buffer *x, const struct buffer *tokens,
                  const struct weight *table, const struct weight *position_table,
                  int position_count, double scale, struct rows rows, int width)
{
    const int32_t *token = tokens->data; /* [R] */
    size_t w = (size_t)width, total = (size_t)rows.segments * (size_t)rows.count;
    for (size_t r = 0; r < total; r++) {
        real *out = (real *)x->data + r * w; /* [width] */
        if (token[r] < 0 || (size_t)token[r] >= table->rows) {
            kernels_keep_error(k, "embedding: token id %d (expected 0 to %zu)", (int)token[r],
                               table->rows - 1);
            for (size_t c = 0; c < w; c++)
                out[c] = 0;
            continue;
        }
        weight_parts_read(out, table->parts, (size_t)token[r], 0, w);
        size_t position = (size_t)position_count - (size_t)rows.count + r % (size_t)rows.count;
        for (size_t c = 0; c < w; c++) {
            real shift = 0;
            if (position_table)
                weight_parts_read(&shift, position_table->parts, position, c, 1);
            out[c] = (real)(scale * out[c] + shift);
        }
    }
}

/* For each pair (u, v) of the rotated dimensions and the angle f of the row's position: (u, v) ->
 * (u cos f - v sin f, v cos f + u sin f); the transpose rotates the other way. */
static void rotate(struct kernels *k, struct buffer *x, const struct attention *a, struct rows rows,
                   int heads, int width, int direction)
{
    const struct attention_shape *s = &a->shape;
    int pairs = s->rotary_size / 2, total = rows.segments * rows.count;
    int step = s->pairing == PAIRING_HALF ? 1 : 2, apart = s->pairing == PAIRING_HALF ? pairs : 1;
    (void)k;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        size_t position = (size_t)(s->positions - rows.count + r % rows.count);
        const double *cosine = s->cosine + position * (size_t)pairs,
                     *sine = s->sine + position * (size_t)pairs; /* [pairs] */
        for (int h = 0; h < heads; h++) {
            real *head = (real *)x->data + (size_t)r * (size_t)width +
                         (size_t)h * (size_t)s->head_size +
                         (size_t)s->rotary_first; /* [rotary_size] */
            for (int p = 0; p < pairs; p++) {
                double u = head[p * step], v = head[p * step + apart], turn = direction * sine[p];
                head[p * step] = (real)(u * cosine[p] - v * turn);
                head[p * step + apart] = (real)(v * cosine[p] + u * turn);
            }
        }
    }
}

static void scale_queries(struct kernels *k, struct buffer *q, const struct attention *a,
                          struct rows rows, int width)
{
    int total = rows.segments * rows.count;
    (void)k;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        double factor = a->shape.query_factor[a->shape.positions - rows.count + r % rows.count];
        real *row = (real *)q->data + (size_t)r * (size_t)width; /* [width] */
        for (int c = 0; c < width; c++)
            row[c] = (real)(factor * row[c]);
    }
}

static void clip(struct kernels *k, struct buffer *x, double limit, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    real *values = x->data, most = (real)limit;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        if (values[i] > most) /* NaN stays NaN */
            values[i] = most;
        if (values[i] < -most)
            values[i] = -most;
    }
}

static void scale(struct kernels *k, struct buffer *x, double factor, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    real *values = x->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++)
        values[i] = factor == 0 ? 0 : (real)factor * values[i];
}

static void clip_reverse(struct kernels *k, struct buffer *dx, const struct buffer *x, double limit,
                         struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    const real *values = x->data, most = (real)limit;
    real *gradient = dx->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++)
        if (values[i] == most || values[i] == -most)
            gradient[i] = 0;
}

static void row_norms(struct kernels *k, struct buffer *norms, const struct buffer *x,
                      double factor, struct rows rows, int width)
{
    int total = rows.segments * rows.count;
    (void)k;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        const real *row = (const real *)x->data + (size_t)r * (size_t)width; /* [width] */
        double sum = 0;
        for (int c = 0; c < width; c++)
            sum += (double)row[c] * row[c];
        ((real *)norms->data)[r] = (real)(factor * sqrt(sum));
    }
}

void fill_rows(struct kernels *k)
{
    k->embed = embed;
    k->rotate = rotate;
    k->scale_queries = scale_queries;
    k->scale = scale;
    k->clip = clip;
    k->clip_reverse = clip_reverse;
    k->row_norms = row_norms;
}
