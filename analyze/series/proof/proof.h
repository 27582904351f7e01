/* What is proved of a problem: the pieces of b, whether the sum converges, bounds of its tail. All
 * of this is believed: what the search proposes is proved here or has no effect. [N.M] above a
 * function is the rule of doc/series.md that it applies. */
#ifndef REACH_ANALYZE_SERIES_PROOF_PROOF_H
#define REACH_ANALYZE_SERIES_PROOF_PROOF_H

#include "analyze/series/proof/growth.h"
#include "analyze/series/proof/problem.h"
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

enum tail_kind { TAIL_UNKNOWN, TAIL_ZERO, TAIL_GEOMETRIC, TAIL_POWER, TAIL_GROWTH };

/* b at the distances of one strand as an expression in n, from some n on. */
struct residue {
    int node, first; /* the first with this node, which alone has growths */
    struct growth *growth; /* NULL: f is 0 there */
    struct growth *closer; /* the same from a later n on, for the last tail */
};

struct proof {
    const struct problem *problem;
    struct piece *piece; /* [pieces] each begins where the one before it ends */
    int pieces, capacity;
    enum series_verdict
        claim; /* what a rule gives for the last piece, if the bias is a number or -inf before it */
    enum series_verdict verdict;
    enum tail_kind tail; /* how the tail was proved to converge */
    fmpz_t tail_from; /* the proof holds from this distance on */
    int open; /* the bias is a number or -inf before the last piece: a claim may become true */
    int decreasing; /* f is proved not to grow from decreasing_from on */
    fmpz_t decreasing_from;
    struct residue *residue; /* [residues] TAIL_GROWTH; their growths hold from tail_from on */
    int residues;
    char *words, *certificate; /* for people, and in numbers (certificate.c) */
};

/* Nothing is proved yet. */
void proof_init(struct proof *f, const struct problem *problem);
void proof_clear(struct proof *f);

/* ---- pieces (pieces.c) ---- */

/* Distances first <= t <= last (or all from first on) on which the bias is proved to be `root`;
 * `settled`: a smooth number throughout, an infinity or not a number. */
struct stretch {
    fmpz_t first, last;
    int unbounded;
    int root, settled;
};
/* [first, last], NULL: unbounded; the bias as on `within` if that holds it; nothing settled. */
void stretch_init(struct stretch *s, const struct problem *f, const struct stretch *within,
                  const fmpz_t first, const fmpz *last);
void stretch_clear(struct stretch *s);
/* Settles what interval arithmetic, or the exact value at a single distance, decides on [first,
 * last], a part of `within` (else nothing is settled). */
void stretch_resolve(struct stretch *out, const struct problem *f, const struct stretch *within,
                     const fmpz_t first, const fmpz *last);
/* The next piece, or more of the last one: what of the stretch follows the pieces there are. 0, or
 * -1 with *e: the bias is not a number or +inf there, the stretch does not follow, memory. */
int pieces_extend(struct proof *f, const struct stretch *s, struct formula_error *e);

/* ---- verdict (verdict.c) ---- */

/* Applies what needs no X: no mass, unknown values, finite support, constant and geometric series.
 * 1: a rule for smooth and rough last pieces is wanted, 0: it is decided, -1 with *e. */
int verdict_begin(struct proof *f, struct formula_error *e);
/* By a rate that stays on one side of -1 on [X, inf). 1 if that makes a claim. */
int verdict_by_rate(struct proof *f, const fmpz_t X);
/* By Bertrand's scale for each of the strands on [X, inf). 1 if that makes a claim. */
int verdict_by_residues(struct proof *f, const fmpz_t X, int strands);
/* The same of all t: one strand. */
int verdict_by_growth(struct proof *f, const fmpz_t X);
/* The claim becomes the verdict if the bias is a number or -inf before it. 0 or -1 with *e. */
int verdict_close(struct proof *f, struct formula_error *e);
/* 1 if f does not grow from X on; then this is kept. */
int decreases_from(struct proof *f, const fmpz_t X);

/* ---- tails (tail.c) ---- */

/* Tails beyond 2^this follow from one before it. */
enum { TAIL_FAR_BITS = 40000 };

/* Bounds of the sum of f over all t >= from, as a ball; from is a whole number within the last
 * piece, possibly far beyond any machine word. Indeterminate where nothing is known. */
void tail_sum(arb_t out, const struct proof *f, const arb_t from, slong prec);

/* ---- residues (residues.c): t = r + `strands` n for each r < strands ---- */

/* Node `root` at the distances of strand r, as an expression in n. */
int strand_node(struct expression_pool *p, int root, int r, int strands);
/* The least n whose distance is not below t. */
void strand_place(fmpz_t n, const fmpz_t t, int r, int strands);
/* b at the distances t >= X of each strand. 0 or -1: one has no growth, or memory is short. */
int residues_new(struct proof *f, const fmpz_t X, int strands);
void residues_free(struct proof *f);
/* 1 if the sum over one of them diverges. */
int residues_diverge(const struct proof *f);
/* Sum over all t >= from. */
void residues_tail(arb_t out, const struct proof *f, const arb_t from, slong prec);

/* ---- antiderivatives (antiderivative.c) ---- */

/* G with G' = -f if b has a form whose integral is known; *vanishes: G tends to 0. 1 or 0. */
int antiderivative(arb_t out, int *vanishes, const struct expression_pool *p, int root,
                   const arb_t t, slong prec);
/* The integral of y^(s power - 1) exp(weight y^power) dy from y > 0 on; 1 if weight < 0 < power. */
int integrate_power(arb_t out, const arb_t s, const arb_t weight, const arb_t power, const arb_t y,
                    slong prec, struct budget *budget);
/* 1 if b = c - ln(1 + (k t)^2); then k. */
int is_type1(arb_t k, const struct expression_pool *p, int root, slong prec);

/* ---- certificates (certificate.c) ---- */

/* What a rule claims, in numbers: lines of doc/certificate.md. They are kept beside the words;
 * where memory is short they are missing, and the verdict holds all the same. */

/* Adds a line to a text that may be NULL. */
void text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of the whole last piece: f = 0 (4.2) or constant (4.3). */
void certify_last(struct proof *f, const char *rule);
/* b(t) = shift + slope t on it. */
void certify_affine(struct proof *f, const arb_t shift, const arb_t slope);
void certify_rate(char **to, const char *rule, const fmpz_t X, const struct range *x);
/* f->residue, on [X, inf). */
void certify_residues(char **to, const struct proof *f, const fmpz_t X);
/* The verdict, the rule, and the sum from some distance on. NULL: no memory. Caller frees. */
char *proof_certificate(struct proof *f);

/* ---- two proofs whose problems have one pool (compare.c) ---- */

/* 1 if f/g is proved never to increase, looking at `budget` intervals at most. */
int ratio_falls(const struct proof *f, const struct proof *g, long budget);
/* 1 if f/g is proved to be one number. */
int are_proportional(const struct proof *f, const struct proof *g);

#endif
