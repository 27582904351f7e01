/* Closed forms of sums of R(t) rho^t: a rational G with R(t) = G(t) - rho G(t + 1), so that the sum from t = a to b - 1 is
 * G(a) rho^a - G(b) rho^b; and of sums that telescope as they are written. */
#include "analyze/series/proof/closed.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/scale.h"

#include <flint/fmpq_mat.h>
#include <flint/fmpq_poly.h>
#include <flint/fmpz_poly_q.h>
#include <stdlib.h>

enum {
    DEGREE_MAX = 64, /* of R and of the denominator of G */
    SHIFT_MAX = 64, /* between two poles of R that are whole numbers apart */
    BITS_MAX = 1 << 20, /* of rho^t */
    FADES_BITS = 64 /* G is shown to fade from 2^this on */
};

static inline void fmpz_poly_q_leave(fmpz_poly_q_t *x)
{
    fmpz_poly_q_clear(*x);
}

static inline void fmpq_mat_leave(fmpq_mat_t *x)
{
    fmpq_mat_clear(*x);
}

/* One piece, or one of its strands: first, end and R are of n. */
struct form {
    int r;
    struct strands strands;
    fmpz_t first, end;
    int unbounded;
    fmpz_poly_q_t term; /* R */
    fmpq_t ratio; /* rho */
    fmpq_poly_t top; /* G = top / bottom */
    fmpz_poly_t bottom;
};

struct closed {
    int count, common; /* common: exp of this node is the factor that all terms have; -1 at first */
    struct form *form;
    const struct expression_pool *pool;
    int telescope; /* node G, f(t) = exp(c) (G(t) - G(t + 1)) for all t >= 0, instead of forms; -1: none */
    int limited;
    fmpz_t limit; /* there is nothing from here on */
    fmpq_t all;
};

/* ---- R and rho ---- */

static int is_small(const fmpz_poly_q_t x)
{
    return fmpz_poly_length(fmpz_poly_q_numref(x)) <= DEGREE_MAX && fmpz_poly_length(fmpz_poly_q_denref(x)) <= DEGREE_MAX;
}

static void set_rational(fmpz_poly_q_t out, const fmpq *q)
{
    fmpz_poly_set_fmpz(fmpz_poly_q_numref(out), fmpq_numref(q));
    fmpz_poly_set_fmpz(fmpz_poly_q_denref(out), fmpq_denref(q));
}

/* out *= x^power, a small whole number. */
static int multiply_power(fmpz_poly_q_t out, const fmpz_poly_q_t x, const fmpq *power)
{
    LOCAL(fmpz_poly_q, y);
    if (!fmpz_is_one(fmpq_denref(power)) || fmpz_cmpabs(fmpq_numref(power), (const fmpz[]){DEGREE_MAX}) > 0 ||
        fmpz_poly_q_is_zero(x))
        return 0;
    slong n = fmpz_get_si(fmpq_numref(power)),
          length = fmpz_poly_length(fmpz_poly_q_numref(x)) + fmpz_poly_length(fmpz_poly_q_denref(x));
    if (labs(n) * length > 2 * DEGREE_MAX)
        return 0;
    fmpz_poly_q_pow(y, x, (ulong)labs(n));
    if (n < 0)
        fmpz_poly_q_inv(y, y);
    fmpz_poly_q_mul(out, out, y);
    return is_small(out);
}

/* 1 if a polynomial is not 0 at any real t >= first: its coefficients around there have one sign. */
static int stays_apart(const fmpz_poly_t x, const fmpz_t first)
{
    int sign = 0, apart = 1;
    LOCAL(fmpz_poly, around);
    fmpz_poly_taylor_shift(around, x, first);
    for (slong i = 0; i < fmpz_poly_length(around) && apart; i++) {
        int s = fmpz_sgn(fmpz_poly_get_coeff_ptr(around, i));
        apart = i ? s == 0 || s == sign : s != 0;
        sign = i ? sign : s;
    }
    return apart;
}

