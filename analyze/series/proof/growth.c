/* Whether a sum converges, by the scale of logarithms. */
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"

#include <stdlib.h>

enum {
    EXPONENT_BITS = 64, /* of those that are not exact, which are below 2^this */
    EXPONENT_SMALL = 4096, /* and not below 2^-this */
    COARSE_BITS = 6 /* where f falls faster than any */
};

/* A larger exponent says no more. */
static const double EXPONENT_MAX = 0x1p60;

/* u += q level[i] */
static int add_level(struct scale *g, struct scaled *u, int i, const fmpq_t q)
{
    LOCAL_MONOMIAL(level);
    monomial_level(&level, i);
    return scaled_add_term(g, u, &level, expression_number(g->p, q));
}

/* The level that u's leading monomial is, or 0. */
static int leading_level(const struct scaled *u)
{
    LOCAL_MONOMIAL(level);
    for (int i = 2; i < SCALE_LEVELS && (u->count || u->rough); i++) {
        monomial_level(&level, i);
        if (monomial_compare(u->count ? &u->of[0] : &u->at, &level) == 0)
            return i;
    }
    return 0;
}

/* A rational number of `bits` bits, not above x (BELOW) or not below it (ABOVE). 1 or 0. */
static int near(fmpq_t q, const mpfr_t x, int side, int bits)
{
    LOCAL_REAL(bits, r);
    LOCAL(arf, exact);
    mpfr_set(r, x, side == BELOW ? MPFR_RNDD : MPFR_RNDU);
    if (!mpfr_number_p(r) ||
        (!mpfr_zero_p(r) && (mpfr_get_exp(r) > EXPONENT_BITS || mpfr_get_exp(r) < -EXPONENT_SMALL)))
        return 0;
    arf_set_mpfr(exact, r);
    arf_get_fmpq(q, exact);
    return 1;
}

static void add_exponent(struct growth *out, int level, int side, const fmpq_t q)
{
    fmpq_add(&out->exponent[side][level - 2], &out->exponent[side][level - 2], q);
}

/* 1 if a coefficient is a rational number that is not too large to be an exponent as it is. */
static int is_exact(const struct expression *x)
{
    return x->kind == X_NUMBER &&
           fmpz_bits(fmpq_numref(x->q)) < fmpz_bits(fmpq_denref(x->q)) + EXPONENT_BITS;
}

/* [4.7] Takes u's leading term, a multiple of a level, out of it and into the growth: as it is, or
 * with bounds of its coefficient. *below: there is one from below. 1 or 0. */
static int take_level(struct growth *out, int *below, const struct scale *g, struct scaled *u,
                      int level)
{
    LOCAL(fmpq, q);
    LOCAL(arb, x);
    LOCAL_INTERVAL(g->prec, c);
    int node = u->count ? u->coefficient[0] : -1;
    if (node >= 0 && is_exact(&g->p->node[node])) {
        for (int side = 0; side < SIDES; side++)
            add_exponent(out, level, side, g->p->node[node].q);
    } else if (level > g->levels) { /* it may be below 0 */
        return 0;
    } else {
        mpfi_set(c, u->remainder);
        if (node >= 0) {
            evaluate_constant(x, g->p, node, g->prec);
            interval_set_arb(c, x);
        }
        if (!near(q, &c->right, ABOVE, EXPONENT_BITS))
            return 0;
        out->apart = 1;
        add_exponent(out, level, ABOVE, q);
        *below &= near(q, &c->left, BELOW, EXPONENT_BITS);
        if (*below)
            add_exponent(out, level, BELOW, q);
    }
    if (node >= 0)
        scaled_shift(u);
    else
        u->rough = 0;
    return 1;
}

static void set_exponents(struct growth *out, int i)
{
    for (int k = 0; k < GROWTH_LEVELS; k++)
        for (int side = 0; side < SIDES; side++)
            fmpq_set_si(&out->exponent[side][k], k <= i - 2 ? -1 : 0, 1);
    out->apart = 0;
}

/* [4.7] d = b + ln t + ... + level[i] tends to -infinity, at least as c m, c < 0, m at least
 * level[i]: takes multiples of the levels off it until what is left is bounded, or bounded above.
 * Else c m is at most -q level[i], q being c m / level[i] at X. */
static int converges(struct growth *out, struct scale *g, const struct scaled *d, int i,
                     const mpfi_t c, const struct monomial *m)
{
    LOCAL_SCALED(g, left);
    LOCAL_MONOMIAL(own);
    LOCAL_INTERVAL(g->prec, most);
    LOCAL(fmpq, q);
    int level, taken = 0, below = 1;
    scaled_set(&left, d);
    while ((level = leading_level(&left)) >= i && (taken || level == i) &&
           take_level(out, &below, g, &left, level))
        taken = 1;
    if (taken && fmpq_cmp_si(&out->exponent[ABOVE][i - 2], -1) < 0 &&
        scaled_bounds(out->remainder, g, &left) && mpfr_number_p(&out->remainder->right)) {
        if (!below)
            mpfr_set_inf(&out->remainder->left, -1);
        return 1;
    }
    set_exponents(out, i);
    monomial_level(&own, i);
    fmpq_set_si(q, -1, 1);
    monomial_multiply(&own, m, q);
    mpfi_set_ui(most, 1);
    if (monomial_sign(&own) && !monomial_fades(most, g, &own))
        return 0;
    mpfr_div(&most->right, &c->right, &most->right, MPFR_RNDU);
    if (mpfr_cmp_d(&most->right, -EXPONENT_MAX) < 0)
        mpfr_set_d(&most->right, -EXPONENT_MAX, MPFR_RNDU);
    if (!near(q, &most->right, ABOVE, COARSE_BITS) || fmpq_sgn(q) >= 0)
        return 0;
    for (int side = 0; side < SIDES; side++)
        add_exponent(out, i, side, q);
    fmpq_neg(q, q);
    scaled_set(&left, d);
    return add_level(g, &left, i, q) && scaled_bounds(out->remainder, g, &left) &&
           mpfr_number_p(&out->remainder->right);
}

