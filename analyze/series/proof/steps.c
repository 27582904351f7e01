/* Biases with a sum to t: what one distance more adds is an expression without that sum. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/summand.h"

enum { TERMS_MAX = 1024 /* f is computed up to here; beyond it follows */ };

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

/* [4.11] With s between the two ends of -step: f(t) is at most f(N) ((t+1)/(N+1))^-s, and at least f(N) (t/N)^-s. */
void steps_tail(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    LOCAL(fmpz, N);
    LOCAL(arb, start, n);
    LOCAL_INTERVAL(128, step);
    struct formula_error ignored;
    arb_indeterminate(out);
    if (!arb_is_exact(from) || arf_cmpabs_2exp_si(arb_midref(from), 62) > 0 || !arb_get_unique_fmpz(N, from) ||
        fmpz_cmp_ui(N, TERMS_MAX) > 0)
        fmpz_set_ui(N, TERMS_MAX);
    arb_set_fmpz(n, N);
    if (fmpz_cmp(N, f->tail_from) < 0 || !arb_ge(from, n) || steps_range(step, f, N))
        return;
    summand_term(start, f, f->root, N, prec, &ignored);
    power_tail(out, start, start, step, 1, n, from, prec);
}
