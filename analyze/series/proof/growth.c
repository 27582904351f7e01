/* Growth on the scale t, ln t, ln ln t, ... with a bounded factor. */
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/rounding.h"

#include <stdlib.h>

/* ln of something positive: sum of a[k] * level[k + 1] + rest, level[0] = t, level[k + 1] = ln level[k]. */
struct form {
    fmpq_t a[GROWTH_LEVELS];
    mpfi_t rest;
};

struct growing {
    const struct expression_pool *p;
    const struct ranges *ranges;
    mpfi_t level[GROWTH_LEVELS + 1]; /* at X */
    int levels; /* how many of them are at least e at X; one more is positive */
    mpfr_prec_t prec;
};

static void form_init(struct form *f, mpfr_prec_t prec)
{
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_init(f->a[k]);
    mpfi_init2(f->rest, prec);
    mpfi_set_ui(f->rest, 0);
}

static void form_leave(struct form *f)
{
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_clear(f->a[k]);
    mpfi_clear(f->rest);
}

/* A form that is cleared where its block ends. */
#define LOCAL_FORM(prec, f) \
    struct form f __attribute__((cleanup(form_leave))); \
    form_init(&(f), prec)

/* What is bounded: a constant, but for what is left. 1 if it is. */
static int form_bounded(struct form *f, const mpfi_t rest)
{
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_zero(f->a[k]);
    mpfi_set(f->rest, rest);
    return interval_is_bounded(f->rest);
}

static void form_set(struct form *f, const struct form *g)
{
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_set(f->a[k], g->a[k]);
    mpfi_set(f->rest, g->rest);
}

/* f += q g. */
static void form_addmul(struct form *f, const fmpq_t q, const struct form *g)
{
    LOCAL_INTERVAL(mpfi_get_prec(f->rest), x);
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_addmul(f->a[k], q, g->a[k]);
    interval_set_fmpq(x, q);
    mpfi_mul(x, x, g->rest);
    mpfi_add(f->rest, f->rest, x);
}

/* Index of the first exponent that is not 0, -1 if there is none. */
static int leading(const struct form *f)
{
    for (int k = 0; k < GROWTH_LEVELS; k++)
        if (!fmpq_is_zero(f->a[k]))
            return k;
    return -1;
}

static int compare_growth(const struct form *f, const struct form *g)
{
    for (int k = 0; k < GROWTH_LEVELS; k++) {
        int order = fmpq_cmp(f->a[k], g->a[k]);
        if (order)
            return order;
    }
    return 0;
}

/* [4.6] exp(d) for a form whose first exponent is negative: out = [0, its value at X], provided that it falls from X on. 1 or 0.
 * The rate of d by ln t is the sum of a[k] / (level[1] ... level[k]); weights of later levels fall faster, so it is enough that
 * the positive ones together do not outweigh the first at X. */
static int fading(mpfi_t out, const struct growing *g, const struct form *d)
{
    int first = leading(d), known = first <= g->levels;
    LOCAL_INTERVAL(g->prec, weight, sum, x);
    mpfi_set_ui(weight, 1);
    interval_set_fmpq(sum, d->a[first]);
    mpfi_set(out, d->rest);
    for (int k = first; k < GROWTH_LEVELS && k <= g->levels; k++) {
        interval_set_fmpq(x, d->a[k]);
        if (k > first && fmpq_sgn(d->a[k]) > 0) {
            LOCAL_INTERVAL(g->prec, part);
            mpfi_mul(part, x, weight);
            mpfi_add(sum, sum, part);
        }
        mpfi_mul(x, x, g->level[k + 1]);
        mpfi_add(out, out, x);
        mpfi_div(weight, weight, g->level[k + 1]);
    }
    for (int k = g->levels + 1; k < GROWTH_LEVELS; k++)
        known &= fmpq_is_zero(d->a[k]);
    mpfi_exp(out, out);
    mpfi_put_si(out, 0);
    return known && mpfr_sgn(&sum->right) <= 0 && !mpfi_nan_p(out) && interval_is_bounded(out);
}

static int form_of(struct form *out, const struct growing *g, int n);
static int log_form(struct form *out, const struct growing *g, int n);

/* The growth of weight * node as exp(form), all of it that has no exponent in *coefficient; what has none but is bounded, of
 * either sign, counts as a constant. */
