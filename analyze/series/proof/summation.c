/* Sums to t in closed form. */
#include "analyze/series/proof/quotient.h"
#include "analyze/series/proof/summation.h"

#include <flint/fmpz_poly_factor.h>
#include <stdlib.h>

enum {
    DEGREE = 8,
    CLASSES = 16 /* of factors in logarithms that are whole numbers apart */
};

/* In the index, with nodes without it for coefficients. */
struct polynomial {
    int degree, coefficient[DEGREE + 1];
};

static int multiplied(struct polynomial *out, struct expression_pool *p, const struct polynomial *a, const struct polynomial *b)
{
    *out = (struct polynomial){.degree = a->degree + b->degree};
    if (out->degree > DEGREE)
        return 0;
    for (int k = 0; k <= out->degree; k++)
        out->coefficient[k] = NODE_ZERO;
    for (int i = 0; i <= a->degree; i++)
        for (int j = 0; j <= b->degree; j++)
            out->coefficient[i + j] = expression_add(p, out->coefficient[i + j],
                                                     expression_multiply(p, a->coefficient[i], b->coefficient[j]));
    return 1;
}

/* 1, or 0: node n is none, or a coefficient may not be a number at some t. */
static int polynomial_of(struct polynomial *out, struct expression_pool *p, int n)
{
    const struct expression x = p->node[n]; /* the pool may move while it grows */
    struct polynomial a, b, c;
    LOCAL(fmpq, w);
    *out = (struct polynomial){.coefficient = {x.opaque ? NODE_ZERO : n}};
    if (!x.opaque)
        return x.total;
    switch (x.kind) {
    case X_OPAQUE: *out = (struct polynomial){1, {NODE_ZERO, NODE_ONE}}; return 1;
    case X_LINEAR:
        out->coefficient[0] = expression_number(p, x.q);
        for (int i = 0; i < x.count; i++) {
            if (!polynomial_of(&a, p, x.child[i]))
                return 0;
            fmpq_set(w, &x.weight[i]);
            for (int k = 0; k <= a.degree; k++)
                out->coefficient[k] = expression_add(p, k <= out->degree ? out->coefficient[k] : NODE_ZERO,
                                                     expression_scale(p, a.coefficient[k], w));
            out->degree = a.degree > out->degree ? a.degree : out->degree;
        }
        return 1;
    case X_MULTIPLY: return polynomial_of(&a, p, x.child[0]) && polynomial_of(&b, p, x.child[1]) && multiplied(out, p, &a, &b);
    case X_POWER:
        for (slong k = 2; k <= DEGREE; k++) {
            if (x.child[1] != expression_ratio(p, k, 1))
                continue;
            if (!polynomial_of(&a, p, x.child[0]))
                return 0;
            for (b = a; k > 1; k--, b = c)
                if (!multiplied(&c, p, &a, &b))
                    return 0;
            *out = b;
            return 1;
        }
        return 0;
    default: return 0;
    }
}

/* [1.4] Of i^k: (B(last + 1) - B(first)) / (k + 1), B Bernoulli's polynomial of degree k + 1, and B(x + 1) / (k + 1) is B(x) / (k
 * + 1) + x^k. */
static int sum_of_powers(struct expression_pool *p, int k, const fmpz_t first, int last)
{
    LOCAL(fmpq_poly, bernoulli);
    LOCAL(fmpq, c, start);
    arith_bernoulli_polynomial(bernoulli, (ulong)k + 1);
    fmpq_poly_scalar_div_si(bernoulli, bernoulli, k + 1);
    fmpq_poly_evaluate_fmpz(start, bernoulli, first);
    fmpq_neg(start, start);
    int result = expression_add(p, expression_number(p, start), expression_power(p, last, expression_ratio(p, k, 1)));
    for (int j = 0; j <= k + 1; j++) {
        fmpq_poly_get_coeff_fmpq(c, bernoulli, j);
        result = expression_add(p, result, expression_scale(p, expression_power(p, last, expression_ratio(p, j, 1)), c));
    }
    return result;
}

