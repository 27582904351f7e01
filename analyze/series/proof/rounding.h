/* From rational numbers and balls to intervals, doubles and text (rule 10): outwards. */
#ifndef REACH_ANALYZE_SERIES_PROOF_ROUNDING_H
#define REACH_ANALYZE_SERIES_PROOF_ROUNDING_H

#include "analyze/series/proof/numbers.h"

/* What became not-a-number may be anything. */
void interval_mend(mpfi_t x);
void interval_set_arb(mpfi_t out, const arb_t x);
void interval_set_fmpq(mpfi_t out, const fmpq *q);
void interval_set_fmpz(mpfi_t out, const fmpz_t n);
/* The bits of a whole number without its last zeros, at most 4096: more bits for differences. */
slong significant_bits(const fmpz_t n);
/* n, or a ball with it inside by its first bits: without looking at millions of others. */
void ball_set_fmpz(arb_t out, const fmpz_t n);
/* Of two balls about one number the narrower. */
void ball_narrow(arb_t out, const arb_t x);
/* 1 if x >= n. */
int ball_reaches(const arb_t x, const fmpz_t n);
/* Least and greatest value as a ball or an end of one. */
void interval_get_lower(arb_t out, const mpfi_t x, slong prec);
void interval_get_upper(arb_t out, const mpfi_t x, slong prec);
/* x^e for x >= 0 and a constant e: exp(e ln x); 0^e = 0 for e > 0. */
void interval_power(mpfi_t out, const mpfi_t x, const mpfi_t e);
int interval_is_positive(const mpfi_t x);
int interval_is_negative(const mpfi_t x);
int interval_is_bounded(const mpfi_t x);
/* 1 if an end is finite and at least 2^bits in size: what works with its digits would take long. */
int interval_is_huge(const mpfi_t x, long bits);

/* A ball of what is not negative as doubles, times exp(shift). */
void ball_doubles(double *lo, double *hi, const arb_t x, const fmpz *shift);
/* log10 of a positive number. */
double log10_bound(const arb_t n, int up);

/* x with `digits` digits, rounded down (up 0) or up (1). Returns `out`. */
const char *bound_text(char out[64], const mpfr_t x, int digits, int up);
/* A distance from which on something holds: it holds from the one that is printed. */
const char *distance_text(char out[64], const fmpz_t t);

#endif
