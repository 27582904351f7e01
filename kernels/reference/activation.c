/* Reference set: activations of the MLP and their derivatives.
 *
 * GELU (Hendrycks, Gimpel 2016): x Phi(x) exactly, with the tanh form, or with sigma(1.702 x). 0.5
 * (1 + tanh u) is written sigma(2 u) and Phi(x) as erfc(-x / sqrt 2) / 2, which keep their relative
 * accuracy far below 0. The derivative of ReLU at 0 is 0. */
#include "kernels/reference/reference.h"

#include <math.h>

/* The value at x, and its derivative in *slope. */
static double activation(double *slope, double x, enum activation kind)
{
    double gate, gate_slope; /* value = x gate, slope = gate + x gate_slope; 1 - sigma(u) is
                                sigma(-u), for its accuracy */
    switch (kind) {
    case ACTIVATION_GELU:
        gate = 0.5 * erfc(-x * M_SQRT1_2);
        gate_slope = exp(-0.5 * x * x) * (0.5 * M_SQRT1_2 * M_2_SQRTPI);
        break;
    case ACTIVATION_GELU_TANH:
    case ACTIVATION_GELU_BLOOM: {
        double c = kind == ACTIVATION_GELU_BLOOM ? 0.79788456
                                                 : M_SQRT1_2 * M_2_SQRTPI; /* sqrt(2 / pi) */
        double u = 2 * c * (x + 0.044715 * x * x * x);
        gate = sigmoid(u);
        gate_slope = gate * sigmoid(-u) * 2 * c * (1 + 3 * 0.044715 * x * x);
        break;
    }
    case ACTIVATION_QUICK_GELU:
        gate = sigmoid(1.702 * x);
        gate_slope = 1.702 * gate * sigmoid(-1.702 * x);
        break;
    case ACTIVATION_RELU:
        gate = isnan(x) ? x : x > 0;
        gate_slope = 0;
        break;
    case ACTIVATION_CLAMPED:
        if (x > ACTIVATION_LIMIT) {
            *slope = 0;
            return ACTIVATION_LIMIT * sigmoid(1.702 * ACTIVATION_LIMIT);
        }
        gate = sigmoid(1.702 * x);
        gate_slope = 1.702 * gate * sigmoid(-1.702 * x);
        break;
    case ACTIVATION_TANH: *slope = 1 / (cosh(x) * cosh(x)); return tanh(x);
    case ACTIVATION_SIGMOID:
        gate = sigmoid(x);
        *slope = gate * sigmoid(-x);
        return gate;
    case ACTIVATION_RELU_SQUARED:
        gate = isnan(x) || x > 0 ? x : 0;
        gate_slope = x > 0;
        break;
    default: /* ACTIVATION_SILU */
        gate = sigmoid(x);
        gate_slope = gate * sigmoid(-x);
        break;
    }
    *slope = gate + x * gate_slope;
    return x * gate;
}

/* The factor on a gate's activation, and its derivative in *slope. */
static double factor(double *slope, double up, enum activation kind)
{
    *slope = 1;
    if (kind != ACTIVATION_CLAMPED)
        return up;
    *slope = fabs(up) <= ACTIVATION_LIMIT;
    return 1 + (up > ACTIVATION_LIMIT    ? ACTIVATION_LIMIT
                : up < -ACTIVATION_LIMIT ? -ACTIVATION_LIMIT
                                         : up);
}

static void activate(struct kernels *k, struct buffer *y, const struct buffer *up,
                     const struct buffer *gate, enum activation kind, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    const real *u = up->data, *g = gate ? gate->data : NULL;
    real *out = y->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        double slope, value = activation(&slope, g ? g[i] : u[i], kind);
        out[i] = (real)(g ? value * factor(&slope, u[i], kind) : value);
    }
}

static void activate_reverse(struct kernels *k, struct buffer *d_up, struct buffer *d_gate,
                             const struct buffer *dy, const struct buffer *up,
                             const struct buffer *gate, enum activation kind, struct rows rows,
                             int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    const real *u = up->data, *g = gate ? gate->data : NULL, *d = dy->data;
    real *du = d_up->data, *dg = gate ? d_gate->data : NULL;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        double slope, up_slope, d_out = d[i], value = activation(&slope, g ? g[i] : u[i], kind);
        if (g) {
            dg[i] = (real)(d_out * factor(&up_slope, u[i], kind) * slope);
            slope = value * up_slope;
        }
        du[i] = (real)(d_out * slope);
    }
}

/* xIELU's value at x, and its derivative in *slope. */
static double xielu_at(double *slope, double x, const struct xielu *n)
{
    if (x > 0) {
        *slope = 2 * n->positive * x + n->linear;
        return n->positive * x * x + n->linear * x;
    }
    *slope = n->negative * ((x < n->limit ? exp(x) : 0) - 1) + n->linear;
    return n->negative * (expm1(x < n->limit ? x : n->limit) - x) + n->linear * x;
}

static void xielu(struct kernels *k, struct buffer *y, const struct buffer *x,
                  const struct xielu *numbers, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    const real *in = x->data;
    real *out = y->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        double slope;
        out[i] = (real)xielu_at(&slope, in[i], numbers);
    }
}

static void xielu_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                          const struct buffer *x, const struct xielu *numbers, struct rows rows,
                          int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    const real *in = x->data, *d = dy->data;
    real *out = dx->data;
    (void)k;
#pragma omp parallel for
    for (size_t i = 0; i < total; i++) {
        double slope;
        xielu_at(&slope, in[i], numbers);
        out[i] = (real)(d[i] * slope);
    }
}

void fill_activation(struct kernels *k)
{
    k->xielu = xielu;
    k->xielu_reverse = xielu_reverse;
    k->activate = activate;
    k->activate_reverse = activate_reverse;
}
