/* Norms of the cuda set, of rows and of the heads in a row; formulas as in
 * kernels/reference/norm.c: u = (x - mean) f, y = u scale + shift;   dx = f (g - mean(g) - a mean(g
 * u) u), g = dy scale. A row belongs to a warp, or to a block of 256 threads when it is long; each
 * thread keeps its elements in registers between the passes. Sums are in float, per thread and then
 * in a tree, in an order that follows from the width alone. */
#include "kernels/cuda/state.cuh"

enum { BLOCK = 256, HELD = 8 };

/* A norm as kernels get it. A vector of one element is the same value everywhere: its step is 0,
 * else 1. */
struct norm_arguments {
    const float *scale, *shift; /* NULL: 1, 0 */
    int kind, scale_step, shift_step;
    int scale_head,
        shift_head; /* from head to head, where each has its own; 0: all have the same */
    float epsilon;
};

/* Elements c .. c + N - 1 of a vector, `otherwise` where it is NULL. */
template <int N>
__device__ static void vector_at(float out[N], const float *vector, int step, float otherwise,
                                 int c)
{
    if (N == 1)
        out[0] = vector ? vector[c * step] : otherwise;
    else if (vector && step)
        load_floats<N>(out, vector + c);
    else
        for (int j = 0; j < N; j++)
            out[j] = vector ? *vector : otherwise;
}

/* The sum over the threads of a row: a warp, or the block. */
template <int THREADS>
__device__ static float row_sum(float x, float *space)
{
    return THREADS == WARP ? warp_sum(x) : block_sum(x, space);
}

/* f from the sum of squares (about the mean). If the sum overflows a float although the elements do
 * not, f would be 0 and the row all zeros: then f is NaN, and the run reports it. */
__device__ static float factor_of(const struct norm_arguments &a, float squares, int width)
{
    float f;
    switch (a.kind) {
    case NORM_RMS_OUTSIDE: f = 1 / (sqrtf(squares / (float)width) + a.epsilon); break;
    case NORM_LENGTH: {
        float length = sqrtf(squares);
        f = 1 / (length < a.epsilon ? a.epsilon : length);
        break;
    }
    default: f = 1 / sqrtf(squares / (float)width + a.epsilon);
    }
    return f > 0 ? f : NAN;
}

/* a of the formula above. */
__device__ static float along_of(const struct norm_arguments &a, float squares, int width)
{
    if (a.kind == NORM_RMS_OUTSIDE) {
        float rms = sqrtf(squares / (float)width);
        return rms == 0 ? 0 : (rms + a.epsilon) / rms;
    }
    if (a.kind == NORM_LENGTH)
        return sqrtf(squares) < a.epsilon ? 0 : (float)width;
    return 1;
}

/* Runs `body(c)` for the first columns c of the caller's vectors of N in a row: the vector's number
 * among the thread's own is `i`, a constant once unrolled, as long as it is below HELD. */
template <int N, int THREADS, class F>
__device__ static void for_columns(int thread, int width, F body)
{
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int c = (thread + i * THREADS) * N;
        if (c < width)
            body(i, c);
    }
    for (int c = (thread + HELD * THREADS) * N; c < width; c += THREADS * N)
        body(HELD, c);
}

/* N elements as they are in memory, so that those in bf16 take half the registers. */
template <int N, class T>
struct alignas(N * sizeof(T)) held_vector {
    T element[N];
};
template <>
struct alignas(8) held_vector<4, bf16> {
    uint2 pairs;
};

/* A row's elements, the first HELD vectors of each thread from registers. */
template <int N, class T>
struct held_row {
    const T *row;
    held_vector<N, T> value[HELD];

    __device__ void fill(int i, int c)
    {
        if (i < HELD)
            value[i < HELD ? i : 0] = *(const held_vector<N, T> *)(row + c);
    }
    __device__ void get(float out[N], int i, int c) const
    {
        load_floats<N>(out, i < HELD ? (const T *)&value[i < HELD ? i : 0] : row + c);
    }
};

/* y[width] (or nothing, when NULL) and kept[2] of x[width], THREADS threads a row. Reads all of x
 * before it writes y. */
