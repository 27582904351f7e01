/* What is summed: f(t) = exp(b(t)) for one bias b, in which pieces, whether the sum converges,
 * bounds of its tail. All of this is believed: what the search (analyze/series/search) proposes,
 * where to cut and from where on a rule may hold, is proved here or has no effect. [N.M] above a
 * function is the rule of doc/series.md that it applies. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SUMMAND_H
#define REACH_ANALYZE_SERIES_PROOF_SUMMAND_H

#include "analyze/series.h"
#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/range.h"

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

/* b at the distances of one strand as an expression in n, from some n on. */
struct residue {
    int node, first; /* the first with this node, which alone has growths */
    struct growth *growth; /* NULL: f is 0 there */
    struct growth *closer; /* the same from a later n on, for the last tail */
};

struct series_summand {
    const struct formula *formula;
    struct formula_point at;
    struct expression_pool *pool;
    fmpz_t shift; /* whole number taken off the bias, so that the largest terms are near 1 */
    int root; /* the bias less the shift */
    struct piece *piece; /* [pieces] each begins where the one before it ends */
    int pieces, capacity;
    enum series_verdict
        claim; /* what a rule gives for the last piece, if the bias is a number or -inf before it */
    enum series_verdict verdict;
    enum tail_kind tail; /* how the tail was proved to converge */
    fmpz_t tail_from; /* the proof holds from this distance on */
    int open; /* the bias is a number or -inf before the last piece: a claim may become the verdict
               */
    int decreasing; /* f is proved not to grow from decreasing_from on */
    fmpz_t decreasing_from;
    struct residue *residue; /* [residues] TAIL_GROWTH; their growths hold from tail_from on */
    int residues;
    char *proof, *certificate; /* for people, and in numbers (certificate.h) */
    struct budget budget; /* of its questions; the pool has this one, or that of a question about
                             several biases */
    int strands; /* noted by the search: of the last piece, to be summed by Euler-Maclaurin's
                    formula each */
    int wild; /* that does not converge */
    int waves; /* 1: the bias is a combination of many waves, -1: it is not, 0: nobody asked */
    int references, shared; /* shared: the pool is another's */
};

/* Of the bias less `shift`, in a pool of its own or a shared one (NULL: none). NULL with *e on
 * failure. */
struct series_summand *summand_new(const struct formula *formula, const struct formula_point *at,
                                   const fmpz_t shift, struct expression_pool *shared,
                                   struct formula_error *e);
void summand_release(struct series_summand *f);

/* The value of b at a whole t as an expression without t (a node of `to`), whatever the kinks.
 * NODE_NAN if it is no number; where expression_is_known does not hold it may be one, an infinity,
 * or none. */
int summand_value(struct expression_pool *to, const struct series_summand *f, int root,
                  const fmpz_t t);
/* 0 if a known value is one that f can have; -1 with *e: it is +inf or not a number. */
int summand_refuse(const struct expression_pool *p, int value, const struct series_summand *f,
                   const fmpz_t t, struct formula_error *e);
/* exp of that value (not wanted where `out` is NULL). 1, 0: it is not known, -1 with *e: it is none
 * that f can have. */
int summand_term(arb_ptr out, const struct series_summand *f, int root, const fmpz_t t, slong prec,
                 struct formula_error *e);

/* ---- pieces (pieces.c) ---- */

/* Distances first <= t <= last (or all from first on) on which the bias is proved to be `root`;
 * `settled`: a smooth number throughout, an infinity or not a number. */
struct stretch {
    fmpz_t first, last;
    int unbounded;
    int root, settled;
};
/* [first, last], last NULL: unbounded; the bias as it is on `within` if that holds it (NULL: as it
 * is), nothing settled. */
void stretch_init(struct stretch *s, const struct series_summand *f, const struct stretch *within,
                  const fmpz_t first, const fmpz *last);
void stretch_clear(struct stretch *s);
/* Settles what interval arithmetic, or the exact value at a single distance, decides on [first,
 * last], a part of `within` (else nothing is settled). */
void stretch_resolve(struct stretch *out, struct series_summand *f, const struct stretch *within,
                     const fmpz_t first, const fmpz *last);
/* The next piece, or more of the last one: what of the stretch follows the pieces there are. 0, or
 * -1 with *e: the bias is not a number or +inf there, the stretch does not follow, memory. */
int pieces_extend(struct series_summand *f, const struct stretch *s, struct formula_error *e);

/* ---- verdict (verdict.c) ---- */

/* Applies what needs no X: no mass, unknown values, finite support, constant and geometric series.
 * 1: a rule for smooth and rough last pieces is wanted, 0: it is decided, -1 with *e. */
int verdict_begin(struct series_summand *f, struct formula_error *e);
/* By a rate that stays on one side of -1 on [X, inf). 1 if that makes a claim. */
int verdict_by_rate(struct series_summand *f, const fmpz_t X);
/* By Bertrand's scale for each of the strands on [X, inf). 1 if that makes a claim. */
int verdict_by_residues(struct series_summand *f, const fmpz_t X, int strands);
/* The same of all t: one strand. */
int verdict_by_growth(struct series_summand *f, const fmpz_t X);
/* The claim becomes the verdict if the bias is a number or -inf before it holds. 0 or -1 with *e.
 */
int verdict_close(struct series_summand *f, struct formula_error *e);
/* 1 if f does not grow from X on; then this is kept. */
int decreases_from(struct series_summand *f, const fmpz_t X);

/* ---- tails (tail.c) ---- */

/* Tails beyond 2^this follow from one before it. */
enum { TAIL_FAR_BITS = 40000 };

/* Bounds of the sum of f over all t >= from, as a ball; from is a whole number within the last
 * piece, possibly far beyond any machine word. Indeterminate where nothing is known, as may be the
 * case before tail_from. */
void tail_sum(arb_t out, const struct series_summand *f, const arb_t from, slong prec);

/* ---- residues (residues.c): t = r + `strands` n for each r < strands ---- */

/* Node `root` at the distances of strand r, as an expression in n. */
int strand_node(struct expression_pool *p, int root, int r, int strands);
/* The least n whose distance is not below t; about that of `from`, less than 1 below it. */
void strand_place(fmpz_t n, const fmpz_t t, int r, int strands);
void strand_near(arb_t n, const arb_t from, int r, int strands, slong prec);
/* b at the distances t >= X of each strand. 0 or -1: one of them has no growth (or memory is
 * short). */
int residues_new(struct series_summand *f, const fmpz_t X, int strands);
void residues_free(struct series_summand *f);
/* 1 if the sum over one of them diverges. */
int residues_diverge(const struct series_summand *f);
/* Sum over all t >= from. */
void residues_tail(arb_t out, const struct series_summand *f, const arb_t from, slong prec);

/* ---- antiderivatives (antiderivative.c) ---- */

/* G with G' = -f where b has a form whose integral is known; *vanishes: G tends to 0. 1, or 0 if
 * there is none. */
int antiderivative(arb_t out, int *vanishes, const struct expression_pool *p, int root,
                   const arb_t t, slong prec);
/* The integral of y^(s power - 1) exp(weight y^power) dy from y > 0 on; 1 if it is known, as for
 * weight < 0 < power. */
int integrate_power(arb_t out, const arb_t s, const arb_t weight, const arb_t power, const arb_t y,
                    slong prec, struct budget *budget);
/* 1 if b = c - ln(1 + (k t)^2); then k. */
int is_type1(arb_t k, const struct expression_pool *p, int root, slong prec);

#endif
