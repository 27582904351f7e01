/* A product of operands rounded to bf16, with bf16 instructions: a piece of the depth of both is
 * packed in pairs of neighbours along it, then multiplied ROWS x COLUMNS sums at a time. The order
 * of sums depends only on the sizes: pieces from the first on, pairs in order within them. */
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/vector.h"

#ifdef __AVX512BF16__

/* 14 x 2 registers of sums, two of the right operand and one of the left. */
enum { ROWS = 14, COLUMNS = 2 * WIDTH };
/* The amounts packed and multiplied at a time, so that both operands stay in the second cache; and
 * the pairs of a packed row of the left one, an odd number of cache lines. */
enum {
    MOST_ROWS = 74 * ROWS,
    NEAR_ROWS = 16 * ROWS,
    MOST_COLUMNS = 12 * COLUMNS,
    DEPTH = 768,
    PAIRS = DEPTH / 2 + WIDTH
};
_Static_assert(PAIRS % (2 * WIDTH) == WIDTH, "rows do not fall into the same cache sets");
_Static_assert(MULTIPLY_BF16_ROOM >= MOST_ROWS * PAIRS + MOST_COLUMNS * DEPTH / 2,
               "there is room for what is packed at a time");

/* x[at .. at + WIDTH), zeros from `count` on. */
INLINE v_float load_within(const float *x, size_t at, size_t count)
{
    return at + WIDTH <= count ? v_load(x + at)
           : at < count        ? v_load_part(x + at, count - at)
                               : v_all(0);
}

/* The same for WIDTH pairs of neighbours. */
INLINE v_pairs neighbours_within(const float *x, size_t at, size_t count)
{
    return v_round_neighbours(load_within(x, at, count), load_within(x, at + WIDTH, count));
}

/* out[rows rounded up to ROWS][PAIRS] = a[rows, depth], zeros around it. */
static void pack_left(uint32_t *out, const float *a, size_t lda, size_t rows, size_t depth)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < depth; k += 2 * WIDTH)
            v_store_pairs(out + r * PAIRS + k / 2, neighbours_within(a + r * lda, k, depth));
    for (; rows % ROWS; rows++)
        memset(out + rows * PAIRS, 0, PAIRS * sizeof *out);
}

/* out[columns / COLUMNS][pairs][COLUMNS] = b[depth, columns], zeros around it. */
static void pack_right(uint32_t *out, const float *b, size_t ldb, size_t depth, size_t columns)
{
    for (size_t panel = 0; panel < columns; panel += COLUMNS)
        for (size_t k = 0; k < depth; k += 2)
            for (size_t c = panel; c < panel + COLUMNS; c += WIDTH, out += WIDTH)
                v_store_pairs(out, v_round_pairs(load_within(b + k * ldb, c, columns),
                                                 k + 1 < depth
                                                     ? load_within(b + (k + 1) * ldb, c, columns)
                                                     : v_all(0)));
}

/* Transposes the square: swaps quarters, then quarters of these. */
INLINE void transpose(v_pairs square[WIDTH])
{
    v_unsigned lane;
    for (unsigned i = 0; i < WIDTH; i++)
        lane[i] = i;
#pragma GCC unroll 4
    for (unsigned step = 1; step < WIDTH; step *= 2) {
        v_unsigned second = (v_unsigned)((lane & step) != 0);
        v_unsigned even = (lane & ~second) | ((lane - step + WIDTH) & second),
                   odd = ((lane + step) & ~second) | ((lane + WIDTH) & second);
#pragma GCC unroll 16
        for (unsigned i = 0; i < WIDTH; i++)
            if (!(i & step)) {
                v_pairs x = square[i], y = square[i + step];
                square[i] = v_choose_pairs(x, even, y);
                square[i + step] = v_choose_pairs(x, odd, y);
            }
    }
}

/* The same for b[columns, depth]. */
static void pack_right_transposed(uint32_t *out, const float *b, size_t ldb, size_t depth,
                                  size_t columns)
{
    size_t pairs = (depth + 1) / 2;
    for (size_t panel = 0; panel < columns; panel += COLUMNS, out += pairs * COLUMNS)
        for (size_t c = 0; c < COLUMNS; c += WIDTH)
            for (size_t k = 0; k < depth; k += 2 * WIDTH) {
                v_pairs square[WIDTH];
#pragma GCC unroll 16
                for (size_t i = 0; i < WIDTH; i++)
                    square[i] = panel + c + i < columns
                                    ? neighbours_within(b + (panel + c + i) * ldb, k, depth)
                                    : v_all_pairs(0);
                transpose(square);
                for (size_t i = 0; i < WIDTH && k / 2 + i < pairs; i++)
                    v_store_pairs(out + (k / 2 + i) * COLUMNS + c, square[i]);
            }
}

