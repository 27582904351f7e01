/* Activations of the MLP and their derivatives: value = x gate(x), slope = gate + x gate'. */
#include "kernels/cpu/vector/functions.h"
#include "kernels/cpu/vector/kernels.h"

/* e^x - 1 for x <= 0: its series near 0, whose next term is below 2e-8 of x at -1/2. */
INLINE v_float less_one(v_float x)
{
    v_float q = v_fma(x, v_all(1 / 40320.0f), v_all(1 / 5040.0f));
    q = v_fma(q, x, v_all(1 / 720.0f));
    q = v_fma(q, x, v_all(1 / 120.0f));
    q = v_fma(q, x, v_all(1 / 24.0f));
    q = v_fma(q, x, v_all(1 / 6.0f));
    q = v_fma(q, x, v_all(0.5f));
    return v_select(x > -0.5f, v_fma(q, x * x, x), v_exp(x) - 1.0f);
}

/* The value at x, and its derivative in *slope. `kind` is constant wherever this is inlined. */
INLINE v_float activation(v_float *slope, v_float x, enum activation kind)
{
    v_float gate, gate_slope, other;
    switch (kind) {
    case ACTIVATION_GELU: gate = v_normal(&gate_slope, x); break;
    case ACTIVATION_GELU_TANH:
    case ACTIVATION_GELU_BLOOM: { /* 0.5 (1 + tanh u) = sigma(2 u), 2 u = 2 sqrt(2/pi) (x + 0.044715
                                     x^3) */
        v_float square = x * x;
        gate = v_sigmoid(&other,
                         x * v_fma(square, v_all(1.59576912f * 0.044715f), v_all(1.59576912f)));
        gate_slope = gate * other *
                     v_fma(square, v_all(1.59576912f * 3 * 0.044715f), v_all(1.59576912f));
        break;
    }
    case ACTIVATION_QUICK_GELU:
        gate = v_sigmoid(&other, 1.702f * x);
        gate_slope = 1.702f * (gate * other);
        break;
    case ACTIVATION_RELU:
        gate = v_select(x == x, (v_float)((v_int)v_all(1) & (v_int)(x > 0.0f)), x);
        gate_slope = v_all(0);
        break;
    case ACTIVATION_CLAMPED: {
        v_int over = x > ACTIVATION_LIMIT;
        x = v_select(over, v_all(ACTIVATION_LIMIT), x);
        gate = v_sigmoid(&other, 1.702f * x);
        *slope = v_select(over, v_all(0), v_fma(x, 1.702f * (gate * other), gate));
        return x * gate;
    }
    case ACTIVATION_TANH: { /* of |x|, by e^(-2 |x|) - 1; 1 - tanh^2 = 4 sigma(2 x) sigma(-2 x) */
        v_float less = less_one(-2.0f * v_absolute(x)), size = -less / (2.0f + less);
        gate = v_sigmoid(&other, 2.0f * x);
        *slope = 4.0f * (gate * other);
        return v_select(x < 0.0f, -size, size);
    }
    case ACTIVATION_SIGMOID:
        gate = v_sigmoid(&other, x);
        *slope = gate * other;
        return gate;
    case ACTIVATION_RELU_SQUARED:
        gate = v_select(x == x, (v_float)((v_int)x & (v_int)(x > 0.0f)), x);
        gate_slope = (v_float)((v_int)v_all(1) & (v_int)(x > 0.0f));
        break;
    default: /* ACTIVATION_SILU */
        gate = v_sigmoid(&other, x);
        gate_slope = gate * other;
        break;
    }
    *slope = v_fma(x, gate_slope, gate);
    return x * gate;
}

/* The factor on a gate's activation, and its derivative in *slope. */
INLINE v_float factor(v_float *slope, v_float up, enum activation kind)
{
    *slope = v_all(1);
    if (kind != ACTIVATION_CLAMPED)
        return up;
    v_int over = up > ACTIVATION_LIMIT, under = up < -ACTIVATION_LIMIT;
    *slope = v_select(over | under, v_all(0), v_all(1));
    return 1.0f +
           v_select(over, v_all(ACTIVATION_LIMIT), v_select(under, v_all(-ACTIVATION_LIMIT), up));
}

