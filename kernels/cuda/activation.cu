/* Activations of the cuda set and their derivatives, in float; formulas as in
 * kernels/reference/activation.c. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

__device__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* The value at x, and its derivative in *slope: value = x gate, slope = gate + x gate'; 1 -
 * sigma(u) is sigma(-u), for its accuracy. */
template <int KIND>
__device__ static float activation(float *slope, float x)
{
    float gate, gate_slope;
    if (KIND == ACTIVATION_GELU) {
        gate = 0.5f * erfcf(-x * 0.70710678118654752f);
        gate_slope = expf(-0.5f * x * x) * 0.39894228040143268f; /* 1 / sqrt(2 pi) */
    } else if (KIND == ACTIVATION_GELU_TANH ||
               KIND == ACTIVATION_GELU_BLOOM) { /* the two constants are one float */
        const float c = 0.79788456080286536f, cubic = 0.044715f;
        float u = 2 * c * (x + cubic * x * x * x);
        gate = sigmoid(u);
        gate_slope = gate * sigmoid(-u) * 2 * c * (1 + 3 * cubic * x * x);
    } else if (KIND == ACTIVATION_QUICK_GELU) {
        gate = sigmoid(1.702f * x);
        gate_slope = 1.702f * gate * sigmoid(-1.702f * x);
    } else if (KIND == ACTIVATION_CLAMPED) {
        int over = x > ACTIVATION_LIMIT;
        x = over ? ACTIVATION_LIMIT : x;
        gate = sigmoid(1.702f * x);
        *slope = over ? 0.0f : gate + x * (1.702f * gate * sigmoid(-1.702f * x));
        return x * gate;
    } else if (KIND == ACTIVATION_TANH) {
        *slope = 4 * sigmoid(2 * x) * sigmoid(-2 * x);
        return tanhf(x);
    } else if (KIND == ACTIVATION_SIGMOID) {
        gate = sigmoid(x);
        *slope = gate * sigmoid(-x);
        return gate;
    } else if (KIND == ACTIVATION_RELU) {
        gate = x != x ? x : x > 0 ? 1.0f : 0.0f;
        gate_slope = 0;
    } else if (KIND == ACTIVATION_RELU_SQUARED) {
        gate = x != x || x > 0 ? x : 0.0f;
        gate_slope = x > 0 ? 1.0f : 0.0f;
    } else {
        gate = sigmoid(x);
        gate_slope = gate * sigmoid(-x);
    }
    *slope = gate + x * gate_slope;
    return x * gate;
}

/* What the activation of a gate is multiplied by, and its derivative in *slope. */
template <int KIND>
__device__ static float factor(float *slope, float up)
{
    *slope = 1;
    if (KIND != ACTIVATION_CLAMPED)
        return up;
    *slope = up > ACTIVATION_LIMIT || up < -ACTIVATION_LIMIT ? 0.0f : 1.0f;
    return 1 + (up > ACTIVATION_LIMIT    ? ACTIVATION_LIMIT
                : up < -ACTIVATION_LIMIT ? -ACTIVATION_LIMIT
                                         : up);
}

template <int KIND, int GATED, int N, class T>
__device__ static void activate_vector(T *y, const T *up, const T *gate, size_t at)
{
    float u[N], g[N], slope;
    load_floats<N>(u, up + at);
    if (GATED)
        load_floats<N>(g, gate + at);
    for (int j = 0; j < N; j++)
        u[j] = GATED ? activation<KIND>(&slope, g[j]) * factor<KIND>(&slope, u[j])
                     : activation<KIND>(&slope, u[j]);
    store_floats<N>(y + at, u);
}

template <int KIND, int GATED, int N, class T>
__device__ static void activate_reverse_vector(T *d_up, T *d_gate, const T *dy, const T *up,
                                               const T *gate, size_t at)
{
    float d[N], u[N], g[N], slope, up_slope;
    load_floats<N>(d, dy + at);
    load_floats<N>(u, up + at);
    if (GATED)
        load_floats<N>(g, gate + at);
    for (int j = 0; j < N; j++) {
        float value = activation<KIND>(&slope, GATED ? g[j] : u[j]);
        if (GATED) {
            g[j] = d[j] * factor<KIND>(&up_slope, u[j]) * slope;
            slope = value * up_slope;
        }
        u[j] = d[j] * slope;
    }
    if (GATED)
        store_floats<N>(d_gate + at, g);
    store_floats<N>(d_up + at, u);
}

