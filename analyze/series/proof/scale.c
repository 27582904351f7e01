/* Arithmetic on the scale of logarithms and exponentials. */
#include "analyze/series/proof/scale.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"

#include <stdlib.h>

enum { FADES_WORK = 80 /* of comparing two monomials, with what is around it */ };

/* ---- monomials ---- */

void monomial_init(struct monomial *m)
{
    for (int k = 0; k < SCALE_LEVELS; k++)
        fmpq_init(&m->a[k]);
}

void monomial_leave(struct monomial *m)
{
    for (int k = 0; k < SCALE_LEVELS; k++)
        fmpq_clear(&m->a[k]);
}

static void monomial_set(struct monomial *m, const struct monomial *n)
{
    for (int k = 0; k < SCALE_LEVELS; k++)
        fmpq_set(&m->a[k], &n->a[k]);
}

int monomial_compare(const struct monomial *a, const struct monomial *b)
{
    for (int k = 0; k < SCALE_LEVELS; k++) {
        int order = fmpq_cmp(&a->a[k], &b->a[k]);
        if (order)
            return order;
    }
    return 0;
}

/* The first level that has an exponent, or SCALE_LEVELS. */
static int leading(const struct monomial *m)
{
    int k = 0;
    while (k < SCALE_LEVELS && fmpq_is_zero(&m->a[k]))
        k++;
    return k;
}

int monomial_sign(const struct monomial *a)
{
    int k = leading(a);
    return k == SCALE_LEVELS ? 0 : fmpq_sgn(&a->a[k]);
}

void monomial_level(struct monomial *m, int level)
{
    for (int k = 0; k < SCALE_LEVELS; k++)
        fmpq_set_si(&m->a[k], k == level, 1);
}

void monomial_multiply(struct monomial *a, const struct monomial *b, const fmpq *q)
{
    for (int k = 0; k < SCALE_LEVELS; k++)
        if (q)
            fmpq_addmul(&a->a[k], &b->a[k], q);
        else
            fmpq_add(&a->a[k], &a->a[k], &b->a[k]);
}

static void monomial_divide(struct monomial *out, const struct monomial *a,
                            const struct monomial *b)
{
    for (int k = 0; k < SCALE_LEVELS; k++)
        fmpq_sub(&out->a[k], &a->a[k], &b->a[k]);
}

/* [4.6] The rate of ln m by level[first + 1] is the sum of a[k] / (level[first + 1] ... level[k]);
 * weights of later levels fall faster, so it is enough that the positive exponents together do not
 * outweigh the first, negative one at X. */
int monomial_fades(mpfi_t out, const struct scale *g, const struct monomial *m)
{
    int first = leading(m), known = first <= g->levels;
    g->p->budget->done += FADES_WORK;
    if (first == SCALE_LEVELS || fmpq_sgn(&m->a[first]) > 0)
        return 0;
    LOCAL_INTERVAL(g->prec, weight, sum, x);
    mpfi_set_ui(weight, 1);
    interval_set_fmpq(sum, &m->a[first]);
    mpfi_set_ui(out, 0);
    for (int k = first; k < SCALE_LEVELS && k <= g->levels; k++) {
        interval_set_fmpq(x, &m->a[k]);
        if (k > first && fmpq_sgn(&m->a[k]) > 0) {
            LOCAL_INTERVAL(g->prec, part);
            mpfi_mul(part, x, weight);
            mpfi_add(sum, sum, part);
        }
        mpfi_mul(x, x, g->level[k + 1]);
        mpfi_add(out, out, x);
        mpfi_div(weight, weight, g->level[k + 1]);
    }
    for (int k = g->levels + 1; k < SCALE_LEVELS; k++)
        known &= fmpq_is_zero(&m->a[k]);
    mpfi_exp(out, out);
    mpfi_put_si(out, 0);
    return known && mpfr_sgn(&sum->right) <= 0 && !mpfi_nan_p(out) && interval_is_bounded(out);
}

