/* Rounding outwards, and text. */
#include "analyze/series/proof/rounding.h"
#include "analyze/series.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    LONG_BITS = 40000, /* of a whole number of more, */
    FIRST_BITS = 256 /* these are looked at */
};

void interval_mend(mpfi_t x)
{
    if (mpfi_nan_p(x)) {
        mpfr_set_inf(&x->left, -1);
        mpfr_set_inf(&x->right, 1);
    }
}

void interval_set_arb(mpfi_t out, const arb_t x)
{
    arb_get_interval_mpfr(&out->left, &out->right, x);
    interval_mend(out);
}

void interval_set_fmpq(mpfi_t out, const fmpq *q)
{
    LOCAL(mpq, m);
    fmpq_get_mpq(m, q);
    mpfi_set_q(out, m);
}

void interval_set_fmpz(mpfi_t out, const fmpz_t n)
{
    fmpz_get_mpfr(&out->left, n, MPFR_RNDD);
    fmpz_get_mpfr(&out->right, n, MPFR_RNDU);
}

slong significant_bits(const fmpz_t n)
{
    return fmpz_is_zero(n) ? 0 : FLINT_MIN((slong)fmpz_bits(n) - (slong)fmpz_val2(n), 4096);
}

void ball_set_fmpz(arb_t out, const fmpz_t n)
{
    LOCAL(fmpz, first);
    ulong behind = fmpz_bits(n) > LONG_BITS ? fmpz_bits(n) - FIRST_BITS : 0;
    fmpz_tdiv_q_2exp(first, n, behind);
    arb_set_fmpz(out, first);
    if (behind)
        mag_one(arb_radref(out));
    arb_mul_2exp_si(out, out, (slong)behind);
}

void ball_narrow(arb_t out, const arb_t x)
{
    if (arb_is_finite(x) && (!arb_is_finite(out) || mag_cmp(arb_radref(x), arb_radref(out)) < 0))
        arb_set(out, x);
}

int ball_reaches(const arb_t x, const fmpz_t n)
{
    LOCAL(arb, end);
    ball_set_fmpz(end, n);
    if (!arb_is_exact(end) && arb_overlaps(x, end))
        arb_set_fmpz(end, n);
    return arb_ge(x, end);
}

void interval_get_lower(arb_t out, const mpfi_t x, slong prec)
{
    arb_set_interval_mpfr(out, &x->left, &x->left, prec);
}

void interval_get_upper(arb_t out, const mpfi_t x, slong prec)
{
    arb_set_interval_mpfr(out, &x->right, &x->right, prec);
}

void interval_power(mpfi_t out, const mpfi_t x, const mpfi_t e)
{
    LOCAL_INTERVAL(mpfi_get_prec(out), log);
    mpfi_log(log, x);
    mpfi_mul(out, log, e);
    mpfi_exp(out, out);
    interval_mend(out);
    if (mpfr_sgn(&out->left) < 0)
        mpfr_set_zero(&out->left, 1);
}

int interval_is_positive(const mpfi_t x)
{
    return mpfr_sgn(&x->left) > 0;
}

int interval_is_negative(const mpfi_t x)
{
    return mpfr_sgn(&x->right) < 0;
}

int interval_is_bounded(const mpfi_t x)
{
    return mpfr_number_p(&x->left) && mpfr_number_p(&x->right);
}

int interval_is_huge(const mpfi_t x, long bits)
{
    return (mpfr_regular_p(&x->left) && mpfr_get_exp(&x->left) > bits) ||
           (mpfr_regular_p(&x->right) && mpfr_get_exp(&x->right) > bits);
}

/* An end of a finite ball as a double. */
static double end_of(const arb_t x, int up)
{
    LOCAL(arf, end);
    if (up)
        arb_get_ubound_arf(end, x, 64);
    else
        arb_get_lbound_arf(end, x, 64);
    if (arf_cmpabs_2exp_si(end, 1023) >= 0)
        return arf_sgn(end) > 0 ? (up ? INFINITY : DBL_MAX) : up ? -DBL_MAX : -INFINITY;
    if (arf_cmpabs_2exp_si(end, -1020) <= 0)
        return arf_sgn(end) > 0   ? (up ? 0x1p-1020 : 0)
               : arf_sgn(end) < 0 ? (up ? 0 : -0x1p-1020)
                                  : 0;
    return arf_get_d(end, up ? ARF_RND_CEIL : ARF_RND_FLOOR);
}

/* [10.1] */
void ball_doubles(double *lo, double *hi, const arb_t x, const fmpz *shift)
{
    LOCAL(arb, scaled);
    *lo = 0;
    *hi = INFINITY;
    if (!arb_is_finite(x))
        return;
    arb_set_fmpz(scaled, shift);
    arb_exp(scaled, scaled, 128);
    arb_mul(scaled, scaled, x, 128);
    if (arb_is_finite(scaled)) {
        *lo = fmax(0, end_of(scaled, 0));
        *hi = end_of(scaled, 1);
    } else if (fmpz_sgn(shift) > 0) { /* exp overflows */
        *lo = arb_is_positive(x) ? DBL_MAX : 0;
    }
}

/* [10.1] */
double log10_bound(const arb_t n, int up)
{
    LOCAL(arb, x, ten);
    if (arb_is_one(n))
        return 0;
    arb_log(x, n, 128);
    arb_const_log10(ten, 128);
    arb_div(x, x, ten, 128);
    return end_of(x, up);
}

/* [10.2] */
const char *bound_text(char out[64], const mpfr_t x, int digits, int up)
{
    mpfr_snprintf(out, 64, up ? "%.*RUg" : "%.*RDg", digits, x);
    return out;
}

/* [10.2] */
const char *series_bound_text(char out[64], double bound, int up, int digits)
{
    LOCAL_REAL(53, x);
    mpfr_set_d(x, bound, MPFR_RNDN);
    if (digits)
        return bound_text(out, x, digits, up);
    for (digits = 15; digits <= 18; digits++) /* 18 always identify a double */
        if (strtod(bound_text(out, x, digits, up), NULL) == bound)
            break;
    return out;
}

/* [10.2] */
const char *distance_text(char out[64], const fmpz_t t)
{
    if (fmpz_sizeinbase(t, 10) <= 15) {
        fmpz_get_str(out, 10, t);
    } else if (fmpz_bits(t) == (flint_bitcnt_t)fmpz_val2(t) + 1) {
        snprintf(out, 64, "2^%lu", (unsigned long)fmpz_val2(t));
    } else {
        LOCAL_REAL(64, x);
        fmpz_get_mpfr(x, t, MPFR_RNDU);
        mpfr_log10(x, x, MPFR_RNDU);
        mpfr_snprintf(out, 64, "10^%.2RUf", x);
    }
    return out;
}

const char *series_verdict_name(enum series_verdict v)
{
    static const char *const names[] = {"converges", "diverges", "undecided"};
    return names[v];
}
