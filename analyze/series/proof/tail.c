/* Bounds of tails. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/summand.h"

enum { FAR_BITS = 40000 /* tails beyond 2^this follow from the one at 2^this */ };

/* [4.4, 5.6] The tail from `from` on, from the range of b on [X, inf); carried on where `from` is farther than X. */
static void power_tail(arb_t out, const struct range *b, const arb_t X, const arb_t from, slong prec)
{
    LOCAL(arb, least, greatest, value, lower, upper, ratio);
    arb_indeterminate(out);
    interval_get_upper(least, b->rate, prec);
    arb_neg(least, least);
    arb_sub_ui(least, least, 1, prec); /* s - 1 */
    if (!b->defined || !arb_is_positive(least) || mpfr_inf_p(&b->start->right))
        return;
    arb_div(ratio, from, X, prec);
    arb_log(ratio, ratio, prec);
    /* upper: f(from) <= f(X) (from/X)^-s, and sum <= f(from) (1 + from / (s - 1)) */
    interval_get_upper(value, b->start, prec);
    arb_submul(value, ratio, least, prec);
    arb_sub(value, value, ratio, prec);
    arb_exp(value, value, prec);
    arb_div(upper, from, least, prec);
    arb_add_ui(upper, upper, 1, prec);
    arb_mul(upper, upper, value, prec);
    if (!b->masked && mpfr_number_p(&b->start->left)) {
        int finite = mpfr_number_p(&b->rate->left);
        interval_get_lower(value, b->start, prec);
        if (finite) {
            interval_get_lower(greatest, b->rate, prec);
            arb_addmul(value, ratio, greatest, prec);
        }
        arb_exp(value, value, prec);
        if (finite) { /* sum >= from f(from) / (s - 1) */
            arb_neg(greatest, greatest);
            arb_sub_ui(greatest, greatest, 1, prec);
            arb_div(lower, from, greatest, prec);
            arb_mul(lower, lower, value, prec);
        } else if (arb_equal(from, X)) { /* the first term */
            arb_set(lower, value);
        }
    }
    arb_union(out, lower, upper, prec);
}

/* [4.3] */
static void geometric_tail(arb_t out, const struct series_summand *f, int root, const arb_t from, slong prec)
{
    LOCAL(arb, shift, slope);
    evaluate_affine(shift, slope, f->pool, root, prec);
    arb_addmul(shift, slope, from, prec);
    arb_exp(out, shift, prec);
    arb_expm1(slope, slope, prec);
    arb_neg(slope, slope);
    arb_div(out, out, slope, prec);
}

/* [5.6] Integral plus at most the first term, for a falling f with a known antiderivative. 1, or 0 if that does not apply. */
static int falling_tail(arb_t out, const struct series_summand *f, int root, const arb_t from, slong prec)
{
    int vanishes = 0;
    LOCAL(arb, first, start);
    arb_set_fmpz(start, f->decreasing_from);
    if (!f->decreasing || !arb_ge(from, start) || !antiderivative(out, &vanishes, f->pool, root, from, prec) || !vanishes ||
        !arb_is_finite(out))
        return 0;
    struct evaluator *v = evaluator_new(f->pool, root, prec);
    int known = v && evaluator_point(first, v, from) == 0;
    arb_mul_2exp_si(first, first, -1);
    arb_add(out, out, first, prec);
    arb_add_error(out, first);
    evaluator_free(v);
    return known;
}

/* [4.2] */
void tail_sum(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    LOCAL(fmpz, X);
    LOCAL(arb, start);
    arb_indeterminate(out);
    arb_set_fmpz(start, last->first);
    if (!arb_ge(from, start))
        return;
    switch (f->tail) {
    case TAIL_NONE: return;
    case TAIL_ZERO: arb_zero(out); return; /* [4.2] */
    case TAIL_GEOMETRIC: geometric_tail(out, f, last->root, from, prec); return;
    case TAIL_STEPS: steps_tail(out, f, from, prec); return;
    case TAIL_BUCKETS: buckets_tail(out, f, from, prec); return;
    case TAIL_POWER:
    case TAIL_GROWTH: break;
    }
    if (last->kind == PIECE_SMOOTH && falling_tail(out, f, last->root, from, prec))
        return;
    if (f->tail == TAIL_GROWTH) {
        residues_tail(out, f, from, prec);
        return;
    }
    struct range b;
    arb_indeterminate(out);
    if (!arb_is_exact(from) || arf_cmpabs_2exp_si(arb_midref(from), FAR_BITS) > 0 || !arb_get_unique_fmpz(X, from)) {
        fmpz_one_2exp(X, FAR_BITS);
        if (fmpz_cmp(X, f->tail_from) < 0)
            fmpz_set(X, f->tail_from);
    }
    arb_set_fmpz(start, X);
    if (arb_ge(from, start) && range_compute(&b, f->pool, last->root, X, NULL, prec + 32) == 0) {
        power_tail(out, &b, start, from, prec);
        range_clear(&b);
    }
}
