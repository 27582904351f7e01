/* Interval arithmetic on unbounded intervals, with rates and elasticities. Endpoints are rounded outwards by MPFI. */
#include "analyze/series/proof/range.h"
#include "analyze/series/proof/evaluate.h"

#include <stdlib.h>

static void set_whole(mpfi_t x)
{
    mpfr_set_inf(&x->left, -1);
    mpfr_set_inf(&x->right, 1);
}

/* What became not-a-number may be anything. */
static void mend(mpfi_t x)
{
    if (mpfi_nan_p(x))
        set_whole(x);
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

int interval_is_beyond(const mpfi_t x, long bits)
{
    return (mpfr_regular_p(&x->left) && mpfr_get_exp(&x->left) > bits) ||
           (mpfr_regular_p(&x->right) && mpfr_get_exp(&x->right) > bits);
}

static int has_zero(const mpfi_t x)
{
    return !interval_is_positive(x) && !interval_is_negative(x);
}

/* x becomes what x and y have in common; both are known to hold. */
static void narrow(mpfi_t x, const mpfi_t y)
{
    if (mpfi_nan_p(y))
        return;
    if (mpfr_cmp(&y->left, &x->left) > 0 && mpfr_cmp(&y->left, &x->right) <= 0)
        mpfr_set(&x->left, &y->left, MPFR_RNDD);
    if (mpfr_cmp(&y->right, &x->right) < 0 && mpfr_cmp(&y->right, &x->left) >= 0)
        mpfr_set(&x->right, &y->right, MPFR_RNDU);
}

void interval_set_fmpq(mpfi_t out, const fmpq_t q)
{
    LOCAL(mpq, m);
    fmpq_get_mpq(m, q);
    mpfi_set_q(out, m);
}

void interval_set_arb(mpfi_t out, const arb_t x)
{
    arb_get_interval_mpfr(&out->left, &out->right, x);
    mend(out);
}

void interval_get_lower(arb_t out, const mpfi_t x, slong prec)
{
    arb_set_interval_mpfr(out, &x->left, &x->left, prec);
}

void interval_get_upper(arb_t out, const mpfi_t x, slong prec)
{
    arb_set_interval_mpfr(out, &x->right, &x->right, prec);
}

/* ---- rules ---- */

static void set_constant(struct range *r)
{
    mpfi_set(r->start, r->value);
    mpfi_set_ui(r->rate, 0);
    mpfi_set_ui(r->elasticity, 0);
    r->defined = interval_is_bounded(r->value);
    r->relative = 1;
}

/* The value, as far as it follows from its own at X: what never grows stays below that, and with an elasticity that is never
 * positive it stays between that and 0. */
static void settle_value(struct range *r, mpfi_t x)
{
    mpfi_set(x, r->start);
    if (mpfr_sgn(&r->rate->right) <= 0) {
        mpfr_set_inf(&x->left, -1);
        narrow(r->value, x);
    } else if (mpfr_sgn(&r->rate->left) >= 0) {
        mpfr_set_inf(&x->right, 1);
        narrow(r->value, x);
    }
    if (r->relative && mpfr_sgn(&r->elasticity->right) <= 0) {
        mpfi_set(x, r->start);
        mpfi_put_si(x, 0);
        narrow(r->value, x);
    }
}

/* The elasticity from rate and value where there is none yet, then each from the others. */
static void settle(struct range *r)
{
    LOCAL_INTERVAL(mpfi_get_prec(r->value), x);
    settle_value(r, x);
    if (!r->relative && !has_zero(r->value)) {
        mpfi_div(r->elasticity, r->rate, r->value);
        mend(r->elasticity);
        r->relative = 1;
    }
    if (r->relative) {
        mpfi_mul(x, r->value, r->elasticity);
        mend(x);
        narrow(r->rate, x);
    }
}

/* Value, rate and start of q + sum of weight * child. */
static void linear_plain(struct range *out, const struct expression *x, const struct range *all)
{
    LOCAL_INTERVAL(mpfi_get_prec(out->value), w, product);
    interval_set_fmpq(out->value, x->q);
    mpfi_set(out->start, out->value);
    mpfi_set_ui(out->rate, 0);
    for (int i = 0; i < x->count; i++) {
        const struct range *c = &all[x->child[i]];
        interval_set_fmpq(w, &x->weight[i]);
        mpfi_mul(product, w, c->value);
        mpfi_add(out->value, out->value, product);
        mpfi_mul(product, w, c->start);
        mpfi_add(out->start, out->start, product);
        mpfi_mul(product, w, c->rate);
        mpfi_add(out->rate, out->rate, product);
    }
    mend(out->value);
    mend(out->start);
    mend(out->rate);
}

/* A sum seen from its leading term: value = leading * (1 + r). Index -1 is the constant. Nothing is done where that gives no
 * bound. */
static void linear_relative(struct range *out, const struct expression *x, const struct range *all)
{
    mpfr_prec_t prec = mpfi_get_prec(out->value);
    int leading = -2, usable = 1;
    LOCAL_INTERVAL(prec, w, q, start, value, ratio, difference, sum, product, weighted, mean, zero);
    interval_set_fmpq(q, x->q);
    mpfi_set_ui(zero, 0);
    for (int i = 0; i < x->count && usable; i++)
        usable = all[x->child[i]].relative;
    if (!fmpq_is_zero(x->q))
        leading = -1;
    for (int i = 0; i < x->count && usable; i++) { /* the fastest growth, judged by its least value */
        mpfi_srcptr best = leading == -2 ? NULL : leading == -1 ? zero : all[x->child[leading]].elasticity;
        const struct range *c = &all[x->child[i]];
        if ((c->positive || !has_zero(c->value)) && !fmpq_is_zero(&x->weight[i]) &&
            (!best || mpfr_cmp(&c->elasticity->left, &best->left) > 0))
            leading = i;
    }
    if (!usable || leading == -2)
        goto end;
    mpfi_srcptr leading_elasticity = leading == -1 ? zero : all[x->child[leading]].elasticity;
    mpfi_set(start, q);
    mpfi_set(value, q);
    if (leading >= 0) {
        interval_set_fmpq(w, &x->weight[leading]);
        mpfi_mul(start, w, all[x->child[leading]].start);
        mpfi_mul(value, w, all[x->child[leading]].value);
    }
    if (has_zero(start))
        goto end;
    mpfi_set_ui(sum, 1);
    mpfi_set_ui(weighted, 0);
    mpfi_set(mean, leading_elasticity);
    for (int i = -1; i < x->count; i++) {
        if (i == leading || (i == -1 && fmpq_is_zero(x->q)))
            continue;
        mpfi_sub(difference, i == -1 ? zero : all[x->child[i]].elasticity, leading_elasticity);
        if (i == -1) {
            mpfi_div(ratio, q, start);
        } else {
            interval_set_fmpq(w, &x->weight[i]);
            mpfi_mul(ratio, w, all[x->child[i]].start);
            mpfi_div(ratio, ratio, start);
        }
        if (mpfi_nan_p(ratio) || mpfi_nan_p(difference) || mpfr_sgn(&difference->right) > 0)
            goto end;
        if (!mpfi_is_zero(difference)) /* the ratio shrinks from its value at X, how far is not known */
            mpfi_put_si(ratio, 0);
        mpfi_add(sum, sum, ratio);
        mpfi_mul(product, ratio, difference);
        mend(product);
        mpfi_add(weighted, weighted, product);
        if (i >= 0) {
            mpfi_mul(product, ratio, all[x->child[i]].elasticity);
            mend(product);
            mpfi_add(mean, mean, product);
        }
    }
    if (mpfi_nan_p(sum) || !interval_is_positive(sum))
        goto end;
    mpfi_mul(product, value, sum);
    narrow(out->value, product);
    mpfi_div(weighted, weighted, sum);
    mpfi_add(out->elasticity, leading_elasticity, weighted);
    mend(out->elasticity);
    mend(mean);
    mpfi_div(mean, mean, sum); /* the same, written as (E_r + sum of r_i E_i) / (1 + r) */
    mend(mean);
    narrow(out->elasticity, mean);
    out->relative = 1;
end:
}

/* A sum of terms that are all positive (or all negative) has an elasticity between theirs. */
static void linear_hull(struct range *out, const struct expression *x, const struct range *all)
{
    int sign = fmpq_sgn(x->q), usable = 1;
    LOCAL_INTERVAL(mpfi_get_prec(out->value), hull);
    mpfi_set_ui(hull, 0);
    for (int i = 0; i < x->count && usable; i++) {
        const struct range *c = &all[x->child[i]];
        int own = fmpq_sgn(&x->weight[i]) * (c->positive ? 1 : interval_is_negative(c->value) ? -1 : 0);
        usable = c->relative && own != 0 && (sign == 0 || sign == own);
        if (sign == 0)
            mpfi_set(hull, c->elasticity);
        else
            mpfi_union(hull, hull, c->elasticity);
        sign = own;
    }
    if (usable && !out->relative)
        mpfi_set(out->elasticity, hull);
    else if (usable)
        narrow(out->elasticity, hull);
    out->relative |= usable;
}

static void rule_linear(struct range *out, const struct expression *x, const struct range *all)
{
    out->defined = 1;
    out->smooth = 1;
    for (int i = 0; i < x->count; i++) {
        const struct range *c = &all[x->child[i]];
        out->defined &= c->defined && !(c->masked && fmpq_sgn(&x->weight[i]) <= 0);
        out->masked |= c->masked;
        out->smooth &= c->smooth;
    }
    if (!out->defined)
        return;
    linear_plain(out, x, all);
    linear_relative(out, x, all);
    linear_hull(out, x, all);
    settle(out);
}

static void rule_multiply(struct range *out, const struct range *a, const struct range *b)
{
    LOCAL_INTERVAL(mpfi_get_prec(out->value), x);
    mpfi_mul(out->value, a->value, b->value);
    mpfi_mul(out->start, a->start, b->start);
    mpfi_mul(out->rate, a->value, b->rate);
    mpfi_mul(x, b->value, a->rate);
    mpfi_add(out->rate, out->rate, x);
    mend(out->value);
    mend(out->start);
    mend(out->rate);
    if (a->relative && b->relative) {
        mpfi_add(out->elasticity, a->elasticity, b->elasticity);
        mend(out->elasticity);
        out->relative = 1;
    }
}

/* u / (q + w u) = 1 / (w + q / u), which is bounded where u is not: for a product of node a and node b, if it is one of this
 * form. */
static void narrow_quotient(struct range *out, const struct expression_pool *p, int a, int b, const struct range *all)
{
    const struct expression *power = &p->node[b], *sum = power->kind == X_POWER ? &p->node[power->child[0]] : NULL;
    if (!sum || sum->kind != X_LINEAR || sum->count != 1 || sum->child[0] != a || p->node[power->child[1]].kind != X_NUMBER ||
        fmpq_cmp_si(p->node[power->child[1]].q, -1) != 0 || mpfr_sgn(&all[a].value->left) < 0 || fmpq_sgn(sum->q) <= 0 ||
        fmpq_sgn(&sum->weight[0]) <= 0)
        return;
    LOCAL_INTERVAL(mpfi_get_prec(out->value), x, w);
    interval_set_fmpq(x, sum->q);
    interval_set_fmpq(w, &sum->weight[0]);
    mpfi_div(x, x, all[a].value);
    mpfi_add(x, x, w);
    mpfi_inv(x, x);
    narrow(out->value, x);
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
    mend(out);
}

/* x^e for x >= 0 and a constant e: exp(e ln x); 0^e = 0 for e > 0. */
static void power_real(mpfi_t out, const mpfi_t x, const mpfi_t e)
{
    LOCAL_INTERVAL(mpfi_get_prec(out), log);
    mpfi_log(log, x);
    mpfi_mul(out, log, e);
    mpfi_exp(out, out);
    mend(out);
    if (mpfr_sgn(&out->left) < 0)
        mpfr_set_zero(&out->left, 1);
}

static void rule_power(struct range *out, const struct range *a, const struct range *b, const struct expression *exponent)
{
    mpfr_prec_t prec = mpfi_get_prec(out->value);
    if (exponent->depends) { /* exp(b ln a) */
        out->defined = a->positive && a->relative;
        if (!out->defined)
            return;
        LOCAL_INTERVAL(prec, log, x);
        mpfi_log(log, a->value);
        mpfi_mul(x, log, b->value);
        mend(x);
        mpfi_exp(out->value, x);
        mpfi_log(x, a->start);
        mpfi_mul(x, x, b->start);
        mend(x);
        mpfi_exp(out->start, x);
        mpfi_mul(x, log, b->rate);
        mpfi_mul(out->elasticity, b->value, a->elasticity);
        mpfi_add(out->elasticity, out->elasticity, x);
        mend(out->elasticity);
        out->relative = 1;
        mpfi_mul(out->rate, out->value, out->elasticity);
        mend(out->rate);
        return;
    }
    int number = exponent->kind == X_NUMBER,
        whole = number && fmpz_is_one(fmpq_denref(exponent->q)) && fmpz_bits(fmpq_numref(exponent->q)) < 16;
    int shrinks = mpfr_sgn(&b->value->left) <= 0; /* the exponent is not known to be positive */
    out->defined = whole ? !shrinks || !has_zero(a->value)
                         : interval_is_positive(a->value) || (mpfr_sgn(&a->value->left) >= 0 && !shrinks);
    if (!out->defined)
        return;
    if (whole) {
        long n = fmpz_get_si(fmpq_numref(exponent->q));
        power_whole(out->value, a->value, n);
        power_whole(out->start, a->start, n);
    } else {
        power_real(out->value, a->value, b->value);
        power_real(out->start, a->start, b->value);
    }
    LOCAL_INTERVAL(prec, x); /* e a^(e-1) */
    if (whole) {
        long n = fmpz_get_si(fmpq_numref(exponent->q)) - 1;
        power_whole(x, a->value, n);
    } else {
        mpfi_sub_ui(x, b->value, 1);
        power_real(x, a->value, x);
    }
    mpfi_mul(x, x, b->value);
    mpfi_mul(out->rate, x, a->rate);
    mend(out->rate);
    if (a->relative) {
        mpfi_mul(out->elasticity, a->elasticity, b->value);
        mend(out->elasticity);
        out->relative = 1;
    } else { /* the base passes through 0, which only a whole e >= 1 allows */
        out->defined = whole && !shrinks;
    }
    settle(out);
}

static void rule_ln(struct range *out, const struct range *a)
{
    out->defined = a->positive && a->relative;
    if (!out->defined)
        return;
    mpfi_log(out->value, a->value);
    mpfi_log(out->start, a->start);
    mend(out->value);
    mend(out->start);
    mpfi_set(out->rate, a->elasticity);
    settle(out);
}

static void rule_exp(struct range *out, const struct range *a)
{
    mpfi_exp(out->value, a->value);
    mpfi_exp(out->start, a->start);
    mpfi_set(out->elasticity, a->rate);
    out->relative = 1;
    mpfi_mul(out->rate, out->value, a->rate);
    mend(out->rate);
    settle(out);
}

static void rule_wave(struct range *out, const struct range *a, int is_sine)
{
    long bits = (long)mpfi_get_prec(out->value); /* beyond, an interval that is no single number is longer than a period */
    if (!interval_is_bounded(a->value) || !interval_is_bounded(a->start) || !interval_is_bounded(a->rate) ||
        interval_is_beyond(a->value, bits) || interval_is_beyond(a->start, bits)) { /* any constant from -1 to 1 */
        mpfi_interv_si(out->value, -1, 1);
        set_constant(out);
        out->smooth = 0;
        return;
    }
    LOCAL_INTERVAL(mpfi_get_prec(out->value), slope);
    (is_sine ? mpfi_sin : mpfi_cos)(out->value, a->value);
    (is_sine ? mpfi_sin : mpfi_cos)(out->start, a->start);
    (is_sine ? mpfi_cos : mpfi_sin)(slope, a->value);
    if (!is_sine)
        mpfi_neg(slope, slope);
    mpfi_mul(out->rate, slope, a->rate);
    mend(out->rate);
    settle(out);
}

static void rule_copy(struct range *out, const struct range *a)
{
    mpfi_set(out->value, a->value);
    mpfi_set(out->start, a->start);
    mpfi_set(out->rate, a->rate);
    mpfi_set(out->elasticity, a->elasticity);
    out->relative = a->relative;
    out->defined = a->defined;
    out->masked = a->masked;
    out->smooth = a->smooth;
}

/* Either of two. */
static void rule_either(struct range *out, const struct range *a, const struct range *b)
{
    out->defined = a->defined && b->defined;
    out->masked = a->masked || b->masked;
    out->smooth = 0;
    out->relative = a->relative && b->relative;
    mpfi_union(out->value, a->value, b->value);
    mpfi_union(out->start, a->start, b->start);
    mpfi_union(out->rate, a->rate, b->rate);
    mpfi_union(out->elasticity, a->elasticity, b->elasticity);
}

static void rule_fraction(struct range *out, const struct range *a)
{
    LOCAL_INTERVAL(mpfi_get_prec(out->value), least);
    mpfr_floor(&least->left, &a->value->left);
    mpfr_floor(&least->right, &a->value->right);
    if (mpfr_equal_p(&least->left, &least->right) && interval_is_bounded(least)) { /* u - n */
        mpfi_sub(out->value, a->value, least);
        mpfi_sub(out->start, a->start, least);
        mpfi_set(out->rate, a->rate);
        settle(out);
    } else { /* any constant from 0 to 1 */
        mpfi_interv_si(out->value, 0, 1);
        set_constant(out);
        out->smooth = 0;
    }
}

static void rule_test(struct range *out, const struct range *a, enum expression_kind kind)
{
    const mpfr_t *lo = (const mpfr_t *)&a->value->left, *hi = (const mpfr_t *)&a->value->right;
    int yes = kind == X_POSITIVE ? mpfr_sgn(*lo) > 0 : kind == X_NONNEGATIVE ? mpfr_sgn(*lo) >= 0 : mpfi_is_zero(a->value);
    int no = kind == X_POSITIVE ? mpfr_sgn(*hi) <= 0 : kind == X_NONNEGATIVE ? mpfr_sgn(*hi) < 0 : !has_zero(a->value);
    mpfi_interv_si(out->value, yes ? 1 : 0, no ? 0 : 1);
    set_constant(out);
    out->smooth = yes || no;
}

static void rule(struct range *out, const struct expression_pool *p, int n, const struct range *all, const mpfi_t t,
                 const mpfi_t start)
{
    const struct expression *x = &p->node[n];
    const struct range *a = x->count ? &all[x->child[0]] : NULL, *b = x->count > 1 ? &all[x->child[1]] : NULL;
    out->defined = out->smooth = 1;
    if (!x->depends && x->kind != X_NAN && x->kind != X_INFINITY) {
        LOCAL(arb, v);
        evaluate_constant(v, p, n, mpfi_get_prec(out->value) + 32);
        interval_set_arb(out->value, v);
        set_constant(out);
        out->relative = !has_zero(out->value) || mpfi_is_zero(out->value);
        return;
    }
    if (x->kind == X_LINEAR) {
        rule_linear(out, x, all);
        return;
    }
    if (x->kind == X_CHOOSE) {
        const struct range *c = &all[x->child[2]];
        out->defined = a->defined && !a->masked;
        if (!has_zero(a->value))
            rule_copy(out, b);
        else if (mpfi_is_zero(a->value))
            rule_copy(out, c);
        else if (x->child[1] == NODE_MINUS_INFINITY || x->child[2] == NODE_MINUS_INFINITY) {
            rule_copy(out, x->child[1] == NODE_MINUS_INFINITY ? c : b);
            out->masked = 1;
            out->smooth = 0;
        } else {
            rule_either(out, b, c);
        }
        out->defined &= a->defined && !a->masked;
        return;
    }
    for (int i = 0; i < x->count; i++) {
        out->defined &= all[x->child[i]].defined && !all[x->child[i]].masked;
        out->smooth &= all[x->child[i]].smooth;
    }
    if (!out->defined)
        return;
    switch (x->kind) {
    case X_T:
        mpfi_set(out->value, t);
        mpfi_set(out->start, start);
        mpfi_set(out->rate, t);
        mpfi_set_ui(out->elasticity, 1);
        out->relative = 1;
        break;
    case X_MULTIPLY:
        rule_multiply(out, a, b);
        narrow_quotient(out, p, x->child[0], x->child[1], all);
        narrow_quotient(out, p, x->child[1], x->child[0], all);
        settle(out);
        break;
    case X_POWER: rule_power(out, a, b, &p->node[x->child[1]]); break;
    case X_LN: rule_ln(out, a); break;
    case X_EXP: rule_exp(out, a); break;
    case X_SIN:
    case X_COS: rule_wave(out, a, x->kind == X_SIN); break;
    case X_ABS:
        if (mpfr_sgn(&a->value->left) >= 0) {
            rule_copy(out, a);
        } else {
            mpfi_neg(out->value, a->value);
            mpfi_neg(out->start, a->start);
            mpfi_neg(out->rate, a->rate);
            mpfi_set(out->elasticity, a->elasticity);
            out->relative = a->relative;
            if (mpfr_sgn(&a->value->right) > 0) {
                mpfi_union(out->value, out->value, a->value);
                mpfi_union(out->start, out->start, a->start);
                mpfi_union(out->rate, out->rate, a->rate);
                out->smooth = 0;
            }
        }
        break;
    case X_FRACTION: rule_fraction(out, a); break;
    case X_MIN:
    case X_MAX: {
        const struct range *difference = &all[x->child[2]];
        int a_least = mpfr_sgn(&difference->value->right) <= 0, b_least = mpfr_sgn(&difference->value->left) >= 0;
        if (difference->defined && (a_least || b_least))
            rule_copy(out, (x->kind == X_MIN) == a_least ? a : b);
        else
            rule_either(out, a, b);
        break;
    }
    case X_POSITIVE:
    case X_NONNEGATIVE:
    case X_ZERO: rule_test(out, a, x->kind); break;
    default: out->defined = 0; break;
    }
}

/* Positive although the least value on an unbounded interval is 0. */
static int is_positive(const struct expression *x, const struct range *all)
{
    if (x->kind == X_LINEAR && fmpq_sgn(x->q) < 0)
        return 0;
    switch (x->kind) {
    case X_EXP: return 1;
    case X_POWER: return all[x->child[0]].positive;
    case X_MULTIPLY:
    case X_LINEAR:
        for (int i = 0; i < x->count; i++)
            if (!all[x->child[i]].positive || (x->kind == X_LINEAR && fmpq_sgn(&x->weight[i]) <= 0))
                return 0;
        return x->count > 0;
    default: return 0;
    }
}

int ranges_compute(struct ranges *r, const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi, mpfr_prec_t prec)
{
    *r = (struct ranges){.count = root + 1, .prec = prec};
    r->node = calloc((size_t)r->count, sizeof *r->node);
    r->needed = calloc((size_t)r->count, 1);
    if (!r->node || !r->needed) {
        free(r->node);
        free(r->needed);
        *r = (struct ranges){0};
        return -1;
    }
    LOCAL_INTERVAL(prec, t, start);
    fmpz_get_mpfr(&start->left, lo, MPFR_RNDD);
    fmpz_get_mpfr(&start->right, lo, MPFR_RNDU);
    mpfr_set(&t->left, &start->left, MPFR_RNDD);
    if (hi)
        fmpz_get_mpfr(&t->right, hi, MPFR_RNDU);
    else
        mpfr_set_inf(&t->right, 1);
    r->needed[root] = 1;
    for (int n = root; n >= 0; n--)
        for (int i = 0; r->needed[n] && i < p->node[n].count; i++)
            r->needed[p->node[n].child[i]] = 1;
    for (int n = 0; n <= root; n++) {
        if (!r->needed[n])
            continue;
        struct range *x = &r->node[n];
        mpfi_init2(x->value, prec);
        mpfi_init2(x->start, prec);
        mpfi_init2(x->rate, prec);
        mpfi_init2(x->elasticity, prec);
        set_whole(x->value);
        set_whole(x->start);
        set_whole(x->rate);
        set_whole(x->elasticity);
        rule(x, p, n, r->node, t, start);
        x->positive = x->defined && !x->masked && (interval_is_positive(x->value) || is_positive(&p->node[n], r->node));
    }
    return 0;
}

void ranges_free(struct ranges *r)
{
    for (int n = 0; n < r->count; n++)
        if (r->needed[n]) {
            mpfi_clear(r->node[n].value);
            mpfi_clear(r->node[n].start);
            mpfi_clear(r->node[n].rate);
            mpfi_clear(r->node[n].elasticity);
        }
    free(r->node);
    free(r->needed);
    *r = (struct ranges){0};
}
