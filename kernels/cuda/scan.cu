/* Scans of the cuda set (ops.h has the formulas). Neighbouring threads of a warp have the states of
 * a channel, row after row. Reverse takes the rows between kept states at a time, the last first:
 * states again, then backwards, then the sums over channels for B and C, a block for each row. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* A scan as kernels get it: of the first segment; the others follow. */
template <class T>
struct scan_arguments {
    const T *x, *bc; /* bc NULL: all 1 */
    const float *steps, *rate, *skip; /* rate NULL: 1; skip NULL: 0 */
    int channels, size, groups, selective, queries, keys;
    int lanes; /* threads of a channel: a power of two, at most a warp */
};

/* One thread's states, n = lane + i lanes, and its channel. */
template <int N>
struct place {
    size_t segment;
    int channel, group, lane, real; /* real 0: behind the last channel, of which it has a copy */
    float rate[N];
};

template <int N, class T>
__device__ static struct place<N> place_of(const struct scan_arguments<T> &a) {
    struct place<N> p;
    p.segment = blockIdx.y;
    p.lane = (int)threadIdx.x % a.lanes;
    p.channel = (int)blockIdx.x * (BLOCK / a.lanes) + (int)threadIdx.x / a.lanes;
    p.real = p.channel < a.channels;
    p.channel = p.real ? p.channel : a.channels - 1;
    p.group = p.channel / (a.channels / a.groups);
    for (int i = 0; i < N; i++) {
        int n = p.lane + i * a.lanes;
        p.rate[i] = n >= a.size ? 0.0f : a.rate ? a.rate[n * a.channels + p.channel] : 1.0f;
    }
    return p;
}

/* The sum over the threads of a channel. */
__device__ static float
lanes_sum(float x, int lanes)
{
    for (int step = lanes / 2; step; step /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, step);
    return x;
}

/* dt of row t of the segment, and what the row writes. */
template <class T>
__device__ static float row_time(float *written, const struct scan_arguments<T> &a, size_t segment,
                                 int channel, int t)
{
    size_t at = (segment * (size_t)a.keys + (size_t)t) * (size_t)a.channels + (size_t)channel;
    float x = to_float(a.x[at]), dt = a.steps[at];
    if (a.selective)
        dt = fmaxf(dt, 0.0f) + log1pf(expf(-fabsf(dt)));
    *written = a.selective ? dt * x : x;
    return dt;
}

/* B of row t and a group, or with `second` C. */
template <class T>
__device__ static float row_factor(const struct scan_arguments<T> &a, size_t segment, int group,
                                   int t, int n, int second)
{
    if (n >= a.size)
        return 0.0f;
    size_t row = (segment * (size_t)a.keys + (size_t)t) * (size_t)a.groups + (size_t)group;
    return a.bc ? to_float(a.bc[(row * 2 + (size_t)second) * (size_t)a.size + (size_t)n]) : 1.0f;
}

/* h after row t, from before it. */
template <int N, class T>
__device__ static void row_step(float h[N], const struct scan_arguments<T> &a,
                                const struct place<N> &p, int t)
{
    float written, dt = row_time(&written, a, p.segment, p.channel, t);
    for (int i = 0; i < N; i++)
        h[i] = fmaf(written, row_factor(a, p.segment, p.group, t, p.lane + i * a.lanes, 0),
                    keep(-dt * p.rate[i], h[i]));
}

/* Where state i is in kept states. */
template <int N, class T>
__device__ static size_t kept_at(const struct scan_arguments<T> &a, const struct place<N> &p,
                                 int slots, int slot, int i)
{
    return ((p.segment * (size_t)slots + (size_t)slot) * (size_t)a.size +
            (size_t)(p.lane + i * a.lanes)) *
               (size_t)a.channels +
           (size_t)p.channel;
}

/* Grid: blocks of channels, segments. */
template <int N, class T>
__global__ void __launch_bounds__(BLOCK)
    scan_rows(T *o, float *states, int slots, struct scan_arguments<T> a)
{
    struct place<N> p = place_of<N>(a);
    float h[N] = {0};
    int first = a.keys - a.queries;
    for (int t = 0; t < a.keys; t++) {
        float sum = 0;
        row_step<N>(h, a, p, t);
        for (int i = 0; i < N; i++)
            sum += row_factor(a, p.segment, p.group, t, p.lane + i * a.lanes, 1) * h[i];
        sum = lanes_sum(sum, a.lanes);
        if (t >= first && p.real && p.lane == 0) {
            size_t c = (size_t)p.channel, channels = (size_t)a.channels,
                   row = p.segment * (size_t)a.keys + (size_t)t,
                   out = p.segment * (size_t)a.queries + (size_t)(t - first);
            if (a.skip)
                sum += a.skip[c] * to_float(a.x[row * channels + c]);
            o[out * channels + c] = from_float<T>(sum);
        }
        for (int i = 0; i < N && states && p.real && (t + 1) % SCAN_SPAN == 0 && t + 1 < a.keys;
             i++)
            if (p.lane + i * a.lanes < a.size)
                states[kept_at<N>(a, p, slots, t / SCAN_SPAN, i)] = h[i];
    }
}

