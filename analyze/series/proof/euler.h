/* Sums of a smooth piece over very many distances: Euler-Maclaurin's formula with a proved remainder.
 *
 *   sum of f(t), N <= t < j  =  integral from N to j  +  C(j) - C(N)  +  R,    C(x) = -f(x)/2 + sum of B_2k / (2k)! f^(2k-1)(x),
 * k = 1..m |R| <= 4 / (2 pi)^(2m) * integral of |f^(2m)|,    |f^(2m)(t)| <= (2m)! / r^(2m) * max of |f(z)| on |z - t| = r
 * (Cauchy)
 *
 * The maximum is taken of complex balls over a rectangle around each of a growing series of panels, r as it suits the panel. */
#ifndef REACH_ANALYZE_SERIES_PROOF_EULER_H
#define REACH_ANALYZE_SERIES_PROOF_EULER_H

#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/summand.h"

struct euler;
/* Ready to sum node `root` over N <= t < end with an error below about 2^-target, in balls of prec bits. NULL where the remainder
 * cannot be bounded so well, or memory is short. f must be analytic around [N, end]. */
struct euler *euler_new(const struct series_summand *h, int root, const fmpz_t N, const fmpz_t end, slong prec, slong target);
void euler_free(struct euler *e);
/* Sum over N <= t < j, j <= end. */
void euler_sum(arb_t out, struct euler *e, const fmpz_t j);

#endif
