/* One head's series: where its bias has which smooth form, whether the sum converges, bounds of its tails. Private to this
 * folder. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SUMMAND_H
#define REACH_ANALYZE_SERIES_PROOF_SUMMAND_H

#include "analyze/series.h"
#include "analyze/series/proof/growth.h"

enum piece_kind {
    PIECE_ZERO, /* b = -inf */
    PIECE_CONSTANT,
    PIECE_GEOMETRIC, /* b affine in t, with a slope that is not 0 */
    PIECE_SMOOTH, /* no kinks, defined and analytic around every t of the piece */
    PIECE_ROUGH /* kinks that could not be resolved: summed point by point */
};

/* Distances first <= t < end on which the bias is the expression `root`. */
struct piece {
    enum piece_kind kind;
    fmpz_t first, end;
    int unbounded; /* there is no end: the last piece */
    int root;
    int defined; /* proved to be a number at every t of the piece */
};

enum tail_kind { TAIL_NONE, TAIL_ZERO, TAIL_GEOMETRIC, TAIL_POWER, TAIL_GROWTH };

struct series_summand {
    const struct formula *formula;
    struct formula_point at;
    struct expression_pool *pool;
    fmpz_t shift; /* whole number taken off the bias, so that the largest terms are near 1 */
    int root; /* the bias less the shift */
    struct piece *piece;
    int pieces, capacity;
    enum series_verdict verdict;
    enum tail_kind tail; /* how the tail was proved to converge */
    fmpz_t tail_from; /* the proof holds from this distance on */
    int wild; /* the last piece is smooth, but Euler-Maclaurin's formula does not converge on it */
    int decreasing; /* f is proved not to grow from decreasing_from on */
    fmpz_t decreasing_from;
    struct growth *growth; /* TAIL_GROWTH: the form that holds from tail_from on */
    char *proof;
    int references;
};

/* ---- pieces (pieces.c) ---- */

/* Splits [0, inf) into pieces. 0, or -1 with *e: a bias that is not a number or +inf, memory. */
int summand_split(struct series_summand *f, struct formula_error *e);

/* ---- verdict and tails (tail.c) ---- */

/* Decides the verdict from the last piece and writes the proof. 0, or -1 with *e: no mass at all, memory. */
int summand_decide(struct series_summand *f, struct formula_error *e);
/* Bounds of the sum of f over all t >= from, as a ball; from is a whole number within the last piece, possibly far beyond any
 * machine word. Converging heads only; indeterminate where nothing is known, as may be the case before tail_from. */
void tail_sum(arb_t out, const struct series_summand *f, const arb_t from, slong prec);
/* Adds a line to the proof. */
void prove(struct series_summand *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- antiderivatives (antiderivative.c) ---- */

/* G with G' = -f where b has a form whose integral is known; *vanishes: G tends to 0. 1, or 0 if there is none. */
int antiderivative(arb_t out, int *vanishes, const struct series_summand *f, int root, const arb_t t, slong prec);

/* 1 if b = c - ln(1 + (k t)^2); then k. */
int is_type1(arb_t k, const struct series_summand *f, int root, slong prec);

/* The value of b at a whole t as an expression without t (a node of `to`), whatever the kinks. NODE_NAN if it is no number; where
 * expression_is_known does not hold it may be one, an infinity, or none. */
int summand_value(struct expression_pool *to, const struct series_summand *f, int root, const fmpz_t t);

#endif
