/* What the tests of both bf16 arithmetics of the processor share: their sets, products of sizes
 * that are awkward for each of them, and what holds whatever the factors. */
#ifndef REACH_TESTS_BF16_H
#define REACH_TESTS_BF16_H

#include "kernels/ops.h"

enum { BF16_SETS_MOST = 6 };
/* Of the dtype: the processor's, one for each instruction set, then the reference; in f32. */
extern struct kernels *bf16_sets[BF16_SETS_MOST], *bf16_plain[BF16_SETS_MOST];
extern int bf16_set_count;
extern struct kernels *bf16_oracle; /* f64 */

/* Opens them for "bf16" or "bf16x3"; -1 without. */
int bf16_open(const char *dtype);
void bf16_close(void);

/* Sizes of a product, and how its matrix [out, in] lies: in rows, or in columns as GPT-2's Conv1D
 * has it. */
struct product_size {
    int rows, in, out, transposed, accumulate, runs;
};
extern const struct product_size product_sizes[];
extern const int product_size_count;

/* y[rows, out] = x w^T, then dx[rows, in] = y0 w, by the set on matrices of floats that lie in
 * memory; got [rows, out + in]. */
void product_both(double *got, struct kernels *k, const struct product_size *z, const double *x,
                  const double *y, const double *w);

/* The n-th of the sets that multiply by instructions for bf16, of vectors or of tiles; NULL after
 * the last. */
struct kernels *bf16_instructions(int n);

/* A product by instructions, its rows `spare` floats further apart than they are wide. */
struct tile_product {
    size_t m, n, depth, spare;
    int transposed, accumulate, terms;
    float *a, *b, *c, *room;
    size_t lda, ldb, ldc, a_count, b_count, c_count;
};
struct tile_product tile_product_of(size_t m, size_t n, size_t depth, size_t spare, int transposed,
                                    int accumulate, int terms);
void tile_product_free(struct tile_product *p);
/* Element (r, k) of the left operand, (k, c) of the right one. */
float *tile_left(const struct tile_product *p, size_t r, size_t k);
float *tile_right(const struct tile_product *p, size_t k, size_t c);
/* The product; caller frees: all of c, what lies between its rows too. */
float *tile_product_run(struct kernels *k, const struct tile_product *p);

/* Products by instructions against float64 on operands rounded, or with three terms split, at every
 * size that ends a tile, a panel or a piece early. */
void bf16_check_instructions(int terms);
/* Each of the numbers, a NaN or one that becomes infinite, as a factor of such a product reaches
 * the results that it is a factor of, and no other: these keep their bytes. */
void bf16_check_not_finite(const float *bad, int count, int terms);
/* More rows, columns and depth than are packed at a time, and as many threads as leave tiles of
 * other widths: the same bytes. */
void bf16_check_tiles(void);
/* Operations without a layer's matrix: the bytes of f32, but for attention where instructions for
 * bf16 make it. */
void bf16_check_rest(void);

#endif
