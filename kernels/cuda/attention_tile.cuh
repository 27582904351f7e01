/* Tiles of attention in shared memory, and the two matrix products on them that all attention
 * kernels are made of:
 *
 *     score[rows, columns] = A[rows, SIZE] B[columns, SIZE]^T             multiply
 *     out[rows, OUT]      += W[rows, columns] X[columns, first .. + OUT]  accumulate, W in
 * registers as multiply left the scores
 *
 * A warp owns whole rows of score and out, so W never leaves its registers (bf16, tf32) or its own
 * strip of shared memory (f32), and warps meet only where tiles are filled. One shape of code
 * serves three types: bf16 (mma m16n8k16), tf32 (mma m16n8k8) and f32 (fused multiply-add).
 *
 * A tile is [rows, SIZE] elements, SIZE a multiple of 32 and at least the head size, with zeros
 * behind the head size. Its rows are cut into chunks of 16 bytes, and chunk c of row r lies at
 * place c ^ swizzle(r). That keeps each of these free of bank conflicts: 16-byte stores along a
 * row, ldmatrix of 8 rows at one chunk, and single words of rows 0, 2, 4, 6 (or 1, 3, 5, 7) at two
 * neighbouring chunks, as tf32 needs for X. */
#ifndef REACH_KERNELS_CUDA_ATTENTION_TILE_CUH
#define REACH_KERNELS_CUDA_ATTENTION_TILE_CUH

#include "kernels/cuda/device.cuh"

#include <stdint.h>

/* The three ways to multiply; `element` is what q, k, v and the gradients are stored as. */
struct type_bf16 {
    typedef bf16 element;
    static constexpr bool MATRIX = true, ROUND = false;
};
struct type_tf32 {
    typedef float element;
    static constexpr bool MATRIX = true, ROUND = true;
};
struct type_f32 {
    typedef float element;
    static constexpr bool MATRIX = false, ROUND = false;
};

enum { CHUNK = 16 }; /* bytes */

__device__ inline int lane_index()
{
    return (int)(threadIdx.x & 31);
}

__device__ inline int warp_index()
{
    return (int)(threadIdx.x >> 5);
}

/* Rows of an odd number of 64 bytes: two rows share a line of all 32 banks, and four places are
 * enough. */
template <int ROW_BYTES>
__device__ inline int swizzle(int row)
{
    static_assert(ROW_BYTES % 64 == 0, "a row is a whole number of half lines");
    return ROW_BYTES % 128 == 0 ? row & 7 : row >> 1 & 3;
}

/* Tiles begin at multiples of 128 bytes of the block's shared memory and are named by that offset.
 * Where chunk `chunk` of row `row` of a tile lies; and from there, chunk `chunk` + `step` of row
 * `row` + `first`, for `chunk` 0 or 1, even `step` and `first` a multiple of 8. The lane's part
 * comes first and the constants of unrolled loops last, so that they end up in the instructions
 * instead of in registers. */
template <int ROW_BYTES>
__device__ inline int tile_at(int tile, int row, int chunk)
{
    return tile + row * ROW_BYTES + (chunk ^ swizzle<ROW_BYTES>(row)) * CHUNK;
}
template <int ROW_BYTES>
__device__ inline int tile_step(int at, int first, int step)
{
    constexpr int LOW = ROW_BYTES % 128 == 0 ? 7 : 3;
    return (at ^ (step & LOW) * CHUNK) + first * ROW_BYTES + (step & ~LOW) * CHUNK;
}

/* Element (row, column) of a tile. */
template <typename T, int SIZE>
__device__ inline T *tile_element(char *tile, int row, int column)
{
    constexpr int EACH = CHUNK / (int)sizeof(T), ROW_BYTES = SIZE * (int)sizeof(T);
    return (T *)(tile + row * ROW_BYTES + ((column / EACH) ^ swizzle<ROW_BYTES>(row)) * CHUNK) +
           column % EACH;
}

/* Starts the copy of `rows` rows of x (row stride `stride` elements, `columns` of them) into a tile
 * of ROWS rows; zeros elsewhere. What a thread copies is complete for itself after cp_async_wait,
 * for the block after a barrier. `aligned`: x and its rows are whole chunks at a chunk's alignment.
 */
