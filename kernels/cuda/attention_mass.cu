/* Attention summed by distance. The products are computed again as attention computed them, one
 * pair of query and key at a time; eight lanes read the key together. It is used for few segments
 * and only in the forward pass, so matrix units would not be worth their code. */
#include "kernels/cuda/attention_score.cuh"

enum { THREADS = 128, GROUP = 8, GROUPS = THREADS / GROUP };

template <typename T>
struct operand_as_is {
    static __device__ inline float get(T x) { return to_float(x); }
};
struct operand_tf32 {
    static __device__ inline float get(float x) { return __uint_as_float(to_tf32(x)); }
};

/* mass[segments, heads, keys]: a group of lanes has one distance. Grid: ceil(keys / GROUPS), heads,
 * segments. */
template <typename T, class OPERAND>
__global__ void __launch_bounds__(THREADS)
    attention_mass_kernel(const __grid_constant__ attention_arguments a, float *mass, int counted)
{
    int head = (int)blockIdx.y, lane = (int)threadIdx.x % GROUP, nearest = (int)blockIdx.x * GROUPS,
        distance = nearest + (int)threadIdx.x / GROUP;
    int offset = a.keys - a.queries;
    attention_task<T> task(a, (int)blockIdx.z, head, kv_head_of(a, head));
    size_t number = (size_t)task.segment * (size_t)a.heads + (size_t)head;
    double sum = 0;
    for (int query = max(a.queries - counted, nearest - offset); query < a.queries;
         query++) { /* all lanes take part in the sum over them */
        int key = query + offset - distance;
        const T *q = task.at(a.q, task.q_row, (size_t)query, task.q_stride),
                *k = task.at(a.kv, task.key_row, (size_t)max(key, 0), task.kv_stride);
        float product = 0, slope, lse = a.lse[number * (size_t)a.queries + (size_t)query];
        for (int c = lane; c < a.head_size; c += GROUP)
            product = fmaf(OPERAND::get(q[c]), OPERAND::get(k[c]), product);
        for (int step = 1; step < GROUP; step *= 2)
            product += __shfl_xor_sync(FULL_WARP, product, step);
        if (key >= 0 && lse != -INFINITY)
            sum += (double)exp2_fast(score_of(&slope, a, head, query, key, product) -
                                     1.4426950408889634f * lse);
    }
    if (lane == 0 && distance < a.keys)
        mass[number * (size_t)a.keys + (size_t)distance] = (float)sum;
}

void attention_sum_by_distance(const attention_arguments *a, float *mass, int counted, bool half,
                               bool tf32, cudaStream_t stream)
{
    dim3 grid((unsigned)(a->keys + GROUPS - 1) / GROUPS, (unsigned)a->heads, (unsigned)a->segments);
    if (half)
        LAUNCH((attention_mass_kernel<bf16, operand_as_is<bf16>>), grid, dim3(THREADS), 0, stream,
               *a, mass, counted);
    else if (tf32)
        LAUNCH((attention_mass_kernel<float, operand_tf32>), grid, dim3(THREADS), 0, stream, *a,
               mass, counted);
    else
        LAUNCH((attention_mass_kernel<float, operand_as_is<float>>), grid, dim3(THREADS), 0, stream,
               *a, mass, counted);
}
