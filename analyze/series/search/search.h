/* The least j whose share of the mass is above 1 - epsilon. */
#ifndef REACH_ANALYZE_SERIES_SEARCH_H
#define REACH_ANALYZE_SERIES_SEARCH_H

#include "analyze/series/proof/euler.h"
#include "analyze/series/proof/share.h"

/* A whole number between lo and hi, geometrically in the middle where they are far apart: hi > 4 lo + near. */
void middle_of(fmpz_t out, const fmpz_t lo, const fmpz_t hi, ulong near);

/* ---- cuts.c ---- */

/* A whole number near the largest bias of a few distances (near the first, where it grows to the end): taking it off changes no
 * field and keeps the terms near 1. */
void search_shift(fmpz_t shift, const struct formula *f, const struct formula_point *at);
/* Takes the distances apart into pieces on which the bias is smooth. 0 or -1 with *e. */
int search_pieces(struct series_summand *f, struct formula_error *e);

/* ---- starts.c ---- */

/* Tries rules from X on for growing X, until one decides. 0 or -1 with *e. */
int search_verdict(struct series_summand *f, struct formula_error *e);

/* ---- panels.c ---- */

/* A sum of node `root` over N <= t < end by Euler's and Maclaurin's formula, with an error below about 2^-target, in balls of prec
 * bits. NULL where the remainder cannot be bounded so well, or memory is short. */
struct euler *search_euler(const struct expression_pool *p, int root, const fmpz_t N, const fmpz_t end, slong prec, slong target);

/* ---- field.c ---- */

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

/* ---- scales.c ---- */

/* Looks for a scale c at which g(t) = f(c t) up to a factor, and that orders them: -1, 0 or 1. */
int search_scale(const struct series_summand *f, const struct series_summand *g, long budget);

#endif
