/* Reference set: matrix products.
 *
 * Each output is one sum in double, starting at 0, over k = 0, 1, 2, ... in order, whatever the
 * shapes and threads; then bias and any earlier value are added and the result is rounded once.
 * Tiles only change which outputs are computed together. In bf16 both operands are rounded to that
 * before they are multiplied; in bf16x3 both are sums of two such numbers, and the sum is of high
 * high, high low and low high for k = 0, then for k = 1, ... Everything else of these sets is in
 * float. */
#include "kernels/reference/reference.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 64, TILE_COLUMNS = 64, TILE_DEPTH = 128, UNIT = 4 };

struct tile {
    double sum[TILE_ROWS][TILE_COLUMNS];
    double a[TILE_ROWS][TILE_DEPTH];
    double b[TILE_DEPTH][TILE_COLUMNS];
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int whole_units(int n)
{
    return (n + UNIT - 1) / UNIT * UNIT;
}

/* sum[r][c] += sum over k < depth of a[r][k] b[k][c], for rows and columns up to whole units (the
 * rest of a tile is zero or unused). */
static void multiply_tile(struct tile *t, int rows, int columns, int depth)
{
    for (int r = 0; r < whole_units(rows); r += UNIT) {
        for (int c = 0; c < whole_units(columns); c += UNIT) {
            double sum[UNIT][UNIT];
            for (int i = 0; i < UNIT; i++)
                for (int j = 0; j < UNIT; j++)
                    sum[i][j] = t->sum[r + i][c + j];
            for (int k = 0; k < depth; k++)
                for (int i = 0; i < UNIT; i++)
                    for (int j = 0; j < UNIT; j++)
                        sum[i][j] += t->a[r + i][k] * t->b[k][c + j];
            for (int i = 0; i < UNIT; i++)
                for (int j = 0; j < UNIT; j++)
                    t->sum[r + i][c + j] = sum[i][j];
        }
    }
}

/* What products read of a number: itself, or with the set's rounding one or three terms. */
enum rounding { ROUND_NONE, ROUND_BF16, ROUND_BF16X3 };
enum side { LEFT, RIGHT };

static enum rounding rounding_of(const struct kernels *k)
{
    return !strcmp(k->dtype, "bf16")     ? ROUND_BF16
           : !strcmp(k->dtype, "bf16x3") ? ROUND_BF16X3
                                         : ROUND_NONE;
}

static int terms_of(enum rounding rounding)
{
    return rounding == ROUND_BF16X3 ? 3 : 1;
}

/* The `term`-th of them: (high, high, low) on the left, (high, low, high) on the right. */
static double operand(real x, enum rounding rounding, int term, enum side side)
{
    if (rounding == ROUND_BF16)
        return (double)float_round_bf16((float)x);
    if (rounding == ROUND_BF16X3)
        return (double)(term == (side == LEFT ? 2 : 1) ? float_low_bf16((float)x)
                                                       : float_high_bf16((float)x));
    return (double)x;
}

/* y[rows, columns] (+)= x[rows, depth] b + bias[columns], where b(k, c) is w[c, k] (forward: w is
 * [columns, depth]) or w[k, c] (reverse). */
static void product(struct kernels *k, real *y, const real *x, const real *w, const real *bias,
                    int rows, int columns, int depth, int forward, int accumulate)
{
    enum rounding rounding = rounding_of(k);
    int threads = omp_get_max_threads(), terms = terms_of(rounding);
    struct tile *tiles = malloc((size_t)threads *
                                sizeof *tiles); /* too large for a thread's stack */
    if (!tiles) {
        kernels_keep_error(k, "out of memory (tiles of %d threads)", threads);
        return;
    }
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads)
    for (int c0 = 0; c0 < columns; c0 += TILE_COLUMNS) {
        for (int r0 = 0; r0 < rows; r0 += TILE_ROWS) {
            struct tile *t = &tiles[omp_get_thread_num()];
            int row_count = smaller(rows - r0, TILE_ROWS),
                column_count = smaller(columns - c0, TILE_COLUMNS);
            memset(t, 0, sizeof *t); /* then the rest of a unit is 0 */
            for (int k0 = 0; k0 < depth; k0 += TILE_DEPTH / terms) {
                int depth_count = terms * smaller(depth - k0, TILE_DEPTH / terms);
                for (int r = 0; r < row_count; r++)
                    for (int i = 0; i < depth_count; i++)
                        t->a[r][i] =
                            operand(x[(size_t)(r0 + r) * (size_t)depth + (size_t)(k0 + i / terms)],
                                    rounding, i % terms, LEFT);
                for (int i = 0; i < depth_count; i++)
                    for (int c = 0; c < column_count; c++) {
                        size_t at = (size_t)(k0 + i / terms), column = (size_t)(c0 + c);
                        t->b[i][c] = operand(forward ? w[column * (size_t)depth + at]
                                                     : w[at * (size_t)columns + column],
                                             rounding, i % terms, RIGHT);
                    }
                multiply_tile(t, row_count, column_count, depth_count);
            }
            for (int r = 0; r < row_count; r++) {
                real *out = y + (size_t)(r0 + r) * (size_t)columns +
                            (size_t)c0; /* [column_count] */
                for (int c = 0; c < column_count; c++)
                    out[c] = (real)(t->sum[r][c] + (bias ? (double)bias[c0 + c] : 0.0) +
                                    (accumulate ? (double)out[c] : 0.0));
            }
        }
    }
    free(tiles);
}

static void linear(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct weight *w, const struct weight *bias, struct rows rows,
                   int accumulate)
{
    product(k, y->data, x->data, w->data, bias ? bias->data : NULL, rows.segments * rows.count,
            (int)w->rows, (int)w->columns, 1, accumulate);
}

/* Computed by the set's own operations. */
static void linear_add(struct kernels *k, struct buffer *y, const struct buffer *c,
                       const struct buffer *x, const struct weight *w, const struct weight *bias,
                       struct rows rows)
{
    k->copy(k, y, c, rows, (int)w->rows);
    k->linear(k, y, x, w, bias, rows, 1);
}

static void linear_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                           const struct weight *w, struct rows rows, int accumulate)
{
    product(k, dx->data, dy->data, w->data, NULL, rows.segments * rows.count, (int)w->columns,
            (int)w->rows, 0, accumulate);
}

static void linear_runs(struct kernels *k, struct buffer *y, const struct buffer *x,
                        const struct run *runs, size_t run_count, int typical, int accumulate)
{
    (void)typical;
    for (size_t i = 0; i < run_count; i++) {
        const struct weight *w = runs[i].weight;
        product(k, (real *)y->data + runs[i].first * w->rows,
                (const real *)x->data + runs[i].first * w->columns, w->data,
                runs[i].bias ? runs[i].bias->data : NULL, runs[i].count, (int)w->rows,
                (int)w->columns, 1, accumulate);
    }
}

static void linear_runs_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                                const struct run *runs, size_t run_count, int typical,
                                int accumulate)
{
    (void)typical;
    for (size_t i = 0; i < run_count; i++) {
        const struct weight *w = runs[i].weight;
        product(k, (real *)dx->data + runs[i].first * w->columns,
                (const real *)dy->data + runs[i].first * w->rows, w->data, NULL, runs[i].count,
                (int)w->columns, (int)w->rows, 0, accumulate);
    }
}

void fill_linear(struct kernels *k)
{
    k->linear = linear;
    k->linear_add = linear_add;
    k->linear_reverse = linear_reverse;
    k->linear_runs = linear_runs;
    k->linear_runs_reverse = linear_runs_reverse;
}
