/* What all ranges share, and those of products, powers, logarithms and exponentials. */
#include "analyze/series/proof/range.h"

#include <stdlib.h>

int range_has_zero(const mpfi_t x)
{
    return !interval_is_positive(x) && !interval_is_negative(x);
}

void range_narrow(mpfi_t x, const mpfi_t y)
{
    if (mpfi_nan_p(y))
        return;
    if (mpfr_cmp(&y->left, &x->left) > 0 && mpfr_cmp(&y->left, &x->right) <= 0)
        mpfr_set(&x->left, &y->left, MPFR_RNDD);
    if (mpfr_cmp(&y->right, &x->right) < 0 && mpfr_cmp(&y->right, &x->left) >= 0)
        mpfr_set(&x->right, &y->right, MPFR_RNDU);
}

/* [3.3] The value, as far as it follows from its own at X: what never grows stays below that, and
 * with an elasticity that is never positive it stays between that and 0. */
static void monotone_value(struct range *r, mpfi_t x)
{
    mpfi_set(x, r->start);
    if (mpfr_sgn(&r->rate->right) <= 0) {
        mpfr_set_inf(&x->left, -1);
        range_narrow(r->value, x);
    } else if (mpfr_sgn(&r->rate->left) >= 0) {
        mpfr_set_inf(&x->right, 1);
        range_narrow(r->value, x);
    }
    if (r->relative && mpfr_sgn(&r->elasticity->right) <= 0) {
        mpfi_set(x, r->start);
        mpfi_put_si(x, 0);
        range_narrow(r->value, x);
    }
}

void range_mend(struct range *r)
{
    interval_mend(r->value);
    interval_mend(r->start);
    interval_mend(r->rate);
    interval_mend(r->elasticity);
}

void range_settle(struct range *r)
{
    range_mend(r);
    LOCAL_INTERVAL(mpfi_get_prec(r->value), x);
    monotone_value(r, x);
    if (!r->relative && !range_has_zero(r->value)) {
        mpfi_div(r->elasticity, r->rate, r->value);
        interval_mend(r->elasticity);
        r->relative = 1;
    }
    if (r->relative) {
        mpfi_mul(x, r->value, r->elasticity);
        interval_mend(x);
        range_narrow(r->rate, x);
    }
}

/* [3.1] */
void range_of_product(struct range *out, const struct range *a, const struct range *b)
{
    LOCAL_INTERVAL(mpfi_get_prec(out->value), x);
    mpfi_mul(out->value, a->value, b->value);
    mpfi_mul(out->start, a->start, b->start);
    mpfi_mul(out->rate, a->value, b->rate);
    mpfi_mul(x, b->value, a->rate);
    mpfi_add(out->rate, out->rate, x);
    if (a->relative && b->relative) {
        mpfi_add(out->elasticity, a->elasticity, b->elasticity);
        out->relative = 1;
    }
    range_settle(out);
}

/* x^n for a whole n. */
static void power_whole(mpfi_t out, const mpfi_t x, long n)
{
    LOCAL_INTERVAL(mpfi_get_prec(out), base);
    mpfi_set(base, x);
    if (n % 2 == 0)
        mpfi_abs(base, base);
    mpfr_pow_ui(&out->left, &base->left, (unsigned long)labs(n), MPFR_RNDD);
    mpfr_pow_ui(&out->right, &base->right, (unsigned long)labs(n), MPFR_RNDU);
    if (n < 0)
        mpfi_inv(out, out);
    interval_mend(out);
}

/* [3.1] */
void range_of_power(struct range *out, const struct range *a, const struct range *b,
                    const struct expression *exponent)
{
    mpfr_prec_t prec = mpfi_get_prec(out->value);
    if (exponent->depends) { /* exp(b ln a) */
        out->defined = a->positive && a->relative;
        if (!out->defined)
            return;
        LOCAL_INTERVAL(prec, log, x);
        mpfi_log(log, a->value);
        mpfi_mul(x, log, b->value);
        interval_mend(x);
        mpfi_exp(out->value, x);
        mpfi_log(x, a->start);
        mpfi_mul(x, x, b->start);
        interval_mend(x);
        mpfi_exp(out->start, x);
        mpfi_mul(x, log, b->rate);
        mpfi_mul(out->elasticity, b->value, a->elasticity);
        mpfi_add(out->elasticity, out->elasticity, x);
        out->relative = 1;
        mpfi_mul(out->rate, out->value, out->elasticity);
        range_mend(out);
        return;
    }
    int whole = exponent->kind == X_NUMBER && fmpz_is_one(fmpq_denref(exponent->q)) &&
                fmpz_bits(fmpq_numref(exponent->q)) < 16;
    long n = whole ? fmpz_get_si(fmpq_numref(exponent->q)) : 0;
    int shrinks = mpfr_sgn(&b->value->left) <= 0; /* the exponent is not known to be positive */
    out->defined = whole ? !shrinks || !range_has_zero(a->value)
                         : interval_is_positive(a->value) ||
                               (mpfr_sgn(&a->value->left) >= 0 && !shrinks);
    if (!out->defined)
        return;
    LOCAL_INTERVAL(prec, x); /* e a^(e-1) */
    if (whole) {
        power_whole(out->value, a->value, n);
        power_whole(out->start, a->start, n);
        power_whole(x, a->value, n - 1);
    } else {
        interval_power(out->value, a->value, b->value);
        interval_power(out->start, a->start, b->value);
        mpfi_sub_ui(x, b->value, 1);
        interval_power(x, a->value, x);
    }
    mpfi_mul(x, x, b->value);
    mpfi_mul(out->rate, x, a->rate);
    if (a->relative) {
        mpfi_mul(out->elasticity, a->elasticity, b->value);
        out->relative = 1;
    } else { /* the base passes through 0, which only a whole e >= 1 allows */
        out->defined = whole && !shrinks;
    }
    range_settle(out);
}

/* [3.1] */
void range_of_ln(struct range *out, const struct range *a)
{
    out->defined = a->positive && a->relative;
    if (!out->defined)
        return;
    mpfi_log(out->value, a->value);
    mpfi_log(out->start, a->start);
    mpfi_set(out->rate, a->elasticity);
    range_settle(out);
}

/* [3.1] */
void range_of_exp(struct range *out, const struct range *a)
{
    mpfi_exp(out->value, a->value);
    mpfi_exp(out->start, a->start);
    mpfi_set(out->elasticity, a->rate);
    out->relative = 1;
    mpfi_mul(out->rate, out->value, a->rate);
    range_settle(out);
}
