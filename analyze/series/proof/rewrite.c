/* Rewriting of products, powers and functions. */
#include "analyze/series/proof/expression_private.h"

enum {
    EXACT_BITS_MAX = 40000, /* a rational power is worked out up to this size */
    ROOT_BITS_MAX = 1024 /* roots of numbers in logarithms are looked for up to this size */
};

static enum expression_kind kind_of(const struct expression_pool *p, int n)
{
    return p->node[n].kind;
}

int expression_weight_of_t(fmpq_t w, const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    int alone = 1;
    fmpq_set_si(w, n == NODE_T_ITSELF, 1);
    for (int i = 0; i < x->count && x->kind == X_LINEAR; i++)
        if (x->child[i] == NODE_T_ITSELF)
            fmpq_set(w, &x->weight[i]);
        else
            alone &= !p->node[x->child[i]].depends;
    return alone && (x->kind == X_LINEAR || n == NODE_T_ITSELF);
}

int expression_in_t(fmpq_t w, fmpq_t q, const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    fmpq_zero(q);
    fmpq_one(w);
    if (n == NODE_T_ITSELF)
        return 1;
    if (x->kind != X_LINEAR || x->count != 1 || x->child[0] != NODE_T_ITSELF)
        return 0;
    fmpq_set(q, x->q);
    fmpq_set(w, &x->weight[0]);
    return !fmpq_is_zero(w);
}

/* 1 if a node is 2 pi (q + w t), w not 0. */
static int in_turns(fmpq_t w, fmpq_t q, const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    if (x->kind != X_MULTIPLY ||
        (kind_of(p, x->child[0]) != X_PI && kind_of(p, x->child[1]) != X_PI))
        return 0;
    int found = expression_in_t(w, q, p, x->child[kind_of(p, x->child[0]) == X_PI]);
    fmpq_div_2exp(w, w, 1);
    fmpq_div_2exp(q, q, 1);
    return found;
}

/* ---- products and powers ---- */

static int is_monomial(const struct expression *x) /* weight * child */
{
    return x->kind == X_LINEAR && x->count == 1 && fmpq_is_zero(x->q);
}

/* Node n as u^e, e rational: u. */
static int power_of(fmpq_t e, const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n],
                            *exponent = x->kind == X_POWER ? &p->node[x->child[1]] : NULL;
    fmpq_one(e);
    if (!exponent || exponent->kind != X_NUMBER)
        return n;
    fmpq_set(e, exponent->q);
    return x->child[0];
}

/* [1.1] */
int expression_multiply(struct expression_pool *p, int a, int b)
{
    if (kind_of(p, a) == X_NAN || kind_of(p, b) == X_NAN)
        return NODE_NAN;
    if (kind_of(p, b) == X_NUMBER ||
        (kind_of(p, a) != X_NUMBER && is_monomial(&p->node[b]) && !is_monomial(&p->node[a]))) {
        int swap = a;
        a = b;
        b = swap;
    }
    if (kind_of(p, a) == X_NUMBER || is_monomial(&p->node[a])) {
        LOCAL(fmpq, q);
        int number = kind_of(p, a) == X_NUMBER;
        fmpq_set(q, number ? p->node[a].q : &p->node[a].weight[0]);
        int product = number ? b : expression_multiply(p, p->node[a].child[0], b);
        return expression_scale(p, product, q);
    }
    if (kind_of(p, a) == X_INFINITY || kind_of(p, b) == X_INFINITY) {
        int other = kind_of(p, a) == X_INFINITY ? b : a, infinity = other == b ? a : b;
        int sign = p->node[other].depends ? 2 : expression_sign(p, other);
        if (sign != 2)
            return sign == 0                                        ? NODE_NAN
                   : (sign > 0) == (infinity == NODE_PLUS_INFINITY) ? NODE_PLUS_INFINITY
                                                                    : NODE_MINUS_INFINITY;
    }
    if (kind_of(p, a) == X_EXP && kind_of(p, b) == X_EXP && p->node[a].total && p->node[b].total)
        return expression_unary(p, X_EXP,
                                expression_add(p, p->node[a].child[0], p->node[b].child[0]));
    if (a == b)
        return expression_power(p, a, expression_ratio(p, 2, 1));
    LOCAL(fmpq, e, f);
    int base = power_of(e, p, a);
    if (base == power_of(f, p, b) && !p->node[base].depends && p->node[base].total &&
        expression_sign(p, base) == 1) {
        fmpq_add(e, e, f); /* u^e u^f of a number u > 0 */
        return expression_power(p, base, expression_number(p, e));
    }
    for (int i = 0; i < 2; i++) { /* u (v x) of numbers u and v without t, u v rational */
        int u = i ? b : a, product = i ? a : b;
        for (int k = 0;
             k < 2 && kind_of(p, product) == X_MULTIPLY && p->node[u].total && !p->node[u].depends;
             k++) {
            int v = p->node[product].child[k], x = p->node[product].child[1 - k];
            int both = p->node[v].total && !p->node[v].depends ? expression_multiply(p, u, v) : x;
            if (kind_of(p, both) == X_NUMBER)
                return expression_multiply(p, both, x);
        }
    }
    const int child[2] = {a < b ? a : b, a < b ? b : a};
    return expression_intern(p, &(struct shape){.kind = X_MULTIPLY, .count = 2, .child = child});
}

