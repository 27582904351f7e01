/* The bias of one head as an expression in t alone: parameters, head and sums are written out,
 * rational arithmetic is done exactly, equal parts are one node. Rewriting keeps the value at every
 * whole t >= 0, infinities and not-a-number included. */
#ifndef REACH_ANALYZE_SERIES_PROOF_EXPRESSION_H
#define REACH_ANALYZE_SERIES_PROOF_EXPRESSION_H

#include "analyze/formula.h"
#include "analyze/series/proof/numbers.h"
#include "analyze/series/proof/budget.h"

enum expression_kind {
    X_NAN,
    X_NUMBER,
    X_INFINITY,
    X_PI,
    X_T,
    X_LINEAR, /* q + sum of weight[i] * child[i] */
    X_MULTIPLY,
    X_POWER, /* two children */
    X_LN,
    X_EXP,
    X_SIN,
    X_COS,
    X_ABS,
    X_FRACTION, /* u - floor(u); floor(u) is u - fraction(u), so that what is linear in u cancels */
    X_NONNEGATIVE, /* 1 if child[0] >= 0, else 0. With three, child[0] = child[1] - child[2], which
                    * may be the same infinity: then child[0] is not a number. */
    X_CHOOSE, /* condition (0 or not), then, else */
    X_OPAQUE /* a sum whose bounds depend on t: has a value at a given t only */
};

enum {
    NODE_NAN = 0,
    NODE_ZERO = 1,
    NODE_ONE = 2,
    NODE_T_ITSELF = 3,
    NODE_PLUS_INFINITY = 4,
    NODE_MINUS_INFINITY = 5
}; /* nodes of every pool */

static inline int expression_is_elementary(enum expression_kind kind)
{
    return kind >= X_POWER && kind <= X_COS;
}

struct expression {
    enum expression_kind kind;
    int count; /* children */
    int *child; /* [count] indices below this node's */
    fmpq *weight; /* [count] X_LINEAR; 0 * u is kept where u may be infinite or not a number */
    fmpq_t q; /* X_NUMBER: its value; X_LINEAR: the constant */
    unsigned depends : 1; /* on t */
    unsigned kinked : 1; /* holds a kind from X_ABS on that depends on t */
    unsigned total : 1; /* proved to be a finite real for every real t >= 0 (that of a node without
                           t: proved to be one) */
    unsigned opaque : 1; /* holds X_OPAQUE */
    unsigned sign : 2; /* 1: >= 0 wherever it has a value, 2: > 0 where all it is made of is a
                          number, too (exp(-inf) is 0), 0: not known */
};

/* Nodes; children come before their parents. Grows only. */
struct expression_pool {
    struct expression *node;
    int count, capacity;
    int *bucket; /* hash of what is there already */
    int buckets;
    unsigned long *seen; /* [capacity + 1] by the last walk, whose number comes first */
    int failed; /* memory ran out or a limit was passed: results are meaningless */
    struct budget *budget; /* what is computed of its nodes is counted there */
    double end; /* of that count: beyond it nothing is made */
};

enum { POOL_NODES_MAX = 400000 };

/* NULL: memory. The budget must outlive it, or be replaced. */
struct expression_pool *expression_pool_new(struct budget *budget);
void expression_pool_free(struct expression_pool *p);

/* Constructors: simplify, and return the node's index. */
int expression_number(struct expression_pool *p, const fmpq_t q);
int expression_whole(struct expression_pool *p, const fmpz_t n);
int expression_ratio(struct expression_pool *p, slong numerator, ulong denominator);
/* X_PI or X_OPAQUE. */
int expression_leaf(struct expression_pool *p, enum expression_kind kind);
/* q + sum of weight[i] * node[i]. */
int expression_linear(struct expression_pool *p, const fmpq_t q, int count, const int *node,
                      const fmpq *weight);
int expression_add(struct expression_pool *p, int a, int b);
int expression_subtract(struct expression_pool *p, int a, int b);
int expression_scale(struct expression_pool *p, int a, const fmpq_t factor);
int expression_multiply(struct expression_pool *p, int a, int b);
int expression_power(struct expression_pool *p, int base, int exponent);
/* X_LN ... X_FRACTION. */
int expression_unary(struct expression_pool *p, enum expression_kind kind, int a);
/* 1 where a >= b, else 0. */
int expression_at_least(struct expression_pool *p, int a, int b);
int expression_floor(struct expression_pool *p, int a);
int expression_choose(struct expression_pool *p, int condition, int then, int otherwise);
/* The smaller of a and b, or the larger: the choice by a >= b. */
int expression_extremum(struct expression_pool *p, int larger, int a, int b);
/* A node of that kind with other children (as many as it has): the constructor of its kind. */
int expression_rebuild(struct expression_pool *p, const struct expression *like, const int *child);

/* 1 if a node is q + w t, w not 0. */
int expression_in_t(fmpq_t w, fmpq_t q, const struct expression_pool *p, int n);
/* The weight of t itself in n, a sum or t; 1 if nothing else there depends on it. */
int expression_weight_of_t(fmpq_t w, const struct expression_pool *p, int n);
/* 1 if a node is a whole number wherever it is a number, at whole t. */
int expression_is_whole(struct expression_pool *p, int n);
/* 1 if a node without t is known to be a number, an infinity or neither; ln of what may be 0: 0. */
int expression_is_known(const struct expression_pool *p, int n);
/* Sign of a node without t: -1, 0, 1; 2 if it cannot be told, or is not a number. */
int expression_sign(struct expression_pool *p, int n);

/* The bias of the head in `at`, with `t` not NULL at that t. -1 with *e: memory, too large. */
int expression_build(struct expression_pool *p, const struct formula *f,
                     const struct formula_point *at, const fmpz *t, struct formula_error *e);
/* Node n of `from` with node t of `to` for t, in the pool `to` (which may be the same). */
int expression_replace(struct expression_pool *to, const struct expression_pool *from, int n,
                       int t);
/* Node n of `from` with a whole number for t, in the pool `to` (which may be the same). */
int expression_substitute(struct expression_pool *to, const struct expression_pool *from, int n,
                          const fmpz_t t);

/* The roots and all nodes below them, in order. NULL: memory. Caller frees. */
int *expression_below(int *count, const struct expression_pool *p, const int *root, int roots);

/* The value of a node that does not depend on t (step.c). */
void evaluate_constant(arb_t out, const struct expression_pool *p, int n, slong prec);

/* Exact value of an unsigned or signed decimal as the formula language writes it. */
void decimal_exact(fmpq_t q, const char *decimal);

#endif
