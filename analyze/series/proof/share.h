/* The kernel of one bias, or the mean of several, each normalised: the share of its mass below a
 * distance. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SHARE_H
#define REACH_ANALYZE_SERIES_PROOF_SHARE_H

#include "analyze/series/proof/sum.h"

struct shares;
/* Room for `count` sums, all of one limit or none; those put there belong to the shares (NULL only
 * before shares_free). NULL: memory. */
struct shares *shares_new(int count, slong prec);
void shares_put(struct shares *m, int i, struct sums *s);
void shares_free(struct shares *m);

/* Share of the mass at distances < j. */
void shares_below(arb_t out, struct shares *m, const fmpz_t j);
/* Share at distances >= j, j a whole number that may be far beyond machine words (no limit). */
void shares_above(arb_t out, const struct shares *m, const arb_t j);
/* Share of the one distance j. */
void shares_term(arb_t out, struct shares *m, const fmpz_t j);
/* Sign of (share below j) - (1 - epsilon): 1, 0 or -1 when certain, 2 when not. *value is the
 * difference as a ball. */
int shares_compare(arb_t value, struct shares *m, const fmpz_t j, const fmpq_t epsilon);
/* share[k], k < count, is the share below first + k, as a rational number. 1, or 0 where that is
 * not known. */
int shares_exact(fmpq *share, const struct shares *m, const fmpz_t first, int count);
/* The sum of f itself, of the first. */
void shares_total(arb_t out, const struct shares *m);
/* 1 if some values are not all known to be numbers or -inf: there may be no mass to share. */
int shares_unknown(const struct shares *m);
/* NULL: of all distances. */
const fmpz *shares_limit(const struct shares *m);

#endif
