/* The kernel of a series, one head or the mean of several: the share of its mass below a distance. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SHARE_H
#define REACH_ANALYZE_SERIES_PROOF_SHARE_H

#include "analyze/series/proof/sum.h"

enum { SERIES_PREC = 128 };

struct masses;

struct series {
    struct series_summand **summand; /* [count] shared between series, counted */
    int count;
    int mean; /* made by series_open_mean */
    enum series_verdict verdict;
    char *proof; /* mean only */
    double sum_lo, sum_hi;
    struct masses *kept; /* of the whole series at SERIES_PREC bits, if it converges */
};

/* Sums of all heads at one precision. */
struct masses *masses_new(const struct series *s, const fmpz *limit, slong prec, int quick, struct formula_error *e);
void masses_free(struct masses *m);

/* Share of the mass at distances < j. */
void masses_below(arb_t out, struct masses *m, const fmpz_t j);
/* Share at distances >= j, j a whole number that may be far beyond machine words (no limit, j >= masses_far). */
void masses_above(arb_t out, struct masses *m, const arb_t j);
const fmpz *masses_far(const struct masses *m);
/* Sign of (share below j) - (1 - epsilon): 1, 0 or -1 when certain, 2 when not. *value is the difference as a ball. */
int masses_compare(arb_t value, struct masses *m, const fmpz_t j, const fmpq_t epsilon);
/* Share of the one distance j. */
void masses_term(arb_t out, struct masses *m, const fmpz_t j);
/* The sum of f itself, one head only. */
void masses_total(arb_t out, const struct masses *m);
int masses_exhausted(const struct masses *m);
/* 1 if some head's values are not all known to be numbers or -inf: there may be no mass to share. */
int masses_unknown(const struct masses *m);
/* 1 if some head's bias is a combination of many waves. */
int series_has_waves(const struct series *s);

#endif
