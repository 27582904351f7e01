/* Comparing two heads: whether f/g is proved never to increase. Then the normalised kernel of f is smaller in the
 * likelihood-ratio order, its share below every j is at least that of g, and TRF_f(eps) <= TRF_g(eps) for every eps ([B] theorem
 * 0.5 in this form). */
#include "analyze/formula_private.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/search/search.h"

#include <stdio.h>
#include <stdlib.h>

enum { INTERVALS = 3000 };

/* Both biases in one pool. */
struct pair {
    struct expression_pool *pool;
    struct series_summand both[2]; /* only formula, at, pool, root and pieces are used */
};

/* t u'(t) of a node without kinks, as an expression. */
static int rate_of(struct expression_pool *p, int n)
{
    struct expression x = p->node[n]; /* the pool may move while it grows */
    int result = NODE_NAN;
    if (!x.depends)
        return NODE_ZERO;
    LOCAL(fmpq, q);
    switch (x.kind) {
    case X_T: result = NODE_T_ITSELF; break;
    case X_LINEAR: {
        int *child = malloc((size_t)x.count * sizeof *child);
        if (!child) {
            p->failed = 1;
            break;
        }
        for (int i = 0; i < x.count; i++)
            child[i] = rate_of(p, x.child[i]);
        result = expression_linear(p, q, x.count, child, x.weight);
        free(child);
        break;
    }
    case X_MULTIPLY: {
        int first = expression_multiply(p, rate_of(p, x.child[0]), x.child[1]);
        result = expression_add(p, first, expression_multiply(p, x.child[0], rate_of(p, x.child[1])));
        break;
    }
    case X_POWER: /* e u^(e-1) rate(u) */
        if (!p->node[x.child[1]].depends) {
            int lower = expression_power(p, x.child[0], expression_subtract(p, x.child[1], NODE_ONE));
            result = expression_multiply(p, x.child[1], expression_multiply(p, lower, rate_of(p, x.child[0])));
        }
        break;
    case X_LN: {
        int inverse = expression_power(p, x.child[0], expression_ratio(p, -1, 1));
        result = expression_multiply(p, rate_of(p, x.child[0]), inverse);
        break;
    }
    case X_EXP: result = expression_multiply(p, n, rate_of(p, x.child[0])); break;
    case X_SIN: result = expression_multiply(p, expression_unary(p, X_COS, x.child[0]), rate_of(p, x.child[0])); break;
    case X_COS:
        result = expression_multiply(p, expression_unary(p, X_SIN, x.child[0]),
                                     expression_subtract(p, NODE_ZERO, rate_of(p, x.child[0])));
        break;
    default: break;
    }
    return result;
}

/* 1 if u does not grow on [lo, hi] (hi NULL: unbounded) for certain: at all real t, or, with `whole`, from each whole t to the
 * next. */
static int never_grows(const struct expression_pool *p, int n, const fmpz_t lo, const fmpz *hi, int whole, long *budget)
{
    struct ranges r;
    if (!p->node[n].depends)
        return p->node[n].kind != X_NAN;
    if (p->node[n].kinked || --*budget < 0 || ranges_compute(&r, p, n, lo, hi, 96))
        return 0;
    int falls = r.node[n].defined && r.node[n].smooth && mpfr_sgn(&r.node[n].rate->right) <= 0;
    ranges_free(&r);
    if (falls)
        return 1;
    LOCAL(fmpz, middle, span);
    int known = 0;
    if (!hi) {
        if (fmpz_bits(lo) < 4096) { /* [lo, 2 lo + 1] and what is beyond, which is looked at first */
            fmpz_mul_ui(middle, lo, fmpz_bits(lo) > 20 ? 1 << 20 : 2);
            fmpz_add_ui(middle, middle, 1);
            known = never_grows(p, n, middle, NULL, whole, budget) && never_grows(p, n, lo, middle, whole, budget);
        }
    } else {
        fmpz_sub(span, hi, lo);
        if (fmpz_cmp_ui(span, 1) > 0) {
            fmpz_add(middle, lo, hi);
            fmpz_fdiv_q_2exp(middle, middle, 1);
            known = never_grows(p, n, lo, middle, whole, budget) && never_grows(p, n, middle, hi, whole, budget);
        } else if (fmpz_is_one(span) && whole) { /* one step: the two values themselves */
            struct expression_pool *q = expression_pool_new();
            if (q) {
                int change = expression_subtract(q, expression_substitute(q, p, n, hi), expression_substitute(q, p, n, lo));
                int sign = expression_sign(q, change);
                known = !q->failed && (sign == -1 || sign == 0);
                expression_pool_free(q);
            }
        }
    }
    return known;
}

/* The difference of the biases at one t: 1 if it is not larger at `to` than at `from`. */
static int step_falls(const struct pair *k, int f, int g, const fmpz_t from, const fmpz_t to)
{
    struct expression_pool *q = expression_pool_new();
    int known = 0;
    if (q) {
        int before = expression_subtract(q, summand_value(q, &k->both[f], k->both[f].root, from),
                                         summand_value(q, &k->both[g], k->both[g].root, from));
        int after = expression_subtract(q, summand_value(q, &k->both[f], k->both[f].root, to),
                                        summand_value(q, &k->both[g], k->both[g].root, to));
        int sign = expression_sign(q, expression_subtract(q, after, before));
        known = !q->failed && (sign == -1 || sign == 0);
        expression_pool_free(q);
    }
    return known;
}

