/* What is summed: making it, and its values. */
#include "analyze/series/proof/summand.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/formula_private.h"

#include <math.h>
#include <stdlib.h>

/* [1.3] */
struct series_summand *summand_new(const struct formula *formula, const struct formula_point *at,
                                   const fmpz_t shift, struct expression_pool *shared,
                                   struct formula_error *e)
{
    struct series_summand *f = calloc(1, sizeof *f);
    if (!f) {
        formula_refuse(e, 0, "out of memory");
        return NULL;
    }
    *f = (struct series_summand){.formula = formula,
                                 .at = *at,
                                 .verdict = SERIES_UNDECIDED,
                                 .claim = SERIES_UNDECIDED};
    f->references = 1;
    f->budget = (struct budget){.seconds = INFINITY, .end = INFINITY};
    f->shared = shared != NULL;
    fmpz_init_set(f->shift, shift);
    fmpz_init(f->tail_from);
    fmpz_init(f->decreasing_from);
    f->pool = shared ? shared : expression_pool_new(&f->budget);
    if (!f->pool)
        formula_refuse(e, 0, "out of memory");
    f->root = f->pool ? expression_build(f->pool, formula, at, NULL, e) : -1;
    if (f->root < 0) {
        summand_release(f);
        return NULL;
    }
    f->root = expression_subtract(f->pool, f->root, expression_whole(f->pool, shift));
    f->pool->end = HUGE_VAL; /* it is written out; from now on the search ends by itself */
    return f;
}

void summand_release(struct series_summand *f)
{
    if (!f || --f->references > 0)
        return;
    for (int i = 0; i < f->pieces; i++) {
        fmpz_clear(f->piece[i].first);
        fmpz_clear(f->piece[i].end);
    }
    free(f->piece);
    fmpz_clear(f->shift);
    fmpz_clear(f->tail_from);
    fmpz_clear(f->decreasing_from);
    residues_free(f);
    if (!f->shared)
        expression_pool_free(f->pool);
    free(f->proof);
    free(f->certificate);
    free(f);
}

int summand_value(struct expression_pool *to, const struct series_summand *f, int root,
                  const fmpz_t t)
{
    if (!f->pool->node[root].opaque)
        return expression_substitute(to, f->pool, root, t);
    struct formula_error ignored;
    int n = expression_build(to, f->formula, &f->at, t, &ignored);
    return n < 0 ? expression_leaf(to, X_OPAQUE)
                 : expression_subtract(to, n, expression_whole(to, f->shift));
}

int summand_refuse(const struct expression_pool *p, int value, const struct series_summand *f,
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

int summand_term(arb_ptr out, const struct series_summand *f, int root, const fmpz_t t, slong prec,
                 struct formula_error *e)
{
    struct expression_pool *p = expression_pool_new(f->pool->budget);
    int n = p ? summand_value(p, f, root, t) : NODE_NAN,
        known = p && !p->failed && expression_is_known(p, n);
    if (known && summand_refuse(p, n, f, t, e))
        known = -1;
    if (out && known == 1)
        evaluate_exp_constant(out, p, n, prec);
    else if (out)
        arb_indeterminate(out);
    expression_pool_free(p);
    return known;
}
