/* From gradient norms to curves and receptive fields ([A] section 5.1).
 *
 * Positions are array indices 0..n-1, n = L-1 inputs; index n-1 is the last input. Sums run over m from the end to the start in double, in that
 * order, whatever the machine. */
#ifndef REACH_ANALYZE_CURVE_H
#define REACH_ANALYZE_CURVE_H

#include <stddef.h>
#include <stdint.h>

/* s[m] = norm[m] / sum_n norm[n]. Returns 0, or -1 (s untouched) if the sum is zero or any norm is not finite or negative: an excluded segment. */
int curve_share(double *s, const double *norm, size_t n);

/* c[m] = sum_{k >= m} s[k], scaled so that c[0] is exactly 1. */
void curve_cumulative(double *c, const double *s, size_t n);

/* ERF(q): the smallest number of most recent tokens whose share is above q, i.e. n - m* with m* the largest index with c[m*] > q.
 * 0 < q < 1. [A] prints min{m | c_m > 0.99}; its figures mean this. */
size_t curve_erf(const double *c, size_t n, double q);

/* Mean of the used rows: mean[m] = (1/S') sum_i s[i, m] over rows with use[i] != 0, summed in row order. Returns S'. */
size_t curve_mean(double *mean, const double *s, const uint8_t *use, size_t rows, size_t n);

/* Share of the first k positions of s (the sink), summed from the start. */
double curve_sink_share(const double *s, size_t n, size_t k);

/* Inverse empirical CDF of `count` values (sorted in place): the smallest value v with at least p*count values <= v. 0 < p <= 1. */
double quantile(double *values, size_t count, double p);

/* Everything the table and files say about one model at several thresholds. */
struct erf_row {
    double threshold;
    size_t erf, erf_lo, erf_hi;        /* tokens; interval: 95 % percentile bootstrap over segments */
    int saturated;                     /* erf = n: all tokens needed, not measured */
    size_t q10, median, q90;           /* per-segment ERF */
    size_t without_sink;               /* with the first k norms set to 0 and the rest of each segment renormalised */
};

struct erf_summary {
    size_t segments, excluded, positions;
    double sink_share, mean_logprob, perplexity;
    double *s, *c, *c_lo, *c_hi;       /* [positions]; owned */
    struct erf_row *rows;              /* [thresholds]; owned */
    size_t threshold_count;
    size_t *replicates;                /* [thresholds, replicate_count] bootstrap ERFs, for paired differences; owned */
    size_t replicate_count;
};

struct erf_settings {
    const double *thresholds;
    size_t threshold_count;
    size_t sink;                       /* k */
    size_t bootstrap;                  /* replicates; 0: no interval (lo = hi = the value) */
    uint64_t seed;
};

/* Reduces norms [segments, positions]; norms need not be scaled. Excluded segments are found here: status[i] = 1 used, 2 excluded.
 * Returns 0, -1 when no segment is usable, -2 when memory runs out. Free with erf_summary_free. The resampling depends only on seed, the number of usable segments
 * and of replicates, so that equal runs give equal bytes and models with the same usable segments are paired. */
int erf_summarize(struct erf_summary *out, uint8_t *status, const double *norm, const double *logprob, size_t segments, size_t positions,
                  const struct erf_settings *settings);
void erf_summary_free(struct erf_summary *s);

/* 95 % percentile interval of ERF_a - ERF_b at threshold index q over paired replicates. Returns 0, or -1 when the two are not paired. */
int erf_difference(double *difference, double *lo, double *hi, const struct erf_summary *a, const struct erf_summary *b, size_t q);

/* Counter-based random numbers: element i of stream `seed`, uniform on 0..2^64-1 (SplitMix64). */
uint64_t random_at(uint64_t seed, uint64_t i);

#endif
