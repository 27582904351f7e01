/* Biases with a sum to t: what one distance more adds is an expression without that sum. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"
#include "analyze/series/proof/summand.h"

#include <stdlib.h>

enum {
    NEAR = 128, /* distances at which all terms are added up */
    LAG_BITS = 60, /* it is looked for at 2^this, */
    LAG_PLACES = 20, /* to so many binary places, */
    LAG_MOST = 12 /* and up to 2^this */
};

struct starts *starts_new(void)
{
    struct starts *s = calloc(1, sizeof *s);
    for (int k = 0; s && k < STARTS; k++) {
        arb_init(s->f + k);
        arb_indeterminate(s->f + k);
        arb_init(s->beyond[k].q);
        mpfi_init2(s->beyond[k].step, 128);
    }
    if (s) {
        s->lagging = -1;
        fmpz_init(s->lag);
    }
    return s;
}

void starts_free(struct starts *s)
{
    if (!s)
        return;
    for (int k = 0; k < STARTS; k++) {
        arb_clear(s->f + k);
        arb_clear(s->beyond[k].q);
        mpfi_clear(s->beyond[k].step);
    }
    fmpz_clear(s->lag);
    evaluator_free(s->ratio);
    free(s);
}

/* [4.11] */
struct evaluator *summand_ratio(const struct series_summand *f, slong prec)
{
    int inverse = expression_power(f->pool, NODE_T_ITSELF, expression_ratio(f->pool, -1, 1));
    return evaluator_new(f->pool, expression_multiply(f->pool, f->step, inverse), prec + 32, NULL);
}

