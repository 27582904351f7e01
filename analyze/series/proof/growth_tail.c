/* Sums on Bertrand's scale. */
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/rounding.h"

#include <string.h>

/* The first level whose exponent is not -1, or GROWTH_LEVELS. */
static int deciding_level(const struct growth *g)
{
    int k = 0;
    while (k < GROWTH_LEVELS && fmpq_cmp_si(&g->exponent[k], -1) == 0)
        k++;
    return k;
}

/* [4.8] */
void growth_tail(arb_t out, const struct growth *g, const arb_t from, slong prec)
{
    int k = deciding_level(g);
    arb_ptr level = _arb_vec_init(GROWTH_LEVELS + 1);
    LOCAL(fmpq, first); /* the deciding exponent plus 1, which may be very small */
    LOCAL(arb, term, integral, q, weight, least, greatest, product, other);
    arb_set(level, from);
    for (int i = 1; i <= GROWTH_LEVELS; i++)
        arb_log(level + i, level + i - 1, prec);
    /* y = level[k]: the integral over t of the growth is that over y of y^a ..., whose elasticity lies between -greatest and
     * -least from here on; it is therefore between y^(1+a) ... / (greatest - 1) and the same over (least - 1); `least` and
     * `greatest` are kept less 1 */
    arb_one(weight); /* 1 / (level[k+1] ... level[i]) */
    arb_one(product); /* the growth over t level[1] ... level[k-1], without those factors, times y */
    for (int i = 0; i < GROWTH_LEVELS; i++) {
        if (i > k)
            arb_div(weight, weight, level + i, prec);
        if (fmpq_is_zero(&g->exponent[i]))
            continue;
        arb_set_fmpq(q, &g->exponent[i], prec);
        arb_addmul(term, q, level + i + 1, prec); /* ln of the growth at `from` */
        if (i < k)
            continue;
        if (i == k) { /* times y */
            fmpq_add_si(first, &g->exponent[i], 1);
            arb_set_fmpq(q, first, prec);
        }
        arb_mul(other, level + i + 1, q, prec);
        arb_exp(other, other, prec);
        arb_mul(product, product, other, prec);
        arb_neg(q, q);
        arb_mul(q, q, weight, prec);
        if (i == k || arb_is_negative(q))
            arb_add(least, least, q, prec);
        if (i == k || !arb_is_negative(q))
            arb_add(greatest, greatest, q, prec);
    }
    arb_exp(term, term, prec);
    if (arb_is_positive(least) && arb_is_positive(level + k)) {
        arb_div(integral, product, greatest, prec);
        arb_div(other, product, least, prec);
        arb_add(other, other, term, prec);
        arb_union(integral, integral, other, prec);
        interval_get_upper(other, g->rest, prec);
        arb_exp(other, other, prec);
        arb_mul(out, integral, other, prec);
        interval_get_lower(other, g->rest, prec); /* exp(-inf) is 0 */
        arb_exp(other, other, prec);
        arb_mul(other, integral, other, prec);
        arb_union(out, out, other, prec);
    } else {
        arb_indeterminate(out);
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
    if (used == 0)
        snprintf(text, size, "1");
}
