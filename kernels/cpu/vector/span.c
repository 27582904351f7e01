/* Sums, products and elementary functions over arrays; rotation of one head. Whole vectors from the
 * start, the rest padded with zeros, so that an element's result depends only on its index and the
 * length. */
#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"

void add_span(float *y, const float *x, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        v_store(y + i, v_load(y + i) + v_load(x + i));
    for (; i < count; i++)
        y[i] += x[i];
}

void add_scaled_span(float *y, const float *x, float factor, size_t count)
{
    v_float f = v_all(factor);
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        v_store(y + i, v_fma(f, v_load(x + i), v_load(y + i)));
    if (i < count)
        v_store_part(y + i, v_fma(f, v_load_part(x + i, count - i), v_load_part(y + i, count - i)),
                     count - i);
}

float dot_span(const float *x, const float *y, size_t count)
{
    v_float a = {0}, b = {0}, c = {0}, d = {0};
    size_t i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        a = v_fma(v_load(x + i), v_load(y + i), a);
        b = v_fma(v_load(x + i + WIDTH), v_load(y + i + WIDTH), b);
        c = v_fma(v_load(x + i + 2 * WIDTH), v_load(y + i + 2 * WIDTH), c);
        d = v_fma(v_load(x + i + 3 * WIDTH), v_load(y + i + 3 * WIDTH), d);
    }
    for (; i + WIDTH <= count; i += WIDTH)
        a = v_fma(v_load(x + i), v_load(y + i), a);
    if (i < count)
        b = v_fma(v_load_part(x + i, count - i), v_load_part(y + i, count - i), b);
    return v_sum((a + b) + (c + d));
}

double dot_span_double(const float *x, const float *y, size_t count)
{
    v_double a = {0}, b = {0}, c = {0}, d = {0};
    size_t i = 0;
    for (; i + 2 * WIDTH <= count; i += 2 * WIDTH) {
        v_float u = v_load(x + i), v = v_load(y + i), s = v_load(x + i + WIDTH),
                t = v_load(y + i + WIDTH);
        a = v_fma_double(v_low(u), v_low(v), a);
        b = v_fma_double(v_high(u), v_high(v), b);
        c = v_fma_double(v_low(s), v_low(t), c);
        d = v_fma_double(v_high(s), v_high(t), d);
    }
    double sum = v_sum_double((a + b) + (c + d));
    for (; i < count; i++)
        sum += (double)x[i] * y[i];
    return sum;
}

void add_scaled_span_double(double *y, const float *x, double factor, size_t count)
{
    v_double f = v_all_double(factor);
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        v_float u = v_load(x + i);
        v_store_double(y + i, v_fma_double(f, v_low(u), v_load_double(y + i)));
        v_store_double(y + i + WIDTH / 2,
                       v_fma_double(f, v_high(u), v_load_double(y + i + WIDTH / 2)));
    }
    for (; i < count; i++)
        y[i] += factor * x[i];
}

void exp_span(float *y, const float *x, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        v_store(y + i, v_exp(v_load(x + i)));
    if (i < count)
        v_store_part(y + i, v_exp(v_load_part(x + i, count - i)), count - i);
}

void tanh_span(float *y, const float *x, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        v_store(y + i, v_tanh(v_load(x + i)));
    if (i < count)
        v_store_part(y + i, v_tanh(v_load_part(x + i, count - i)), count - i);
}

INLINE void rotate_pair(v_float *u, v_float *v, v_float c, v_float s)
{
    v_float first = *u * c - *v * s, second = *v * c + *u * s;
    *u = first;
    *v = second;
}

void round_span_bf16(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = float_round_bf16(x[i]);
}

void split_span_bf16(float *restrict high, float *restrict low, const float *restrict x,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        high[i] = float_high_bf16(x[i]);
        low[i] = float_low_bf16(x[i]);
    }
}

void rotate_half_head(float *x, const float *cosine, const float *sine, size_t pairs,
                      float direction)
{
    float *y = x + pairs;
    size_t i = 0;
    for (; i + WIDTH <= pairs; i += WIDTH) {
        v_float u = v_load(x + i), v = v_load(y + i);
        rotate_pair(&u, &v, v_load(cosine + i), direction * v_load(sine + i));
        v_store(x + i, u);
        v_store(y + i, v);
    }
    if (i < pairs) {
        size_t rest = pairs - i;
        v_float u = v_load_part(x + i, rest), v = v_load_part(y + i, rest);
        rotate_pair(&u, &v, v_load_part(cosine + i, rest), direction * v_load_part(sine + i, rest));
        v_store_part(x + i, u, rest);
        v_store_part(y + i, v, rest);
    }
}

void rotate_interleaved_head(float *x, const float *cosine, const float *sine, size_t pairs,
                             float direction)
{
    size_t i = 0, count = 2 * pairs;
    for (; i + WIDTH <= count; i += WIDTH) {
        v_float u = v_load(x + i);
        v_store(x + i, u * v_load(cosine + i) + v_swap(u) * (direction * v_load(sine + i)));
    }
    if (i < count) {
        size_t rest = count - i;
        v_float u = v_load_part(x + i, rest);
        v_store_part(x + i,
                     u * v_load_part(cosine + i, rest) +
                         v_swap(u) * (direction * v_load_part(sine + i, rest)),
                     rest);
    }
}