/* A thread has 16 bytes of elements that lie together; the last ones of an odd total alone. */
template <class T>
struct vector_of {
    static const int count = 16 / sizeof(T);
};

template <int KIND, int GATED, class T>
__global__ void __launch_bounds__(BLOCK)
    activate_elements(T *y, const T *up, const T *gate, size_t total)
{
    const int n = vector_of<T>::count;
    size_t at = ((size_t)blockIdx.x * BLOCK + threadIdx.x) * n;
    if (at + n <= total)
        activate_vector<KIND, GATED, n>(y, up, gate, at);
    else
        for (; at < total; at++)
            activate_vector<KIND, GATED, 1>(y, up, gate, at);
}

template <int KIND, int GATED, class T>
__global__ void __launch_bounds__(BLOCK)
    activate_elements_reverse(T *d_up, T *d_gate, const T *dy, const T *up, const T *gate,
                              size_t total)
{
    const int n = vector_of<T>::count;
    size_t at = ((size_t)blockIdx.x * BLOCK + threadIdx.x) * n;
    if (at + n <= total)
        activate_reverse_vector<KIND, GATED, n>(d_up, d_gate, dy, up, gate, at);
    else
        for (; at < total; at++)
            activate_reverse_vector<KIND, GATED, 1>(d_up, d_gate, dy, up, gate, at);
}

/* The arguments of either direction: dy is NULL forward. */
template <class T>
struct operands {
    T *out, *d_gate;
    const T *dy, *up, *gate;
};

template <int KIND, class T>
static void launch_kind(cudaStream_t stream, const struct operands<T> &o, size_t total)
{
    dim3 grid((unsigned)cuda_divide_up(total, (size_t)vector_of<T>::count * BLOCK)), block(BLOCK);
    if (o.dy && o.gate)
        LAUNCH((activate_elements_reverse<KIND, 1, T>), grid, block, 0, stream, o.out, o.d_gate,
               o.dy, o.up, o.gate, total);
    else if (o.dy)
        LAUNCH((activate_elements_reverse<KIND, 0, T>), grid, block, 0, stream, o.out, o.d_gate,
               o.dy, o.up, o.gate, total);
    else if (o.gate)
        LAUNCH((activate_elements<KIND, 1, T>), grid, block, 0, stream, o.out, o.up, o.gate, total);
    else
        LAUNCH((activate_elements<KIND, 0, T>), grid, block, 0, stream, o.out, o.up, o.gate, total);
}

template <class T>
static void launch(cudaStream_t stream, const struct operands<T> &o, enum activation kind,
                   size_t total)
{
    if (!total)
        return;
    switch (kind) {
    case ACTIVATION_GELU: launch_kind<ACTIVATION_GELU>(stream, o, total); break;
    case ACTIVATION_GELU_TANH:
    case ACTIVATION_GELU_BLOOM: launch_kind<ACTIVATION_GELU_TANH>(stream, o, total); break;
    case ACTIVATION_QUICK_GELU: launch_kind<ACTIVATION_QUICK_GELU>(stream, o, total); break;
    case ACTIVATION_RELU: launch_kind<ACTIVATION_RELU>(stream, o, total); break;
    case ACTIVATION_SILU: launch_kind<ACTIVATION_SILU>(stream, o, total); break;
    case ACTIVATION_RELU_SQUARED: launch_kind<ACTIVATION_RELU_SQUARED>(stream, o, total); break;
    case ACTIVATION_CLAMPED: launch_kind<ACTIVATION_CLAMPED>(stream, o, total); break;
    case ACTIVATION_TANH: launch_kind<ACTIVATION_TANH>(stream, o, total); break;
    case ACTIVATION_SIGMOID: launch_kind<ACTIVATION_SIGMOID>(stream, o, total); break;
    }
}

template <class T>
static void run(struct kernels *k, struct buffer *out, struct buffer *d_gate,
                const struct buffer *dy, const struct buffer *up, const struct buffer *gate,
                enum activation kind, struct rows rows, int width)
{
    struct operands<T> o = {
        (T *)out->data, d_gate ? (T *)d_gate->data : (T *)NULL,
            dy ? (const T *)dy->data : (const T *)NULL,
            (const T *)up->data, gate ? (const T *)gate->data : (const T *)NULL
    };
    launch(cuda_state(k)->stream, o, kind,
           (size_t)rows.segments * (size_t)rows.count * (size_t)width);
}

