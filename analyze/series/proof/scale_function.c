/* Expressions on the scale of logarithms and exponentials. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/scale.h"

#include <stdlib.h>

enum {
    ORDER = 4, /* terms of a power series in what tends to 0 */
    STEEP = 16, /* exp(-unbounded) is at most level^-STEEP */
    POWER_BITS = 20 /* larger powers are exponentials of logarithms */
};

static int one_sided(struct scaled *out, struct scale *g, long lo, long hi)
{
    LOCAL_MONOMIAL(one);
    LOCAL_INTERVAL(g->prec, c);
    mpfi_interv_si(c, lo, hi);
    return scaled_add_remainder(g, out, &one, c);
}

/* out += a constant */
static int add_constant(struct scaled *out, struct scale *g, int node)
{
    LOCAL_MONOMIAL(one);
    return scaled_add_term(g, out, &one, node);
}

/* ---- power series ---- */

/* [4.6] out = sum of coefficient[k] e^k, k < ORDER, + something within r(hull of 0 and e) e^ORDER,
 * for e that tends to 0. `reach` is that hull. */
static int compose(struct scaled *out, struct scale *g, const struct scaled *e,
                   const int *coefficient, const mpfi_t r)
{
    LOCAL_SCALED(g, power);
    LOCAL_MONOMIAL(m, one);
    LOCAL_INTERVAL(g->prec, c, product);
    LOCAL(fmpq, order);
    int known = scaled_collapse(c, &m, g, e) && add_constant(&power, g, NODE_ONE);
    for (int k = 0; k < ORDER && known; k++) {
        known = scaled_addmul(g, out, &power, &one, coefficient[k]);
        if (k + 1 < ORDER)
            known = known && scaled_multiply(g, &power, &power, e);
    }
    mpfi_set(product, r);
    for (int k = 0; k < ORDER; k++)
        mpfi_mul(product, product, c);
    fmpq_set_si(order, ORDER, 1);
    monomial_multiply(&one, &m, order);
    return known && !mpfi_nan_p(product) &&
           (mpfi_is_zero(product) || scaled_add_remainder(g, out, &one, product));
}

/* The hull of 0 and what e takes. */
static int reach_of(mpfi_t out, struct scale *g, const struct scaled *e)
{
    int known = scaled_bounds(out, g, e) && interval_is_bounded(out);
    mpfi_put_si(out, 0);
    return known;
}

/* u = c m (1 + e), c exact and first: e, and what 1 + e takes, and 1; 0 if that is not positive. */
static int relative(struct scaled *e, mpfi_t factor, struct scale *g, const struct scaled *u)
{
    LOCAL_MONOMIAL(inverse);
    LOCAL_SCALED(g, others);
    LOCAL(fmpq, minus);
    fmpq_set_si(minus, -1, 1);
    scaled_set(&others, u);
    scaled_shift(&others);
    monomial_multiply(&inverse, &u->of[0], minus);
    int inverted = expression_power(g->p, u->coefficient[0], expression_ratio(g->p, -1, 1));
    int known = scaled_addmul(g, e, &others, &inverse, inverted) && reach_of(factor, g, e);
    mpfi_add_ui(factor, factor, 1);
    return known && interval_is_positive(factor);
}

/* Terms above 1, a constant (a node, or -1: in *spread), and what tends to 0. 1 or 0. */
static int split(struct scaled *large, int *constant, mpfi_t spread, struct scaled *small,
                 struct scale *g, const struct scaled *u)
{
    int known = scaled_large(large, small, g, u);
    *constant = NODE_ZERO;
    if (small->count && monomial_sign(&small->of[0]) == 0) {
        *constant = small->coefficient[0];
        scaled_shift(small);
    }
    if (small->rough && monomial_sign(&small->at) == 0) { /* terms below it are a part of it */
        mpfi_set(spread, small->remainder);
        small->rough = 0;
        *constant = -1;
    }
    return known;
}

/* ---- functions ---- */

