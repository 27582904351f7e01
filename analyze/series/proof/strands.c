/* Distances that are summed apart: those of one residue; squares, cubes, powers of 2, where f is 0 at all others. */
#include "analyze/series/proof/summand.h"

#include <stdio.h>
#include <stdlib.h>

enum { POWER_MAX = 8, BASE_MAX = 1 << 16, ROOT_BASE_MAX = 16, AHEAD_BITS = 24 };

/* ---- what is 0 but at powers ---- */

static int is_whole_number(const struct expression *x, ulong least, ulong most)
{
    return x->kind == X_NUMBER && fmpz_is_one(fmpq_denref(x->q)) && fmpz_cmp_ui(fmpq_numref(x->q), least) >= 0 &&
           fmpz_cmp_ui(fmpq_numref(x->q), most) <= 0;
}

/* n = w^k or b^w, w a whole number. */
static int is_power(struct strands *out, struct expression_pool *p, int n)
{
    const struct expression x = p->node[n]; /* the pool may move while it grows */
    if (x.kind != X_POWER)
        return 0;
    const struct expression base = p->node[x.child[0]], exponent = p->node[x.child[1]];
    *out = (struct strands){.count = 1};
    if (is_whole_number(&exponent, 2, POWER_MAX) && expression_is_whole(p, x.child[0]))
        out->power = fmpz_get_ui(fmpq_numref(exponent.q));
    else if (is_whole_number(&base, 2, BASE_MAX) && expression_is_whole(p, x.child[1]))
        out->base = fmpz_get_ui(fmpq_numref(base.q));
    return out->power || out->base;
}

/* u is a whole number at these t alone: z^(1/k) or ln(z) / ln(b), z = t or 1 + t. */
static int is_root(struct strands *out, struct expression_pool *p, int u)
{
    *out = (struct strands){.count = 1};
    for (; out->ahead < 2; out->ahead++) {
        int z = expression_add(p, NODE_T_ITSELF, expression_ratio(p, out->ahead, 1)), ln_z = expression_unary(p, X_LN, z);
        for (ulong k = 2; k <= POWER_MAX && !out->power; k++)
            if (u == expression_power(p, z, expression_ratio(p, 1, k)))
                out->power = k;
        for (slong b = 2; b <= ROOT_BASE_MAX && !out->power && !out->base; b++) {
            int ln_b = expression_unary(p, X_LN, expression_ratio(p, b, 1));
            if (u == expression_multiply(p, ln_z, expression_power(p, ln_b, expression_ratio(p, -1, 1))))
                out->base = (ulong)b;
        }
        if (out->power || out->base)
            return 1;
    }
    return 0;
}

/* A difference is -w fraction(u), w > 0, so that it is at least 0 where u is a whole number. */
static int is_below(struct strands *out, struct expression_pool *p, int difference)
{
    const struct expression x = p->node[difference]; /* the pool may move while it grows */
    int found = 0, others = 0;
    for (int i = 0; x.kind == X_LINEAR && i < x.count; i++) {
        int fraction = p->node[x.child[i]].kind == X_FRACTION && fmpq_sgn(&x.weight[i]) < 0;
        others |= !fraction && !fmpq_is_zero(&x.weight[i]);
        found = found || (fraction && is_root(out, p, p->node[x.child[i]].child[0]));
    }
    return found && !others && fmpq_is_zero(x.q);
}

/* A difference that is 0 where t + c is a power: it less that, or the other way round, and `other` is its negative. */
static int is_equality(struct strands *out, struct expression_pool *p, int difference, int other)
{
    const struct expression x = p->node[difference], y = p->node[other]; /* the pool may move while it grows */
    LOCAL(fmpq, w, ahead);
    int found = x.kind == X_LINEAR && y.kind == X_LINEAR && x.count == 2 && y.count == 2 && x.child[0] == NODE_T_ITSELF &&
                fmpz_is_pm1(fmpq_numref(&x.weight[0])) && fmpz_is_one(fmpq_denref(&x.weight[0]));
    for (int i = 0; i < 2 && found; i++) {
        fmpq_neg(w, &x.weight[i]);
        found = x.child[i] == y.child[i] && fmpq_equal(w, &y.weight[i]) && fmpq_equal(w, &x.weight[1 - i]);
    }
    fmpq_neg(w, x.q);
    if (!found || !fmpq_equal(w, y.q) || !fmpz_is_one(fmpq_denref(x.q)) || fmpz_bits(fmpq_numref(x.q)) > AHEAD_BITS ||
        !is_power(out, p, x.child[1]))
        return 0;
    fmpq_mul(ahead, x.q, &x.weight[0]);
    out->ahead = (int)fmpz_get_si(fmpq_numref(ahead));
    return 1;
}

