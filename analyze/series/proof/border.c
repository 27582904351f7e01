/* Waves whose coefficient touches the border of convergence. */
#include "analyze/series/proof/border.h"

#include <stdlib.h>

/* Node n as u + a W, W the wave; 1, or 0: it is none, or something else than `wave` depends on it. */
static int part(int *u, int *a, struct expression_pool *p, int n, int wave, const unsigned char *holds)
{
    struct expression x = p->node[n]; /* the pool may move while it grows */
    LOCAL(fmpq, w);
    *u = n == wave ? NODE_ZERO : n;
    *a = n == wave ? NODE_ONE : NODE_ZERO;
    if (n == wave || !holds[n])
        return 1;
    if (x.kind == X_MULTIPLY && holds[x.child[0]] != holds[x.child[1]]) {
        int inside = x.child[holds[x.child[1]]], beside = x.child[!holds[x.child[1]]];
        if (!part(u, a, p, inside, wave, holds))
            return 0;
        *u = expression_multiply(p, *u, beside);
        *a = expression_multiply(p, *a, beside);
        return 1;
    }
    if (x.kind != X_LINEAR)
        return 0;
    *u = expression_number(p, x.q);
    for (int i = 0; i < x.count; i++) {
        int v, c;
        fmpq_set(w, &x.weight[i]);
        if (!part(&v, &c, p, x.child[i], wave, holds))
            return 0;
        *u = expression_add(p, *u, expression_scale(p, v, w));
        *a = expression_add(p, *a, expression_scale(p, c, w));
    }
    return 1;
}

/* 1 if a is c + q ln(k + s t), q not 0, s > 0: *sign is that of q. */
static int is_logarithm(int *sign, const struct expression_pool *p, int a)
{
    const struct expression *x = &p->node[a];
    LOCAL(arb, shift, slope);
    *sign = 1;
    if (x->kind == X_LINEAR && x->count == 1) {
        *sign = fmpq_sgn(&x->weight[0]);
        x = &p->node[x->child[0]];
    }
    return *sign && x->kind == X_LN && evaluate_affine(shift, slope, p, x->child[0], 64) && arb_is_positive(slope);
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
int border_new(struct border *out, struct expression_pool *p, int root, int wave)
{
    int u, a, sign;
    LOCAL(fmpq, half);
    unsigned char *holds = calloc((size_t)root + 1, 1);
    if (!holds)
        return 0;
    for (int n = 0; n <= root; n++) {
        holds[n] = n == wave;
        for (int i = 0; i < p->node[n].count; i++)
            holds[n] |= holds[p->node[n].child[i]];
    }
    int known = holds[root] && wave_turns(&out->start, &out->slope, p, wave) && p->node[out->slope].kind == X_NUMBER &&
                part(&u, &a, p, root, wave, holds) && is_logarithm(&sign, p, a);
    free(holds);
    if (!known)
        return 0;
    out->quarter = (p->node[wave].kind == X_SIN) + (sign < 0 ? 2 : 0);
    out->amplitude = sign > 0 ? a : expression_subtract(p, NODE_ZERO, a);
    fmpq_set_si(half, -1, 2);
    out->envelope = expression_add(p, expression_add(p, u, out->amplitude),
                                   expression_scale(p, expression_unary(p, X_LN, out->amplitude), half));
    return !p->failed;
}