static void activate(struct kernels *k, struct buffer *y, const struct buffer *up,
                     const struct buffer *gate, enum activation kind, struct rows rows, int width)
{
    struct cuda_range range("activate");
    if (cuda_is_bf16(k, y))
        run<bf16>(k, y, NULL, NULL, up, gate, kind, rows, width);
    else
        run<float>(k, y, NULL, NULL, up, gate, kind, rows, width);
}

static void activate_reverse(struct kernels *k, struct buffer *d_up, struct buffer *d_gate,
                             const struct buffer *dy, const struct buffer *up,
                             const struct buffer *gate, enum activation kind, struct rows rows,
                             int width)
{
    struct cuda_range range("activate_reverse");
    if (cuda_is_bf16(k, dy))
        run<bf16>(k, d_up, d_gate, dy, up, gate, kind, rows, width);
    else
        run<float>(k, d_up, d_gate, dy, up, gate, kind, rows, width);
}

/* The numbers of an xIELU, in float. */
struct xielu_floats {
    float positive, negative, linear, limit;
};

/* xIELU's value at x, and its derivative in *slope. */
__device__ static float xielu_at(float *slope, float x, const struct xielu_floats &n)
{
    if (x > 0) {
        *slope = 2 * n.positive * x + n.linear;
        return n.positive * x * x + n.linear * x;
    }
    float rest = expm1f(x < n.limit ? x : n.limit);
    *slope = n.negative * (x < n.limit ? rest : -1.0f) + n.linear;
    return n.negative * (rest - x) + n.linear * x;
}

/* y = xIELU(x), or with dy y = dy times its derivative. */
template <int N, class T>
__device__ static void xielu_vector(T *y, const T *dy, const T *x,
                                    const struct xielu_floats &numbers, size_t at)
{
    float v[N], d[N], slope;
    load_floats<N>(v, x + at);
    if (dy)
        load_floats<N>(d, dy + at);
    for (int j = 0; j < N; j++) {
        v[j] = xielu_at(&slope, v[j], numbers);
        if (dy)
            v[j] = d[j] * slope;
    }
    store_floats<N>(y + at, v);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    xielu_elements(T *y, const T *dy, const T *x, struct xielu_floats numbers, size_t total)
{
    const int n = vector_of<T>::count;
    size_t at = ((size_t)blockIdx.x * BLOCK + threadIdx.x) * n;
    if (at + n <= total)
        xielu_vector<n>(y, dy, x, numbers, at);
    else
        for (; at < total; at++)
            xielu_vector<1>(y, dy, x, numbers, at);
}

template <class T>
static void run_xielu(struct kernels *k, struct buffer *y, const struct buffer *dy,
                      const struct buffer *x, const struct xielu *numbers, struct rows rows,
                      int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    struct xielu_floats n = {(float)numbers->positive, (float)numbers->negative,
                             (float)numbers->linear, (float)numbers->limit};
    if (total)
        LAUNCH(xielu_elements<T>,
               dim3((unsigned)cuda_divide_up(total, (size_t)vector_of<T>::count * BLOCK)),
               dim3(BLOCK), 0, cuda_state(k)->stream, (T *)y->data,
               dy ? (const T *)dy->data : (const T *)NULL, (const T *)x->data, n, total);
}

static void xielu(struct kernels *k, struct buffer *y, const struct buffer *x,
                  const struct xielu *numbers, struct rows rows, int width)
{
    struct cuda_range range("xielu");
    if (cuda_is_bf16(k, y))
        run_xielu<bf16>(k, y, NULL, x, numbers, rows, width);
    else
        run_xielu<float>(k, y, NULL, x, numbers, rows, width);
}

static void xielu_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                          const struct buffer *x, const struct xielu *numbers, struct rows rows,
                          int width)
{
    struct cuda_range range("xielu_reverse");
    if (cuda_is_bf16(k, dy))
        run_xielu<bf16>(k, dx, dy, x, numbers, rows, width);
    else
        run_xielu<float>(k, dx, dy, x, numbers, rows, width);
}

void cuda_fill_activation(struct kernels *k)
{
    k->activate = activate;
    k->activate_reverse = activate_reverse;
    k->xielu = xielu;
    k->xielu_reverse = xielu_reverse;
}
