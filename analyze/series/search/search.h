/* The search: where to cut, from where on a rule may hold, how to sum, which distance to ask about.
 * What is wrong here makes an answer wider, slower or undecided; it cannot make one that is not
 * true, for analyze/series/proof proves what it is given. */
#ifndef REACH_ANALYZE_SERIES_SEARCH_H
#define REACH_ANALYZE_SERIES_SEARCH_H

#include "analyze/series/proof/field.h"

enum {
    SERIES_PREC = 128,
    PERIOD_MAX = 1024, /* distances after which a bias comes back */
    STRANDS_MAX = 128 /* expressions at the distances modulo that */
};

/* One bias. */
struct summand {
    struct problem problem;
    struct proof proof;
    struct budget budget; /* of its questions; the pool may have that of a question about several */
    int strands; /* of the last piece, to be summed by Euler-Maclaurin's formula each */
    int no_euler; /* that does not converge */
    int waves; /* 1: the bias is a combination of many waves, -1: it is not, 0: nobody asked */
    int references;
};

/* ---- summand.c ---- */

/* Of the bias less `shift`, in a pool of its own or that of another (NULL: none). NULL with *e. */
struct summand *summand_new(const struct formula *formula, const struct formula_point *at,
                            const fmpz_t shift, const struct summand *other,
                            struct formula_error *e);
void summand_release(struct summand *f);

/* A whole number between lo and hi, geometrically in the middle if hi > 4 lo + near. */
void middle_of(fmpz_t out, const fmpz_t lo, const fmpz_t hi, ulong near);

/* ---- effort.c ---- */

/* The search for the verdict begins, or a later question: the budget of the first of the
 * summands is that of them all, seconds of processor time from now on or else a count of work. */
void search_begin(struct summand *const *summand, int count);
/* Each has its own again. */
void search_end(struct summand *const *summand, int count);
/* About how much work may still be done. */
double budget_left(const struct budget *b);
/* 1 once no work is left: what is found by then is the answer. `doing` is kept then. */
int budget_spent(struct budget *b, const char *doing);
/* Too little was left for `doing`. */
void budget_stop(struct budget *b, const char *doing);

/* ---- cuts.c ---- */

/* A whole number near the largest bias of a few distances (near the first, where it grows to the
 * end): taking it off changes no field and keeps the terms near 1. */
void search_shift(fmpz_t shift, const struct formula *f, const struct formula_point *at);
/* Takes the distances apart into pieces on which the bias is smooth. 0 or -1 with *e. */
int search_pieces(struct summand *f, struct formula_error *e);

/* ---- starts.c ---- */

/* Tries rules from X on for growing X, until one decides. 0 or -1 with *e. */
int search_verdict(struct summand *f, struct formula_error *e);

/* A number of distances after which all jumps and waves of a node come back; 1: none is known. */
int search_period(const struct expression_pool *p, int root);
/* The first r for which there is the same node as for this one. */
int search_first(const int *node, int r);

/* 0 if f/g grows somewhere by a few values in double: then no proof of the contrary is tried. */
int search_may_fall(const struct summand *f, const struct summand *g);

/* ---- panels.c ---- */

/* A sum of node `root` over N <= t < end by Euler's and Maclaurin's formula, with an error
 * below about 2^-target, in balls of prec bits. NULL where the remainder cannot be bounded so well,
 * or memory is short, or that much work has been done. */
struct euler *search_euler(const struct expression_pool *p, int root, const fmpz_t N,
                           const fmpz_t end, slong prec, slong target, double most_work);

/* ---- sums.c ---- */

/* Sums that are kept. */
struct sums_kept {
    struct shares *shares; /* NULL: none */
    slong prec;
    int exhausted, quick;
    int cut_short; /* the work ended with them: the next question makes them again */
};
/* What is kept for the next question, about another epsilon: sums of all, and of a length. */
struct kept {
    struct sums_kept sums[2];
    fmpz_t limit; /* the last one asked for */
};
void kept_init(struct kept *kept);
void kept_clear(struct kept *kept);

/* A question about one bias, or about the mean of the kernels of several. */
struct question {
    struct summand *const *summand; /* [count] */
    int count;
    const fmpz *limit; /* of the first `limit` distances; NULL: of all, and the sums converge */
    struct kept *kept;
    struct formula_error *e; /* of what failed */
};

/* Sums with balls of prec bits or a few more, or as many as can be had with bounded effort: those
 * that are kept where they will do. quick: long runs of waves may be summed in double. Borrowed up
 * to the next call. NULL: a value is not a number, there is no mass, no memory. */
struct sums_kept *kept_shares(const struct question *q, slong prec, int quick);
/* 1 if some bias is a combination of many waves. */
int search_has_waves(const struct question *q);

/* ---- field.c ---- */

/* Narrows *out, the field. 0 or -1; 1: it is not known whether there is mass. total (may be NULL):
 * the sum over these distances, of the first summand. */
int search_field(struct field *out, arb_ptr total, const struct question *q, const fmpq_t epsilon);

/* ---- layers.c ---- */

/* The field across `layers` layers, as search_field. */
int search_depth(struct series_count *out, const struct question *q, const fmpq_t epsilon,
                 int layers);

#endif