/* [1.4] Of cos(w i + c), or a sine: differences of sin(w (i + 1/2) + c) / (2 sin(w/2)). */
static int sum_of_wave(struct expression_pool *p, enum expression_kind kind, const struct polynomial *u, const fmpz_t first,
                       int last)
{
    int half = expression_multiply(p, u->coefficient[1], expression_ratio(p, 1, 2)), divisor = expression_unary(p, X_SIN, half),
        ends[2];
    int sign = p->node[divisor].depends ? 2 : expression_sign(p, divisor);
    if (sign != 1 && sign != -1)
        return -1;
    ends[0] = expression_subtract(p, expression_multiply(p, u->coefficient[1], expression_whole(p, first)), half);
    ends[1] = expression_add(p, expression_multiply(p, u->coefficient[1], last), half);
    for (int i = 0; i < 2; i++)
        ends[i] = expression_unary(p, kind == X_COS ? X_SIN : X_COS, expression_add(p, u->coefficient[0], ends[i]));
    return expression_multiply(p, expression_subtract(p, ends[kind == X_COS], ends[kind != X_COS]),
                               expression_power(p, expression_multiply(p, divisor, expression_ratio(p, 2, 1)),
                                                expression_ratio(p, -1, 1)));
}

/* [1.4] Of exp(w i + c): exp(c) (exp(w (last + 1)) - exp(w first)) / (exp(w) - 1). */
static int sum_of_exponentials(struct expression_pool *p, int w, int c, const fmpz_t first, int last)
{
    int divisor = expression_subtract(p, expression_unary(p, X_EXP, w), NODE_ONE);
    int sign = p->node[divisor].depends ? 2 : expression_sign(p, divisor);
    if (sign != 1 && sign != -1)
        return -1;
    int from = expression_unary(p, X_EXP, expression_add(p, c, expression_multiply(p, w, expression_whole(p, first))));
    int to = expression_unary(p, X_EXP, expression_add(p, c, expression_multiply(p, w, expression_add(p, last, NODE_ONE))));
    return expression_multiply(p, expression_subtract(p, to, from), expression_power(p, divisor, expression_ratio(p, -1, 1)));
}

/* ---- what telescopes ---- */

/* A polynomial at node x. */
static int polynomial_at(struct expression_pool *p, const fmpq_poly_t u, int x)
{
    int result = NODE_ZERO;
    LOCAL(fmpq, c);
    for (slong k = 0; k < fmpq_poly_length(u); k++) {
        fmpq_poly_get_coeff_fmpq(c, u, k);
        result = expression_add(p, result, expression_scale(p, expression_power(p, x, expression_ratio(p, k, 1)), c));
    }
    return result;
}

/* Node n, made of the index alone, as a quotient of polynomials without a pole from i = first >= 0 on: 1, or 0. */
static int index_quotient(fmpz_poly_q_t out, struct expression_pool *p, int n, const fmpz_t first)
{
    int count, has_t = 0, *below = expression_below(&count, p, &n, 1), leaf = expression_leaf(p, X_OPAQUE);
    for (int i = 0; below && i < count; i++)
        has_t |= below[i] == NODE_T_ITSELF;
    free(below);
    if (!below || has_t || fmpz_sgn(first) < 0)
        return 0;
    n = expression_exchange(p, p, n, 1, &leaf, (const int[]){NODE_T_ITSELF});
    return quotient_of(out, p, n, first);
}

/* [1.4] Of R(i) = G(i) - G(i + 1): G(first) - G(last + 1). */
static int sum_of_quotient(struct expression_pool *p, const fmpz_poly_q_t R, const fmpz_t first, int last)
{
    LOCAL(fmpq_poly, top, bottom);
    LOCAL(fmpz_poly, poles);
    LOCAL(fmpq, one, at_first, divisor);
    fmpq_one(one);
    if (!quotient_difference(top, poles, R, one) || !polynomial_stays_apart(poles, first))
        return -1;
    fmpq_poly_set_fmpz_poly(bottom, poles);
    fmpq_poly_evaluate_fmpz(at_first, top, first);
    fmpq_poly_evaluate_fmpz(divisor, bottom, first);
    fmpq_div(at_first, at_first, divisor);
    int next = expression_add(p, last, NODE_ONE), end = polynomial_at(p, bottom, next);
    end = expression_multiply(p, polynomial_at(p, top, next), expression_power(p, end, expression_ratio(p, -1, 1)));
    return expression_subtract(p, expression_number(p, at_first), end);
}

/* Factors that are equal but for a shift by a whole number are one class; the first that was met stands for it. */
struct classes {
    int count;
    fmpz_poly_t factor[CLASSES];
    fmpq_t weight[CLASSES]; /* of all the class's logarithms */
};

