/* What is summed: making it, and its values. */
#include "analyze/series/proof/problem.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/formula_private.h"

#include <math.h>
#include <stdlib.h>

/* [1.3] */
int problem_init(struct problem *f, const struct formula *formula, const struct formula_point *at,
                 const fmpz_t shift, const struct problem *other, struct budget *budget,
                 struct formula_error *e)
{
    *f = (struct problem){.formula = formula, .at = *at, .shared = other != NULL};
    fmpz_init_set(f->shift, shift);
    f->pool = other ? other->pool : expression_pool_new(budget);
    if (!f->pool)
        return formula_refuse(e, 0, "out of memory");
    f->root = expression_build(f->pool, formula, at, NULL, e);
    if (f->root < 0)
        return -1;
    f->root = expression_subtract(f->pool, f->root, expression_whole(f->pool, shift));
    f->pool->end = HUGE_VAL; /* it is written out; from now on the search ends by itself */
    return 0;
}

void problem_clear(struct problem *f)
{
    fmpz_clear(f->shift);
    if (!f->shared)
        expression_pool_free(f->pool);
}

int problem_value(struct expression_pool *to, const struct problem *f, int root, const fmpz_t t)
{
    if (!f->pool->node[root].opaque)
        return expression_substitute(to, f->pool, root, t);
    struct formula_error ignored;
    int n = expression_build(to, f->formula, &f->at, t, &ignored);
    return n < 0 ? expression_leaf(to, X_OPAQUE)
                 : expression_subtract(to, n, expression_whole(to, f->shift));
}

int problem_refuse(const struct expression_pool *p, int value, const struct problem *f,
                   const fmpz_t t, struct formula_error *e)
{
    int infinite = value == NODE_PLUS_INFINITY;
    if (!infinite && p->node[value].kind != X_NAN)
        return 0;
    char *digits = fmpz_get_str(NULL, 10, t);
    formula_refuse(e, 0, "the value at head %d, distance %.60s is %s (expected a number or -inf)",
                   f->at.h, digits, infinite ? "+inf" : "not a number");
    flint_free(digits);
    return -1;
}

int problem_term(arb_ptr out, const struct problem *f, int root, const fmpz_t t, slong prec,
                 struct formula_error *e)
{
    struct expression_pool *p = expression_pool_new(f->pool->budget);
    int n = p ? problem_value(p, f, root, t) : NODE_NAN,
        known = p && !p->failed && expression_is_known(p, n);
    if (known && problem_refuse(p, n, f, t, e))
        known = -1;
    if (out && known == 1)
        evaluate_exp_constant(out, p, n, prec);
    else if (out)
        arb_indeterminate(out);
    expression_pool_free(p);
    return known;
}
