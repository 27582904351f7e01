/* What the kernels of recurrences are made of: CHUNK rows of a head, their decays, products of
 * tiles of CHUNK x CHUNK, and the triangular systems of the delta rule. With b_i the sum of the
 * log decays of the chunk's rows 0 .. i, in double, a decay between rows is e^(b_i - b_j), j <= i:
 * no product of decays is divided by. All else is float, in an order that follows from the sizes of
 * one head. */
#ifndef REACH_KERNELS_CUDA_RECURRENCE_CHUNK_CUH
#define REACH_KERNELS_CUDA_RECURRENCE_CHUNK_CUH

#include "kernels/cuda/state.cuh"

enum {
    CHUNK = 64,
    DEPTH = 16,
    SIDE = 16,
    EACH = CHUNK / SIDE,
    BLOCK = SIDE * SIDE,
    SPAN_CHUNKS = RECURRENCE_SPAN / CHUNK
};

/* A recurrence as kernels get it. T: of queries and keys; V: of values, outputs and their
 * gradients. */
template <class T, class V>
struct recurrence_task {
    const T *qkv;
    const V *value; /* of head 0, row 0 */
    const V *d_out; /* [segments*queries, heads, dv]; NULL: 1 everywhere */
    const float *gates, *skip; /* skip NULL: 0 */
    int heads, key_heads, dk, dv, delta, queries, keys;
    int width, value_width; /* from row to row of qkv, of value */
    float scale;
};

/* Rows first .. of one head. */
template <class T, class V>
struct chunk {
    const T *query_row, *key_row;
    const V *value_row, *d_out;
    const float *gate;
    long out_row; /* of `d_out` and of outputs, of the chunk's row 0; below 0 there is none */
    int count, read; /* rows; the first one whose output is read, `count` if there is none */
    int width, value_width, out_width, gate_width, dk, dv;
    float scale, skip;

    __device__ float query(int row, int i) const
    {
        return row < count && i < dk ? to_float(query_row[row * width + i]) : 0;
    }
    __device__ float key(int row, int i) const
    {
        return row < count && i < dk ? to_float(key_row[row * width + i]) : 0;
    }
    __device__ float value(int row, int column) const
    {
        return row < count && column < dv ? to_float(value_row[row * value_width + column]) : 0;
    }
    /* Where the output of a row is that is read. */
    __device__ size_t out_at(int row, int column) const
    {
        return (size_t)(out_row + row) * (size_t)out_width + (size_t)column;
    }
    __device__ float d_o(int row, int column) const
    {
        if (row < read || row >= count || column >= dv)
            return 0;
        return d_out ? to_float(d_out[out_at(row, column)]) : 1;
    }
    /* Of a matrix [dk, dv] in memory. */
    __device__ float state(const float *S, int i, int column) const
    {
        return i < dk && column < dv ? S[i * dv + column] : 0;
    }
    /* Of rows [count, dv] in memory. */
    __device__ float row_of(const float *rows, int row, int column) const
    {
        return row < count && column < dv ? rows[row * dv + column] : 0;
    }
};

/* The chunk that begins with row `first`; head counts those of all segments. */
template <class T, class V>
__device__ static struct chunk<T, V> chunk_at(const struct recurrence_task<T, V> &a, size_t head,
                                              int first) {
    struct chunk<T, V> c;
    size_t segment = head / (size_t)a.heads, row = segment * (size_t)a.keys + (size_t)first;
    int h = (int)(head % (size_t)a.heads), unread = a.keys - a.queries - first;
    c.query_row = a.qkv + row * (size_t)a.width + (long)h * a.key_heads / a.heads * a.dk;
    c.key_row = c.query_row + a.key_heads * a.dk;
    c.value_row = a.value ? a.value + row * (size_t)a.value_width + h * a.dv : a.value;
    c.d_out = a.d_out ? a.d_out + h * a.dv : a.d_out;
    c.gate = a.gates + row * 2 * (size_t)a.heads + h;
    c.out_row = (long)segment * a.queries - unread;
    c.count = min(a.keys - first, (int)CHUNK);
    c.read = min(max(unread, 0), c.count);
    c.width = a.width, c.value_width = a.value_width, c.out_width = a.heads * a.dv;
    c.gate_width = 2 * a.heads, c.dk = a.dk, c.dv = a.dv;
    c.scale = a.scale, c.skip = a.skip ? a.skip[h] : 0;
    return c;
}

/* Shared memory of a block. */
struct chunk_space {
    alignas(16) float left[DEPTH][CHUNK + EACH];
    float right[DEPTH][CHUNK + 1];
    float first[CHUNK][CHUNK + 1], second[CHUNK][CHUNK + 1];
    double log_decay[CHUNK]; /* b */
    float before[CHUNK], behind[CHUNK]; /* e^b_i, and e^(b - b_i) with the last b */
    float step[CHUNK]; /* 0 behind the last row */
    float sums[3][CHUNK];
};

/* e^x for x <= 0: the part of x that a float leaves out counts. */
__device__ static inline float decay_of(double x)
{
    if (x < -128)
        return 0;
    float high = (float)x, kept = expf(high);
    return kept + kept * (float)(x - high);
}

__device__ static inline float decay_between(const struct chunk_space *s, int i, int j)
{
    return decay_of(s->log_decay[i] - s->log_decay[j]);
}

/* What the state before a chunk keeps at its end. */
__device__ static inline float decay_of_all(const struct chunk_space *s)
{
    return s->before[CHUNK - 1];
}