/* A node as a quotient of polynomials in t that has no pole at t >= first, nor has a part of it: 1/0 has no sign. */
static int quotient_of(fmpz_poly_q_t out, const struct expression_pool *p, int n, const fmpz_t first)
{
    const struct expression *x = &p->node[n];
    LOCAL(fmpz_poly_q, y, w);
    int known = 1;
    if (x->kind == X_NUMBER) {
        set_rational(out, x->q);
    } else if (x->kind == X_T) {
        fmpz_poly_set_coeff_ui(fmpz_poly_q_numref(y), 1, 1);
        fmpz_poly_q_set(out, y);
    } else if (x->kind == X_LINEAR) {
        set_rational(out, x->q);
        for (int i = 0; i < x->count && known; i++) {
            known = quotient_of(y, p, x->child[i], first);
            set_rational(w, &x->weight[i]);
            fmpz_poly_q_mul(y, y, w);
            fmpz_poly_q_add(out, out, y);
        }
    } else if (x->kind == X_MULTIPLY) {
        known = quotient_of(out, p, x->child[0], first) && quotient_of(y, p, x->child[1], first);
        fmpz_poly_q_mul(out, out, y);
    } else if (x->kind == X_POWER && p->node[x->child[1]].kind == X_NUMBER) {
        fmpz_poly_q_one(out);
        known = quotient_of(y, p, x->child[0], first) && multiply_power(out, y, p->node[x->child[1]].q) &&
                (fmpq_sgn(p->node[x->child[1]].q) > 0 || stays_apart(fmpz_poly_q_numref(y), first));
    } else {
        known = 0;
    }
    return known && is_small(out);
}

/* ratio *= exp(weight n), n a sum of logarithms of rational numbers with whole weights. */
static int take_ratio(fmpq *ratio, const struct expression_pool *p, int n, const fmpq *weight)
{
    const struct expression *x = &p->node[n];
    int known = 1;
    LOCAL(fmpq, w);
    if (x->kind == X_LINEAR) {
        known = fmpq_is_zero(x->q);
        for (int i = 0; i < x->count && known; i++) {
            fmpq_mul(w, weight, &x->weight[i]);
            known = take_ratio(ratio, p, x->child[i], w);
        }
    } else if (x->kind == X_LN && p->node[x->child[0]].kind == X_NUMBER && fmpz_is_one(fmpq_denref(weight)) &&
               fmpz_cmpabs(fmpq_numref(weight), (const fmpz[]){DEGREE_MAX}) <= 0) {
        fmpq_pow_si(w, p->node[x->child[0]].q, fmpz_get_si(fmpq_numref(weight)));
        fmpq_mul(ratio, ratio, w);
    } else {
        known = 0;
    }
    return known;
}

/* weight (q + w t) u, u without t. */
static int take_line(struct form *form, const struct expression_pool *p, int n, const fmpq *weight)
{
    const struct expression *x = &p->node[n];
    int u = p->node[x->child[0]].depends;
    LOCAL(fmpq, w, q, factor, ratio);
    LOCAL(fmpz_poly_q, y);
    if (!expression_in_t(w, q, p, x->child[1 - u]))
        return 0;
    fmpq_mul(w, w, weight);
    fmpq_mul(q, q, weight);
    fmpq_one(factor);
    fmpq_set(ratio, form->ratio);
    int known = take_ratio(ratio, p, x->child[u], w) && take_ratio(factor, p, x->child[u], q);
    fmpq_set(form->ratio, ratio);
    set_rational(y, factor);
    fmpz_poly_q_mul(form->term, form->term, y);
    return known;
}

/* R, rho and the common factor of one piece: exp(b) where b is a number or -inf, so that no logarithm is of less than 0. */
static int form_of(struct form *form, int *common, struct expression_pool *p, int root)
{
    struct expression x = p->node[root]; /* the pool may move while it grows */
    int linear = x.kind == X_LINEAR, count = linear ? x.count : 1, known = 1;
    int rest = linear ? expression_number(p, x.q) : NODE_ZERO;
    LOCAL(fmpq, one);
    LOCAL(fmpz_poly_q, y);
    fmpq_one(one);
    fmpq_one(form->ratio);
    fmpz_poly_q_one(form->term);
    for (int i = 0; i < count && known; i++) {
        int n = linear ? x.child[i] : root;
        const fmpq *weight = linear ? &x.weight[i] : one;
        if (p->node[n].kind == X_LN && fmpz_is_one(fmpq_denref(weight)))
            known = quotient_of(y, p, p->node[n].child[0], form->first) && multiply_power(form->term, y, weight);
        else if (!p->node[n].depends)
            rest = expression_add(p, rest, expression_scale(p, n, weight));
        else
            known = p->node[n].kind == X_MULTIPLY && take_line(form, p, n, weight);
    }
    known &= !p->failed && (*common < 0 || *common == rest);
    *common = rest;
    return known;
}

