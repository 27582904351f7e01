#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/curve.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A random number in [0, 1). */
static double uniform(uint64_t seed, uint64_t i)
{
    return (double)(random_at(seed, i) >> 11) * 0x1p-53;
}

/* The norms that tests/goldens/curve/make.py makes from the same seed. */
static void generate(double *norm, uint64_t seed, size_t segments, size_t positions)
{
    for (size_t i = 0; i < segments; i++)
        for (size_t m = 0; m < positions; m++) {
            double u = uniform(seed, i * positions + m);
            norm[i * positions + m] = (u * u) * (u * u) / (1.0 + (double)(positions - 1 - m));
        }
}

static const double usual[] = {0.5, 0.9, 0.95, 0.99, 0.999};

/* ---- against tests/goldens/curve/cases.txt ---- */

enum { SEGMENTS = 64, POSITIONS = 512, THRESHOLDS = 8 };

struct golden {
    char name[64];
    size_t segments, positions;
    double thresholds[THRESHOLDS], norm[SEGMENTS * POSITIONS], logprob[SEGMENTS];
    struct erf_settings settings;
    uint8_t status[SEGMENTS];
    size_t norm_rows, row, at; /* read so far */
    struct erf_summary out;
    int result;
};

/* The numbers of a line. */
static size_t numbers(double *out, char *text, size_t most)
{
    size_t count = 0;
    for (char *word; (word = strsep(&text, " \n"));)
        if (*word) {
            assert_true(count < most);
            out[count++] = strtod(word, NULL);
        }
    return count;
}

static void same_number(const struct golden *g, const char *what, size_t where, double got,
                        double expected, double tolerance)
{
    if (!(got == expected || fabs(got - expected) <= tolerance))
        fail_msg("case %s, %s %zu: %.17g, expected %.17g", g->name, what, where, got, expected);
}

/* One line of the file. Norms come before the status, results after it. */
static void read_line(struct golden *g, char *word, char *rest, int *cases)
{
    double v[POSITIONS];
    if (strcmp(word, "case") == 0) {
        memset(g, 0, sizeof *g);
        (*cases)++;
        assert_int_equal(sscanf(rest, "%63s %zu %zu %zu %zu %lu", g->name, &g->segments,
                                &g->positions, &g->settings.sink, &g->settings.bootstrap,
                                &g->settings.seed),
                         6);
        assert_true(g->segments <= SEGMENTS && g->positions <= POSITIONS);
    } else if (strcmp(word, "thresholds") == 0) {
        g->settings.threshold_count = numbers(g->thresholds, rest, THRESHOLDS);
        g->settings.thresholds = g->thresholds;
    } else if (strcmp(word, "norm") == 0) {
        assert_int_equal(numbers(g->norm + g->norm_rows++ * g->positions, rest, g->positions),
                         g->positions);
    } else if (strcmp(word, "generate") == 0) {
        generate(g->norm, strtoull(rest, NULL, 10), g->segments, g->positions);
    } else if (strcmp(word, "logprob") == 0) {
        assert_int_equal(numbers(g->logprob, rest, g->segments), g->segments);
    } else if (strcmp(word, "status") == 0) {
        assert_int_equal(numbers(v, rest, g->segments), g->segments);
        g->result = erf_summarize(&g->out, g->status, g->norm, g->logprob, g->segments,
                                  g->positions, &g->settings);
        for (size_t i = 0; i < g->segments; i++)
            same_number(g, "status", i, g->status[i], v[i], 0);
    } else if (strcmp(word, "at") == 0) {
        assert_int_equal(numbers(v, rest, 5), 5);
        size_t m = (size_t)v[0];
        same_number(g, "s", m, g->out.s[m], v[1], 1e-15);
        same_number(g, "c", m, g->out.c[m], v[2], 2e-15);
        same_number(g, "c_lo", m, g->out.c_lo[m], v[3], 2e-15);
        same_number(g, "c_hi", m, g->out.c_hi[m], v[4], 2e-15);
        g->at++;
    } else if (strcmp(word, "summary") == 0) {
        assert_int_equal(numbers(v, rest, 3), 3);
        same_number(g, "sink share", 0, g->out.sink_share, v[0], 1e-15);
        same_number(g, "mean logprob", 0, g->out.mean_logprob, v[1], 1e-15 * fabs(v[1]));
        same_number(g, "perplexity", 0, g->out.perplexity, v[2], 1e-12 * v[2]);
    } else if (strcmp(word, "row") == 0) {
        assert_int_equal(numbers(v, rest, 8), 8);
        const struct erf_row *r = &g->out.rows[g->row++];
        same_number(g, "threshold", g->row, r->threshold, g->thresholds[g->row - 1], 0);
        same_number(g, "erf", g->row, (double)r->erf, v[0], 0);
        same_number(g, "erf_lo", g->row, (double)r->erf_lo, v[1], 0);
        same_number(g, "erf_hi", g->row, (double)r->erf_hi, v[2], 0);
        same_number(g, "saturated", g->row, r->saturated, v[3], 0);
        same_number(g, "q10", g->row, (double)r->q10, v[4], 0);
        same_number(g, "median", g->row, (double)r->median, v[5], 0);
        same_number(g, "q90", g->row, (double)r->q90, v[6], 0);
        same_number(g, "without sink", g->row, (double)r->without_sink, v[7], 0);
    } else if (strcmp(word, "replicates") == 0) {
        size_t count = numbers(v, rest, g->settings.bootstrap);
        for (size_t b = 0; b < count; b++)
            same_number(g, "replicate", b,
                        (double)g->out.replicates[(g->row - 1) * g->settings.bootstrap + b], v[b],
                        0);
    } else if (strcmp(word, "end") == 0) {
        assert_int_equal(g->result, rest ? -1 : 0);
        if (!rest) {
            assert_true(g->row == g->settings.threshold_count && g->at > 0 &&
                        g->out.excluded < g->segments);
            erf_summary_free(&g->out);
        }
        assert_null(g->out.s);
    } else {
        fail_msg("unknown line '%s'", word);
    }
}

