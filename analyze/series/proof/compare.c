/* Comparing two series: whether f/g is proved never to increase. */
#include "analyze/series/proof/proof.h"
#include "analyze/series/proof/evaluate.h"

/* [8.1] 1 if node n is not larger at `to` than at `from`, exactly. */
static int step_falls(const struct expression_pool *p, int n, const fmpz_t from, const fmpz_t to)
{
    struct expression_pool *q = expression_pool_new(p->budget);
    int known = 0;
    if (q) {
        int change = expression_subtract(q, expression_substitute(q, p, n, to),
                                         expression_substitute(q, p, n, from));
        int sign = expression_sign(q, change);
        known = !q->failed && (sign == -1 || sign == 0);
        expression_pool_free(q);
    }
    return known;
}

/* [8.1] 1 if u surely does not grow on [lo, hi] (NULL: unbounded) from one t to the next. */
static int never_grows(const struct expression_pool *p, int n, const fmpz_t lo, const fmpz *hi,
                       long *budget)
{
    if (!p->node[n].depends)
        return p->node[n].kind != X_NAN;
    if (p->node[n].kinked || --*budget < 0)
        return 0;
    if (range_falls(p, n, lo, hi))
        return 1;
    LOCAL(fmpz, middle, span);
    int known = 0;
    if (!hi) {
        if (fmpz_bits(lo) <
            4096) { /* [lo, 2 lo + 1] and what is beyond, which is looked at first */
            fmpz_mul_ui(middle, lo, fmpz_bits(lo) > 20 ? 1 << 20 : 2);
            fmpz_add_ui(middle, middle, 1);
            known = never_grows(p, n, middle, NULL, budget) &&
                    never_grows(p, n, lo, middle, budget);
        }
    } else {
        fmpz_sub(span, hi, lo);
        if (fmpz_cmp_ui(span, 1) > 0) {
            fmpz_add(middle, lo, hi);
            fmpz_fdiv_q_2exp(middle, middle, 1);
            known = never_grows(p, n, lo, middle, budget) && never_grows(p, n, middle, hi, budget);
        } else if (fmpz_is_one(span)) { /* one step: the two values themselves */
            known = step_falls(p, n, lo, hi);
        }
    }
    return known;
}

/* [8.1] Where g is 0 the ratio counts as infinite if f is not, and is left out if f is 0 too. */
int ratio_falls(const struct proof *f, const struct proof *g, long budget)
{
    struct expression_pool *p = f->problem->pool;
    int i = 0, j = 0, known = 1, f_ended = 0, g_begun = 0, joined = 0;
    LOCAL(fmpz, from, end, last, before);
    while (known) {
        const struct piece *x = &f->piece[i], *y = &g->piece[j];
        int unbounded = x->unbounded && y->unbounded;
        if (!unbounded) {
            if (x->unbounded || (!y->unbounded && fmpz_cmp(y->end, x->end) < 0))
                fmpz_set(end, y->end);
            else
                fmpz_set(end, x->end);
            fmpz_sub_ui(last, end, 1);
        }
        if (x->kind == PIECE_ROUGH || y->kind == PIECE_ROUGH) {
            known = 0;
        } else if (y->kind == PIECE_ZERO) {
            if (x->kind != PIECE_ZERO)
                known = !g_begun; /* infinite, which may only come first */
        } else if (x->kind == PIECE_ZERO) {
            f_ended = g_begun = 1;
        } else {
            g_begun = 1;
            known = !f_ended;
            if (known && joined) /* `before` was the last distance at which both were positive */
                known = step_falls(p, expression_subtract(p, f->problem->root, g->problem->root),
                                   before, from);
            if (known)
                known = never_grows(p, expression_subtract(p, x->root, y->root), from,
                                    unbounded ? NULL : last, &budget);
            fmpz_set(before, last);
            joined = 1;
        }
        if (unbounded)
            break;
        if (!x->unbounded && fmpz_equal(x->end, end))
            i++;
        if (!y->unbounded && fmpz_equal(y->end, end))
            j++;
        fmpz_set(from, end);
    }
    return known && !p->failed;
}

/* [8.2] */
int are_proportional(const struct proof *f, const struct proof *g)
{
    int difference = expression_subtract(f->problem->pool, f->problem->root, g->problem->root);
    const struct expression *x = &f->problem->pool->node[difference];
    return f->problem->root == g->problem->root || (!x->depends && x->total);
}