/* ---- G ---- */

/* The denominator of G: poles of R lie between those of G and the same shifted by 1. bottom = cofactor times R's. */
static int find_bottom(fmpz_poly_t bottom, fmpz_poly_t cofactor, const fmpz_poly_t poles)
{
    slong last = 0;
    LOCAL(fmpz_poly, shifted, common);
    LOCAL(fmpz, h);
    fmpz_poly_set(bottom, poles);
    fmpz_poly_one(cofactor);
    for (slong i = 1; i <= SHIFT_MAX && fmpz_poly_degree(poles) > 0; i++) {
        fmpz_set_si(h, i);
        fmpz_poly_taylor_shift(shifted, poles, h);
        fmpz_poly_gcd(common, poles, shifted);
        if (fmpz_poly_degree(common) > 0)
            last = i;
    }
    if (fmpz_poly_degree(poles) > 0 && last == 0)
        return 0;
    for (slong i = 1; i < last && fmpz_poly_length(bottom) <= DEGREE_MAX; i++) {
        fmpz_set_si(h, i);
        fmpz_poly_taylor_shift(shifted, poles, h);
        fmpz_poly_gcd(common, bottom, shifted);
        fmpz_poly_div(shifted, shifted, common);
        fmpz_poly_mul(bottom, bottom, shifted);
        fmpz_poly_mul(cofactor, cofactor, shifted);
    }
    return fmpz_poly_length(bottom) <= DEGREE_MAX;
}

/* Solves top(t) bottom(t+1) - rho top(t+1) bottom(t) = R's numerator, times the cofactor and bottom(t+1). */
static int find_top(struct form *form, const fmpz_poly_t cofactor)
{
    LOCAL(fmpz, one);
    LOCAL(fmpz_poly, next, right, left, along, x);
    LOCAL(fmpq, value);
    int constant = fmpq_is_one(form->ratio);
    fmpz_one(one);
    fmpz_poly_taylor_shift(next, form->bottom, one);
    fmpz_poly_mul(right, fmpz_poly_q_numref(form->term), cofactor);
    fmpz_poly_mul(right, right, next);
    fmpz_poly_scalar_mul_fmpz(right, right, fmpq_denref(form->ratio));
    slong poles = fmpz_poly_degree(form->bottom), degree = fmpz_poly_degree(right) - poles + constant;
    if (constant && degree < poles)
        degree = poles;
    if (degree < 0)
        return 0;
    slong rows = degree + poles + 1 > fmpz_poly_length(right) ? degree + poles + 1 : fmpz_poly_length(right);
    fmpq_mat_t m __attribute__((cleanup(fmpq_mat_leave)));
    fmpq_mat_init(m, rows, degree + 2);
    fmpz_poly_one(along); /* (t + 1)^i */
    fmpz_poly_set_coeff_ui(x, 1, 1);
    fmpz_poly_set_coeff_ui(x, 0, 1);
    for (slong i = 0; i <= degree; i++) {
        fmpz_poly_mul(left, along, form->bottom);
        fmpz_poly_scalar_mul_fmpz(left, left, fmpq_numref(form->ratio));
        for (slong row = 0; row < fmpz_poly_length(left); row++)
            fmpz_neg(fmpq_numref(fmpq_mat_entry(m, row, i)), fmpz_poly_get_coeff_ptr(left, row));
        for (slong row = 0; row < fmpz_poly_length(next); row++)
            fmpz_addmul(fmpq_numref(fmpq_mat_entry(m, row + i, i)), fmpz_poly_get_coeff_ptr(next, row), fmpq_denref(form->ratio));
        for (slong row = 0; row < rows && constant && i == poles; row++) /* a constant in G is for nothing: without t^poles */
            fmpz_zero(fmpq_numref(fmpq_mat_entry(m, row, i)));
        fmpz_poly_mul(along, along, x);
    }
    for (slong row = 0; row < fmpz_poly_length(right); row++)
        fmpz_set(fmpq_numref(fmpq_mat_entry(m, row, degree + 1)), fmpz_poly_get_coeff_ptr(right, row));
    slong rank = fmpq_mat_rref(m, m), column = 0;
    for (slong row = 0; row < rank; row++, column++) {
        while (column <= degree && fmpq_is_zero(fmpq_mat_entry(m, row, column)))
            column++;
        if (column > degree) /* 0 = 1 */
            return 0;
        fmpq_set(value, fmpq_mat_entry(m, row, degree + 1));
        fmpq_poly_set_coeff_fmpq(form->top, column, value);
    }
    return 1;
}

