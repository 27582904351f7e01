/* Attributions, gradients by layer and attention by distance against float64 PyTorch and Captum
 * (tests/goldens/attribution), and what they are reduced with. */
#include "analyze/attribution.h"
#include "analyze/curve.h"
#include "model/mass.h"
#include "model/attribution.h"
#include "tests/compare.h"
#include "tests/golden.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES_MAX = 32, SEED = 7 };

/* One row of cases.csv with its values, which are read from the front; see make.py. */
struct attributed {
    char name[64], checkpoint[128];
    size_t layers, heads, segments, length, n, each;
    double noise, *values; /* [segments, each] */
    int32_t *ids; /* [segments, length] */
};

static struct attributed cases[CASES_MAX];
static size_t case_count;

/* The tokens of the golden case of that name. */
static int32_t *ids_of(const char *name, size_t count)
{
    size_t golden_count;
    struct golden *goldens = goldens_open(&golden_count);
    int32_t *ids = NULL;
    for (size_t i = 0; i < golden_count; i++)
        if (strcmp(goldens[i].name, name) == 0) {
            assert_true(goldens[i].segments * goldens[i].length >= count);
            ids = malloc(count * sizeof *ids);
            assert_non_null(ids);
            memcpy(ids, goldens[i].ids, count * sizeof *ids);
        }
    goldens_free(goldens, golden_count);
    if (!ids)
        fail_msg("no golden case %s", name);
    return ids;
}

static int open_cases(void **state)
{
    FILE *table = fopen("tests/goldens/attribution/cases.csv", "r");
    char line[256], path[128], name[64];
    (void)state;
    omp_set_num_threads(
        1); /* the models are tiny: starting threads would take longer than they do */
    if (!table || !fgets(line, sizeof line, table))
        return -1;
    while (fgets(line, sizeof line, table)) {
        struct attributed *c = &cases[case_count++];
        assert_true(case_count <= CASES_MAX);
        assert_int_equal(sscanf(line, "%63[^,],%zu,%zu,%zu,%zu,%lf", name, &c->layers, &c->heads,
                                &c->segments, &c->length, &c->noise),
                         6);
        memcpy(c->name, name, sizeof name);
        c->n = c->length - 1;
        c->each = (c->layers - 1) * c->n + 3 * c->n + 2 + c->layers * c->heads * c->n;
        snprintf(c->checkpoint, sizeof c->checkpoint, "tests/goldens/%s", name);
        snprintf(path, sizeof path, "tests/goldens/attribution/%s.f64", name);
        c->values = malloc(c->segments * c->each * sizeof *c->values);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        assert_non_null(c->values);
        assert_int_equal(fread(c->values, sizeof *c->values, c->segments * c->each, f),
                         c->segments * c->each);
        assert_int_equal(fgetc(f), EOF);
        fclose(f);
        c->ids = ids_of(name, c->segments * c->length);
    }
    fclose(table);
    return case_count > 0 ? 0 : -1;
}

static int close_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        free(cases[i].values);
        free(cases[i].ids);
    }
    return 0;
}

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e;
    for (int j = 0; j < kernel_set_count; j++)
        if (strcmp(kernel_sets[j].name, name) == 0 && strcmp(kernel_sets[j].dtype, dtype) == 0) {
            struct kernels *k = kernel_sets[j].usable() ? kernel_sets[j].open(&e) : NULL;
            if (!k)
                fail_msg("%s %s: %s", name, dtype, e.text);
            return k;
        }
    fail_msg("no kernel set %s %s", name, dtype);
    return NULL;
}

static struct decoder *open_decoder(const char *path)
{
    struct error e;
    struct decoder *d = decoder_open(path, &e);
    if (!d)
        fail_msg("%s", e.text);
    return d;
}

