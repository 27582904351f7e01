/* A product of operands rounded to bf16, or written as sums of two such numbers, with bf16
 * instructions, of vectors or of tiles: a piece of the depth of both is packed in pairs of
 * neighbours along it, then multiplied ROWS x COLUMNS sums at a time. The three products of sums
 * are one of three times the depth: of (high, high, low) and (high, low, high). The order of sums
 * depends only on the sizes: pieces from the first on, pairs in order within them. */
#include "kernels/cpu/vector/kernels.h"
#include "kernels/cpu/vector/tiles.h"

#ifdef __AVX512BF16__

#ifdef __AMX_BF16__
enum { ROWS = TILES_ROWS, COLUMNS = 2 * WIDTH };
#else
/* 14 x 2 registers of sums, two of the right operand and one of the left. */
enum { ROWS = 14, COLUMNS = 2 * WIDTH };
#endif
/* The amounts packed and multiplied at a time, so that both operands stay in the second cache; and
 * the pairs of a packed row of the left one, an odd number of cache lines. */
enum {
    MOST_ROWS = 1036 / ROWS * ROWS,
    NEAR_ROWS = 224 / ROWS * ROWS,
    MOST_COLUMNS = 12 * COLUMNS,
    DEPTH = 768,
    PAIRS = DEPTH / 2 + WIDTH
};
_Static_assert(PAIRS % (2 * WIDTH) == WIDTH, "rows do not fall into the same cache sets");
_Static_assert(DEPTH % (3 * 2 * WIDTH) == 0, "each of three terms is whole vectors");
_Static_assert(MULTIPLY_BF16_ROOM >= MOST_ROWS * PAIRS + MOST_COLUMNS * DEPTH / 2,
               "there is room for what is packed at a time");

/* x[at .. at + WIDTH), zeros from `count` on. */
INLINE v_float load_within(const float *x, size_t at, size_t count)
{
    return at + WIDTH <= count ? v_load(x + at)
           : at < count        ? v_load_part(x + at, count - at)
                               : v_all(0);
}

/* The pairs of a part of a packed row: with three terms whole vectors, the last filled with zeros.
 */
INLINE size_t part_pairs(size_t depth, int terms)
{
    size_t pairs = (depth + 1) / 2;
    return terms == 1 ? pairs : (pairs + WIDTH - 1) / WIDTH * WIDTH;
}

/* A left operand's packed row is its numbers or, with three terms, their high parts, these again,
 * and the low parts. A right one's has high, low, high. */
enum { LEFT_AGAIN = 1, LEFT_LOW = 2, RIGHT_LOW = 1, RIGHT_AGAIN = 2 };

/* out[rows rounded up to ROWS][PAIRS] = a[rows, depth], zeros around it. */
static void pack_left(uint32_t *out, const float *a, size_t lda, size_t rows, size_t depth,
                      int terms)
{
    size_t part = part_pairs(depth, terms);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < depth; k += 2 * WIDTH) {
            v_float x = load_within(a + r * lda, k, depth),
                    y = load_within(a + r * lda, k + WIDTH, depth);
            uint32_t *to = out + r * PAIRS + k / 2;
            v_pairs high, low;
            if (terms == 1) {
                v_store_pairs(to, v_round_neighbours(x, y));
                continue;
            }
            v_split_neighbours(&high, &low, x, y);
            v_store_pairs(to, high);
            v_store_pairs(to + LEFT_AGAIN * part, high);
            v_store_pairs(to + LEFT_LOW * part, low);
        }
    for (; rows % ROWS; rows++)
        memset(out + rows * PAIRS, 0, PAIRS * sizeof *out);
}