/* [4.6] ln u = ln c + ln m + ln(1 + e); not_negative: u is known to be. */
static int ln_of(struct scaled *out, struct scale *g, const struct scaled *u, int not_negative)
{
    LOCAL_MONOMIAL(m, level);
    LOCAL_SCALED(g, e);
    LOCAL_INTERVAL(g->prec, c);
    const int series[ORDER] = {NODE_ZERO, NODE_ONE, expression_ratio(g->p, -1, 2),
                               expression_ratio(g->p, 1, 3)};
    int known = !u->masked && (u->count || u->rough);
    if (!known)
        return 0;
    monomial_multiply(&m, u->count ? &u->of[0] : &u->at, NULL);
    if (u->count) {
        if (expression_sign(g->p, u->coefficient[0]) != 1 || !relative(&e, c, g, u))
            return 0;
        mpfi_sqr(c, c); /* the fourth derivative over 4! is -1 / (4 (1 + x)^4) */
        mpfi_sqr(c, c);
        mpfi_mul_si(c, c, -4);
        mpfi_inv(c, c);
        known = add_constant(out, g, expression_unary(g->p, X_LN, u->coefficient[0])) &&
                compose(out, g, &e, series, c);
    } else {
        mpfi_set(c, u->remainder);
        if (not_negative && mpfr_sgn(&c->left) < 0)
            mpfr_set_zero(&c->left, 1);
        if (mpfr_sgn(&c->left) < 0 || mpfr_sgn(&c->right) <= 0)
            return 0;
        out->masked = mpfr_zero_p(&c->left) != 0;
        mpfi_log(c, c);
        LOCAL_MONOMIAL(one);
        known = scaled_add_remainder(g, out, &one, c);
    }
    for (int k = 0; k < SCALE_LEVELS && known; k++) {
        if (fmpq_is_zero(&m.a[k]))
            continue;
        monomial_level(&level, k + 1);
        known = k + 1 <= g->levels &&
                scaled_add_term(g, out, &level,
                                expression_number(g->p, &m.a[k])); /* it is positive */
    }
    return known;
}

/* exp of what tends to -infinity or infinity: something times a power. */
static int exp_of_unbounded(struct scaled *out, struct scale *g, const struct scaled *unbounded)
{
    LOCAL_MONOMIAL(m, level);
    LOCAL_SCALED(g, sum);
    LOCAL_INTERVAL(g->prec, c);
    LOCAL(fmpq, steep);
    int j = 0;
    if (!scaled_collapse(c, &m, g, unbounded) || mpfi_has_zero(c))
        return 0;
    for (; j + 1 < SCALE_LEVELS; j++) {
        monomial_level(&level, j + 1);
        if (monomial_compare(&level, &m) < 0)
            break;
    }
    if (j + 1 == SCALE_LEVELS)
        return 0;
    int falls = mpfr_sgn(&c->right) < 0, known = 0;
    for (int power = falls ? -STEEP : 1; power && !known; power /= STEEP) {
        fmpq_set_si(steep, power, 1);
        scaled_set(&sum, unbounded);
        known = scaled_add_term(g, &sum, &level, expression_ratio(g->p, -power, 1)) &&
                scaled_bounds(c, g, &sum) && mpfr_number_p(falls ? &c->right : &c->left);
    }
    mpfi_exp(c, c);
    LOCAL_MONOMIAL(factor);
    monomial_level(&level, j);
    monomial_multiply(&factor, &level, steep);
    return known && scaled_add_remainder(g, out, &factor, c);
}

