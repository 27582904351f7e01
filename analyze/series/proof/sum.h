/* Partial sums of a series at one precision, each as a ball. Piece by piece it is told by what
 * means to sum; what is left out or does not fit makes the sums indeterminate. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SUM_H
#define REACH_ANALYZE_SERIES_PROOF_SUM_H

#include "analyze/series/proof/euler.h"

struct sums;
/* Of the terms at t < limit, or all (NULL: f converges), in balls of prec bits. NULL: memory. */
struct sums *sums_new(const struct proof *f, const fmpz *limit, slong prec);
void sums_free(struct sums *s);

/* ---- making them: the tail, then one piece after the other ---- */

/* No limit: the tail from X on, if it is narrower than the one there is. The tail so far. */
const arb_struct *sums_offer_tail(struct sums *s, const fmpz_t X);

/* Goes on to the next piece; *first and *end are borrowed. 1: it is to be summed as told, 0: that
 * is done by a formula, -1: there are no more. */
int sums_next_piece(struct sums *s, const struct piece **piece, const fmpz **end);
/* Terms get `prec` bits; waves: in double if there are many. 1: there are, 0, -1: memory. */
int sums_evaluate(struct sums *s, slong prec, int waves);
/* The work of one of these terms at t or so, measured where they have no step that is known. */
double sums_cost(const struct sums *s, const fmpz_t t);
/* The first `count` distances of the piece one by one. 0 or -1: memory. */
int sums_points(struct sums *s, ulong count);
/* What follows them up to the piece's end by Euler-Maclaurin's formula, e[r] being of strand r
 * (NULL: f is 0 there); they belong to s from now on. 1, 0 if that is known to less than
 * 2^radius_log2, -1: memory. */
int sums_euler(struct sums *s, struct euler *const *e, int strands, slong radius_log2);
/* What follows up to `next` by bounds alone. 0 or -1: memory. */
int sums_bound(struct sums *s, const fmpz_t next);
/* Adds up. 0, or -1 with *e: a value is not a number. */
int sums_close(struct sums *s, struct formula_error *e);

/* ---- asking ---- */

/* Sum over t < j; 0 <= j, not beyond the limit. */
void sums_below(arb_t out, struct sums *s, const fmpz_t j);
/* Sum over all t, or over t < limit. */
const arb_struct *sums_total(const struct sums *s);
/* From this distance on (no limit only) sums_above is the tail, sums_below the total less that. */
const fmpz *sums_far(const struct sums *s);
/* Sum over t >= j for a whole j >= sums_far, no limit. */
void sums_above(arb_t out, const struct sums *s, const arb_t j);
/* f(j), indeterminate where it is not known. */
void sums_term(arb_t out, struct sums *s, const fmpz_t j);
/* 1 if a value may be a number, an infinity or none: there may be no sum. */
int sums_unknown(const struct sums *s);
/* NULL: none. */
const fmpz *sums_limit(const struct sums *s);
const struct proof *sums_proof(const struct sums *s);

#endif