/* ---- sums ---- */

/* G(t) rho^t. */
static int value_at(fmpq_t out, const struct form *form, const fmpz_t t)
{
    int known = 1;
    LOCAL(fmpz, bottom);
    LOCAL(fmpq, power, ratio);
    fmpq_set(ratio, form->ratio);
    fmpq_poly_evaluate_fmpz(out, form->top, t);
    fmpz_poly_evaluate_fmpz(bottom, form->bottom, t);
    fmpq_div_fmpz(out, out, bottom);
    if (!fmpq_is_one(ratio)) {
        ulong bits = (ulong)fmpz_bits(fmpq_numref(ratio)) + (ulong)fmpz_bits(fmpq_denref(ratio));
        known = bits <= BITS_MAX && fmpz_cmp_ui(t, BITS_MAX / bits) <= 0;
        if (known) {
            fmpq_pow_si(power, ratio, fmpz_get_si(t));
            fmpq_mul(out, out, power);
        }
    }
    return known;
}

/* Its limit. */
static int value_far(fmpq_t out, const struct form *form)
{
    int sign = fmpz_cmp(fmpq_numref(form->ratio), fmpq_denref(form->ratio));
    slong degree = fmpq_poly_degree(form->top) - fmpz_poly_degree(form->bottom);
    fmpq_zero(out);
    if (sign == 0 && degree == 0) {
        fmpq_poly_get_coeff_fmpq(out, form->top, fmpq_poly_degree(form->top));
        fmpq_div_fmpz(out, out, fmpz_poly_lead(form->bottom));
    }
    return sign < 0 || (sign == 0 && degree <= 0);
}

/* ---- sums that telescope ---- */

/* 1 if node n tends to 0. */
static int fades(struct expression_pool *p, int n)
{
    struct scale g;
    int known = 0;
    LOCAL(fmpz, X);
    fmpz_one_2exp(X, FADES_BITS);
    if (scale_init(&g, p, n, X, NULL))
        return 0;
    LOCAL_SCALED(&g, u);
    LOCAL_MONOMIAL(m);
    LOCAL_INTERVAL(g.prec, c);
    LOCAL_INTERVAL(g.prec, rest);
    if (scaled_of(&u, &g, n))
        known = !u.masked && scaled_collapse(c, &m, &g, &u) && interval_is_bounded(c) && monomial_fades(rest, &g, &m);
    scale_clear(&g);
    return known;
}

/* [6.2] b = c + ln(u), u = G(t) - G(t + 1), G the terms of u with positive weights, which tends to 0: its node, or -1. */
static int telescope_of(struct expression_pool *p, int root)
{
    struct expression x = p->node[root]; /* the pool may move while it grows */
    LOCAL(fmpq, one);
    fmpq_one(one);
    if (x.kind == X_LINEAR && x.count == 1 && fmpq_is_one(&x.weight[0]))
        x = p->node[x.child[0]];
    if (x.kind != X_LN)
        return -1;
    int u = x.child[0], G = NODE_ZERO, next = expression_linear(p, one, 1, (const int[]){NODE_T_ITSELF}, one);
    x = p->node[u];
    if (x.kind != X_LINEAR || !fmpq_is_zero(x.q))
        return -1;
    for (int i = 0; i < x.count; i++)
        if (fmpq_sgn(&x.weight[i]) > 0)
            G = expression_add(p, G, expression_scale(p, x.child[i], &x.weight[i]));
    return expression_subtract(p, G, expression_replace(p, p, G, next)) == u && !p->failed && fades(p, G) ? G : -1;
}

static int telescope_at(fmpq_t out, const struct closed *c, const fmpz_t t)
{
    struct expression_pool *p = expression_pool_new();
    int n = p ? expression_substitute(p, c->pool, c->telescope, t) : -1, known = n >= 0 && p->node[n].kind == X_NUMBER;
    if (known)
        fmpq_set(out, p->node[n].q);
    expression_pool_free(p);
    return known;
}

