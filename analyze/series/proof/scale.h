/* A function as a short sum on the scale of logarithms and exponentials: for all t >= X,
 *
 *   u(t) = sum of coefficient[i] * exp(t)^a0 t^a1 (ln t)^a2 (ln ln t)^a3 ... + rest(t) * one more
 * such monomial,
 *
 * with exact coefficients (nodes without t) and exponents (rational), and rest(t) within an
 * interval. Terms fall: each over the one before it tends to 0, and falls from X on where that
 * matters. What cancels in exact terms does cancel. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SCALE_H
#define REACH_ANALYZE_SERIES_PROOF_SCALE_H

#include "analyze/series/proof/expression.h"

enum { SCALE_LEVELS = 6, SCALE_TERMS = 8, SCALE_PREC = 128 };

/* Exponents of exp(t), t, ln t, ln ln t, ...: of levels 0, 1, 2, ... */
struct monomial {
    fmpq a[SCALE_LEVELS];
};

struct scaled {
    int count;
    struct monomial of[SCALE_TERMS + 1]; /* decreasing */
    int coefficient[SCALE_TERMS + 1];
    int rough; /* there is a rest; its monomial is below those of the terms */
    struct monomial at;
    mpfi_t remainder; /* an end may be infinite */
    int masked; /* u may also be less at some t, down to -inf */
};

/* [X, inf) */
struct scale {
    struct expression_pool *p;
    mpfi_t level[SCALE_LEVELS + 1]; /* at X; that of exp(t) is not kept */
    int levels; /* up to this one they are positive from X on */
    mpfr_prec_t prec;
    struct scaled **made; /* [count] of each node, so far */
    signed char *known; /* [count] 1: made, -1: there is none */
    int count;
};

/* 0, or -1 when memory runs out. */
int scale_init(struct scale *g, struct expression_pool *p, int root, const fmpz_t X);
void scale_clear(struct scale *g);

/* ---- monomials ---- */

int monomial_compare(const struct monomial *a, const struct monomial *b);
/* How it compares to 1 far out. */
int monomial_sign(const struct monomial *a);
/* m = level^1 */
void monomial_level(struct monomial *m, int level);
void monomial_init(struct monomial *m);
void monomial_leave(struct monomial *m);
#define LOCAL_MONOMIAL(...) LOCAL_EACH(MONOMIAL_ONE, 0, __VA_ARGS__)
#define MONOMIAL_ONE(unused, m) \
    struct monomial m __attribute__((cleanup(monomial_leave))); \
    monomial_init(&(m))
/* a *= b^q, q NULL: 1 */
void monomial_multiply(struct monomial *a, const struct monomial *b, const fmpq *q);
/* m falls from X on, towards 0: out = [0, m(X)]. 1, or 0 if that is not shown. */
int monomial_fades(mpfi_t out, const struct scale *g, const struct monomial *m);

/* ---- arithmetic; 1, or 0 where it cannot be told (from X on) ---- */

void scaled_init(struct scaled *u, mpfr_prec_t prec);
void scaled_leave(struct scaled *u);
#define LOCAL_SCALED(g, ...) LOCAL_EACH(SCALED_ONE, g, __VA_ARGS__)
#define SCALED_ONE(g, u) \
    struct scaled u __attribute__((cleanup(scaled_leave))); \
    scaled_init(&(u), (g)->prec)
void scaled_set(struct scaled *u, const struct scaled *v);
/* Without its first term. */
void scaled_shift(struct scaled *u);
/* u += coefficient * m */
int scaled_add_term(struct scale *g, struct scaled *u, const struct monomial *m, int coefficient);
/* u += something within c, times m */
int scaled_add_remainder(struct scale *g, struct scaled *u, const struct monomial *m,
                         const mpfi_t c);
/* u += coefficient * m * v */
int scaled_addmul(struct scale *g, struct scaled *u, const struct scaled *v,
                  const struct monomial *m, int coefficient);
int scaled_multiply(struct scale *g, struct scaled *out, const struct scaled *u,
                    const struct scaled *v);
/* u is within c, times its leading monomial. */
int scaled_collapse(mpfi_t c, struct monomial *m, struct scale *g, const struct scaled *u);
/* Sign of u for all t >= X: 1, -1 (strict), 0, 2 not known yet, 3 it may change or touch 0. */
int scaled_sign(struct scale *g, const struct scaled *u);
/* Terms above 1, and the others. */
int scaled_large(struct scaled *large, struct scaled *low, struct scale *g, const struct scaled *u);
/* u within an interval, an end of which may be infinite. */
int scaled_bounds(mpfi_t out, struct scale *g, const struct scaled *u);

/* ---- of expressions (scale_function.c) ---- */

/* Node n on [X, inf), where it is a number (or -inf) at every t then. */
int scaled_of(struct scaled *out, struct scale *g, int n);

#endif
