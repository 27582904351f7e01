/* Sums on Bertrand's scale. */
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/summand.h"

#include <string.h>

/* out: ln of the growth at `from`, level[i] being i logarithms of it. */
static void growth_at(arb_t out, const struct growth *g, arb_srcptr level, slong prec)
{
    LOCAL(arb, q);
    arb_zero(out);
    for (int i = 0; i < GROWTH_LEVELS; i++) {
        if (fmpq_is_zero(&g->exponent[i]))
            continue;
        arb_set_fmpq(q, &g->exponent[i], prec);
        arb_addmul(out, q, level + i + 1, prec);
    }
    if (!g->stretched)
        return;
    arb_set_fmpq(q, g->power, prec);
    arb_mul(q, q, level + g->stretched + 1, prec);
    arb_exp(q, q, prec);
    arb_addmul(out, q, g->weight, prec);
}

/* The first whose exponent is not -1, or GROWTH_LEVELS. */
static int deciding_level(const struct growth *g)
{
    int k = 0;
    while (k < GROWTH_LEVELS && fmpq_cmp_si(&g->exponent[k], -1) == 0)
        k++;
    return k;
}

/* [4.8] 1 if the growth falls from there on: its rate is at most a0 + a1 / ln t + a2 / (ln t ln ln t) + ... without the later
 * terms that are negative, and this falls. */
static int growth_falls(const struct growth *g, arb_srcptr level, slong prec)
{
    int positive = 1;
    LOCAL(arb, rate, product, q);
    arb_set_fmpq(rate, &g->exponent[0], prec);
    arb_one(product);
    for (int i = 1; i < GROWTH_LEVELS; i++) {
        arb_mul(product, product, level + i, prec);
        if (fmpq_is_zero(&g->exponent[i]) && i > g->stretched)
            continue;
        positive &= arb_is_positive(level + i);
        arb_set_fmpq(q, &g->exponent[i], prec);
        arb_div(q, q, product, prec);
        if (fmpq_sgn(&g->exponent[i]) > 0)
            arb_add(rate, rate, q, prec);
    }
    return positive && arb_is_negative(rate);
}

/* [4.8] y^a exp(w y^p) dy from y = level[k] on, or y^a (ln y)^b dy = exp((a + 1) x) x^b dx, x = ln y, if there is no more. */
static int known_integral(arb_t out, const struct growth *g, arb_srcptr level, slong prec)
{
    int k = g->stretched;
    LOCAL(arb, a, weight, power);
    if (!growth_falls(g, level, prec))
        return 0;
    arb_set_fmpq(power, g->power, prec);
    arb_set(weight, g->weight);
    if (!k) {
        k = deciding_level(g) + 1;
        for (int i = k + 1; i < GROWTH_LEVELS; i++)
            if (!fmpq_is_zero(&g->exponent[i]))
                return 0;
        arb_set_fmpq(weight, &g->exponent[k - 1], prec);
        arb_add_ui(weight, weight, 1, prec);
        arb_one(power);
    }
    if (k < GROWTH_LEVELS)
        arb_set_fmpq(a, &g->exponent[k], prec);
    return arb_is_positive(level + k) && integrate_power(out, a, weight, power, level + k, prec);
}

/* [4.8] y^a ... dy from y = level[k] on, k the first whose exponent is not -1. Its elasticity lies between -greatest and -least
 * from there on, so the integral is between y^(1+a) ... over (greatest - 1) and over (least - 1); both are kept less 1. */
static int power_integral(arb_t out, const struct growth *g, arb_srcptr level, slong prec)
{
    int k = deciding_level(g);
    LOCAL(fmpq, first); /* the deciding exponent plus 1, which may be very small */
    LOCAL(arb, q, weight, least, greatest, product, other);
    arb_one(weight); /* 1 / (level[k+1] ... level[i]) */
    for (int i = k; i < GROWTH_LEVELS; i++) {
        if (i > k)
            arb_div(weight, weight, level + i, prec);
        if (fmpq_is_zero(&g->exponent[i]))
            continue;
        fmpq_add_si(first, &g->exponent[i], i == k);
        arb_set_fmpq(q, first, prec);
        arb_addmul(product, level + i + 1, q, prec);
        arb_neg(q, q);
        arb_mul(q, q, weight, prec);
        if (i == k || arb_is_negative(q))
            arb_add(least, least, q, prec);
        if (i == k || !arb_is_negative(q))
            arb_add(greatest, greatest, q, prec);
    }
    if (!arb_is_positive(least) || !arb_is_positive(level + k))
        return 0;
    arb_exp(product, product, prec);
    arb_div(out, product, greatest, prec);
    arb_div(other, product, least, prec);
    arb_union(out, out, other, prec);
    return 1;
}

/* [4.8] */
void growth_tail(arb_t out, const struct growth *g, const arb_t from, slong prec)
{
    arb_ptr level = _arb_vec_init(GROWTH_LEVELS + 1);
    LOCAL(arb, integral, term, other);
    arb_indeterminate(out);
    arb_set(level, from);
    for (int i = 1; i <= GROWTH_LEVELS; i++)
        arb_log(level + i, level + i - 1, prec);
    if (known_integral(integral, g, level, prec) ||
        (!g->stretched && power_integral(integral, g, level, prec))) { /* to it comes at most the first term */
        growth_at(term, g, level, prec);
        arb_exp(term, term, prec);
        arb_add(other, integral, term, prec);
        arb_union(integral, integral, other, prec);
        interval_get_upper(other, g->rest, prec);
        arb_exp(other, other, prec);
        arb_mul(out, integral, other, prec);
        interval_get_lower(other, g->rest, prec); /* exp(-inf) is 0 */
        arb_exp(other, other, prec);
        arb_mul(other, integral, other, prec);
        arb_union(out, out, other, prec);
    }
    _arb_vec_clear(level, GROWTH_LEVELS + 1);
}

void growth_text(char *text, size_t size, const struct growth *g)
{
    static const char *const level[GROWTH_LEVELS] = {"t", "ln t", "ln ln t", "ln ln ln t", "ln ln ln ln t"};
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < GROWTH_LEVELS && used < size; k++) {
        if (fmpq_is_zero(&g->exponent[k]))
            continue;
        char *q = fmpq_get_str(NULL, 10, &g->exponent[k]);
        int bare = k == 0, fraction = strchr(q, '/') != NULL;
        int n = snprintf(text + used, size - used, "%s%s%s%s^%s%s%s", used ? " " : "", bare ? "" : "(", level[k], bare ? "" : ")",
                         fraction ? "(" : "", q, fraction ? ")" : "");
        used += n > 0 ? (size_t)n : 0;
        flint_free(q);
    }
    if (g->stretched && used < size) {
        char *p = fmpq_get_str(NULL, 10, g->power);
        snprintf(text + used, size - used, " exp(%.12g (%s)^(%s))", arf_get_d(arb_midref(g->weight), ARF_RND_NEAR),
                 level[g->stretched], p);
        flint_free(p);
    }
    if (used == 0)
        snprintf(text, size, "1");
}
