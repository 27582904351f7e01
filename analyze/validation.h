/* Is the gradient's field real? How a target's loss changes when the inputs before it are removed
 * or replaced, compared with their share of the gradient. Pure functions.
 *
 * Inputs are counted from the target: the first is the one before it, of n in all. A loss is -log p
 * of the target, in nats. */
#ifndef REACH_ANALYZE_VALIDATION_H
#define REACH_ANALYZE_VALIDATION_H

#include <stddef.h>
#include <stdint.h>

enum { VALIDATION_KEPT_MAX = 64, VALIDATION_SINGLE_MAX = 4 * 32 };

/* How many of the last inputs are kept while those before them are changed: the powers of sqrt(2)
 * below n, rounded, ascending, each once. Returns their number. */
size_t validation_kept(size_t out[VALIDATION_KEPT_MAX], size_t n);

/* Inputs that are changed one at a time, ascending: of each octave, from 2^j to 2^(j+1) - 1, at
 * most four, one drawn from each quarter by random_at(seed, first + i) for the i-th of all. Returns
 * their number, which depends only on n. */
size_t validation_single(size_t out[VALIDATION_SINGLE_MAX], size_t n, uint64_t seed,
                         uint64_t first);

/* A mean with its 95 % interval by Student's t, NaN for one value. */
struct validation_mean {
    double mean, lo, hi;
};
struct validation_mean validation_mean(const double *value, size_t count);

/* How losses change over `count` targets: changed - whole, and |changed - whole|. */
struct validation_change {
    struct validation_mean change, size;
};
/* -1: out of memory. */
int validation_change(struct validation_change *out, const double *changed, const double *whole,
                      size_t count);

/* The first of `count` sizes of changes from which on all are at most `within`; count: none. */
size_t validation_enough(const double *size, size_t count, double within);

/* Rank correlation of |change[i]|, of the loss when input where[i] alone is changed, with norm[n -
 * where[i]], the gradient's norm there, for `count` inputs of validation_single: over all of them,
 * and its mean over octaves of four, within which nearness matters little. NaN if there is none.
 * Returns 0, or -1: out of memory. */
int validation_correlate(double *all, double *octaves, const double *change, const size_t *where,
                         size_t count, const double *norm, size_t n);

#endif
