/* Products of operands that are rounded to bf16 by VDPBF16PS, which multiplies pairs and sums in float. It takes numbers below
 * 2^-126 as zero. */
#include "kernels/cpu/state.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* gcc 12 and clang 14 know the whole list by no flag of the vector files, which must run without it */
#define WITH_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

/* One step of the product: so many rows times so many vectors of 16 columns, all sums in registers (24 of 32). */
enum { ROWS = 8, VECTORS = 3, COLUMNS = 16 * VECTORS };

/* What is packed at a time: COLUMNS of a panel stay in the first cache, all of both operands in the second. */
enum { PACKED_ROWS = 256, PACKED_COLUMNS = 384, PACKED_DEPTH = 512 };

_Static_assert(PACKED_COLUMNS % COLUMNS == 0 && PACKED_ROWS % ROWS == 0 && PACKED_DEPTH % 32 == 0, "whole steps");
_Static_assert((PACKED_ROWS + PACKED_COLUMNS) * PACKED_DEPTH / 2 <= CPU_OPERANDS, "packed operands fit where those in float do");

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The first `count` of 16 numbers, zero behind them. */
WITH_BF16 static __m512 load(const float *x, size_t count)
{
    return count >= 16 ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), x);
}

/* 32 numbers as 16 pairs, the first `count` of them from x. */
WITH_BF16 static __m512i pairs_of(const float *x, size_t count)
{
    return (__m512i)_mm512_cvtne2ps_pbh(count > 16 ? load(x + 16, count - 16) : _mm512_setzero_ps(), load(x, count));
}

/* to[rows, pairs] of from[rows, depth], `ld` apart; rows up to a multiple of ROWS are zero, so that none is left as it was. */
WITH_BF16 static void pack_left(uint32_t *to, size_t pairs, const float *from, size_t ld, size_t rows, size_t depth)
{
    for (size_t r = 0; r < (rows + ROWS - 1) / ROWS * ROWS; r++)
        for (size_t at = 0; at < 2 * pairs; at += 32)
            _mm512_storeu_si512(to + r * pairs + at / 2,
                                r < rows && at < depth ? pairs_of(from + r * ld + at, depth - at) : _mm512_setzero_si512());
}

/* to[pairs, COLUMNS] of the columns of from[depth, columns], or of the rows of from[columns, depth] when transposed. */
WITH_BF16 static void pack_right(uint32_t *to, size_t pairs, const float *from, size_t ld, int transposed, size_t columns,
                                 size_t depth)
{
    uint32_t block[16][16];
    for (size_t first = 0; first < COLUMNS; first += 16) {
        size_t count = columns > first ? smaller(16, columns - first) : 0;
        if (!transposed) {
            for (size_t p = 0; p < pairs; p++) {
                const float *row = from + 2 * p * ld + first;
                __m256i low = (__m256i)_mm512_cvtneps_pbh(2 * p < depth && count ? load(row, count) : _mm512_setzero_ps());
                __m256i high = (__m256i)_mm512_cvtneps_pbh(2 * p + 1 < depth && count ? load(row + ld, count)
                                                                                      : _mm512_setzero_ps());
                _mm512_storeu_si512(to + p * COLUMNS + first,
                                    _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                                                    _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
            }
            continue;
        }
        for (size_t at = 0; at < 2 * pairs; at += 32) {
            for (size_t c = 0; c < 16; c++)
                _mm512_storeu_si512(block[c], c < count && at < depth ? pairs_of(from + (first + c) * ld + at, depth - at)
                                                                      : _mm512_setzero_si512());
            for (size_t p = 0; p < 16; p++)
                for (size_t c = 0; c < 16; c++)
                    to[(at / 2 + p) * COLUMNS + first + c] = block[c][p];
        }
    }
}

/* c[rows, columns] (+)= left[ROWS, pairs] right[pairs, COLUMNS], of which the rest is computed and not stored. */
WITH_BF16 static void step(float *c, size_t ldc, const uint32_t *left, const uint32_t *right, size_t pairs, size_t rows,
                           size_t columns, int add)
{
    __m512 sum[ROWS][VECTORS];
    for (size_t r = 0; r < ROWS; r++)
        for (size_t v = 0; v < VECTORS; v++)
            sum[r][v] = _mm512_setzero_ps();
    for (size_t p = 0; p < pairs; p++) {
        __m512bh b[VECTORS];
        for (size_t v = 0; v < VECTORS; v++)
            b[v] = (__m512bh)_mm512_loadu_si512(right + p * COLUMNS + 16 * v);
        for (size_t r = 0; r < ROWS; r++) {
            __m512bh a = (__m512bh)_mm512_set1_epi32((int)left[r * pairs + p]);
            for (size_t v = 0; v < VECTORS; v++)
                sum[r][v] = _mm512_dpbf16_ps(sum[r][v], a, b[v]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; 16 * v < columns; v++) {
            __mmask16 mask = columns - 16 * v >= 16 ? 0xffff : (__mmask16)((1u << (columns - 16 * v)) - 1);
            float *to = c + r * ldc + 16 * v;
            _mm512_mask_storeu_ps(to, mask, add ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum[r][v]) : sum[r][v]);
        }
}

void cpu_multiply_bf16(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, int transposed, size_t m,
                       size_t n, size_t depth, float beta, float *room)
{
    uint32_t *right = (uint32_t *)room, *left = right + (size_t)PACKED_COLUMNS * PACKED_DEPTH / 2;
    for (size_t column = 0; column < n; column += PACKED_COLUMNS) {
        size_t columns = smaller(n - column, PACKED_COLUMNS);
        for (size_t at = 0; at < depth; at += PACKED_DEPTH) {
            size_t some = smaller(depth - at, PACKED_DEPTH), pairs = (some + 31) / 32 * 16;
            for (size_t first = 0; first < columns; first += COLUMNS)
                pack_right(right + first * pairs, pairs,
                           b + (transposed ? (column + first) * ldb + at : at * ldb + column + first), ldb, transposed,
                           smaller(columns - first, COLUMNS), some);
            for (size_t row = 0; row < m; row += PACKED_ROWS) {
                size_t rows = smaller(m - row, PACKED_ROWS);
                pack_left(left, pairs, a + row * lda + at, lda, rows, some);
                for (size_t first = 0; first < columns; first += COLUMNS)
                    for (size_t r = 0; r < rows; r += ROWS)
                        step(c + (row + r) * ldc + column + first, ldc, left + r * pairs, right + first * pairs, pairs,
                             smaller(rows - r, ROWS), smaller(columns - first, COLUMNS), at || beta != 0);
            }
        }
    }
}

#endif