/* A log decay: what is below this leaves nothing, and sums remain finite and exact enough. */
__device__ static inline double log_decay_of(float l)
{
    return l < -1e6f ? -1e6 : (double)l;
}

/* Decays and steps of a chunk into shared memory; begins and ends with a barrier. */
template <class T, class V>
__device__ static void begin_chunk(struct chunk_space *s, const struct chunk<T, V> &c)
{
    int at = (int)threadIdx.x;
    __syncthreads(); /* the chunk before is done */
    if (at < WARP) {
        int i = 2 * at;
        double first = i < c.count ? log_decay_of(c.gate[i * c.gate_width]) : 0,
               sum = first + (i + 1 < c.count ? log_decay_of(c.gate[(i + 1) * c.gate_width]) : 0);
        for (int by = 1; by < WARP; by *= 2) {
            double other = __shfl_up_sync(FULL_WARP, sum, (unsigned)by);
            sum += at >= by ? other : 0;
        }
        double earlier = __shfl_up_sync(FULL_WARP, sum, 1);
        s->log_decay[i] = (at ? earlier : 0) + first;
        s->log_decay[i + 1] = sum;
    }
    __syncthreads();
    if (at < CHUNK) {
        s->step[at] = at < c.count ? c.gate[at * c.gate_width + c.gate_width / 2] : 0;
        s->before[at] = decay_of(s->log_decay[at]);
        s->behind[at] = decay_between(s, CHUNK - 1, at);
    }
    __syncthreads();
}

/* A thread's part of a tile: rows tile_row() .. + EACH - 1, and of each every SIDEth column from
 * tile_column(). Runs body(i, j, row, column). */
__device__ static inline int tile_row(void)
{
    return (int)threadIdx.x / SIDE * EACH;
}

__device__ static inline int tile_column(void)
{
    return (int)threadIdx.x % SIDE;
}

template <class F>
__device__ static inline void for_tile(F body)
{
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
            body(i, j, tile_row() + i, tile_column() + SIDE * j);
}

/* The sum over the threads that have a row of a tile. */
__device__ static inline float tile_row_sum(float x)
{
    for (int by = SIDE / 2; by; by /= 2)
        x += __shfl_xor_sync(FULL_WARP, x, by);
    return x;
}

/* out += a b, a(row, l) and b(l, column), l = 0 .. depth - 1; both are asked for up to the next
 * multiple of DEPTH, and give 0 there. A_DEEP, B_DEEP: numbers of neighbouring l are neighbours in
 * memory, else those of neighbouring rows or columns. What a and b read has been written before a
 * barrier, or this function's first, and is not read any more when it returns. */
template <bool A_DEEP, bool B_DEEP, class A, class B>
__device__ static void multiply(float out[EACH][EACH], struct chunk_space *s, int depth, A a, B b)
{
    for (int from = 0; from < depth; from += DEPTH) {
        __syncthreads();
        for (int e = (int)threadIdx.x; e < CHUNK * DEPTH; e += BLOCK) {
            int l = A_DEEP ? e % DEPTH : e / CHUNK, side = A_DEEP ? e / DEPTH : e % CHUNK;
            s->left[l][side] = a(side, from + l);
            l = B_DEEP ? e % DEPTH : e / CHUNK, side = B_DEEP ? e / DEPTH : e % CHUNK;
            s->right[l][side] = b(from + l, side);
        }
        __syncthreads();
#pragma unroll 4
        for (int l = 0; l < DEPTH; l++) {
            float x[EACH];
            load_floats<EACH>(x, &s->left[l][tile_row()]);
            for_tile(
                [&](int i, int j, int, int column) { out[i][j] += x[i] * s->right[l][column]; });
        }
    }
}

/* to[i][j] = left_i . key_j e^(b_i - b_j) for j <= i, or with BELOW j < i; 0 elsewhere. */
template <bool BELOW, class T, class V, class A>
__device__ static void weigh_pairs(float to[CHUNK][CHUNK + 1], struct chunk_space *s,
                                   const struct chunk<T, V> &c, A left)
{
    float x[EACH][EACH] = {};
    multiply<true, true>(x, s, c.dk, left, [&](int l, int j) { return c.key(j, l); });
    for_tile([&](int i, int j, int row, int column) {
        to[row][column] = column < row + !BELOW ? x[i][j] * decay_between(s, row, column) : 0;
    });
}

/* second := (I + L step)^-1 second, with L in first, 0 from the diagonal on; then a barrier. */
__device__ static void solve_down(struct chunk_space *s, int count)
{
    int column = (int)threadIdx.x % CHUNK;
    for (int j = 0; j + 1 < count; j++) {
        __syncthreads();
        float factor = s->step[j] * s->second[j][column];
        for (int i = j + 1 + (int)threadIdx.x / CHUNK; i < count; i += BLOCK / CHUNK)
            s->second[i][column] -= s->first[i][j] * factor;
    }
    __syncthreads();
}

/* The same with the transpose of step L. */
__device__ static void solve_up(struct chunk_space *s, int count)
{
    int column = (int)threadIdx.x % CHUNK;
    for (int i = count - 1; i > 0; i--) {
        __syncthreads();
        float factor = s->step[i] * s->second[i][column];
        for (int j = (int)threadIdx.x / CHUNK; j < i; j += BLOCK / CHUNK)
            s->second[j][column] -= s->first[i][j] * factor;
    }
    __syncthreads();
}

#endif