/* q^e exactly; 0 if that is not rational, or too large. */
static int rational_power(fmpq_t out, const fmpq_t q, const fmpq_t e)
{
    if (!fmpz_fits_si(fmpq_numref(e)) || fmpz_cmp_ui(fmpq_denref(e), 64) > 0 || fmpq_sgn(q) == 0)
        return 0;
    slong power = fmpz_get_si(fmpq_numref(e)), root = fmpz_get_si(fmpq_denref(e));
    double bits = (double)fmpz_bits(fmpq_numref(q)) + (double)fmpz_bits(fmpq_denref(q));
    if (!(bits * (power < 0 ? -(double)power : (double)power) <= EXACT_BITS_MAX))
        return fmpq_is_one(q) ? (fmpq_one(out), 1) : 0;
    if (root > 1 && fmpq_sgn(q) < 0)
        return 0;
    LOCAL(fmpq, base);
    int exact = 1;
    if (root == 1)
        fmpq_set(base, q);
    else
        exact = fmpz_root(fmpq_numref(base), fmpq_numref(q), root) &&
                fmpz_root(fmpq_denref(base), fmpq_denref(q), root);
    if (exact)
        fmpq_pow_si(out, base, power);
    return exact;
}

/* Whether a node without t is a whole number: 1, 0, or 2 when it cannot be told. */
static int constant_is_whole(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    if (x->kind == X_NUMBER)
        return fmpz_is_one(fmpq_denref(x->q));
    if (x->kind == X_INFINITY)
        return 0;
    LOCAL(arb, v);
    for (slong prec = 0; expression_ball(v, p, n, &prec);)
        if (arb_is_finite(v) && !arb_contains_int(v))
            return 0;
    return 2;
}

/* 1 if a node is q + w t, or a whole power of t (1 times that). */
static int in_power_of_t(fmpq_t w, fmpq_t q, const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    if (x->kind != X_POWER || x->child[0] != NODE_T_ITSELF || kind_of(p, x->child[1]) != X_NUMBER)
        return expression_in_t(w, q, p, n);
    fmpq_one(w);
    fmpq_zero(q);
    return fmpz_is_one(fmpq_denref(p->node[x->child[1]].q)) && fmpq_sgn(p->node[x->child[1]].q) > 0;
}

int expression_is_whole(struct expression_pool *p, int n)
{
    LOCAL(fmpq, w, q);
    for (int i = 0; p->node[n].kind == X_LINEAR && i < p->node[n].count;
         i++) /* of w floor(u), written w u - w fraction(u) */
        if (p->node[p->node[n].child[i]].kind == X_FRACTION &&
            !fmpq_is_zero(&p->node[n].weight[i])) {
            fmpq_set(w, &p->node[n].weight[i]);
            if (!fmpz_is_one(fmpq_denref(w)))
                return 0;
            int floor = expression_floor(p, p->node[p->node[n].child[i]].child[0]);
            n = expression_add(p, n, expression_scale(p, floor, w));
            i = -1;
        }
    const struct expression *x = &p->node[n];
    if (x->kind != X_LINEAR)
        return x->kind == X_NUMBER ? fmpz_is_one(fmpq_denref(x->q)) : in_power_of_t(w, q, p, n);
    int whole = fmpz_is_one(fmpq_denref(x->q));
    for (int i = 0; i < x->count; i++) /* 0 u, where u may be none */
        whole &= fmpq_is_zero(&x->weight[i]) ||
                 (fmpz_is_one(fmpq_denref(&x->weight[i])) && in_power_of_t(w, q, p, x->child[i]));
    return whole;
}

