/* Nodes of an expression, and what is known of them whatever t is. */
#include "analyze/series/proof/expression_private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t mix_fmpq(uint64_t hash, const fmpq *q)
{
    enum { PRIME = 1000000007 };
    hash = mix(hash, fmpz_fdiv_ui(fmpq_numref(q), PRIME));
    return mix(hash, fmpz_fdiv_ui(fmpq_denref(q), PRIME));
}

static uint64_t shape_hash(const struct shape *s)
{
    uint64_t hash = mix(s->kind, (uint64_t)s->count);
    for (int i = 0; i < s->count; i++) {
        hash = mix(hash, (uint64_t)s->child[i]);
        if (s->weight)
            hash = mix_fmpq(hash, &s->weight[i]);
    }
    return s->q ? mix_fmpq(hash, s->q) : hash;
}

static int shape_is(const struct shape *s, const struct expression *x)
{
    if (s->kind != x->kind || s->count != x->count)
        return 0;
    for (int i = 0; i < s->count; i++)
        if (s->child[i] != x->child[i] || (s->weight && !fmpq_equal(&s->weight[i], &x->weight[i])))
            return 0;
    return !s->q || fmpq_equal(s->q, x->q);
}

/* ---- what is known of a node whatever t is ---- */

/* The sign of a new node, from those of its children. */
static int known_sign(const struct expression_pool *p, const struct expression *x)
{
    int least = 2;
    switch (x->kind) {
    case X_NUMBER: return fmpq_sgn(x->q) > 0 ? 2 : fmpq_sgn(x->q) == 0;
    case X_PI:
    case X_EXP: return 2;
    case X_T:
    case X_ABS:
    case X_FRACTION:
    case X_NONNEGATIVE: return 1;
    case X_POWER: return p->node[x->child[0]].sign;
    case X_LN: { /* of what is at least 1 */
        const struct expression *inside = &p->node[x->child[0]];
        int of_number = inside->kind == X_NUMBER || (inside->kind == X_LINEAR && inside->sign == 2);
        return of_number && fmpz_cmp(fmpq_numref(inside->q), fmpq_denref(inside->q)) >= 0;
    }
    case X_LINEAR:
        least = fmpq_sgn(x->q) > 0 ? 2 : fmpq_sgn(x->q) == 0;
        for (int i = 0; i < x->count && least; i++) {
            int sign = fmpq_sgn(&x->weight[i]) > 0 ? p->node[x->child[i]].sign : 0;
            least = sign == 0 ? 0 : sign > least ? sign : least;
        }
        return least;
    case X_MULTIPLY:
    case X_CHOOSE:
        for (int i = x->kind == X_CHOOSE; i < x->count; i++) {
            int sign = p->node[x->child[i]].sign;
            least = sign < least ? sign : least;
        }
        return least;
    default: return 0;
    }
}

static int rule_total(const struct expression_pool *p, const struct expression *x)
{
    switch (x->kind) {
    case X_NAN:
    case X_INFINITY:
    case X_OPAQUE: return 0;
    case X_LN: return p->node[x->child[0]].sign == 2;
    case X_POWER: {
        const struct expression *e = &p->node[x->child[1]];
        int sign = p->node[x->child[0]].sign;
        return sign == 2 || (e->kind == X_NUMBER && fmpq_sgn(e->q) >= 0 &&
                             (sign == 1 || fmpz_is_one(fmpq_denref(e->q))));
    }
    default: return 1;
    }
}

int expression_ball(arb_t out, const struct expression_pool *p, int n, slong *prec)
{
    *prec = *prec ? *prec * 4 : 64;
    if (*prec > 4096)
        return 0;
    evaluate_constant(out, p, n, *prec);
    return 1;
}

/* [1.2] A ball that is finite is a proof; that of ln, 1/u or a root of what may be 0 never is. */
static int is_finite_constant(const struct expression_pool *p, int n)
{
    LOCAL(arb, v);
    for (slong prec = 0; expression_ball(v, p, n, &prec);)
        if (arb_is_finite(v))
            return 1;
    return 0;
}

/* Of the node n, the newest of the pool. */
static int is_total(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    for (int i = 0; i < x->count; i++)
        if (!p->node[x->child[i]].total)
            return 0;
    return rule_total(p, x) ||
           ((x->kind == X_LN || x->kind == X_POWER) && !x->depends && is_finite_constant(p, n));
}

/* [1.2] */
int expression_is_known(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    return !x->depends && (x->kind == X_NAN || x->kind == X_INFINITY || x->total);
}

/* ---- the pool ---- */

static int rehash(struct expression_pool *p, int buckets)
{
    int *bucket = malloc((size_t)buckets * sizeof *bucket);
    if (!bucket)
        return -1;
    memset(bucket, -1, (size_t)buckets * sizeof *bucket);
    for (int n = 0; n < p->count; n++) {
        const struct expression *x = &p->node[n];
        int has_q = x->kind == X_NUMBER || x->kind == X_LINEAR || x->kind == X_INFINITY;
        struct shape s = {x->kind, x->count, x->child, x->weight, has_q ? x->q : NULL};
        uint64_t at = shape_hash(&s) % (uint64_t)buckets;
        while (bucket[at] >= 0)
            at = (at + 1) % (uint64_t)buckets;
        bucket[at] = n;
    }
    free(p->bucket);
    p->bucket = bucket;
    p->buckets = buckets;
    return 0;
}

