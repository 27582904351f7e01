/* Heat maps of bias and attention matrices, and curves of biases over the distance. */
#ifndef REACH_PLOTS_MATRIX_H
#define REACH_PLOTS_MATRIX_H

#include "io/error.h"
#include "plots/style.h"

#include <stddef.h>

/* The bias of one head at distances 0 .. length-1; -inf masks. */
struct matrix_bias {
    const char *label;
    const double *bias; /* [length] */
};

struct matrix_biases {
    const struct matrix_bias *biases; /* [count] */
    size_t count, length;
};

/* A square for each bias, query position down, key position across, at most 256 x 256 cells
 * whatever the length: the bias itself, down to the end of the scale below its largest value, and
 * the attention from the bias alone (the softmax of each row), [A] figures 1, 2 and 8, [B] figure
 * 2. With more than three biases a grid of the biases alone ([B] appendix G). Returns as
 * figure_draw. */
int figure_matrix(const struct figure_place *to, const struct matrix_biases *u,
                  struct error *e) MUST_USE;

/* The last row of the matrix: b(t) over the distance, on a linear and on a logarithmic axis, one
 * line per bias ([A] figures 9 and 10). Returns as figure_draw. */
int figure_bias(const struct figure_place *to, const struct matrix_biases *u,
                struct error *e) MUST_USE;

/* 1 for points to draw if there are many: all near ones, then a sample. */
int matrix_is_drawn(size_t i, size_t count);

#endif