/* The class that a belongs to, a(i) its factor at i + shift; -1: there are too many, or it is too far from its factor. */
static int class_of(struct classes *c, const fmpz_poly_t a, slong *shift)
{
    slong degree = fmpz_poly_degree(a);
    int place = 0;
    LOCAL(fmpz_poly, shifted);
    LOCAL(fmpz, d, step, left);
    fmpz_mul_si(step, fmpz_poly_lead(a), degree);
    for (; place < c->count; place++) {
        const fmpz_poly_struct *b = c->factor[place];
        if (fmpz_poly_degree(b) != degree || !fmpz_equal(fmpz_poly_lead(a), fmpz_poly_lead(b)))
            continue;
        fmpz_sub(d, fmpz_poly_get_coeff_ptr(a, degree - 1), fmpz_poly_get_coeff_ptr(b, degree - 1));
        fmpz_fdiv_qr(d, left, d, step);
        fmpz_poly_taylor_shift(shifted, b, d);
        if (fmpz_is_zero(left) && fmpz_poly_equal(shifted, a))
            break;
    }
    *shift = 0;
    if (place == CLASSES || (place < c->count && fmpz_cmpabs(d, (const fmpz[]){QUOTIENT_SHIFT}) > 0))
        return -1;
    if (place < c->count) {
        *shift = fmpz_get_si(d);
    } else {
        fmpz_poly_init(c->factor[place]);
        fmpz_poly_set(c->factor[place], a);
        fmpq_init(c->weight[c->count++]);
    }
    return place;
}

/* Sum of weight ln(a(i)) less that of the logarithm of its class: the terms at the ends. -1: a may not be above 0, or has no
 * class. */
static int sum_of_shift(struct expression_pool *p, struct classes *c, const fmpz_poly_t a, const fmpq_t weight,
                        const fmpz_t first, int last)
{
    slong shift;
    int place = polynomial_stays_apart(a, first) && fmpz_sgn(fmpz_poly_lead(a)) > 0 ? class_of(c, a, &shift) : -1;
    int result = NODE_ZERO;
    LOCAL(fmpq_poly, u);
    if (place < 0)
        return -1;
    fmpq_add(c->weight[place], c->weight[place], weight);
    fmpq_poly_set_fmpz_poly(u, c->factor[place]);
    int before = expression_subtract(p, expression_whole(p, first), NODE_ONE);
    for (slong m = shift > 0 ? 1 : shift + 1; m <= (shift > 0 ? shift : 0); m++) {
        int k = expression_ratio(p, m, 1);
        int end = expression_unary(p, X_LN, polynomial_at(p, u, expression_add(p, last, k)));
        int start = expression_unary(p, X_LN, polynomial_at(p, u, expression_add(p, before, k)));
        result = expression_add(p, result, shift > 0 ? expression_subtract(p, end, start) : expression_subtract(p, start, end));
    }
    return expression_scale(p, result, weight);
}

/* Adds the sum of weight ln(u), u the polynomial c a^k ..., to *result: 1, or 0. */
static int add_logarithm(int *result, struct expression_pool *p, struct classes *c, const fmpz_poly_t u, const fmpq_t weight,
                         const fmpz_t first, int last)
{
    fmpz_poly_factor_t factors;
    fmpz_poly_factor_init(factors);
    fmpz_poly_factor(factors, u);
    LOCAL(fmpq, w);
    int known = fmpz_sgn(&factors->c) > 0;
    for (slong i = 0; i < factors->num && known; i++) {
        fmpq_mul_si(w, weight, factors->exp[i]);
        int ends = sum_of_shift(p, c, factors->p + i, w, first, last);
        known = ends >= 0;
        *result = expression_add(p, *result, known ? ends : NODE_ZERO);
    }
    int content = expression_unary(p, X_LN, expression_whole(p, &factors->c));
    int all = expression_multiply(p, content, sum_of_powers(p, 0, first, last));
    *result = expression_add(p, *result, expression_scale(p, all, weight));
    fmpz_poly_factor_clear(factors);
    return known;
}

/* [1.4] Of weight[k] ln(R[k](i)) for the logarithms among the nodes: each factor of a quotient R is one of its class, shifted by
 * some d, and the sum of its logarithm that of the class, less the first d terms, with the d next to the last. The weights of a
 * class must have the sum 0. */
