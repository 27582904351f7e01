/* Attention forward on tiles (online softmax: Milakov and Gimelshein 2018; tiles as in Dao 2023, FlashAttention-2): a block of threads has ROWS queries of one
 * head and visits tiles of COLUMNS keys from the nearest to the farthest, while the next tile is being copied. For a row with running maximum m, sum l:
 *     m' = max(m, max x)    p = 2^(x - m')    l' = l 2^(m - m') + sum p    o' = o 2^(m - m') + p v    lse = ln 2 (m + log2 l). */
#ifndef REACH_KERNELS_CUDA_ATTENTION_FORWARD_CUH
#define REACH_KERNELS_CUDA_ATTENTION_FORWARD_CUH

#include "kernels/cuda/attention_score.cuh"

/* Where things lie in a block's shared memory; bytes. */
template <class P, int FEATURE, int STAGES> struct forward_layout {
    static constexpr int QUERY = 0, TILE = P::COLUMNS * P::ROW_BYTES;
    static constexpr int STAGE = P::ROWS * P::ROW_BYTES, SLICES = 2 * TILE;
    static constexpr int STAGE_BYTES = SLICES + score_slices<P, FEATURE, P::COLUMNS>::FLOATS * 4;
    static constexpr int STRIPS = STAGE + STAGES * STAGE_BYTES;
    static constexpr int LEAST = STRIPS + P::WARPS * P::STRIP_BYTES; /* [2, WARPS] floats: the smallest running maximum of a warp's rows, in two turns */
    static constexpr int LIST = LEAST + (2 * P::WARPS * 4 + 15) / 16 * 16;
};

