/* What the rules of ranges share. */
#ifndef REACH_ANALYZE_SERIES_PROOF_RANGE_RULES_H
#define REACH_ANALYZE_SERIES_PROOF_RANGE_RULES_H

#include "analyze/series/proof/range.h"
#include "analyze/series/proof/rounding.h"

int range_has_zero(const mpfi_t x);
/* x becomes what x and y have in common; both are known to hold. */
void range_narrow(mpfi_t x, const mpfi_t y);
/* What became not-a-number may be anything. */
void range_mend(struct range *r);
/* The elasticity from rate and value where there is none yet, then each from the others. */
void range_settle(struct range *r);

/* q + sum of weight * child. */
void range_of_sum(struct range *out, const struct expression_pool *p, const struct expression *x,
                  const struct range *all);
void range_of_product(struct range *out, const struct range *a, const struct range *b);
void range_of_power(struct range *out, const struct range *a, const struct range *b,
                    const struct expression *exponent);
void range_of_ln(struct range *out, const struct range *a);
void range_of_exp(struct range *out, const struct range *a);

#endif