static int sum_of_logarithms(struct expression_pool *p, int count, const int *node, const fmpq *weight, const fmpz_t first,
                             int last)
{
    struct classes c = {0};
    int known = 1, result = NODE_ZERO;
    LOCAL(fmpz_poly_q, R);
    LOCAL(fmpq, w);
    for (int k = 0; k < count && known; k++) {
        if (p->node[node[k]].kind != X_LN || !p->node[node[k]].opaque)
            continue;
        fmpq_set(w, &weight[k]);
        known = index_quotient(R, p, p->node[node[k]].child[0], first) && !fmpz_poly_q_is_zero(R) &&
                add_logarithm(&result, p, &c, fmpz_poly_q_numref(R), w, first, last);
        fmpq_neg(w, w);
        known = known && add_logarithm(&result, p, &c, fmpz_poly_q_denref(R), w, first, last);
    }
    for (int k = 0; k < c.count; k++) {
        known &= fmpq_is_zero(c.weight[k]);
        fmpz_poly_clear(c.factor[k]);
        fmpq_clear(c.weight[k]);
    }
    return known ? result : -1;
}

/* ---- sums ---- */

int expression_sum(struct expression_pool *p, int body, const fmpz_t first, int last)
{
    const struct expression x = p->node[body]; /* the pool may move while it grows */
    struct polynomial u;
    int result = NODE_ZERO;
    LOCAL(fmpq, w);
    LOCAL(fmpz_poly_q, R);
    if (polynomial_of(&u, p, body)) {
        for (int k = 0; k <= u.degree; k++)
            result = expression_add(p, result, expression_multiply(p, u.coefficient[k], sum_of_powers(p, k, first, last)));
        return result;
    }
    if (!x.opaque) /* and not a number everywhere */
        return -1;
    if (index_quotient(R, p, body, first))
        return sum_of_quotient(p, R, first, last);
    switch (x.kind) {
    case X_LN: fmpq_one(w); return sum_of_logarithms(p, 1, &body, w, first, last);
    case X_LINEAR: {
        int quotients = NODE_ZERO, part = sum_of_logarithms(p, x.count, x.child, x.weight, first, last);
        result = expression_add(p, part < 0 ? NODE_ZERO : part, expression_scale(p, sum_of_powers(p, 0, first, last), x.q));
        for (int i = 0; i < x.count && part >= 0; i++) {
            fmpq_set(w, &x.weight[i]);
            if (index_quotient(R, p, x.child[i], first)) { /* these may telescope together only */
                quotients = expression_add(p, quotients, expression_scale(p, x.child[i], w));
            } else if (p->node[x.child[i]].kind != X_LN || !p->node[x.child[i]].opaque) {
                part = expression_sum(p, x.child[i], first, last);
                result = expression_add(p, result, expression_scale(p, part < 0 ? NODE_ZERO : part, w));
            }
        }
        if (part < 0 || quotients == body || (part = expression_sum(p, quotients, first, last)) < 0)
            return -1;
        return expression_add(p, result, part);
    }
    case X_MULTIPLY: {
        int beside = !p->node[x.child[0]].opaque ? 0 : 1;
        if (p->node[x.child[beside]].opaque || !p->node[x.child[beside]].total ||
            (result = expression_sum(p, x.child[1 - beside], first, last)) < 0)
            return -1;
        return expression_multiply(p, x.child[beside], result);
    }
    case X_SIN:
    case X_COS: return polynomial_of(&u, p, x.child[0]) && u.degree == 1 ? sum_of_wave(p, x.kind, &u, first, last) : -1;
    case X_EXP:
        return polynomial_of(&u, p, x.child[0]) && u.degree == 1
                   ? sum_of_exponentials(p, u.coefficient[1], u.coefficient[0], first, last)
                   : -1;
    case X_POWER: {
        const struct expression base = p->node[x.child[0]];
        if (x.child[1] == expression_ratio(p, 2, 1) && (base.kind == X_SIN || base.kind == X_COS) &&
            polynomial_of(&u, p, base.child[0]) && u.degree == 1) { /* (1 + cos(2 u)) / 2 */
            for (int k = 0; k < 2; k++)
                u.coefficient[k] = expression_multiply(p, u.coefficient[k], expression_ratio(p, 2, 1));
            int part = sum_of_wave(p, X_COS, &u, first, last), all = sum_of_powers(p, 0, first, last);
            int twice = base.kind == X_COS ? expression_add(p, all, part < 0 ? NODE_ZERO : part)
                                           : expression_subtract(p, all, part < 0 ? NODE_ZERO : part);
            return part < 0 ? -1 : expression_multiply(p, twice, expression_ratio(p, 1, 2));
        }
        if (base.depends || !base.total || base.sign != 2 || !polynomial_of(&u, p, x.child[1]) || u.degree != 1)
            return -1;
        int rate = expression_unary(p, X_LN, x.child[0]);
        return sum_of_exponentials(p, expression_multiply(p, rate, u.coefficient[1]),
                                   expression_multiply(p, rate, u.coefficient[0]), first, last);
    }
    default: return -1;
    }
}