static int term_of(struct form *form, mpfi_t coefficient, const struct growing *g, int n, const fmpq *weight)
{
    const struct range *r = &g->ranges->node[n];
    int ok = log_form(form, g, n);
    LOCAL_INTERVAL(g->prec, w);
    interval_set_fmpq(w, weight);
    if (ok) {
        mpfi_exp(coefficient, form->rest);
    } else if (range_is_number(r) && r->relative && mpfr_cmp_si(&r->elasticity->right, -1) < 0) { /* at most start (t/X)^-s */
        long s = mpfr_cmp_si(&r->elasticity->right, -1000) < 0 ? 1000 : -mpfr_get_si(&r->elasticity->right, MPFR_RNDU);
        mpfi_log(coefficient, g->level[0]);
        mpfi_mul_si(coefficient, coefficient, s);
        mpfi_exp(coefficient, coefficient);
        mpfi_mul(coefficient, coefficient, r->start);
        mpfi_put_si(coefficient, 0);
        form_bounded(form, coefficient);
        fmpq_set_si(form->a[0], -s, 1);
        ok = 1;
    } else if (range_is_number(r)) {
        ok = form_bounded(form, r->value);
        mpfi_set(coefficient, r->value);
    }
    mpfi_mul(coefficient, coefficient, w);
    mpfi_set_ui(form->rest, 0);
    return ok && interval_is_bounded(coefficient);
}

/* [4.6] ln of q + sum of weight * child: with the exponents of the leading term taken out, what is left is the sum of the leading
 * coefficients and of terms that fade. */
static int log_of_sum(struct form *out, const struct growing *g, const struct expression *x)
{
    int count = x->count + !fmpq_is_zero(x->q), ok = 1, first = 0;
    struct form *term = calloc((size_t)count, sizeof *term);
    mpfi_t *coefficient = calloc((size_t)count, sizeof *coefficient);
    LOCAL(fmpq, minus);
    LOCAL_INTERVAL(g->prec, sum, ratio);
    LOCAL_FORM(g->prec, difference);
    fmpq_set_si(minus, -1, 1);
    mpfi_set_ui(sum, 0);
    if (!term || !coefficient)
        count = ok = 0;
    for (int i = 0; i < count; i++) {
        form_init(&term[i], g->prec);
        mpfi_init2(coefficient[i], g->prec);
    }
    for (int i = 0; i < count && ok; i++) {
        if (i < x->count)
            ok = term_of(&term[i], coefficient[i], g, x->child[i], &x->weight[i]);
        else
            interval_set_fmpq(coefficient[i], x->q);
        if (ok && compare_growth(&term[i], &term[first]) > 0)
            first = i;
    }
    for (int i = 0; i < count && ok; i++) {
        form_set(&difference, &term[i]);
        form_addmul(&difference, minus, &term[first]);
        mpfi_set_ui(ratio, 1);
        if (leading(&difference) >= 0)
            ok = fading(ratio, g, &difference);
        mpfi_mul(ratio, ratio, coefficient[i]);
        mpfi_add(sum, sum, ratio);
    }
    ok = ok && !mpfi_nan_p(sum) && interval_is_positive(sum) && interval_is_bounded(sum);
    if (ok) {
        form_set(out, &term[first]);
        mpfi_log(out->rest, sum);
    }
    for (int i = 0; i < count; i++) {
        form_leave(&term[i]);
        mpfi_clear(coefficient[i]);
    }
    free(term);
    free(coefficient);
    return ok;
}

/* [4.6] ln of ln u, from the form of ln u: with a the first exponent, at level k, ln u = a level[k + 1] (1 + the rest over a
 * level[k + 1]). */
static int log_of_log(struct form *out, const struct growing *g, const struct form *inner)
{
    int k = leading(inner);
    if (k < 0 || k + 1 >= GROWTH_LEVELS || k + 1 > g->levels || fmpq_sgn(inner->a[k]) <= 0)
        return 0;
    LOCAL_INTERVAL(g->prec, a, others, x);
    interval_set_fmpq(a, inner->a[k]);
    mpfi_div(others, inner->rest, g->level[k + 1]);
    mpfi_put_si(others, 0); /* rest / level falls towards 0 */
    for (int i = k + 1; i < GROWTH_LEVELS; i++) {
        if (fmpq_is_zero(inner->a[i]))
            continue;
        if (i > g->levels) /* level[i + 1] / level[k + 1] falls from X on: ln y / y does for y >= e */
            return 0;
        interval_set_fmpq(x, inner->a[i]);
        mpfi_mul(x, x, g->level[i + 1]);
        mpfi_div(x, x, g->level[k + 1]);
        mpfi_put_si(x, 0);
        mpfi_add(others, others, x);
    }
    mpfi_add(others, others, a);
    if (!interval_is_positive(others) || !interval_is_bounded(others))
        return 0;
    mpfi_log(others, others);
    form_bounded(out, others);
    fmpq_one(out->a[k + 1]);
    return 1;
}

