/* Bounds of tails. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/proof.h"

enum {
    CLOSE = 24, /* bits of a tail by its rate that are enough */
    NODES_MAX = 500 /* a growth of more takes too long for every question */
};

/* start (y/Y)^-s (halves / 2 + y / (s - 1)), of s - 1. */
static void power_sum(arb_t out, const arb_t start, const arb_t Y, const arb_t y, const arb_t less,
                      ulong halves, slong prec)
{
    LOCAL(arb, ratio, s);
    arb_div(ratio, y, Y, prec);
    arb_log(ratio, ratio, prec);
    arb_add_ui(s, less, 1, prec);
    arb_mul(ratio, ratio, s, prec);
    arb_neg(ratio, ratio);
    arb_exp(ratio, ratio, prec);
    arb_div(out, y, less, prec);
    arb_set_ui(s, halves);
    arb_mul_2exp_si(s, s, -1);
    arb_add(out, out, s, prec);
    arb_mul(out, out, ratio, prec);
    arb_mul(out, out, start, prec);
}

/* [4.4, 5.6] Bounds of the sum over t >= from >= X, from the range of b on [X, inf). Indeterminate
 * where that does not decide. What is above falls: its sum is at most its first term and its
 * integral; and it is convex: at most the integral from a half before on, at least half of that. */
static void rate_tail(arb_t out, const struct range *b, const arb_t X, const arb_t from, slong prec)
{
    LOCAL(arb, least, greatest, less, y);
    LOCAL(arb, lower, upper, other);
    arb_indeterminate(out);
    if (!b->defined)
        return;
    interval_get_upper(greatest, b->start, prec);
    arb_exp(greatest, greatest, prec);
    if (!b->masked) {
        interval_get_lower(least, b->start, prec); /* exp(-inf) is 0 */
        arb_exp(least, least, prec);
    }
    interval_get_upper(less, b->rate, prec);
    arb_neg(less, less);
    arb_sub_ui(less, less, 1, prec); /* s - 1 */
    if (!arb_is_positive(less) || !arb_is_finite(greatest))
        return;
    power_sum(upper, greatest, X, from, less, 2, prec);
    arb_set_d(y, 0.5);
    arb_sub(y, from, y, prec);
    power_sum(other, greatest, X, y, less, 0, prec);
    if (arb_is_positive(y) && arb_is_finite(other))
        arb_min(upper, upper, other, prec);
    if (mpfr_number_p(&b->rate->left)) {
        interval_get_lower(less, b->rate, prec);
        arb_neg(less, less);
        arb_sub_ui(less, less, 1, prec);
        power_sum(lower, least, X, from, less, 1, prec);
    } else if (arb_equal(from, X)) { /* the first term */
        arb_set(lower, least);
    }
    arb_union(out, lower, upper, prec);
}

/* [4.3] */
static void geometric_tail(arb_t out, const struct proof *f, int root, const arb_t from, slong prec)
{
    LOCAL(arb, shift, slope);
    if (arf_cmpabs_2exp_si(arb_midref(from), 0) > 0 &&
        arf_cmpabs_2exp_si(arb_midref(from), TAIL_FAR_BITS) < 0)
        prec += arf_abs_bound_lt_2exp_si(
            arb_midref(from)); /* the slope times it is less the constant */
    f->problem->pool->budget->done += 3 * work_elementary(prec);
    evaluate_affine(shift, slope, f->problem->pool, root, prec);
    arb_addmul(shift, slope, from, prec);
    arb_exp(out, shift, prec);
    arb_expm1(slope, slope, prec);
    arb_neg(slope, slope);
    arb_div(out, out, slope, prec);
}

/* [5.6] Integral plus at most the first term, for a summand that falls from `from` on and has a
 * known antiderivative. 1, or 0 if that does not apply. */
static int falling_tail(arb_t out, const struct expression_pool *p, int root, const arb_t from,
                        slong prec)
{
    int vanishes = 0;
    LOCAL(arb, first);
    if (!antiderivative(out, &vanishes, p, root, from, prec) || !vanishes || !arb_is_finite(out))
        return 0;
    struct evaluator *v = evaluator_new(p, root, prec, NULL);
    int known = v && evaluator_point(first, v, from) == 0;
    arb_mul_2exp_si(first, first, -1);
    arb_add(out, out, first, prec);
    arb_add_error(out, first);
    evaluator_free(v);
    return known;
}

/* [5.6] By the rate from X <= `from` on, or the growth, where that says more. */
static void closer_tail(arb_t out, struct expression_pool *p, int root, const fmpz_t X,
                        const arb_t from, slong prec)
{
    struct range b;
    LOCAL(arb, start, tail);
    arb_indeterminate(out);
    ball_set_fmpz(start, X);
    if (range_compute(&b, p, root, X, NULL, prec + 32) == 0) {
        rate_tail(out, &b, start, from, prec);
        range_clear(&b);
    }
    if (arb_rel_accuracy_bits(out) >= CLOSE || root > NODES_MAX)
        return;
    struct growth *g = growth_new(p, root, X);
    arb_indeterminate(tail);
    if (g && g->verdict < 0)
        growth_tail(tail, g, from, prec);
    growth_free(g);
    ball_narrow(out, tail);
}

/* [4.2] */
void tail_sum(arb_t out, const struct proof *f, const arb_t from, slong prec)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    const fmpz *X; /* not copied: it may have millions of bits */
    LOCAL(fmpz, near);
    arb_indeterminate(out);
    if (!ball_reaches(from, last->first))
        return;
    switch (f->tail) {
    case TAIL_UNKNOWN: return;
    case TAIL_ZERO: arb_zero(out); return; /* [4.2] */
    case TAIL_GEOMETRIC: geometric_tail(out, f, last->root, from, prec); return;
    case TAIL_POWER:
    case TAIL_GROWTH: break;
    }
    if (last->kind == PIECE_SMOOTH && f->decreasing && ball_reaches(from, f->decreasing_from) &&
        falling_tail(out, f->problem->pool, last->root, from, prec))
        return;
    X = near;
    if (!arb_is_exact(from) || arf_cmpabs_2exp_si(arb_midref(from), TAIL_FAR_BITS) > 0 ||
        !arb_get_unique_fmpz(near, from)) {
        fmpz_one_2exp(near, TAIL_FAR_BITS);
        X = fmpz_cmp(near, f->tail_from) < 0 ? f->tail_from : near;
    }
    arb_indeterminate(out);
    if (f->tail == TAIL_GROWTH)
        residues_tail(out, f, from, prec);
    else if (ball_reaches(from, X))
        closer_tail(out, f->problem->pool, last->root, X, from, prec);
}