INLINE void forward(float *y, const float *up, const float *gate, enum activation kind,
                    size_t count)
{
    v_float slope;
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        v_float u = v_load(up + i);
        v_store(y + i, gate ? activation(&slope, v_load(gate + i), kind) * factor(&slope, u, kind)
                            : activation(&slope, u, kind));
    }
    if (i < count) {
        size_t rest = count - i;
        v_float u = v_load_part(up + i, rest);
        v_store_part(y + i,
                     gate ? activation(&slope, v_load_part(gate + i, rest), kind) *
                                factor(&slope, u, kind)
                          : activation(&slope, u, kind),
                     rest);
    }
}

INLINE void reverse(float *d_up, float *d_gate, const float *dy, const float *up, const float *gate,
                    enum activation kind, size_t count)
{
    for (size_t i = 0; i < count; i += WIDTH) {
        size_t rest = count - i;
        int whole = rest >= WIDTH;
        v_float slope, d = whole ? v_load(dy + i) : v_load_part(dy + i, rest),
                       u = whole ? v_load(up + i) : v_load_part(up + i, rest), result;
        if (gate) {
            v_float value = activation(&slope,
                                       whole ? v_load(gate + i) : v_load_part(gate + i, rest),
                                       kind),
                    up_slope, other = d * factor(&up_slope, u, kind) * slope;
            result = d * (value * up_slope);
            if (whole)
                v_store(d_gate + i, other);
            else
                v_store_part(d_gate + i, other, rest);
        } else {
            activation(&slope, u, kind);
            result = d * slope;
        }
        if (whole)
            v_store(d_up + i, result);
        else
            v_store_part(d_up + i, result, rest);
    }
}

/* xIELU's value at x, and its derivative in *slope. */
INLINE v_float xielu(v_float *slope, v_float x, const struct xielu *n)
{
    const v_float positive = v_all((float)n->positive), negative = v_all((float)n->negative),
                  linear = v_all((float)n->linear), limit = v_all((float)n->limit);
    v_int above = x > 0.0f, under = x < limit;
    v_float rest = less_one(v_select(under, x, limit));
    *slope = v_select(above, v_fma(2.0f * positive, x, linear),
                      v_fma(negative, v_select(under, rest, v_all(-1)), linear));
    return v_fma(linear, x, v_select(above, positive * x * x, negative * (rest - x)));
}

void xielu_span(float *y, const float *x, const struct xielu *numbers, size_t count)
{
    v_float slope;
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        v_store(y + i, xielu(&slope, v_load(x + i), numbers));
    if (i < count)
        v_store_part(y + i, xielu(&slope, v_load_part(x + i, count - i), numbers), count - i);
}

void xielu_span_reverse(float *dx, const float *dy, const float *x, const struct xielu *numbers,
                        size_t count)
{
    v_float slope;
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        xielu(&slope, v_load(x + i), numbers);
        v_store(dx + i, v_load(dy + i) * slope);
    }
    if (i < count) {
        xielu(&slope, v_load_part(x + i, count - i), numbers);
        v_store_part(dx + i, v_load_part(dy + i, count - i) * slope, count - i);
    }
}

#define EACH_KIND(call) \
    switch (kind) { \
    case ACTIVATION_GELU: call(ACTIVATION_GELU); break; \
    case ACTIVATION_GELU_TANH: \
    case ACTIVATION_GELU_BLOOM: call(ACTIVATION_GELU_TANH); break; \
    case ACTIVATION_QUICK_GELU: call(ACTIVATION_QUICK_GELU); break; \
    case ACTIVATION_RELU: call(ACTIVATION_RELU); break; \
    case ACTIVATION_SILU: call(ACTIVATION_SILU); break; \
    case ACTIVATION_RELU_SQUARED: call(ACTIVATION_RELU_SQUARED); break; \
    case ACTIVATION_CLAMPED: call(ACTIVATION_CLAMPED); break; \
    case ACTIVATION_TANH: call(ACTIVATION_TANH); break; \
    case ACTIVATION_SIGMOID: call(ACTIVATION_SIGMOID); break; \
    }

void activate_span(float *y, const float *up, const float *gate, enum activation kind, size_t count)
{
#define FORWARD(constant) forward(y, up, gate, constant, count)
    EACH_KIND(FORWARD)
#undef FORWARD
}

void activate_span_reverse(float *d_up, float *d_gate, const float *dy, const float *up,
                           const float *gate, enum activation kind, size_t count)
{
#define REVERSE(constant) reverse(d_up, d_gate, dy, up, gate, constant, count)
    EACH_KIND(REVERSE)
#undef REVERSE
}