/* Powers of 0, of infinities and of negative numbers: IEEE's, but 0 has no sign and a negative base
 * has whole powers only. -1 for any other power. */
static int special_power(struct expression_pool *p, int base, int exponent)
{
    const struct expression *b = &p->node[base], *e = &p->node[exponent];
    if (b->kind == X_NAN || e->kind == X_NAN)
        return NODE_NAN;
    if (e->kind == X_NUMBER && fmpq_is_zero(e->q))
        return b->total || b->kind == X_INFINITY ? NODE_ONE : -1;
    int e_sign = e->depends ? 2 : expression_sign(p, exponent),
        b_sign = b->depends ? 2 : expression_sign(p, base);
    if (b_sign == -1 && !e->depends) {
        int whole = constant_is_whole(p, exponent);
        if (whole != 1)
            return whole == 0 ? NODE_NAN : -1;
    }
    if (b->kind == X_INFINITY) {
        int odd = e->kind == X_NUMBER &&
                  fmpz_is_odd(fmpq_numref(e->q)); /* whole if the base is negative */
        return e_sign == 2                          ? -1
               : e_sign < 0                         ? NODE_ZERO
               : base == NODE_MINUS_INFINITY && odd ? NODE_MINUS_INFINITY
                                                    : NODE_PLUS_INFINITY;
    }
    if (e->kind == X_INFINITY && !b->depends) {
        int above = expression_sign(p, expression_subtract(p, base, NODE_ONE)),
            sign = expression_sign(p, base);
        if (above == 2 || sign == 2 || sign < 0)
            return -1;
        return above == 0                                        ? NODE_ONE
               : (above > 0) == (exponent == NODE_PLUS_INFINITY) ? NODE_PLUS_INFINITY
                                                                 : NODE_ZERO;
    }
    if (b->kind == X_NUMBER && fmpq_is_zero(b->q) && e_sign != 2)
        return e_sign > 0 ? NODE_ZERO : NODE_PLUS_INFINITY;
    if (b->kind == X_NUMBER && fmpq_is_one(b->q) && e->total)
        return NODE_ONE;
    return -1;
}

/* [1.1] */
int expression_power(struct expression_pool *p, int base, int exponent)
{
    int special = special_power(p, base, exponent);
    if (special >= 0)
        return special;
    if (kind_of(p, exponent) == X_NUMBER) {
        const fmpq *e = p->node[exponent].q;
        if (fmpq_is_one(e))
            return base;
        LOCAL(fmpq, q);
        int whole = fmpz_is_one(fmpq_denref(e)), result = -1;
        /* a factor below 0 is not taken out of 1/0, which has no sign; (0 inf)^0 is not a number */
        int signless = whole &&
                       (fmpq_sgn(e) > 0 || (fmpq_sgn(e) < 0 && fmpz_is_even(fmpq_numref(e))));
        const struct expression *b = &p->node[base];
        if (b->kind == X_EXP && b->total) {
            fmpq_set(q, e);
            result = expression_unary(p, X_EXP, expression_scale(p, b->child[0], q));
        } else if (b->kind == X_NUMBER && rational_power(q, b->q, e)) {
            result = expression_number(p, q);
        } else if (is_monomial(b) && fmpq_sgn(e) != 0 &&
                   (signless || fmpq_sgn(&b->weight[0]) > 0) &&
                   rational_power(q, &b->weight[0], e)) {
            result = expression_scale(p, expression_power(p, b->child[0], exponent), q);
        } else if (b->kind == X_MULTIPLY && signless &&
                   (!p->node[b->child[0]].depends || !p->node[b->child[1]].depends)) {
            int first = b->child[0], second = b->child[1];
            first = expression_power(p, first, exponent);
            result = expression_multiply(p, first, expression_power(p, second, exponent));
        } else if (b->kind == X_POWER && p->node[b->child[1]].kind == X_NUMBER &&
                   (p->node[b->child[0]].sign == 2 ||
                    (!b->depends && expression_sign(p, b->child[0]) == 1) ||
                    (p->node[b->child[0]].sign && fmpq_sgn(e) > 0 &&
                     fmpq_sgn(p->node[b->child[1]].q) > 0))) {
            int inner = b->child[0];
            fmpq_mul(q, e, p->node[b->child[1]].q);
            result = expression_power(p, inner, expression_number(p, q));
        }
        if (result >= 0)
            return result;
    }
    LOCAL(fmpq, w);
    if (kind_of(p, base) == X_NUMBER && fmpq_sgn(p->node[base].q) < 0 && p->node[exponent].total &&
        p->node[exponent].depends &&
        expression_is_whole(p, exponent)) { /* |b|^u cos(pi u), u whole */
        fmpq_neg(w, p->node[base].q);
        int size = expression_power(p, expression_number(p, w), exponent);
        int turn = expression_multiply(p, expression_leaf(p, X_PI), exponent);
        return expression_multiply(p, size, expression_unary(p, X_COS, turn));
    }
    return expression_intern(p, &(struct shape){.kind = X_POWER,
                                                .count = 2,
                                                .child = (const int[]){base, exponent}});
}