template <int N, int THREADS, class X, class Y>
__device__ static void norm_row(Y *y, float *kept, const X *x, const struct norm_arguments &a,
                                int width, int thread, float *space)
{
    struct held_row<N, X> held;
    float sum = 0, squares = 0, mean = 0;
    held.row = x;
    for_columns<N, THREADS>(thread, width, [&](int i, int c) {
        float v[N];
        held.fill(i, c);
        held.get(v, i, c);
        for (int j = 0; j < N; j++)
            sum += v[j];
    });
    if (a.kind == NORM_LAYER)
        mean = row_sum<THREADS>(sum, space) / (float)width;
    for_columns<N, THREADS>(thread, width, [&](int i, int c) {
        float v[N];
        held.get(v, i, c);
        for (int j = 0; j < N; j++)
            squares += (v[j] - mean) * (v[j] - mean);
    });
    float factor = factor_of(a, row_sum<THREADS>(squares, space), width);
    if (thread == 0) {
        kept[0] = mean;
        kept[1] = factor;
    }
    if (!y)
        return;
    for_columns<N, THREADS>(thread, width, [&](int i, int c) {
        float v[N], scale[N], shift[N];
        held.get(v, i, c);
        vector_at<N>(scale, a.scale, a.scale_step, 1.0f, c);
        vector_at<N>(shift, a.shift, a.shift_step, 0.0f, c);
        for (int j = 0; j < N; j++)
            v[j] = (v[j] - mean) * factor * scale[j] + shift[j];
        store_floats<N>(y + c, v);
    });
}

/* dx[width] (+)= of dy[width] and x[width], and `rounded`, where it is not NULL, what dx then
 * holds; dx may be dy where one thread reads and writes the same elements, as here. */
template <int N, int THREADS, class D, class G, class X>
__device__ static void norm_row_reverse(D *dx, bf16 *rounded, const G *dy, const X *x,
                                        const float *kept, const struct norm_arguments &a,
                                        int width, int accumulate, int thread, float *space)
{
    struct held_row<N, G> g_held;
    struct held_row<N, X> x_held;
    float mean = kept[0], factor = kept[1], g_sum = 0, gu_sum = 0, squares = 0;
    g_held.row = dy;
    x_held.row = x;
    for_columns<N, THREADS>(thread, width, [&](int i, int c) {
        float g[N], v[N], scale[N];
        g_held.fill(i, c), x_held.fill(i, c);
        g_held.get(g, i, c), x_held.get(v, i, c);
        vector_at<N>(scale, a.scale, a.scale_step, 1.0f, c);
        for (int j = 0; j < N; j++) {
            float scaled = g[j] * scale[j];
            g_sum += scaled;
            gu_sum += scaled * ((v[j] - mean) * factor);
            squares += v[j] * v[j];
        }
    });
    float g_mean = a.kind == NORM_LAYER ? row_sum<THREADS>(g_sum, space) / (float)width : 0,
          along = 1;
    if (a.kind == NORM_RMS_OUTSIDE || a.kind == NORM_LENGTH)
        along = along_of(a, row_sum<THREADS>(squares, space), width);
    float gu_mean = row_sum<THREADS>(gu_sum, space) * along / (float)width;
    for_columns<N, THREADS>(thread, width, [&](int i, int c) {
        float g[N], v[N], scale[N], old[N] = {0};
        g_held.get(g, i, c), x_held.get(v, i, c);
        vector_at<N>(scale, a.scale, a.scale_step, 1.0f, c);
        if (accumulate)
            load_floats<N>(old, dx + c);
        for (int j = 0; j < N; j++)
            v[j] = (g[j] * scale[j] - g_mean - (v[j] - mean) * factor * gu_mean) * factor + old[j];
        store_floats<N>(dx + c, v);
        if (rounded)
            store_floats<N>(rounded + c, v);
    });
}

template <int N, int THREADS, class Y>
__global__ void __launch_bounds__(BLOCK)
    norm_rows(Y *y, float *statistics, const float *x, struct norm_arguments a, int rows, int width)
{
    __shared__ float space[WARP];
    int row = (int)blockIdx.x * (BLOCK / THREADS) + (int)threadIdx.x / THREADS,
        thread = (int)threadIdx.x % THREADS;
    if (row >= rows) /* whole warps */
        return;
    size_t at = (size_t)row * (size_t)width;
    norm_row<N, THREADS>(y ? y + at : (Y *)nullptr, statistics + 2 * (size_t)row, x + at, a, width,
                         thread, space);
}

/* What a warp holds of a row of bf16 leaves room for three blocks on a multiprocessor, and of
 * floats for two. */
