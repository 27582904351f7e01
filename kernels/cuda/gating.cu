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

/* -- by channel -- */

struct channel_arguments {
    const float *rate, *bias; /* bias NULL: 0 */
    double write, floor;
    size_t heads, size, total; /* total: of a and b */
};

/* l of a channel at x = a + bias, and its derivative by a in *slope. */
__device__ static double channel_decay(double *slope, double x, double rate, double floor)
{
    if (floor < 0) {
        double part = 1 / (1 + exp(-rate * x));
        *slope = floor * rate * part / (1 + exp(rate * x));
        return floor * part;
    }
    *slope = -rate / (1 + exp(-x));
    return -rate * ((x > 0 ? x : 0) + log1p(exp(-fabs(x))));
}

__global__ void __launch_bounds__(BLOCK)
    gate_channel_rows(float *gates, const float *a, const float *b, struct channel_arguments v)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, decays = v.heads * v.size,
           width = decays + v.heads;
    if (e >= v.total)
        return;
    size_t row = e / width, i = e % width;
    double slope;
    gates[e] = (float)(i < decays
                           ? channel_decay(&slope,
                                           (double)a[row * decays + i] + (v.bias ? v.bias[i] : 0),
                                           v.rate[i / v.size], v.floor)
                           : v.write / (1 + exp(-(double)b[row * v.heads + i - decays])));
}

__global__ void __launch_bounds__(BLOCK)
    gate_channel_rows_reverse(float *d_a, float *d_b, const float *d_gates, const float *a,
                              const float *b, struct channel_arguments v)
{
    size_t e = (size_t)blockIdx.x * BLOCK + threadIdx.x, decays = v.heads * v.size,
           width = decays + v.heads;
    if (e >= v.total)
        return;
    size_t row = e / width, i = e % width;
    if (i < decays) {
        size_t at = row * decays + i;
        double slope;
        channel_decay(&slope, (double)a[at] + (v.bias ? v.bias[i] : 0), v.rate[i / v.size],
                      v.floor);
        d_a[at] = (float)(slope * d_gates[e]);
    } else {
        size_t at = row * v.heads + i - decays;
        double x = b[at];
        d_b[at] = (float)(d_gates[e] * v.write / (1 + exp(-x)) / (1 + exp(x)));
    }
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

static struct channel_arguments channels_of(struct kernels *k, const struct gating *v,
                                            struct rows rows, int heads, int key_size)
{
    return {(const float *)cuda_weight_data(k, v->rate),
            (const float *)cuda_weight_data(k, v->bias),
            v->write,
            v->floor,
            (size_t)heads,
            (size_t)key_size,
            (size_t)rows.segments * (size_t)rows.count * (size_t)(heads * (key_size + 1))};
}

static void gate_channels(struct kernels *k, struct buffer *gates, const struct buffer *a,
                          const struct buffer *b, const struct gating *v, struct rows rows,
                          int heads, int key_size)
{
    struct cuda_range range("gate_channels");
    struct channel_arguments c = channels_of(k, v, rows, heads, key_size);
    LAUNCH(gate_channel_rows, dim3((unsigned)cuda_divide_up(c.total, BLOCK)), dim3(BLOCK), 0,
           cuda_state(k)->stream, (float *)gates->data, (const float *)a->data,
           (const float *)b->data, c);
}

static void gate_channels_reverse(struct kernels *k, struct buffer *d_a, struct buffer *d_b,
                                  const struct buffer *d_gates, const struct buffer *a,
                                  const struct buffer *b, const struct gating *v, struct rows rows,
                                  int heads, int key_size)
{
    struct cuda_range range("gate_channels_reverse");
    struct channel_arguments c = channels_of(k, v, rows, heads, key_size);
    LAUNCH(gate_channel_rows_reverse, dim3((unsigned)cuda_divide_up(c.total, BLOCK)), dim3(BLOCK),
           0, cuda_state(k)->stream, (float *)d_a->data, (float *)d_b->data,
           (const float *)d_gates->data, (const float *)a->data, (const float *)b->data, c);
}

void cuda_fill_gating(struct kernels *k)
{
    k->gate_channels = gate_channels;
    k->gate_channels_reverse = gate_channels_reverse;
    k->gate = gate;
    k->gate_reverse = gate_reverse;
}
