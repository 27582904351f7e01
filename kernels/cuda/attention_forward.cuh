/* Attention forward on tiles (online softmax: Milakov and Gimelshein 2018; tiles as in Dao 2023,
 * FlashAttention-2): a block of threads has ROWS queries of one head and visits tiles of COLUMNS
 * keys from the nearest to the farthest, while the next tile is being copied. For a row with
 * running maximum m, sum l: m' = max(m, max x)    p = 2^(x - m')    l' = l 2^(m - m') + sum p    o'
 * = o 2^(m - m') + p v    lse = ln 2 (m + log2 l). A head's sink is one more x, without a v, added
 * last. Blocks that have other columns of the same output compute its scores again. */
#ifndef REACH_KERNELS_CUDA_ATTENTION_FORWARD_CUH
#define REACH_KERNELS_CUDA_ATTENTION_FORWARD_CUH

#include "kernels/cuda/attention_score.cuh"

/* Where things lie in a block's shared memory; bytes. */
template <class P, int FEATURE, int STAGES>
struct forward_layout {
    static constexpr int QUERY = 0, STAGE = P::ROWS * P::ROW_BYTES,
                         TILE = P::COLUMNS * P::ROW_BYTES, SLICES = 2 * TILE;
    static constexpr int STAGE_BYTES =
        (SLICES + score_slices<P, FEATURE, P::COLUMNS>::FLOATS * 4 + 127) / 128 * 128;
    static constexpr int STRIPS = STAGE + STAGES * STAGE_BYTES;
    static constexpr int LIST =
        STRIPS +
        P::WARPS * P::STRIP_BYTES; /* a byte for each tile of keys: 1 if it is to be visited */
};