/* ---- sums ---- */

void scaled_init(struct scaled *u, mpfr_prec_t prec)
{
    u->count = u->rough = u->masked = 0;
    for (int i = 0; i <= SCALE_TERMS; i++)
        monomial_init(&u->of[i]);
    monomial_init(&u->at);
    mpfi_init2(u->remainder, prec);
}

void scaled_leave(struct scaled *u)
{
    for (int i = 0; i <= SCALE_TERMS; i++)
        monomial_leave(&u->of[i]);
    monomial_leave(&u->at);
    mpfi_clear(u->remainder);
}

void scaled_set(struct scaled *u, const struct scaled *v)
{
    u->count = v->count;
    u->rough = v->rough;
    u->masked = v->masked;
    for (int i = 0; i < v->count; i++) {
        monomial_set(&u->of[i], &v->of[i]);
        u->coefficient[i] = v->coefficient[i];
    }
    monomial_set(&u->at, &v->at);
    mpfi_set(u->remainder, v->remainder);
}

/* A node without t as an interval. 1 if it is a finite number. */
static int enclose(mpfi_t out, const struct scale *g, int node)
{
    LOCAL(arb, x);
    evaluate_constant(x, g->p, node, g->prec);
    interval_set_arb(out, x);
    return interval_is_bounded(out);
}

/* c becomes c times what is between 0 and `most`, most > 0. */
static void shrink(mpfi_t c, const mpfi_t most)
{
    if (mpfr_sgn(&c->left) >= 0)
        mpfr_set_zero(&c->left, 1);
    else
        mpfr_mul(&c->left, &c->left, &most->right, MPFR_RNDD);
    if (mpfr_sgn(&c->right) <= 0)
        mpfr_set_zero(&c->right, 1);
    else
        mpfr_mul(&c->right, &c->right, &most->right, MPFR_RNDU);
}

/* c times monomial m, as something times the monomial `to`, which is at least m. */
static int carry(mpfi_t c, const struct scale *g, const struct monomial *m,
                 const struct monomial *to)
{
    LOCAL_MONOMIAL(ratio);
    LOCAL_INTERVAL(g->prec, most);
    monomial_divide(&ratio, m, to);
    if (monomial_sign(&ratio) == 0)
        return 1;
    int known = monomial_fades(most, g, &ratio);
    if (known)
        shrink(c, most);
    return known;
}

/* [4.6] */
int scaled_add_remainder(struct scale *g, struct scaled *u, const struct monomial *m,
                         const mpfi_t c)
{
    LOCAL_INTERVAL(g->prec, x);
    mpfi_set(x, c);
    if (!u->rough) {
        mpfi_set_ui(u->remainder, 0);
        monomial_set(&u->at, m);
        u->rough = 1;
    }
    if (monomial_compare(m, &u->at) > 0) {
        if (!carry(u->remainder, g, &u->at, m))
            return 0;
        monomial_set(&u->at, m);
    } else if (!carry(x, g, m, &u->at)) {
        return 0;
    }
    mpfi_add(u->remainder, u->remainder, x);
    while (u->count && monomial_compare(&u->of[u->count - 1], &u->at) <= 0) {
        u->count--;
        if (!enclose(x, g, u->coefficient[u->count]) || !carry(x, g, &u->of[u->count], &u->at))
            return 0;
        mpfi_add(u->remainder, u->remainder, x);
    }
    return !mpfi_nan_p(u->remainder);
}

static void take_out(struct scaled *u, int i)
{
    for (u->count--; i < u->count; i++) {
        monomial_set(&u->of[i], &u->of[i + 1]);
        u->coefficient[i] = u->coefficient[i + 1];
    }
}

void scaled_shift(struct scaled *u)
{
    take_out(u, 0);
}

