/* Closed forms of sums of R(t) rho^t: a rational G with R(t) = G(t) - rho G(t + 1), so that the sum from t = a to b - 1 is
 * G(a) rho^a - G(b) rho^b; and of sums that telescope as they are written. */
#include "analyze/series/proof/closed.h"
#include "analyze/series/proof/quotient.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/scale.h"

#include <stdlib.h>

enum {
    RATIO_MAX = 64, /* power of a rational number in rho */
    BITS_MAX = 1 << 20, /* of rho^t */
    FADES_BITS = 64 /* G is shown to fade from 2^this on */
};

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
               fmpz_cmpabs(fmpq_numref(weight), (const fmpz[]){RATIO_MAX}) <= 0) {
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
    quotient_set_rational(y, factor);
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
            known = quotient_of(y, p, p->node[n].child[0], form->first) && quotient_multiply_power(form->term, y, weight);
        else if (!p->node[n].depends)
            rest = expression_add(p, rest, expression_scale(p, n, weight));
        else
            known = p->node[n].kind == X_MULTIPLY && take_line(form, p, n, weight);
    }
    known &= !p->failed && (*common < 0 || *common == rest);
    *common = rest;
    return known;
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
    return form_of(form, &c->common, f->pool, root) && quotient_difference(form->top, form->bottom, form->term, form->ratio) &&
           polynomial_stays_apart(form->bottom, form->first);
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