/* [4.6] */
static int exp_of(struct scaled *out, struct scale *g, const struct scaled *u)
{
    LOCAL_SCALED(g, large, small, unbounded, factor);
    LOCAL_MONOMIAL(power, level, one);
    LOCAL_INTERVAL(g->prec, spread, c);
    const int series[ORDER] = {NODE_ONE, NODE_ONE, expression_ratio(g->p, 1, 2),
                               expression_ratio(g->p, 1, 6)};
    int constant;
    if (!split(&large, &constant, spread, &small, g, u) || !reach_of(c, g, &small))
        return 0;
    mpfi_exp(c, c);
    mpfi_div_ui(c, c, 24);
    int known = compose(&factor, g, &small, series, c);
    for (int i = 0; i < large.count && known; i++) { /* exp(q level[j]) = level[j - 1]^q */
        int j = 1, exact = g->p->node[large.coefficient[i]].kind == X_NUMBER;
        for (; j < SCALE_LEVELS; j++) {
            monomial_level(&level, j);
            if (monomial_compare(&level, &large.of[i]) == 0)
                break;
        }
        if (exact && j < SCALE_LEVELS &&
            !unbounded.count) { /* what falls faster outweighs what is left */
            monomial_level(&level, j - 1);
            monomial_multiply(&power, &level, g->p->node[large.coefficient[i]].q);
        } else {
            known = scaled_add_term(g, &unbounded, &large.of[i], large.coefficient[i]);
        }
    }
    if (large.rough)
        known = known && scaled_add_remainder(g, &unbounded, &large.at, large.remainder);
    if (known && (unbounded.count || unbounded.rough)) {
        LOCAL_SCALED(g, steep);
        known = exp_of_unbounded(&steep, g, &unbounded) &&
                scaled_multiply(g, &factor, &factor, &steep);
    }
    if (known && (constant == -1 || u->masked)) {
        LOCAL_SCALED(g, bounded);
        if (constant == -1)
            mpfi_exp(c, spread);
        else
            mpfi_set_ui(c, 1);
        if (u->masked)
            mpfi_put_si(c, 0);
        known = !mpfi_nan_p(c) && scaled_add_remainder(g, &bounded, &one, c) &&
                scaled_multiply(g, &factor, &factor, &bounded);
    }
    return known &&
           scaled_addmul(g, out, &factor, &power,
                         constant == -1 ? NODE_ONE : expression_unary(g->p, X_EXP, constant));
}

/* [4.6] u^q = c^q m^q (1 + e)^q */
static int power_of(struct scaled *out, struct scale *g, const struct scaled *u, const fmpq_t q)
{
    LOCAL_MONOMIAL(m);
    LOCAL_SCALED(g, e);
    LOCAL_INTERVAL(g->prec, c, x);
    LOCAL(fmpq, part);
    int whole = fmpz_is_one(fmpq_denref(q)), series[ORDER];
    if (u->masked || (!u->count && !u->rough))
        return 0;
    monomial_multiply(&m, u->count ? &u->of[0] : &u->at, q);
    if (!u->count) { /* bounds alone */
        mpfi_set(c, u->remainder);
        if (whole && fmpz_is_even(fmpq_numref(q)))
            mpfi_abs(c, c);
        if (mpfr_sgn(&c->left) < 0 || (mpfr_zero_p(&c->left) && fmpq_sgn(q) < 0))
            return 0;
        interval_set_fmpq(x, q);
        interval_power(c, c, x);
        return scaled_add_remainder(g, out, &m, c);
    }
    if ((!whole && expression_sign(g->p, u->coefficient[0]) != 1) || !relative(&e, c, g, u))
        return 0;
    fmpq_one(part); /* binomial coefficients */
    for (int k = 0; k < ORDER; k++) {
        LOCAL(fmpq, next);
        series[k] = expression_number(g->p, part);
        fmpq_sub_si(next, q, k);
        fmpq_mul(part, part, next);
        fmpq_div_fmpz(part, part, (fmpz[]){k + 1});
    }
    LOCAL(fmpq, last);
    fmpq_sub_si(last, q, ORDER);
    interval_set_fmpq(x, last);
    interval_power(c, c, x);
    interval_set_fmpq(x, part);
    mpfi_mul(c, c, x);
    LOCAL_SCALED(g, factor);
    return compose(&factor, g, &e, series, c) &&
           scaled_addmul(g, out, &factor, &m,
                         expression_power(g->p, u->coefficient[0], expression_number(g->p, q)));
}

static int wave_of(struct scaled *out, struct scale *g, const struct scaled *u, int is_sine)
{
    LOCAL_SCALED(g, large, small);
    LOCAL_MONOMIAL(one);
    LOCAL_INTERVAL(g->prec, c);
    int constant;
    if (u->masked)
        return 0;
    if (!split(&large, &constant, c, &small, g, u))
        return 0;
    if (large.count || large.rough)
        return one_sided(out, g, -1, 1);
    if (constant == -1) {
        if (!scaled_bounds(c, g, u) || !interval_is_bounded(c))
            return one_sided(out, g, -1, 1);
        (is_sine ? mpfi_sin : mpfi_cos)(c, c);
        return scaled_add_remainder(g, out, &one, c);
    }
    int s = expression_unary(g->p, X_SIN, constant), k = expression_unary(g->p, X_COS, constant);
    int first = is_sine ? s : k, second = is_sine ? k : expression_subtract(g->p, NODE_ZERO, s);
    LOCAL(fmpq, half, sixth);
    fmpq_set_si(half, -1, 2);
    fmpq_set_si(sixth, -1, 6);
    const int series[ORDER] = {first, second, expression_scale(g->p, first, half),
                               expression_scale(g->p, second, sixth)};
    mpfi_interv_si(c, -1, 1);
    mpfi_div_ui(c, c, 24);
    return compose(out, g, &small, series, c);
}

