/* Antiderivatives that are known functions, recognised on the expression. With z = shift + slope t, slope > 0, the bias is taken
 * apart into c + q0 z + q z^p + a0 ln z + a1 ln ln z + ... + k (ln z)^2     or     c - ln(u + v z^2) and the sum is integrated
 * from z to infinity (up to a constant where that diverges). */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/summand.h"

enum {
    LOGS = 4,
    EXPONENT_BITS = 40 /* constants from 2^this on are left to other means */
};

struct taken {
    const struct expression_pool *p;
    slong prec;
    int z; /* node of z, -1 while nothing names it */
    arb_t shift, slope; /* z = shift + slope t */
    arb_t constant, linear; /* b = constant + linear * t + ... */
    arb_t power, power_weight; /* weight * z^power */
    int powers;
    arb_t log[LOGS]; /* weights of ln z, ln ln z, ... */
    fmpq_t exact[LOGS]; /* the same, where they are rational */
    int logs[LOGS]; /* 0: absent, 1: rational, 2: some other constant */
    arb_t square; /* weight of (ln z)^2 */
    int squares;
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

/* Takes the node for z, or finds that it is. */
static int same_z(struct taken *k, int n)
{
    if (k->z >= 0)
        return k->z == n;
    if (!evaluate_affine(k->shift, k->slope, k->p, n, k->prec) || !arb_is_positive(k->slope))
        return 0;
    k->z = n;
    return 1;
}

/* n = ln ln ... ln z: how many logarithms, 0 if it is something else. */
static int log_depth(struct taken *k, int n)
{
    int depth = 0;
    for (; k->p->node[n].kind == X_LN; n = k->p->node[n].child[0])
        depth++;
    return depth >= 1 && depth <= LOGS && same_z(k, n) ? depth : 0;
}

/* One term: weight * node. */
static int take(struct taken *k, int n, const fmpq *weight)
{
    LOCAL(arb, factor, a, b);
    int inner = constant_factor(factor, k->p, n, k->prec), ok = 1, depth, rational = inner == n;
    const struct expression *x = &k->p->node[inner];
    arb_mul_fmpz(factor, factor, fmpq_numref(weight), k->prec);
    arb_div_fmpz(factor, factor, fmpq_denref(weight), k->prec);
    if (evaluate_affine(a, b, k->p, inner, k->prec)) {
        arb_addmul(k->constant, factor, a, k->prec);
        arb_addmul(k->linear, factor, b, k->prec);
    } else if ((depth = log_depth(k, inner)) > 0) {
        ok = !k->logs[depth - 1];
        arb_set(k->log[depth - 1], factor);
        fmpq_set(k->exact[depth - 1], weight);
        k->logs[depth - 1] = rational ? 1 : 2;
    } else if (x->kind == X_POWER && !k->p->node[x->child[1]].depends) {
        const struct expression *e = &k->p->node[x->child[1]];
        int base = x->child[0];
        if (k->p->node[base].kind == X_LN) {
            ok = log_depth(k, base) == 1 && e->kind == X_NUMBER && fmpq_cmp_si(e->q, 2) == 0;
            ok &= !k->squares++;
            arb_set(k->square, factor);
        } else {
            ok = same_z(k, base) && !k->powers++;
            evaluate_constant(k->power, k->p, x->child[1], k->prec);
            arb_set(k->power_weight, factor);
        }
    } else {
        ok = 0;
    }
    ok &= arf_cmpabs_2exp_si(arb_midref(factor), EXPONENT_BITS) < 0 &&
          arf_cmpabs_2exp_si(arb_midref(k->power), EXPONENT_BITS) < 0;
    return ok;
}

static int is_minus_one(const struct taken *k, int i)
{
    return k->logs[i] == 1 && fmpq_cmp_si(k->exact[i], -1) == 0;
}

/* [5.5] z^a0 (ln z)^a1 ...: powers where the last exponent that is there follows only -1. */
static int integrate_logs(arb_t out, int *vanishes, const struct taken *k, const arb_t z)
{
    int level = 0, known = 0;
    LOCAL(arb, y, a);
    arb_set(y, z);
    while (level < LOGS && is_minus_one(k, level)) {
        arb_log(y, y, k->prec);
        level++;
    }
    int deeper = 0;
    for (int i = level + 1; i < LOGS; i++)
        deeper |= k->logs[i];
    if (level < LOGS && !deeper && arb_is_positive(y)) {
        arb_add_ui(a, k->log[level], 1, k->prec); /* integral of y^(a-1) from y to infinity: -y^a / a */
        if (arb_is_nonzero(a)) {
            arb_pow(out, y, a, k->prec);
            arb_div(out, out, a, k->prec);
            arb_neg(out, out);
            *vanishes = arb_is_negative(a);
            known = 1;
        }
    } else if (level == 0 && k->logs[1] && !k->logs[2] && !k->logs[3]) {
        /* z^-p (ln z)^-q = exp(-(p-1) y) y^-q dy: (p-1)^(q-1) Gamma(1-q, (p-1) ln z) */
        LOCAL(arb, s, x);
        arb_log(y, z, k->prec);
        arb_add_ui(x, k->log[0], 1, k->prec);
        arb_neg(x, x);
        arb_add_ui(s, k->log[1], 1, k->prec);
        if (arb_is_positive(x) && arb_is_positive(y)) {
            arb_mul(a, x, y, k->prec);
            arb_hypgeom_gamma_upper(out, s, a, 0, k->prec);
            arb_neg(s, s);
            arb_pow(x, x, s, k->prec);
            arb_mul(out, out, x, k->prec);
            known = *vanishes = 1;
        }
    }
    return known;
}

/* [5.5] z^a exp(-w z^p): Gamma((1+a)/p, w z^p) / (p w^((1+a)/p)). */
static int integrate_power(arb_t out, const struct taken *k, const arb_t z, const arb_t weight, const arb_t power)
{
    int known = 0;
    LOCAL(arb, s, w, x);
    arb_neg(w, weight);
    arb_add_ui(s, k->log[0], 1, k->prec);
    arb_div(s, s, power, k->prec);
    if (arb_is_positive(w) && arb_is_positive(power) && arb_is_positive(z)) {
        arb_pow(x, z, power, k->prec);
        arb_mul(x, x, w, k->prec);
        arb_hypgeom_gamma_upper(out, s, x, 0, k->prec);
        arb_pow(x, w, s, k->prec);
        arb_mul(x, x, power, k->prec);
        arb_div(out, out, x, k->prec);
        known = 1;
    }
    return known;
}

/* [5.5] exp(-k y^2 + (a + 1) y) dy, y = ln z. */
static int integrate_square(arb_t out, const struct taken *k, const arb_t z)
{
    int known = 0;
    LOCAL(arb, w, y, b, x);
    arb_neg(w, k->square);
    if (arb_is_positive(w) && arb_is_positive(z)) {
        arb_log(y, z, k->prec);
        arb_add_ui(b, k->log[0], 1, k->prec);
        arb_div(b, b, w, k->prec);
        arb_mul_2exp_si(b, b, -1); /* the exponent is -w (y - b)^2 + w b^2 */
        arb_sub(x, y, b, k->prec);
        arb_sqrt(out, w, k->prec);
        arb_mul(x, x, out, k->prec);
        arb_hypgeom_erfc(out, x, k->prec);
        arb_sqr(b, b, k->prec);
        arb_mul(b, b, w, k->prec);
        arb_exp(b, b, k->prec);
        arb_mul(out, out, b, k->prec);
        arb_const_pi(x, k->prec);
        arb_div(x, x, w, k->prec);
        arb_sqrt(x, x, k->prec);
        arb_mul(out, out, x, k->prec);
        arb_mul_2exp_si(out, out, -1);
        known = 1;
    }
    return known;
}

/* b = c - ln(u + v z^2), z = shift + slope t: the node of the logarithm's inside, or -1. */
static int match_quadratic(arb_t v, arb_t shift, arb_t slope, const struct expression_pool *p, int root, slong prec)
{
    const struct expression *b = &p->node[root];
    if (b->kind != X_LINEAR || b->count != 1 || p->node[b->child[0]].kind != X_LN || fmpq_cmp_si(&b->weight[0], -1) != 0)
        return -1;
    int n = p->node[b->child[0]].child[0];
    const struct expression *inside = &p->node[n];
    if (inside->kind != X_LINEAR || inside->count != 1 || fmpq_sgn(inside->q) <= 0)
        return -1;
    const struct expression *square = &p->node[constant_factor(v, p, inside->child[0], prec)];
    if (square->kind != X_POWER || p->node[square->child[1]].kind != X_NUMBER || fmpq_cmp_si(p->node[square->child[1]].q, 2) != 0)
        return -1;
    arb_mul_fmpz(v, v, fmpq_numref(&inside->weight[0]), prec);
    arb_div_fmpz(v, v, fmpq_denref(&inside->weight[0]), prec);
    return arb_is_positive(v) && evaluate_affine(shift, slope, p, square->child[0], prec) && arb_is_positive(slope) ? n : -1;
}

/* [5.5] Its integral; out is everything, the factor exp(c) / slope included. */
static int integrate_quadratic(arb_t out, const struct expression_pool *p, int root, const arb_t t, slong prec)
{
    LOCAL(arb, v, shift, slope, z, u, x);
    int inside = match_quadratic(v, shift, slope, p, root, prec);
    if (inside >= 0) {
        arb_mul(z, slope, t, prec);
        arb_add(z, z, shift, prec);
        arb_set_fmpq(u, p->node[inside].q, prec);
        arb_div(x, u, v, prec);
        arb_sqrt(x, x, prec);
        arb_atan2(out, x, z, prec); /* pi/2 - atan(z / x) */
        arb_mul(x, u, v, prec);
        arb_sqrt(x, x, prec);
        arb_mul(x, x, slope, prec);
        arb_div(out, out, x, prec);
        arb_set_fmpq(x, p->node[root].q, prec);
        arb_exp(x, x, prec);
        arb_mul(out, out, x, prec);
    }
    return inside >= 0;
}

int is_type1(arb_t k, const struct expression_pool *p, int root, slong prec)
{
    LOCAL(arb, v, shift);
    int inside = match_quadratic(v, shift, k, p, root, prec);
    int found = inside >= 0 && arb_is_zero(shift) && fmpq_is_one(p->node[inside].q);
    arb_sqrt(v, v, prec);
    arb_mul(k, k, v, prec);
    return found;
}

static void taken_leave(struct taken *k)
{
    arb_ptr own[] = {k->shift, k->slope, k->constant, k->linear, k->power, k->power_weight, k->square};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        arb_clear(own[i]);
    for (int i = 0; i < LOGS; i++) {
        arb_clear(k->log[i]);
        fmpq_clear(k->exact[i]);
    }
}

static void taken_init(struct taken *k, const struct expression_pool *p, slong prec)
{
    *k = (struct taken){.p = p, .prec = prec, .z = -1};
    arb_ptr own[] = {k->shift, k->slope, k->constant, k->linear, k->power, k->power_weight, k->square};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        arb_init(own[i]);
    for (int i = 0; i < LOGS; i++) {
        arb_init(k->log[i]);
        fmpq_init(k->exact[i]);
    }
}

/* The integral from z on, but for a factor; 1 if it is known. */
static int integrate(arb_t out, int *vanishes, struct taken *k, const arb_t t)
{
    int later = k->logs[1] || k->logs[2] || k->logs[3], linear = !arb_is_zero(k->linear);
    LOCAL(arb, z, unit);
    if (k->z < 0 && !same_z(k, NODE_T_ITSELF))
        return 0;
    arb_mul(z, k->slope, t, k->prec);
    arb_add(z, z, k->shift, k->prec);
    if (linear) { /* linear * t = (linear / slope) * (z - shift) */
        arb_div(k->linear, k->linear, k->slope, k->prec);
        arb_submul(k->constant, k->linear, k->shift, k->prec);
    }
    if (!arb_is_positive(z) || k->powers + linear + k->squares > 1 || (later && (k->powers || linear || k->squares)))
        return 0;
    arb_one(unit);
    if (k->powers)
        return integrate_power(out, k, z, k->power_weight, k->power);
    if (linear)
        return integrate_power(out, k, z, k->linear, unit);
    if (k->squares)
        return integrate_square(out, k, z);
    return (k->logs[0] || later) && integrate_logs(out, vanishes, k, z);
}

/* [5.5] */
int antiderivative(arb_t out, int *vanishes, const struct expression_pool *p, int root, const arb_t t, slong prec)
{
    const struct expression *x = &p->node[root];
    struct taken k __attribute__((cleanup(taken_leave)));
    int known = 1;
    LOCAL(fmpq, one);
    fmpq_one(one);
    taken_init(&k, p, prec);
    *vanishes = 1;
    if (integrate_quadratic(out, p, root, t, prec))
        return 1;
    if (x->kind == X_LINEAR) {
        arb_set_fmpq(k.constant, x->q, prec);
        for (int i = 0; i < x->count && known; i++)
            known = take(&k, x->child[i], &x->weight[i]);
    } else {
        known = take(&k, root, one);
    }
    if (!known || !integrate(out, vanishes, &k, t))
        return 0;
    arb_exp(k.constant, k.constant, prec);
    arb_mul(out, out, k.constant, prec);
    arb_div(out, out, k.slope, prec);
    return arb_is_finite(out);
}
