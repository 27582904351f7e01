/* Logarithmic growth: u(t) = t^a0 (ln t)^a1 (ln ln t)^a2 ... * exp(rest) for all t >= X, with exact exponents and a bounded rest.
 * This is the scale of Bertrand's series, on which convergence is decided where the power of t is exactly -1. */
#ifndef REACH_ANALYZE_SERIES_PROOF_GROWTH_H
#define REACH_ANALYZE_SERIES_PROOF_GROWTH_H

#include "analyze/series/proof/range.h"

enum { GROWTH_LEVELS = 5 };

struct growth {
    fmpq_t exponent[GROWTH_LEVELS]; /* of t, ln t, ln ln t, ... */
    mpfi_t rest;
    fmpz_t from; /* X */
};

/* The growth of exp(b), b the node `root`, from X on. NULL if it has no such form (or memory is short). Caller frees. */
struct growth *growth_new(const struct expression_pool *p, int root, const fmpz_t from);
void growth_free(struct growth *g);
/* -1: the sum over t converges, 1: it diverges (exp(b) is bounded by the growth from above and below). */
int growth_verdict(const struct growth *g);
/* Bounds of the sum over all t >= from of a converging growth; from >= g->from. */
void growth_tail(arb_t out, const struct growth *g, const arb_t from, slong prec);
/* "t^-1 (ln t)^-2". */
void growth_text(char *text, size_t size, const struct growth *g);

#endif