/* ---- functions ---- */

/* Largest whole number that is not above a constant; 0 if it cannot be told. */
static int constant_floor(fmpz_t out, struct expression_pool *p, int n)
{
    int found = 0;
    LOCAL(arb, v);
    for (slong prec = 128; prec <= 8192 && !found; prec *= 4) {
        evaluate_constant(v, p, n, prec);
        arb_floor(v, v, prec);
        found = arb_is_finite(v) && arf_cmpabs_2exp_si(arb_midref(v), EXACT_BITS_MAX) < 0 &&
                arb_get_unique_fmpz(out, v);
    }
    return found;
}

/* [1.1] The sine (or cosine) of w pi, where it is rational, or -1. */
static int rational_sine(struct expression_pool *p, const fmpq_t w, int cosine)
{
    static const signed char twice[12] = {0,  1, 3,  2, 3, 1, 0,
                                          -1, 3, -2, 3, -1}; /* by sixths of pi; 3: not rational */
    LOCAL(fmpq, sixths);
    fmpq_set_si(sixths, 6, 1);
    fmpq_mul(sixths, sixths, w);
    if (!fmpz_is_one(fmpq_denref(sixths)))
        return -1;
    fmpz_add_ui(fmpq_numref(sixths), fmpq_numref(sixths), cosine ? 3 : 0);
    int value = twice[fmpz_fdiv_ui(fmpq_numref(sixths), 12)];
    return value == 3 ? -1 : expression_ratio(p, value, 2);
}

/* The value of a function at a special argument, or -1. */
static int special_value(struct expression_pool *p, enum expression_kind kind, int a)
{
    const struct expression *x = &p->node[a];
    int result = -1, infinite = x->kind == X_INFINITY;
    if (x->kind == X_NAN)
        return NODE_NAN;
    switch (kind) {
    case X_LN:
        if (x->kind == X_EXP)
            return x->child[0];
        if (x->kind == X_POWER && p->node[x->child[0]].sign == 2 && p->node[x->child[0]].total &&
            p->node[x->child[1]].total) {
            int exponent = x->child[1]; /* the pool may move while it grows */
            return expression_multiply(p, exponent, expression_unary(p, X_LN, x->child[0]));
        }
        if (x->kind == X_NUMBER && fmpq_is_one(x->q))
            return NODE_ZERO;
        if (x->kind == X_NUMBER && fmpq_sgn(x->q) <= 0)
            return fmpq_sgn(x->q) == 0 ? NODE_MINUS_INFINITY : NODE_NAN;
        if (!infinite && !x->depends && expression_sign(p, a) == -1)
            return NODE_NAN;
        return !infinite ? -1 : a == NODE_PLUS_INFINITY ? a : NODE_NAN;
    case X_EXP:
        if (a == NODE_ZERO)
            return NODE_ONE;
        if (x->kind == X_LN && p->node[x->child[0]].sign)
            return x->child[0];
        if (is_monomial(x) && kind_of(p, x->child[0]) == X_LN &&
            p->node[p->node[x->child[0]].child[0]].sign && !fmpq_is_zero(&x->weight[0])) {
            int inside = p->node[x->child[0]].child[0]; /* the pool may move while it grows */
            return expression_power(p, inside, expression_number(p, &x->weight[0]));
        }
        return !infinite ? -1 : a == NODE_PLUS_INFINITY ? a : NODE_ZERO;
    case X_SIN:
    case X_COS:
        if (a == NODE_ZERO)
            return kind == X_SIN ? NODE_ZERO : NODE_ONE;
        if (is_monomial(x) && kind_of(p, x->child[0]) == X_PI)
            return rational_sine(p, &x->weight[0], kind == X_COS);
        if (x->kind == X_PI)
            return kind == X_SIN ? NODE_ZERO : expression_ratio(p, -1, 1);
        return infinite ? NODE_NAN : -1;
    case X_ABS: {
        int sign = x->depends ? 2 : expression_sign(p, a);
        if (infinite)
            return NODE_PLUS_INFINITY;
        if (sign == 2)
            return x->sign ? a : -1;
        return sign >= 0 ? a : expression_subtract(p, NODE_ZERO, a);
    }
    case X_FRACTION: {
        if (infinite) /* floor leaves infinities as they are */
            return NODE_ZERO;
        LOCAL(fmpq, q);
        LOCAL(fmpz, floor);
        if (x->kind == X_NUMBER) {
            fmpz_fdiv_r(fmpq_numref(q), fmpq_numref(x->q), fmpq_denref(x->q));
            fmpz_set(fmpq_denref(q), fmpq_denref(x->q));
            fmpq_canonicalise(q);
            result = expression_number(p, q);
        } else if (!x->depends && constant_floor(floor, p, a)) {
            fmpq_set_fmpz(q, floor);
            result = expression_subtract(p, a, expression_number(p, q));
        }
        return result;
    }
    default: return -1;
    }
}

