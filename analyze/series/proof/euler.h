/* Sums of a smooth piece over very many distances: Euler-Maclaurin's formula with a proved
 * remainder (5.1, 5.2 of doc/series.md). Which order, panels and radii do is searched for
 * (search/panels.c); each panel is taken with the bound that was found here. */
#ifndef REACH_ANALYZE_SERIES_PROOF_EULER_H
#define REACH_ANALYZE_SERIES_PROOF_EULER_H

#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/proof.h"

struct euler;
/* Of node `root` from N on, in balls of prec bits, to about 2^-target. NULL: memory. */
struct euler *euler_new(const struct expression_pool *p, int root, const fmpz_t N, slong prec,
                        slong target);
void euler_free(struct euler *e);

/* ---- panels: until the first sum is asked for ---- */

static const double EULER_UNKNOWN = 1e300;
/* log2 of a bound of |f| on [a - r, b + r] x [-r, r]; EULER_UNKNOWN if there is none. */
double euler_magnitude(struct euler *e, const fmpz_t a, const fmpz_t b, double r);
/* log2 of a bound of the remainder of order n, from log2 of the size of f and of the length. */
double euler_remainder(double n, double r, double magnitude_log2, double length_log2);
double euler_length(const fmpz_t a, const fmpz_t b);
/* Sets 2m; there are no panels any more. */
void euler_order(struct euler *e, slong order);
/* Where the panels end, N at first. */
const fmpz *euler_end(const struct euler *e);
/* log2 of the best bound of the remainder from there to `next`, now with circles of radius r. */
double euler_offer(struct euler *e, const fmpz_t next, double r);
/* Takes the panel offered last. 0, or -1: no bound is known, or there is no room. */
int euler_accept(struct euler *e);

/* ---- sums ---- */

/* 1 if it is of that node from N on, and reaches j. */
int euler_covers(const struct euler *e, const struct expression_pool *p, int root, const fmpz_t N,
                 const fmpz_t j);
/* Integrals of panels take about so much work at most: sums beyond are indeterminate. */
void euler_limit(struct euler *e, double work);
/* Sum over N <= t < j; indeterminate beyond the panels. */
void euler_sum(arb_t out, struct euler *e, const fmpz_t j);

#endif
