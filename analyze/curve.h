/* From gradient norms to curves and receptive fields ([A] section 5.1).
 *
 * Positions are array indices 0..n-1, n = L-1 inputs; index n-1 is the last input. Sums run over m
 * from the end to the start in double, in that order on every machine. */
#ifndef REACH_ANALYZE_CURVE_H
#define REACH_ANALYZE_CURVE_H

#include <stddef.h>
#include <stdint.h>

/* s[m] = norm[m] / sum_n norm[n]. Returns 0, or -1 (s untouched) if the sum is zero or any norm is
 * not finite or negative: an excluded segment. s may be norm. */
int curve_share(double *s, const double *norm, size_t n);

/* c[m] = sum_{k >= m} s[k], scaled so that c[0] is exactly 1. The sum must not be zero. c may be s.
 */
void curve_cumulative(double *c, const double *s, size_t n);

/* ERF(q): the smallest number of most recent tokens whose share is above q, i.e. n - m* with m* the
 * largest index with c[m*] > q. 0 < q < 1. [A] prints min{m | c_m > 0.99}; its figures mean this.
 */
size_t curve_erf(const double *c, size_t n, double q);

/* Mean of the used rows: mean[m] = (1/S') sum_i s[i, m] over rows with use[i] != 0, summed in row
 * order; zeros if there are none. Returns S'. */
size_t curve_mean(double *mean, const double *s, const uint8_t *use, size_t rows, size_t n);

/* Share of the first k positions of s (the sink), summed from the start. */
double curve_sink_share(const double *s, size_t n, size_t k);

/* Inverse empirical CDF of `count` values (sorted in place): the smallest value v with at least
 * p*count values <= v. 0 < p <= 1.
 */
double quantile(double *values, size_t count, double p);

/* The results for one model at several thresholds, for tables and files. */
struct erf_row {
    double threshold;
    size_t erf, erf_lo, erf_hi; /* tokens; interval: 95 %, bootstrap-t over segments; without one
                                   lo = hi = erf, as are c_lo and c_hi c */
    int saturated; /* erf = n: all tokens needed, not measured */
    size_t q10, median, q90; /* per-segment ERF */
    size_t without_sink; /* first k norms set to 0, the rest renormalised, over segments with a
                            rest; else 0 */
};

struct erf_summary {
    size_t segments, excluded, positions;
    double sink_share, mean_logprob,
        perplexity; /* over usable segments; perplexity = exp(-mean_logprob) */
    double *s, *c, *c_lo, *c_hi; /* [positions]; owned */
    struct erf_row *rows; /* [thresholds]; owned */
    size_t threshold_count;
    size_t *replicates; /* [thresholds, replicate_count] bootstrap ERFs, for paired differences;
                           owned */
    size_t replicate_count; /* 0: no intervals */
    uint64_t pairing; /* equal for equal seed and equal sets of usable segments: replicate b then
                         draws the same segments */
};

struct erf_settings {
    const double *thresholds;
    size_t threshold_count;
    size_t sink; /* k */
    size_t bootstrap; /* replicates; 0: no intervals */
    uint64_t seed;
};

/* The fewest usable segments with an interval: of fewer, replicates that draw one segment alone are
 * so many that the intervals hold the true value in as few as 39 % of cases
 * (doc/studies/intervals.md). */
enum { INTERVAL_SEGMENTS = 5 };

/* Reduces norms [segments, positions]; norms need not be scaled. It finds the segments with
 * unusable norms or logprob: status[i] = 1 used, 2 excluded. Returns 0, -1 when no segment is
 * usable, -2 when memory runs out (it needs about the size of the norms); *out is empty then. Free
 * with erf_summary_free. Equal input gives equal bytes for every number of threads.
 *
 * The interval is a bootstrap-t (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
 * section 12.5). Replicate b draws S' segments with replacement from the S' usable ones, draw i
 * being the usable segment number floor(random_at(seed, b S' + i) S' / 2^64). With c_b the mean of
 * their curves and v_b the mean square of their deviations from it, v that of all segments from c,
 * its curve is c - (c_b - c) sqrt(v / v_b), cut at 1 and raised where it falls towards the start;
 * c itself where v is 0, and where v_b alone is 0, 0 if c_b > c and 1 if c_b < c. lo and hi are the
 * 2.5 % and 97.5 % quantiles (inverse empirical CDF) over replicates, of the curve at each position
 * and of its ERF: the ERFs whose hypothesis the interval of c does not reject. Fewer than
 * INTERVAL_SEGMENTS usable segments have no interval. */
int erf_summarize(struct erf_summary *out, uint8_t *status, const double *norm,
                  const double *logprob, size_t segments, size_t positions,
                  const struct erf_settings *settings);
void erf_summary_free(struct erf_summary *s);

/* ERF_a - ERF_b at threshold index q, and its 95 % interval: the 2.5 % and 97.5 % quantiles of the
 * differences of paired replicates' ERFs (erf_summarize), which are studentized one by one.
 * Returns 0, -1 when the two are not paired (other seed, usable segments, threshold or number of
 * replicates; no replicates), -2 when memory runs out. */
int erf_difference(double *difference, double *lo, double *hi, const struct erf_summary *a,
                   const struct erf_summary *b, size_t q);

/* Counter-based random numbers: element i (from 0) of stream `seed`, uniform on 0..2^64-1
 * (SplitMix64; Steele, Lea, Flood 2014).
 */
uint64_t random_at(uint64_t seed, uint64_t i);

/* How a field grows with the length: the exponent x of ERF(q) ~ n^x over lengths of n inputs, the
 * slope of the least-squares line through ln ERF(q) over ln n. The interval is from the slopes of
 * paired replicates (erf_summarize), NaN if the lengths are not paired. */
struct erf_growth {
    double exponent, lo, hi;
    size_t saturated; /* number of lengths at which all inputs are needed */
};
/* For `count` > 1 lengths, all different, at threshold index q. Returns 0, or -1: out of memory. */
int erf_growth(struct erf_growth *out, const struct erf_summary *const *lengths, size_t count,
               size_t q);

#endif