template <typename T, int ROWS, int SIZE, int THREADS>
__device__ inline void tile_load(char *tile, const T *x, int stride, int rows, int columns,
                                 bool aligned)
{
    constexpr int EACH = CHUNK / (int)sizeof(T), CHUNKS = SIZE / EACH,
                  ROW_BYTES = SIZE * (int)sizeof(T), ACROSS = CHUNKS < THREADS ? CHUNKS : THREADS,
                  STEP = THREADS / ACROSS;
    static_assert(THREADS % ACROSS == 0 && CHUNKS % ACROSS == 0 && ROWS % STEP == 0,
                  "a thread has the same chunks of every STEP-th row");
    int first = (int)threadIdx.x / ACROSS;
#pragma unroll
    for (int begin = 0; begin < CHUNKS; begin += ACROSS) {
        int chunk = (int)threadIdx.x % ACROSS + begin, column = chunk * EACH;
        const T *from = x + first * stride + column;
        if (aligned) {
#pragma unroll
            for (int more = 0; more < ROWS; more += STEP, from += STEP * stride) {
                bool there = first + more < rows && column < columns;
                cp_async_16(tile + (first + more) * ROW_BYTES +
                                (chunk ^ swizzle<ROW_BYTES>(first + more)) * CHUNK,
                            there ? from : x, there);
            }
        } else {
#pragma unroll 1
            for (int row = first; row < ROWS; row += STEP, from += STEP * stride) {
                T *to = (T *)(tile + row * ROW_BYTES + (chunk ^ swizzle<ROW_BYTES>(row)) * CHUNK);
#pragma unroll 1
                for (int e = 0; e < EACH; e++)
                    to[e] = row < rows && column + e < columns ? from[e] : from_float<T>(0.0f);
            }
        }
    }
}

/* Rounds what this thread has copied into the tile to tf32: the matrix units would cut the low bits
 * off. Nothing for the other types. */
template <class TYPE, int ROWS, int SIZE, int THREADS>
__device__ inline void tile_finish(char *tile)
{
    if constexpr (TYPE::ROUND) {
        constexpr int CHUNKS = SIZE / 4, ACROSS = CHUNKS < THREADS ? CHUNKS : THREADS,
                      STEP = THREADS / ACROSS;
        int first = (int)threadIdx.x / ACROSS;
#pragma unroll
        for (int begin = 0; begin < CHUNKS; begin += ACROSS) {
            int chunk = (int)threadIdx.x % ACROSS + begin;
#pragma unroll
            for (int row = first; row < first + ROWS; row += STEP) {
                float4 *at = (float4 *)(tile + row * SIZE * 4 +
                                        (chunk ^ swizzle<SIZE * 4>(row)) * CHUNK),
                       v = *at;
                *at = make_float4(__uint_as_float(to_tf32(v.x)), __uint_as_float(to_tf32(v.y)),
                                  __uint_as_float(to_tf32(v.z)), __uint_as_float(to_tf32(v.w)));
            }
        }
    }
}

/* Rows of A for multiply, in the block's tile. With HOLD their fragments are kept in registers. */
template <class P, bool HOLD>
struct row_operand {
    int tile;
    uint32_t fragment[HOLD ? P::STEPS : 1][HOLD ? P::GROUPS : 1][4];

    __device__ inline void begin(const char *shared, int from)
    {
        tile = from;
        if constexpr (HOLD) {
#pragma unroll
            for (int step = 0; step < P::STEPS; step++)
#pragma unroll
                for (int group = 0; group < P::GROUPS; group++)
                    P::load_rows(fragment[step][group], shared, tile, step, group);
        }
    }
    __device__ inline void get(uint32_t a[4], const char *shared, int step, int group) const
    {
        if constexpr (HOLD)
            for (int i = 0; i < 4; i++)
                a[i] = fragment[step][group][i];
        else
            P::load_rows(a, shared, tile, step, group);
    }
};

/* What both forms of the products below have: the block has WARPS warps; a thread has R rows of the
 * scores with C columns each, and OC columns of `out`. Row i is row() + row_offset(i), column j
 * column() + column_offset(j), output column j output_column()
 * + output_offset(j), where even j and j + 1 lie side by side; the LANES lanes that share a row are
 * neighbours. accumulate's strip is where the block has STRIP_BYTES for each warp.
 *
 * On matrix units: a warp has GROUPS groups of 16 rows. The registers of an accumulator of mma
 * m16n8 are (row g, columns 2c, 2c + 1), (row g + 8, the same columns), for lane 4g + c. */
