/* Whether a sum converges, by the scale of logarithms. */
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"

#include <stdlib.h>

enum { ARC_MAX = 4096 /* steps among which one is sought that hardly turns */ };

/* u += q level[i] */
static int add_level(struct scale *g, struct scaled *u, int i, const fmpq_t q)
{
    LOCAL_MONOMIAL(level);
    monomial_level(&level, i);
    return scaled_add_term(g, u, &level, expression_number(g->p, q));
}

/* The level of which u's leading term is a rational multiple, *q, or 0. */
static int leading_level(fmpq_t q, const struct scale *g, const struct scaled *u)
{
    LOCAL_MONOMIAL(level);
    if (!u->count || g->p->node[u->coefficient[0]].kind != X_NUMBER)
        return 0;
    fmpq_set(q, g->p->node[u->coefficient[0]].q);
    for (int i = 2; i < SCALE_LEVELS; i++) {
        monomial_level(&level, i);
        if (monomial_compare(&u->of[0], &level) == 0)
            return i;
    }
    return 0;
}

/* [4.7] d = b + ln t + ... + level[i] tends to -infinity, at least as c level[i], c < 0: takes multiples of the levels off it
 * until what is left is bounded, or bounded above. */
static int converges(struct growth *out, struct scale *g, const struct scaled *d, int i, const mpfi_t c)
{
    LOCAL_SCALED(g, left);
    LOCAL(fmpq, q);
    LOCAL(arf, share);
    int level, first = 1;
    scaled_set(&left, d);
    while ((level = leading_level(q, g, &left)) >= i && (!first || level == i)) {
        first = 0;
        fmpq_add(&out->exponent[level - 2], &out->exponent[level - 2], q);
        scaled_shift(&left);
    }
    if (!first && scaled_bounds(out->rest, g, &left) && mpfr_number_p(&out->rest->right))
        return 1;
    for (int k = 0; k < GROWTH_LEVELS; k++) /* less of level[i]: what is left tends to -infinity */
        fmpq_set_si(&out->exponent[k], k <= i - 2 ? -1 : 0, 1);
    LOCAL_MONOMIAL(own);
    monomial_level(&own, i);
    int above = monomial_compare(d->count ? &d->of[0] : &d->at, &own) > 0;
    arf_set_d(share, above || mpfr_cmp_si(&c->right, -2) < 0 ? 1 : -7 * mpfr_get_d(&c->right, MPFR_RNDU) / 8);
    arf_set_round(share, share, 6, ARF_RND_DOWN);
    arf_get_fmpq(q, share);
    scaled_set(&left, d);
    int known = fmpq_sgn(q) > 0 && add_level(g, &left, i, q) && scaled_bounds(out->rest, g, &left);
    fmpq_sub(&out->exponent[i - 2], &out->exponent[i - 2], q);
    return known && mpfr_number_p(&out->rest->right);
}

/* [4.7] large = w level[i]^p + q level[i+1], w < 0 < p < 1, of d = b + ln t + ... + level[i] = large + low: the integral of exp(w
 * y^p) y^q dy, y = level[i], is finite. */
static int stretches(struct growth *out, struct scale *g, const struct scaled *all, const struct scaled *low, int i)
{
    LOCAL_SCALED(g, large);
    LOCAL_MONOMIAL(level);
    LOCAL_MONOMIAL(power);
    LOCAL(fmpq, q);
    scaled_set(&large, all);
    monomial_level(&level, i);
    if (!large.count || large.rough || fmpq_sgn(&large.of[0].a[i]) <= 0 || fmpq_cmp_si(&large.of[0].a[i], 1) >= 0)
        return 0;
    fmpq_set(out->power, &large.of[0].a[i]);
    monomial_multiply(&power, &level, out->power);
    evaluate_constant(out->weight, g->p, large.coefficient[0], g->prec);
    if (monomial_compare(&power, &large.of[0]) != 0 || !arb_is_negative(out->weight))
        return 0;
    scaled_shift(&large);
    if (large.count && leading_level(q, g, &large) == i + 1) {
        fmpq_set(&out->exponent[i - 1], q);
        scaled_shift(&large);
    }
    if (large.count || !scaled_bounds(out->rest, g, low) || !mpfr_number_p(&out->rest->right))
        return 0;
    out->stretched = i - 1;
    return 1;
}

/* [4.7] Compares b with -ln t, -ln t - ln ln t, ...: what is left tends to -infinity at least as a multiple of the last of these,
 * or is bounded below. */
