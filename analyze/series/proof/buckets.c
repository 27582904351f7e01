/* Where the bias is made of the whole part of a logarithm: buckets of one value each, whose sizes grow geometrically. */
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/summand.h"

#include <stdlib.h>

enum { TELL_BITS = 4096 /* distances up to 2^this are told from the ends of their bucket */ };

/* [4.12] */
int buckets_of(struct buckets *out, struct expression_pool *p, int fraction)
{
    int u = p->node[fraction].child[0], turning = -1;
    struct expression inside = p->node[u]; /* the pool may move while it grows */
    LOCAL(fmpq, weight);
    LOCAL(arb, shift, slope);
    int linear = inside.kind == X_LINEAR, count = linear ? inside.count : 1;
    out->shift = linear ? expression_number(p, inside.q) : NODE_ZERO;
    for (int i = 0; i < count; i++) {
        int n = linear ? inside.child[i] : u;
        if (p->node[n].depends && turning >= 0)
            return -1;
        if (p->node[n].depends)
            turning = i;
        else
            out->shift = expression_add(p, out->shift, expression_scale(p, n, &inside.weight[i]));
    }
    if (turning < 0 || (out->shift != NODE_ZERO && !p->node[out->shift].total))
        return -1;
    fmpq_one(weight);
    if (linear)
        fmpq_set(weight, &inside.weight[turning]);
    int n = out->place = linear ? inside.child[turning] : u, factor = NODE_ONE;
    if (p->node[n].kind == X_MULTIPLY) {
        int first = p->node[n].child[0], second = p->node[n].child[1];
        factor = p->node[first].depends ? second : first;
        n = p->node[first].depends ? first : second;
    }
    if (p->node[n].kind != X_LN || p->node[factor].depends || !p->node[factor].total)
        return -1;
    out->base = p->node[n].child[0];
    out->factor = expression_scale(p, factor, weight);
    fmpq_inv(weight, weight);
    out->stands = expression_scale(p, expression_subtract(p, NODE_T_ITSELF, out->shift), weight);
    if (!evaluate_affine(shift, slope, p, out->base, 128) || !arb_is_positive(slope) || expression_sign(p, out->factor) != 1)
        return -1;
    return p->failed ? -1 : 0;
}

/* The bias as a function of the bucket's number, which is t in it: -1 if it is none. */
static int value_of_bucket(struct expression_pool *p, int root, int fraction, const struct buckets *b)
{
    int number = expression_leaf(p, X_OPAQUE), value;
    /* u for t, so that u less its fraction, the number, is what is left where u itself cancels */
    const int old[] = {NODE_T_ITSELF, b->place, fraction},
              fresh[] = {NODE_NAN, b->stands, expression_subtract(p, NODE_T_ITSELF, number)};
    value = expression_exchange(p, p, root, 3, old, fresh);
    int count, *nodes = expression_below(&count, p, &value, 1), left = !nodes || value == NODE_NAN;
    for (int k = 0; nodes && k < count; k++)
        left |= nodes[k] == NODE_T_ITSELF;
    free(nodes);
    LOCAL(arb, shift, slope);
    value = left ? NODE_NAN : expression_exchange(p, p, value, 1, &number, (const int[]){NODE_T_ITSELF});
    return value != NODE_NAN && !p->failed && evaluate_affine(shift, slope, p, value, 64) ? value : -1;
}

/* [4.12] */
int buckets_new(struct buckets *out, struct expression_pool *p, int root, const fmpz_t X)
{
    int fraction = -1;
    LOCAL(arb, shift, slope, x);
    int count, *nodes = expression_below(&count, p, &root, 1);
    for (int k = 0; nodes && k < count; k++)
        if (p->node[nodes[k]].depends && p->node[nodes[k]].kind == X_FRACTION)
            fraction = fraction == -1 ? nodes[k] : -2;
    free(nodes);
    if (fraction < 0 || buckets_of(out, p, fraction))
        return -1;
    out->value = value_of_bucket(p, root, fraction, out);
    if (out->value < 0 || !evaluate_affine(shift, slope, p, out->base, 128 + (slong)fmpz_bits(X)))
        return -1;
    arb_addmul_fmpz(shift, slope, X, 128 + (slong)fmpz_bits(X));
    if (!arb_is_positive(shift)) /* the logarithm is a number from X on, for its inside grows */
        return -1;
    int first = expression_substitute(p, p, out->value, (const fmpz[]){0}),
        second = expression_substitute(p, p, out->value, (const fmpz[]){1});
    int ratio = expression_add(p, expression_subtract(p, second, first),
                               expression_power(p, out->factor, expression_ratio(p, -1, 1)));
    return expression_sign(p, ratio) == -1 && !p->failed ? 0 : -1;
}