template <class TYPE, int SIZE_, int OUT_, int GROUPS_, int COLUMNS_, int WARPS_>
struct matrix_products {
    typedef TYPE type;
    typedef typename TYPE::element element;
    static constexpr int SIZE = SIZE_, OUT = OUT_, GROUPS = GROUPS_, COLUMNS = COLUMNS_,
                         WARPS = WARPS_, THREADS = 32 * WARPS;
    static constexpr int WARP_ROWS = 16 * GROUPS, ROWS = WARP_ROWS * WARPS,
                         ROW_BYTES = SIZE * (int)sizeof(element), STEPS = ROW_BYTES / 32;
    static constexpr int R = 2 * GROUPS, C = COLUMNS / 4, OC = OUT / 4, LANES = 4, STRIP_BYTES = 0;
    static_assert(COLUMNS % 16 == 0 && OUT % 16 == 0, "columns are loaded in pairs of eight");

    static __device__ inline int row() { return warp_index() * WARP_ROWS + lane_index() / 4; }
    static __device__ inline int column() { return lane_index() % 4 * 2; }
    static __device__ inline int output_column() { return column(); }
    static __device__ constexpr int row_offset(int i) { return 8 * i; }
    static __device__ constexpr int column_offset(int j) { return 8 * (j / 2) + j % 2; }
    static __device__ constexpr int output_offset(int j) { return column_offset(j); }

    /* Two chunks (step) of 16 rows of the warp. */
    static __device__ inline void load_rows(uint32_t a[4], const char *shared, int tile, int step,
                                            int group)
    {
        int lane = lane_index(),
            at = tile_at<ROW_BYTES>(tile, warp_index() * WARP_ROWS + lane % 16, lane / 16);
        ldmatrix_x4(a, shared + tile_step<ROW_BYTES>(at, 16 * group, 2 * step));
    }

    /* c[2 group ..][2 pair ..] += a b, the accumulator of 16 rows and 8 columns. */
    template <int COUNT>
    static __device__ inline void multiply_add(float (&c)[R][COUNT], int group, int pair,
                                               const uint32_t a[4], const uint32_t b[2])
    {
        float d[4] = {c[2 * group][2 * pair], c[2 * group][2 * pair + 1],
                      c[2 * group + 1][2 * pair], c[2 * group + 1][2 * pair + 1]};
        if constexpr (sizeof(element) == 2)
            mma_bf16(d, a, b);
        else
            mma_tf32(d, a, b);
        c[2 * group][2 * pair] = d[0];
        c[2 * group][2 * pair + 1] = d[1];
        c[2 * group + 1][2 * pair] = d[2];
        c[2 * group + 1][2 * pair + 1] = d[3];
    }