int scaled_add_term(struct scale *g, struct scaled *u, const struct monomial *m, int coefficient)
{
    int i = u->count, sum = coefficient;
    LOCAL_INTERVAL(g->prec, x);
    if (g->p->failed || g->p->node[coefficient].depends)
        return 0;
    if (coefficient == NODE_ZERO)
        return 1;
    while (i > 0 && monomial_compare(&u->of[i - 1], m) < 0)
        i--;
    if (i > 0 && monomial_compare(&u->of[i - 1], m) == 0) {
        i--;
        sum = expression_add(g->p, u->coefficient[i], coefficient);
        take_out(u, i);
    }
    int sign = expression_sign(g->p, sum);
    if (sign == 0)
        return 1;
    if (sign == 2 || (u->rough && monomial_compare(m, &u->at) <= 0))
        return enclose(x, g, sum) && scaled_add_remainder(g, u, m, x);
    for (int k = u->count; k > i; k--) {
        monomial_set(&u->of[k], &u->of[k - 1]);
        u->coefficient[k] = u->coefficient[k - 1];
    }
    monomial_set(&u->of[i], m);
    u->coefficient[i] = sum;
    u->count++;
    if (u->count <= SCALE_TERMS)
        return 1;
    mpfi_set_ui(x, 0); /* the last one becomes the rest, or a part of it */
    LOCAL_MONOMIAL(last);
    monomial_set(&last, &u->of[u->count - 1]);
    return scaled_add_remainder(g, u, &last, x);
}

int scaled_addmul(struct scale *g, struct scaled *u, const struct scaled *v,
                  const struct monomial *m, int coefficient)
{
    LOCAL_MONOMIAL(product);
    LOCAL_INTERVAL(g->prec, x);
    int known = !v->masked || expression_sign(g->p, coefficient) == 1;
    for (int i = 0; i < v->count && known; i++) {
        monomial_set(&product, &v->of[i]);
        monomial_multiply(&product, m, NULL);
        known = scaled_add_term(g, u, &product,
                                expression_multiply(g->p, coefficient, v->coefficient[i]));
    }
    if (v->rough && known && coefficient != NODE_ZERO) {
        monomial_set(&product, &v->at);
        monomial_multiply(&product, m, NULL);
        known = enclose(x, g, coefficient);
        mpfi_mul(x, x, v->remainder);
        known = known && !mpfi_nan_p(x) && scaled_add_remainder(g, u, &product, x);
    }
    u->masked |= v->masked;
    return known;
}

int scaled_multiply(struct scale *g, struct scaled *out, const struct scaled *u,
                    const struct scaled *v)
{
    LOCAL_SCALED(g, product);
    LOCAL_MONOMIAL(m);
    LOCAL_INTERVAL(g->prec, x);
    int known = !u->masked && !v->masked;
    if (!v->count) { /* bounds are narrower that way */
        const struct scaled *swap = u;
        u = v;
        v = swap;
    }
    for (int i = 0; i < u->count && known; i++)
        known = scaled_addmul(g, &product, v, &u->of[i], u->coefficient[i]);
    if (u->rough && known) { /* with what v is at most: all of it is a rest */
        known = scaled_collapse(x, &m, g, v);
        monomial_multiply(&m, &u->at, NULL);
        mpfi_mul(x, x, u->remainder);
        known = known && !mpfi_nan_p(x) && scaled_add_remainder(g, &product, &m, x);
    }
    scaled_set(out, &product);
    return known;
}

/* ---- what is known of a sum ---- */

int scaled_collapse(mpfi_t c, struct monomial *m, struct scale *g, const struct scaled *u)
{
    LOCAL_SCALED(g, copy);
    scaled_set(&copy, u);
    monomial_level(m, -1);
    mpfi_set_ui(c, 0);
    if (u->count)
        monomial_set(m, &u->of[0]);
    else if (u->rough)
        monomial_set(m, &u->at);
    if (!scaled_add_remainder(g, &copy, m, c))
        return 0;
    mpfi_set(c, copy.remainder);
    return 1;
}

