/* What is summed: f(t) = exp(b(t)) for one bias b. It does not change. */
#ifndef REACH_ANALYZE_SERIES_PROOF_PROBLEM_H
#define REACH_ANALYZE_SERIES_PROOF_PROBLEM_H

#include "analyze/series.h"
#include "analyze/series/proof/expression.h"

struct problem {
    const struct formula *formula;
    struct formula_point at;
    struct expression_pool *pool;
    int shared; /* the pool is another's */
    fmpz_t shift; /* whole number taken off the bias, so that the largest terms are near 1 */
    int root; /* the bias less the shift */
};

/* Of the bias less `shift`, in the pool of another problem, or (NULL) one of its own that counts in
 * the budget. 0, or -1 with *e; to be cleared in either case. */
int problem_init(struct problem *f, const struct formula *formula, const struct formula_point *at,
                 const fmpz_t shift, const struct problem *other, struct budget *budget,
                 struct formula_error *e);
void problem_clear(struct problem *f);

/* The value of b, here `root`, at a whole t as an expression without t (a node of `to`). NODE_NAN
 * if it is not a number; if expression_is_known is 0 it may be anything. */
int problem_value(struct expression_pool *to, const struct problem *f, int root, const fmpz_t t);
/* 0 if a known value is one that f can have; -1 with *e: it is +inf or not a number. */
int problem_refuse(const struct expression_pool *p, int value, const struct problem *f,
                   const fmpz_t t, struct formula_error *e);
/* exp of that value (unless `out` is NULL). 1, 0: not known, -1 with *e: f cannot have it. */
int problem_term(arb_ptr out, const struct problem *f, int root, const fmpz_t t, slong prec,
                 struct formula_error *e);

#endif