    template <class OPERAND>
    static __device__ inline void multiply(float (&s)[R][C], const OPERAND &rows,
                                           const char *shared, int columns)
    {
        int lane = lane_index(),
            at = tile_at<ROW_BYTES>(columns, lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int j = 0; j < C; j++)
                s[i][j] = 0;
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            uint32_t a[GROUPS][4];
#pragma unroll
            for (int group = 0; group < GROUPS; group++)
                rows.get(a[group], shared, step, group);
#pragma unroll
            for (int pair = 0; pair < COLUMNS / 16; pair++) {
                uint32_t b[4];
                ldmatrix_x4(b, shared + tile_step<ROW_BYTES>(at, 16 * pair, 2 * step));
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
                    multiply_add(s, group, 2 * pair, a[group], b);
                    multiply_add(s, group, 2 * pair + 1, a[group], b + 2);
                }
            }
        }
    }

    /* For tf32 the sum over eight columns of W runs in the order 0, 2, 4, 6, 1, 3, 5, 7: then the
     * accumulator's registers are the left operand. */
    static __device__ inline void accumulate(float (&o)[R][OC], const float (&w)[R][C],
                                             char *shared, int x, int first, int)
    {
        constexpr int EACH = sizeof(element) == 2 ? 4 : 2; /* columns of a thread in one step */
        int lane = lane_index(), row = sizeof(element) == 2 ? lane % 16 : lane % 4 * 2,
            begin = x + first * (int)sizeof(element);
        int at = tile_at<ROW_BYTES>(begin, row, lane / 16),
            next = tile_at<ROW_BYTES>(begin, row + 1, lane / 16);
#pragma unroll
        for (int step = 0; step < C / EACH; step++) {
            uint32_t a[GROUPS][4];
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                const float *above = w[2 * group] + EACH * step,
                            *below = w[2 * group + 1] + EACH * step;
                if constexpr (sizeof(element) == 2) {
                    a[group][0] = pack_bf16(above[0], above[1]);
                    a[group][1] = pack_bf16(below[0], below[1]);
                    a[group][2] = pack_bf16(above[2], above[3]);
                    a[group][3] = pack_bf16(below[2], below[3]);
                } else {
                    a[group][0] = to_tf32(above[0]);
                    a[group][1] = to_tf32(below[0]);
                    a[group][2] = to_tf32(above[1]);
                    a[group][3] = to_tf32(below[1]);
                }
            }
#pragma unroll
            for (int pair = 0; pair < OUT / 16; pair++) {
                uint32_t b[4];
                if constexpr (sizeof(element) == 2) {
                    ldmatrix_x4_trans(b, shared + tile_step<ROW_BYTES>(at, 16 * step, 2 * pair));
                } else {
                    const char *word = shared + (lane / 4 & 3) * 4;
                    b[0] = *(const uint32_t *)(word + tile_step<ROW_BYTES>(at, 8 * step, 4 * pair));
                    b[1] = *(const uint32_t *)(word +
                                               tile_step<ROW_BYTES>(next, 8 * step, 4 * pair));
                    b[2] = *(const uint32_t *)(word +
                                               tile_step<ROW_BYTES>(at, 8 * step, 4 * pair + 2));
                    b[3] = *(const uint32_t *)(word +
                                               tile_step<ROW_BYTES>(next, 8 * step, 4 * pair + 2));
                }
#pragma unroll
                for (int group = 0; group < GROUPS; group++) {
                    multiply_add(o, group, 2 * pair, a[group], b);
                    multiply_add(o, group, 2 * pair + 1, a[group], b + 2);
                }
            }
        }
    }
};

/* On fused multiply-add (the compiler fuses): a warp has 8 rows, half of its lanes 4 of them. A sum
 * runs over its terms in order.
 */
template <class TYPE, int SIZE_, int OUT_, int COLUMNS_, int WARPS_>
struct fused_products {
    typedef TYPE type;
    typedef typename TYPE::element element;
    static constexpr int SIZE = SIZE_, OUT = OUT_, GROUPS = 1, COLUMNS = COLUMNS_, WARPS = WARPS_,
                         THREADS = 32 * WARPS;
    static constexpr int WARP_ROWS = 8, ROWS = WARP_ROWS * WARPS, ROW_BYTES = SIZE * 4, STEPS = 1;
    static constexpr int R = 4, C = COLUMNS / 16, OC = OUT / 16, LANES = 16;
    static constexpr int STRIP = COLUMNS + 4,
                         STRIP_BYTES = WARP_ROWS * STRIP *
                                       4; /* floats of a row, padded against bank conflicts */
    static_assert(COLUMNS % 16 == 0 && OUT % 64 == 0, "half a warp covers the columns, four each");

    static __device__ inline int row() { return warp_index() * WARP_ROWS + lane_index() / 16 * 4; }
    static __device__ inline int column() { return lane_index() % 16; }
    static __device__ inline int output_column() { return lane_index() % 16 * 4; }
    static __device__ constexpr int row_offset(int i) { return i; }
    static __device__ constexpr int column_offset(int j) { return 16 * j; }
    static __device__ constexpr int output_offset(int j) { return 64 * (j / 4) + j % 4; }

    static __device__ inline void load_rows(uint32_t *, const char *, int, int, int) {}