static void test_cases(void **state)
{
    (void)state;
    FILE *file = fopen("tests/goldens/curve/cases.txt", "r");
    struct golden *g = calloc(1, sizeof *g);
    static char line[8192];
    int cases = 0;
    assert_non_null(file);
    assert_non_null(g);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = line, *word = strsep(&rest, " ");
        if (word[0] != '#')
            read_line(g, word, rest, &cases);
    }
    assert_true(cases >= 10);
    free(g);
    fclose(file);
}

/* ---- identities ---- */

static void summarize(struct erf_summary *out, const double *norm, size_t segments,
                      size_t positions, size_t replicates, uint64_t seed)
{
    uint8_t status[SEGMENTS];
    double logprob[SEGMENTS];
    for (size_t i = 0; i < segments; i++)
        logprob[i] = -(double)i;
    const struct erf_settings settings = {usual, 5, 4, replicates, seed};
    assert_int_equal(erf_summarize(out, status, norm, logprob, segments, positions, &settings), 0);
}

static void same_summary(const struct erf_summary *a, const struct erf_summary *b)
{
    assert_memory_equal(a->s, b->s, a->positions * sizeof *a->s);
    assert_memory_equal(a->c, b->c, a->positions * sizeof *a->c);
    assert_memory_equal(a->c_lo, b->c_lo, a->positions * sizeof *a->c_lo);
    assert_memory_equal(a->c_hi, b->c_hi, a->positions * sizeof *a->c_hi);
    assert_memory_equal(a->rows, b->rows, a->threshold_count * sizeof *a->rows);
    assert_memory_equal(a->replicates, b->replicates,
                        a->threshold_count * a->replicate_count * sizeof *a->replicates);
    assert_true(a->sink_share == b->sink_share && a->pairing == b->pairing);
}

