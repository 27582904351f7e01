/* Sums on Bertrand's scale. */
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/proof.h"

#include <string.h>

/* out: the logarithm of the bound with these exponents, level[i] being i logarithms of `from`. */
static void growth_at(arb_t out, const struct growth *g, const fmpq *exponent, arb_srcptr level,
                      slong prec)
{
    LOCAL(arb, q);
    arb_zero(out);
    for (int i = 0; i < GROWTH_LEVELS; i++) {
        if (fmpq_is_zero(&exponent[i]))
            continue;
        arb_set_fmpq(q, &exponent[i], prec);
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
static int deciding_level(const fmpq *exponent)
{
    int k = 0;
    while (k < GROWTH_LEVELS && fmpq_cmp_si(&exponent[k], -1) == 0)
        k++;
    return k;
}

/* [4.8] 1 if the growth falls from there on: its rate is at most a0 + a1 / ln t + a2 / (ln t ln ln
 * t) + ... without the later terms that are negative, and this falls. */
static int growth_falls(const struct growth *g, const fmpq *exponent, arb_srcptr level, slong prec)
{
    int positive = 1;
    LOCAL(arb, rate, product, q);
    arb_set_fmpq(rate, &exponent[0], prec);
    arb_one(product);
    for (int i = 1; i < GROWTH_LEVELS; i++) {
        arb_mul(product, product, level + i, prec);
        if (fmpq_is_zero(&exponent[i]) && i > g->stretched)
            continue;
        positive &= arb_is_positive(level + i);
        arb_set_fmpq(q, &exponent[i], prec);
        arb_div(q, q, product, prec);
        if (fmpq_sgn(&exponent[i]) > 0)
            arb_add(rate, rate, q, prec);
    }
    return positive && arb_is_negative(rate);
}

/* [4.8] y^a exp(w y^p) dy from y = level[k] on, or y^a (ln y)^b dy, exp((a + 1) x) x^b dx. */
static int known_integral(arb_t out, const struct growth *g, const fmpq *exponent, arb_srcptr level,
                          slong prec)
{
    int k = g->stretched;
    LOCAL(arb, s, weight, power);
    LOCAL(fmpq, exact, p);
    if (!growth_falls(g, exponent, level, prec))
        return 0;
    arb_set_fmpq(power, g->power, prec);
    arb_set(weight, g->weight);
    fmpq_one(exact);
    fmpq_set(p, k ? g->power : exact);
    if (!k) {
        k = deciding_level(exponent) + 1;
        for (int i = k + 1; i < GROWTH_LEVELS; i++)
            if (!fmpq_is_zero(&exponent[i]))
                return 0;
        arb_set_fmpq(weight, &exponent[k - 1], prec);
        arb_add_ui(weight, weight, 1, prec);
        arb_one(power);
    }
    if (k < GROWTH_LEVELS)
        fmpq_add(exact, exact, &exponent[k]);
    fmpq_div(exact, exact, p);
    arb_set_fmpq(s, exact, prec);
    return arb_is_positive(level + k) &&
           integrate_power(out, s, weight, power, level + k, prec, g->p->budget);
}

/* [4.8] y^a ... dy from y = level[k] on, k the first whose exponent is not -1. Its elasticity lies
 * between -greatest and -least from there on, so the integral is between y^(1+a) ... over (greatest
 * - 1) and over (least - 1); both are kept less 1. */
static int power_integral(arb_t out, const fmpq *exponent, arb_srcptr level, slong prec)
{
    int k = deciding_level(exponent);
    LOCAL(fmpq, first); /* the deciding exponent plus 1, which may be very small */
    LOCAL(arb, q, weight, least, greatest, product, other);
    arb_one(weight); /* 1 / (level[k+1] ... level[i]) */
    for (int i = k; i < GROWTH_LEVELS; i++) {
        if (i > k)
            arb_div(weight, weight, level + i, prec);
        if (fmpq_is_zero(&exponent[i]))
            continue;
        fmpq_add_si(first, &exponent[i], i == k);
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

/* [4.8] The integral of the bound from one side without its remainder, and with its first term. */
static int integral_of(arb_t out, arb_t with_first, const struct growth *g, int side,
                       arb_srcptr level, slong prec)
{
    const fmpq *exponent = g->exponent[side];
    if (!known_integral(out, g, exponent, level, prec) &&
        (g->stretched || !power_integral(out, exponent, level, prec)))
        return 0;
    growth_at(with_first, g, exponent, level, prec);
    arb_exp(with_first, with_first, prec);
    arb_add(with_first, with_first, out, prec);
    return 1;
}

/* Elementary functions in a tail, about. */
static const double TAIL_WORK = 20;

/* [4.8] */
void growth_tail(arb_t out, const struct growth *g, const arb_t from, slong prec)
{
    arb_ptr level = _arb_vec_init(GROWTH_LEVELS + 1);
    LOCAL(arb, least, greatest, other);
    g->p->budget->done += TAIL_WORK * work_elementary(prec);
    arb_indeterminate(out);
    arb_set(level, from);
    for (int i = 1; i <= GROWTH_LEVELS; i++)
        arb_log(level + i, level + i - 1, prec);
    if (integral_of(least, greatest, g, ABOVE, level,
                    prec)) { /* to it comes at most the first term */
        if (g->apart && !integral_of(least, other, g, BELOW, level, prec))
            arb_zero(least);
        interval_get_upper(other, g->remainder, prec);
        arb_exp(other, other, prec);
        arb_mul(greatest, greatest, other, prec);
        interval_get_lower(other, g->remainder, prec); /* exp(-inf) is 0 */
        arb_exp(other, other, prec);
        arb_mul(least, least, other, prec);
        arb_union(out, least, greatest, prec);
    }
    _arb_vec_clear(level, GROWTH_LEVELS + 1);
}

void growth_text(char *text, size_t size, const struct growth *g)
{
    static const char *const level[GROWTH_LEVELS] = {"t", "ln t", "ln ln t", "ln ln ln t",
                                                     "ln ln ln ln t"};
    const fmpq *exponent = g->exponent[g->verdict < 0 ? ABOVE : BELOW];
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < GROWTH_LEVELS && used < size; k++) {
        if (fmpq_is_zero(&exponent[k]))
            continue;
        char *q = fmpq_get_str(NULL, 10, &exponent[k]), decimal[64];
        if (g->apart && fmpz_bits(fmpq_denref(&exponent[k])) >
                            30) { /* a bound from above; what it is the power of is at least 1 */
            LOCAL_INTERVAL(64, x);
            interval_set_fmpq(x, &exponent[k]);
            snprintf(q, strlen(q) + 1, "%s", bound_text(decimal, &x->right, 12, 1));
        }
        int bare = k == 0, fraction = strchr(q, '/') != NULL;
        int n = snprintf(text + used, size - used, "%s%s%s%s^%s%s%s", used ? " " : "",
                         bare ? "" : "(", level[k], bare ? "" : ")", fraction ? "(" : "", q,
                         fraction ? ")" : "");
        used += n > 0 ? (size_t)n : 0;
        flint_free(q);
    }
    if (g->stretched && used < size) {
        char *p = fmpq_get_str(NULL, 10, g->power);
        snprintf(text + used, size - used, " exp(%.12g (%s)^(%s))",
                 arf_get_d(arb_midref(g->weight), ARF_RND_NEAR), level[g->stretched], p);
        flint_free(p);
    }
    if (used == 0)
        snprintf(text, size, "1");
}
