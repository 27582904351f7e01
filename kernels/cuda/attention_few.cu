/* Attention of few queries (the last block has one): no tiles of scores, of which most rows would
 * be empty, but one row at a time, the keys split into blocks of FEW_KEYS whose sums are added in
 * order. All sums in float, whatever the arithmetic. GROUP lanes, 8 or 16, read a row of keys or
 * values together.
 *
 * Reverse: one kernel has all rows that read a key, writes its dk and dv, and keeps scale dr of
 * each pair for the second, which sums dq = sum of scale dr k as forward sums o. */
#include "kernels/cuda/attention_score.cuh"

enum {
    THREADS = 128,
    EACH = 32, /* columns of a lane at most */
};

/* The lane's columns of a row: VECTOR at a time, GROUP * VECTOR apart. Zeros from `size` on. */
template <int VECTOR, int GROUP, typename T>
__device__ inline void load_row(float (&x)[EACH], const T *row, int size)
{
#pragma unroll
    for (int i = 0; i < EACH; i += VECTOR) {
        int column = i * GROUP + (int)threadIdx.x % GROUP * VECTOR;
        if (column < size)
            load_floats<VECTOR>(x + i, row + column);
        else
            for (int e = 0; e < VECTOR; e++)
                x[i + e] = 0;
    }
}

/* a . b over the columns of the group's lanes. */
template <int GROUP>
__device__ inline float group_dot(const float (&a)[EACH], const float (&b)[EACH])
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        sum = fmaf(a[i], b[i], sum);
    for (int distance = 1; distance < GROUP; distance *= 2)
        sum += __shfl_xor_sync(FULL_WARP, sum, distance);
    return sum;
}

/* out[size] = sum over `count` rows of weight[row] x[row, size]; group g sums rows g, g + groups,
 * ..., then the groups' sums are added in order. `weight` lies in shared memory and is there for
 * the block; `space` is shared memory [groups, GROUP EACH]. */
template <typename T, int VECTOR, int GROUP>
__device__ inline void sum_rows(float *out, const float *weight, const T *x, size_t stride,
                                int count, int size, float *space)
{
    constexpr int GROUPS = THREADS / GROUP, MOST = GROUP * EACH;
    int group = (int)threadIdx.x / GROUP;
    float sum[EACH] = {0}, row[EACH];
    for (int k = group; k < count; k += GROUPS) {
        float w = weight[k];
        load_row<VECTOR, GROUP>(row, x + (size_t)k * stride, size);
#pragma unroll
        for (int i = 0; i < EACH; i++)
            sum[i] = fmaf(w, row[i], sum[i]);
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        int column = i / VECTOR * VECTOR * GROUP + (int)threadIdx.x % GROUP * VECTOR + i % VECTOR;
        if (column < size)
            space[group * MOST + column] = sum[i];
    }
    __syncthreads();
    for (int column = (int)threadIdx.x; column < size; column += THREADS) {
        float total = 0;
        for (int g = 0; g < GROUPS; g++)
            total += space[g * MOST + column];
        out[column] = total;
    }
}

/* One row's sums over one block of keys: o relative to the block's largest x, that, and the sum of
 * p; or, with `reverse`, dq's part from the weights. Grid: key blocks, heads * queries, segments.
 */