int expression_fail(struct expression_pool *p)
{
    p->failed = 1;
    return NODE_NAN;
}

int expression_intern(struct expression_pool *p, const struct shape *s)
{
    if (p->failed)
        return NODE_NAN;
    if (2 * p->count >= p->buckets && rehash(p, p->buckets ? 2 * p->buckets : 256))
        return expression_fail(p);
    p->budget->done += 5 + s->count;
    if (p->budget->done > p->end)
        return expression_fail(p);
    uint64_t at = shape_hash(s) % (uint64_t)p->buckets;
    for (; p->bucket[at] >= 0; at = (at + 1) % (uint64_t)p->buckets)
        if (shape_is(s, &p->node[p->bucket[at]]))
            return p->bucket[at];
    if (p->count == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 128;
        struct expression *grown = capacity > POOL_NODES_MAX
                                       ? NULL
                                       : realloc(p->node, (size_t)capacity * sizeof *grown);
        if (!grown)
            return expression_fail(p);
        p->node = grown;
        unsigned long *seen = realloc(p->seen, ((size_t)capacity + 1) * sizeof *seen);
        if (!seen)
            return expression_fail(p);
        for (int n = p->seen ? p->capacity + 1 : 0; n <= capacity; n++)
            seen[n] = 0;
        p->seen = seen;
        p->capacity = capacity;
    }
    struct expression *x = &p->node[p->count];
    *x = (struct expression){.kind = s->kind, .count = s->count};
    fmpq_init(x->q);
    if (s->q)
        fmpq_set(x->q, s->q);
    if (s->count) {
        x->child = malloc((size_t)s->count * sizeof *x->child);
        x->weight = s->weight ? malloc((size_t)s->count * sizeof *x->weight) : NULL;
        if (!x->child || (s->weight && !x->weight)) {
            free(x->child);
            free(x->weight);
            fmpq_clear(x->q);
            return expression_fail(p);
        }
        for (int i = 0; i < s->count; i++) {
            x->child[i] = s->child[i];
            if (s->weight) {
                fmpq_init(&x->weight[i]);
                fmpq_set(&x->weight[i], &s->weight[i]);
            }
        }
    }
    x->depends = s->kind == X_T || s->kind == X_OPAQUE;
    x->opaque = s->kind == X_OPAQUE;
    int kinked = s->kind == X_OPAQUE;
    for (int i = 0; i < s->count; i++) {
        x->depends |= p->node[s->child[i]].depends;
        x->opaque |= p->node[s->child[i]].opaque;
        kinked |= p->node[s->child[i]].kinked;
    }
    x->kinked = kinked || (s->kind >= X_ABS && x->depends);
    x->sign = (unsigned)known_sign(p, x);
    x->total = (unsigned)is_total(p, p->count);
    p->bucket[at] = p->count;
    return p->count++;
}

/* What writing out a formula may take. */
static const double BUILD_WORK = 3e7;

struct expression_pool *expression_pool_new(struct budget *budget)
{
    struct expression_pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->budget = budget;
    p->end = budget->done + BUILD_WORK;
    LOCAL(fmpq, q);
    expression_intern(p, &(struct shape){.kind = X_NAN});
    expression_intern(p, &(struct shape){.kind = X_NUMBER, .q = q});
    fmpq_one(q);
    expression_intern(p, &(struct shape){.kind = X_NUMBER, .q = q});
    expression_intern(p, &(struct shape){.kind = X_T});
    expression_intern(p, &(struct shape){.kind = X_INFINITY, .q = q});
    fmpq_neg(q, q);
    expression_intern(p, &(struct shape){.kind = X_INFINITY, .q = q});
    if (p->failed) {
        expression_pool_free(p);
        return NULL;
    }
    return p;
}

void expression_pool_free(struct expression_pool *p)
{
    if (!p)
        return;
    for (int n = 0; n < p->count; n++) {
        struct expression *x = &p->node[n];
        for (int i = 0; x->weight && i < x->count; i++)
            fmpq_clear(&x->weight[i]);
        fmpq_clear(x->q);
        free(x->weight);
        free(x->child);
    }
    free(p->node);
    free(p->bucket);
    free(p->seen);
    free(p);
}

int expression_number(struct expression_pool *p, const fmpq_t q)
{
    return expression_intern(p, &(struct shape){.kind = X_NUMBER, .q = q});
}

int expression_whole(struct expression_pool *p, const fmpz_t n)
{
    LOCAL(fmpq, q);
    fmpq_set_fmpz(q, n);
    return expression_number(p, q);
}

int expression_ratio(struct expression_pool *p, slong numerator, ulong denominator)
{
    LOCAL(fmpq, q);
    fmpq_set_si(q, numerator, denominator);
    return expression_number(p, q);
}

int expression_leaf(struct expression_pool *p, enum expression_kind kind)
{
    return expression_intern(p, &(struct shape){.kind = kind});
}

/* [1.2] */
int expression_sign(struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    if (x->kind == X_NUMBER || x->kind == X_INFINITY)
        return fmpq_sgn(x->q);
    if (x->kind == X_NAN || x->depends)
        return 2;
    if (x->total && x->sign == 2)
        return 1;
    LOCAL(arb, v);
    for (slong prec = 0; expression_ball(v, p, n, &prec);)
        if (arb_is_finite(v) && arb_is_nonzero(v))
            return arb_is_positive(v) ? 1 : -1;
    return 2;
}
