/* Antiderivatives that are known functions: with y0 = shift + slope t, y1 = shift + slope ln y0,
 * ..., slopes > 0, those of c + q t + a0 ln y0 + a1 ln y1 + ... + w y^p, y one of these. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/proof.h"

#include <math.h>

enum {
    LOGS = 4,
    EXPONENT_BITS = 40 /* constants from 2^this on are left to other means */
};

/* An incomplete gamma function or erfc takes as long as this many elementary functions. */
static const double GAMMA_WORK = 60, GAMMA_TERMS = 20 /* of its order s */;

struct taken {
    const struct expression_pool *p;
    slong prec;
    int node[LOGS + 1]; /* of y0, y1, ...; -1: not named: t, or the logarithm of the one before */
    arb_t shift[LOGS + 1], slope[LOGS + 1];
    arb_t constant, linear; /* b = constant + linear * t + ... */
    arb_t slopes; /* the product of those of the variables gone through */
    arb_t log[LOGS + 1]; /* weights of ln y0, ln y1, ... */
    arb_t weight, power,
        inverse; /* weight * y^power, and 1/power: exactly, where it is a whole number */
    int level; /* which y that is; -1: absent */
};

/* What multiplies t in a node: the part that depends on t and its constant factor. */
static int constant_factor(arb_t factor, const struct expression_pool *p, int n, slong prec)
{
    const struct expression *x = &p->node[n];
    arb_one(factor);
    if (x->kind == X_MULTIPLY && !p->node[x->child[0]].depends) {
        evaluate_constant(factor, p, x->child[0], prec);
        return x->child[1];
    }
    if (x->kind == X_MULTIPLY && !p->node[x->child[1]].depends) {
        evaluate_constant(factor, p, x->child[1], prec);
        return x->child[0];
    }
    return n;
}

/* The logarithm that a sum or a multiple with constants may be a line in, or -1. */
static int logarithm_in(const struct expression_pool *p, int n)
{
    while (p->node[n].depends && (p->node[n].kind == X_LINEAR || p->node[n].kind == X_MULTIPLY)) {
        int i = 0;
        while (!p->node[p->node[n].child[i]].depends)
            i++;
        n = p->node[n].child[i];
    }
    return p->node[n].kind == X_LN ? n : -1;
}

/* Which of y0, y1, ... the node is, or becomes if that was free; -1: none of them. */
static int level_of(struct taken *k, int n)
{
    int level = 0;
    LOCAL(arb, shift, slope);
    if (!evaluate_affine(shift, slope, k->p, n, k->prec)) {
        int ln = logarithm_in(k->p, n);
        if (ln < 0 || !evaluate_line_in(shift, slope, k->p, n, ln, k->prec))
            return -1;
        level = level_of(k, k->p->node[ln].child[0]) + 1;
        if (level == 0 || level > LOGS)
            return -1;
    }
    if (k->node[level] < 0 && arb_is_positive(slope)) {
        k->node[level] = n;
        arb_set(k->shift[level], shift);
        arb_set(k->slope[level], slope);
    }
    return k->node[level] == n ? level : -1;
}

/* One term: weight * node. */
static int take(struct taken *k, int n, const fmpq *weight)
{
    LOCAL(arb, factor, a, b);
    int inner = constant_factor(factor, k->p, n, k->prec), level;
    const struct expression *x = &k->p->node[inner];
    arb_mul_fmpz(factor, factor, fmpq_numref(weight), k->prec);
    arb_div_fmpz(factor, factor, fmpq_denref(weight), k->prec);
    if (arf_cmpabs_2exp_si(arb_midref(factor), EXPONENT_BITS) >= 0)
        return 0;
    if (evaluate_affine(a, b, k->p, inner, k->prec)) {
        arb_addmul(k->constant, factor, a, k->prec);
        arb_addmul(k->linear, factor, b, k->prec);
        return 1;
    }
    if (x->kind == X_LN) {
        if ((level = level_of(k, x->child[0])) >= 0)
            arb_add(k->log[level], k->log[level], factor, k->prec);
        return level >= 0;
    }
    if (x->kind != X_POWER || k->p->node[x->child[1]].depends || k->level >= 0)
        return 0;
    k->level = level_of(k, x->child[0]);
    arb_set(k->weight, factor);
    evaluate_constant(k->power, k->p, x->child[1], k->prec);
    arb_inv(k->inverse, k->power, k->prec);
    if (k->p->node[x->child[1]].kind == X_NUMBER &&
        fmpz_is_one(fmpq_numref(k->p->node[x->child[1]].q)))
        arb_set_fmpz(k->inverse, fmpq_denref(k->p->node[x->child[1]].q));
    return k->level >= 0 && arf_cmpabs_2exp_si(arb_midref(k->power), EXPONENT_BITS) < 0;
}

