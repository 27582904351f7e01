/* Small matrix products with operands in the near caches: C (+)= A B, one micro-tile of TILE_ROWS x
 * 2 vectors held in registers at a time.
 *
 * B is read in panels of PANEL columns: panel p begins at b + p panel_stride, its rows ldb apart. A
 * is read one group at a time and broadcast to a vector, so that A^T costs the same as A. Every
 * array is padded with readable memory to whole panels of columns. */
#ifndef REACH_KERNELS_CPU_VECTOR_PRODUCT_H
#define REACH_KERNELS_CPU_VECTOR_PRODUCT_H

#include "kernels/cpu/vector/tiles.h"
#include "kernels/cpu/vector/vector.h"

#if defined(__AVX512BF16__) && !defined(PRODUCT_FLOATS)
#define PRODUCT_PAIRS
#endif
#if defined(PRODUCT_PAIRS) && defined(__AMX_BF16__)
#define PRODUCT_TILES
#endif

/* Sixteen vector registers hold 6 x 2 sums, a row of B and an element of A; thirty-two would hold
 * 14 x 2, but 12 rows divide the blocks of attention. AMX's tiles (tiles.h) hold 32 x 2. */
#ifdef PRODUCT_TILES
enum { TILE_ROWS = TILES_ROWS };
#else
enum { TILE_ROWS = VECTOR_WIDTH == 16 ? 12 : 6 };
#endif
enum { PANEL = 2 * VECTOR_WIDTH };
enum { B_AHEAD = 12 }; /* rows of B that are fetched ahead: they lie in the second cache */

/* The unit of a factor: GROUP adjacent numbers along the depth, either floats or, with instructions
 * for them and unless PRODUCT_FLOATS is defined, pairs of bf16. Pairs take the place of the floats,
 * so that a group is as wide as a float. */
#ifdef PRODUCT_PAIRS
enum { GROUP = 2 };
typedef uint32_t group __attribute__((may_alias));
typedef v_pairs v_group;

INLINE v_group v_load_group(const group *p)
{
    return v_load_pairs((const uint32_t *)p);
}

INLINE v_group v_all_group(group x)
{
    return v_all_pairs(x);
}

INLINE v_float v_fma_group(v_group a, v_group b, v_float c)
{
    return v_fma_pairs(a, b, c);
}
#else
enum { GROUP = 1 };
typedef float group;
typedef v_float v_group;

INLINE v_group v_load_group(const group *p)
{
    return v_load(p);
}

INLINE v_group v_all_group(group x)
{
    return v_all(x);
}

INLINE v_float v_fma_group(v_group a, v_group b, v_float c)
{
    return v_fma(a, b, c);
}
#endif

INLINE size_t round_up(size_t x, size_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Floats between rows of a factor: whole panels, an odd number of cache lines. */
INLINE size_t row_ld(int columns)
{
    size_t lines = round_up(round_up((size_t)columns, PANEL), 16) / 16;
    return (lines | 1) * 16;
}

INLINE int groups(int depth)
{
    return (depth + GROUP - 1) / GROUP;
}

/* Packs the rows of a left factor, ld apart, in groups along them: x itself, or rounded into `to`,
 * which may be x. columns: whole panels. */
INLINE const group *group_along_rows(float *to, const float *x, size_t ld, int rows, int columns)
{
#ifdef PRODUCT_PAIRS
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c += PANEL) {
            const float *from = x + (size_t)r * ld + c;
            v_store_pairs((uint32_t *)to + (size_t)r * ld + c / 2,
                          v_round_neighbours(v_load(from), v_load(from + WIDTH)));
        }
    return (const group *)to;
#else
    (void)to, (void)ld, (void)rows, (void)columns;
    return x;
#endif
}

/* The same for a right factor, or a transposed left one, whose depth is the rows; row r of groups
 * starts at row r GROUP. columns: whole vectors. */
INLINE const group *group_along_columns(float *to, const float *x, size_t ld, int rows, int columns)
{
#ifdef PRODUCT_PAIRS
    for (int r = 0; r < rows; r += GROUP)
        for (int c = 0; c < columns; c += WIDTH) {
            const float *from = x + (size_t)r * ld + c;
            v_store_pairs((uint32_t *)to + (size_t)(r / GROUP) * ld + c,
                          v_round_pairs(v_load(from), r + 1 < rows ? v_load(from + ld) : v_all(0)));
        }
    return (const group *)to;
#else
    (void)to, (void)ld, (void)rows, (void)columns;
    return x;
#endif
}

/* C[rows, vectors * WIDTH] (+)= sum over groups k < depth of A(row, k) B[k]. A(row, k) = a[row *
 * lda + k], or a[k * lda + row] when transposed. */