/* Bounds of a node for all t > X. 0 or -1. */
static int range_beyond(mpfi_t out, const struct series_summand *f, int node, const fmpz_t X)
{
    struct range x;
    struct scale g;
    int known = -1;
    LOCAL(fmpz, from);
    if (f->step < 0 || fmpz_cmp(X, f->step_from) < 0)
        return -1;
    fmpz_add_ui(from, X, 1);
    if (range_compute(&x, f->pool, node, from, NULL, 96) == 0) {
        if (x.defined && !x.masked) {
            mpfi_set(out, x.value);
            known = 0;
        }
        range_clear(&x);
    }
    if (scale_init(&g, f->pool, node, from, NULL) == 0) { /* where the terms cancel it sees more */
        LOCAL_SCALED(&g, u);
        LOCAL_INTERVAL(96, bounds);
        if (scaled_of(&u, &g, node) && !u.masked && scaled_bounds(bounds, &g, &u)) {
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

/* [4.11] */
int steps_range(mpfi_t out, const struct series_summand *f, const fmpz_t X)
{
    return range_beyond(out, f, f->step, X);
}

/* t (b(t) - b(t-1)) at 2^bits. 1 or 0. */
static int step_at(arb_t out, const struct series_summand *f, ulong bits)
{
    LOCAL(fmpz, t);
    fmpz_one_2exp(t, bits);
    int n = expression_substitute(f->pool, f->pool, f->step, t);
    if (n >= 0)
        evaluate_constant(out, f->pool, n, 256);
    return n >= 0 && arb_is_finite(out);
}

/* (t + q) (b(t) - b(t-1)) with a q that makes it nearly constant: t (b(t) - b(t-1)) is about -s + s q / t. */
static void find_lag(const struct series_summand *f)
{
    struct starts *s = f->starts;
    LOCAL(arb, near, far, lag);
    LOCAL(fmpz, whole);
    LOCAL(fmpq, q);
    s->lagging = f->step;
    fmpz_zero(s->lag);
    if (!step_at(near, f, LAG_BITS) || !step_at(far, f, LAG_BITS + 1))
        return;
    arb_sub(lag, near, far, 256);
    arb_div(lag, lag, far, 256);
    arb_neg(lag, lag);
    arb_mul_2exp_si(lag, lag, LAG_BITS + 1 + LAG_PLACES);
    if (!arb_is_finite(lag) || arf_cmpabs_2exp_si(arb_midref(lag), LAG_MOST + LAG_PLACES) > 0)
        return;
    arf_get_fmpz(whole, arb_midref(lag), ARF_RND_NEAR);
    fmpz_set(fmpq_numref(q), whole);
    fmpz_one_2exp(fmpq_denref(q), LAG_PLACES);
    fmpq_canonicalise(q);
    int step = expression_multiply(f->pool, f->step, expression_power(f->pool, NODE_T_ITSELF, expression_ratio(f->pool, -1, 1)));
    int node = expression_multiply(f->pool, expression_add(f->pool, NODE_T_ITSELF, expression_number(f->pool, q)), step);
    if (f->pool->failed)
        return;
    s->lagging = node;
    fmpz_set(s->lag, whole);
}

/* [4.11] Bounds of (t + q) (b(t) - b(t-1)) beyond N = 2^k, N + q >= 1, or of t (b(t) - b(t-1)) with q = 0 where that says more.
 * Kept, as each question needs them; NULL: there are none. */
static const struct beyond *lagging_range(const struct series_summand *f, int k)
{
    struct beyond *x = &f->starts->beyond[k];
    LOCAL(fmpz, N);
    LOCAL(arb, n);
    LOCAL_INTERVAL(128, lagging);
    if (x->known)
        return x->known > 0 ? x : NULL;
    fmpz_one_2exp(N, (ulong)k);
    x->known = steps_range(x->step, f, N) ? -1 : 1;
    if (x->known < 0)
        return NULL;
    if (f->starts->lagging < 0)
        find_lag(f);
    arb_set_fmpz(x->q, f->starts->lag);
    arb_mul_2exp_si(x->q, x->q, -LAG_PLACES);
    arb_add_fmpz(n, x->q, N, 128);
    arb_sub_ui(n, n, 1, 128);
    int better = !arb_is_zero(x->q) && arb_is_nonnegative(n) && range_beyond(lagging, f, f->starts->lagging, N) == 0 &&
                 interval_is_bounded(lagging) && mpfr_cmp_si(&lagging->right, -1) < 0;
    if (better && interval_is_bounded(x->step)) {
        LOCAL_REAL(64, a, b);
        mpfi_diam_abs(a, x->step);
        mpfi_diam_abs(b, lagging);
        better = mpfr_less_p(b, a);
    }
    if (better)
        mpfi_set(x->step, lagging);
    else
        arb_zero(x->q);
    return x;
}

/* b at t: 1: a number, -1: -inf, 0: neither, or not known. */
static int value_is(const struct series_summand *f, const fmpz_t t)
{
    struct expression_pool *p = expression_pool_new();
    int n = p ? summand_value(p, f, f->root, t) : NODE_NAN, is = 0;
    if (p && !p->failed && n != NODE_NAN && n != NODE_PLUS_INFINITY && expression_is_known(p, n))
        is = n == NODE_MINUS_INFINITY ? -1 : 1;
    expression_pool_free(p);
    return is;
}

/* [4.11] If the bias is a number or -inf at the distance before `first`, it then is up to `last`. */
int steps_told(struct series_summand *f, const fmpz_t first, const fmpz *last)
{
    struct stretch all, found;
    if (f->step < 0 || fmpz_cmp(f->step_from, first) >= 0)
        return 0;
    stretch_init(&all, f, NULL, first, last);
    all.root = f->step;
    stretch_resolve(&found, f, &all, first, last);
    int told = found.settled ? found.root != NODE_NAN && found.root != NODE_PLUS_INFINITY
                             : range_defined(f->pool, found.root, first, last);
    stretch_clear(&all);
    stretch_clear(&found);
    return told;
}

/* [4.11] A sum to t that is -inf stays that. */
int steps_ended(struct series_summand *f, const fmpz_t X)
{
    LOCAL(fmpz, next);
    fmpz_add_ui(next, X, 1);
    return f->step >= 0 && value_is(f, X) < 0 && steps_told(f, next, NULL);
}

/* [4.11] At X itself, or by all the steps up to there. */
int steps_number(const struct series_summand *f, const fmpz_t X)
{
    LOCAL(fmpz, N);
    LOCAL_INTERVAL(96, step);
    fmpz_set(N, X);
    if (fmpz_cmp_ui(X, NEAR) > 0)
        fmpz_add_ui(N, f->step_from, 1);
    return fmpz_cmp_ui(N, NEAR) <= 0 && value_is(f, N) > 0 && (fmpz_cmp(N, X) >= 0 || steps_range(step, f, N) == 0);
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

/* [4.11] */
void steps_tail(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    LOCAL(fmpz, N);
    LOCAL(arb, n, later);
    const struct beyond *x;
    int k = STARTS - 1;
    arb_indeterminate(out);
    if (arb_is_exact(from) && arf_cmpabs_2exp_si(arb_midref(from), k) < 0 && arb_get_unique_fmpz(N, from) && fmpz_sgn(N) > 0)
        k = (int)fmpz_bits(N) - 1;
    fmpz_one_2exp(N, (ulong)k);
    arb_set_fmpz(n, N);
    if (fmpz_cmp(N, f->tail_from) < 0 || !arb_ge(from, n) || !(x = lagging_range(f, k)))
        return;
    const arb_struct *start = start_at(f, k, prec);
    arb_add(n, n, x->q, prec);
    arb_add(later, from, x->q, prec);
    power_tail(out, start, start, x->step, 1, n, later, prec);
}

/* [4.11] b(t) - b(N) is -s (1/(N+1) + ... + 1/t). */
void steps_term(arb_t out, const struct series_summand *f, const fmpz_t t, slong prec)
{
    LOCAL(fmpz, N);
    LOCAL(arb, h, n, y);
    const struct beyond *x;
    arb_indeterminate(out);
    fmpz_one_2exp(N, STARTS - 1);
    if (fmpz_cmp(t, N) < 0 || !(x = lagging_range(f, STARTS - 1)))
        return;
    arb_set_d(y, 0.5);
    arb_add(y, y, x->q, prec);
    arb_add_fmpz(h, y, t, prec);
    arb_add_fmpz(y, y, N, prec);
    arb_div(h, h, y, prec);
    arb_log(h, h, prec);
    arb_add_fmpz(n, x->q, N, prec);
    harmonic_share(n, n, prec);
    arb_mul(n, n, h, prec);
    arb_union(h, h, n, prec);
    arb_set_interval_mpfr(y, &x->step->left, &x->step->right, prec);
    arb_mul(h, h, y, prec);
    arb_exp(h, h, prec);
    arb_mul(out, h, start_at(f, STARTS - 1, prec), prec);
}
