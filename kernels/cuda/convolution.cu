/* Convolutions of the cuda set: a block has a row, a thread N neighbouring channels of it.
 * Sums are in float, from the row itself on. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256 };

/* A convolution as kernels get it. */
struct convolution_arguments {
    const float *taps, *bias; /* [width, reach]; [width] or NULL */
    int reach, queries, keys, width, gated;
    size_t stride; /* of rows of x */
};

/* The N channels from c on of the tap so many rows back. */
template <int N>
__device__ static void taps_at(float out[N], const struct convolution_arguments &a, int c, int back)
{
    for (int j = 0; j < N; j++)
        out[j] = a.taps[(size_t)(c + j) * a.reach + (a.reach - 1 - back)];
}

/* The bias and the sum over row t of the segment at x and the rows before it. */
template <int N, class T>
__device__ static void convolved(float sum[N], const struct convolution_arguments &a, const T *x,
                                 int t, int c)
{
    for (int j = 0; j < N; j++)
        sum[j] = a.bias ? a.bias[c + j] : 0.0f;
    for (int back = 0; back < a.reach && back <= t; back++) {
        const T *row = x + (size_t)(t - back) * a.stride + c;
        float b[N], v[N], tap[N];
        load_floats<N>(v, row);
        if (a.gated) {
            load_floats<N>(b, row + 2 * (size_t)a.width);
            for (int j = 0; j < N; j++)
                v[j] *= b[j];
        }
        taps_at<N>(tap, a, c, back);
        for (int j = 0; j < N; j++)
            sum[j] += tap[j] * v[j];
    }
}

template <int N, class T>
__global__ void __launch_bounds__(BLOCK)
    convolve_rows(T *y, const T *x, struct convolution_arguments a)
{
    int segment = (int)blockIdx.x / a.queries, r = (int)blockIdx.x % a.queries,
        t = a.keys - a.queries + r;
    const T *all = x + (size_t)segment * a.keys * a.stride;
    for (int c = (int)threadIdx.x * N; c < a.width; c += (int)blockDim.x * N) {
        float sum[N], gate[N];
        convolved<N>(sum, a, all, t, c);
        if (a.gated) {
            load_floats<N>(gate, all + (size_t)t * a.stride + a.width + c);
            for (int j = 0; j < N; j++)
                sum[j] *= gate[j];
        }
        store_floats<N>(y + (size_t)blockIdx.x * a.width + c, sum);
    }
}

template <int N, class T>
__global__ void __launch_bounds__(BLOCK)
    convolve_rows_reverse(T *dx, const T *dy, const T *x, struct convolution_arguments a)
{
    int segment = (int)blockIdx.x / a.keys, t = (int)blockIdx.x % a.keys,
        begin = a.keys - a.queries;
    const T *all = a.gated ? x + (size_t)segment * a.keys * a.stride : NULL,
            *seeds = dy + (size_t)segment * a.queries * a.width;
    for (int c = (int)threadIdx.x * N; c < a.width; c += (int)blockDim.x * N) {
        float sum[N] = {0}, gate[N] = {0}, d[N], v[N], tap[N];
        size_t at = (size_t)blockIdx.x * a.stride + c, width = (size_t)a.width;
        for (int on = t < begin ? begin - t : 0; on < a.reach && t + on < a.keys; on++) {
            load_floats<N>(d, seeds + (size_t)(t + on - begin) * width + c);
            if (a.gated) {
                load_floats<N>(v, all + (size_t)(t + on) * a.stride + width + c);
                for (int j = 0; j < N; j++)
                    d[j] *= v[j];
            }
            taps_at<N>(tap, a, c, on);
            for (int j = 0; j < N; j++)
                sum[j] += tap[j] * d[j];
        }
        if (!a.gated) {
            store_floats<N>(dx + at, sum);
            continue;
        }
        if (t >= begin) {
            convolved<N>(gate, a, all, t, c);
            load_floats<N>(d, seeds + (size_t)(t - begin) * width + c);
            for (int j = 0; j < N; j++)
                gate[j] *= d[j];
        }
        store_floats<N>(dx + at + width, gate);
        load_floats<N>(v, x + at + 2 * width);
        for (int j = 0; j < N; j++)
            d[j] = sum[j] * v[j];
        store_floats<N>(dx + at, d);
        load_floats<N>(v, x + at);
        for (int j = 0; j < N; j++)
            d[j] = sum[j] * v[j];
        store_floats<N>(dx + at + 2 * width, d);
    }
}

static struct convolution_arguments arguments_of(struct kernels *k, const struct convolution *v,
                                                 int queries, int keys, int width)
{
    struct convolution_arguments a = {(const float *)cuda_weight_data(k, v->taps),
                                      (const float *)cuda_weight_data(k, v->bias),
                                      v->reach,
                                      queries,
                                      keys,
                                      width,
                                      v->gated,
                                      (size_t)width * (v->gated ? 3 : 1)};
    return a;
}

/* dy NULL: forward. x NULL: none is read. */
template <int N, class T>
static void launch(struct kernels *k, struct buffer *out, const struct buffer *dy,
                   const struct buffer *x, const struct convolution_arguments &a, int segments)
{
    cudaStream_t stream = cuda_state(k)->stream;
    dim3 grid((unsigned)segments * (unsigned)(dy ? a.keys : a.queries)),
        block(cuda_row_threads(cuda_divide_up((size_t)a.width, N)));
    if (dy)
        LAUNCH((convolve_rows_reverse<N, T>), grid, block, 0, stream, (T *)out->data,
               (const T *)dy->data, x ? (const T *)x->data : NULL, a);
    else
        LAUNCH((convolve_rows<N, T>), grid, block, 0, stream, (T *)out->data, (const T *)x->data,
               a);
}

static void either(struct kernels *k, struct buffer *out, const struct buffer *dy,
                   const struct buffer *x, const struct convolution_arguments &a, int segments)
{
    if (cuda_is_bf16(k, out) && a.width % 4 == 0)
        launch<4, bf16>(k, out, dy, x, a, segments);
    else if (cuda_is_bf16(k, out))
        launch<1, bf16>(k, out, dy, x, a, segments);
    else if (a.width % 4 == 0)
        launch<4, float>(k, out, dy, x, a, segments);
    else
        launch<1, float>(k, out, dy, x, a, segments);
}

static void convolve(struct kernels *k, struct buffer *y, const struct buffer *x,
                     const struct convolution *v, int segments, int queries, int keys, int width)
{
    struct cuda_range range("convolve");
    either(k, y, NULL, x, arguments_of(k, v, queries, keys, width), segments);
}

static void convolve_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                             const struct buffer *x, const struct convolution *v, int segments,
                             int queries, int keys, int width)
{
    struct cuda_range range("convolve_reverse");
    either(k, dx, dy, x, arguments_of(k, v, queries, keys, width), segments);
}

void cuda_fill_convolution(struct kernels *k)
{
    k->convolve = convolve;
    k->convolve_reverse = convolve_reverse;
}
