/* Reference set: LayerNorm (Ba, Kiros, Hinton 2016, eq. 3-4) and RMSNorm (Zhang, Sennrich 2019, eq. 4, epsilon inside the root).
 *
 * With u = (x - mean) / sqrt(var + eps) (mean 0 and the mean square for RMS): y = u scale + shift, and for g = dy scale
 *     dx = (g - mean(g) - u mean(g u)) / sqrt(var + eps), without mean(g) for RMS.
 * Reverse computes the statistics again in double, so that its result too is rounded once. */
#include "kernels/reference/reference.h"

#include <math.h>

/* Mean (0 for RMS) and 1 / sqrt(var + eps) of x[width]. */
static void row_statistics(double *mean, double *inverse, const real *x, const struct norm *norm, int width)
{
    double sum = 0, squares = 0;
    if (norm->kind == NORM_LAYER)
        for (int c = 0; c < width; c++)
            sum += x[c];
    *mean = sum / width;
    for (int c = 0; c < width; c++)
        squares += (x[c] - *mean) * (x[c] - *mean);
    *inverse = 1 / sqrt(squares / width + norm->epsilon);
}

static void norm_forward(struct kernels *k, struct buffer *y, struct buffer *statistics, const struct buffer *x, const struct norm *norm,
                         struct rows rows, int width)
{
    const real *scale = norm->scale->data, *shift = norm->shift ? norm->shift->data : NULL; /* [width] */
    int total = rows.segments * rows.count;
    (void)k;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        const real *in = (const real *)x->data + (size_t)r * (size_t)width; /* [width] */
        real *kept = (real *)statistics->data + 2 * (size_t)r;
        double mean, inverse;
        row_statistics(&mean, &inverse, in, norm, width);
        kept[0] = (real)mean;
        kept[1] = (real)inverse;
        if (!y)
            continue;
        real *out = (real *)y->data + (size_t)r * (size_t)width; /* [width] */
        for (int c = 0; c < width; c++)
            out[c] = (real)((in[c] - mean) * inverse * scale[c] + (shift ? (double)shift[c] : 0.0));
    }
}

static void norm_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy, const struct buffer *x, const struct buffer *statistics,
                         const struct norm *norm, struct rows rows, int width, int accumulate)
{
    const real *scale = norm->scale->data; /* [width] */
    int total = rows.segments * rows.count;
    (void)k;
    (void)statistics;
#pragma omp parallel for
    for (int r = 0; r < total; r++) {
        size_t at = (size_t)r * (size_t)width;
        const real *in = (const real *)x->data + at, *d_out = (const real *)dy->data + at; /* [width] */
        real *d_in = (real *)dx->data + at;
        double mean, inverse, g_mean = 0, gu_mean = 0;
        row_statistics(&mean, &inverse, in, norm, width);
        for (int c = 0; c < width; c++) {
            double g = (double)d_out[c] * scale[c];
            g_mean += g;
            gu_mean += g * ((in[c] - mean) * inverse);
        }
        g_mean = norm->kind == NORM_LAYER ? g_mean / width : 0;
        gu_mean /= width;
        for (int c = 0; c < width; c++) {
            double g = (double)d_out[c] * scale[c], u = (in[c] - mean) * inverse;
            d_in[c] = (real)((g - g_mean - u * gu_mean) * inverse + (accumulate ? (double)d_in[c] : 0.0));
        }
    }
}

void fill_norm(struct kernels *k)
{
    k->norm = norm_forward;
    k->norm_reverse = norm_reverse;
}
