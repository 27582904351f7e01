/* Nodes of an expression and the rules that simplify them. */
#include "analyze/series/proof/expression.h"
#include "analyze/series/proof/evaluate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_BITS_MAX = 40000 /* a rational power is worked out up to this size */ };

/* What a node is made of; the pool copies what it keeps. */
struct shape {
    enum expression_kind kind;
    int count;
    const int *child;
    const fmpq *weight;
    const fmpq *q;
};

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
    case X_POSITIVE:
    case X_NONNEGATIVE:
    case X_ZERO: return 1;
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
        return sign == 2 || (e->kind == X_NUMBER && fmpq_sgn(e->q) >= 0 && (sign == 1 || fmpz_is_one(fmpq_denref(e->q))));
    }
    default: return 1;
    }
}

/* A ball that is finite is a proof; that of ln, 1/u or a root of what may be 0 never is. */
static int is_finite_constant(const struct expression_pool *p, int n)
{
    int finite = 0;
    LOCAL(arb, v);
    for (slong prec = 64; prec <= 4096 && !finite; prec *= 4) {
        evaluate_constant(v, p, n, prec);
        finite = arb_is_finite(v);
    }
    return finite;
}

/* Of the node n, the newest of the pool. */
static int is_total(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    for (int i = 0; i < x->count; i++)
        if (!p->node[x->child[i]].total)
            return 0;
    return rule_total(p, x) || ((x->kind == X_LN || x->kind == X_POWER) && !x->depends && is_finite_constant(p, n));
}

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

static int fail(struct expression_pool *p)
{
    p->failed = 1;
    return NODE_NAN;
}

