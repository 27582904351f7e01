/* Interval arithmetic on unbounded intervals, with rates and elasticities, rounded outwards. */
#include "analyze/series/proof/range.h"
#include "analyze/series/proof/evaluate.h"

#include <stdlib.h>
#include <string.h>

enum { MORE_BITS = 64 };

static void set_constant(struct range *r)
{
    mpfi_set(r->start, r->value);
    mpfi_set_ui(r->rate, 0);
    mpfi_set_ui(r->elasticity, 0);
    r->defined = interval_is_bounded(r->value);
    r->relative = 1;
}

/* [3.4] Any constant from lo to hi. */
static void range_of_any(struct range *out, long lo, long hi)
{
    mpfi_interv_si(out->value, lo, hi);
    set_constant(out);
    out->smooth = lo == hi;
}

/* [3.4] */
static void range_of_wave(struct range *out, const struct range *a, int is_sine)
{
    long bits = (long)mpfi_get_prec(
        out->value); /* beyond, every interval but a single number is longer than a period */
    if (!interval_is_bounded(a->value) || !interval_is_bounded(a->start) ||
        !interval_is_bounded(a->rate) || interval_is_huge(a->value, bits) ||
        interval_is_huge(a->start, bits)) {
        range_of_any(out, -1, 1);
        return;
    }
    LOCAL_INTERVAL(mpfi_get_prec(out->value), slope);
    (is_sine ? mpfi_sin : mpfi_cos)(out->start, a->start);
    (is_sine ? mpfi_sin : mpfi_cos)(out->value, a->value);
    (is_sine ? mpfi_cos : mpfi_sin)(slope, a->value);
    if (!is_sine)
        mpfi_neg(slope, slope);
    mpfi_mul(out->rate, slope, a->rate);
    range_settle(out);
}

static void range_copy(struct range *out, const struct range *a)
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

/* [3.4] Either of two. */
static void range_of_either(struct range *out, const struct range *a, const struct range *b)
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

/* [3.4] */
static void range_of_fraction(struct range *out, const struct range *a)
{
    LOCAL_INTERVAL(mpfi_get_prec(out->value), least);
    mpfr_floor(&least->left, &a->value->left);
    mpfr_floor(&least->right, &a->value->right);
    if (mpfr_equal_p(&least->left, &least->right) && interval_is_bounded(least)) { /* u - n */
        mpfi_sub(out->value, a->value, least);
        mpfi_sub(out->start, a->start, least);
        mpfi_set(out->rate, a->rate);
        range_settle(out);
    } else {
        range_of_any(out, 0, 1);
    }
}

/* [3.4] */
static void range_of_test(struct range *out, const struct range *a)
{
    range_of_any(out, mpfr_sgn(&a->value->left) >= 0, !interval_is_negative(a->value));
}