int scaled_sign(struct scale *g, const struct scaled *u)
{
    LOCAL_MONOMIAL(m);
    LOCAL_INTERVAL(g->prec, c);
    if (u->masked)
        return 2;
    if (!u->count && (!u->rough || mpfi_is_zero(u->remainder)))
        return 0;
    if (!scaled_collapse(c, &m, g, u))
        return 2;
    return interval_is_positive(c) ? 1 : interval_is_negative(c) ? -1 : u->count ? 2 : 3;
}

int scaled_large(struct scaled *large, struct scaled *low, struct scale *g, const struct scaled *u)
{
    int known = 1;
    for (int i = 0; i < u->count && known; i++)
        known = scaled_add_term(g, monomial_sign(&u->of[i]) > 0 ? large : low, &u->of[i],
                                u->coefficient[i]);
    if (u->rough)
        known = known && scaled_add_remainder(g, monomial_sign(&u->at) > 0 ? large : low, &u->at,
                                              u->remainder);
    return known;
}

int scaled_bounds(mpfi_t out, struct scale *g, const struct scaled *u)
{
    LOCAL_SCALED(g, large, low);
    LOCAL_MONOMIAL(m, one);
    LOCAL_INTERVAL(g->prec, c, least);
    if (!scaled_large(&large, &low, g, u) || !scaled_collapse(out, &m, g, &low) ||
        !carry(out, g, &m, &one))
        return 0;
    if (!large.count && !large.rough)
        return 1;
    LOCAL_MONOMIAL(inverse);
    if (!scaled_collapse(c, &m, g, &large))
        return 0;
    monomial_divide(&inverse, &inverse, &m);
    if (!monomial_fades(least, g, &inverse))
        return 0;
    mpfr_ui_div(&least->left, 1, &least->right, MPFR_RNDD); /* m grows from there */
    int below = mpfr_sgn(&c->left) >= 0, above = mpfr_sgn(&c->right) <= 0;
    mpfr_mul(&c->left, &c->left, &least->left, MPFR_RNDD);
    mpfr_mul(&c->right, &c->right, &least->left, MPFR_RNDU);
    if (!below)
        mpfr_set_inf(&c->left, -1);
    if (!above)
        mpfr_set_inf(&c->right, 1);
    mpfi_add(out, out, c);
    return (below || above) && !mpfi_nan_p(out);
}

/* ---- [X, inf) ---- */

int scale_init(struct scale *g, struct expression_pool *p, int root, const fmpz_t X)
{
    *g = (struct scale){.p = p, .prec = SCALE_PREC, .count = root + 1};
    mpfr_set_emax(
        mpfr_get_emax_max()); /* of this thread: 2^(2^40) is a number here, as it is one in balls */
    g->made = calloc((size_t)root + 1, sizeof *g->made);
    g->known = calloc((size_t)root + 1, 1);
    for (int k = 0; k <= SCALE_LEVELS; k++) {
        mpfi_init2(g->level[k], g->prec);
        if (k == 1)
            interval_set_fmpz(g->level[1], X);
        else if (k > 1)
            mpfi_log(g->level[k], g->level[k - 1]);
        if (k && k < SCALE_LEVELS && g->levels == k - 1 && !mpfi_nan_p(g->level[k]) &&
            interval_is_positive(g->level[k]))
            g->levels = k;
    }
    if (g->made && g->known)
        return 0;
    scale_clear(g);
    return -1;
}

void scale_clear(struct scale *g)
{
    for (int n = 0; g->made && n < g->count; n++)
        if (g->made[n]) {
            scaled_leave(g->made[n]);
            free(g->made[n]);
        }
    free(g->made);
    free(g->known);
    for (int k = 0; k <= SCALE_LEVELS; k++)
        mpfi_clear(g->level[k]);
}