/* What reverse has of a span, for each segment: states behind each row and, with d_bc, their
 * gradients [SCAN_SPAN, channels, size]; the gradient of the states behind it [channels, size]. */
struct scan_span {
    float *after, *adjoints, *carried;
    int first, end; /* rows */
    int last; /* 1: there are no rows behind it */
};

/* Grid: blocks of channels, segments. */
template <int N, class T>
__global__ void __launch_bounds__(BLOCK)
    scan_span_reverse(T *d_x, float *d_steps, const T *d_o, const float *states, int slots,
                      struct scan_span s, struct scan_arguments<T> a)
{
    struct place<N> p = place_of<N>(a);
    size_t channels = (size_t)a.channels, size = (size_t)a.size, c = (size_t)p.channel,
           own = (p.segment * channels + c) * size + (size_t)p.lane,
           rows = (p.segment * SCAN_SPAN * channels + c) * size + (size_t)p.lane;
    float begin[N], h[N], g[N];
    for (int i = 0; i < N; i++) {
        int there = p.lane + i * a.lanes < a.size;
        begin[i] = there && s.first ? states[kept_at<N>(a, p, slots, s.first / SCAN_SPAN - 1, i)]
                                    : 0.0f;
        h[i] = begin[i];
        g[i] = there && !s.last ? s.carried[own + (size_t)(i * a.lanes)] : 0.0f;
    }
    for (int t = s.first; t < s.end; t++) {
        row_step<N>(h, a, p, t);
        for (int i = 0; i < N; i++)
            if (p.real && p.lane + i * a.lanes < a.size)
                s.after[rows + (size_t)(t - s.first) * channels * size + (size_t)(i * a.lanes)] =
                    h[i];
    }
    for (int t = s.end - 1; t >= s.first; t--) {
        size_t at = (p.segment * (size_t)a.keys + (size_t)t) * channels + c,
               row = rows + (size_t)(t - s.first) * channels * size;
        int read = t >= a.keys - a.queries;
        float written,
            dt = row_time(&written, a, p.segment, p.channel, t), back = 0, through = 0,
            d = read
                    ? to_float(
                          d_o[(p.segment * (size_t)a.queries + (size_t)(t - (a.keys - a.queries))) *
                                  channels +
                              c])
                    : 0.0f;
        for (int i = 0; i < N; i++) {
            int n = p.lane + i * a.lanes, there = n < a.size;
            float before = t == s.first ? begin[i]
                           : there      ? s.after[row - channels * size + (size_t)(i * a.lanes)]
                                        : 0.0f,
                  log = -dt * p.rate[i];
            g[i] = fmaf(row_factor(a, p.segment, p.group, t, n, 1), d, g[i]);
            if (s.adjoints && there && p.real)
                s.adjoints[row + (size_t)(i * a.lanes)] = g[i];
            back += row_factor(a, p.segment, p.group, t, n, 0) * g[i];
            through += p.rate[i] * g[i] * keep(log, before);
            g[i] = keep(log, g[i]);
        }
        back = lanes_sum(back, a.lanes), through = lanes_sum(through, a.lanes);
        if (p.lane == 0 && p.real) {
            float d_step = -through;
            if (a.selective)
                d_step = (d_step + to_float(a.x[at]) * back) / (1.0f + expf(-a.steps[at]));
            d_steps[at] = d_step;
            d_x[at] = from_float<T>((a.selective ? dt * back : back) +
                                    (a.skip ? a.skip[c] * d : 0));
        }
    }
    for (int i = 0; i < N; i++)
        if (p.real && p.lane + i * a.lanes < a.size)
            s.carried[own + (size_t)(i * a.lanes)] = g[i];
}

