/* Partial sums that are rational numbers, but for a factor that all terms have: those of R(t) rho^t, R a quotient of polynomials,
 * where they have a closed form. */
#ifndef REACH_ANALYZE_SERIES_PROOF_CLOSED_H
#define REACH_ANALYZE_SERIES_PROOF_CLOSED_H

#include "analyze/series/proof/summand.h"

struct closed;
/* Of the first `limit` distances, or of all (NULL: they must converge). NULL: it is not so, or not found. */
struct closed *closed_new(const struct series_summand *f, const fmpz *limit);
void closed_free(struct closed *c);
/* The share of the mass at t < j. 1, or 0 where the numbers are too long. */
int closed_share(fmpq_t out, const struct closed *c, const fmpz_t j);

#endif