#ifdef PRODUCT_TILES
INLINE void product_tile(float *c, size_t ldc, const group *a, size_t lda, const group *b,
                         size_t ldb, size_t depth, int accumulate, const int rows,
                         const int vectors, const int transposed)
{
    tiles_multiply(c, ldc, (const uint32_t *)a, lda, (const uint32_t *)b, ldb, depth, accumulate,
                   (size_t)rows, vectors, transposed);
}
#else
INLINE void product_tile(float *c, size_t ldc, const group *a, size_t lda, const group *b,
                         size_t ldb, size_t depth, int accumulate, const int rows,
                         const int vectors, const int transposed)
{
    const uintptr_t ahead = B_AHEAD * ldb * sizeof *b; /* may be beyond the end of B */
    v_float sum[TILE_ROWS][2];
    const group *third[TILE_ROWS / 3]; /* every third row of A: few registers reach all rows */
#pragma GCC unroll 4
    for (int i = 0; i < TILE_ROWS / 3; i++)
        third[i] = a + (3 * i < rows ? (size_t)(3 * i) * lda : 0);
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = v_all(0);
#pragma GCC unroll 2
    for (size_t k = 0; k < depth; k++) {
        v_group b0 = v_load_group(b), b1 = vectors > 1 ? v_load_group(b + WIDTH) : b0;
#pragma GCC unroll 2
        for (int i = 0; i < vectors * WIDTH; i += 16)
            __builtin_prefetch((const void *)((uintptr_t)(b + i) + ahead));
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            v_group x = v_all_group(transposed ? a[r] : third[r / 3][(size_t)(r % 3) * lda]);
            sum[r][0] = v_fma_group(x, b0, sum[r][0]);
            if (vectors > 1)
                sum[r][1] = v_fma_group(x, b1, sum[r][1]);
        }
#pragma GCC unroll 4
        for (int i = 0; i < TILE_ROWS / 3; i++)
            third[i]++;
        if (transposed)
            a += lda;
        b += ldb;
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        float *out = c + (size_t)r * ldc;
        v_store(out, accumulate ? v_load(out) + sum[r][0] : sum[r][0]);
        if (vectors > 1)
            v_store(out + WIDTH, accumulate ? v_load(out + WIDTH) + sum[r][1] : sum[r][1]);
    }
}
#endif

/* The part of C = A B that a causal mask keeps. Entry (r, k) of the masked operand or result is
 * kept where k <= r + diagonal. */
enum product_mask {
    MASK_NONE,
    MASK_RESULT, /* C(r, c) is not needed for c > r + diagonal (skips whole panels of a tile) */
    MASK_LEFT, /* A(r, k) = 0 for k > r + diagonal */
    MASK_LEFT_T /* A(r, k) = 0 for r > k + diagonal: A is the transpose of a masked block */
};

/* Rows of the next tile of m. */
INLINE int next_rows(int m)
{
#ifdef PRODUCT_TILES
    return m < TILE_ROWS ? m : TILE_ROWS;
#else
    return m >= TILE_ROWS ? TILE_ROWS : m >= 4 ? 4 : m >= 2 ? 2 : 1;
#endif
}

/* C[m, n] (+)= A[m, depth] B[depth, n] of factors in groups; n is rounded up to whole vectors,
 * depth to whole groups, beyond which A or B is zero. C is in panels of PANEL columns too,
 * result_stride apart: PANEL if its rows are whole. */
INLINE void product(float *c, size_t result_stride, size_t ldc, const group *a, size_t lda,
                    const group *b, size_t panel_stride, size_t ldb, int m, int n, int depth,
                    int accumulate, const int transposed, enum product_mask mask, int diagonal)
{
    for (int column = 0; column < n; column += PANEL, b += panel_stride, c += result_stride) {
        int wide = n - column > WIDTH;
        for (int row = 0, rows; row < m; row += rows) {
            rows = next_rows(m - row);
            int first = 0, end = depth;
            if (mask == MASK_RESULT && column > row + rows - 1 + diagonal)
                continue;
            if (mask == MASK_LEFT && row + rows + diagonal < end)
                end = row + rows + diagonal > 0 ? row + rows + diagonal : 0;
            if (mask == MASK_LEFT_T && row - diagonal > 0)
                first = row - diagonal < end ? row - diagonal : end;
            first /= GROUP;
            float *to = c + (size_t)row * ldc;
            const group *left = a + (transposed ? (size_t)first * lda + (size_t)row
                                                : (size_t)row * lda + (size_t)first),
                        *right = b + (size_t)first * ldb;
            size_t count = (size_t)(groups(end) - first);
#define TILE(constant) \
    do { \
        if (wide) \
            product_tile(to, ldc, left, lda, right, ldb, count, accumulate, constant, 2, \
                         transposed); \
        else \
            product_tile(to, ldc, left, lda, right, ldb, count, accumulate, constant, 1, \
                         transposed); \
    } while (0)
#ifdef PRODUCT_TILES
            TILE(rows);
#else
            switch (rows) {
            case TILE_ROWS: TILE(TILE_ROWS); break;
            case 4: TILE(4); break;
            case 2: TILE(2); break;
            default: TILE(1); break;
            }
#endif
#undef TILE
        }
    }
}

#endif