/* out = u or v, at each t; larger: the larger (1) or smaller (-1) of them, 0: it is not known
 * which. Where one of them may be -inf, it is the other plus as much as it is larger, or less as
 * much as it is smaller, up to -inf. */
static int either(struct scaled *out, struct scale *g, const struct scaled *u,
                  const struct scaled *v, int larger)
{
    LOCAL_SCALED(g, difference);
    LOCAL_MONOMIAL(m, one);
    LOCAL_INTERVAL(g->prec, c);
    if (u->masked != v->masked ? u->masked : u->rough && !v->rough)
        return either(out, g, v, u, larger);
    if (u->masked || (v->masked && !larger)) /* u - v may be -inf - -inf */
        return 0;
    if (!scaled_addmul(g, &difference, v, &one, NODE_ONE) ||
        !scaled_addmul(g, &difference, u, &one, expression_ratio(g->p, -1, 1)))
        return 0;
    difference.masked = 0;
    if (!scaled_collapse(c, &m, g, &difference))
        return 0;
    const struct scaled *more = mpfr_sgn(&c->right) < 0 ? u : v;
    if (!larger && !mpfi_has_zero(c) && (more->count || more->rough) &&
        monomial_compare(&m, more->count ? &more->of[0] : &more->at) >
            0) { /* one grows faster than the larger */
        scaled_set(out, more);
        out->masked = 1;
        return 1;
    }
    if (!u->count && !v->count && u->rough && v->rough && !v->masked &&
        monomial_compare(&u->at, &v->at) == 0) {
        mpfi_union(c, u->remainder, v->remainder);
        return scaled_add_remainder(g, out, &u->at, c);
    }
    scaled_set(out, u);
    mpfi_put_si(c, 0);
    if (larger > 0)
        mpfr_set_zero(&c->left, 1);
    if (larger < 0)
        mpfr_set_zero(&c->right, 1);
    out->masked = v->masked && larger < 0;
    return scaled_add_remainder(g, out, &m, c);
}

/* ---- nodes ---- */

static const struct scaled *of_node(struct scale *g, int n);

/* 1 if a choice is the larger of its two branches, -1 the smaller, 0 neither. */
static int larger_of(struct expression_pool *p, const struct expression *choice)
{
    const struct expression *condition = &p->node[choice->child[0]];
    int then = choice->child[1], otherwise = choice->child[2],
        compared = condition->child ? condition->child[0] : -1;
    if (condition->kind != X_NONNEGATIVE)
        return 0;
    return compared == expression_subtract(p, then, otherwise)   ? 1
           : compared == expression_subtract(p, otherwise, then) ? -1
                                                                 : 0;
}

static int of_choice(struct scaled *out, struct scale *g, const struct expression *x)
{
    const struct scaled *c = of_node(g, x->child[0]), *u, *v;
    int larger = larger_of(g->p, x), sign = c ? scaled_sign(g, c) : larger ? 3 : 2;
    if (sign == 2)
        return 0;
    if (sign != 3) {
        u = of_node(g, x->child[sign ? 1 : 2]);
        if (u)
            scaled_set(out, u);
        return u != NULL;
    }
    if (x->child[1] == NODE_MINUS_INFINITY || x->child[2] == NODE_MINUS_INFINITY) {
        u = of_node(g, x->child[x->child[1] == NODE_MINUS_INFINITY ? 2 : 1]);
        if (!u || (!c && u->masked)) /* the condition may be -inf - -inf */
            return 0;
        scaled_set(out, u);
        out->masked = 1;
        return 1;
    }
    u = of_node(g, x->child[1]);
    v = of_node(g, x->child[2]);
    return u && v && either(out, g, u, v, larger);
}