static void test_scale_and_threads_change_nothing(void **state)
{
    (void)state;
    enum { S = 11, N = 270, R = 57 };
    static double norm[S * N], scaled[S * N];
    struct erf_summary one, other;
    int threads = omp_get_max_threads();
    generate(norm, 3, S, N);
    for (size_t i = 0; i < S * N; i++)
        scaled[i] = norm[i] *
                    ldexp(1, (int)(i / N) * 20 - 100); /* each segment its own power of two */
    omp_set_num_threads(1);
    summarize(&one, norm, S, N, R, 1);
    omp_set_num_threads(3);
    summarize(&other, scaled, S, N, R, 1);
    omp_set_num_threads(threads);
    same_summary(&one, &other);
    erf_summary_free(&other);
    summarize(&other, norm, S, N, R, 2); /* the seed does matter */
    assert_memory_not_equal(one.c_lo, other.c_lo, N * sizeof *one.c_lo);
    assert_memory_equal(one.c, other.c, N * sizeof *one.c);
    erf_summary_free(&other);
    erf_summary_free(&one);
}

/* An excluded segment leaves no trace: the results are those without it. */
static void test_excluded_segments_leave_no_trace(void **state)
{
    (void)state;
    enum { S = 6, N = 40, R = 31 };
    double norm[(S + 2) * N], logprob[S + 2] = {-1, -2, -3, -1, -4, -5, -6, NAN};
    double clean[S * N], clean_logprob[S] = {-1, -2, -3, -4, -5, -6};
    uint8_t status[S + 2];
    generate(norm, 8, S + 2, N);
    norm[3 * N + 7] = NAN;
    memcpy(clean, norm, 3 * N * sizeof *norm);
    memcpy(clean + 3 * N, norm + 4 * N, 3 * N * sizeof *norm);
    const struct erf_settings settings = {usual, 5, 4, R, 77};
    struct erf_summary with, without;
    assert_int_equal(erf_summarize(&with, status, norm, logprob, S + 2, N, &settings), 0);
    assert_memory_equal(status, ((const uint8_t[]){1, 1, 1, 2, 1, 1, 1, 2}), S + 2);
    assert_int_equal(with.excluded, 2);
    assert_int_equal(erf_summarize(&without, status, clean, clean_logprob, S, N, &settings), 0);
    assert_true(with.pairing != without.pairing);
    with.pairing = without.pairing;
    same_summary(&with, &without);
    assert_true(with.mean_logprob == without.mean_logprob && with.perplexity == without.perplexity);
    erf_summary_free(&with);
    erf_summary_free(&without);
}

static void test_intervals_hold_the_value(void **state)
{
    (void)state;
    enum { S = 40, N = 64, R = 400 };
    static double norm[S * N];
    struct erf_summary out;
    generate(norm, 21, S, N);
    summarize(&out, norm, S, N, R, 9);
    for (size_t m = 0; m < N; m++)
        if (!(out.c_lo[m] <= out.c[m] && out.c[m] <= out.c_hi[m] &&
              (m == 0 || out.c_lo[m] < out.c_hi[m])))
            fail_msg("position %zu: %g not in [%g, %g]", m, out.c[m], out.c_lo[m], out.c_hi[m]);
    assert_true(out.c[0] == 1 && out.c_lo[0] == 1 && out.c_hi[0] == 1);
    for (size_t q = 0; q < 5; q++)
        assert_true(out.rows[q].erf_lo <= out.rows[q].erf && out.rows[q].erf <= out.rows[q].erf_hi);
    /* the width is that of a mean of S draws: 2 * 1.96 * standard deviation / sqrt(S) */
    double mean = 0, square = 0, share[N], curve[N];
    enum { AT = 50 };
    for (size_t i = 0; i < S; i++) {
        assert_int_equal(curve_share(share, norm + i * N, N), 0);
        curve_cumulative(curve, share, N);
        mean += curve[AT] / S;
        square += curve[AT] * curve[AT] / S;
    }
    double expected = 2 * 1.96 * sqrt((square - mean * mean) / S),
           width = out.c_hi[AT] - out.c_lo[AT];
    if (!(fabs(width / expected - 1) <= 0.2))
        fail_msg("interval %g wide, expected about %g", width, expected);
    erf_summary_free(&out);
}

/* The shares of the first of two inputs are u^8, u uniform: their mean is 1/9, their median 0.004.
 * Of 16 segments, intervals by percentiles of the means hold the true c in 85 % of the trials. */
