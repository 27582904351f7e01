/* Products of pairs of bf16 by AMX: eight tiles of 16 rows of 64 bytes, of which four hold sums and
 * two each the operands. TDPBF16PS adds the products of 16 pairs to each of 16 x 16 sums: those of
 * the first numbers of the pairs, in order, those of the second ones, then both, then to the sum;
 * denormal factors and results are 0 (Intel 64 and IA-32 Architectures Software Developer's Manual,
 * volume 2).
 *
 * A thread's tiles have a shape between tiles_begin and tiles_end alone: the system then keeps none
 * for it. With other instruction sets both do nothing. tests/amx runs all of this where no
 * processor has the instructions. */
#ifndef REACH_KERNELS_CPU_VECTOR_TILES_H
#define REACH_KERNELS_CPU_VECTOR_TILES_H

#include "kernels/cpu/vector/vector.h"

#ifdef __AMX_BF16__

enum { TILE = WIDTH, TILES_ROWS = 2 * TILE };
_Static_assert(TILE == 16, "a row of a tile is a vector");

INLINE void tiles_begin(void)
{
    struct {
        uint8_t palette, start_row, zero[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shape = {.palette = 1};
    _Static_assert(sizeof shape == 64, "as the instruction reads it");
    for (int i = 0; i < 8; i++) {
        shape.row_bytes[i] = TILE * sizeof(uint32_t);
        shape.rows[i] = TILE;
    }
    __asm__ volatile("" : : "r"(&shape) : "memory");
    _tile_loadconfig(&shape);
}

INLINE void tiles_end(void)
{
    _tile_release();
}

/* Compilers need not know that the instruction reads memory: what was stored there must be there
 * before it, and stay until after it. */
#define TILE_LOAD(number, from) \
    do { \
        struct tile_pairs pairs = (from); \
        __asm__ volatile("" : : "r"(pairs.at) : "memory"); \
        _tile_loadd(number, pairs.at, pairs.apart * sizeof *pairs.at); \
        __asm__ volatile("" : : "r"(pairs.at) : "memory"); \
    } while (0)

/* Pairs to load a tile from. */
struct tile_pairs {
    const uint32_t *at;
    size_t apart; /* from row to row */
};

/* The first rows of a tile; the others are zeros, in a copy. */
INLINE struct tile_pairs tile_rows(uint32_t copy[TILE * TILE], const uint32_t *x, size_t apart,
                                   size_t rows)
{
    if (rows >= TILE)
        return (struct tile_pairs){x, apart};
    for (size_t r = 0; r < TILE; r++)
        v_store_pairs(copy + r * TILE,
                      r < rows ? v_load_pairs(x + r * apart) : (v_pairs)v_all_pairs(0));
    return (struct tile_pairs){copy, TILE};
}

/* The same of a left operand that is stored transposed: its first columns. */
INLINE struct tile_pairs tile_columns(uint32_t copy[TILE * TILE], const uint32_t *x, size_t apart,
                                      size_t columns)
{
    v_pairs square[TILE];
#pragma GCC unroll 16
    for (size_t k = 0; k < TILE; k++)
        square[k] = k < columns ? v_load_pairs(x + k * apart) : v_all_pairs(0);
    v_transpose_pairs(square);
#pragma GCC unroll 16
    for (size_t r = 0; r < TILE; r++)
        v_store_pairs(copy + r * TILE, square[r]);
    return (struct tile_pairs){copy, TILE};
}

/* c[rows, vectors * WIDTH] (+)= sum over pairs k < depth of A(row, k) B[k], up to TILES_ROWS rows
 * and 2 vectors. A(row, k) = a[row * lda + k], zero from `depth` up to whole tiles; or, when
 * transposed, a[k * lda + row], whose rows are readable up to whole tiles. */
INLINE void tiles_multiply(float *c, size_t ldc, const uint32_t *a, size_t lda, const uint32_t *b,
                           size_t ldb, size_t depth, int accumulate, size_t rows, int vectors,
                           int transposed)
{
    float sums[TILES_ROWS * 2 * WIDTH] __attribute__((aligned(64)));
    uint32_t copy[TILE * TILE] __attribute__((aligned(64)));
    int tall = rows > TILE, wide = vectors > 1, direct = !accumulate && wide && rows == TILES_ROWS;
    float *to = direct ? c : sums;
    size_t apart = direct ? ldc : 2 * WIDTH;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t k = 0; k < depth; k += TILE) {
        const uint32_t *left = a + k * (transposed ? lda : 1), *right = b + k * ldb;
        size_t step = transposed ? 1 : lda;
        TILE_LOAD(6, tile_rows(copy, right, ldb, depth - k));
        if (wide)
            TILE_LOAD(7, tile_rows(copy, right + WIDTH, ldb, depth - k));
        TILE_LOAD(4, transposed ? tile_columns(copy, left, lda, depth - k)
                                : tile_rows(copy, left, lda, rows));
        _tile_dpbf16ps(0, 4, 6);
        if (wide)
            _tile_dpbf16ps(1, 4, 7);
        if (!tall)
            continue;
        left += TILE * step;
        TILE_LOAD(5, transposed ? tile_columns(copy, left, lda, depth - k)
                                : tile_rows(copy, left, lda, rows - TILE));
        _tile_dpbf16ps(2, 5, 6);
        if (wide)
            _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, to, apart * sizeof *to);
    _tile_stored(1, to + WIDTH, apart * sizeof *to);
    _tile_stored(2, to + TILE * apart, apart * sizeof *to);
    _tile_stored(3, to + TILE * apart + WIDTH, apart * sizeof *to);
    __asm__ volatile("" : : : "memory");
    for (size_t r = 0; !direct && r < rows; r++)
        for (size_t i = 0; i < (size_t)vectors * WIDTH; i += WIDTH) {
            v_float sum = v_load(sums + r * 2 * WIDTH + i);
            v_store(c + r * ldc + i, accumulate ? v_load(c + r * ldc + i) + sum : sum);
        }
}

#else

INLINE void tiles_begin(void) {}

INLINE void tiles_end(void) {}

#endif

#endif
