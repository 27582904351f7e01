/* The kernel of a series, one head or the mean of several: the share of its mass below a distance. */
#ifndef REACH_ANALYZE_SERIES_PROOF_SHARE_H
#define REACH_ANALYZE_SERIES_PROOF_SHARE_H

#include "analyze/series/proof/sum.h"

enum { SERIES_PREC = 128 };

struct shares;

struct series {
    struct series_summand **summand; /* [count] shared between series, counted */
    int count;
    int mean; /* made by series_open_mean */
    enum series_verdict verdict;
    char *proof; /* mean only */
    double sum_lo, sum_hi;
    struct shares *kept; /* of the whole series at SERIES_PREC bits, if it converges */
};

/* Sums of all heads at one precision. */
struct shares *shares_new(const struct series *s, const fmpz *limit, slong prec, int quick, struct formula_error *e);
void shares_free(struct shares *m);

/* Share of the mass at distances < j. */
void shares_below(arb_t out, struct shares *m, const fmpz_t j);
/* Share at distances >= j, j a whole number that may be far beyond machine words (no limit, j >= shares_far). */
void shares_above(arb_t out, struct shares *m, const arb_t j);
const fmpz *shares_far(const struct shares *m);
/* Sign of (share below j) - (1 - epsilon): 1, 0 or -1 when certain, 2 when not. *value is the difference as a ball. */
int shares_compare(arb_t value, struct shares *m, const fmpz_t j, const fmpq_t epsilon);
/* Share of the one distance j. */
void shares_term(arb_t out, struct shares *m, const fmpz_t j);
/* The sum of f itself, one head only. */
void shares_total(arb_t out, const struct shares *m);
int shares_exhausted(const struct shares *m);
/* 1 if some head's values are not all known to be numbers or -inf: there may be no mass to share. */
int shares_unknown(const struct shares *m);
/* 1 if some head's bias is a combination of many waves. */
int series_has_waves(const struct series *s);

#endif