/* 1 if f/g is proved never to increase. Where g is 0 the ratio counts as infinite if f is not, and is left out if f is 0 too. */
static int ratio_falls(struct pair *k, int f, int g)
{
    const struct series_summand *a = &k->both[f], *b = &k->both[g];
    int i = 0, j = 0, known = 1, f_ended = 0, g_begun = 0, joined = 0;
    long budget = INTERVALS;
    LOCAL(fmpz, from, end, last, before);
    while (known) {
        const struct piece *x = &a->piece[i], *y = &b->piece[j];
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
                known = step_falls(k, f, g, before, from);
            if (known)
                known = never_grows(k->pool, expression_subtract(k->pool, x->root, y->root), from, unbounded ? NULL : last, 1,
                                    &budget);
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
    known = known && !k->pool->failed;
    return known;
}

/* ---- the same shape at two scales ---- */

/* 1 if a difference of biases is one number whatever t is. */
static int is_constant(const struct expression_pool *p, int difference)
{
    const struct expression *x = &p->node[difference];
    return !x->depends && x->total;
}

/* c with f(c t) = g(t) up to a factor, for some rational c > 0. 1 or 0. */
static int common_scale(fmpq_t c, struct pair *k)
{
    struct expression_pool *p = k->pool;
    int count = p->count, found = 0; /* only nodes of the two biases, made so far */
    LOCAL(fmpq, power);
    for (int m = 0; m < count && !found; m++)
        for (int n = 0; n < count && !found && !p->failed; n++) {
            struct expression x = p->node[m], y = p->node[n];
            if (x.kind != X_LINEAR || y.kind != X_LINEAR || x.count != 1 || y.count != 1 || x.child[0] != y.child[0] ||
                fmpq_is_zero(&x.weight[0]))
                continue;
            struct expression inside = p->node[x.child[0]];
            fmpq_div(c, &y.weight[0], &x.weight[0]);
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
            int scaled = expression_replace(p, p, k->both[0].root, expression_scale(p, NODE_T_ITSELF, c));
            found = is_constant(p, expression_subtract(p, scaled, k->both[1].root));
        }
    return found && !p->failed;
}

/* g(t) = f(c t) up to a factor, and t b_f'(t) never grows: then t b_g'(t) = (t b_f')(c t) is at least t b_f'(t) for c <= 1. -1, 0
 * or 1. */
static int compare_scales(struct pair *k)
{
    long budget = INTERVALS;
    int order = 0;
    LOCAL(fmpq, c);
    LOCAL(fmpz, zero);
    if (k->both[0].pieces == 1 && k->both[1].pieces == 1 && k->both[0].piece[0].kind == PIECE_SMOOTH && common_scale(c, k) &&
        never_grows(k->pool, rate_of(k->pool, k->both[0].root), zero, NULL, 0, &budget) && !k->pool->failed)
        order = fmpz_cmp(fmpq_numref(c), fmpq_denref(c)) < 0 ? -1 : 1;
    return order;
}

/* ---- */

static void pair_clear(struct pair *k)
{
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < k->both[i].pieces; n++) {
            fmpz_clear(k->both[i].piece[n].first);
            fmpz_clear(k->both[i].piece[n].end);
        }
        free(k->both[i].piece);
        fmpz_clear(k->both[i].shift);
    }
    expression_pool_free(k->pool);
}

int series_compare(const struct series *f, const struct series *g, int *order, char why[256], struct formula_error *e)
{
    const struct series *const both[2] = {f, g};
    struct pair k = {.pool = expression_pool_new()};
    int failed = 0;
    *order = 0;
    if (!k.pool)
        return formula_refuse(e, 0, "out of memory");
    if (f->mean || g->mean) {
        snprintf(why, 256, "mean kernels are not compared");
        expression_pool_free(k.pool);
        return 0;
    }
    for (int i = 0; i < 2; i++)
        fmpz_init(k.both[i].shift);
    for (int i = 0; i < 2 && !failed; i++) {
        k.both[i].formula = both[i]->summand[0]->formula;
        k.both[i].at = both[i]->summand[0]->at;
        k.both[i].pool = k.pool;
        k.both[i].root = expression_build(k.pool, k.both[i].formula, &k.both[i].at, NULL, e);
        failed = k.both[i].root < 0 ? -1 : 0;
    }
    if (!failed) {
        if (k.both[0].root == k.both[1].root ||
            is_constant(k.pool, expression_subtract(k.pool, k.both[0].root, k.both[1].root))) {
            *order = -1;
            snprintf(why, 256, "f and g are proportional: the same TRF for every epsilon");
            goto end;
        }
    }
    for (int i = 0; i < 2 && !failed; i++)
        failed = search_pieces(&k.both[i], e);
    if (!failed && (*order = compare_scales(&k)) != 0) {
        snprintf(why, 256, "%s never increases: one shape at two scales, and t b'(t) never increases",
                 *order < 0 ? "f/g" : "g/f");
    } else if (!failed && ratio_falls(&k, 0, 1)) {
        *order = -1;
        snprintf(why, 256, "f/g never increases: the derivative of b_f - b_g is proved to be at most 0");
    } else if (!failed && ratio_falls(&k, 1, 0)) {
        *order = 1;
        snprintf(why, 256, "g/f never increases: the derivative of b_g - b_f is proved to be at most 0");
    } else if (!failed) {
        snprintf(why, 256, "neither f/g nor g/f is proved never to increase");
    }
end:
    pair_clear(&k);
    return failed ? -1 : 0;
}
