/* Sums kept as q + sum of weight * node, so that what cancels does cancel. */
#include "analyze/series/proof/evaluate.h"
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

/* Of adding to a number with so many bits, squared. */
static const double LONG_WORK = 5e-8;

static void terms_add(struct expression_pool *p, struct terms *s, int n, const fmpq *weight)
{
    const struct expression *x = &p->node[n];
    double bits = (double)fmpz_bits(fmpq_denref(s->q));
    work_done += LONG_WORK * bits * bits;
    p->failed |= work_done > p->end;
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

/* [1.1] q + w / (c + v) with q c = -w is q v / (c + v), which does not cancel where v tends to 0: 1 - 1/(1 + exp(-t)). v must be
 * a number. -1: it is no such sum. */
static int one_fraction(struct expression_pool *p, const struct terms *s)
{
    int fraction = s->term[0].node;
    const struct expression *x = &p->node[fraction];
    if (s->count != 1 || s->infinity || fmpq_is_zero(s->q) || x->kind != X_POWER)
        return -1;
    int base = x->child[0];
    const struct expression *u = &p->node[base], *power = &p->node[x->child[1]];
    if (u->kind != X_LINEAR || !u->total || power->kind != X_NUMBER || fmpq_cmp_si(power->q, -1) != 0)
        return -1;
    LOCAL(fmpq, c, sum);
    fmpq_set(c, u->q);
    fmpq_mul(sum, c, s->q);
    fmpq_add(sum, sum, s->term[0].weight);
    if (fmpq_is_zero(c) || !fmpq_is_zero(sum))
        return -1;
    int v = expression_subtract(p, base, expression_number(p, c));
    return expression_multiply(p, expression_scale(p, v, s->q), fraction);
}

/* [1.1] q - q cos(u) is 2 q sin(u/2)^2, which does not cancel where u tends to 0: u is no line, whose cosine is a wave. -1: it is
 * no such sum. */
static int one_less_cosine(struct expression_pool *p, const struct terms *s)
{
    const struct expression *x = &p->node[s->term[0].node];
    LOCAL(arb, shift, slope);
    LOCAL(fmpq, sum, half);
    fmpq_add(sum, s->q, s->term[0].weight);
    if (s->count != 1 || s->infinity || x->kind != X_COS || !fmpq_is_zero(sum) ||
        evaluate_affine(shift, slope, p, x->child[0], 64))
        return -1;
    fmpq_set_si(half, 1, 2);
    int sine = expression_unary(p, X_SIN, expression_scale(p, x->child[0], half));
    fmpq_add(sum, s->q, s->q);
    return expression_scale(p, expression_power(p, sine, expression_ratio(p, 2, 1)), sum);
}

/* 1 if a node is a square root that is a number at every t. */
static int is_root(const struct expression_pool *p, int n)
{
    const struct expression *x = &p->node[n];
    return x->kind == X_POWER && x->total && p->node[x->child[1]].kind == X_NUMBER &&
           fmpz_is_one(fmpq_numref(p->node[x->child[1]].q)) && fmpz_equal_ui(fmpq_denref(p->node[x->child[1]].q), 2);
}

/* A term that is a square root, and what of u in u^(1/2) has t: alike for all of those between which there is one number. */
struct root {
    int term, count;
    const int *child;
    const fmpq *weight; /* NULL: 1 */
    int own; /* the child where u is no sum */
    fmpq q;
};

static int by_base(const struct root *x, const struct root *y)
{
    LOCAL(fmpq, one);
    fmpq_one(one);
    int order = x->count - y->count;
    for (int i = 0; i < x->count && !order; i++) {
        int u = x->weight ? x->child[i] : x->own, v = y->weight ? y->child[i] : y->own;
        order = u != v ? (u > v) - (u < v) : fmpq_cmp(x->weight ? &x->weight[i] : one, y->weight ? &y->weight[i] : one);
    }
    return order;
}

static int by_base_and_number(const void *a, const void *b)
{
    int order = by_base(a, b);
    return order ? order : fmpq_cmp(&((const struct root *)a)->q, &((const struct root *)b)->q);
}

/* The square roots among the terms, those alike beside each other. NULL: there are none, or no memory. */
static struct root *roots_of(int *count, struct expression_pool *p, const struct terms *s)
{
    struct root *root = malloc((size_t)s->count * sizeof *root);
    *count = 0;
    for (int i = 0; root && i < s->count; i++) {
        if (!is_root(p, s->term[i].node))
            continue;
        int base = p->node[s->term[i].node].child[0];
        const struct expression *u = &p->node[base];
        int linear = u->kind == X_LINEAR;
        root[(*count)++] = (struct root){i,    linear ? u->count : 1, linear ? u->child : NULL, linear ? u->weight : NULL, base,
                                         *u->q};
    }
    if (root)
        qsort(root, (size_t)*count, sizeof *root, by_base_and_number);
    return root;
}

/* [1.1] w u^(1/2) - w v^(1/2), u - v one number d, becomes w d / (u^(1/2) + v^(1/2)), which does not cancel; where the weights
 * differ, as much as there is of both. 1 if there was such a pair. */
static int join_roots(struct expression_pool *p, struct terms *s)
{
    int count, found = 0;
    LOCAL(fmpq, w, d);
    if (s->count < 2)
        return 0;
    struct root *root = roots_of(&count, p, s);
    for (int i = 0, left = 0; root && i < count; i++) { /* from there on those alike before it, of one sign or used up */
        fmpq *one = s->term[root[i].term].weight;
        if (by_base(&root[left], &root[i]))
            left = i;
        while (left < i && fmpq_sgn(one)) {
            fmpq *other = s->term[root[left].term].weight;
            if (fmpq_sgn(one) * fmpq_sgn(other) > 0)
                break;
            if (fmpq_is_zero(other)) {
                left++;
                continue;
            }
            fmpq_add(d, one, other);
            if (fmpq_sgn(d) == fmpq_sgn(one)) { /* there is more of it than of the other */
                fmpq_neg(w, other);
                fmpq_set(one, d);
                fmpq_zero(other);
            } else {
                fmpq_set(w, one);
                fmpq_set(other, d);
                fmpq_zero(one);
            }
            fmpq_sub(d, &root[i].q, &root[left].q);
            fmpq_mul(w, w, d);
            int sum = expression_add(p, s->term[root[i].term].node, s->term[root[left].term].node);
            terms_add(p, s, expression_power(p, sum, expression_ratio(p, -1, 1)), w);
            one = s->term[root[i].term].weight; /* the terms may have moved */
            found = 1;
        }
    }
    free(root);
    return found;
}

/* u = a^2 t^2 + 2 a c t + q, a > 0, c and q >= 0, not both 0: a, c, and q - c^2, which is not 0. 1, or 0: it is none. */
static int square_of(fmpq_t a, fmpq_t c, fmpq_t d, struct expression_pool *p, int u)
{
    int square = expression_power(p, NODE_T_ITSELF, expression_ratio(p, 2, 1));
    const struct expression *x = &p->node[u];
    LOCAL(fmpq, s, w, q);
    if (x->kind != X_LINEAR)
        return 0;
    for (int i = 0; i < x->count; i++) {
        if (x->child[i] != square && x->child[i] != NODE_T_ITSELF)
            return 0;
        fmpq_set(x->child[i] == square ? s : w, &x->weight[i]);
    }
    fmpq_set(q, x->q);
    if (fmpq_sgn(s) <= 0 || fmpq_sgn(w) < 0 || fmpq_sgn(q) < 0 || !fmpz_is_square(fmpq_numref(s)) ||
        !fmpz_is_square(fmpq_denref(s)))
        return 0;
    fmpz_sqrt(fmpq_numref(a), fmpq_numref(s));
    fmpz_sqrt(fmpq_denref(a), fmpq_denref(s));
    fmpq_div(c, w, a);
    fmpq_div_2exp(c, c, 1);
    fmpq_mul(d, c, c);
    fmpq_sub(d, q, d);
    return !fmpq_is_zero(d) && (fmpq_sgn(q) > 0 || fmpq_sgn(c) > 0);
}

/* [1.1] w u^(1/2) - w (a t + c), with u as above, becomes w d / (u^(1/2) + a t + c); as much as there is of both. 1 if there was
 * such a pair. */
static int join_root_and_line(struct expression_pool *p, struct terms *s)
{
    LOCAL(fmpq, a, c, d, w, part);
    for (int j = 0; j < s->count; j++)
        for (int i = 0; i < s->count && s->term[j].node == NODE_T_ITSELF; i++) {
            int root = s->term[i].node;
            if (!is_root(p, root) || fmpq_sgn(s->term[i].weight) * fmpq_sgn(s->term[j].weight) >= 0 ||
                !square_of(a, c, d, p, p->node[root].child[0]))
                continue;
            fmpq_div(w, s->term[j].weight, a);
            fmpq_neg(w, w); /* as much of the root as there is of the line */
            fmpq_sub(part, w, s->term[i].weight); /* both have one sign */
            if (fmpq_sgn(part) == fmpq_sgn(w))
                fmpq_set(w, s->term[i].weight);
            fmpq_sub(s->term[i].weight, s->term[i].weight, w);
            fmpq_mul(part, w, a);
            fmpq_add(s->term[j].weight, s->term[j].weight, part);
            fmpq_addmul(s->q, w, c);
            int line = expression_add(p, expression_scale(p, NODE_T_ITSELF, a), expression_number(p, c));
            fmpq_mul(w, w, d);
            terms_add(p, s, expression_power(p, expression_add(p, root, line), expression_ratio(p, -1, 1)), w);
            return 1;
        }
    return 0;
}

static int terms_node(struct expression_pool *p, struct terms *s)
{
    int total = 1, result = NODE_NAN;
    terms_collect(p, s);
    while (join_roots(p, s) || join_root_and_line(p, s))
        terms_collect(p, s);
    int fraction = s->count ? one_fraction(p, s) : -1;
    if (fraction < 0 && s->count)
        fraction = one_less_cosine(p, s);
    if (fraction >= 0)
        return fraction;
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
        child[i] = i < s->count ? s->term[i].node : s->infinity > 0 ? NODE_PLUS_INFINITY : NODE_MINUS_INFINITY;
    }
    result = expression_intern(p, &(struct shape){X_LINEAR, count, child, weight, s->q});
    for (int i = 0; i < count; i++)
        fmpq_clear(&weight[i]);
    free(child);
    free(weight);
    return result;
}

/* [1.1] */
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
    return expression_linear(p, zero, 1, &a, factor);
}
