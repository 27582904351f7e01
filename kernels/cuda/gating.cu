/* Gates of recurrences of the cuda set, computed in double as kernels/reference/recurrence.c does:
 * a thread for each head of each row. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* A gating as kernels get it. */
struct gating_arguments {
    const float *rate, *bias; /* bias NULL: 0 */
    double low, high, write;
    size_t heads, total;
};

/* dt at a, and its derivative in *slope. */
__device__ static double time_step(double *slope, double a, const struct gating_arguments &v)
{
    double dt = (a > 0 ? a : 0) + log1p(exp(-fabs(a)));
    *slope = dt < v.low || dt > v.high ? 0 : 1 / (1 + exp(-a));
    return dt < v.low ? v.low : dt > v.high ? v.high : dt;
}

__global__ void __launch_bounds__(BLOCK)
    gate_rows(float *gates, const float *raw, struct gating_arguments v)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, h = v.heads;
    if (e >= v.total)
        return;
    size_t row = e / h, c = e % h, at = row * (v.write > 0 ? 2 * h : h) + c;
    double slope, dt = time_step(&slope, (double)raw[at] + (v.bias ? v.bias[c] : 0), v);
    gates[row * 2 * h + c] = (float)(-v.rate[c] * dt);
    gates[row * 2 * h + h + c] = (float)(v.write > 0 ? v.write / (1 + exp(-(double)raw[at + h]))
                                                     : dt);
}

/* d_raw may be d_gates: a thread writes what it alone has read. */
__global__ void __launch_bounds__(BLOCK)
    gate_rows_reverse(float *d_raw, const float *d_gates, const float *raw,
                      struct gating_arguments v)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, h = v.heads;
    if (e >= v.total)
        return;
    size_t row = e / h, c = e % h, at = row * (v.write > 0 ? 2 * h : h) + c;
    double slope, d_log = d_gates[row * 2 * h + c], d_step = d_gates[row * 2 * h + h + c];
    time_step(&slope, (double)raw[at] + (v.bias ? v.bias[c] : 0), v);
    if (v.write > 0) {
        double b = raw[at + h], open = 1 / (1 + exp(-b)), shut = 1 / (1 + exp(b));
        d_raw[at + h] = (float)(d_step * v.write * open * shut);
        d_step = 0;
    }
    d_raw[at] = (float)(slope * (d_step - v.rate[c] * d_log));
}

static struct gating_arguments arguments_of(struct kernels *k, const struct gating *v,
                                            struct rows rows, int heads)
{
    return {(const float *)cuda_weight_data(k, v->rate),
            (const float *)cuda_weight_data(k, v->bias),
            v->low,
            v->high,
            v->write,
            (size_t)heads,
            (size_t)rows.segments * (size_t)rows.count * (size_t)heads};
}

static dim3 grid_of(const struct gating_arguments &a)
{
    return dim3((unsigned)cuda_divide_up(a.total, BLOCK));
}

static void gate(struct kernels *k, struct buffer *gates, const struct buffer *raw,
                 const struct gating *v, struct rows rows, int heads)
{
    struct cuda_range range("gate");
    struct gating_arguments a = arguments_of(k, v, rows, heads);
    LAUNCH(gate_rows, grid_of(a), dim3(BLOCK), 0, cuda_state(k)->stream, (float *)gates->data,
           (const float *)raw->data, a);
}

static void gate_reverse(struct kernels *k, struct buffer *d_raw, const struct buffer *d_gates,
                         const struct buffer *raw, const struct gating *v, struct rows rows,
                         int heads)
{
    struct cuda_range range("gate_reverse");
    struct gating_arguments a = arguments_of(k, v, rows, heads);
    LAUNCH(gate_rows_reverse, grid_of(a), dim3(BLOCK), 0, cuda_state(k)->stream,
           (float *)d_raw->data, (const float *)d_gates->data, (const float *)raw->data, a);
}

void cuda_fill_gating(struct kernels *k)
{
    k->gate = gate;
    k->gate_reverse = gate_reverse;
}
