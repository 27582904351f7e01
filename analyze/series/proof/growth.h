/* Logarithmic growth: exp(b(t)) = t^a0 (ln t)^a1 (ln ln t)^a2 ... * exp(rest) for all t >= X, with
 * rational exponents and a bounded rest, or one of the two bounds, whichever decides. This is the
 * scale of Bertrand's series; exp(weight y^power), y one of ln t, ln ln t, ..., may be a factor. */
#ifndef REACH_ANALYZE_SERIES_PROOF_GROWTH_H
#define REACH_ANALYZE_SERIES_PROOF_GROWTH_H

#include "analyze/series/proof/scale.h"

enum { GROWTH_LEVELS = SCALE_LEVELS - 1 };

enum { BELOW, ABOVE, SIDES };

struct growth {
    const struct expression_pool *p; /* of b */
    fmpq exponent[SIDES][GROWTH_LEVELS]; /* of t, ln t, ln ln t, ... in the bound from that side:
                                          * the same but where b has a coefficient that is not
                                          * rational, or varies: */
    int apart; /* they are not the same */
    int stretched; /* y is this many logarithms of t; 0: no such factor */
    arb_t weight; /* < 0 */
    fmpq_t power; /* > 0 */
    mpfi_t remainder; /* the lower end may be -infinity, the upper one infinity */
    fmpz_t from; /* X */
    int verdict; /* of the sum over t: -1: it converges, 1: it diverges */
};

/* Of exp(b), b the node `root`, from X >= 1 on. NULL: nothing is decided, or memory. */
struct growth *growth_new(struct expression_pool *p, int root, const fmpz_t from);
void growth_free(struct growth *g);
/* Bounds of the sum over all t >= from of a converging growth; from >= g->from. */
void growth_tail(arb_t out, const struct growth *g, const arb_t from, slong prec);
/* "t^-1 (ln t)^-2", "t^-1 exp(-2 (ln t)^(1/2))". */
void growth_text(char *text, size_t size, const struct growth *g);

#endif
