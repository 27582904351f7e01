/* Attention in reverse on tiles (formulas: kernels/reference/attention.c). With P = 2^(x - lse2),
 * dS = P (dO V^T - delta) dx/ds: dV = P^T dO    dK = scale dS^T Q    dQ = scale dS K.
 *
 * Two kernels: one goes over the queries for a tile of keys (dK, dV), the other over the keys for a
 * tile of queries (dQ). They make S and dO V^T twice, so 7 products of matrices instead of the 5 of
 * one kernel that adds dQ tile by tile in global memory. But each sum then lies in one thread's
 * registers from start to end, in one order, without atomics or a copy of dQ for each split; and as
 * scores are made transposed for dK and dV, P and dS are the next product's left operand where they
 * lie. One kernel would write dS, and reads of it, through shared memory, which at these tile sizes
 * is as busy as the matrix units: (counted in 128-byte reads for a 64 x 128 tile at head size 128)
 * 4900 for its 5 products against 7200 for these 7. */
#ifndef REACH_KERNELS_CUDA_ATTENTION_REVERSE_CUH
#define REACH_KERNELS_CUDA_ATTENTION_REVERSE_CUH

#include "kernels/cuda/attention_score.cuh"

/* Where things are in a block's shared memory, in both kernels: two tiles of rows; stages of two
 * tiles of columns with what belongs to them; bytes. */
template <class P, int FEATURE, int STAGES, bool KEY_ROWS>
struct reverse_layout {
    typedef tile_scores<P, FEATURE, KEY_ROWS> scores;
    static constexpr int FIRST = 0, SECOND = P::ROWS * P::ROW_BYTES, STAGE = 2 * SECOND;
    static constexpr int TILE = P::COLUMNS * P::ROW_BYTES, LSE = 2 * TILE,
                         DELTA = LSE + (KEY_ROWS ? P::COLUMNS * 4 : 0);
    static constexpr int SLICES = DELTA + (KEY_ROWS ? P::COLUMNS * 4 : 0),
                         STAGE_BYTES = (SLICES + scores::slices::FLOATS * 4 + 127) / 128 * 128;
    static constexpr int ROW_LSE = STAGE + STAGES * STAGE_BYTES,
                         ROW_DELTA = ROW_LSE + (KEY_ROWS ? 0 : P::ROWS * 4);
    static constexpr int STRIPS = ROW_DELTA + (KEY_ROWS ? 0 : P::ROWS * 4);
    static constexpr int LIST =
        STRIPS + P::WARPS * P::STRIP_BYTES; /* a byte for each step: 1 if it is to be made */
};

/* Numbers of a row in shared memory for the thread's column j and, where two lie side by side, j
 * + 1. */
template <class P>
struct column_numbers {
    static constexpr int EACH = P::column_offset(1) == 1 ? 2 : 1;
    float value[EACH];

    __device__ inline column_numbers(const float *row, int j)
    {
        load_floats<EACH>(value, row + P::column() + P::column_offset(j));
    }
};

/* The rows of keys that a block of threads has: `first` .. + `rows` of one kv head; and its part of
 * their columns. The first keys have the most queries. */
template <class P>
struct key_block {
    static constexpr int PARTS = P::SIZE / P::OUT;
    int segment, kv_head, first, rows, part;

    __device__ inline key_block(const attention_arguments &a, unsigned block)
    {
        unsigned tiles = (unsigned)(a.keys + P::ROWS - 1) / P::ROWS, number = block / PARTS / tiles;
        part = (int)(block % PARTS);
        first = (int)(block / PARTS % tiles) * P::ROWS;
        rows = min(P::ROWS, a.keys - first);
        segment = (int)(number / (unsigned)a.kv_heads);
        kv_head = (int)(number % (unsigned)a.kv_heads);
    }
    static unsigned count(const attention_arguments *a)
    {
        return (unsigned)(a->segments * a->kv_heads) *
               ((unsigned)(a->keys + P::ROWS - 1) / P::ROWS) * PARTS;
    }
};

/* dK and dV of ROWS keys of one kv head, columns part * OUT on: sums over the query heads that read
 * it, in order, and their tiles of COLUMNS queries. */