template <typename T, int VECTOR, int GROUP>
__global__ void __launch_bounds__(THREADS)
    attention_few_kernel(const __grid_constant__ attention_arguments a, int reverse)
{
    constexpr int GROUPS = THREADS / GROUP;
    __shared__ float weight[FEW_KEYS], space[THREADS * EACH], reduction[32];
    int head = (int)blockIdx.y / a.queries, query = (int)blockIdx.y % a.queries,
        first = (int)blockIdx.x * FEW_KEYS, count = min(FEW_KEYS, a.keys - first);
    attention_task<T> task(a, (int)blockIdx.z, head, kv_head_of(a, head));
    size_t row = ((size_t)task.segment * (size_t)a.heads + (size_t)head) * (size_t)a.queries +
                 (size_t)query;
    float *part = a.part + (row * gridDim.x + blockIdx.x) * (size_t)(a.widest + 2);
    if (reverse) {
        for (int k = (int)threadIdx.x; k < count; k += THREADS)
            weight[k] = a.weight[row * (size_t)a.keys + (size_t)(first + k)];
        __syncthreads();
        sum_rows<T, VECTOR, GROUP>(part, weight,
                                   task.at(a.kv, task.key_row, (size_t)first, task.kv_stride),
                                   task.kv_stride, count, a.head_size, space);
        return;
    }
    float q[EACH], k[EACH], largest = -INFINITY, sum = 0, slope;
    load_row<VECTOR, GROUP>(q, task.at(a.q, task.q_row, (size_t)query, task.q_stride), a.head_size);
    for (int from = 0; from < count; from += GROUPS) { /* all lanes take part in group_dot */
        int key = from + (int)threadIdx.x / GROUP;
        load_row<VECTOR, GROUP>(k,
                                task.at(a.kv, task.key_row, (size_t)(first + min(key, count - 1)),
                                        task.kv_stride),
                                a.head_size);
        float product = group_dot<GROUP>(q, k);
        if (key < count && threadIdx.x % GROUP == 0)
            weight[key] = score_of(&slope, a, head, query, first + key, product);
    }
    __syncthreads();
    for (int key = (int)threadIdx.x; key < count; key += THREADS)
        largest = fmaxf(largest, weight[key]);
    largest = block_max(largest, reduction);
    for (int key = (int)threadIdx.x; key < count; key += THREADS) {
        weight[key] = exp2_fast(weight[key] - (largest == -INFINITY ? 0 : largest));
        sum += weight[key];
    }
    sum = block_sum(sum, reduction); /* its barriers make the weights there for all */
    sum_rows<T, VECTOR, GROUP>(part, weight,
                               task.at(a.kv, task.value_row, (size_t)first, task.kv_stride),
                               task.kv_stride, count, a.value_size, space);
    if (threadIdx.x == 0) {
        part[a.widest] = largest;
        part[a.widest + 1] = sum;
    }
}

/* A row of o and its lse, or of dq, from the parts in order. Grid: queries, heads, segments. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    attention_few_sum_kernel(const __grid_constant__ attention_arguments a, int reverse)
{
    attention_task<T> task(a, (int)blockIdx.z, (int)blockIdx.y, 0);
    int blocks = (a.keys + FEW_KEYS - 1) / FEW_KEYS, each = a.widest + 2,
        size = reverse ? a.head_size : a.value_size;
    size_t row = ((size_t)task.segment * (size_t)a.heads + (size_t)task.head) * (size_t)a.queries +
                 blockIdx.x;
    const float *part = a.part + row * (size_t)blocks * (size_t)each;
    T *out = reverse ? (T *)a.dq + task.q_row + (size_t)blockIdx.x * task.q_stride
                     : (T *)a.o + task.o_row + (size_t)blockIdx.x * task.o_stride;
    float largest = -INFINITY, sum = 0;
    for (int b = 0; !reverse && b < blocks; b++)
        largest = fmaxf(largest, part[b * each + a.widest]);
    float origin = largest == -INFINITY ? 0 : largest;
    for (int b = 0; !reverse && b < blocks; b++)
        sum = fmaf(exp2_fast(part[b * each + a.widest] - origin), part[b * each + a.widest + 1],
                   sum);
    float factor = 1, lse = reverse ? 0 : finish_lse(&factor, largest, sum, sink_of(a, task.head));
    for (int column = (int)threadIdx.x; column < size; column += THREADS) {
        float total = 0;
        for (int b = 0; b < blocks; b++)
            total = fmaf(reverse ? 1 : exp2_fast(part[b * each + a.widest] - origin),
                         part[b * each + column], total);
        out[column] = from_float<T>(factor * total);
    }
    if (!reverse && threadIdx.x == 0)
        a.lse[row] = lse;
}

/* dk and dv of THREADS / GROUP keys, and the weights of dq. Grid: key blocks, kv heads, segments.
 */
