/* Reference set: norms of rows and of the heads in a row. LayerNorm (Ba, Kiros, Hinton 2016, eq.
 * 3-4), RMSNorm (Zhang, Sennrich 2019, eq. 4, epsilon inside the root, or outside it), and
 * ScaleNorm (Nguyen, Salazar 2019, eq. 5).
 *
 * With u = (x - mean) f, mean 0 for all but LayerNorm: y = u scale + shift, and for g = dy scale
 *     dx = f (g - mean(g) - a mean(g u) u), without mean(g) where the mean is 0.
 * f is 1 / sqrt(var + eps), 1 / (rms + eps) or 1 / max(|x|, eps); a is 1, (rms + eps) / rms, or the
 * width (0 below eps), as d f / d x has it. Reverse computes f again in double, so that its result
 * too is rounded once. */
#include "kernels/reference/reference.h"

#include <math.h>

struct moments {
    double mean, factor, along; /* mean, f, a */
};

static struct moments moments_of(const real *x, const struct norm *norm, int width)
{
    struct moments m = {0, 0, 1};
    double squares = 0;
    if (norm->kind == NORM_LAYER) {
        for (int c = 0; c < width; c++)
            m.mean += x[c];
        m.mean /= width;
    }
    for (int c = 0; c < width; c++)
        squares += (x[c] - m.mean) * (x[c] - m.mean);
    if (norm->kind == NORM_RMS_OUTSIDE) {
        double rms = sqrt(squares / width);
        m.factor = 1 / (rms + norm->epsilon);
        m.along = rms == 0 ? 0 : (rms + norm->epsilon) / rms;
    } else if (norm->kind == NORM_LENGTH) {
        double length = sqrt(squares);
        m.factor = 1 / (length < norm->epsilon ? norm->epsilon : length); /* NaN stays NaN */
        m.along = length < norm->epsilon ? 0 : width;
    } else {
        m.factor = 1 / sqrt(squares / width + norm->epsilon);
    }
    return m;
}

/* Element c of head h of a vector that may be absent, one value, or the same for all heads. */
static double element(const struct weight *w, int h, int c, int width, double absent)
{
    if (!w)
        return absent;
    return (
        (const real *)w->data)[w->rows == 1               ? 0
                               : w->rows == (size_t)width ? (size_t)c
                                                          : (size_t)h * (size_t)width + (size_t)c];
}

/* kept[2] and, unless NULL, y[width] of x[width], a row (h 0) or its head h. */
static void norm_row(real *y, real *kept, const real *x, const struct norm *norm, int h, int width)
{
    struct moments m = moments_of(x, norm, width);
    kept[0] = (real)m.mean;
    kept[1] = (real)m.factor;
    for (int c = 0; y && c < width; c++)
        y[c] = (real)((x[c] - m.mean) * m.factor * element(norm->scale, h, c, width, 1) +
                      element(norm->shift, h, c, width, 0));
}

/* dx[width] may be dy[width]. */
static void norm_row_reverse(real *dx, const real *dy, const real *x, const struct norm *norm,
                             int h, int width, int accumulate)
{
    struct moments m = moments_of(x, norm, width);
    double g_mean = 0, gu_mean = 0;
    for (int c = 0; c < width; c++) {
        double g = dy[c] * element(norm->scale, h, c, width, 1);
        g_mean += g;
        gu_mean += g * ((x[c] - m.mean) * m.factor);
    }
    g_mean = norm->kind == NORM_LAYER ? g_mean / width : 0;
    gu_mean *= m.along / width;
    for (int c = 0; c < width; c++) {
        double g = dy[c] * element(norm->scale, h, c, width, 1), u = (x[c] - m.mean) * m.factor;
        dx[c] = (real)((g - g_mean - u * gu_mean) * m.factor + (accumulate ? (double)dx[c] : 0.0));
    }
}

static void norm_forward(struct kernels *k, struct buffer *y, struct buffer *statistics,
                         const struct buffer *x, const struct norm *norm, struct rows rows,
                         int width)
{
    int total = rows.segments * rows.count;
    (void)k;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        size_t at = (size_t)r * (size_t)width;
        norm_row(y ? (real *)y->data + at : NULL, (real *)statistics->data + 2 * (size_t)r,
                 (const real *)x->data + at, norm, 0, width);
    }
}

static void norm_reverse(struct kernels *k, struct buffer *dx, struct buffer *rounded,
                         const struct buffer *dy, const struct buffer *x,
                         const struct buffer *statistics, const struct norm *norm, struct rows rows,
                         int width, int accumulate)
{
    int total = rows.segments * rows.count;
    (void)statistics;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        size_t at = (size_t)r * (size_t)width;
        norm_row_reverse((real *)dx->data + at, (const real *)dy->data + at,
                         (const real *)x->data + at, norm, 0, width, accumulate);
    }
    if (rounded)
        k->copy(k, rounded, dx, rows, width);
}

static void norm_heads(struct kernels *k, struct buffer *y, struct buffer *statistics,
                       const struct buffer *x, const struct norm *norm, struct rows rows, int heads,
                       int head_size, int width)
{
    int total = rows.segments * rows.count;
    (void)k;
#pragma omp parallel for
    for (int r = 0; r < total; r++)
        for (int h = 0; h < heads; h++) {
            size_t at = (size_t)r * (size_t)width + (size_t)h * (size_t)head_size;
            norm_row((real *)y->data + at,
                     (real *)statistics->data + 2 * ((size_t)r * (size_t)heads + (size_t)h),
                     (const real *)x->data + at, norm, h, head_size);
        }
}

static void norm_heads_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                               const struct buffer *x, const struct buffer *statistics,
                               const struct norm *norm, struct rows rows, int heads, int head_size,
                               int width)
{
    int total = rows.segments * rows.count;
    (void)k;
    (void)statistics;
#pragma omp parallel for
    for (int r = 0; r < total; r++)
        for (int h = 0; h < heads; h++) {
            size_t at = (size_t)r * (size_t)width + (size_t)h * (size_t)head_size;
            norm_row_reverse((real *)dx->data + at, (const real *)dy->data + at,
                             (const real *)x->data + at, norm, h, head_size, 0);
        }
}

void fill_norm(struct kernels *k)
{
    k->norm = norm_forward;
    k->norm_reverse = norm_reverse;
    k->norm_heads = norm_heads;
    k->norm_heads_reverse = norm_heads_reverse;
}
