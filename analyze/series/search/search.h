/* The least j whose share of the mass is above 1 - epsilon. */
#ifndef REACH_ANALYZE_SERIES_SEARCH_H
#define REACH_ANALYZE_SERIES_SEARCH_H

#include "analyze/series/proof/share.h"

/* A decimal text in (0, 1), exactly. 0, or -1 with *e. */
int search_epsilon(fmpq_t out, const char *text, struct formula_error *e);

/* Certain bounds of the TRF of the series (limit NULL), or of its first `limit` distances; sum_lo, sum_hi (may be NULL): the mass
 * of those. */
int search_trf(struct series_count *out, const struct series *s, const fmpq_t epsilon, const fmpz *limit, double *sum_lo,
               double *sum_hi, struct formula_error *e);

/* Fills *out from lo and hi (NULL: no end is known). 0 or -1 with *e. */
int search_report(struct series_count *out, const fmpz_t lo, const fmpz *hi, struct formula_error *e);

/* A ball as doubles, rounded outwards, times exp(shift). */
void search_doubles(double *lo, double *hi, const arb_t x, const fmpz *shift);

#endif