template <int N, int THREADS, class G>
__global__ void __launch_bounds__(BLOCK,
                                  N > 1 && sizeof(G) == sizeof(bf16) && THREADS == WARP ? 3 : 0)
    norm_rows_reverse(float *dx, bf16 *rounded, const G *dy, const float *x,
                      const float *statistics, struct norm_arguments a, int rows, int width,
                      int accumulate)
{
    __shared__ float space[WARP];
    int row = (int)blockIdx.x * (BLOCK / THREADS) + (int)threadIdx.x / THREADS,
        thread = (int)threadIdx.x % THREADS;
    if (row >= rows)
        return;
    size_t at = (size_t)row * (size_t)width;
    norm_row_reverse<N, THREADS>(dx + at, rounded ? rounded + at : rounded, dy + at, x + at,
                                 statistics + 2 * (size_t)row, a, width, accumulate, thread, space);
}

/* The norm of head h. */
__device__ static struct norm_arguments of_head(struct norm_arguments a, int h)
{
    a.scale = a.scale ? a.scale + h * a.scale_head : a.scale;
    a.shift = a.shift ? a.shift + h * a.shift_head : a.shift;
    return a;
}

/* A warp for each head of each row. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    norm_head_rows(T *y, float *statistics, const T *x, struct norm_arguments a, long tasks,
                   int heads, int head_size, int width)
{
    long task = (long)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP;
    if (task >= tasks)
        return;
    size_t at = (size_t)(task / heads) * (size_t)width + (size_t)(task % heads) * (size_t)head_size;
    norm_row<1, WARP>(y + at, statistics + 2 * (size_t)task, x + at,
                      of_head(a, (int)(task % heads)), head_size, (int)threadIdx.x % WARP,
                      (float *)nullptr);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    norm_head_rows_reverse(T *dx, const T *dy, const T *x, const float *statistics,
                           struct norm_arguments a, long tasks, int heads, int head_size, int width)
{
    long task = (long)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP;
    if (task >= tasks)
        return;
    size_t at = (size_t)(task / heads) * (size_t)width + (size_t)(task % heads) * (size_t)head_size;
    norm_row_reverse<1, WARP>(dx + at, (bf16 *)nullptr, dy + at, x + at,
                              statistics + 2 * (size_t)task, of_head(a, (int)(task % heads)),
                              head_size, 0, (int)threadIdx.x % WARP, (float *)nullptr);
}

static int from_head_to_head(const struct weight *w, int width)
{
    return w && w->rows > (size_t)width ? width : 0;
}

/* Of rows, or heads, of this width. */
static struct norm_arguments arguments_of(struct kernels *k, const struct norm *norm, int width)
{
    struct norm_arguments a = {(const float *)cuda_weight_data(k, norm->scale),
                               (const float *)cuda_weight_data(k, norm->shift),
                               norm->kind,
                               norm->scale && norm->scale->rows > 1,
                               norm->shift && norm->shift->rows > 1,
                               from_head_to_head(norm->scale, width),
                               from_head_to_head(norm->shift, width),
                               (float)norm->epsilon};
    return a;
}

/* Calls launch<N, THREADS>() as the width wants it: vectors of 4 where rows are aligned for them, a
 * warp a row while its registers hold the row. */
#define LAUNCH_FOR(width, launch) \
    do { \
        if ((width) % 4 == 0) \
            if ((width) <= 4 * WARP * HELD) \
                launch(4, WARP); \
            else \
                launch(4, BLOCK); \
        else if ((width) <= WARP * HELD) \
            launch(1, WARP); \
        else \
            launch(1, BLOCK); \
    } while (0)

template <int THREADS>
static dim3 row_grid(int rows)
{
    return dim3((unsigned)cuda_divide_up((size_t)rows, BLOCK / THREADS));
}

template <class Y>
static void launch_norm(struct kernels *k, Y *y, float *statistics, const float *x,
                        const struct norm *norm, int rows, int width)
{
    cudaStream_t stream = cuda_state(k)->stream;
    struct norm_arguments a = arguments_of(k, norm, width);
#define NORM(n, threads) \
    LAUNCH((norm_rows<n, threads, Y>), row_grid<threads>(rows), dim3(BLOCK), 0, stream, y, \
           statistics, x, a, rows, width)
    LAUNCH_FOR(width, NORM);
#undef NORM
}