/* [4.7] large = w level[i]^p + q level[i+1], w < 0 < p < 1, of d = b + ln t + ... + level[i] =
 * large + low: the integral of exp(w y^p) y^q dy, y = level[i], is finite. */
static int stretches(struct growth *out, struct scale *g, const struct scaled *all,
                     const struct scaled *low, int i)
{
    LOCAL_SCALED(g, large);
    LOCAL_MONOMIAL(level, power);
    int below = 1;
    scaled_set(&large, all);
    monomial_level(&level, i);
    if (!large.count || large.rough || fmpq_sgn(&large.of[0].a[i]) <= 0 ||
        fmpq_cmp_si(&large.of[0].a[i], 1) >= 0)
        return 0;
    fmpq_set(out->power, &large.of[0].a[i]);
    monomial_multiply(&power, &level, out->power);
    evaluate_constant(out->weight, g->p, large.coefficient[0], g->prec);
    if (monomial_compare(&power, &large.of[0]) != 0 || !arb_is_negative(out->weight))
        return 0;
    scaled_shift(&large);
    if (large.count && leading_level(&large) == i + 1 && !take_level(out, &below, g, &large, i + 1))
        return 0;
    if (large.count || !scaled_bounds(out->remainder, g, low) ||
        !mpfr_number_p(&out->remainder->right))
        return 0;
    if (!below)
        mpfr_set_inf(&out->remainder->left, -1);
    out->stretched = i - 1;
    return 1;
}

/* [4.7] Compares b with -ln t, -ln t - ln ln t, ...: what is left tends to -infinity at least as a
 * multiple of the last of these, or is bounded below. */
static int decide(struct growth *out, struct scale *g, const struct scaled *b)
{
    LOCAL_SCALED(g, d);
    LOCAL_MONOMIAL(m, level);
    LOCAL_INTERVAL(g->prec, c);
    LOCAL(fmpq, one);
    fmpq_one(one);
    scaled_set(&d, b);
    for (int i = 2; i < SCALE_LEVELS; i++) {
        set_exponents(out, i);
        LOCAL_SCALED(g, large, low);
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
            return scaled_bounds(out->remainder, g, &d) && mpfr_number_p(&out->remainder->left);
        }
        if (bounded || mpfr_sgn(&c->right) >= 0)
            return 0;
        monomial_level(&level, i);
        if (monomial_compare(&m, &level) >= 0) {
            out->verdict = -1;
            return converges(out, g, &d, i, c, &m);
        }
    }
    return 0;
}

/* [4.7] 1 if the scale decides, 0 if not. */
static int growth_find(struct growth *result, struct expression_pool *p, int root)
{
    struct scale g;
    if (scale_init(&g, p, root, result->from))
        return 0;
    LOCAL_SCALED(&g, b);
    int known = scaled_of(&b, &g, root) && decide(result, &g, &b) && !p->failed;
    if (known && b.masked) /* f may be 0 where the sum says nothing of it */
        mpfr_set_inf(&result->remainder->left, -1);
    if (known && mpfr_cmp_d(&result->remainder->right, -EXPONENT_MAX) <
                     0) /* its exponential is as good as 0 */
        mpfr_set_d(&result->remainder->right, -EXPONENT_MAX, MPFR_RNDU);
    scale_clear(&g);
    return known;
}

struct growth *growth_new(struct expression_pool *p, int root, const fmpz_t from)
{
    struct growth *result = fmpz_sgn(from) > 0 ? calloc(1, sizeof *result) : NULL;
    if (!result)
        return NULL;
    for (int k = 0; k < GROWTH_LEVELS; k++)
        for (int side = 0; side < SIDES; side++)
            fmpq_init(&result->exponent[side][k]);
    result->p = p;
    arb_init(result->weight);
    fmpq_init(result->power);
    mpfi_init2(result->remainder, SCALE_PREC);
    fmpz_init_set(result->from, from);
    if (!growth_find(result, p, root)) {
        growth_free(result);
        result = NULL;
    }
    return result;
}

void growth_free(struct growth *g)
{
    if (!g)
        return;
    for (int k = 0; k < GROWTH_LEVELS; k++)
        for (int side = 0; side < SIDES; side++)
            fmpq_clear(&g->exponent[side][k]);
    arb_clear(g->weight);
    fmpq_clear(g->power);
    mpfi_clear(g->remainder);
    fmpz_clear(g->from);
    free(g);
}
