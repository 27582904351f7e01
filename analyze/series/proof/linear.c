/* Sums kept as q + sum of weight * node, so that what cancels does cancel. */
#include "analyze/series/proof/expression_private.h"

#include <stdlib.h>

/* ---- linear combinations ---- */

struct term {
    int node;
    fmpq_t weight;
};

struct terms {
    struct term *term;
    int count, capacity;
    fmpq_t q;
    int infinity; /* sign of an infinite term, 2: not a number */
};

/* The work of adding to a number, for its bits squared. */
static const double LONG_WORK = 5e-8;

static void terms_add(struct expression_pool *p, struct terms *s, int n, const fmpq *weight)
{
    const struct expression *x = &p->node[n];
    double bits = (double)fmpz_bits(fmpq_denref(s->q));
    p->budget->done += LONG_WORK * bits * bits;
    p->failed |= p->budget->done > p->end;
    if (p->failed)
        return;
    if (x->kind == X_NAN) {
        s->infinity = 2;
    } else if (x->kind == X_NUMBER) {
        fmpq_addmul(s->q, weight, x->q);
    } else if (x->kind == X_INFINITY) {
        int sign = fmpq_sgn(weight) * fmpq_sgn(x->q);
        s->infinity = sign == 0 || (s->infinity && s->infinity != sign) ? 2 : sign;
    } else if (x->kind == X_LINEAR) {
        LOCAL(fmpq, w);
        fmpq_addmul(s->q, weight, x->q);
        for (int i = 0; i < x->count; i++) {
            fmpq_mul(w, weight, &x->weight[i]);
            terms_add(p, s, x->child[i], w);
        }
    } else {
        if (s->count == s->capacity) {
            int capacity = s->capacity ? 2 * s->capacity : 8;
            struct term *grown = realloc(s->term, (size_t)capacity * sizeof *grown);
            if (!grown) {
                p->failed = 1;
                return;
            }
            s->term = grown;
            s->capacity = capacity;
        }
        s->term[s->count].node = n;
        fmpq_init(s->term[s->count].weight);
        fmpq_set(s->term[s->count++].weight, weight);
    }
}

static int by_node(const void *a, const void *b)
{
    const struct term *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

/* Adds up equal terms. Where one may be infinite or not a number somewhere, 0 * u stays, beside
 * what is left of it after u has been taken off: 2 u - u is not a number where u is infinite. */
static void terms_collect(struct expression_pool *p, struct terms *s)
{
    int kept = 0;
    LOCAL(fmpq, sum);
    if (s->count)
        qsort(s->term, (size_t)s->count, sizeof *s->term, by_node);
    for (int i = 0, next; i < s->count; i = next) {
        int n = s->term[i].node, signs = 0; /* bits: < 0, 0, > 0 */
        fmpq_zero(sum);
        for (next = i; next < s->count && s->term[next].node == n; next++) {
            fmpq_add(sum, sum, s->term[next].weight);
            signs |= 1 << (fmpq_sgn(s->term[next].weight) + 1);
        }
        if (!fmpq_is_zero(sum)) {
            s->term[kept].node = n;
            fmpq_set(s->term[kept++].weight, sum);
        }
        if (!p->node[n].total &&
            (signs & 2 ||
             signs == 5)) { /* as many as there were at most: two signs are two terms */
            s->term[kept].node = n;
            fmpq_zero(s->term[kept++].weight);
        }
    }
    for (int i = kept; i < s->count; i++)
        fmpq_clear(s->term[i].weight);
    s->count = kept;
}

static int terms_node(struct expression_pool *p, struct terms *s)
{
    int total = 1, result = NODE_NAN;
    terms_collect(p, s);
    for (int i = 0; i < s->count; i++)
        total &= p->node[s->term[i].node].total;
    if (p->failed || s->infinity == 2)
        return NODE_NAN;
    if (s->infinity && total)
        return s->infinity > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    if (s->count == 0)
        return expression_number(p, s->q);
    if (!s->infinity && s->count == 1 && fmpq_is_zero(s->q) && fmpq_is_one(s->term[0].weight))
        return s->term[0].node;
    int count = s->count + (s->infinity != 0);
    int *child = malloc((size_t)count * sizeof *child);
    fmpq *weight = malloc((size_t)count * sizeof *weight);
    if (!child || !weight) {
        free(child);
        free(weight);
        return expression_fail(p);
    }
    for (int i = 0; i < count; i++) {
        fmpq_init(&weight[i]);
        if (i < s->count)
            fmpq_set(&weight[i], s->term[i].weight);
        else
            fmpq_one(&weight[i]);
        child[i] = i < s->count      ? s->term[i].node
                   : s->infinity > 0 ? NODE_PLUS_INFINITY
                                     : NODE_MINUS_INFINITY;
    }
    result = expression_intern(p, &(struct shape){X_LINEAR, count, child, weight, s->q});
    for (int i = 0; i < count; i++)
        fmpq_clear(&weight[i]);
    free(child);
    free(weight);
    return result;
}

/* [1.1] */
int expression_linear(struct expression_pool *p, const fmpq_t q, int count, const int *node,
                      const fmpq *weight)
{
    struct terms s = {0};
    fmpq_init(s.q);
    fmpq_set(s.q, q);
    for (int i = 0; i < count; i++)
        terms_add(p, &s, node[i], &weight[i]);
    int result = terms_node(p, &s);
    for (int i = 0; i < s.count; i++)
        fmpq_clear(s.term[i].weight);
    free(s.term);
    fmpq_clear(s.q);
    return result;
}

/* a + factor b, factor 1 or -1. */
static int combine(struct expression_pool *p, int a, int b, int factor)
{
    fmpq weight[2];
    LOCAL(fmpq, zero);
    fmpq_init(&weight[0]);
    fmpq_init(&weight[1]);
    fmpq_one(&weight[0]);
    fmpq_set_si(&weight[1], factor, 1);
    int result = expression_linear(p, zero, 2, (const int[]){a, b}, weight);
    fmpq_clear(&weight[0]);
    fmpq_clear(&weight[1]);
    return result;
}

int expression_add(struct expression_pool *p, int a, int b)
{
    return combine(p, a, b, 1);
}

int expression_subtract(struct expression_pool *p, int a, int b)
{
    return combine(p, a, b, -1);
}

int expression_scale(struct expression_pool *p, int a, const fmpq_t factor)
{
    LOCAL(fmpq, zero);
    return expression_linear(p, zero, 1, &a, factor);
}