    template <class OPERAND>
    static __device__ inline void multiply(float (&s)[R][C], const OPERAND &rows,
                                           const char *shared, int columns)
    {
        int first = row(), column_row = column();
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int j = 0; j < C; j++)
                s[i][j] = 0;
#pragma unroll 2
        for (int chunk = 0; chunk < SIZE / 4; chunk++) {
            float4 a[R], b[C];
#pragma unroll
            for (int i = 0; i < R; i++)
                a[i] = *(const float4 *)(shared + tile_at<ROW_BYTES>(rows.tile, first + i, chunk));
#pragma unroll
            for (int j = 0; j < C; j++)
                b[j] = *(const float4 *)(shared +
                                         tile_at<ROW_BYTES>(columns, column_row + 16 * j, chunk));
#pragma unroll
            for (int i = 0; i < R; i++)
#pragma unroll
                for (int j = 0; j < C; j++) {
                    s[i][j] += a[i].x * b[j].x;
                    s[i][j] += a[i].y * b[j].y;
                    s[i][j] += a[i].z * b[j].z;
                    s[i][j] += a[i].w * b[j].w;
                }
        }
    }

    static __device__ inline void accumulate(float (&o)[R][OC], const float (&w)[R][C],
                                             char *shared, int x, int first, int strip)
    {
        float *weight = (float *)(shared + strip + warp_index() * STRIP_BYTES) +
                        lane_index() / 16 * 4 * STRIP;
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int j = 0; j < C; j++)
                weight[i * STRIP + column() + 16 * j] = w[i][j];
        __syncwarp();
#pragma unroll 1
        for (int from = 0; from < COLUMNS; from += 4) {
            float4 a[R];
#pragma unroll
            for (int i = 0; i < R; i++)
                a[i] = *(const float4 *)(weight + i * STRIP + from);
#pragma unroll
            for (int k = 0; k < 4; k++)
#pragma unroll
                for (int part = 0; part < OC / 4; part++) {
                    int chunk = (first + output_column()) / 4 + 16 * part;
                    float4 b = *(const float4 *)(shared + tile_at<ROW_BYTES>(x, from + k, chunk));
#pragma unroll
                    for (int i = 0; i < R; i++) {
                        float factor = k == 0 ? a[i].x : k == 1 ? a[i].y : k == 2 ? a[i].z : a[i].w;
                        o[i][4 * part] += factor * b.x;
                        o[i][4 * part + 1] += factor * b.y;
                        o[i][4 * part + 2] += factor * b.z;
                        o[i][4 * part + 3] += factor * b.w;
                    }
                }
        }
        __syncwarp();
    }
};

/* The largest (sum) over the lanes that share a row, the same in each of them. */
template <class P>
__device__ inline float row_largest(float x)
{
#pragma unroll
    for (int distance = 1; distance < P::LANES; distance *= 2)
        x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, distance));
    return x;
}
template <class P>
__device__ inline float row_sum(float x)
{
#pragma unroll
    for (int distance = 1; distance < P::LANES; distance *= 2)
        x += __shfl_xor_sync(FULL_WARP, x, distance);
    return x;
}

/* Writes factor[i] * o to the warp's rows of out (row stride `stride` elements), columns first ..
 * first + OUT - 1 as far as they are below `columns`, rows below `rows` of the block. Goes through
 * the warp's own rows of `tile`, which only that warp reads from now on. */
template <class P>
__device__ inline void store_rows(typename P::element *out, size_t stride, int rows, int columns,
                                  int first, bool aligned, const float (&o)[P::R][P::OC],
                                  const float (&factor)[P::R], char *tile)
{
    typedef typename P::element T;
    constexpr int EACH = CHUNK / (int)sizeof(T), CHUNKS = P::OUT / EACH;
    int top = warp_index() * P::WARP_ROWS;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < P::R; i++)
#pragma unroll
        for (int j = 0; j < P::OC; j += 2) {
            float pair[2] = {factor[i] * o[i][j], factor[i] * o[i][j + 1]};
            store_floats<2>(tile_element<T, P::SIZE>(tile, P::row() + P::row_offset(i),
                                                     P::output_column() + P::output_offset(j)),
                            pair);
        }
    __syncwarp();
    for (int at = lane_index(); at < P::WARP_ROWS * CHUNKS; at += 32) {
        int row = top + at / CHUNKS, column = at % CHUNKS * EACH;
        const T *from = tile_element<T, P::SIZE>(tile, row, column);
        T *to = out + (size_t)row * stride + (size_t)(first + column);
        if (row >= rows || first + column >= columns)
            continue;
        if (aligned)
            *(uint4 *)to = *(const uint4 *)from;
        else
            for (int e = 0; e < EACH && first + column + e < columns; e++)
                to[e] = from[e];
    }
}

#endif