/* [5.5] y^a dy. */
static int integrate_monomial(arb_t out, int *vanishes, const arb_t a, const arb_t y, slong prec)
{
    LOCAL(arb, more);
    arb_add_ui(more, a, 1, prec);
    arb_pow(out, y, more, prec);
    arb_div(out, out, more, prec);
    arb_neg(out, out);
    *vanishes = arb_is_negative(more);
    return arb_is_nonzero(more);
}

/* [5.5] Gamma(s, w y^p) / (p w^s), weight = -w; an exact s takes a thirtieth of the time. */
int integrate_power(arb_t out, const arb_t s, const arb_t weight, const arb_t power, const arb_t y,
                    slong prec, struct budget *budget)
{
    LOCAL(arb, w, x);
    arb_neg(w, weight);
    if (!arb_is_positive(w) || !arb_is_positive(power))
        return 0;
    arb_pow(x, y, power, prec);
    arb_mul(x, x, w, prec);
    budget->done += (GAMMA_WORK +
                     fmin(fabs(arf_get_d(arb_midref(s), ARF_RND_NEAR)) / GAMMA_TERMS, GAMMA_WORK)) *
                    work_elementary(prec);
    arb_hypgeom_gamma_upper(out, s, x, 0, prec);
    arb_pow(x, w, s, prec);
    arb_mul(x, x, power, prec);
    arb_div(out, out, x, prec);
    return 1;
}

/* [5.5] exp(-w y^2 + linear y) dy. */
static int integrate_square(arb_t out, const arb_t weight, const arb_t linear, const arb_t y,
                            slong prec, struct budget *budget)
{
    LOCAL(arb, w, b, x);
    arb_neg(w, weight);
    if (!arb_is_positive(w))
        return 0;
    arb_div(b, linear, w, prec);
    arb_mul_2exp_si(b, b, -1); /* the exponent is -w (y - b)^2 + w b^2 */
    arb_sub(x, y, b, prec);
    arb_sqrt(out, w, prec);
    arb_mul(x, x, out, prec);
    budget->done += GAMMA_WORK * work_elementary(prec);
    arb_hypgeom_erfc(out, x, prec);
    arb_sqr(b, b, prec);
    arb_mul(b, b, w, prec);
    arb_exp(b, b, prec);
    arb_mul(out, out, b, prec);
    arb_const_pi(x, prec);
    arb_div(x, x, w, prec);
    arb_sqrt(x, x, prec);
    arb_mul(out, out, x, prec);
    arb_mul_2exp_si(out, out, -1);
    return 1;
}

int is_type1(arb_t k, const struct expression_pool *p, int root, slong prec)
{
    const struct expression *b = &p->node[root],
                            *inside = b->kind == X_LINEAR ? &p->node[b->child[0]] : b;
    LOCAL(arb, v, shift);
    if (b->kind != X_LINEAR || b->count != 1 || inside->kind != X_LN ||
        fmpq_cmp_si(&b->weight[0], -1) != 0)
        return 0;
    inside = &p->node[inside->child[0]];
    if (inside->kind != X_LINEAR || inside->count != 1 || !fmpq_is_one(inside->q))
        return 0;
    const struct expression *square = &p->node[constant_factor(v, p, inside->child[0], prec)];
    if (square->kind != X_POWER || p->node[square->child[1]].kind != X_NUMBER ||
        fmpq_cmp_si(p->node[square->child[1]].q, 2) != 0 ||
        !evaluate_affine(shift, k, p, square->child[0], prec) || !arb_is_zero(shift))
        return 0;
    arb_set_fmpq(shift, &inside->weight[0], prec);
    arb_mul(v, v, shift, prec);
    arb_sqrt(v, v, prec);
    arb_mul(k, k, v, prec);
    return arb_is_positive(k);
}

