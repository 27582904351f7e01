/* LayerNorm (Ba, Kiros, Hinton 2016), RMSNorm (Zhang, Sennrich 2019) and ScaleNorm (Nguyen, Salazar
 * 2019), one row at a time, in double: the row is in the nearest cache, so the arithmetic costs
 * little more than reading it, and the result is rounded once. For the formulas see the reference's
 * norm. */
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/vector.h"

/* u = (x - mean) factor; along is the factor of mean(g u) u in reverse. */
struct moments {
    double mean, factor, along;
};

/* For x[width], in two passes, so that nothing cancels. */
INLINE struct moments moments_of(const float *x, enum norm_kind kind, double epsilon, size_t width)
{
    struct moments m = {0, 0, 1};
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
    m.mean = sum / (double)width;
    v_double center = v_all_double(m.mean);
    low = high = v_all_double(0);
    for (i = 0; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i);
        v_double a = v_low(u) - center, b = v_high(u) - center;
        low = v_fma_double(a, a, low);
        high = v_fma_double(b, b, high);
    }
    sum = v_sum_double(low + high);
    for (; i < width; i++)
        sum += (x[i] - m.mean) * (x[i] - m.mean);
    if (kind == NORM_RMS_OUTSIDE) {
        double rms = sqrt(sum / (double)width);
        m.factor = 1 / (rms + epsilon);
        m.along = rms == 0 ? 0 : (rms + epsilon) / rms;
    } else if (kind == NORM_LENGTH) {
        double length = sqrt(sum);
        m.factor = 1 / (length < epsilon ? epsilon : length); /* NaN stays NaN */
        m.along = length < epsilon ? 0 : (double)width;
    } else {
        m.factor = 1 / sqrt(sum / (double)width + epsilon);
    }
    return m;
}

void norm_row(float *y, float *statistics, const float *x, const float *scale, const float *shift,
              enum norm_kind kind, double epsilon, size_t width)
{
    struct moments m = moments_of(x, kind, epsilon, width);
    size_t i = 0;
    statistics[0] = (float)m.mean;
    statistics[1] = (float)m.factor;
    if (!y)
        return;
    v_double center = v_all_double(m.mean), factor = v_all_double(m.factor);
    for (; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i), g = v_load(scale + i), b = shift ? v_load(shift + i) : v_all(0);
        v_store(y + i, v_narrow(v_fma_double((v_low(u) - center) * factor, v_low(g), v_low(b)),
                                v_fma_double((v_high(u) - center) * factor, v_high(g), v_high(b))));
    }
    for (; i < width; i++)
        y[i] = (float)((x[i] - m.mean) * m.factor * scale[i] + (shift ? (double)shift[i] : 0.0));
}

/* With g = dy scale: dx = factor (g - mean(g) - along mean(g u) u), without mean(g) for all but
 * LayerNorm. dx may be dy. */
void norm_row_reverse(float *dx, const float *dy, const float *x, const float *scale,
                      enum norm_kind kind, double epsilon, size_t width, int accumulate)
{
    struct moments m = moments_of(x, kind, epsilon, width);
    size_t i = 0;
    v_double center = v_all_double(m.mean), factor = v_all_double(m.factor), g_low = {0},
             g_high = {0}, gu_low = {0}, gu_high = {0};
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
        gu_mean += g * (x[i] - m.mean) * m.factor;
    }
    g_mean = kind == NORM_LAYER ? g_mean / (double)width : 0;
    gu_mean *= m.along / (double)width;
    v_double constant = v_all_double(g_mean), along = v_all_double(gu_mean);
    for (i = 0; i + WIDTH <= width; i += WIDTH) {
        v_float u = v_load(x + i), d = v_load(dy + i), s = v_load(scale + i),
                old = accumulate ? v_load(dx + i) : v_all(0);
        v_double a = (v_low(d) * v_low(s) - constant - (v_low(u) - center) * factor * along) *
                     factor;
        v_double b = (v_high(d) * v_high(s) - constant - (v_high(u) - center) * factor * along) *
                     factor;
        v_store(dx + i, v_narrow(v_low(old) + a, v_high(old) + b));
    }
    for (; i < width; i++) {
        double d = ((double)dy[i] * scale[i] - g_mean - (x[i] - m.mean) * m.factor * gu_mean) *
                   m.factor;
        dx[i] = (float)((accumulate ? (double)dx[i] : 0.0) + d);
    }
}