/* [1.1] A fraction's argument without whole multiples of t and its powers, or (turns) a wave's
 * without multiples of 2 pi t: whatever whole t is, that changes nothing. */
static int without_turns(struct expression_pool *p, int a, int turns)
{
    int result = a, linear = kind_of(p, a) == X_LINEAR, count = linear ? p->node[a].count : 1;
    LOCAL(fmpq, factor, w, q);
    for (int i = 0; i < count; i++) {
        int child = linear ? p->node[a].child[i] : a;
        fmpq_one(factor);
        if (linear)
            fmpq_set(factor, &p->node[a].weight[i]);
        if (!(turns ? in_turns : in_power_of_t)(w, q, p, child))
            continue;
        fmpq_mul(w, w, factor);
        if (!fmpz_is_one(fmpq_denref(w)))
            continue;
        fmpq_mul(q, q, factor);
        fmpq_neg(factor, factor);
        result = expression_add(p, result, expression_scale(p, child, factor));
        if (turns)
            fmpq_mul_2exp(q, q, 1);
        result = expression_add(p, result,
                                expression_scale(p, turns ? expression_leaf(p, X_PI) : NODE_ONE,
                                                 q));
    }
    const struct expression *x = &p->node[result];
    for (int i = 0; turns && x->kind == X_LINEAR && i < x->count; i++)
        if (kind_of(p, x->child[i]) == X_PI) { /* whole turns are dropped */
            fmpq_div_2exp(q, &x->weight[i], 1);
            fmpz_fdiv_q(fmpq_numref(q), fmpq_numref(q), fmpq_denref(q));
            fmpz_one(fmpq_denref(q));
            fmpq_mul_si(q, q, -2);
            return expression_add(p, result, expression_scale(p, x->child[i], q));
        }
    return result;
}

/* [1.1] ln of a rational q > 0, not 1, is k ln r, q = r^k, r > 1, k largest. -1: k is 1. */
static int ln_of_power(struct expression_pool *p, const fmpq_t q)
{
    LOCAL(fmpq, r, k);
    LOCAL(fmpz, top, bottom);
    fmpq_set(r, q);
    fmpq_set_si(k, 1, 1);
    int inverse = fmpz_cmp(fmpq_numref(r), fmpq_denref(r)) < 0;
    if (inverse)
        fmpq_inv(r, r);
    ulong bits = fmpz_bits(fmpq_numref(r));
    for (ulong e = 2; e < bits && bits <= ROOT_BITS_MAX; e = n_nextprime(e, 1))
        while (fmpz_root(top, fmpq_numref(r), (slong)e) &&
               fmpz_root(bottom, fmpq_denref(r), (slong)e)) {
            fmpz_set(fmpq_numref(r), top);
            fmpz_set(fmpq_denref(r), bottom);
            fmpz_mul_ui(fmpq_numref(k), fmpq_numref(k), e);
        }
    if (inverse)
        fmpq_neg(k, k);
    if (fmpq_is_one(k))
        return -1;
    int number = expression_number(p, r);
    return expression_scale(
        p, expression_intern(p, &(struct shape){.kind = X_LN, .count = 1, .child = &number}), k);
}