/* out[columns / COLUMNS][pairs][COLUMNS] = b[depth, columns], zeros around it. */
static void pack_right(uint32_t *out, const float *b, size_t ldb, size_t depth, size_t columns,
                       int terms)
{
    size_t part = part_pairs(depth, terms);
    for (size_t panel = 0; panel < columns; panel += COLUMNS, out += (size_t)terms * part * COLUMNS)
        for (size_t pair = 0; pair < part; pair++)
            for (size_t c = 0; c < COLUMNS; c += WIDTH) {
                size_t k = 2 * pair, at = panel + c;
                v_float x = k < depth ? load_within(b + k * ldb, at, columns) : v_all(0),
                        y = k + 1 < depth ? load_within(b + (k + 1) * ldb, at, columns) : v_all(0);
                uint32_t *to = out + pair * COLUMNS + c;
                v_pairs high, low;
                if (terms == 1) {
                    v_store_pairs(to, v_round_pairs(x, y));
                    continue;
                }
                v_split_pairs(&high, &low, x, y);
                v_store_pairs(to, high);
                v_store_pairs(to + RIGHT_LOW * part * COLUMNS, low);
                v_store_pairs(to + RIGHT_AGAIN * part * COLUMNS, high);
            }
}

/* Stores the rows of a square as those of a packed panel, `count` of them at most. */
INLINE void store_square(uint32_t *out, const v_pairs square[WIDTH], size_t count)
{
    for (size_t i = 0; i < WIDTH && i < count; i++)
        v_store_pairs(out + i * COLUMNS, square[i]);
}

/* The same for b[columns, depth]. */
static void pack_right_transposed(uint32_t *out, const float *b, size_t ldb, size_t depth,
                                  size_t columns, int terms)
{
    size_t part = part_pairs(depth, terms);
    for (size_t panel = 0; panel < columns; panel += COLUMNS, out += (size_t)terms * part * COLUMNS)
        for (size_t c = 0; c < COLUMNS; c += WIDTH)
            for (size_t k = 0; k < depth; k += 2 * WIDTH) {
                v_pairs high[WIDTH], low[WIDTH];
                uint32_t *to = out + k / 2 * COLUMNS + c;
#pragma GCC unroll 16
                for (size_t i = 0; i < WIDTH; i++) {
                    const float *row = b + (panel + c + i) * ldb;
                    size_t some = panel + c + i < columns ? depth : 0;
                    v_float x = load_within(row, k, some), y = load_within(row, k + WIDTH, some);
                    if (terms == 1)
                        high[i] = v_round_neighbours(x, y);
                    else
                        v_split_neighbours(&high[i], &low[i], x, y);
                }
                v_transpose_pairs(high);
                store_square(to, high, part - k / 2);
                if (terms == 1)
                    continue;
                v_transpose_pairs(low);
                store_square(to + RIGHT_LOW * part * COLUMNS, low, WIDTH);
                store_square(to + RIGHT_AGAIN * part * COLUMNS, high, WIDTH);
            }
}

#ifdef __AMX_BF16__
/* c[ROWS, COLUMNS] (+)= a b of packed pieces. */
INLINE void tile(float *c, size_t ldc, const uint32_t *a, const uint32_t *b, size_t pairs,
                 int accumulate)
{
    tiles_multiply(c, ldc, a, PAIRS, b, COLUMNS, pairs, accumulate, ROWS, 2, 0);
}
#else
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

#endif

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
                         int accumulate, int terms, float *room)
{
    uint32_t *left = (uint32_t *)room, *right = left + MOST_ROWS * PAIRS;
    tiles_begin();
    for (size_t row = 0, rows; row < m; row += rows) {
        rows = smaller(m - row, MOST_ROWS);
        for (size_t at = 0, some; at < depth; at += some) {
            some = smaller(depth - at, DEPTH / (size_t)terms);
            size_t pairs = (size_t)terms * part_pairs(some, terms);
            pack_left(left, a + row * lda + at, lda, rows, some, terms);
            for (size_t column = 0, columns; column < n; column += columns) {
                columns = smaller(n - column, MOST_COLUMNS);
                if (transposed)
                    pack_right_transposed(right, b + column * ldb + at, ldb, some, columns, terms);
                else
                    pack_right(right, b + at * ldb + column, ldb, some, columns, terms);
                for (size_t near = 0; near < rows; near += NEAR_ROWS)
                    multiply_packed(c + (row + near) * ldc + column, ldc, left + near * PAIRS,
                                    right, pairs, accumulate || at, smaller(rows - near, NEAR_ROWS),
                                    columns);
            }
        }
    }
    tiles_end();
}

#endif