static struct engine *open_engine(struct kernels *k, const struct decoder *d,
                                  struct engine_request o)
{
    struct error e;
    o.memory = 1u << 30;
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* Norms [n] against the oracle's: c absolutely, single norms relative to their own size; zeros are
 * exact. */
static void compare_norms(const struct attributed *c, const char *what, size_t segment,
                          const double *got, const double *want, double tolerance)
{
    size_t n = c->n;
    double *s = malloc(2 * n * sizeof *s), *expected = s + n;
    assert_non_null(s);
    if (curve_share(s, got, n) || curve_share(expected, want, n))
        fail_msg("%s, %s, segment %zu: norms not usable", c->name, what, segment);
    for (size_t m = 0; m < n; m++) {
        if ((want[m] == 0) != (got[m] == 0))
            fail_msg("%s, %s, segment %zu, position %zu: norm %g, expected %g", c->name, what,
                     segment, m, got[m], want[m]);
        if (expected[m] > 1e-6 && !(fabs(got[m] - want[m]) <= 10 * tolerance * want[m]))
            fail_msg("%s, %s, segment %zu, position %zu: norm %.12g, expected %.12g", c->name, what,
                     segment, m, got[m], want[m]);
    }
    curve_cumulative(s, s, n);
    curve_cumulative(expected, expected, n);
    for (size_t m = 0; m < n; m++)
        if (!(fabs(s[m] - expected[m]) <= tolerance))
            fail_msg("%s, %s, segment %zu, position %zu: c %.12g, expected %.12g", c->name, what,
                     segment, m, s[m], expected[m]);
    free(s);
}

static void check_layers(struct kernels *k, const struct decoder *d, const struct attributed *c,
                         double tolerance)
{
    struct error e;
    size_t n = c->n, all = c->segments * c->layers * n;
    struct engine *plain = open_engine(k, d,
                                       (struct engine_request){.positions = (int)n, .batch = 1});
    struct engine *g = open_engine(k, d,
                                   (struct engine_request){.positions = (int)n,
                                                           .gradient.by_layer = 1,
                                                           .batch = (int)c->segments});
    double *norm = malloc((all + n + 2 * c->segments) * sizeof *norm), *first = norm + all,
           *logprob = first + n;
    assert_non_null(norm);
    if (engine_measure(g, norm, logprob, c->ids, (int)c->segments, &e))
        fail_msg("%s", e.text);
    for (size_t i = 0; i < c->segments; i++) {
        if (engine_measure(plain, first, &logprob[c->segments], c->ids + i * c->length, 1, &e))
            fail_msg("%s", e.text);
        assert_memory_equal(first, norm + i * c->layers * n,
                            n * sizeof *norm); /* layer 0 is what it is without the others */
        assert_true(logprob[i] == logprob[c->segments]);
        for (size_t l = 1; l < c->layers; l++)
            compare_norms(c, "layer", i, norm + (i * c->layers + l) * n,
                          c->values + i * c->each + (l - 1) * n, tolerance);
    }
    engine_close(plain);
    engine_close(g);
    free(norm);
}

static void check_attribution(struct kernels *k, const struct decoder *d,
                              const struct attributed *c, enum attribution kind, double tolerance)
{
    static const char *const names[] = {"grad", "inputxgrad", "ig", "smoothgrad"};
    struct error e;
    size_t n = c->n, at = (c->layers - 1) * n + (kind == ATTRIBUTION_INPUT        ? 0
                                                 : kind == ATTRIBUTION_INTEGRATED ? n
                                                                                  : 2 * n + 2);
    struct engine *g = open_engine(k, d,
                                   (struct engine_request){.positions = (int)n,
                                                           .gradient.attribution = kind,
                                                           .gradient.noise = c->noise,
                                                           .gradient.noise_seed = SEED,
                                                           .batch = 2});
    struct engine *plain = open_engine(k, d,
                                       (struct engine_request){.positions = (int)n, .batch = 2});
    struct completeness *sums = calloc(c->segments, sizeof *sums);
    double *norm = malloc(2 * c->segments * (n + 1) * sizeof *norm),
           *logprob = norm + c->segments * n, *again = logprob + c->segments;
    assert_non_null(norm);
    assert_int_equal(c->segments, 2);
    if (engine_attribute(g, norm, logprob, sums, c->ids, 0, (int)c->segments, &e))
        fail_msg("%s", e.text);
    for (size_t i = 0; i < c->segments; i++) {
        const double *values = c->values + i * c->each + at;
        compare_norms(c, names[kind], i, norm + i * n, values, tolerance);
        if (kind == ATTRIBUTION_INTEGRATED) {
            double size = 1 + fabs(values[n]);
            if (!(fabs(sums[i].sum - values[n]) <= 10 * tolerance * size) ||
                !(fabs(sums[i].baseline - values[n + 1]) <= 10 * tolerance * size))
                fail_msg("%s, segment %zu: sum %.12g, baseline %.12g, expected %.12g, %.12g",
                         c->name, i, sums[i].sum, sums[i].baseline, values[n], values[n + 1]);
        }
    }
    if (engine_measure(plain, again, again + c->segments * n, c->ids, (int)c->segments, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(again + c->segments * n, logprob,
                        c->segments * sizeof *logprob); /* log p is that of the segment as it is */
    engine_close(plain);
    engine_close(g);
    free(norm);
    free(sums);
}

static void check_attention(struct kernels *k, const struct decoder *d, const struct attributed *c,
                            double tolerance)
{
    struct error e;
    size_t n = c->n, each = c->layers * c->heads * n, at = (c->layers - 1) * n + 3 * n + 2;
    struct engine *g = open_engine(
        k, d, (struct engine_request){.positions = (int)n, .kind = REQUEST_ATTENTION, .batch = 2});
    double *mass = malloc(c->segments * each * sizeof *mass);
    assert_non_null(mass);
    if (engine_attention(g, mass, NULL, c->ids, (int)c->segments, &e))
        fail_msg("%s", e.text);
    for (size_t i = 0; i < c->segments; i++)
        for (size_t h = 0; h < c->layers * c->heads; h++) {
            const double *got = mass + i * each + h * n,
                         *want = c->values + i * c->each + at + h * n;
            double total = 0;
            for (size_t t = 0; t < n; t++)
                total += got[t];
            if (!(fabs(total - 1) <= tolerance))
                fail_msg("%s, segment %zu, head %zu: mass %.12g, expected 1", c->name, i, h, total);
            for (size_t t = 0; t < n; t++)
                if (!(fabs(got[t] - want[t]) <= tolerance) || (want[t] == 0 && got[t] != 0))
                    fail_msg("%s, segment %zu, head %zu of all layers, distance %zu: mass %.12g, "
                             "expected %.12g",
                             c->name, i, h, t, got[t], want[t]);
        }
    engine_close(g);
    free(mass);
}

/* Integrated gradients of every `every`-th case, smoothed ones of every third but with `quick`:
 * they take 50 passes each. */
static void check_goldens(const char *set, const char *dtype, double tolerance, size_t every,
                          int quick)
{
    struct kernels *k = open_set(set, dtype);
    for (size_t i = 0; i < case_count; i++) {
        struct decoder *d = open_decoder(cases[i].checkpoint);
        assert_int_equal(d->layers, cases[i].layers);
        assert_int_equal(d->heads, cases[i].heads);
        double noise = SMOOTH_NOISE * attribution_embedding_size(d);
        if (!(fabs(noise - cases[i].noise) <= 1e-14 * noise))
            fail_msg("%s: noise %.17g, expected %.17g", cases[i].name, noise, cases[i].noise);
        check_layers(k, d, &cases[i], tolerance);
        for (enum attribution kind = ATTRIBUTION_INPUT;
             kind <= (!quick && i % 3 == 0 ? ATTRIBUTION_SMOOTH
                      : i % every          ? ATTRIBUTION_INPUT
                                           : ATTRIBUTION_INTEGRATED);
             kind++)
            check_attribution(k, d, &cases[i], kind, tolerance);
        check_attention(k, d, &cases[i], tolerance);
        decoder_close(d);
    }
    k->close(k);
}

static void test_goldens_f64(void **state)
{
    (void)state;
    check_goldens("reference", "f64", 1e-9, 1, 0);
}

static void test_goldens_f32(void **state)
{
    (void)state;
    check_goldens("cpu", "f32", 1e-5, 3, 0);
}

static void test_goldens_cuda_f32(void **state)
{
    (void)state;
    if (!getenv("REACH_CUDA"))
        skip();
    check_goldens("cuda", "f32", 1e-5, 100, 1);
}

/* Threads change no byte, of the noise too; nor does recomputing. */
static void test_threads_and_memory(void **state)
{
    struct error e;
    struct kernels *k = open_set("cpu", "f32");
    const struct attributed *c = &cases[0];
    struct decoder *d = open_decoder(c->checkpoint);
    struct engine_request options = {.positions = (int)c->n,
                                     .gradient.attribution = ATTRIBUTION_SMOOTH,
                                     .gradient.noise = c->noise,
                                     .gradient.noise_seed = SEED,
                                     .batch = 1};
    double *norm = malloc(3 * c->n * sizeof *norm), logprob;
    int threads = omp_get_max_threads();
    (void)state;
    assert_non_null(norm);
    for (int i = 0; i < 3; i++) {
        omp_set_num_threads(i == 0 ? 1 : 3);
        options.gradient.keep = i == 2 ? KEEP_RECOMPUTE : KEEP_STORE;
        struct engine *g = open_engine(k, d, options);
        if (engine_attribute(g, norm + (size_t)i * c->n, &logprob, NULL, c->ids, 0, 1, &e))
            fail_msg("%s", e.text);
        engine_close(g);
    }
    omp_set_num_threads(threads);
    assert_memory_equal(norm, norm + c->n, c->n * sizeof *norm);
    assert_memory_equal(norm, norm + 2 * c->n, c->n * sizeof *norm);
    /* the second segment alone is what it is beside the first: noise goes by its number */
    double *pair = malloc(2 * c->n * sizeof *pair), logprobs[2];
    struct engine *g = (options.batch = 2, open_engine(k, d, options));
    assert_non_null(pair);
    if (engine_attribute(g, pair, logprobs, NULL, c->ids, 0, 2, &e) ||
        engine_attribute(g, norm + c->n, logprobs, NULL, c->ids + c->length, 1, 1, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(norm, pair, c->n * sizeof *norm);
    assert_memory_equal(norm + c->n, pair + c->n, c->n * sizeof *norm);
    engine_close(g);
    free(pair);
    free(norm);
    decoder_close(d);
    k->close(k);
}

/* Integrated gradients sum to log p - log p(baseline) where something is added to the rows, so that
 * the first norm is smooth along the whole way. */
static void test_completeness(void **state)
{
    struct kernels *k = open_set("cpu", "f32");
    struct completeness sum;
    struct error e;
    int found = 0;
    (void)state;
    for (size_t i = 0; i < case_count; i++) {
        if (strcmp(cases[i].name, "own-sinusoidal"))
            continue;
        double *norm = malloc(cases[i].n * sizeof *norm), logprob;
        struct decoder *d = open_decoder(cases[i].checkpoint);
        struct engine *g =
            open_engine(k, d,
                        (struct engine_request){.positions = (int)cases[i].n,
                                                .gradient.attribution = ATTRIBUTION_INTEGRATED,
                                                .batch = 1});
        assert_non_null(norm);
        if (engine_attribute(g, norm, &logprob, &sum, cases[i].ids, 0, 1, &e))
            fail_msg("%s", e.text);
        if (!(fabs(sum.sum - (logprob - sum.baseline)) <= 1e-5))
            fail_msg("sum %.9g, log p %.9g, log p of the baseline %.9g", sum.sum, logprob,
                     sum.baseline);
        engine_close(g);
        decoder_close(d);
        free(norm);
        found++;
    }
    k->close(k);
    assert_int_equal(found, 1);
}

/* ---- what they are reduced with ---- */

static void test_quadrature(void **state)
{
    (void)state;
    /* numpy.polynomial.legendre.leggauss(50), from [-1, 1] to [0, 1]: first node, first weight,
     * middle ones */
    double node[50], weight[50];
    gauss_legendre(node, weight, 50);
    assert_true(fabs(node[0] - 0.00056679778996449) < 1e-16 &&
                fabs(weight[0] - 0.0014543112765776) < 1e-15);
    for (int n = 1; n <= 50; n++) {
        gauss_legendre(node, weight, n);
        for (int degree = 0; degree < 2 * n;
             degree++) { /* exact for x^degree, whose integral is 1 / (degree + 1) */
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += weight[i] * pow(node[i], degree);
            if (!(fabs(sum * (degree + 1) - 1) <= 1e-12))
                fail_msg("%d points, degree %d: %.17g", n, degree, sum);
        }
        for (int i = 1; i < n; i++)
            assert_true(node[i] > node[i - 1]);
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += weight[i] * pow(node[i], 2 * n);
        assert_true(n > 12 || fabs(sum * (2 * n + 1) - 1) > 1e-14); /* and for no more */
    }
}

static void test_noise(void **state)
{
    enum { N = 200000 };
    double mean = 0, square = 0, fourth = 0, product = 0, before = 0;
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double x = random_normal(3, i);
        mean += x / N, square += x * x / N, fourth += x * x * x * x / N, product += x * before / N;
        before = x;
    }
    assert_true(fabs(mean) < 0.01 && fabs(square - 1) < 0.01 && fabs(fourth - 3) < 0.06 &&
                fabs(product) < 0.01);
    assert_true(random_normal(3, 0) != random_normal(4, 0) &&
                random_normal(3, 0) == random_normal(3, 0));
}

static void test_attention_erf(void **state)
{
    static const struct {
        double mass[8];
        size_t n;
        double epsilon;
        size_t expected;
    } rows[] = {
        {{1, 0, 0, 0}, 4, 0.01, 1},
        {{0.25, 0.25, 0.25, 0.25}, 4, 0.01, 4},
        {{0.25, 0.25, 0.25, 0.25}, 4, 0.5, 3}, /* half is not above half */
        {{0.25, 0.25, 0.25, 0.25}, 4, 0.51, 2},
        {{0, 0, 0, 1}, 4, 0.5, 4},
        {{8, 1, 1, 0, 0}, 5, 0.15, 2}, /* need not sum to 1 */
        {{0.5}, 1, 0.5, 1},
        {{0, 0}, 2, 0.5, 0},
        {{1, NAN}, 2, 0.5, 0},
        {{1, INFINITY}, 2, 0.5, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (attention_erf(rows[i].mass, rows[i].n, rows[i].epsilon) != rows[i].expected)
            fail_msg("row %zu: %zu, expected %zu", i,
                     attention_erf(rows[i].mass, rows[i].n, rows[i].epsilon), rows[i].expected);
}

static void test_rank_correlation(void **state)
{
    const double x[] = {1, 2, 3, 4, 5}, up[] = {1, 10, 100, 1000, 10000}, down[] = {5, 3, 2, 1, 0};
    const double ties[] = {1, 1, 2, 3, 3}, flat[] = {2, 2, 2, 2, 2}, mixed[] = {2, 1, 4, 3, 5};
    double r;
    (void)state;
    assert_int_equal(rank_correlation(&r, x, up, 5), 0);
    assert_true(r == 1);
    assert_int_equal(rank_correlation(&r, x, down, 5), 0);
    assert_true(r == -1);
    assert_int_equal(rank_correlation(&r, x, mixed, 5), 0);
    assert_true(fabs(r - 0.8) < 1e-15);
    assert_int_equal(rank_correlation(&r, x, ties, 5), 0);
    assert_true(fabs(r - 9 / sqrt(90.0)) < 1e-15);
    assert_int_equal(rank_correlation(&r, x, flat, 5), 0);
    assert_true(isnan(r));
    assert_int_equal(rank_correlation(&r, x, up, 2), 0);
    assert_true(isnan(r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens_cuda_f32),
        cmocka_unit_test(test_goldens_f64),
        cmocka_unit_test(test_goldens_f32),
        cmocka_unit_test(test_threads_and_memory),
        cmocka_unit_test(test_completeness),
        cmocka_unit_test(test_quadrature),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_attention_erf),
        cmocka_unit_test(test_rank_correlation),
    };
    if (getenv("REACH_CUDA")) /* a run for the plug-in's sets */
        cmocka_set_test_filter("*_cuda*");
    return cmocka_run_group_tests_name("attribution", tests, open_cases, close_cases);
}
