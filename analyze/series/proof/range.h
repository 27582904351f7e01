/* Bounds of an expression and of its growth on a whole interval [X, Y], Y may be infinite: section
 * 3 of doc/series.md. With kinks or waves they hold for all members of a family (3.4). */
#ifndef REACH_ANALYZE_SERIES_PROOF_RANGE_H
#define REACH_ANALYZE_SERIES_PROOF_RANGE_H

#include "analyze/series/proof/expression.h"
#include "analyze/series/proof/rounding.h"

struct range {
    /* of a member u, x in [X, Y]: u(x), u(X), x u'(x), x u'(x) / u(x); the last in the sense that
     * u(y) = u(x) exp(integral from x to y of some function within it, d ln x) */
    mpfi_t value, start, rate, elasticity;
    int defined; /* every member is finite and differentiable there; else the rest means nothing */
    int relative; /* the elasticity means something */
    int masked; /* the expression may also be -inf at some t; bounds hold where it is not */
    int positive; /* every member is > 0, though the least value may be 0 as a limit */
    int smooth; /* one member, the expression itself */
};

/* Ranges of a node and of all below it. */
struct ranges {
    int count, *nodes; /* [count] of which they are, in order */
    struct range *node; /* by node */
    mpfr_prec_t prec;
};

/* hi NULL: unbounded. lo >= 0. 0, or -1 when memory runs out. */
int ranges_compute(struct ranges *r, const struct expression_pool *p, int root, const fmpz_t lo,
                   const fmpz *hi, mpfr_prec_t prec);
void ranges_free(struct ranges *r);

/* That of one node; range_clear when it is 0. */
int range_compute(struct range *out, const struct expression_pool *p, int root, const fmpz_t lo,
                  const fmpz *hi, mpfr_prec_t prec);
void range_clear(struct range *x);
/* 1 if it is a number or -inf on all of [lo, hi]; if it is one member that does not grow there. */
int range_defined(const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi);
int range_falls(const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi);
/* 1 if it is a number at every t. */
int range_is_number(const struct range *x);

/* ---- rules (range_function.c, range_sum.c) ---- */

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
