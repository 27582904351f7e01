/* Bounds of an expression and of its growth on a whole interval [X, Y], Y may be infinite. The
 * rules are in section 3 of doc/series.md.
 *
 * Where the expression has kinks or oscillates, the bounds hold for a family: each sine that runs
 * through whole periods, each fraction, each choice that cannot be decided is a constant of its
 * own, and the bounds hold for every value of these constants. At every t the expression equals one
 * member of the family, and each member is differentiable on [X, Y]. */
#ifndef REACH_ANALYZE_SERIES_PROOF_RANGE_H
#define REACH_ANALYZE_SERIES_PROOF_RANGE_H

#include "analyze/series/proof/range_rules.h"

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
/* 1 if it is a number or -inf at every t of [lo, hi]; if it is one member, which does not grow
 * there. */
int range_defined(const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi);
int range_falls(const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi);
/* 1 if it is a number at every t. */
int range_is_number(const struct range *x);

#endif
