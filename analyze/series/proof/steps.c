/* Biases with a sum to t: what one distance more adds is an expression without that sum. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/summand.h"

/* [4.11] */
struct evaluator *summand_ratio(const struct series_summand *f, slong prec)
{
    int inverse = expression_power(f->pool, NODE_T_ITSELF, expression_ratio(f->pool, -1, 1));
    return evaluator_new(f->pool, expression_multiply(f->pool, f->step, inverse), prec + 32, NULL);
}

/* [4.11] */
int steps_range(mpfi_t out, const struct series_summand *f, const fmpz_t X)
{
    struct range x;
    struct scale g;
    int known = -1;
    LOCAL(fmpz, from);
    if (f->step < 0 || fmpz_cmp(X, f->step_from) < 0)
        return -1;
    fmpz_add_ui(from, X, 1);
    if (range_compute(&x, f->pool, f->step, from, NULL, 96) == 0) {
        if (x.defined && !x.masked) {
            mpfi_set(out, x.value);
            known = 0;
        }
        range_clear(&x);
    }
    if (scale_init(&g, f->pool, f->step, from, NULL) == 0) { /* where the terms cancel it sees more */
        LOCAL_SCALED(&g, u);
        LOCAL_INTERVAL(96, bounds);
        if (scaled_of(&u, &g, f->step) && !u.masked && scaled_bounds(bounds, &g, &u)) {
            if (known == 0)
                mpfi_intersect(out, out, bounds);
            else
                mpfi_set(out, bounds);
            known = 0;
        }
        scale_clear(&g);
    }
    return known;
}

/* f(2^k), kept: by ratios from where these begin. */
static const arb_struct *start_at(const struct series_summand *f, int k, slong prec)
{
    struct starts *s = f->starts;
    struct formula_error ignored;
    if (s->prec < prec) {
        evaluator_free(s->ratio);
        s->ratio = summand_ratio(f, prec);
        s->prec = prec;
        s->count = 0;
    }
    LOCAL(fmpz, t, end);
    LOCAL(arb, x);
    for (; s->ratio && s->count <= k; s->count++) {
        arb_ptr start = s->f + s->count;
        fmpz_one_2exp(end, (ulong)s->count);
        fmpz_one_2exp(t, s->count ? (ulong)s->count - 1 : 0);
        if (s->count == 0 || fmpz_cmp(t, f->step_from) < 0) {
            summand_term(start, f, f->root, end, prec, &ignored);
            continue;
        }
        arb_set(start, start - 1);
        for (int known = 1; fmpz_cmp(t, end) < 0 && known;) {
            fmpz_add_ui(t, t, 1);
            arb_set_fmpz(x, t);
            known = evaluator_point(x, s->ratio, x) == 0 && arb_is_finite(start);
            arb_mul(start, start, x, prec + 32);
            if (!known)
                arb_indeterminate(start);
        }
    }
    return s->f + k;
}

/* [4.11] With s between the two ends of -step: f(t) is at most f(N) ((t+1)/(N+1))^-s, and at least f(N) (t/N)^-s. */
void steps_tail(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    LOCAL(fmpz, N);
    LOCAL(arb, n);
    LOCAL_INTERVAL(128, step);
    int k = STARTS - 1;
    arb_indeterminate(out);
    if (arb_is_exact(from) && arf_cmpabs_2exp_si(arb_midref(from), k) < 0 && arb_get_unique_fmpz(N, from) && fmpz_sgn(N) > 0)
        k = (int)fmpz_bits(N) - 1;
    fmpz_one_2exp(N, (ulong)k);
    arb_set_fmpz(n, N);
    if (fmpz_cmp(N, f->tail_from) < 0 || !arb_ge(from, n) || steps_range(step, f, N))
        return;
    const arb_struct *start = start_at(f, k, prec);
    power_tail(out, start, start, step, 1, n, from, prec);
}

/* [4.11] b(t) - b(N) is -s (1/(N+1) + ... + 1/t), which is between ln((t+1)/(N+1)) and ln(t/N). */
void steps_term(arb_t out, const struct series_summand *f, const fmpz_t t, slong prec)
{
    LOCAL(fmpz, N);
    LOCAL(arb, x, n, y);
    LOCAL_INTERVAL(128, step);
    arb_indeterminate(out);
    fmpz_one_2exp(N, STARTS - 1);
    if (fmpz_cmp(t, N) < 0 || steps_range(step, f, N))
        return;
    arb_set_fmpz(x, t);
    arb_set_fmpz(n, N);
    arb_div(y, x, n, prec);
    arb_add_ui(x, x, 1, prec);
    arb_add_ui(n, n, 1, prec);
    arb_div(x, x, n, prec);
    arb_union(x, x, y, prec);
    arb_log(x, x, prec);
    arb_set_interval_mpfr(y, &step->left, &step->right, prec);
    arb_mul(x, x, y, prec);
    arb_exp(x, x, prec);
    arb_mul(out, x, start_at(f, STARTS - 1, prec), prec);
}