/* c[ROWS, COLUMNS] (+)= a b of packed pieces. */
INLINE void tile(float *c, size_t ldc, const uint32_t *a, const uint32_t *b, size_t pairs,
                 int accumulate)
{
    v_float sum[ROWS][2];
#pragma GCC unroll 14
    for (size_t r = 0; r < ROWS; r++)
        sum[r][0] = sum[r][1] = v_all(0);
#pragma GCC unroll 1
    for (size_t k = 0; k < pairs; k++, b += COLUMNS) {
        v_pairs b0 = v_load_pairs(b), b1 = v_load_pairs(b + WIDTH);
#pragma GCC unroll 14
        for (size_t r = 0; r < ROWS; r++) {
            v_pairs x = v_all_pairs(a[r * PAIRS + k]);
            sum[r][0] = v_fma_pairs(x, b0, sum[r][0]);
            sum[r][1] = v_fma_pairs(x, b1, sum[r][1]);
        }
    }
#pragma GCC unroll 14
    for (size_t r = 0; r < ROWS; r++) {
        float *out = c + r * ldc;
        v_store(out, accumulate ? v_load(out) + sum[r][0] : sum[r][0]);
        v_store(out + WIDTH, accumulate ? v_load(out + WIDTH) + sum[r][1] : sum[r][1]);
    }
}

/* The same for the part [rows, columns] of a tile. */
static void tile_part(float *c, size_t ldc, const uint32_t *a, const uint32_t *b, size_t pairs,
                      int accumulate, size_t rows, size_t columns)
{
    float whole[ROWS * COLUMNS];
    tile(whole, COLUMNS, a, b, pairs, 0);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            c[r * ldc + i] = accumulate ? c[r * ldc + i] + whole[r * COLUMNS + i]
                                        : whole[r * COLUMNS + i];
}

/* c[m, n] (+)= a b for the packed operands. */
static void multiply_packed(float *c, size_t ldc, const uint32_t *a, const uint32_t *b,
                            size_t pairs, int accumulate, size_t m, size_t n)
{
    for (size_t column = 0; column < n; column += COLUMNS)
        for (size_t row = 0; row < m; row += ROWS) {
            float *to = c + row * ldc + column;
            const uint32_t *left = a + row * PAIRS, *right = b + column * pairs;
            if (m - row >= ROWS && n - column >= COLUMNS)
                tile(to, ldc, left, right, pairs, accumulate);
            else
                tile_part(to, ldc, left, right, pairs, accumulate, smaller(ROWS, m - row),
                          smaller(COLUMNS, n - column));
        }
}

void multiply_bf16_tiles(float *c, size_t ldc, const float *a, size_t lda, const float *b,
                         size_t ldb, int transposed, size_t m, size_t n, size_t depth,
                         int accumulate, float *room)
{
    uint32_t *left = (uint32_t *)room, *right = left + MOST_ROWS * PAIRS;
    for (size_t row = 0, rows; row < m; row += rows) {
        rows = smaller(m - row, MOST_ROWS);
        for (size_t at = 0, some; at < depth; at += some) {
            some = smaller(depth - at, DEPTH);
            pack_left(left, a + row * lda + at, lda, rows, some);
            for (size_t column = 0, columns; column < n; column += columns) {
                columns = smaller(n - column, MOST_COLUMNS);
                if (transposed)
                    pack_right_transposed(right, b + column * ldb + at, ldb, some, columns);
                else
                    pack_right(right, b + at * ldb + column, ldb, some, columns);
                for (size_t near = 0; near < rows; near += NEAR_ROWS)
                    multiply_packed(c + (row + near) * ldc + column, ldc, left + near * PAIRS,
                                    right, (some + 1) / 2, accumulate || at,
                                    smaller(rows - near, NEAR_ROWS), columns);
            }
        }
    }
}

#endif
