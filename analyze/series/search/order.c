/* Which order of two biases is worth trying to prove. */
#include "analyze/formula_private.h"
#include "analyze/series/search/search.h"

#include <math.h>

/* The value in double at distance t. */
static double bias_at(const struct summand *f, double t)
{
    struct formula_point point = f->problem.at;
    point.t = t;
    return formula_evaluate(f->problem.formula, &point);
}

int search_may_fall(const struct summand *f, const struct summand *g)
{
    double before = INFINITY;
    for (double t = 0; t <= 4096; t = t < 64 ? t + 1 : 2 * t) {
        double a = bias_at(f, t), b = bias_at(g, t),
               change = a - b; /* not a number where both are -inf */
        if (change > before + 1e-6 * (1 + (isfinite(change) ? fabs(a) + fabs(b) : 0)))
            return 0;
        before = isnan(change) ? before : change;
    }
    return 1;
}
