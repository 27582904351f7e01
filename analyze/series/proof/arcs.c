/* How often the angle of a wave is where. */
#include "analyze/series/proof/arcs.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/proof/rounding.h"

enum { ARC_MAX = 4096 /* steps among which one is sought that hardly turns */ };

/* [4.9] If k slope is, modulo 2 pi, some d > 0 or some -d that is at most the arc's width, every k-th distance moves on by d, and
 * meets the arc within 2 pi / d + 1 of them. */
int arc_returns(fmpz_t within, const struct expression_pool *p, const struct arc *arc)
{
    LOCAL(arb, turn, step, width, n, slope);
    LOCAL(fmpz, nearest);
    evaluate_constant(slope, p, arc->slope, 128);
    arb_const_pi(turn, 128);
    arb_mul_2exp_si(turn, turn, 1);
    interval_get_upper(width, arc->angle, 128);
    interval_get_lower(n, arc->angle, 128);
    arb_sub(width, width, n, 128);
    for (ulong k = 1; k <= ARC_MAX; k++) {
        arb_mul_ui(step, slope, k, 128);
        arb_div(n, step, turn, 128);
        if (!arb_is_finite(n) || arf_cmpabs_2exp_si(arb_midref(n), 60) > 0)
            return 0;
        arf_get_fmpz(nearest, arb_midref(n), ARF_RND_NEAR);
        arb_mul_fmpz(n, turn, nearest, 128);
        arb_sub(step, step, n, 128);
        arb_abs(step, step);
        if (arb_is_positive(step) && arb_lt(step, width)) {
            arb_div(n, turn, step, 128);
            arb_get_ubound_arf(arb_midref(n), n, 128);
            arf_get_fmpz(within, arb_midref(n), ARF_RND_CEIL);
            fmpz_add_ui(within, within, 1);
            fmpz_mul_ui(within, within, k);
            return 1;
        }
    }
    return 0;
}

/* Made of rational numbers by sums, products and rational powers. */
static int is_algebraic(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    int known = x->kind == X_NUMBER || x->kind == X_LINEAR || x->kind == X_MULTIPLY ||
                (x->kind == X_POWER && p->node[x->child[1]].kind == X_NUMBER);
    for (int i = 0; i < x->count && known; i++)
        known = is_algebraic(p, x->child[i]);
    return known;
}

/* [4.14] */
int wave_turns(int *start, int *slope, struct expression_pool *p, int wave)
{
    int at[2], argument = p->node[wave].child[0];
    LOCAL(arb, shift, step);
    if (!evaluate_affine(shift, step, p, argument, 64))
        return 0;
    for (slong t = 0; t < 2; t++)
        at[t] = expression_substitute(p, p, argument, (const fmpz[]){t});
    *slope = expression_subtract(p, at[1], at[0]);
    *start = at[0];
    int sign = is_algebraic(p, *slope) ? expression_sign(p, *slope) : 2;
    return (sign == 1 || sign == -1) && !p->failed;
}

/* [4.13] */
int wave_turns_slowly(int *start, int *slope, int *level, fmpq_t power, struct expression_pool *p, int wave, const fmpz_t X)
{
    struct scale g;
    int argument = p->node[wave].child[0], levels = 0, sign = 0;
    if (scale_init(&g, p, argument, X, NULL))
        return 0;
    LOCAL_SCALED(&g, u);
    int known = scaled_of(&u, &g, argument) && !u.masked && u.count && (!u.rough || monomial_sign(&u.at) < 0);
    *start = NODE_ZERO;
    for (int i = 1; i < u.count && known; i++) {
        known = monomial_sign(&u.of[i]) <= 0;
        if (monomial_sign(&u.of[i]) == 0)
            *start = u.coefficient[i];
    }
    for (int k = 0; k < SCALE_LEVELS && known; k++)
        if (!fmpq_is_zero(&u.of[0].a[k])) {
            levels++;
            *level = k;
            fmpq_set(power, &u.of[0].a[k]);
        }
    if (known) {
        *slope = u.coefficient[0];
        sign = expression_sign(p, *slope);
    }
    scale_clear(&g);
    return known && levels == 1 && *level > 0 && fmpq_sgn(power) > 0 && (*level > 1 || fmpq_cmp_si(power, 1) < 0) &&
           (sign == 1 || sign == -1) && !p->failed;
}