/* [1.1] */
int expression_unary(struct expression_pool *p, enum expression_kind kind, int a)
{
    if (kind == X_FRACTION || kind == X_SIN || kind == X_COS)
        a = without_turns(p, a, kind != X_FRACTION);
    if ((kind == X_SIN || kind == X_COS) && kind_of(p, a) == X_LINEAR && p->node[a].count &&
        fmpq_sgn(&p->node[a].weight[0]) < 0) {
        int turned = expression_unary(p, kind, expression_subtract(p, NODE_ZERO, a));
        return kind == X_COS ? turned : expression_subtract(p, NODE_ZERO, turned);
    }
    int special = special_value(p, kind, a);
    if (special < 0 && kind == X_LN && kind_of(p, a) == X_NUMBER && fmpq_sgn(p->node[a].q) > 0)
        special = ln_of_power(p, p->node[a].q);
    return special >= 0
               ? special
               : expression_intern(p, &(struct shape){.kind = kind, .count = 1, .child = &a});
}

/* expression_at_least with difference = a - b, of which more may be known. */
static int compare(struct expression_pool *p, int difference, int a, int b)
{
    const struct expression *x = &p->node[a], *y = &p->node[b];
    if (x->kind == X_NAN || y->kind == X_NAN)
        return NODE_NAN;
    if (x->kind == X_INFINITY && y->kind == X_INFINITY)
        return fmpq_cmp(x->q, y->q) >= 0 ? NODE_ONE : NODE_ZERO;
    int sign = p->node[difference].depends ? 2 : expression_sign(p, difference);
    if (sign != 2)
        return sign >= 0 ? NODE_ONE : NODE_ZERO;
    int apart = x->total || y->total; /* they are not the same infinity */
    const int child[] = {difference, a, b};
    return expression_intern(p, &(struct shape){.kind = X_NONNEGATIVE,
                                                .count = apart ? 1 : 3,
                                                .child = child});
}

/* [1.1] */
int expression_at_least(struct expression_pool *p, int a, int b)
{
    return compare(p, expression_subtract(p, a, b), a, b);
}

int expression_floor(struct expression_pool *p, int a)
{
    return kind_of(p, a) == X_INFINITY
               ? a
               : expression_subtract(p, a, expression_unary(p, X_FRACTION, a));
}

/* [1.1] */
int expression_choose(struct expression_pool *p, int condition, int then, int otherwise)
{
    if (kind_of(p, condition) == X_NAN)
        return NODE_NAN;
    int sign = p->node[condition].depends ? 2 : expression_sign(p, condition);
    if (sign != 2)
        return sign != 0 ? then : otherwise;
    if (then == otherwise && p->node[condition].total)
        return then;
    const struct expression *x = &p->node[condition];
    if (x->kind == X_CHOOSE && x->child[1] == NODE_ZERO && x->child[2] == NODE_ONE) /* not */
        return expression_choose(p, x->child[0], otherwise, then);
    return expression_intern(p,
                             &(struct shape){.kind = X_CHOOSE,
                                             .count = 3,
                                             .child = (const int[]){condition, then, otherwise}});
}

/* [1.1] */
int expression_extremum(struct expression_pool *p, int larger, int a, int b)
{
    if (a == b)
        return a;
    int at_least = expression_at_least(p, a, b);
    return larger ? expression_choose(p, at_least, a, b) : expression_choose(p, at_least, b, a);
}

int expression_rebuild(struct expression_pool *p, const struct expression *like, const int *child)
{
    switch (like->kind) {
    case X_NUMBER: return expression_number(p, like->q);
    case X_INFINITY: return fmpq_sgn(like->q) > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    case X_NAN: return NODE_NAN;
    case X_T: return NODE_T_ITSELF;
    case X_PI:
    case X_OPAQUE: return expression_leaf(p, like->kind);
    case X_LINEAR: return expression_linear(p, like->q, like->count, child, like->weight);
    case X_MULTIPLY: return expression_multiply(p, child[0], child[1]);
    case X_POWER: return expression_power(p, child[0], child[1]);
    case X_CHOOSE: return expression_choose(p, child[0], child[1], child[2]);
    case X_NONNEGATIVE:
        return like->count == 1 ? compare(p, child[0], child[0], NODE_ZERO)
                                : compare(p, child[0], child[1], child[2]);
    default: return expression_unary(p, like->kind, child[0]);
    }
}