template <typename T, int VECTOR, int GROUP>
__global__ void __launch_bounds__(THREADS)
    attention_few_reverse_kernel(const __grid_constant__ attention_arguments a)
{
    int kv_head = (int)blockIdx.y, key = (int)(blockIdx.x * THREADS + threadIdx.x) / GROUP,
        there = key < a.keys;
    int first_head = (int)(((long long)kv_head * a.heads + a.kv_heads - 1) / a.kv_heads);
    int end_head = (int)(((long long)(kv_head + 1) * a.heads + a.kv_heads - 1) / a.kv_heads);
    key = min(key, a.keys - 1);
    attention_task<T> keys(a, (int)blockIdx.z, first_head, kv_head);
    float k[EACH], v[EACH], dk[EACH] = {0}, dv[EACH] = {0}, q[EACH], d_o[EACH], slope;
    load_row<VECTOR, GROUP>(k, keys.at(a.kv, keys.key_row, (size_t)key, keys.kv_stride),
                            a.head_size);
    load_row<VECTOR, GROUP>(v, keys.at(a.kv, keys.value_row, (size_t)key, keys.kv_stride),
                            a.value_size);
    for (int head = first_head; head < end_head; head++) {
        attention_task<T> task(a, keys.segment, head, kv_head);
        size_t number = (size_t)keys.segment * (size_t)a.heads + (size_t)head;
        for (int query = 0; query < a.queries; query++) {
            load_row<VECTOR, GROUP>(q, task.at(a.q, task.q_row, (size_t)query, task.q_stride),
                                    a.head_size);
            load_row<VECTOR, GROUP>(d_o, task.at(a.d_o, task.o_row, (size_t)query, task.o_stride),
                                    a.value_size);
            float x = score_of(&slope, a, head, query, key, group_dot<GROUP>(q, k)),
                  dp = group_dot<GROUP>(d_o, v);
            size_t row = number * (size_t)a.padded_queries + (size_t)query;
            float p = exp2_fast(x - a.lse2[row]), w = p * (dp - a.delta[row]) * slope * a.scale;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                dk[i] = fmaf(w, q[i], dk[i]);
                dv[i] = fmaf(p, d_o[i], dv[i]);
            }
            if (there && threadIdx.x % GROUP == 0)
                a.weight[(number * (size_t)a.queries + (size_t)query) * (size_t)a.keys +
                         (size_t)key] = w;
        }
    }
    T *d_key = (T *)a.dkv + keys.key_row + (size_t)key * keys.kv_stride,
      *d_value = (T *)a.dkv + keys.value_row + (size_t)key * keys.kv_stride;
#pragma unroll
    for (int i = 0; i < EACH; i += VECTOR) {
        int column = i * GROUP + (int)threadIdx.x % GROUP * VECTOR;
        if (there && column < a.head_size)
            store_floats<VECTOR>(d_key + column, dk + i);
        if (there && column < a.value_size)
            store_floats<VECTOR>(d_value + column, dv + i);
    }
}

template <typename T, int VECTOR, int GROUP>
static void sums(const attention_arguments *a, int reverse, cudaStream_t stream)
{
    dim3 blocks((unsigned)(a->keys + FEW_KEYS - 1) / FEW_KEYS, (unsigned)(a->heads * a->queries),
                (unsigned)a->segments);
    dim3 rows((unsigned)a->queries, (unsigned)a->heads, (unsigned)a->segments);
    LAUNCH((attention_few_kernel<T, VECTOR, GROUP>), blocks, dim3(THREADS), 0, stream, *a, reverse);
    LAUNCH(attention_few_sum_kernel<T>, rows, dim3(THREADS), 0, stream, *a, reverse);
}

template <typename T, int VECTOR, int GROUP>
static void reverse(const attention_arguments *a, cudaStream_t stream)
{
    constexpr int GROUPS = THREADS / GROUP;
    dim3 blocks((unsigned)(a->keys + GROUPS - 1) / GROUPS, (unsigned)a->kv_heads,
                (unsigned)a->segments);
    LAUNCH((attention_few_reverse_kernel<T, VECTOR, GROUP>), blocks, dim3(THREADS), 0, stream, *a);
    sums<T, VECTOR, GROUP>(a, 1, stream);
}

/* Vectors of 16 bytes where rows are whole ones. */
template <typename T, int GROUP>
static void both(const attention_arguments *a, bool backward, cudaStream_t stream)
{
    constexpr int VECTOR = 16 / (int)sizeof(T);
    if (backward)
        a->aligned ? reverse<T, VECTOR, GROUP>(a, stream) : reverse<T, 1, GROUP>(a, stream);
    else
        a->aligned ? sums<T, VECTOR, GROUP>(a, 0, stream) : sums<T, 1, GROUP>(a, 0, stream);
}

static void choose(const attention_arguments *a, bool half, bool backward, cudaStream_t stream)
{
    if (a->widest <= 8 * EACH)
        half ? both<bf16, 8>(a, backward, stream) : both<float, 8>(a, backward, stream);
    else
        half ? both<bf16, 16>(a, backward, stream) : both<float, 16>(a, backward, stream);
}

void attention_forward_few(const attention_arguments *a, bool half, cudaStream_t stream)
{
    choose(a, half, false, stream);
}

void attention_reverse_few(const attention_arguments *a, bool half, cudaStream_t stream)
{
    choose(a, half, true, stream);
}
