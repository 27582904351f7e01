/* QR factors of a tall matrix with few columns, for least squares. */
#ifndef REACH_ANALYZE_QR_H
#define REACH_ANALYZE_QR_H

#include <stddef.h>

/* A [rows, columns], stored by column, rows >= columns, with columns of length about 1, becomes Q
 * R: the upper triangle of `a` is R, below it are the vectors of the Householder reflections whose
 * product is Q (the first element of each is 1 and not stored), and scale[columns] has their
 * factors. Column k of R is that of pivot[k] in A, always the column with the largest remainder
 * after the earlier ones, so that |R_kk| never grows, up to rounding. (Golub and Van Loan, Matrix
 * Computations, 4th ed., algorithm 5.4.1.) */
void qr_factor(double *a, size_t rows, int columns, int *pivot, double *scale);

/* y [rows] becomes Q'y. */
void qr_apply(double *y, const double *a, size_t rows, int columns, const double *scale);

/* Solves R b = y for the first `columns` of y, which b overwrites. No R_kk may be 0. */
void qr_solve(double *y, const double *a, size_t rows, int columns);

#endif
