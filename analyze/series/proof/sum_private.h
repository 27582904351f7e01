/* What partial sums are made of. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SUM_PRIVATE_H
#define REACH_ANALYZE_SERIES_PROOF_SUM_PRIVATE_H

#include "analyze/series/proof/sum.h"

enum { STRIDE = 64 /* one prefix sum is kept of so many */ };

/* Bounds of f on a stretch that is not summed point by point. */
struct panel {
    fmpz_t first, end;
    arb_t term; /* f(t), every t in it */
    arb_t before; /* sum over the panels before it */
};

/* The terms at the distances of one strand, n = 0, 1, 2, ...: a sum over n. */
struct strand {
    int node, first; /* b there, in n; the first with this node, which has */
    struct euler *euler; /* for all of them; NULL: f is 0 there */
};

struct part {
    const struct piece *piece;
    fmpz_t end; /* of what is summed here: the piece's, the limit, or `far` */
    arb_t total, by_euler; /* all of it; what Euler's formula adds */
    arb_t constant; /* PIECE_CONSTANT: f; PIECE_GEOMETRIC: b at 0 */
    arb_t slope; /* PIECE_GEOMETRIC */
    struct evaluator *v; /* PIECE_SMOOTH, PIECE_ROUGH */
    int waves; /* in double */
    ulong points; /* the first of them are summed one by one */
    arb_ptr prefix; /* [points / STRIDE + 1] */
    struct strand *strand; /* [strands] then these, or */
    int strands;
    struct panel *panel; /* [panels] this */
    int panels, capacity;
};

struct sums {
    const struct proof *f;
    slong prec;
    int limited, count, tails;
    struct part *part; /* [count] */
    fmpz_t limit, far;
    arb_t total, tail;
    int unknown; /* a value may be a number, an infinity or none: no sum exists for certain */
    int refused; /* a term is not a number: */
    struct formula_error problem;
};

/* ---- terms of a part (term.c) ---- */

/* f(t), indeterminate where it is not known. */
void part_term(arb_t out, struct sums *s, const struct part *q, const fmpz_t t);
/* sum += f(first + i), i < count; the sum before every STRIDE of them is kept if prefix is not
 * NULL. */
void part_add_points(arb_t sum, struct sums *s, const struct part *q, const fmpz_t first,
                     ulong count, arb_ptr prefix);
/* The sum of the first `count` terms of a geometric piece. */
void part_geometric(arb_t out, const struct sums *s, const struct part *q, const fmpz_t count);

#endif