/* The rows of d_bc in a span. `sets` of threads have every sets-th channel of a group, each a
 * state. Grid: rows of the span, segments, groups. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    sum_scan_channels(T *d_bc, const T *d_o, int sets, struct scan_span s,
                      struct scan_arguments<T> a)
{
    __shared__ float part[2][BLOCK];
    int t = s.first + (int)blockIdx.x, n = (int)threadIdx.x / sets, set = (int)threadIdx.x % sets,
        first = a.keys - a.queries;
    size_t segment = blockIdx.y, channels = (size_t)a.channels, size = (size_t)a.size,
           row = (segment * SCAN_SPAN + blockIdx.x) * channels;
    float b = 0, c = 0;
    int each = a.channels / a.groups, begin = (int)blockIdx.z * each;
    for (int channel = begin + set; n < a.size && channel < begin + each; channel += sets) {
        size_t at = (row + (size_t)channel) * size + (size_t)n;
        float written;
        row_time(&written, a, segment, channel, t);
        b += written * s.adjoints[at];
        if (t >= first)
            c += s.after[at] *
                 to_float(d_o[(segment * (size_t)a.queries + (size_t)(t - first)) * channels +
                              (size_t)channel]);
    }
    part[0][threadIdx.x] = b, part[1][threadIdx.x] = c;
    __syncthreads();
    if (set || n >= a.size)
        return;
    for (int i = 1; i < sets; i++)
        b += part[0][(int)threadIdx.x + i], c += part[1][(int)threadIdx.x + i];
    T *out = d_bc +
             ((segment * (size_t)a.keys + (size_t)t) * (size_t)a.groups + blockIdx.z) * 2 * size;
    out[n] = from_float<T>(b), out[size + (size_t)n] = from_float<T>(c);
}

/* -- on the host -- */

/* The least power of two that is not below x, or `most`. */
static int power_of_two(int x, int most)
{
    int power = 1;
    while (power < x && power < most)
        power *= 2;
    return power;
}

template <class T>
static struct scan_arguments<T> arguments_of(struct kernels *k, const struct buffer *x,
                                             const struct buffer *steps, const struct buffer *bc,
                                             const struct scan *v, int queries, int keys) {
    struct scan_arguments<T> a = {
    };
    a.x = (const T *)x->data;
    a.bc = bc ? (const T *)bc->data : NULL;
    a.steps = (const float *)steps->data;
    a.rate = (const float *)cuda_weight_data(k, v->rate);
    a.skip = (const float *)cuda_weight_data(k, v->skip);
    a.channels = v->channels, a.size = v->size, a.groups = scan_groups(v);
    a.selective = v->selective;
    a.queries = queries, a.keys = keys;
    a.lanes = power_of_two(v->size, WARP);
    return a;
}

static size_t
channel_blocks(int channels, int size)
{
    return cuda_divide_up((size_t)channels, (size_t)(BLOCK / power_of_two(size, WARP)));
}

template <class T>
static void scan_as(struct kernels *k, struct buffer *o, struct buffer *states,
                    const struct scan_arguments<T> &a, int segments)
{
    dim3 grid((unsigned)channel_blocks(a.channels, a.size), (unsigned)segments);
    float *kept = states ? (float *)states->data : NULL;
    int slots = (int)scan_states(a.keys);
    if (a.size <= WARP)
        LAUNCH((scan_rows<1, T>), grid, dim3(BLOCK), 0, cuda_state(k)->stream, (T *)o->data, kept,
               slots, a);
    else
        LAUNCH((scan_rows<SCAN_SIZE_MOST / WARP, T>), grid, dim3(BLOCK), 0, cuda_state(k)->stream,
               (T *)o->data, kept, slots, a);
}

static void scan(struct kernels *k, struct buffer *o, struct buffer *states, const struct buffer *x,
                 const struct buffer *steps, const struct buffer *bc, const struct scan *v,
                 int segments, int queries, int keys)
{
    struct cuda_range range("scan");
    if (cuda_is_bf16(k, x))
        scan_as(k, o, states, arguments_of<bf16>(k, x, steps, bc, v, queries, keys), segments);
    else
        scan_as(k, o, states, arguments_of<float>(k, x, steps, bc, v, queries, keys), segments);
}

/* Segments that reverse takes at a time, as many as give each multiprocessor four blocks: the work
 * space does not grow with the batch from there on. And its floats for each. */
static size_t segments_at_once(struct kernels *k, const struct scan *v)
{
    return cuda_divide_up(4 * (size_t)cuda_state(k)->processors,
                          channel_blocks(v->channels, v->size));
}

static size_t span_floats(const struct scan *v)
{
    return (2 * SCAN_SPAN + 1) * (size_t)v->channels * (size_t)v->size;
}