static void taken_leave(struct taken *k)
{
    arb_ptr own[] = {k->constant, k->linear, k->slopes, k->weight, k->power, k->inverse};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        arb_clear(own[i]);
    for (int i = 0; i <= LOGS; i++) {
        arb_clear(k->shift[i]);
        arb_clear(k->slope[i]);
        arb_clear(k->log[i]);
    }
}

static void taken_init(struct taken *k, const struct expression_pool *p, slong prec)
{
    *k = (struct taken){.p = p, .prec = prec, .level = -1};
    arb_ptr own[] = {k->constant, k->linear, k->slopes, k->weight, k->power, k->inverse};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        arb_init(own[i]);
    arb_one(k->slopes);
    for (int i = 0; i <= LOGS; i++) {
        k->node[i] = -1;
        arb_init(k->shift[i]);
        arb_init(k->slope[i]);
        arb_one(k->slope[i]);
        arb_init(k->log[i]);
    }
}

/* [5.5] The integral from t on, but for the factor exp(constant) / slopes; 1 if it is known. With x
 * = ln y, y^a dy is exp((a + 1) x) dx, and x a line in the next y: so one after the other is made
 * the variable, until none is left behind it. */
static int integrate(arb_t out, int *vanishes, struct taken *k, const arb_t t)
{
    int level, last = k->level;
    LOCAL(arb, y, linear, unit, s);
    for (int i = last + 1; i <= LOGS; i++)
        last = arb_is_zero(k->log[i]) ? last : i;
    arb_set(y, t);
    arb_set(linear, k->linear);
    for (level = 0;; level++) {
        arb_mul(y, y, k->slope[level], k->prec);
        arb_add(y, y, k->shift[level], k->prec);
        arb_div(linear, linear, k->slope[level], k->prec);
        arb_submul(k->constant, linear, k->shift[level], k->prec);
        arb_mul(k->slopes, k->slopes, k->slope[level], k->prec);
        if (!arb_is_positive(y))
            return 0;
        if (level == LOGS || !arb_is_zero(linear) || k->level == level)
            break;
        arb_add_ui(linear, k->log[level], 1, k->prec);
        if (last <= level && !arb_is_zero(linear))
            return integrate_monomial(out, vanishes, k->log[level], y, k->prec);
        arb_log(y, y, k->prec);
    }
    const arb_struct *a = k->log[level];
    if (last > level)
        return 0;
    arb_one(unit);
    arb_add_ui(s, a, 1, k->prec);
    if (k->level != level)
        return integrate_power(out, s, linear, unit, y, k->prec, k->p->budget);
    arb_mul(s, s, k->inverse, k->prec);
    if (arb_is_zero(linear))
        return integrate_power(out, s, k->weight, k->power, y, k->prec, k->p->budget);
    return arb_is_zero(a) && arb_equal_si(k->power, 2) &&
           integrate_square(out, k->weight, linear, y, k->prec, k->p->budget);
}

/* All of the bias. 1 if it has such a form. */
static int take_all(struct taken *k, int root)
{
    const struct expression *x = &k->p->node[root];
    LOCAL(fmpq, one);
    fmpq_one(one);
    if (x->kind != X_LINEAR)
        return take(k, root, one);
    arb_set_fmpq(k->constant, x->q, k->prec);
    for (int i = 0; i < x->count; i++)
        if (!take(k, x->child[i], &x->weight[i]))
            return 0;
    return 1;
}

/* [5.5] */
int antiderivative(arb_t out, int *vanishes, const struct expression_pool *p, int root,
                   const arb_t t, slong prec)
{
    struct taken k __attribute__((cleanup(taken_leave)));
    taken_init(&k, p, prec);
    *vanishes = 1;
    p->budget->done += 4 * work_elementary(prec);
    if (!take_all(&k, root) || !integrate(out, vanishes, &k, t))
        return 0;
    arb_exp(k.constant, k.constant, prec);
    arb_mul(out, out, k.constant, prec);
    arb_div(out, out, k.slopes, prec);
    return arb_is_finite(out);
}