template <class G>
static void launch_norm_reverse(struct kernels *k, float *dx, bf16 *rounded, const G *dy,
                                const float *x, const float *statistics, const struct norm *norm,
                                int rows, int width, int accumulate)
{
    cudaStream_t stream = cuda_state(k)->stream;
    struct norm_arguments a = arguments_of(k, norm, width);
#define REVERSE(n, threads) \
    LAUNCH((norm_rows_reverse<n, threads, G>), row_grid<threads>(rows), dim3(BLOCK), 0, stream, \
           dx, rounded, dy, x, statistics, a, rows, width, accumulate)
    LAUNCH_FOR(width, REVERSE);
#undef REVERSE
}

static void norm_forward(struct kernels *k, struct buffer *y, struct buffer *statistics,
                         const struct buffer *x, const struct norm *norm, struct rows rows,
                         int width)
{
    struct cuda_range range("norm");
    int total = rows.segments * rows.count;
    if (y && cuda_is_bf16(k, y))
        launch_norm(k, (bf16 *)y->data, (float *)statistics->data, (const float *)x->data, norm,
                    total, width);
    else
        launch_norm(k, y ? (float *)y->data : (float *)NULL, (float *)statistics->data,
                    (const float *)x->data, norm, total, width);
}

static void norm_reverse(struct kernels *k, struct buffer *dx, struct buffer *rounded,
                         const struct buffer *dy, const struct buffer *x,
                         const struct buffer *statistics, const struct norm *norm, struct rows rows,
                         int width, int accumulate)
{
    struct cuda_range range("norm_reverse");
    int total = rows.segments * rows.count, narrow = rounded && cuda_is_bf16(k, rounded);
    bf16 *to = narrow ? (bf16 *)rounded->data : NULL;
    if (cuda_is_bf16(k, dy))
        launch_norm_reverse(k, (float *)dx->data, to, (const bf16 *)dy->data,
                            (const float *)x->data, (const float *)statistics->data, norm, total,
                            width, accumulate);
    else
        launch_norm_reverse(k, (float *)dx->data, to, (const float *)dy->data,
                            (const float *)x->data, (const float *)statistics->data, norm, total,
                            width, accumulate);
    if (rounded && !narrow)
        k->copy(k, rounded, dx, rows, width);
}

static dim3 head_grid(long tasks)
{
    return dim3((unsigned)cuda_divide_up((size_t)tasks, BLOCK / WARP));
}

static void norm_heads(struct kernels *k, struct buffer *y, struct buffer *statistics,
                       const struct buffer *x, const struct norm *norm, struct rows rows, int heads,
                       int head_size, int width)
{
    struct cuda_range range("norm_heads");
    long tasks = (long)rows.segments * rows.count * heads;
    cudaStream_t stream = cuda_state(k)->stream;
    struct norm_arguments a = arguments_of(k, norm, head_size);
    if (cuda_is_bf16(k, x))
        LAUNCH(norm_head_rows<bf16>, head_grid(tasks), dim3(BLOCK), 0, stream, (bf16 *)y->data,
               (float *)statistics->data, (const bf16 *)x->data, a, tasks, heads, head_size, width);
    else
        LAUNCH(norm_head_rows<float>, head_grid(tasks), dim3(BLOCK), 0, stream, (float *)y->data,
               (float *)statistics->data, (const float *)x->data, a, tasks, heads, head_size,
               width);
}

static void norm_heads_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                               const struct buffer *x, const struct buffer *statistics,
                               const struct norm *norm, struct rows rows, int heads, int head_size,
                               int width)
{
    struct cuda_range range("norm_heads_reverse");
    long tasks = (long)rows.segments * rows.count * heads;
    cudaStream_t stream = cuda_state(k)->stream;
    struct norm_arguments a = arguments_of(k, norm, head_size);
    if (cuda_is_bf16(k, x))
        LAUNCH(norm_head_rows_reverse<bf16>, head_grid(tasks), dim3(BLOCK), 0, stream,
               (bf16 *)dx->data, (const bf16 *)dy->data, (const bf16 *)x->data,
               (const float *)statistics->data, a, tasks, heads, head_size, width);
    else
        LAUNCH(norm_head_rows_reverse<float>, head_grid(tasks), dim3(BLOCK), 0, stream,
               (float *)dx->data, (const float *)dy->data, (const float *)x->data,
               (const float *)statistics->data, a, tasks, heads, head_size, width);
}

void cuda_fill_norm(struct kernels *k)
{
    k->norm = norm_forward;
    k->norm_reverse = norm_reverse;
    k->norm_heads = norm_heads;
    k->norm_heads_reverse = norm_heads_reverse;
}
