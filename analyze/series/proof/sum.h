/* Partial sums of a head's series at one precision, each as a ball. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SUM_H
#define REACH_ANALYZE_SERIES_PROOF_SUM_H

#include "analyze/series/proof/summand.h"

struct sums;
/* Ready to sum over t < limit, or over all t (limit NULL: the head must converge), with an error of about 2^-prec where that can
 * be had with bounded effort, else with wider balls. quick: long runs of waves may be summed in double. NULL with *e on failure:
 * a value that is not a number, memory. Notes in *f what it learns of the way to sum it. */
struct sums *sums_new(struct series_summand *f, const fmpz *limit, slong prec, int quick, struct formula_error *e);
void sums_free(struct sums *s);

/* Sum over t < j; 0 <= j, not beyond the limit. */
void sums_below(arb_t out, struct sums *s, const fmpz_t j);
/* Sum over all t, or over t < limit. */
const arb_struct *sums_total(const struct sums *s);
/* From this distance on (no limit only) sums_above is what tail_sum gives, and sums_below is the total less that. */
const fmpz *sums_far(const struct sums *s);
/* Sum over t >= j for a whole j >= sums_far, no limit. */
void sums_above(arb_t out, struct sums *s, const arb_t j);
/* f(j). 0, or -1 where it is not known (then it is indeterminate). */
int sums_term(arb_t out, struct sums *s, const fmpz_t j);
/* 1 if a value may be a number, an infinity or none: there may be no sum. */
int sums_unknown(const struct sums *s);
/* 1 if more precision would not make the balls narrower. */
int sums_exhausted(const struct sums *s);

#endif
