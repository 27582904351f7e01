/* The theoretical receptive field (TRF) of a position bias: whether sum over t >= 0 of f(t) =
 * exp(b(t)) converges, its value B, and TRF(eps) = min{ j : sum over t < j of f(t) > (1 - eps) B },
 * a count of tokens ([B] theorem 0.4, eq. 22).
 *
 * Everything here is certain: a verdict is `converges` or `diverges` only when proved, bounds are
 * rounded outwards, an integer is exact or an interval that contains it. Nothing is sampled and
 * nothing is extrapolated from floating-point sums. Literals, parameters given as decimals and eps
 * are read as the exact decimals they are; values from a checkpoint as the exact binary numbers. */
#ifndef REACH_ANALYZE_SERIES_H
#define REACH_ANALYZE_SERIES_H

#include "analyze/formula.h"

#include <stddef.h>
#include <stdint.h>

enum series_verdict { SERIES_CONVERGES, SERIES_DIVERGES, SERIES_UNDECIDED };
/* "converges", "diverges", "undecided". */
const char *series_verdict_name(enum series_verdict v);

enum { SERIES_DIGITS_MAX = 10000 };

/* A count of tokens that may be far beyond any machine word: lo <= TRF <= hi, equal when exact. */
struct series_count {
    char *lo, *hi; /* decimal digits; owned; NULL: none, or more than SERIES_DIGITS_MAX digits (the
                      logarithms hold) */
    double log10_lo, log10_hi; /* of the two ends, rounded outwards; hi is +inf when no upper end is
                                  known; NaN when there is no TRF at all */
};
void series_count_free(struct series_count *c);
/* 1 if lo and hi are the same integer. */
int series_count_exact(const struct series_count *c);

/* The analysis of one head. */
struct series;

/* Analyses f for the head, heads, head_size and length in `at` (t is not used). The formula must
 * outlive the series and all its parameters must be set. NULL with *e on failure: a bias that is
 * NaN or +inf somewhere that is reached, no mass at all, memory. Undecided is no failure. Bounded
 * effort (a few seconds). Caller frees. */
struct series *series_open(const struct formula *f, const struct formula_point *at,
                           struct formula_error *e);
/* The same with so many seconds of processor time for this and for each question later (INFINITY:
 * bounded effort). What is found by then is the answer: an interval, `undecided`. It may differ
 * from machine to machine; all of it is true. */
struct series *series_open_within(const struct formula *f, const struct formula_point *at,
                                  double seconds, struct formula_error *e);
/* What was being done when that time was over, for people ("rule 4.7 was tried"); NULL: it never
 * was. */
const char *series_spent(const struct series *s);
/* The same for the mean kernel of several heads, (1/H) sum of f_h / B_h over all heads (each head's
 * kernel normalised): `head=all`. Converges when every head does. */
struct series *series_open_mean(struct series *const *heads, int count, struct formula_error *e);
/* Forgets what is kept from one question to the next, megabytes where a bias is long: another
 * question takes as long as the first. */
void series_settle(struct series *s);
void series_free(struct series *s);

enum series_verdict series_verdict(const struct series *s);
/* How it was proved, for people: the comparison series, from which distance on, with which
 * exponent. Lines without a final newline. Borrowed. */
const char *series_proof(const struct series *s);
/* What was proved, in numbers: lines of doc/certificate.md from `verdict` to `tail`, for a checker.
 * NULL: no memory, or a mean kernel, which has none of its own. Caller frees. */
char *series_certificate(const struct series *s);
/* B within [lo, hi], doubles rounded outwards; both +inf on divergence; [partial sum, +inf] when
 * undecided. */
void series_sum(const struct series *s, double *lo, double *hi);

/* A bound to so many digits, rounded down (up 0) or up (1), so that what is printed is no more than
 * what is proved; 0 digits: as few as read back as the same double. Returns `out`. */
const char *series_bound_text(char out[64], double bound, int up, int digits);

/* 0 if it is a decimal text in (0, 1), of at most 1000 digits, however near 0 or 1; else -1 with
 * *e. */
int series_epsilon(const char *epsilon, struct formula_error *e);
/* TRF(eps) of the whole series, eps a decimal text in (0, 1). 0, or -1 with *e (malformed eps,
 * memory). When the series does not converge, the count has no ends (log10 NaN). */
int series_trf(const struct series *s, const char *epsilon, struct series_count *out,
               struct formula_error *e);
/* TRF(eps) of the first `length` distances, whatever the verdict; also *sum_lo, *sum_hi of those
 * (may be NULL). length >= 1. Where it cannot be told whether some value is a number the count has
 * no ends and the sum is [0, inf]. */
int series_trf_finite(const struct series *s, const char *epsilon, uint64_t length,
                      struct series_count *out, double *sum_lo, double *sum_hi,
                      struct formula_error *e);
/* Across depth: the distance reached after `layers` layers is the layers-fold convolution of f / B;
 * the least j with P(distance < j) > 1 - eps. length 0: of the whole series (must converge), else
 * of its first `length` distances. Certain bounds; exact wherever bounded effort can prove it. */
int series_trf_depth(const struct series *s, const char *epsilon, int layers, uint64_t length,
                     struct series_count *out, struct formula_error *e);

/* Compares two encodings: if f/g never increases with t, then TRF_f(eps) <= TRF_g(eps) for every
 * eps ([B] theorem 0.5 in this form). *order = -1: proved that f's is never larger; +1: g's is
 * never larger; 0: neither could be proved. `why` is a line for people. */
int series_compare(const struct series *f, const struct series *g, int *order, char why[256],
                   struct formula_error *e);

/* Closed or asymptotic forms of [B] for TRF(eps), where there is one: ALiBi (geometric) and Type 1
 * (eq. 29, appendix C). Writes a value and the formula's text; returns 1, or 0 if this head has
 * none. */
int series_closed_form(const struct series *s, double epsilon, double *value, char text[128]);

/* Rotary positions: still + factor * the sum of cos(m frequency[k]) over k < count, which
 * arXiv:2405.14591 wants to be at least 0 at every distance m of a context. What is found holds for
 * all frequencies within a relative SERIES_ROTARY_WIDTH of those given, and so for those of the
 * formula of a plain or linear rotation as well as for their doubles. */
#define SERIES_ROTARY_WIDTH 0x1p-45
struct series_rotary {
    enum {
        ROTARY_NEVER_BELOW, /* at no distance at all */
        ROTARY_NOT_BELOW, /* at none before `at`, the end */
        ROTARY_BELOW, /* first at `at` */
        ROTARY_TIE /* it cannot be told from 0 at `at`, and is at least 0 before */
    } verdict;
    uint64_t at;
};
/* Looks at m = first, ..., end - 1; end <= 2^50. factor within 2^-51 of what it stands for. 0, or
 * -1 when memory runs out. */
int series_rotary(struct series_rotary *out, const double *frequency, int count, double factor,
                  double still, uint64_t first, uint64_t end);

/* The slowest pair of rotary positions, which arXiv:2602.10959 bounds the base by: the first
 * distance m at which m frequency is above a quarter of a turn (its cosine is below 0), above a
 * whole one, and, if epsilon is not NULL, at which cos(m frequency) to the power of `layers` is
 * below epsilon, a decimal as series_trf reads it. 0: at none below 2^62. Of exactly this
 * frequency, > 0. Returns 0, or -1 with *e: epsilon is none. */
struct series_slowest {
    uint64_t quarter, whole, incoherent;
};
int series_slowest(struct series_slowest *out, double frequency, const char *epsilon, int layers,
                   struct formula_error *e);

#endif