static void rule(struct range *out, const struct expression_pool *p, int n, const struct range *all,
                 const mpfi_t t, const mpfi_t start)
{
    const struct expression *x = &p->node[n];
    const struct range *a = x->count ? &all[x->child[0]] : NULL,
                       *b = x->count > 1 ? &all[x->child[1]] : NULL;
    out->defined = out->smooth = 1;
    if (!x->depends && x->kind != X_NAN && x->kind != X_INFINITY) {
        LOCAL(arb, v);
        evaluate_constant(v, p, n, mpfi_get_prec(out->value) + 32);
        interval_set_arb(out->value, v);
        set_constant(out);
        out->relative = !range_has_zero(out->value) || mpfi_is_zero(out->value);
        return;
    }
    if (x->kind == X_LINEAR) {
        range_of_sum(out, p, x, all);
        return;
    }
    if (x->kind == X_CHOOSE) {
        const struct range *c = &all[x->child[2]];
        if (!range_has_zero(a->value))
            range_copy(out, b);
        else if (mpfi_is_zero(a->value))
            range_copy(out, c);
        else if (x->child[1] == NODE_MINUS_INFINITY || x->child[2] == NODE_MINUS_INFINITY) {
            range_copy(out, x->child[1] == NODE_MINUS_INFINITY ? c : b);
            out->masked = 1;
            out->smooth = 0;
        } else {
            range_of_either(out, b, c);
        }
        out->defined &= range_is_number(a);
        return;
    }
    for (int i = 0; i < x->count; i++) {
        out->defined &= range_is_number(&all[x->child[i]]);
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
    case X_MULTIPLY: range_of_product(out, a, b); break;
    case X_POWER: range_of_power(out, a, b, &p->node[x->child[1]]); break;
    case X_LN: range_of_ln(out, a); break;
    case X_EXP: range_of_exp(out, a); break;
    case X_SIN:
    case X_COS: range_of_wave(out, a, x->kind == X_SIN); break;
    case X_ABS:
        if (mpfr_sgn(&a->value->left) >= 0) {
            range_copy(out, a);
        } else {
            mpfi_neg(out->value, a->value);
            mpfi_neg(out->start, a->start);
            mpfi_neg(out->rate, a->rate);
            mpfi_set(out->elasticity, a->elasticity);
            out->relative = a->relative;
            if (mpfr_sgn(&a->value->right) > 0)
                range_of_either(out, a, out);
        }
        break;
    case X_FRACTION: range_of_fraction(out, a); break;
    case X_NONNEGATIVE: range_of_test(out, a); break;
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

int ranges_compute(struct ranges *r, const struct expression_pool *p, int root, const fmpz_t lo,
                   const fmpz *hi, mpfr_prec_t prec)
{
    LOCAL(fmpz, length);
    slong more = significant_bits(lo); /* of t less a number near to it */
    if (hi) {
        fmpz_sub(length, hi, lo);
        more = FLINT_MAX(0, FLINT_MIN(more, (slong)fmpz_bits(lo) - (slong)fmpz_bits(length)));
    }
    prec = FLINT_MAX(prec, more + MORE_BITS);
    *r = (struct ranges){.prec = prec};
    r->node = calloc((size_t)root + 1, sizeof *r->node);
    r->nodes = expression_below(&r->count, p, &root, 1);
    if (!r->node || !r->nodes) {
        r->count = 0;
        ranges_free(r);
        return -1;
    }
    LOCAL_INTERVAL(prec, t, start);
    double elementary = 300 + 12 * work_elementary(prec);
    interval_set_fmpz(start, lo);
    mpfr_set(&t->left, &start->left, MPFR_RNDD);
    if (hi)
        fmpz_get_mpfr(&t->right, hi, MPFR_RNDU);
    else
        mpfr_set_inf(&t->right, 1);
    for (int k = 0; k < r->count; k++) {
        int n = r->nodes[k];
        struct range *x = &r->node[n];
        mpfi_init2(x->value, prec);
        mpfi_init2(x->start, prec);
        mpfi_init2(x->rate, prec);
        mpfi_init2(x->elasticity, prec);
        p->budget->done += p->node[n].kind == X_POWER ? 2 * elementary
                           : expression_is_elementary(p->node[n].kind)
                               ? elementary
                               : (30 + 10 * p->node[n].count) * (1 + (double)prec / 1024);
        range_mend(x);
        rule(x, p, n, r->node, t, start);
        x->positive = x->defined && !x->masked &&
                      (interval_is_positive(x->value) || is_positive(&p->node[n], r->node));
    }
    return 0;
}

void range_clear(struct range *x)
{
    mpfi_clear(x->value);
    mpfi_clear(x->start);
    mpfi_clear(x->rate);
    mpfi_clear(x->elasticity);
}

void ranges_free(struct ranges *r)
{
    for (int k = 0; k < r->count; k++)
        range_clear(&r->node[r->nodes[k]]);
    free(r->node);
    free(r->nodes);
    *r = (struct ranges){0};
}

int range_compute(struct range *out, const struct expression_pool *p, int root, const fmpz_t lo,
                  const fmpz *hi, mpfr_prec_t prec)
{
    struct ranges r;
    if (ranges_compute(&r, p, root, lo, hi, prec))
        return -1;
    *out = r.node[root];
    r.count--; /* the root comes last */
    ranges_free(&r);
    return 0;
}

/* [4.1] 1 if node n is a number or -inf at every t: also ln of what may be 0. */
static int is_told(const struct expression_pool *p, int n, const struct range *all)
{
    const struct expression *x = &p->node[n];
    int told = x->kind == X_LINEAR;
    if (all[n].defined)
        return 1;
    if (x->kind == X_LN) {
        const struct range *inside = &all[x->child[0]];
        return range_is_number(inside) &&
               (p->node[x->child[0]].sign > 0 || mpfr_sgn(&inside->value->left) >= 0);
    }
    for (int i = 0; i < x->count && told; i++)
        told = range_is_number(&all[x->child[i]]) ||
               (fmpq_sgn(&x->weight[i]) > 0 && is_told(p, x->child[i], all));
    return told;
}

int range_defined(const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi)
{
    struct ranges r;
    if (ranges_compute(&r, p, root, lo, hi, 64))
        return 0;
    int told = is_told(p, root, r.node);
    ranges_free(&r);
    return told;
}

int range_falls(const struct expression_pool *p, int root, const fmpz_t lo, const fmpz *hi)
{
    struct range x;
    if (range_compute(&x, p, root, lo, hi, 96))
        return 0;
    int falls = x.defined && x.smooth && mpfr_sgn(&x.rate->right) <= 0;
    range_clear(&x);
    return falls;
}

int range_is_number(const struct range *x)
{
    return x->defined && !x->masked;
}