/* The node of that shape, made if there is none. */
static int intern(struct expression_pool *p, const struct shape *s)
{
    if (p->failed)
        return NODE_NAN;
    if (2 * p->count >= p->buckets && rehash(p, p->buckets ? 2 * p->buckets : 256))
        return fail(p);
    uint64_t at = shape_hash(s) % (uint64_t)p->buckets;
    for (; p->bucket[at] >= 0; at = (at + 1) % (uint64_t)p->buckets)
        if (shape_is(s, &p->node[p->bucket[at]]))
            return p->bucket[at];
    if (p->count == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 128;
        struct expression *grown = capacity > POOL_NODES_MAX ? NULL : realloc(p->node, (size_t)capacity * sizeof *grown);
        if (!grown)
            return fail(p);
        p->node = grown;
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
            return fail(p);
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

struct expression_pool *expression_pool_new(void)
{
    struct expression_pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    LOCAL(fmpq, q);
    intern(p, &(struct shape){.kind = X_NAN});
    intern(p, &(struct shape){.kind = X_NUMBER, .q = q});
    fmpq_one(q);
    intern(p, &(struct shape){.kind = X_NUMBER, .q = q});
    intern(p, &(struct shape){.kind = X_T});
    intern(p, &(struct shape){.kind = X_INFINITY, .q = q});
    fmpq_neg(q, q);
    intern(p, &(struct shape){.kind = X_INFINITY, .q = q});
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
    free(p);
}

static enum expression_kind kind_of(const struct expression_pool *p, int n)
{
    return p->node[n].kind;
}

int expression_number(struct expression_pool *p, const fmpq_t q)
{
    return intern(p, &(struct shape){.kind = X_NUMBER, .q = q});
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

static int truth(int value)
{
    return value ? NODE_ONE : NODE_ZERO;
}

int expression_pi(struct expression_pool *p)
{
    return intern(p, &(struct shape){.kind = X_PI});
}

int expression_opaque(struct expression_pool *p)
{
    return intern(p, &(struct shape){.kind = X_OPAQUE});
}

int expression_sign(struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    if (x->kind == X_NUMBER || x->kind == X_INFINITY)
        return fmpq_sgn(x->q);
    if (x->kind == X_NAN || x->depends)
        return 2;
    int sign = 2;
    LOCAL(arb, v);
    for (slong prec = 64; prec <= 4096 && sign == 2; prec *= 4) {
        evaluate_constant(v, p, n, prec);
        sign = !arb_is_finite(v) ? 2 : arb_is_positive(v) ? 1 : arb_is_negative(v) ? -1 : 2;
    }
    return sign;
}

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

static void terms_add(struct expression_pool *p, struct terms *s, int n, const fmpq *weight)
{
    const struct expression *x = &p->node[n];
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

/* Adds up equal terms. Where one may be infinite or not a number somewhere, 0 * u stays, beside what is left of it after u has
 * been taken off: 2 u - u is not a number where u is infinite. */
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
        if (!p->node[n].total && (signs & 2 || signs == 5)) { /* as many as there were at most: two signs are two terms */
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
        return fail(p);
    }
    for (int i = 0; i < count; i++) {
        fmpq_init(&weight[i]);
        if (i < s->count)
            fmpq_set(&weight[i], s->term[i].weight);
        else
            fmpq_one(&weight[i]);
        child[i] = i < s->count ? s->term[i].node : s->infinity > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    }
    result = intern(p, &(struct shape){X_LINEAR, count, child, weight, s->q});
    for (int i = 0; i < count; i++)
        fmpq_clear(&weight[i]);
    free(child);
    free(weight);
    return result;
}

int expression_linear(struct expression_pool *p, const fmpq_t q, int count, const int *node, const fmpq *weight)
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
    int result = expression_linear(p, zero, 1, &a, factor);
    return result;
}

/* ---- products and powers ---- */

static int is_monomial(const struct expression *x) /* weight * child */
{
    return x->kind == X_LINEAR && x->count == 1 && fmpq_is_zero(x->q);
}

int expression_multiply(struct expression_pool *p, int a, int b)
{
    if (kind_of(p, a) == X_NAN || kind_of(p, b) == X_NAN)
        return NODE_NAN;
    if (kind_of(p, b) == X_NUMBER || (kind_of(p, a) != X_NUMBER && is_monomial(&p->node[b]) && !is_monomial(&p->node[a]))) {
        int swap = a;
        a = b;
        b = swap;
    }
    if (kind_of(p, a) == X_NUMBER || is_monomial(&p->node[a])) {
        LOCAL(fmpq, q);
        int number = kind_of(p, a) == X_NUMBER;
        fmpq_set(q, number ? p->node[a].q : &p->node[a].weight[0]);
        int rest = number ? b : expression_multiply(p, p->node[a].child[0], b);
        int result = expression_scale(p, rest, q);
        return result;
    }
    if (kind_of(p, a) == X_INFINITY || kind_of(p, b) == X_INFINITY) {
        int other = kind_of(p, a) == X_INFINITY ? b : a, infinity = other == b ? a : b;
        int sign = p->node[other].depends ? 2 : expression_sign(p, other);
        if (sign != 2)
            return sign == 0                                        ? NODE_NAN
                   : (sign > 0) == (infinity == NODE_PLUS_INFINITY) ? NODE_PLUS_INFINITY
                                                                    : NODE_MINUS_INFINITY;
    }
    if (a == b) {
        return expression_power(p, a, expression_ratio(p, 2, 1));
    }
    const int child[2] = {a < b ? a : b, a < b ? b : a};
    return intern(p, &(struct shape){.kind = X_MULTIPLY, .count = 2, .child = child});
}

/* q^e exactly; 0 if that is no rational, or too large. */
static int rational_power(fmpq_t out, const fmpq_t q, const fmpq_t e)
{
    if (!fmpz_fits_si(fmpq_numref(e)) || fmpz_cmp_ui(fmpq_denref(e), 64) > 0 || fmpq_sgn(q) == 0)
        return 0;
    slong power = fmpz_get_si(fmpq_numref(e)), root = fmpz_get_si(fmpq_denref(e));
    double bits = (double)fmpz_bits(fmpq_numref(q)) + (double)fmpz_bits(fmpq_denref(q));
    if (!(bits * (power < 0 ? -(double)power : (double)power) <= EXACT_BITS_MAX))
        return fmpq_is_one(q) ? (fmpq_one(out), 1) : 0;
    if (root > 1 && fmpq_sgn(q) < 0)
        return 0;
    LOCAL(fmpq, base);
    int exact = 1;
    if (root == 1)
        fmpq_set(base, q);
    else
        exact = fmpz_root(fmpq_numref(base), fmpq_numref(q), root) && fmpz_root(fmpq_denref(base), fmpq_denref(q), root);
    if (exact)
        fmpq_pow_si(out, base, power);
    return exact;
}

/* Whether a node without t is a whole number: 1, 0, or 2 when it cannot be told. */
static int is_whole(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    if (x->kind == X_NUMBER)
        return fmpz_is_one(fmpq_denref(x->q));
    if (x->kind == X_INFINITY)
        return 0;
    int whole = 2;
    LOCAL(arb, v);
    for (slong prec = 64; prec <= 4096 && whole == 2; prec *= 4) {
        evaluate_constant(v, p, n, prec);
        if (arb_is_finite(v) && !arb_contains_int(v))
            whole = 0;
    }
    return whole;
}

/* Powers of 0, of infinities and of negative numbers: IEEE's, but 0 has no sign and a negative base has whole powers only. -1 if
 * this is none. */
static int special_power(struct expression_pool *p, int base, int exponent)
{
    const struct expression *b = &p->node[base], *e = &p->node[exponent];
    if (b->kind == X_NAN || e->kind == X_NAN)
        return NODE_NAN;
    if (e->kind == X_NUMBER && fmpq_is_zero(e->q))
        return b->total || b->kind == X_INFINITY ? NODE_ONE : -1;
    int e_sign = e->depends ? 2 : expression_sign(p, exponent), b_sign = b->depends ? 2 : expression_sign(p, base);
    if (b_sign == -1 && !e->depends) {
        int whole = is_whole(p, exponent);
        if (whole != 1)
            return whole == 0 ? NODE_NAN : -1;
    }
    if (b->kind == X_INFINITY) {
        int odd = e->kind == X_NUMBER && fmpz_is_odd(fmpq_numref(e->q)); /* whole if the base is negative */
        return e_sign == 2                          ? -1
               : e_sign < 0                         ? NODE_ZERO
               : base == NODE_MINUS_INFINITY && odd ? NODE_MINUS_INFINITY
                                                    : NODE_PLUS_INFINITY;
    }
    if (e->kind == X_INFINITY && !b->depends) {
        int above = expression_sign(p, expression_subtract(p, base, NODE_ONE)), sign = expression_sign(p, base);
        if (above == 2 || sign == 2 || sign < 0)
            return -1;
        return above == 0 ? NODE_ONE : (above > 0) == (exponent == NODE_PLUS_INFINITY) ? NODE_PLUS_INFINITY : NODE_ZERO;
    }
    if (b->kind == X_NUMBER && fmpq_is_zero(b->q) && e_sign != 2)
        return e_sign > 0 ? NODE_ZERO : NODE_PLUS_INFINITY;
    if (b->kind == X_NUMBER && fmpq_is_one(b->q) && e->total)
        return NODE_ONE;
    return -1;
}

int expression_power(struct expression_pool *p, int base, int exponent)
{
    int special = special_power(p, base, exponent);
    if (special >= 0)
        return special;
    if (kind_of(p, exponent) == X_NUMBER) {
        const fmpq *e = p->node[exponent].q;
        if (fmpq_is_one(e))
            return base;
        LOCAL(fmpq, q);
        int whole = fmpz_is_one(fmpq_denref(e)), result = -1;
        /* a factor below 0 must not be taken out of 1/0, which has no sign; (0 inf)^0 is not a number */
        int signless = whole && (fmpq_sgn(e) > 0 || (fmpq_sgn(e) < 0 && fmpz_is_even(fmpq_numref(e))));
        const struct expression *b = &p->node[base];
        if (b->kind == X_NUMBER && rational_power(q, b->q, e)) {
            result = expression_number(p, q);
        } else if (is_monomial(b) && fmpq_sgn(e) != 0 && (signless || fmpq_sgn(&b->weight[0]) > 0) &&
                   rational_power(q, &b->weight[0], e)) {
            result = expression_scale(p, expression_power(p, b->child[0], exponent), q);
        } else if (b->kind == X_MULTIPLY && signless && (!p->node[b->child[0]].depends || !p->node[b->child[1]].depends)) {
            int first = b->child[0], second = b->child[1];
            first = expression_power(p, first, exponent);
            result = expression_multiply(p, first, expression_power(p, second, exponent));
        } else if (b->kind == X_POWER && p->node[b->child[1]].kind == X_NUMBER && p->node[b->child[0]].sign == 2) {
            int inner = b->child[0];
            fmpq_mul(q, e, p->node[b->child[1]].q);
            result = expression_power(p, inner, expression_number(p, q));
        }
        if (result >= 0)
            return result;
    }
    return intern(p, &(struct shape){.kind = X_POWER, .count = 2, .child = (const int[]){base, exponent}});
}

/* ---- functions ---- */

/* X_POSITIVE, X_NONNEGATIVE, X_ZERO of a sign -1, 0, 1. */
static int test_sign(enum expression_kind kind, int sign)
{
    return truth(kind == X_POSITIVE ? sign > 0 : kind == X_NONNEGATIVE ? sign >= 0 : sign == 0);
}

/* Largest whole number that is not above a constant; 0 if it cannot be told. */
static int constant_floor(fmpz_t out, struct expression_pool *p, int n)
{
    int found = 0;
    LOCAL(arb, v);
    for (slong prec = 128; prec <= 8192 && !found; prec *= 4) {
        evaluate_constant(v, p, n, prec);
        arb_floor(v, v, prec);
        found = arb_is_finite(v) && arf_cmpabs_2exp_si(arb_midref(v), EXACT_BITS_MAX) < 0 && arb_get_unique_fmpz(out, v);
    }
    return found;
}

/* The value of a function at a special argument, or -1. */
static int special_value(struct expression_pool *p, enum expression_kind kind, int a)
{
    const struct expression *x = &p->node[a];
    int result = -1, infinite = x->kind == X_INFINITY;
    if (x->kind == X_NAN)
        return NODE_NAN;
    switch (kind) {
    case X_LN:
        if (x->kind == X_EXP)
            return x->child[0];
        if (x->kind == X_NUMBER && fmpq_is_one(x->q))
            return NODE_ZERO;
        if (x->kind == X_NUMBER && fmpq_sgn(x->q) <= 0)
            return fmpq_sgn(x->q) == 0 ? NODE_MINUS_INFINITY : NODE_NAN;
        if (!infinite && !x->depends && expression_sign(p, a) == -1)
            return NODE_NAN;
        return !infinite ? -1 : a == NODE_PLUS_INFINITY ? a : NODE_NAN;
    case X_EXP:
        if (a == NODE_ZERO)
            return NODE_ONE;
        return !infinite ? -1 : a == NODE_PLUS_INFINITY ? a : NODE_ZERO;
    case X_SIN:
    case X_COS:
        if (a == NODE_ZERO)
            return kind == X_SIN ? NODE_ZERO : NODE_ONE;
        return infinite ? NODE_NAN : -1;
    case X_ABS: {
        int sign = x->depends ? 2 : expression_sign(p, a);
        if (infinite)
            return NODE_PLUS_INFINITY;
        return sign == 2 ? -1 : sign >= 0 ? a : expression_subtract(p, NODE_ZERO, a);
    }
    case X_FRACTION: {
        if (infinite) /* floor leaves infinities as they are */
            return NODE_ZERO;
        LOCAL(fmpq, q);
        LOCAL(fmpz, floor);
        if (x->kind == X_NUMBER) {
            fmpz_fdiv_r(fmpq_numref(q), fmpq_numref(x->q), fmpq_denref(x->q));
            fmpz_set(fmpq_denref(q), fmpq_denref(x->q));
            fmpq_canonicalise(q);
            result = expression_number(p, q);
        } else if (!x->depends && constant_floor(floor, p, a)) {
            fmpq_set_fmpz(q, floor);
            result = expression_subtract(p, a, expression_number(p, q));
        }
        return result;
    }
    default: return -1;
    }
}

int expression_unary(struct expression_pool *p, enum expression_kind kind, int a)
{
    int special = special_value(p, kind, a);
    return special >= 0 ? special : intern(p, &(struct shape){.kind = kind, .count = 1, .child = &a});
}

/* expression_compare with difference = a - b, of which more may be known. */
static int compare(struct expression_pool *p, enum expression_kind kind, int difference, int a, int b)
{
    const struct expression *x = &p->node[a], *y = &p->node[b];
    if (x->kind == X_NAN || y->kind == X_NAN)
        return NODE_NAN;
    if (x->kind == X_INFINITY && y->kind == X_INFINITY)
        return test_sign(kind, fmpq_cmp(x->q, y->q));
    int sign = p->node[difference].depends ? 2 : expression_sign(p, difference);
    if (sign != 2)
        return test_sign(kind, sign);
    int apart = x->total || y->total; /* they are not the same infinity */
    return intern(p, &(struct shape){.kind = kind, .count = apart ? 1 : 3, .child = (const int[]){difference, a, b}});
}

int expression_compare(struct expression_pool *p, enum expression_kind kind, int a, int b)
{
    return compare(p, kind, expression_subtract(p, a, b), a, b);
}

int expression_floor(struct expression_pool *p, int a)
{
    return kind_of(p, a) == X_INFINITY ? a : expression_subtract(p, a, expression_unary(p, X_FRACTION, a));
}

static int extremum(struct expression_pool *p, enum expression_kind kind, int a, int b)
{
    int infinity = kind_of(p, a) == X_INFINITY ? a : kind_of(p, b) == X_INFINITY ? b : -1, other = infinity == a ? b : a;
    if (kind_of(p, a) == X_NAN || kind_of(p, b) == X_NAN)
        return NODE_NAN;
    if (a == b)
        return a;
    if (infinity >= 0 && (p->node[other].total || kind_of(p, other) == X_INFINITY))
        return (kind == X_MIN) == (infinity == NODE_MINUS_INFINITY) ? infinity : other;
    int difference = expression_subtract(p, a, b), sign = p->node[difference].depends ? 2 : expression_sign(p, difference);
    if (sign != 2 && infinity < 0)
        return (kind == X_MIN) == (sign < 0) ? a : b;
    return intern(p, &(struct shape){.kind = kind, .count = 3, .child = (const int[]){a, b, difference}});
}

int expression_min(struct expression_pool *p, int a, int b)
{
    return extremum(p, X_MIN, a, b);
}

int expression_max(struct expression_pool *p, int a, int b)
{
    return extremum(p, X_MAX, a, b);
}

int expression_choose(struct expression_pool *p, int condition, int then, int otherwise)
{
    if (kind_of(p, condition) == X_NAN)
        return NODE_NAN;
    int sign = p->node[condition].depends ? 2 : expression_sign(p, condition);
    if (sign != 2)
        return sign != 0 ? then : otherwise;
    if (then == otherwise && p->node[condition].total)
        return then;
    return intern(p, &(struct shape){.kind = X_CHOOSE, .count = 3, .child = (const int[]){condition, then, otherwise}});
}

int expression_rebuild(struct expression_pool *p, const struct expression *like, const int *child)
{
    switch (like->kind) {
    case X_NUMBER: return expression_number(p, like->q);
    case X_PI: return expression_pi(p);
    case X_INFINITY: return fmpq_sgn(like->q) > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    case X_NAN: return NODE_NAN;
    case X_T: return NODE_T_ITSELF;
    case X_OPAQUE: return expression_opaque(p);
    case X_LINEAR: return expression_linear(p, like->q, like->count, child, like->weight);
    case X_MULTIPLY: return expression_multiply(p, child[0], child[1]);
    case X_POWER: return expression_power(p, child[0], child[1]);
    case X_MIN: return expression_min(p, child[0], child[1]);
    case X_MAX: return expression_max(p, child[0], child[1]);
    case X_CHOOSE: return expression_choose(p, child[0], child[1], child[2]);
    case X_POSITIVE:
    case X_NONNEGATIVE:
    case X_ZERO:
        return like->count == 1 ? compare(p, like->kind, child[0], child[0], NODE_ZERO)
                                : compare(p, like->kind, child[0], child[1], child[2]);
    default: return expression_unary(p, like->kind, child[0]);
    }
}
