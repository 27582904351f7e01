/* Which order of two biases is worth trying to prove, and which scales may turn one into the other. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/compare.h"
#include "analyze/series/search/search.h"

#include <math.h>

/* The value in double at distance t. */
static double bias_at(const struct series_summand *f, double t)
{
    struct formula_point point = f->at;
    point.t = t;
    return formula_evaluate(f->formula, &point);
}

int search_may_fall(const struct series_summand *f, const struct series_summand *g)
{
    double before = INFINITY;
    for (double t = 0; t <= 4096; t = t < 64 ? t + 1 : 2 * t) {
        double a = bias_at(f, t), b = bias_at(g, t), change = a - b; /* not a number where both are -inf */
        if (change > before + 1e-6 * (1 + (isfinite(change) ? fabs(a) + fabs(b) : 0)))
            return 0;
        before = isnan(change) ? before : change;
    }
    return 1;
}

int search_scale(const struct series_summand *f, const struct series_summand *g, long budget)
{
    struct expression_pool *p = f->pool;
    int count = p->count, order = 0; /* only nodes of the two biases, made so far */
    LOCAL(fmpq, c, power);
    for (int m = 0; m < count && !order; m++)
        for (int n = 0; n < count && !order && !p->failed; n++) {
            const struct expression *x = &p->node[m], *y = &p->node[n];
            if (x->kind != X_LINEAR || y->kind != X_LINEAR || x->count != 1 || y->count != 1 || x->child[0] != y->child[0] ||
                fmpq_is_zero(&x->weight[0]))
                continue;
            struct expression inside = p->node[x->child[0]];
            fmpq_div(c, &y->weight[0], &x->weight[0]);
            if (fmpq_sgn(c) <= 0 || fmpq_is_one(c))
                continue;
            if (inside.kind == X_POWER && p->node[inside.child[1]].kind == X_NUMBER &&
                !fmpq_is_zero(p->node[inside.child[1]].q)) {
                fmpq_inv(power, p->node[inside.child[1]].q);
                int root = expression_power(p, expression_number(p, c), expression_number(p, power));
                if (p->node[root].kind != X_NUMBER)
                    continue;
                fmpq_set(c, p->node[root].q);
            } else if (inside.kind != X_T) {
                continue;
            }
            order = order_by_scale(f, g, c, budget);
        }
    return order;
}
