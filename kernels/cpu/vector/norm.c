/* LayerNorm (Ba, Kiros, Hinton 2016) and RMSNorm (Zhang, Sennrich 2019), one row at a time, in double: the row lies in the nearest cache, so the
 * arithmetic costs little beside reading it, and the result is rounded once. */
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/vector.h"

/* Mean (0 for RMS) and 1 / sqrt(var + epsilon) of x[width]; two passes, so that nothing cancels. */
INLINE void row_statistics(double *mean, double *inverse, const float *x, enum norm_kind kind, double epsilon, size_t width)
{
    v_double low = {0}, high = {0};
    double sum = 0;
    size_t i = 0;
    if (kind == NORM_LAYER) {
        for (; i + WIDTH <= width; i += WIDTH) {
            v_float u = v_load(x + i);
            low += v_low(u);
            high += v_high(u);
        }
        sum = v_sum_double(low + high);
        for (; i < width; i++)
            sum += x[i];
    }
    *mean = sum / (double)width;
    v_double center = v_all_double(*mean);
    low = high = v_all_double(0);
    for (i = 0; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i);
        v_double a = v_low(u) - center, b = v_high(u) - center;
        low = v_fma_double(a, a, low);
        high = v_fma_double(b, b, high);
    }
    sum = v_sum_double(low + high);
    for (; i < width; i++)
        sum += (x[i] - *mean) * (x[i] - *mean);
    *inverse = 1 / sqrt(sum / (double)width + epsilon);
}

void norm_row(float *y, float *statistics, const float *x, const float *scale, const float *shift, enum norm_kind kind, double epsilon, size_t width)
{
    double mean, inverse;
    size_t i = 0;
    row_statistics(&mean, &inverse, x, kind, epsilon, width);
    statistics[0] = (float)mean;
    statistics[1] = (float)inverse;
    if (!y)
        return;
    v_double center = v_all_double(mean), factor = v_all_double(inverse);
    for (; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i), g = v_load(scale + i), b = shift ? v_load(shift + i) : v_all(0);
        v_store(y + i, v_narrow(v_fma_double((v_low(u) - center) * factor, v_low(g), v_low(b)), v_fma_double((v_high(u) - center) * factor, v_high(g), v_high(b))));
    }
    for (; i < width; i++)
        y[i] = (float)((x[i] - mean) * inverse * scale[i] + (shift ? (double)shift[i] : 0.0));
}

/* With u = (x - mean) inverse and g = dy scale: dx = (g - mean(g) - u mean(g u)) inverse, without mean(g) for RMS. */
void norm_row_reverse(float *dx, const float *dy, const float *x, const float *scale, enum norm_kind kind, double epsilon, size_t width, int accumulate)
{
    double mean, inverse;
    size_t i = 0;
    row_statistics(&mean, &inverse, x, kind, epsilon, width);
    v_double center = v_all_double(mean), factor = v_all_double(inverse), g_low = {0}, g_high = {0}, gu_low = {0}, gu_high = {0};
    for (; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i), d = v_load(dy + i), s = v_load(scale + i);
        v_double a = v_low(d) * v_low(s), b = v_high(d) * v_high(s);
        g_low += a;
        g_high += b;
        gu_low = v_fma_double(a, (v_low(u) - center) * factor, gu_low);
        gu_high = v_fma_double(b, (v_high(u) - center) * factor, gu_high);
    }
    double g_mean = v_sum_double(g_low + g_high), gu_mean = v_sum_double(gu_low + gu_high);
    for (; i < width; i++) {
        double g = (double)dy[i] * scale[i];
        g_mean += g;
        gu_mean += g * (x[i] - mean) * inverse;
    }
    g_mean = kind == NORM_LAYER ? g_mean / (double)width : 0;
    gu_mean /= (double)width;
    v_double constant = v_all_double(g_mean), along = v_all_double(gu_mean);
    for (i = 0; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i), d = v_load(dy + i), s = v_load(scale + i), old = accumulate ? v_load(dx + i) : v_all(0);
        v_double a = (v_low(d) * v_low(s) - constant - (v_low(u) - center) * factor * along) * factor;
        v_double b = (v_high(d) * v_high(s) - constant - (v_high(u) - center) * factor * along) * factor;
        v_store(dx + i, v_narrow(v_low(old) + a, v_high(old) + b));
    }
    for (; i < width; i++) {
        double d = ((double)dy[i] * scale[i] - g_mean - (x[i] - mean) * inverse * gu_mean) * inverse;
        dx[i] = (float)((accumulate ? (double)dx[i] : 0.0) + d);
    }
}
