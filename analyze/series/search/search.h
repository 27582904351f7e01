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
    struct budget budget; /* of its questions; the pool has this one, or that of a question about
                             several biases */
    int strands; /* of the last piece, to be summed by Euler-Maclaurin's formula each */
    int no_euler; /* that does not converge */
    int waves; /* 1: the bias is a combination of many waves, -1: it is not, 0: nobody asked */
    int references;
};

/* ---- summand.c ---- */

/* Of the bias less `shift`, in a pool of its own or that of another (NULL: none). NULL with *e on
 * failure. */
struct summand *summand_new(const struct formula *formula, const struct formula_point *at,
                            const fmpz_t shift, const struct summand *other,
                            struct formula_error *e);
void summand_release(struct summand *f);

/* A whole number between lo and hi, geometrically in the middle where they are far apart: hi > 4 lo
 * + near. */
void middle_of(fmpz_t out, const fmpz_t lo, const fmpz_t hi, ulong near);

/* ---- effort.c ---- */

/* The verdict is looked for, or a question behind it begins: the budget of the first of the
 * summands is that of them all, seconds of processor time from now on or else a count of work. */
void search_begin(struct summand *const *summand, int count);
/* Each has its own again. */
void search_end(struct summand *const *summand, int count);
/* How much work may still be done, about. */
double budget_left(const struct budget *b);
/* 1 once that is none: what is found by then is the answer, as wide as it is. `doing`: what for,
 * kept where it is over. */
int budget_spent(struct budget *b, const char *doing);
/* It would not have been enough for this. */
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

/* After so many distances, all that jumps or turns in node `root` comes back, as far as that can be
 * read off; 1: no such number.
 */
int search_period(const struct expression_pool *p, int root);
/* The first r for which there is the same node as for this one. */
int search_first(const int *node, int r);

/* ---- panels.c ---- */

/* A sum of node `root` over N <= t < end by Euler's and Maclaurin's formula, with an error
 * below about 2^-target, in balls of prec bits. NULL where the remainder cannot be bounded so well,
 * or memory is short, or that much work has been done. */
struct euler *search_euler(const struct expression_pool *p, int root, const fmpz_t N,
                           const fmpz_t end, slong prec, slong target, double most_work);

/* ---- sums.c ---- */

/* Sums of all of the summands over t < limit, or over all t (limit NULL: they must converge), with
 * an error of about 2^-prec where that can be had with bounded effort, else with wider balls.
 * quick: long runs of waves may be summed in double. *exhausted: more precision would not make the
 * balls narrower. NULL with *e on failure: a value that is not a number, no mass, memory. */
struct shares *search_shares(int *exhausted, struct summand *const *summand, int count,
                             const fmpz *limit, slong prec, int quick, struct formula_error *e);
/* 1 if some bias is a combination of many waves. */
int search_has_waves(struct summand *const *summand, int count);

/* ---- kept.c ---- */

/* Sums as search_shares makes them. */
struct sums_kept {
    struct shares *shares; /* NULL: none */
    slong prec;
    int exhausted, quick;
    int cut_short; /* the work ended with them: the next question makes them again */
};
/* What is kept from one question of a series to the next, which asks for another epsilon: sums of
 * all, and of a length. */
struct kept {
    struct sums_kept sums[2];
    fmpz_t limit; /* the last one asked for */
};
void kept_init(struct kept *kept);
void kept_clear(struct kept *kept);
/* Those that are kept where they will do, else new ones of prec bits or a few more, as
 * search_shares. Borrowed up to the next call. NULL with *e. */
struct sums_kept *kept_shares(struct kept *kept, struct summand *const *summand, int count,
                              const fmpz *limit, slong prec, int quick, struct formula_error *e);

/* ---- field.c ---- */

/* Narrows *out, the field of the first `limit` distances (NULL: of all). 0, or -1 with *e; 1: it is
 * not known whether there is mass. total (may be NULL): the sum over these distances, of the first
 * summand. */
int search_field(struct field *out, arb_ptr total, struct summand *const *summand, int count,
                 struct kept *kept, const fmpq_t epsilon, const fmpz *limit,
                 struct formula_error *e);

/* ---- layers.c ---- */

/* The field across so many layers, as search_field. */
int search_depth(struct series_count *out, struct summand *const *summand, int count,
                 struct kept *kept, const fmpq_t epsilon, int layers, const fmpz *limit,
                 struct formula_error *e);

/* ---- order.c ---- */

/* 0 if f/g grows somewhere by its values in double at a few distances: then it is not worth proving
 * that it never does. */
int search_may_fall(const struct summand *f, const struct summand *g);

#endif