template <class P, int FEATURE, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(P::THREADS, BLOCKS)
    attention_reverse_keys_kernel(const __grid_constant__ attention_arguments a)
{
    typedef typename P::element T;
    typedef reverse_layout<P, FEATURE, STAGES, true> L;
    typedef column_numbers<P> columns;
    typedef tile_scores<P, FEATURE, true> scores;
    SHARED_MEMORY(memory);
    char *shared = (char *)memory;
    const bool skip = FEATURE != FEATURE_PLAIN && a.skip;
    key_block<P> block(a, blockIdx.x);
    int first = block.first, rows = block.rows, segment = block.segment, kv_head = block.kv_head,
        offset = a.keys - a.queries;
    int first_head = (int)(((long long)kv_head * a.heads + a.kv_heads - 1) / a.kv_heads);
    int end_head = (int)(((long long)(kv_head + 1) * a.heads + a.kv_heads - 1) / a.kv_heads);
    int begin = max(first - offset, 0) / P::COLUMNS,
        end = (a.queries + P::COLUMNS - 1) / P::COLUMNS;
    if (a.window > 0 && first >= a.kept)
        end = min(end,
                  (max(first + rows - 1 + a.window - offset, 0) + P::COLUMNS - 1) / P::COLUMNS);
    if (a.chunk > 0) { /* as far as the last key's chunk */
        int last = first + rows - 1, after = a.chunk - (last + a.positions - a.keys) % a.chunk;
        end = min(end, (max(last + after - offset, 0) + P::COLUMNS - 1) / P::COLUMNS);
    }
    int each = max(end - begin, 0), steps = each * (end_head - first_head);
    unsigned char *list = memory + L::LIST;
    attention_task<T> keys(a, segment, first_head, kv_head);

    /* Step after step: the tiles of queries begin .. end - 1 of the first head, then of the next.
     */
    auto head_of = [&](int step) { return first_head + (int)((unsigned)step / (unsigned)each); };
    auto query_of = [&](int step) {
        return (begin + (int)((unsigned)step % (unsigned)each)) * P::COLUMNS;
    };
    auto load = [&](int step, int stage) {
        char *to = shared + L::STAGE + stage * L::STAGE_BYTES;
        int head = head_of(step), query = query_of(step), at = (int)not_before((unsigned)segment);
        attention_task<T> task(a, at, head, kv_head);
        size_t row = ((size_t)at * (size_t)a.heads + (size_t)head) * (size_t)a.padded_queries +
                     (size_t)query;
        tile_load<T, P::COLUMNS, P::SIZE, P::THREADS>(
            to, task.at(a.q, task.q_row, (size_t)query, task.q_stride), (int)task.q_stride,
            a.queries - query, a.head_size, a.aligned);
        tile_load<T, P::COLUMNS, P::SIZE, P::THREADS>(
            to + L::TILE, task.at(a.d_o, task.o_row, (size_t)query, task.o_stride),
            (int)task.o_stride, a.queries - query, a.value_size, a.aligned);
        if (threadIdx.x < P::COLUMNS / 4) {
            cp_async_16(to + L::LSE + 16 * threadIdx.x, a.lse2 + row + 4 * threadIdx.x, 1);
            cp_async_16(to + L::DELTA + 16 * threadIdx.x, a.delta + row + 4 * threadIdx.x, 1);
        }
        scores::slices::load((float *)(to + L::SLICES), a, head,
                             scores::least_distance(query + offset, first), first);
    };
    auto next = [&](int step) {
        step++;
        while (skip && step < steps && !list[step])
            step++;
        return step;
    };

    tile_load<T, P::ROWS, P::SIZE, P::THREADS>(shared + L::FIRST,
                                               keys.at(a.kv, keys.key_row, (size_t)first,
                                                       keys.kv_stride),
                                               (int)keys.kv_stride, rows, a.head_size, a.aligned);
    tile_load<T, P::ROWS, P::SIZE, P::THREADS>(shared + L::SECOND,
                                               keys.at(a.kv, keys.value_row, (size_t)first,
                                                       keys.kv_stride),
                                               (int)keys.kv_stride, rows, a.value_size, a.aligned);
    if (skip) {
        for (int step = (int)threadIdx.x; step < steps; step += P::THREADS) {
            int head = head_of(step), query = query_of(step),
                last = min(query + P::COLUMNS, a.queries) - 1;
            const float *least = a.least + ((size_t)segment * (size_t)a.heads + (size_t)head) *
                                               (size_t)a.query_norms;
            list[step] = !all_zero(scores_below(a, segment, head, kv_head, query, last, first,
                                                first + rows - 1),
                                   least_over(least, query, last));
        }
        __syncthreads();
    }
    int step = next(-1);
    if (step < steps)
        load(step, 0);
    cp_async_commit();
    cp_async_wait<0>();
    tile_finish<typename P::type, P::ROWS, P::SIZE, P::THREADS>(shared + L::FIRST);
    tile_finish<typename P::type, P::ROWS, P::SIZE, P::THREADS>(shared + L::SECOND);
    __syncthreads(); /* also if there is no step: then the rows of these tiles are overwritten at
                      * once
                      */

    row_operand<P, false> key, value;
    key.begin(shared, L::FIRST);
    value.begin(shared, L::SECOND);
    scores score(a);
    float dk[P::R][P::OC], dv[P::R][P::OC];
#pragma unroll
    for (int i = 0; i < P::R; i++)
#pragma unroll
        for (int j = 0; j < P::OC; j++)
            dk[i][j] = dv[i][j] = 0;
    for (int stage = 0, after; step < steps; step = after) {
        int query = L::STAGE + stage * L::STAGE_BYTES, d_o = query + L::TILE;
        cp_async_wait<0>();
        tile_finish<typename P::type, P::COLUMNS, P::SIZE, P::THREADS>(shared + query);
        tile_finish<typename P::type, P::COLUMNS, P::SIZE, P::THREADS>(shared + d_o);
        __syncthreads(); /* this tile is there, and the one before is done with */
        after = next(step);
        if (STAGES == 2 && after < steps)
            load(after, stage ^ 1);
        cp_async_commit();

        float s[P::R][P::C], ds[P::R][P::C], slope;
        P::multiply(s, key, shared, query);
        P::multiply(ds, value, shared, d_o);
        score.begin(a, (const float *)(shared + query + L::SLICES), query_of(step) + offset, first);
        score.mask(s);
#pragma unroll
        for (int first_column = 0; first_column < P::C; first_column += columns::EACH) {
            columns lse((const float *)(shared + query + L::LSE), first_column),
                delta((const float *)(shared + query + L::DELTA), first_column);
#pragma unroll
            for (int i = 0; i < P::R; i++)
#pragma unroll
                for (int e = 0; e < columns::EACH; e++) {
                    int j = first_column + e;
                    s[i][j] = exp2_fast(
                        fmaf(score.get(&slope, s[i][j], i, j), score.factor(), -lse.value[e]));
                    ds[i][j] = s[i][j] * (ds[i][j] - delta.value[e]) * slope;
                }
        }
        P::accumulate(dv, s, shared, d_o, block.part * P::OUT, L::STRIPS);
        P::accumulate(dk, ds, shared, query, block.part * P::OUT, L::STRIPS);
        if (STAGES == 1 && after < steps) {
            __syncthreads(); /* all are done with the tile */
            load(after, 0);
            cp_async_commit();
        }
        stage ^= STAGES - 1;
    }

    float one[P::R], scale[P::R];
#pragma unroll
    for (int i = 0; i < P::R; i++) {
        one[i] = 1;
        scale[i] = a.scale;
    }
    key_block<P> out(a, not_before(blockIdx.x));
    attention_task<T> out_task(a, out.segment, 0, out.kv_head);
    T *to = (T *)a.dkv + (size_t)out.first * out_task.kv_stride;
    store_rows<P>(to + out_task.key_row, out_task.kv_stride, out.rows, a.head_size,
                  out.part * P::OUT, a.aligned, dk, scale, shared + L::FIRST);
    store_rows<P>(to + out_task.value_row, out_task.kv_stride, out.rows, a.value_size,
                  out.part * P::OUT, a.aligned, dv, one, shared + L::SECOND);
}