template <class P, int FEATURE, int STAGES, bool HOLD, int BLOCKS>
__global__ void __launch_bounds__(P::THREADS, BLOCKS)
    attention_forward_kernel(const __grid_constant__ attention_arguments a)
{
    typedef typename P::element T;
    typedef forward_layout<P, FEATURE, STAGES> L;
    typedef tile_scores<P, FEATURE, false> scores;
    SHARED_MEMORY(memory);
    char *shared = (char *)memory;
    const bool skip = FEATURE != FEATURE_PLAIN && a.skip;
    query_block<P> block(a, blockIdx.x);
    int first = block.first, head = block.head, offset = a.keys - a.queries;
    int kv_head = kv_head_of(a, head);
    attention_task<T> task(a, block.segment, head, kv_head);
    const key_tiles<P> tiles(a, first, block.rows);
    const int begin = tiles.begin, end = tiles.end;
    unsigned char *list = memory + L::LIST;

    auto load = [&](int tile, int stage) {
        char *to = shared + L::STAGE + stage * L::STAGE_BYTES;
        size_t row = (size_t)tile * P::COLUMNS;
        attention_task<T> keys(a, (int)not_before((unsigned)block.segment), head,
                               (int)not_before((unsigned)kv_head));
        int there = a.keys - tile * P::COLUMNS;
        tile_load<T, P::COLUMNS, P::SIZE, P::THREADS>(
            to, keys.at(a.kv, keys.key_row, row, keys.kv_stride), (int)keys.kv_stride, there,
            a.head_size, a.aligned);
        tile_load<T, P::COLUMNS, P::SIZE, P::THREADS>(
            to + L::TILE, keys.at(a.kv, keys.value_row, row, keys.kv_stride), (int)keys.kv_stride,
            there, a.value_size, a.aligned);
        scores::slices::load((float *)(to + L::SLICES), a, head,
                             scores::least_distance(first + offset, tile * P::COLUMNS),
                             tile * P::COLUMNS);
    };
    auto next = [&](int tile) {
        do
            tile = tiles.next(tile);
        while (skip && tile >= begin && !list[tile - begin]);
        return tile;
    };

    tile_load<T, P::ROWS, P::SIZE, P::THREADS>(
        shared + L::QUERY, task.at(a.q, task.q_row, (size_t)first, task.q_stride),
        (int)task.q_stride, block.rows, a.head_size, a.aligned);
    if (skip) {
        list_tiles<P>(list, a, block, task.kv_head, begin, end);
        __syncthreads();
    }
    int tile = next(end);
    if (tile >= begin)
        load(tile, 0);
    cp_async_commit();
    cp_async_wait<0>();
    tile_finish<typename P::type, P::ROWS, P::SIZE, P::THREADS>(shared + L::QUERY);
    __syncthreads();

    row_operand<P, HOLD> query;
    query.begin(shared, L::QUERY);
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
    for (int stage = 0, after; tile >= begin; tile = after) {
        int key = L::STAGE + stage * L::STAGE_BYTES, value = key + L::TILE;
        cp_async_wait<0>();
        tile_finish<typename P::type, P::COLUMNS, P::SIZE, P::THREADS>(shared + key);
        tile_finish<typename P::type, P::COLUMNS, P::SIZE, P::THREADS>(shared + value);
        __syncthreads(); /* this tile is there, and the one before is done with */
        after = next(tile);
        if (STAGES == 2 && after >= begin)
            load(after, stage ^ 1);
        cp_async_commit();

        float s[P::R][P::C], unused;
        P::multiply(s, query, shared, key);
        score.begin(a, (const float *)(shared + key + L::SLICES), first + offset,
                    tile * P::COLUMNS);
        score.mask(s);
#pragma unroll
        for (int i = 0; i < P::R; i++)
#pragma unroll
            for (int j = 0; j < P::C; j++)
                s[i][j] = score.get(&unused, s[i][j], i, j);
        float change[P::R];
        bool same = true;
#pragma unroll
        for (int i = 0; i < P::R; i++) {
            float largest = s[i][0];
#pragma unroll
            for (int j = 1; j < P::C; j++)
                largest = fmaxf(largest, s[i][j]);
            largest = fmaxf(row_largest<P>(largest) * score.factor(), m[i]);
            float origin = largest == -INFINITY ? 0 : largest,
                  sum = 0; /* nothing seen yet: 2^(-inf - 0) = 0 */
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
        P::accumulate(o, s, shared, value, block.part * P::OUT, L::STRIPS);
        if (STAGES == 1 && after >= begin) {
            __syncthreads(); /* all are done with the tile */
            load(after, 0);
            cp_async_commit();
        }
        stage ^= STAGES - 1;
    }

    query_block<P> out(a, not_before(blockIdx.x));
    attention_task<T> out_task(a, out.segment, out.head, 0);
    float factor[P::R];
#pragma unroll
    for (int i = 0; i < P::R; i++) {
        float lse = finish_lse(&factor[i], m[i], row_sum<P>(l[i]), sink_of(a, out.head));
        int row = out.first + P::row() + P::row_offset(i);
        if (out.part == 0 && lane_index() % P::LANES == 0 && row < a.queries)
            a.lse[((size_t)out.segment * (size_t)a.heads + (size_t)out.head) * (size_t)a.queries +
                  (size_t)row] = lse;
    }
    store_rows<P>((T *)a.o + out_task.o_row + (size_t)out.first * out_task.o_stride,
                  out_task.o_stride, out.rows, a.value_size, out.part * P::OUT, a.aligned, o,
                  factor, shared + L::QUERY);
}

/* Enqueues the kernel for a whole call. Returns 0; or, with nothing done, the shared memory that it
 * wants where the device has less, or ATTENTION_BROKEN. */
template <class P, int FEATURE, int STAGES, bool HOLD, int BLOCKS>
int attention_forward_launch(const attention_arguments *a, cudaStream_t stream)
{
    auto kernel = attention_forward_kernel<P, FEATURE, STAGES, HOLD, BLOCKS>;
    constexpr int LIST = forward_layout<P, FEATURE, STAGES>::LIST;
    if (LIST > a->shared_most)
        return LIST;
    attention_arguments arguments = *a;
    int bytes = LIST + list_bytes(&arguments, LIST, (a->keys + P::COLUMNS - 1) / P::COLUMNS);
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return ATTENTION_BROKEN;
    LAUNCH(kernel, dim3(query_block<P>::count(a)), dim3(P::THREADS), (size_t)bytes, stream,
           arguments);
    return 0;
}

#endif