static void test_intervals_of_skewed_shares_hold_the_truth(void **state)
{
    (void)state;
    enum { TRIALS = 600, S = 16, R = 400 };
    double norm[S * 2], truth = 1 - 1.0 / 9;
    int holds = 0, threads = omp_get_max_threads();
    omp_set_num_threads(1); /* there is too little work for more */
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        struct erf_summary out;
        for (size_t i = 0; i < S; i++) {
            norm[2 * i] = pow(uniform(100, trial * S + i), 8);
            norm[2 * i + 1] = 1 - norm[2 * i];
        }
        summarize(&out, norm, S, 2, R, trial);
        holds += out.c_lo[1] <= truth && truth <= out.c_hi[1];
        erf_summary_free(&out);
    }
    omp_set_num_threads(threads);
    if (!(holds >= 0.91 * TRIALS && holds <= 0.98 * TRIALS))
        fail_msg("%d of %d intervals hold the true value", holds, TRIALS);
}

/* Equal segments, whatever their scale, have no spread. The interval of a field is where that of
 * the curve reaches the threshold; of too few segments there is none. */
static void test_intervals_of_few_segments(void **state)
{
    (void)state;
    enum { S = 7, N = 30, R = 199 };
    double norm[S * N];
    struct erf_summary out;
    for (size_t i = 0; i < S * N; i++)
        norm[i] = (1 + (double)(i / N) / 3) / (1 + (double)(N - 1 - i % N));
    for (size_t segments = 1; segments <= S; segments++) {
        summarize(&out, norm, segments, N, R, 3);
        assert_memory_equal(out.c_lo, out.c, sizeof *out.c * N);
        assert_memory_equal(out.c_hi, out.c, sizeof *out.c * N);
        for (size_t q = 0; q < 5; q++)
            assert_true(out.rows[q].erf_lo == out.rows[q].erf &&
                        out.rows[q].erf_hi == out.rows[q].erf);
        erf_summary_free(&out);
    }
    generate(norm, 6, S, N);
    for (size_t segments = 1; segments <= S; segments++) {
        summarize(&out, norm, segments, N, R, 3);
        assert_int_equal(out.replicate_count, segments < INTERVAL_SEGMENTS ? 0 : R);
        if (segments < INTERVAL_SEGMENTS) {
            assert_memory_equal(out.c_lo, out.c, sizeof *out.c * N);
            assert_memory_equal(out.c_hi, out.c, sizeof *out.c * N);
        } else {
            assert_true(out.c_lo[1] < out.c_hi[1]);
        }
        assert_true(out.c[0] == 1 && out.c_lo[0] == 1 && out.c_hi[0] == 1);
        for (size_t m = 1; m < N; m++) {
            assert_true(out.c_lo[m] <= out.c[m] && out.c[m] <= out.c_hi[m]);
            assert_true(out.c_lo[m] <= out.c_lo[m - 1] && out.c_hi[m] <= out.c_hi[m - 1]);
        }
        for (size_t q = 0; q < 5; q++) {
            assert_int_equal(out.rows[q].erf_lo, curve_erf(out.c_hi, N, usual[q]));
            assert_int_equal(out.rows[q].erf_hi, curve_erf(out.c_lo, N, usual[q]));
        }
        erf_summary_free(&out);
    }
}

