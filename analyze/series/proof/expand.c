/* Products of waves as sums of waves, where fewer waves are left: sin(t)^2 + cos(t)^2 is 1. */
#include "analyze/series/proof/expression.h"

#include <stdlib.h>

enum { NODES = 400, MADE = 2000 /* then nothing more is taken apart */, POWERS = 6 };

static int is_wave(const struct expression *x)
{
    return (x->kind == X_SIN || x->kind == X_COS) && x->depends;
}

/* n = wave * rest; 0: no factor of it is a wave. */
static int take_wave(struct expression *wave, int *rest, struct expression_pool *p, int n)
{
    const struct expression x = p->node[n]; /* the pool may move while it grows */
    *rest = NODE_ONE;
    *wave = x;
    if (is_wave(&x))
        return 1;
    for (int i = 0; x.kind == X_MULTIPLY && i < 2; i++)
        if (take_wave(wave, rest, p, x.child[i])) {
            *rest = expression_multiply(p, *rest, x.child[1 - i]);
            return 1;
        }
    return 0;
}

static int product(struct expression_pool *p, int a, int b);

/* a b for a sum a. */
static int distributed(struct expression_pool *p, int a, int b)
{
    const struct expression x = p->node[a]; /* the pool may move while it grows */
    LOCAL(fmpq, w);
    int result = expression_scale(p, b, x.q);
    for (int i = 0; i < x.count; i++) {
        fmpq_set(w, &x.weight[i]);
        result = expression_add(p, result, expression_scale(p, product(p, x.child[i], b), w));
    }
    return result;
}

/* [1.1] a b, of numbers at every t. */
static int product(struct expression_pool *p, int a, int b)
{
    struct expression u, v;
    int beside_u, beside_v;
    if (!p->node[a].total || !p->node[b].total || p->count > MADE)
        return expression_multiply(p, a, b);
    if (p->node[a].kind == X_LINEAR)
        return distributed(p, a, b);
    if (p->node[b].kind == X_LINEAR)
        return distributed(p, b, a);
    if (!take_wave(&u, &beside_u, p, a) || !take_wave(&v, &beside_v, p, b))
        return expression_multiply(p, a, b);
    enum expression_kind kind = u.kind == v.kind ? X_COS : X_SIN;
    int sum = expression_unary(p, kind, expression_add(p, u.child[0], v.child[0]));
    int difference = expression_unary(p, kind, expression_subtract(p, u.child[0], v.child[0]));
    int same = v.kind == X_COS ? expression_add(p, sum, difference) : expression_subtract(p, sum, difference);
    if (u.kind == X_SIN && v.kind == X_SIN)
        same = expression_subtract(p, NODE_ZERO, same);
    return product(p, expression_multiply(p, same, expression_ratio(p, 1, 2)), product(p, beside_u, beside_v));
}

static int power(struct expression_pool *p, int base, int exponent)
{
    for (slong k = 2; k <= POWERS && p->node[base].total; k++) {
        if (exponent != expression_ratio(p, k, 1))
            continue;
        int result = base;
        for (; k > 1; k--)
            result = product(p, result, base);
        return result;
    }
    return expression_power(p, base, exponent);
}

/* Waves among the nodes below n; -1: memory. */
static int waves_below(const struct expression_pool *p, int n)
{
    int count = 0, waves = 0, *nodes = expression_below(&count, p, &n, 1);
    for (int i = 0; nodes && i < count; i++)
        waves += is_wave(&p->node[nodes[i]]);
    free(nodes);
    return nodes ? waves : -1;
}

int expression_expand(struct expression_pool *p, int n)
{
    int waves = n > NODES || p->node[n].opaque ? 0 : waves_below(p, n), count = 0, child[2], result = n;
    if (waves <= 0)
        return n;
    struct expression_pool *own = expression_pool_new();
    int *nodes = expression_below(&count, p, &n, 1), *at = calloc((size_t)n + 1, sizeof *at);
    for (int i = 0; own && nodes && at && i < count; i++) {
        const struct expression *x = &p->node[nodes[i]];
        int *children = x->count <= 2 ? child : malloc((size_t)x->count * sizeof *children);
        if (!children)
            goto end;
        for (int k = 0; k < x->count; k++)
            children[k] = at[x->child[k]];
        at[nodes[i]] = x->kind == X_MULTIPLY ? product(own, children[0], children[1])
                       : x->kind == X_POWER  ? power(own, children[0], children[1])
                                             : expression_rebuild(own, x, children);
        if (children != child)
            free(children);
    }
    if (own && nodes && at && !own->failed && waves_below(own, at[n]) < waves)
        result = expression_replace(p, own, at[n], NODE_T_ITSELF);
end:
    free(nodes);
    free(at);
    expression_pool_free(own);
    return result;
}