/* Sum over t < j, or over all (NULL). */
static int sum_below(fmpq *out, const struct closed *c, const fmpz *j)
{
    int known = 1;
    LOCAL(fmpq, x);
    LOCAL(fmpz, n);
    fmpq_zero(out);
    if (c->telescope >= 0) {
        known = telescope_at(out, c, n) && (!j || telescope_at(x, c, j));
        fmpq_sub(out, out, x);
        return known;
    }
    for (int i = 0; i < c->count && known; i++) {
        const struct form *form = &c->form[i];
        if (j)
            strand_place(n, j, form->r, &form->strands);
        if (j && fmpz_cmp(n, form->first) <= 0)
            continue;
        known = value_at(x, form, form->first);
        fmpq_add(out, out, x);
        if (form->unbounded && !j)
            known &= value_far(x, form);
        else
            known &= value_at(x, form, !form->unbounded && (!j || fmpz_cmp(form->end, n) < 0) ? form->end : n);
        fmpq_sub(out, out, x);
    }
    return known;
}

/* The form of a piece, or of one of its strands. */
static int add_form(struct closed *c, const struct series_summand *f, const struct piece *piece, int r,
                    const struct strands *strands)
{
    int root = strand_node(f->pool, piece->root, r, strands);
    LOCAL(fmpz_poly, cofactor);
    if (root == NODE_MINUS_INFINITY)
        return 1;
    struct form *form = &c->form[c->count++];
    *form = (struct form){.r = r, .strands = *strands, .unbounded = piece->unbounded};
    fmpz_init(form->first);
    fmpz_init(form->end);
    strand_place(form->first, piece->first, r, strands);
    strand_place(form->end, piece->end, r, strands);
    fmpz_poly_q_init(form->term);
    fmpq_init(form->ratio);
    fmpq_poly_init(form->top);
    fmpz_poly_init(form->bottom);
    return form_of(form, &c->common, f->pool, root) && find_bottom(form->bottom, cofactor, fmpz_poly_q_denref(form->term)) &&
           find_top(form, cofactor) && stays_apart(form->bottom, form->first);
}

/* [6.2] */
struct closed *closed_new(const struct series_summand *f, const fmpz *limit)
{
    int known = 1;
    struct closed *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->common = c->telescope = -1;
    c->pool = f->pool;
    c->limited = limit != NULL;
    fmpz_init(c->limit);
    if (limit)
        fmpz_set(c->limit, limit);
    fmpq_init(c->all);
    c->form = calloc((size_t)(f->pieces + f->strands.count), sizeof *c->form);
    for (int i = 0; c->form && i < f->pieces && known; i++) {
        const struct piece *piece = &f->piece[i];
        struct strands strands = piece->unbounded && piece->kind == PIECE_ROUGH ? f->strands : (struct strands){.count = 1};
        if (limit && fmpz_cmp(piece->first, limit) >= 0)
            break;
        known = strands_hold(&strands, f->pool, piece->root, piece->first);
        for (int r = 0; r < strands.count && known && piece->kind != PIECE_ZERO; r++)
            known = add_form(c, f, piece, r, &strands);
    }
    if (!known) {
        c->telescope = telescope_of(f->pool, f->root);
        known = c->telescope >= 0;
    }
    if (c->form && known && sum_below(c->all, c, limit) && fmpq_sgn(c->all) > 0)
        return c;
    closed_free(c);
    return NULL;
}

void closed_free(struct closed *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++) {
        fmpz_clear(c->form[i].first);
        fmpz_clear(c->form[i].end);
        fmpz_poly_q_clear(c->form[i].term);
        fmpq_clear(c->form[i].ratio);
        fmpq_poly_clear(c->form[i].top);
        fmpz_poly_clear(c->form[i].bottom);
    }
    free(c->form);
    fmpz_clear(c->limit);
    fmpq_clear(c->all);
    free(c);
}

/* [6.2] */
int closed_share(fmpq_t out, const struct closed *c, const fmpz_t j)
{
    int known = sum_below(out, c, c->limited && fmpz_cmp(j, c->limit) > 0 ? c->limit : j);
    fmpq_div(out, out, c->all);
    return known;
}