/* exp((k - c) / a), the logarithm's inside where bucket k begins. */
static void begin_of(arb_t out, const fmpz_t k, const arb_t a, const arb_t c, slong prec)
{
    arb_set_fmpz(out, k);
    arb_sub(out, out, c, prec);
    arb_div(out, out, a, prec);
    arb_exp(out, out, prec);
}

int buckets_begin(fmpz_t out, const struct expression_pool *p, const struct buckets *b, const fmpz_t k, slong prec)
{
    LOCAL(arb, a, c, shift, slope, x);
    evaluate_constant(a, p, b->factor, prec);
    evaluate_constant(c, p, b->shift, prec);
    evaluate_affine(shift, slope, p, b->base, prec);
    begin_of(x, k, a, c, prec);
    arb_sub(x, x, shift, prec);
    arb_div(x, x, slope, prec);
    if (!arb_is_finite(x) || arf_cmpabs_2exp_si(arb_midref(x), prec) >= 0)
        return -1;
    arf_get_fmpz(out, arb_midref(x), ARF_RND_NEAR);
    return 0;
}

void buckets_number(arb_t out, const struct expression_pool *p, const struct buckets *b, const arb_t t, slong prec)
{
    LOCAL(arb, a, c, shift, slope);
    evaluate_constant(a, p, b->factor, prec);
    evaluate_constant(c, p, b->shift, prec);
    evaluate_affine(shift, slope, p, b->base, prec);
    arb_addmul(shift, slope, t, prec);
    arb_log(out, shift, prec);
    arb_mul(out, out, a, prec);
    arb_add(out, out, c, prec);
}

/* [4.12] */
void buckets_tail(arb_t out, const struct series_summand *f, const arb_t from, slong prec)
{
    const struct expression_pool *p = f->pool;
    const struct buckets *b = &f->buckets;
    LOCAL(fmpz, k);
    LOCAL(arb, a, c, shift, slope, fall, level, end, rest, x, y);
    slong bits = arf_is_zero(arb_midref(from)) || arf_cmpabs_2exp_si(arb_midref(from), TELL_BITS) >= 0
                     ? 0
                     : fmpz_get_si(ARF_EXPREF(arb_midref(from)));
    prec += 64 + (bits > 0 ? bits : 0);
    arb_indeterminate(out);
    buckets_number(x, p, b, from, prec);
    arb_floor(x, x, prec);
    if (!arb_get_unique_fmpz(k, x))
        return;
    evaluate_constant(a, p, b->factor, prec);
    evaluate_constant(c, p, b->shift, prec);
    evaluate_affine(shift, slope, p, b->base, prec);
    evaluate_affine(level, fall, p, b->value, prec);
    /* what is left of this bucket: from its end, up to 1 distance more */
    arb_addmul_fmpz(level, fall, k, prec);
    arb_exp(level, level, prec);
    fmpz_add_ui(k, k, 1);
    begin_of(end, k, a, c, prec);
    arb_sub(rest, end, shift, prec);
    arb_div(rest, rest, slope, prec);
    arb_sub(rest, rest, from, prec);
    arb_one(x);
    arb_mul_2exp_si(x, x, -1);
    arb_add(rest, rest, x, prec);
    arb_add_error(rest, x);
    arb_nonnegative_part(rest, rest);
    arb_mul(out, level, rest, prec);
    /* and of the ones behind, whose sizes are within 1 of (exp(1/a) - 1) / slope times their begins */
    arb_exp(x, fall, prec);
    arb_mul(level, level, x, prec);
    arb_sub_ui(x, x, 1, prec);
    arb_neg(x, x);
    arb_div(y, level, x, prec);
    arb_add_error(out, y);
    arb_inv(x, a, prec);
    arb_add(y, x, fall, prec);
    arb_expm1(x, x, prec);
    arb_expm1(y, y, prec);
    arb_neg(y, y);
    arb_mul(level, level, end, prec);
    arb_mul(level, level, x, prec);
    arb_div(level, level, slope, prec);
    arb_div(level, level, y, prec);
    arb_add(out, out, level, prec);
}