/* [4.6] ln of node n, which is positive on [X, inf). */
static int log_form(struct form *out, const struct growing *g, int n)
{
    const struct expression *x = &g->p->node[n];
    const struct range *r = &g->ranges->node[n];
    int power = x->kind == X_POWER && g->p->node[x->child[1]].kind == X_NUMBER;
    LOCAL_FORM(g->prec, first);
    LOCAL_FORM(g->prec, second);
    LOCAL(fmpq, one);
    fmpq_one(one);
    if (n == NODE_T_ITSELF) {
        fmpq_one(out->a[0]);
        return 1;
    }
    if (!range_is_number(r) || !r->positive)
        return 0;
    if (x->kind == X_EXP)
        return form_of(out, g, x->child[0]);
    if (x->kind == X_LN && log_form(&first, g, x->child[0]) && log_of_log(out, g, &first))
        return 1;
    if (x->kind == X_LINEAR && log_of_sum(out, g, x))
        return 1;
    if ((power || x->kind == X_MULTIPLY) && log_form(&first, g, x->child[0]) && (power || log_form(&second, g, x->child[1]))) {
        form_addmul(&second, power ? g->p->node[x->child[1]].q : one, &first);
        form_set(out, &second);
        return 1;
    }
    if (!interval_is_bounded(r->value)) /* what stays between positive bounds is a factor */
        return 0;
    mpfi_log(first.rest, r->value);
    return form_bounded(out, first.rest);
}

/* Node n itself. */
static int form_of(struct form *out, const struct growing *g, int n)
{
    const struct expression *x = &g->p->node[n];
    const struct range *r = &g->ranges->node[n];
    LOCAL_FORM(g->prec, form);
    if (!range_is_number(r))
        return 0;
    if (x->kind == X_LN && log_form(&form, g, x->child[0])) {
        form_set(out, &form);
        return 1;
    }
    if (x->kind == X_LINEAR) {
        int ok = 1;
        LOCAL_FORM(g->prec, sum);
        interval_set_fmpq(sum.rest, x->q);
        for (int i = 0; i < x->count && ok; i++) {
            LOCAL_FORM(g->prec, part);
            ok = form_of(&part, g, x->child[i]);
            form_addmul(&sum, &x->weight[i], &part);
        }
        if (ok) {
            form_set(out, &sum);
            return interval_is_bounded(out->rest);
        }
    }
    return form_bounded(out, r->value);
}

struct growth *growth_new(const struct expression_pool *p, int root, const fmpz_t from)
{
    struct ranges ranges;
    struct growth *result = NULL;
    struct growing g = {.p = p, .ranges = &ranges, .prec = 128, .levels = -1};
    if (ranges_compute(&ranges, p, root, from, NULL, g.prec))
        return NULL;
    LOCAL_FORM(g.prec, f);
    for (int k = 0; k <= GROWTH_LEVELS; k++) {
        mpfi_init2(g.level[k], g.prec);
        if (k == 0)
            interval_set_fmpz(g.level[0], from);
        else
            mpfi_log(g.level[k], g.level[k - 1]);
        if (k < GROWTH_LEVELS && g.levels == k - 1 && !mpfi_nan_p(g.level[k]) && mpfr_cmp_d(&g.level[k]->left, 2.7183) >= 0)
            g.levels = k; /* 2.7183 > e */
    }
    if (g.levels >= 0 && form_of(&f, &g, root))
        result = calloc(1, sizeof *result);
    if (result) {
        for (int k = 0; k < GROWTH_LEVELS; k++) {
            fmpq_init(result->exponent[k]);
            fmpq_set(result->exponent[k], f.a[k]);
        }
        mpfi_init2(result->rest, g.prec);
        mpfi_set(result->rest, f.rest);
        fmpz_init_set(result->from, from);
    }
    for (int k = 0; k <= GROWTH_LEVELS; k++)
        mpfi_clear(g.level[k]);
    ranges_free(&ranges);
    return result;
}

void growth_free(struct growth *g)
{
    if (!g)
        return;
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_clear(g->exponent[k]);
    mpfi_clear(g->rest);
    fmpz_clear(g->from);
    free(g);
}