static void test_difference(void **state)
{
    (void)state;
    enum { S = 12, N = 50, R = 99 };
    static double norm[S * N], nearer[S * N];
    struct erf_summary a, b, c;
    double d, lo, hi;
    generate(norm, 4, S, N);
    for (size_t i = 0; i < S * N; i++)
        nearer[i] = norm[i] * exp(-0.2 * (double)(N - 1 - i % N));
    summarize(&a, norm, S, N, R, 5);
    summarize(&b, nearer, S, N, R, 5);
    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &b, 1), 0);
    assert_true(d == (double)a.rows[1].erf - (double)b.rows[1].erf && lo > 0 && lo <= d && d <= hi);
    double paired = hi - lo;
    assert_int_equal(erf_difference(&d, &lo, &hi, &b, &a, 1), 0);
    assert_true(d < 0 && hi < 0);
    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &a, 4), 0);
    assert_true(d == 0 && lo == 0 && hi == 0);
    assert_true(paired <= (double)(a.rows[1].erf_hi - a.rows[1].erf_lo + b.rows[1].erf_hi -
                                   b.rows[1].erf_lo));

    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &b, 5), -1); /* no such threshold */
    summarize(&c, nearer, S, N, R, 6); /* another seed */
    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &c, 1), -1);
    erf_summary_free(&c);
    summarize(&c, nearer, S, N, R - 1, 5); /* other replicates */
    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &c, 1), -1);
    erf_summary_free(&c);
    summarize(&c, nearer, S, N, 0, 5); /* none */
    assert_int_equal(erf_difference(&d, &lo, &hi, &c, &c, 1), -1);
    erf_summary_free(&c);
    nearer[3 * N] = INFINITY; /* another set of usable segments */
    summarize(&c, nearer, S, N, R, 5);
    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &c, 1), -1);
    norm[5 * N] = INFINITY; /* as many, but others */
    erf_summary_free(&a);
    summarize(&a, norm, S, N, R, 5);
    assert_int_equal(erf_difference(&d, &lo, &hi, &a, &c, 1), -1);
    erf_summary_free(&a);
    erf_summary_free(&b);
    erf_summary_free(&c);
}

/* A field that is n^0.5 but for rounding, and replicates of exponents 0.5, 1 and 0. */
static void test_growth(void **state)
{
    size_t draws[3][4] = {{10, 10, 10, 10}, {20, 20, 10, 20}, {20, 40, 10, 20}};
    struct erf_row rows[3] = {{.erf = 10}, {.erf = 14}, {.erf = 20}};
    struct erf_summary u[3];
    const struct erf_summary *lengths[3] = {&u[0], &u[1], &u[2]};
    struct erf_growth g;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        u[i] = (struct erf_summary){.segments = 9,
                                    .positions = (size_t)25 << i,
                                    .rows = &rows[i],
                                    .threshold_count = 1,
                                    .replicates = draws[i],
                                    .replicate_count = 4,
                                    .pairing = 7};
    assert_int_equal(erf_growth(&g, lengths, 3, 0), 0);
    assert_true(fabs(g.exponent - 0.5) <
                1e-12); /* the middle one has no weight where lengths double */
    assert_true(fabs(g.lo) < 1e-12 && fabs(g.hi - 1) < 1e-12);
    assert_int_equal(g.saturated, 0);
    rows[2].saturated = 1;
    u[1].pairing = 8;
    assert_int_equal(erf_growth(&g, lengths, 3, 0), 0);
    assert_true(fabs(g.exponent - 0.5) < 1e-12 && isnan(g.lo) && isnan(g.hi));
    assert_int_equal(g.saturated, 1);
}

static void test_impossible_sizes(void **state)
{
    (void)state;
    struct erf_summary out;
    uint8_t status[1];
    const double one = 1;
    struct erf_settings settings = {usual, 5, 4, SIZE_MAX / 2, 0};
    assert_int_equal(erf_summarize(&out, status, &one, &one, 1, 1, &settings), -2);
    assert_null(out.c);
    settings.bootstrap = 3;
    assert_int_equal(erf_summarize(&out, status, &one, &one, SIZE_MAX / 2, 4, &settings), -2);
    settings.threshold_count = 0; /* a curve alone */
    assert_int_equal(erf_summarize(&out, status, &one, &one, 1, 1, &settings), 0);
    assert_true(out.c[0] == 1 && out.c_lo[0] == 1);
    erf_summary_free(&out);
    assert_int_equal(erf_summarize(&out, status, &one, &one, 0, 1, &settings), -1);
    assert_int_equal(erf_summarize(&out, status, &one, &one, 1, 0, &settings), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_scale_and_threads_change_nothing),
        cmocka_unit_test(test_excluded_segments_leave_no_trace),
        cmocka_unit_test(test_intervals_hold_the_value),
        cmocka_unit_test(test_intervals_of_skewed_shares_hold_the_truth),
        cmocka_unit_test(test_intervals_of_few_segments),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_impossible_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
