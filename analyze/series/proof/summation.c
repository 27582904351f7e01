/* Sums to t in closed form. */
#include "analyze/series/proof/summation.h"

enum { DEGREE = 8 };

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

int expression_sum(struct expression_pool *p, int body, const fmpz_t first, int last)
{
    const struct expression x = p->node[body]; /* the pool may move while it grows */
    struct polynomial u;
    int result = NODE_ZERO;
    LOCAL(fmpq, w);
    if (polynomial_of(&u, p, body)) {
        for (int k = 0; k <= u.degree; k++)
            result = expression_add(p, result, expression_multiply(p, u.coefficient[k], sum_of_powers(p, k, first, last)));
        return result;
    }
    switch (x.kind) {
    case X_LINEAR:
        result = expression_scale(p, sum_of_powers(p, 0, first, last), x.q);
        for (int i = 0; i < x.count; i++) {
            int part = expression_sum(p, x.child[i], first, last);
            if (part < 0)
                return -1;
            fmpq_set(w, &x.weight[i]);
            result = expression_add(p, result, expression_scale(p, part, w));
        }
        return result;
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
