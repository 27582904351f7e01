/* Ranges of sums. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/range.h"

/* [3.1] Value, rate and start of q + sum of weight * child. */
static void sum_by_terms(struct range *out, const struct expression_pool *p,
                         const struct expression *x, const struct range *all)
{
    LOCAL_INTERVAL(mpfi_get_prec(out->value), w, product);
    LOCAL(arb, fixed);
    evaluate_fixed_part(fixed, p, x, mpfi_get_prec(out->value));
    interval_set_arb(out->value, fixed);
    mpfi_set(out->start, out->value);
    mpfi_set_ui(out->rate, 0);
    for (int i = 0; i < x->count; i++) {
        const struct range *c = &all[x->child[i]];
        if (!p->node[x->child[i]].depends)
            continue;
        interval_set_fmpq(w, &x->weight[i]);
        mpfi_mul(product, w, c->value);
        mpfi_add(out->value, out->value, product);
        mpfi_mul(product, w, c->start);
        mpfi_add(out->start, out->start, product);
        mpfi_mul(product, w, c->rate);
        mpfi_add(out->rate, out->rate, product);
    }
    range_mend(out);
}

/* [3.2] A sum seen from its leading term (-1: the constant), if that gives bounds. */
static void sum_from_leading(struct range *out, const struct expression *x, const struct range *all)
{
    mpfr_prec_t prec = mpfi_get_prec(out->value);
    int leading = -2, usable = 1;
    LOCAL_INTERVAL(prec, w, q, start, value, ratio, difference);
    LOCAL_INTERVAL(prec, sum, product, weighted, mean, zero);
    interval_set_fmpq(q, x->q);
    mpfi_set_ui(zero, 0);
    for (int i = 0; i < x->count && usable; i++)
        usable = all[x->child[i]].relative;
    if (!fmpq_is_zero(x->q))
        leading = -1;
    for (int i = 0; i < x->count && usable;
         i++) { /* the fastest growth, judged by its least value */
        mpfi_srcptr best = leading == -2   ? NULL
                           : leading == -1 ? zero
                                           : all[x->child[leading]].elasticity;
        const struct range *c = &all[x->child[i]];
        if ((c->positive || !range_has_zero(c->value)) && !fmpq_is_zero(&x->weight[i]) &&
            (!best || mpfr_cmp(&c->elasticity->left, &best->left) > 0))
            leading = i;
    }
    if (!usable || leading == -2)
        return;
    mpfi_srcptr leading_elasticity = leading == -1 ? zero : all[x->child[leading]].elasticity;
    mpfi_set(start, q);
    mpfi_set(value, q);
    if (leading >= 0) {
        interval_set_fmpq(w, &x->weight[leading]);
        mpfi_mul(start, w, all[x->child[leading]].start);
        mpfi_mul(value, w, all[x->child[leading]].value);
    }
    if (range_has_zero(start))
        return;
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
            return;
        if (!mpfi_is_zero(
                difference)) /* the ratio shrinks from its value at X, how far is not known */
            mpfi_put_si(ratio, 0);
        mpfi_add(sum, sum, ratio);
        mpfi_mul(product, ratio, difference);
        interval_mend(product);
        mpfi_add(weighted, weighted, product);
        if (i >= 0) {
            mpfi_mul(product, ratio, all[x->child[i]].elasticity);
            interval_mend(product);
            mpfi_add(mean, mean, product);
        }
    }
    if (mpfi_nan_p(sum) || !interval_is_positive(sum))
        return;
    mpfi_mul(product, value, sum);
    range_narrow(out->value, product);
    mpfi_div(weighted, weighted, sum);
    mpfi_add(out->elasticity, leading_elasticity, weighted);
    interval_mend(out->elasticity);
    interval_mend(mean);
    mpfi_div(mean, mean, sum); /* the same, written as (E_r + sum of r_i E_i) / (1 + r) */
    interval_mend(mean);
    range_narrow(out->elasticity, mean);
    out->relative = 1;
}

void range_of_sum(struct range *out, const struct expression_pool *p, const struct expression *x,
                  const struct range *all)
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
    sum_by_terms(out, p, x, all);
    sum_from_leading(out, x, all);
    range_settle(out);
}