/* All spans of some segments, backwards. */
template <class T>
static void run_reverse(struct kernels *k, T *d_x, float *d_steps, T *d_bc, const T *d_o,
                        const float *states, struct scan_span s, const struct scan_arguments<T> &a,
                        size_t segments)
{
    cudaStream_t stream = cuda_state(k)->stream;
    dim3 grid((unsigned)channel_blocks(a.channels, a.size), (unsigned)segments);
    int slots = (int)scan_states(a.keys), sets = BLOCK / power_of_two(a.size, BLOCK);
    for (int span = slots; span >= 0; span--) {
        s.first = span * SCAN_SPAN;
        s.last = span == slots;
        s.end = s.last ? a.keys : s.first + SCAN_SPAN;
        if (a.size <= WARP)
            LAUNCH((scan_span_reverse<1, T>), grid, dim3(BLOCK), 0, stream, d_x, d_steps, d_o,
                   states, slots, s, a);
        else
            LAUNCH((scan_span_reverse<SCAN_SIZE_MOST / WARP, T>), grid, dim3(BLOCK), 0, stream, d_x,
                   d_steps, d_o, states, slots, s, a);
        if (d_bc)
            LAUNCH(sum_scan_channels<T>,
                   dim3((unsigned)(s.end - s.first), (unsigned)segments, (unsigned)a.groups),
                   dim3(BLOCK), 0, stream, d_bc, d_o, sets, s, a);
    }
}

template <class T>
static void scan_reverse_as(struct kernels *k, struct buffer *d_x, struct buffer *d_steps,
                            struct buffer *d_bc, const struct buffer *d_o,
                            const struct buffer *states, const struct scan *v,
                            struct scan_arguments<T> a, size_t segments)
{
    size_t channels = (size_t)v->channels, size = (size_t)v->size, keys = (size_t)a.keys,
           most = segments_at_once(k, v), some = segments < most ? segments : most,
           cells = channels * size, factors = (size_t)scan_factors_width(v);
    T *dx = (T *)d_x->data, *dbc = d_bc ? (T *)d_bc->data : NULL;
    const T *seeds = (const T *)d_o->data;
    float *dsteps = (float *)d_steps->data, *kept = states ? (float *)states->data : NULL;
    struct scan_span s = {};
    s.after = (float *)cuda_scratch(k, some * span_floats(v) * sizeof *s.after,
                                    "a scan's gradient");
    if (!s.after)
        return;
    s.carried = s.after + some * SCAN_SPAN * cells;
    s.adjoints = d_bc ? s.carried + some * cells : NULL;
    for (size_t done = 0; done < segments; done += some) {
        some = segments - done < some ? segments - done : some;
        run_reverse(k, dx, dsteps, dbc, seeds, kept, s, a, some);
        a.x += some * keys * channels, a.steps += some * keys * channels;
        a.bc = a.bc ? a.bc + some * keys * factors : NULL;
        dx += some * keys * channels, dsteps += some * keys * channels;
        dbc = dbc ? dbc + some * keys * factors : NULL;
        seeds += some * (size_t)a.queries * channels;
        kept = kept ? kept + some * scan_states(a.keys) * cells : NULL;
    }
}

static void scan_reverse(struct kernels *k, struct buffer *d_x, struct buffer *d_steps,
                         struct buffer *d_bc, const struct buffer *d_o, const struct buffer *states,
                         const struct buffer *x, const struct buffer *steps,
                         const struct buffer *bc, const struct scan *v, int segments, int queries,
                         int keys)
{
    struct cuda_range range("scan_reverse");
    if (cuda_is_bf16(k, x))
        scan_reverse_as(k, d_x, d_steps, d_bc, d_o, states, v,
                        arguments_of<bf16>(k, x, steps, bc, v, queries, keys), (size_t)segments);
    else
        scan_reverse_as(k, d_x, d_steps, d_bc, d_o, states, v,
                        arguments_of<float>(k, x, steps, bc, v, queries, keys), (size_t)segments);
}

static size_t scan_bytes(struct kernels *k, const struct scan *v, int segments, int keys)
{
    size_t most = segments_at_once(k, v), all = (size_t)segments;
    (void)keys;
    return (all < most ? all : most) * span_floats(v) * sizeof(float);
}

void cuda_fill_scan(struct kernels *k)
{
    k->scan = scan;
    k->scan_reverse = scan_reverse;
    k->scan_bytes = scan_bytes;
}