template <class P, int FEATURE, int STAGES, bool HOLD, int BLOCKS>
__global__ void __launch_bounds__(P::THREADS, BLOCKS) attention_forward_kernel(const __grid_constant__ attention_arguments a)
{
    typedef typename P::element T;
    typedef forward_layout<P, FEATURE, STAGES> L;
    typedef tile_scores<P, FEATURE, false> scores;
    SHARED_MEMORY(shared);
    const bool skip = FEATURE != FEATURE_PLAIN && a.skip;
    int tiles = (a.queries + P::ROWS - 1) / P::ROWS, number = (int)(blockIdx.x / (unsigned)tiles);
    int first = (tiles - 1 - (int)(blockIdx.x % (unsigned)tiles)) * P::ROWS, rows = min(P::ROWS, a.queries - first); /* the longest rows first */
    int offset = a.keys - a.queries, head = number % a.heads;
    attention_task<T> task(a, number / a.heads, head, kv_head_of(a, head));
    int end = (first + rows + offset + P::COLUMNS - 1) / P::COLUMNS;
    int begin = a.window > 0 ? max(first + offset - a.window + 1, 0) / P::COLUMNS : 0;
    float *list = (float *)(shared + L::LIST), *least = (float *)(shared + L::LEAST);
    char *query_tile = (char *)shared + L::QUERY;

    auto load = [&](int tile, int stage) {
        char *to = (char *)shared + L::STAGE + stage * L::STAGE_BYTES;
        size_t row = (size_t)tile * P::COLUMNS;
        int there = a.keys - tile * P::COLUMNS;
        tile_load<T, P::COLUMNS, P::SIZE, P::THREADS>(to, task.at(a.kv, task.key_row, row, task.kv_stride), (int)task.kv_stride, there, a.head_size, a.aligned);
        tile_load<T, P::COLUMNS, P::SIZE, P::THREADS>(to + L::TILE, task.at(a.kv, task.value_row, row, task.kv_stride), (int)task.kv_stride, there, a.head_size,
                                                      a.aligned);
        scores::slices::load((float *)(to + L::SLICES), a, head, scores::least_distance(first + offset, tile * P::COLUMNS), tile * P::COLUMNS);
    };
    /* the nearest tile before `tile` that may hold something, given that each row has seen a score of at least `smallest` */
    auto next = [&](int tile, float smallest) {
        tile--;
        while (skip && tile >= begin && all_zero(list[tile - begin], smallest))
            tile--;
        return tile;
    };

    tile_load<T, P::ROWS, P::SIZE, P::THREADS>(query_tile, task.at(a.q, task.q_row, (size_t)first, task.q_stride), (int)task.q_stride, rows, a.head_size, a.aligned);
    if (skip) {
        for (int tile = begin + (int)threadIdx.x; tile < end; tile += P::THREADS)
            list[tile - begin] = scores_below(a, task.segment, head, task.kv_head, first, first + rows - 1, tile * P::COLUMNS,
                                              min((tile + 1) * P::COLUMNS, a.keys) - 1);
        if (threadIdx.x < 2 * P::WARPS)
            least[threadIdx.x] = -INFINITY;
    }
    load(end - 1, 0);
    cp_async_commit();
    cp_async_wait<0>();
    tile_finish<typename P::type, P::ROWS, P::SIZE, P::THREADS>(query_tile);
    __syncthreads();

    row_operand<P, HOLD> query;
    query.begin(query_tile);
    scores score(a);
    float o[P::R][P::OC], m[P::R], l[P::R];
#pragma unroll
    for (int i = 0; i < P::R; i++) {
        m[i] = -INFINITY;
        l[i] = 0;
#pragma unroll
        for (int j = 0; j < P::OC; j++)
            o[i][j] = 0;
    }
    for (int tile = end - 1, stage = 0, turn = 0, after; tile >= begin; tile = after, turn ^= 1) {
        char *key = (char *)shared + L::STAGE + stage * L::STAGE_BYTES;
        cp_async_wait<0>();
        tile_finish<typename P::type, P::COLUMNS, P::SIZE, P::THREADS>(key);
        tile_finish<typename P::type, P::COLUMNS, P::SIZE, P::THREADS>(key + L::TILE);
        __syncthreads(); /* this tile is there, and the one before is done with */
        float smallest = INFINITY;
        for (int warp = 0; skip && warp < P::WARPS; warp++)
            smallest = fminf(smallest, least[(turn ^ 1) * P::WARPS + warp]);
        after = next(tile, smallest);
        if (STAGES == 2 && after >= begin)
            load(after, stage ^ 1);
        cp_async_commit();

        float s[P::R][P::C], unused;
        P::multiply(s, query, key);
        score.begin(a, (const float *)(key + L::SLICES), first + offset, tile * P::COLUMNS);
        if (FEATURE != FEATURE_PLAIN || score.masked) {
#pragma unroll
            for (int i = 0; i < P::R; i++)
#pragma unroll
                for (int j = 0; j < P::C; j++)
                    s[i][j] = score.get(&unused, s[i][j], i, j);
        }
        float change[P::R];
        bool same = true;
#pragma unroll
        for (int i = 0; i < P::R; i++) {
            float largest = s[i][0];
#pragma unroll
            for (int j = 1; j < P::C; j++)
                largest = fmaxf(largest, s[i][j]);
            largest = fmaxf(row_largest<P>(largest) * score.factor(), m[i]);
            float origin = largest == -INFINITY ? 0 : largest, sum = 0; /* nothing seen yet: 2^(-inf - 0) = 0 */
            change[i] = exp2_fast(m[i] - origin);
            same &= largest == m[i] || m[i] == -INFINITY;
            m[i] = largest;
#pragma unroll
            for (int j = 0; j < P::C; j++) {
                s[i][j] = exp2_fast(fmaf(s[i][j], score.factor(), -origin));
                sum += s[i][j];
            }
            l[i] = fmaf(l[i], change[i], sum);
        }
        if (!__all_sync(FULL_WARP, same)) {
#pragma unroll
            for (int i = 0; i < P::R; i++)
#pragma unroll
                for (int j = 0; j < P::OC; j++)
                    o[i][j] *= change[i];
        }
        P::accumulate(o, s, key + L::TILE, 0, (char *)shared + L::STRIPS + warp_index() * P::STRIP_BYTES);
        if (skip) {
            float low = INFINITY;
#pragma unroll
            for (int i = 0; i < P::R; i++)
                if (P::row() + P::row_offset(i) < rows)
                    low = fminf(low, m[i]);
            low = -warp_max(-low);
            if (lane_index() == 0)
                least[turn * P::WARPS + warp_index()] = low;
        }
        if (STAGES == 1 && after >= begin) {
            __syncthreads(); /* all are done with the tile */
            load(after, 0);
            cp_async_commit();
        }
        stage ^= STAGES - 1;
    }

    float factor[P::R];
#pragma unroll
    for (int i = 0; i < P::R; i++) {
        float sum = row_sum<P>(l[i]);
        int row = first + P::row() + P::row_offset(i);
        factor[i] = sum == 0 ? 0 : 1 / sum;
        if (lane_index() % P::LANES == 0 && row < a.queries)
            a.lse[((size_t)task.segment * (size_t)a.heads + (size_t)head) * (size_t)a.queries + (size_t)row] =
                sum == 0 ? -INFINITY : 0.6931471805599453f * (m[i] + log2f(sum));
    }
    store_rows<P>((T *)a.o + task.q_row + (size_t)first * task.q_stride, task.q_stride, rows, a.head_size, 0, a.aligned, o, factor, query_tile);
}

/* Enqueues the kernel for a whole call. */
template <class P, int FEATURE, int STAGES, bool HOLD, int BLOCKS> void attention_forward_launch(const attention_arguments *a, cudaStream_t stream)
{
    auto kernel = attention_forward_kernel<P, FEATURE, STAGES, HOLD, BLOCKS>;
    int tiles = (a->queries + P::ROWS - 1) / P::ROWS, key_tiles = (a->keys + P::COLUMNS - 1) / P::COLUMNS;
    attention_arguments arguments = *a;
    arguments.skip = a->skip && key_tiles <= LIST_MOST;
    int bytes = forward_layout<P, FEATURE, STAGES>::LIST + (arguments.skip ? key_tiles * 4 : 0);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    LAUNCH(kernel, dim3((unsigned)(a->segments * a->heads * tiles)), dim3(P::THREADS), (size_t)bytes, stream, arguments);
}

#endif