/* [4.15] Node n is `none`, which is 0 or -inf, or not a number, at all t but powers. */
static int is_none(struct strands *out, struct expression_pool *p, int n, int none)
{
    const struct expression x = p->node[n]; /* the pool may move while it grows */
    int found = 0;
    switch (x.kind) {
    case X_NONNEGATIVE: return none == NODE_ZERO && is_below(out, p, x.child[0]);
    case X_CHOOSE: {
        const struct expression c = p->node[x.child[0]], a = p->node[x.child[1]];
        if (x.child[1] == none)
            return is_none(out, p, x.child[2], none);
        if (x.child[2] != none)
            return 0;
        if (none == NODE_ZERO && c.kind == X_NONNEGATIVE && a.kind == X_NONNEGATIVE && c.count == 1 && a.count == 1 &&
            is_equality(out, p, c.child[0], a.child[0]))
            return 1;
        return is_none(out, p, x.child[0], NODE_ZERO) || is_none(out, p, x.child[1], none);
    }
    case X_LN: return none == NODE_MINUS_INFINITY && is_none(out, p, x.child[0], NODE_ZERO);
    case X_EXP: return none == NODE_ZERO && is_none(out, p, x.child[0], NODE_MINUS_INFINITY);
    case X_MULTIPLY: return none == NODE_ZERO && (is_none(out, p, x.child[0], none) || is_none(out, p, x.child[1], none));
    case X_LINEAR:
        for (int i = 0; i < x.count && !found; i++)
            found = none == NODE_ZERO ? x.count == 1 && fmpq_is_zero(x.q) && is_none(out, p, x.child[i], none)
                                      : fmpq_sgn(&x.weight[i]) > 0 && is_none(out, p, x.child[i], none);
        return found;
    default: return 0;
    }
}

/* [4.15] */
int strands_of_powers(struct strands *out, struct expression_pool *p, int root, const fmpz_t first)
{
    return is_none(out, p, root, NODE_MINUS_INFINITY) && fmpz_cmp_si(first, -out->ahead) > 0;
}

int strands_hold(const struct strands *s, struct expression_pool *p, int root, const fmpz_t first)
{
    struct strands own = {0};
    return !strands_are_powers(s) || (strands_of_powers(&own, p, root, first) && s->count == 1 && own.power == s->power &&
                                      own.base == s->base && own.ahead == s->ahead);
}

/* ---- places ---- */

const char *powers_text(char *text, size_t size, const struct strands *s)
{
    int used = snprintf(text, size, s->power ? "n^%lu" : "%lu^n", s->power ? s->power : s->base);
    if (s->ahead)
        snprintf(text + used, size - (size_t)used, " %c %d", s->ahead > 0 ? '-' : '+', abs(s->ahead));
    return text;
}

int strand_node(struct expression_pool *p, int root, int r, const struct strands *s)
{
    LOCAL(fmpq, q, w);
    fmpq_set_si(q, r, 1);
    fmpq_set_si(w, s->count, 1);
    int t = s->power  ? expression_power(p, NODE_T_ITSELF, expression_ratio(p, (slong)s->power, 1))
            : s->base ? expression_power(p, expression_ratio(p, (slong)s->base, 1), NODE_T_ITSELF)
                      : expression_linear(p, q, 1, (const int[]){NODE_T_ITSELF}, w);
    t = expression_add(p, t, expression_ratio(p, -s->ahead, 1));
    return t == NODE_T_ITSELF ? root : expression_replace(p, p, root, t);
}

void strand_distance(fmpz_t t, const fmpz_t n, int r, const struct strands *s)
{
    LOCAL(fmpz, base);
    fmpz_set_ui(base, s->base);
    if (s->power) {
        fmpz_pow_ui(t, n, s->power);
    } else if (s->base) {
        fmpz_pow_fmpz(t, base, n);
    } else {
        fmpz_mul_si(t, n, s->count);
        fmpz_add_si(t, t, r);
    }
    fmpz_sub_si(t, t, s->ahead);
}

void strand_place(fmpz_t n, const fmpz_t t, int r, const struct strands *s)
{
    LOCAL(fmpz, before);
    if (!strands_are_powers(s)) {
        fmpz_sub_si(n, t, r);
        fmpz_cdiv_q_si(n, n, s->count);
        return;
    }
    fmpz_add_si(before, t, s->ahead - 1);
    if (fmpz_sgn(before) < (s->power ? 0 : 1)) { /* at 0^power, or at base^0 */
        fmpz_zero(n);
        return;
    }
    if (s->base)
        fmpz_set_si(n, fmpz_flog_ui(before, s->base));
    else
        fmpz_root(n, before, (slong)s->power);
    fmpz_add_ui(n, n, 1);
}

void strand_near(arb_t n, const arb_t from, int r, const struct strands *s, slong prec)
{
    LOCAL(arb, x);
    arb_add_si(x, from, s->ahead, prec);
    if (s->power) {
        arb_root_ui(n, x, s->power, prec);
    } else if (s->base) {
        arb_log(n, x, prec);
        arb_log_ui(x, s->base, prec);
        arb_div(n, n, x, prec);
    } else {
        arb_sub_si(n, from, r, prec);
        arb_div_si(n, n, s->count, prec);
    }
}