static int decide(struct growth *out, struct scale *g, const struct scaled *b)
{
    LOCAL_SCALED(g, d);
    LOCAL_MONOMIAL(m);
    LOCAL_MONOMIAL(level);
    LOCAL_INTERVAL(g->prec, c);
    LOCAL(fmpq, one);
    fmpq_one(one);
    scaled_set(&d, b);
    for (int i = 2; i < SCALE_LEVELS; i++) {
        fmpq_set_si(&out->exponent[i - 2], -1, 1);
        LOCAL_SCALED(g, large);
        LOCAL_SCALED(g, low);
        if (i > g->levels + 1 || !add_level(g, &d, i, one) || !scaled_large(&large, &low, g, &d))
            return 0;
        if (stretches(out, g, &large, &low, i)) {
            out->verdict = -1;
            return 1;
        }
        if (!scaled_collapse(c, &m, g, &large))
            return 0;
        int bounded = !large.count && !large.rough;
        if (!d.masked && (bounded || mpfr_sgn(&c->left) >= 0)) {
            out->verdict = 1;
            return scaled_bounds(out->rest, g, &d) && mpfr_number_p(&out->rest->left);
        }
        if (bounded || mpfr_sgn(&c->right) >= 0)
            return 0;
        monomial_level(&level, i);
        if (monomial_compare(&m, &level) >= 0) {
            out->verdict = -1;
            return converges(out, g, &d, i, c);
        }
    }
    return 0;
}

/* Whether node n is a number or -inf at every t >= X. */
static int is_number(struct expression_pool *p, int n, const fmpz_t X)
{
    struct scale g;
    if (scale_init(&g, p, n, X, NULL))
        return 0;
    LOCAL_SCALED(&g, u);
    int known = scaled_of(&u, &g, n);
    scale_clear(&g);
    return known;
}

struct growth *growth_new(struct expression_pool *p, int root, const fmpz_t from, const struct arc *arc)
{
    struct scale g;
    struct growth *result = fmpz_sgn(from) > 0 ? calloc(1, sizeof *result) : NULL;
    if (!result || scale_init(&g, p, root, from, arc)) {
        free(result);
        return NULL;
    }
    LOCAL_SCALED(&g, b);
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_init(&result->exponent[k]);
    arb_init(result->weight);
    fmpq_init(result->power);
    mpfi_init2(result->rest, g.prec);
    fmpz_init_set(result->from, from);
    if (!scaled_of(&b, &g, root) || !decide(result, &g, &b) || p->failed || (arc && !is_number(p, root, from))) {
        growth_free(result);
        result = NULL;
    }
    if (result && b.masked) /* f may be 0 where the sum says nothing of it */
        mpfr_set_inf(&result->rest->left, -1);
    scale_clear(&g);
    return result;
}

/* [4.9] If k slope is, modulo 2 pi, some d > 0 or some -d that is at most the arc's width, every k-th distance moves on by d, and
 * meets the arc within 2 pi / d + 1 of them. */
int arc_returns(fmpz_t within, const struct expression_pool *p, const struct arc *arc)
{
    LOCAL(arb, turn, step, width, n, slope);
    LOCAL(fmpz, nearest);
    evaluate_constant(slope, p, arc->slope, 128);
    arb_const_pi(turn, 128);
    arb_mul_2exp_si(turn, turn, 1);
    interval_get_upper(width, arc->angle, 128);
    interval_get_lower(n, arc->angle, 128);
    arb_sub(width, width, n, 128);
    for (ulong k = 1; k <= ARC_MAX; k++) {
        arb_mul_ui(step, slope, k, 128);
        arb_div(n, step, turn, 128);
        if (!arb_is_finite(n) || arf_cmpabs_2exp_si(arb_midref(n), 60) > 0)
            return 0;
        arf_get_fmpz(nearest, arb_midref(n), ARF_RND_NEAR);
        arb_mul_fmpz(n, turn, nearest, 128);
        arb_sub(step, step, n, 128);
        arb_abs(step, step);
        if (arb_is_positive(step) && arb_lt(step, width)) {
            arb_div(n, turn, step, 128);
            arb_get_ubound_arf(arb_midref(n), n, 128);
            arf_get_fmpz(within, arb_midref(n), ARF_RND_CEIL);
            fmpz_add_ui(within, within, 1);
            fmpz_mul_ui(within, within, k);
            return 1;
        }
    }
    return 0;
}

void growth_free(struct growth *g)
{
    if (!g)
        return;
    for (int k = 0; k < GROWTH_LEVELS; k++)
        fmpq_clear(&g->exponent[k]);
    arb_clear(g->weight);
    fmpq_clear(g->power);
    mpfi_clear(g->rest);
    fmpz_clear(g->from);
    free(g);
}
