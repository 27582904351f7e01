/* What the rules of ranges share. */
#ifndef REACH_ANALYZE_SERIES_PROOF_RANGE_RULES_H
#define REACH_ANALYZE_SERIES_PROOF_RANGE_RULES_H

#include "analyze/series/proof/expression.h"
#include "analyze/series/proof/rounding.h"

struct range {
    /* of a member u, x in [X, Y]: u(x), u(X), x u'(x), x u'(x) / u(x); the last in the sense that
     * u(y) = u(x) exp(integral from x to y of some function within it, d ln x) */
    mpfi_t value, start, rate, elasticity;
    int defined; /* every member is a finite, differentiable function on the interval; if 0 the rest
                    means nothing */
    int relative; /* the elasticity means something */
    int masked; /* the expression may also be -inf at some t; bounds hold where it is not */
    int positive; /* every member is > 0, though the least value may be 0 as a limit */
    int smooth; /* one member, the expression itself */
};

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