/* out += terms of the sum that is node n, by halves: a coefficient may have a part of each. */
static int add_terms(struct scaled *out, struct scale *g, int n, int first, int count)
{
    LOCAL_MONOMIAL(one);
    LOCAL(fmpq, w);
    if (count > 1) {
        LOCAL_SCALED(g, half);
        return add_terms(out, g, n, first, count / 2) &&
               add_terms(&half, g, n, first + count / 2, count - count / 2) &&
               scaled_addmul(g, out, &half, &one, NODE_ONE);
    }
    const struct scaled *u = of_node(g, g->p->node[n].child[first]);
    fmpq_set(w, &g->p->node[n].weight[first]);
    return u && scaled_addmul(g, out, u, &one, expression_number(g->p, w));
}

static int make(struct scaled *out, struct scale *g, int n)
{
    struct expression x = g->p->node[n]; /* the pool may move while it grows */
    const struct scaled *a = NULL, *b = NULL;
    LOCAL_MONOMIAL(m);
    if (!x.depends)
        return x.total && add_constant(out, g, n);
    if (x.kind == X_T) {
        monomial_level(&m, 1);
        return scaled_add_term(g, out, &m, NODE_ONE);
    }
    if (x.kind == X_LINEAR)
        return add_constant(out, g, expression_number(g->p, x.q)) &&
               add_terms(out, g, n, 0, x.count);
    if (x.kind == X_CHOOSE)
        return of_choice(out, g, &x);
    if (x.count == 0 || !(a = of_node(g, x.child[0])) ||
        (x.count > 1 && !(b = of_node(g, x.child[1]))))
        return 0;
    switch (x.kind) {
    case X_MULTIPLY: return scaled_multiply(g, out, a, b);
    case X_POWER: {
        const struct expression *e = &g->p->node[x.child[1]];
        if (e->kind == X_NUMBER && fmpz_bits(fmpq_numref(e->q)) <= POWER_BITS) {
            LOCAL(fmpq, q);
            fmpq_set(q, e->q);
            return power_of(out, g, a, q);
        }
        LOCAL_SCALED(g, log, product);
        return ln_of(&log, g, a, 0) && !log.masked && scaled_multiply(g, &product, &log, b) &&
               exp_of(out, g, &product);
    }
    case X_LN: return ln_of(out, g, a, g->p->node[x.child[0]].sign > 0);
    case X_EXP: return exp_of(out, g, a);
    case X_SIN:
    case X_COS: return wave_of(out, g, a, x.kind == X_SIN);
    case X_FRACTION: return !a->masked && one_sided(out, g, 0, 1);
    case X_ABS: {
        LOCAL_INTERVAL(g->prec, c);
        int sign = scaled_sign(g, a);
        if (sign != 3)
            return sign != 2 && scaled_addmul(g, out, a, &m,
                                              sign < 0 ? expression_ratio(g->p, -1, 1) : NODE_ONE);
        return scaled_collapse(c, &m, g, a) &&
               (mpfi_abs(c, c), scaled_add_remainder(g, out, &m, c));
    }
    case X_NONNEGATIVE: {
        int sign = scaled_sign(g, a);
        if (sign == 2 || x.count != 1)
            return 0;
        if (sign == 3)
            return one_sided(out, g, 0, 1);
        return add_constant(out, g, sign >= 0 ? NODE_ONE : NODE_ZERO);
    }
    default: return 0;
    }
}

/* NULL: there is none. */
static const struct scaled *of_node(struct scale *g, int n)
{
    if (n >= g->count)
        return NULL;
    if (!g->known[n]) {
        g->known[n] = -1;
        g->p->budget->done += 800;
        struct scaled *u = g->made[n] = calloc(1, sizeof *u);
        if (u) {
            scaled_init(u, g->prec);
            if (make(u, g, n) && !g->p->failed)
                g->known[n] = 1;
        }
    }
    return g->known[n] == 1 ? g->made[n] : NULL;
}

int scaled_of(struct scaled *out, struct scale *g, int n)
{
    const struct scaled *u = of_node(g, n);
    if (u)
        scaled_set(out, u);
    return u != NULL;
}
