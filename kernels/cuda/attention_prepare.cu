/* What the attention kernels need to know about rows beforehand: in reverse the log-sum-exp and
 * delta of each query, for skipping the largest norms. */
#include "kernels/cuda/attention_score.cuh"

enum {
    ROW_WARPS = 4,
    LSE_ROWS = 128, /* divides padded_queries */
};

/* +inf for a row that sees nothing: then its P is 0. */
__device__ inline float lse2_of(float lse)
{
    return lse == -INFINITY ? INFINITY : 1.4426950408889634f * lse;
}

/* lse2 of every query, +inf after the last. After the last, delta is 0; dQ computes that of the
 * others. Grid: padded_queries / LSE_ROWS, heads, segments. */
__global__ void attention_lse_kernel(const __grid_constant__ attention_arguments a)
{
    int row = (int)(blockIdx.x * LSE_ROWS + threadIdx.x);
    size_t number = (size_t)blockIdx.z * (size_t)a.heads + blockIdx.y,
           at = number * (size_t)a.padded_queries + (size_t)row;
    a.lse2[at] = row < a.queries ? lse2_of(a.lse[number * (size_t)a.queries + (size_t)row])
                                 : INFINITY;
    if (row >= a.queries)
        a.delta[at] = 0;
}

void attention_lse(const attention_arguments *a, cudaStream_t stream)
{
    LAUNCH(attention_lse_kernel,
           dim3((unsigned)a->padded_queries / LSE_ROWS, (unsigned)a->heads, (unsigned)a->segments),
           dim3(LSE_ROWS), 0, stream, *a);
}