/* delta, the sums of dO O, of the rows that a block has (0 after the last one): for itself, and
 * for dK and dV. dO is a tile. Neighbouring lanes share a row; nothing is written before all of O
 * has been asked for. The places are computed again for this alone, because the loop after it
 * leaves no register free. */
template <class P>
__device__ inline void row_deltas(float *own, char *d_o, const attention_arguments &a)
{
    typedef typename P::element T;
    constexpr int EACH = CHUNK / (int)sizeof(T), CHUNKS = P::SIZE / EACH,
                  LANES = CHUNKS < WARP ? CHUNKS : WARP, PARTS = CHUNKS / LANES,
                  STEP = P::THREADS / LANES, COUNT = P::ROWS / STEP;
    static_assert(PARTS * LANES == CHUNKS, "every lane has as many chunks");
    const query_block<P> block(a, not_before(blockIdx.x));
    const attention_task<T> task(a, block.segment, block.head, 0);
    const T *o = task.at(a.o, task.o_row, (size_t)block.first, task.o_stride);
    float *delta = a.delta +
                   ((size_t)block.segment * (size_t)a.heads + (size_t)block.head) *
                       (size_t)a.padded_queries +
                   (size_t)block.first;
    const int thread = (int)not_before(threadIdx.x), first = thread / LANES, lane = thread % LANES,
              stride = (int)task.o_stride;
    float sum[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        int row = first + i * STEP;
        sum[i] = 0;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            int column = (lane + part * LANES) * EACH;
            float x[EACH] = {0}, y[EACH];
            if (a.aligned) {
                if (row < block.rows && column < a.value_size)
                    load_floats<EACH>(x, o + row * stride + column);
                load_floats<EACH>(y, tile_element<T, P::SIZE>(d_o, row, column));
#pragma unroll
                for (int e = 0; e < EACH; e++)
                    sum[i] = fmaf(x[e], y[e], sum[i]);
            } else {
#pragma unroll 1
                for (int c = column; c < min(column + EACH, a.value_size) && row < block.rows; c++)
                    sum[i] = fmaf(to_float(o[row * stride + c]),
                                  to_float(*tile_element<T, P::SIZE>(d_o, row, c)), sum[i]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
#pragma unroll
        for (int distance = LANES / 2; distance; distance /= 2)
            sum[i] += __shfl_xor_sync(FULL_WARP, sum[i], distance);
        if (lane == 0) {
            own[first + i * STEP] = sum[i];
            if (block.part == 0)
                delta[first + i * STEP] = sum[i];
        }
    }
}

/* dQ of ROWS queries of one head: a sum over tiles of COLUMNS keys, from the nearest to the
 * farthest. It computes delta, which dK and dV need, so it runs first. */
template <class P, int FEATURE, int STAGES, bool HOLD, int BLOCKS>
__global__ void __launch_bounds__(P::THREADS, BLOCKS)
    attention_reverse_queries_kernel(const __grid_constant__ attention_arguments a)
{
    typedef typename P::element T;
    typedef reverse_layout<P, FEATURE, STAGES, false> L;
    typedef tile_scores<P, FEATURE, false> scores;
    SHARED_MEMORY(memory);
    char *shared = (char *)memory;
    const bool skip = FEATURE != FEATURE_PLAIN && a.skip;
    query_block<P> block(a, blockIdx.x);
    int first = block.first, rows = block.rows, head = block.head, offset = a.keys - a.queries;
    int kv_head = kv_head_of(a, head);
    attention_task<T> task(a, block.segment, head, kv_head);
    const key_tiles<P> tiles(a, first, rows);
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

    tile_load<T, P::ROWS, P::SIZE, P::THREADS>(shared + L::FIRST,
                                               task.at(a.q, task.q_row, (size_t)first,
                                                       task.q_stride),
                                               (int)task.q_stride, rows, a.head_size, a.aligned);
    tile_load<T, P::ROWS, P::SIZE, P::THREADS>(shared + L::SECOND,
                                               task.at(a.d_o, task.o_row, (size_t)first,
                                                       task.o_stride),
                                               (int)task.o_stride, rows, a.value_size, a.aligned);
    size_t number = ((size_t)block.segment * (size_t)a.heads + (size_t)head) *
                        (size_t)a.padded_queries +
                    (size_t)first;
    if (threadIdx.x < P::ROWS / 4)
        cp_async_16(shared + L::ROW_LSE + 16 * threadIdx.x, a.lse2 + number + 4 * threadIdx.x, 1);
    if (skip) {
        list_tiles<P>(list, a, block, task.kv_head, begin, end);
        __syncthreads();
    }
    int tile = next(end);
    if (tile >= begin)
        load(tile, 0);
    cp_async_commit();
    cp_async_wait<0>();
    tile_finish<typename P::type, P::ROWS, P::SIZE, P::THREADS>(shared + L::FIRST);
    tile_finish<typename P::type, P::ROWS, P::SIZE, P::THREADS>(shared + L::SECOND);
    __syncthreads();
    row_deltas<P>((float *)(shared + L::ROW_DELTA), shared + L::SECOND, a);

    row_operand<P, HOLD> query, d_o;
    query.begin(shared, L::FIRST);
    d_o.begin(shared, L::SECOND);
    scores score(a);
    float dq[P::R][P::OC];
#pragma unroll
    for (int i = 0; i < P::R; i++)
#pragma unroll
        for (int j = 0; j < P::OC; j++)
            dq[i][j] = 0;
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

        float s[P::R][P::C], ds[P::R][P::C], slope;
        P::multiply(s, query, shared, key);
        P::multiply(ds, d_o, shared, value);
        score.begin(a, (const float *)(shared + key + L::SLICES), first + offset,
                    tile * P::COLUMNS);
        score.mask(s);
#pragma unroll
        for (int i = 0; i < P::R; i++) {
            float lse = ((const float *)(shared + L::ROW_LSE))[P::row() + P::row_offset(i)];
            float delta = ((const float *)(shared + L::ROW_DELTA))[P::row() + P::row_offset(i)];
#pragma unroll
            for (int j = 0; j < P::C; j++) {
                float p = exp2_fast(fmaf(score.get(&slope, s[i][j], i, j), score.factor(), -lse));
                ds[i][j] = p * (ds[i][j] - delta) * slope;
            }
        }
        P::accumulate(dq, ds, shared, key, block.part * P::OUT, L::STRIPS);
        if (STAGES == 1 && after >= begin) {
            __syncthreads(); /* all are done with the tile */
            load(after, 0);
            cp_async_commit();
        }
        stage ^= STAGES - 1;
    }

    float scale[P::R];
#pragma unroll
    for (int i = 0; i < P::R; i++)
        scale[i] = a.scale;
    query_block<P> out(a, not_before(blockIdx.x));
    attention_task<T> out_task(a, out.segment, out.head, 0);
    store_rows<P>((T *)a.dq + out_task.q_row + (size_t)out.first * out_task.q_stride,
                  out_task.q_stride, out.rows, a.head_size, out.part * P::OUT, a.aligned, dq, scale,
                  shared + L::FIRST);
}

/* Each enqueues its kernel for a whole call, as attention_forward_launch does. */
template <class P, int FEATURE, int STAGES, int BLOCKS>
int attention_reverse_keys_launch(const attention_arguments *a, cudaStream_t stream)
{
    auto kernel = attention_reverse_keys_kernel<P, FEATURE, STAGES, BLOCKS>;
    constexpr int LIST = reverse_layout<P, FEATURE, STAGES, true>::LIST;
    int group = (a->heads + a->kv_heads - 1) / a->kv_heads;
    if (LIST > a->shared_most)
        return LIST;
    attention_arguments arguments = *a;
    int bytes = LIST + list_bytes(&arguments, LIST,
                                  (long long)group * ((a->queries + P::COLUMNS - 1) / P::COLUMNS));
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
        cudaSuccess)
        return ATTENTION_BROKEN;
    LAUNCH(kernel, dim3(key_block<P>::count(a)), dim3(P::THREADS), (size_t)bytes, stream,
           arguments);
    return 0;
}

template <class P, int FEATURE, int STAGES, bool HOLD, int BLOCKS>
int attention_reverse_queries_launch(const attention_arguments *a, cudaStream_t stream)
{
    auto kernel = attention_reverse_queries_kernel<P, FEATURE, STAGES, HOLD, BLOCKS>;
    constexpr int LIST = reverse_layout<P, FEATURE, STAGES, false>::LIST;
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