/* lse2 and delta of few queries, a warp each. Grid: queries, heads, segments. */
template <int N, typename T>
__global__ void attention_rows_few_kernel(const __grid_constant__ attention_arguments a)
{
    int lane = lane_index();
    attention_task<T> task(a, (int)blockIdx.z, (int)blockIdx.y, 0);
    size_t number = (size_t)blockIdx.z * (size_t)a.heads + blockIdx.y,
           at = number * (size_t)a.padded_queries + blockIdx.x;
    const T *o = task.at(a.o, task.o_row, blockIdx.x, task.o_stride),
            *d_o = task.at(a.d_o, task.o_row, blockIdx.x, task.o_stride);
    float sum = 0;
    for (int c = lane * N; c < a.value_size; c += WARP * N) {
        float x[N], y[N];
        load_floats<N>(x, o + c);
        load_floats<N>(y, d_o + c);
        for (int j = 0; j < N; j++)
            sum = fmaf(x[j], y[j], sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        a.lse2[at] = lse2_of(a.lse[number * (size_t)a.queries + blockIdx.x]);
        a.delta[at] = sum;
    }
}

void attention_rows_few(const attention_arguments *a, bool half, cudaStream_t stream)
{
    dim3 grid((unsigned)a->queries, (unsigned)a->heads, (unsigned)a->segments);
    int vectors = a->aligned && a->value_size % 4 == 0;
    if (half && vectors)
        LAUNCH((attention_rows_few_kernel<4, bf16>), grid, dim3(WARP), 0, stream, *a);
    else if (half)
        LAUNCH((attention_rows_few_kernel<1, bf16>), grid, dim3(WARP), 0, stream, *a);
    else if (vectors)
        LAUNCH((attention_rows_few_kernel<4, float>), grid, dim3(WARP), 0, stream, *a);
    else
        LAUNCH((attention_rows_few_kernel<1, float>), grid, dim3(WARP), 0, stream, *a);
}

/* Rows of a head, `stride` elements apart. */
template <typename T>
struct head_rows {
    const T *at;
    size_t stride;
    int size;
};

/* The largest length of rows first .. first + NORM_ROWS - 1 of x (below `rows`); NaN if one of
 * them, or of y, is not finite. For a block of ROW_WARPS warps. */
template <typename T>
__device__ inline float largest_norm(head_rows<T> x, head_rows<T> y, int first, int rows,
                                     float *space)
{
    float largest = 0;
    for (int row = first + warp_index(); row < min(first + NORM_ROWS, rows); row += ROW_WARPS) {
        float square = 0, guard = 0;
        for (int c = lane_index(); c < x.size; c += WARP) {
            float v = to_float(x.at[(size_t)row * x.stride + (size_t)c]);
            square = fmaf(v, v, square);
        }
        for (int c = lane_index(); c < y.size; c += WARP)
            guard += 0 * to_float(y.at[(size_t)row * y.stride + (size_t)c]);
        square = warp_sum(square + guard);
        largest = larger(largest, square + 0 * square);
    }
    if (lane_index() == 0)
        space[warp_index()] = largest;
    __syncthreads();
    for (int warp = 0; warp < ROW_WARPS; warp++)
        largest = larger(largest, space[warp]);
    return sqrtf(largest) * 1.0001f;
}

/* What the score x of each query of rows first .. first + NORM_ROWS - 1 with its own key reaches,
 * whatever the arithmetic: the smallest of them. For a block of ROW_WARPS warps. */
template <typename T>
__device__ inline float least_own_score(const attention_arguments &a, const attention_task<T> &task,
                                        int first, float *space)
{
    float least = INFINITY, slope,
          multiplier = a.multiplier ? a.multiplier[(size_t)task.head * a.stride + TABLE_PAD] : 1;
    for (int row = first + warp_index(); row < min(first + NORM_ROWS, a.queries);
         row += ROW_WARPS) {
        int own = row + a.keys - a.queries;
        const T *q = task.at(a.q, task.q_row, (size_t)row, task.q_stride),
                *k = task.at(a.kv, task.key_row, (size_t)own, task.kv_stride);
        float product = 0, size = 0;
        for (int c = lane_index(); c < a.head_size; c += WARP) {
            product = fmaf(to_float(q[c]), to_float(k[c]), product);
            size += fabsf(to_float(q[c]) * to_float(k[c]));
        }
        product = warp_sum(product);
        size = warp_sum(size);
        float x = score_of(&slope, a, task.head, row, own, product);
        least = smaller(least, x - 0.01f - 0.002f * size * fabsf(multiplier * a.scale2) -
                                   4e-6f * fabsf(x)); /* rounding of tf32, and of sums */
    }
    __syncthreads(); /* space is in use */
    if (lane_index() == 0)
        space[warp_index()] = least;
    __syncthreads();
    for (int warp = 0; warp < ROW_WARPS; warp++)
        least = smaller(least, space[warp]);
    return least;
}

/* query_norm and `least`. Grid: query_norms, heads, segments. */
template <typename T>
__global__ void attention_query_norms_kernel(const __grid_constant__ attention_arguments a,
                                             float *norm, float *least, int reverse)
{
    __shared__ float space[ROW_WARPS];
    attention_task<T> task(a, (int)blockIdx.z, (int)blockIdx.y, kv_head_of(a, (int)blockIdx.y));
    size_t number = (size_t)blockIdx.z * (size_t)a.heads + blockIdx.y;
    int first = (int)blockIdx.x * NORM_ROWS;
    head_rows<T> q = {(const T *)a.q + task.q_row, task.q_stride, a.head_size}, d_o = q;
    if (reverse)
        d_o = {(const T *)a.d_o + task.o_row, task.o_stride, a.value_size};
    float largest = largest_norm(q, d_o, first, a.queries, space);
    float smallest = reverse ? INFINITY : least_own_score(a, task, first, space);
    for (int row = first; reverse && row < min(first + NORM_ROWS, a.queries); row++)
        smallest = smaller(smallest, a.lse2[number * (size_t)a.padded_queries + (size_t)row]);
    if (threadIdx.x == 0) {
        norm[number * (size_t)a.query_norms + blockIdx.x] = largest;
        least[number * (size_t)a.query_norms + blockIdx.x] = smallest;
    }
}

/* key_norm. Grid: key_norms, kv_heads, segments. */
template <typename T>
__global__ void attention_key_norms_kernel(const __grid_constant__ attention_arguments a,
                                           float *norm)
{
    __shared__ float space[ROW_WARPS];
    attention_task<T> task(a, (int)blockIdx.z, 0, (int)blockIdx.y);
    head_rows<T> keys = {(const T *)a.kv + task.key_row, task.kv_stride, a.head_size},
                 values = {(const T *)a.kv + task.value_row, task.kv_stride, a.value_size};
    float largest = largest_norm(keys, values, (int)blockIdx.x * NORM_ROWS, a.keys, space);
    if (threadIdx.x == 0)
        norm[((size_t)blockIdx.z * (size_t)a.kv_heads + blockIdx.y) * (size_t)a.key_norms +
             blockIdx.x] = largest;
}

template <typename T>
static void norms(const attention_arguments *a, bool reverse, cudaStream_t stream)
{
    LAUNCH(attention_query_norms_kernel<T>,
           dim3((unsigned)a->query_norms, (unsigned)a->heads, (unsigned)a->segments),
           dim3(WARP * ROW_WARPS), 0, stream, *a, (float *)a->query_norm, (float *)a->least,
           (int)reverse);
    LAUNCH(attention_key_norms_kernel<T>,
           dim3((unsigned)a->key_norms, (unsigned)a->kv_heads, (unsigned)a->segments),
           dim3(WARP * ROW_WARPS), 0, stream, *a, (float *)a->key_norm);
}

void attention_norms(const attention_arguments *a, bool half, bool reverse, cudaStream_t stream)
{
    if (half)
        norms<bf16>(a, reverse, stream);
    else
        norms<float>(a, reverse, stream);
}
