/* Families and the engine against float64 transformers and PyTorch (tests/goldens), and identities
 * that need no oracle. */
#include "analyze/curve.h"
#include "model/engine.h"
#include "model/score.h"
#include "tests/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* design figures: c absolute, s relative where s > 1e-6, log p absolute; of rough arithmetic also
 * what no random model exceeds */
struct tolerance {
    double c, s, logprob, random_c, random_logprob;
};

static const struct tolerance tolerance_f32 = {1e-5, 1e-4, 1e-5, 0, 0},
                              tolerance_f64 = {1e-9, 1e-9, 1e-9, 0, 0};

/* c as designed; single norms and log p feel every rounding */
static const struct tolerance tolerance_tf32 = {5e-4, 5e-2, 5e-3, 0.2, INFINITY},
                              tolerance_bf16 = {5e-3, 2e-1, 2e-2, 0.2, INFINITY},
                              tolerance_bf16x3 = {2e-5, 2e-4, 1e-4, 2e-4, 5e-4};

static struct golden *cases;

static size_t case_count;

static int open_cases(void **state)
{
    (void)state;
    cases = goldens_open(&case_count);
    return case_count ? 0 : -1;
}

static int close_cases(void **state)
{
    (void)state;
    goldens_free(cases, case_count);
    return 0;
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
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

/* norm [segments, n] and logprob of all segments, `batch` at a time. */
static void measure(double *norm, double *logprob, struct engine *g, const int32_t *ids,
                    size_t segments, size_t n)
{
    struct error e;
    size_t batch = (size_t)engine_plan(g)->batch;
    for (size_t i = 0; i < segments; i += batch) {
        size_t count = segments - i < batch ? segments - i : batch;
        if (engine_measure(g, norm + i * n, logprob + i, ids + i * (n + 1), (int)count, &e))
            fail_msg("%s", e.text);
    }
}

static void compare_case(const struct golden *c, const double *norm, const double *logprob,
                         const struct tolerance *tol, const char *set)
{
    size_t n = c->length - 1;
    double *s = malloc(4 * n * sizeof *s), *s_expected = s + n, *cum = s + 2 * n,
           *cum_expected = s + 3 * n;
    assert_non_null(s);
    for (size_t i = 0; i < c->segments; i++) {
        const double *expected = c->norm + i * n, *got = norm + i * n;
        if (!(fabs(logprob[i] - c->logprob[i]) <= tol->logprob))
            fail_msg("%s, %s, segment %zu: log p %.12g, expected %.12g", c->name, set, i,
                     logprob[i], c->logprob[i]);
        if (curve_share(s, got, n) || curve_share(s_expected, expected, n))
            fail_msg("%s, %s, segment %zu: norms not usable", c->name, set, i);
        curve_cumulative(cum, s, n);
        curve_cumulative(cum_expected, s_expected, n);
        for (size_t m = 0; m < n; m++) {
            if (expected[m] == 0 && !(got[m] == 0))
                fail_msg("%s, %s, segment %zu, position %zu: norm %.3g outside the cone, expected "
                         "exactly 0",
                         c->name, set, i, m, got[m]);
            if (!(fabs(cum[m] - cum_expected[m]) <= tol->c))
                fail_msg("%s, %s, segment %zu, position %zu: c %.12g, expected %.12g", c->name, set,
                         i, m, cum[m], cum_expected[m]);
            if (s_expected[m] > 1e-6 && !(fabs(s[m] - s_expected[m]) <= tol->s * s_expected[m]))
                fail_msg("%s, %s, segment %zu, position %zu: s %.12g, expected %.12g", c->name, set,
                         i, m, s[m], s_expected[m]);
            /* raw norms too: c alone would not see a wrong factor */
            if (s_expected[m] > 1e-6 && !(fabs(got[m] - expected[m]) <= 2 * tol->s * expected[m]))
                fail_msg("%s, %s, segment %zu, position %zu: norm %.12g, expected %.12g", c->name,
                         set, i, m, got[m], expected[m]);
        }
        const double q[] = {0.5, 0.9, 0.99};
        for (size_t j = 0; j < 3; j++) {
            size_t erf = curve_erf(cum, n, q[j]), low = curve_erf(cum_expected, n, q[j] - tol->c),
                   high = curve_erf(cum_expected, n, q[j] + tol->c);
            if (erf < low || erf > high)
                fail_msg("%s, %s, segment %zu: ERF(%g) %zu, expected %zu to %zu", c->name, set, i,
                         q[j], erf, low, high);
        }
    }
    free(s);
}

/* The largest deviation of c of any segment. */
static double worst_c(const struct golden *c, const double *norm)
{
    size_t n = c->length - 1;
    double *s = calloc(4 * n, sizeof *s), worst = 0;
    assert_non_null(s);
    for (size_t i = 0; i < c->segments; i++) {
        if (curve_share(s, norm + i * n, n) || curve_share(s + n, c->norm + i * n, n))
            fail_msg("%s, segment %zu: norms not usable", c->name, i);
        curve_cumulative(s + 2 * n, s, n);
        curve_cumulative(s + 3 * n, s + n, n);
        for (size_t m = 0; m < n; m++)
            worst = fmax(worst, fabs(s[2 * n + m] - s[3 * n + m]));
    }
    free(s);
    return worst;
}

static int is_example(const struct golden *c)
{
    return strncmp(c->name, "example-", 8) == 0;
}

/* The stand-in for a GPU is slow. */
static int is_slow(const struct kernels *k)
{
    return strstr(k->name, "stand-in") != NULL;
}

/* Whether the case is the first of its family: no case before it has a decoder of the same one. */
static int is_first_of_family(size_t which)
{
    static char families[512][32]; /* of the cases asked about so far, which begin with the first */
    static size_t known;
    assert_true(which < sizeof families / sizeof *families);
    for (; known <= which; known++) {
        struct decoder *d = open_decoder(cases[known].checkpoint);
        snprintf(families[known], sizeof families[known], "%s", d->family);
        decoder_close(d);
    }
    for (size_t i = 0; i < which; i++)
        if (strcmp(families[i], families[which]) == 0)
            return 0;
    return 1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `rough` arithmetic: the design's figure is for trained models, the examples; of the small random
 * ones, where a rounding can turn a ReLU on or off, half must keep to twice that and none be far
 * off. */
static void run_goldens(const char *dtype, const char *set, const struct tolerance *tol, int rough)
{
    struct error e;
    const struct kernel_set_entry *entry = NULL;
    double *worst = calloc(case_count + 1, sizeof *worst);
    size_t random = 0;
    for (int j = 0; j < kernel_set_count; j++)
        if (strcmp(kernel_sets[j].dtype, dtype) == 0 && strcmp(kernel_sets[j].name, set) == 0)
            entry = &kernel_sets[j];
    if (!entry)
        fail_msg("no kernel set %s %s in this build", set, dtype);
    if (!entry->usable()) {
        free(worst);
        skip();
    }
    struct kernels *k = entry->open(&e);
    if (!k)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < case_count; i++) {
        const struct golden *c = &cases[i];
        if (is_slow(k) && (rough ? i % 10 != 0 && strcmp(c->name, "example-window-24") != 0
                                 : !is_first_of_family(i)))
            continue;
        size_t n = c->length - 1;
        double *norm = calloc(c->segments * n, sizeof *norm),
               *logprob = calloc(c->segments, sizeof *logprob);
        struct decoder *d = open_decoder(c->checkpoint);
        struct engine *g =
            open_engine(k, d, (struct engine_request){.positions = (int)n, .memory = 1u << 30});
        measure(norm, logprob, g, c->ids, c->segments, n);
        if (rough && !is_example(c)) {
            worst[random] = worst_c(c, norm);
            if (!(worst[random++] <= tol->random_c))
                fail_msg("%s, %s %s: c differs by %g", c->name, set, dtype, worst[random - 1]);
            for (size_t j = 0; j < c->segments; j++)
                if (!(fabs(logprob[j] - c->logprob[j]) <= tol->random_logprob))
                    fail_msg("%s, %s %s: log p differs by %g", c->name, set, dtype,
                             logprob[j] - c->logprob[j]);
        } else
            compare_case(c, norm, logprob, tol, entry->name);
        engine_close(g);
        decoder_close(d);
        free(norm);
        free(logprob);
    }
    qsort(worst, random, sizeof *worst, by_value);
    if (random && !(worst[random / 2] <= 2 * tol->c))
        fail_msg("%s %s: c differs by %g in the median of %zu random models, expected at most %g",
                 set, dtype, worst[random / 2], random, 2 * tol->c);
    free(worst);
    k->close(k);
}

static void test_goldens_reference_f64(void **state)
{
    (void)state;
    run_goldens("f64", "reference", &tolerance_f64, 0);
}

static void test_goldens_reference_f32(void **state)
{
    (void)state;
    run_goldens("f32", "reference", &tolerance_f32, 0);
}

static void test_goldens_cpu_f32(void **state)
{
    (void)state;
    run_goldens("f32", "cpu", &tolerance_f32, 0);
}

static void test_goldens_reference_bf16(void **state)
{
    (void)state;
    run_goldens("bf16", "reference", &tolerance_bf16, 1);
}

static void test_goldens_cpu_bf16(void **state)
{
    (void)state;
    run_goldens("bf16", "cpu", &tolerance_bf16, 1);
}

static void test_goldens_reference_bf16x3(void **state)
{
    (void)state;
    run_goldens("bf16x3", "reference", &tolerance_bf16x3, 1);
}

static void test_goldens_cpu_bf16x3(void **state)
{
    (void)state;
    run_goldens("bf16x3", "cpu", &tolerance_bf16x3, 1);
}

/* On a GPU, or on its stand-in when REACH_CUDA names that. */
static void test_goldens_cuda_f32(void **state)
{
    (void)state;
    run_goldens("f32", "cuda", &tolerance_f32, 0);
}

static void test_goldens_cuda_tf32(void **state)
{
    (void)state;
    run_goldens("tf32", "cuda", &tolerance_tf32, 1);
}

static void test_goldens_cuda_bf16(void **state)
{
    (void)state;
    run_goldens("bf16", "cuda", &tolerance_bf16, 1);
}

static struct kernels *open_set(const char *dtype)
{
    struct error e;
    struct kernels *k = kernels_open(dtype, &e);
    if (!k)
        fail_msg("%s", e.text);
    return k;
}

enum { TOGETHER = 3 }; /* segments at once, at most */

/* Ids of TOGETHER segments: the case's, and where it has fewer those backwards. */
static int32_t *enough_ids(const struct golden *c)
{
    size_t length = c->length;
    int32_t *ids = malloc(TOGETHER * length * sizeof *ids);
    assert_non_null(ids);
    for (size_t s = 0; s < TOGETHER; s++)
        for (size_t m = 0; m < length; m++)
            ids[s * length + m] = s < c->segments
                                      ? c->ids[s * length + m]
                                      : ids[(s - c->segments) * length + length - 1 - m];
    return ids;
}

/* Store or recompute, resident or by layer, one segment at a time or several: the same bytes. */
static void same_bytes(struct kernels *k)
{
    const struct engine_request ways[] = {
        {.gradient.keep = KEEP_STORE, .weights = WEIGHTS_RESIDENT, .batch = 1},
        {.gradient.keep = KEEP_RECOMPUTE, .weights = WEIGHTS_RESIDENT, .batch = 1},
        {.gradient.keep = KEEP_STORE, .weights = WEIGHTS_BY_LAYER, .batch = 2},
        {.gradient.keep = KEEP_RECOMPUTE, .weights = WEIGHTS_BY_LAYER, .batch = 3}};
    for (size_t i = 0; i < case_count; i++) {
        const struct golden *c = &cases[i];
        if (is_slow(k) && i % 40 != 0)
            continue;
        size_t n = c->length - 1, count = TOGETHER * (n + 1);
        struct decoder *d = open_decoder(c->checkpoint);
        double *first = NULL;
        int32_t *ids = enough_ids(c);
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            struct engine_request o = ways[w];
            o.positions = (int)n, o.memory = 1u << 30;
            double *got = calloc(count, sizeof *got);
            struct engine *g = open_engine(k, d, o);
            measure(got, got + TOGETHER * n, g, ids, TOGETHER, n);
            engine_close(g);
            if (!first)
                first = got;
            else {
                if (memcmp(first, got, count * sizeof *got) != 0)
                    fail_msg("%s: other bytes with keep %d, weights %d, batch %d", c->name,
                             o.gradient.keep, o.weights, o.batch);
                free(got);
            }
        }
        free(first), free(ids);
        decoder_close(d);
    }
    k->close(k);
}

static void test_same_bytes(void **state)
{
    (void)state;
    same_bytes(open_set("f32"));
    same_bytes(open_set("bf16x3"));
}

static void test_same_bytes_cuda(void **state)
{
    struct error e;
    (void)state;
    for (int j = 0; j < kernel_set_count; j++)
        if (strcmp(kernel_sets[j].name, "cuda") == 0) {
            if (!kernel_sets[j].usable())
                skip();
            struct kernels *k = kernel_sets[j].open(&e);
            if (!k)
                fail_msg("%s", e.text);
            same_bytes(k);
        }
}

/* ||g_m|| from central differences of log p along every coordinate of the token's row, for tokens
 * that occur once. */
static void test_finite_differences(void **state)
{
    (void)state;
    static const char *const names[] = {
        "own-gated", "own-biases-partial"}; /* untied heads: the table is the input side alone */
    struct kernels *k = open_set("f64");
    for (size_t j = 0; j < 2; j++) {
        const struct golden *c = NULL;
        for (size_t i = 0; i < case_count; i++)
            if (strcmp(cases[i].name, names[j]) == 0)
                c = &cases[i];
        assert_non_null(c);
        struct decoder *d = open_decoder(c->checkpoint);
        assert_false(d->tied);
        size_t n = c->length - 1, width = (size_t)d->hidden, checked = 0;
        double *table = malloc((size_t)d->vocabulary * width * sizeof *table),
               *norm = calloc(n, sizeof *norm), p;
        element_widen_f64(table, d->embedding.data, d->embedding.type,
                          (size_t)d->vocabulary * width);
        d->embedding.data = table, d->embedding.type = ELEMENT_F64;
        struct engine_request o = {.positions = (int)n,
                                   .weights = WEIGHTS_RESIDENT,
                                   .memory = 1u << 30};
        struct engine *g = open_engine(k, d, o);
        measure(norm, &p, g, c->ids, 1, n);
        engine_close(g);
        for (size_t m = 0; m < n && checked < 4; m += 1 + n / 5) {
            int once = 1;
            for (size_t i = 0; i < n; i++)
                once &= i == m || c->ids[i] != c->ids[m];
            if (!once)
                continue;
            double *row = table + (size_t)c->ids[m] * width, sum = 0, scratch[512];
            assert_true(n <= 512);
            const double step = 1e-5;
            for (size_t i = 0; i < width; i++) {
                double kept = row[i], above, below;
                row[i] = kept + step;
                g = open_engine(k, d, o);
                measure(scratch, &above, g, c->ids, 1, n);
                engine_close(g);
                row[i] = kept - step;
                g = open_engine(k, d, o);
                measure(scratch, &below, g, c->ids, 1, n);
                engine_close(g);
                row[i] = kept;
                double slope = (above - below) / (2 * step);
                sum += slope * slope;
            }
            if (!(fabs(sqrt(sum) - norm[m]) <= 1e-6 * norm[m] + 1e-9))
                fail_msg("%s, position %zu: central differences give %.10g, reverse mode %.10g",
                         c->name, m, sqrt(sum), norm[m]);
            checked++;
        }
        assert_true(checked >= 2);
        decoder_close(d);
        free(table);
        free(norm);
    }
    k->close(k);
}

/* Twice the seed, twice the gradient: exactly, for a power of two, in every set. */
static void test_seed(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"f32", "f64"};
    for (size_t j = 0; j < 2; j++) {
        struct kernels *k = open_set(dtypes[j]);
        for (size_t i = 0; i < case_count; i += 3) {
            const struct golden *c = &cases[i];
            size_t n = c->length - 1;
            double *one = calloc(2 * n, sizeof *one), *two = one + n, p, q;
            struct decoder *d = open_decoder(c->checkpoint);
            struct engine *g = open_engine(k, d,
                                           (struct engine_request){.positions = (int)n,
                                                                   .weights = WEIGHTS_RESIDENT,
                                                                   .memory = 1u << 30});
            measure(one, &p, g, c->ids, 1, n);
            engine_close(g);
            g = open_engine(k, d,
                            (struct engine_request){.positions = (int)n,
                                                    .weights = WEIGHTS_RESIDENT,
                                                    .gradient.seed = -4,
                                                    .memory = 1u << 30});
            measure(two, &q, g, c->ids, 1, n);
            engine_close(g);
            if (!(p == q))
                fail_msg("%s: log p depends on the seed: %.17g and %.17g", c->name, p, q);
            for (size_t m = 0; m < n; m++)
                if (!(two[m] == 4 * one[m]))
                    fail_msg("%s, %s, position %zu: seed -4 gives %.17g, 4 x seed 1 is %.17g",
                             c->name, dtypes[j], m, two[m], 4 * one[m]);
            decoder_close(d);
            free(one);
        }
        k->close(k);
    }
}

/* The plan refuses what cannot fit, and what it says would fit does. */
static void test_memory_plan(void **state)
{
    (void)state;
    struct error e;
    struct kernels *k = open_set("f32");
    struct decoder *d = open_decoder("tests/goldens/own-alibi");
    const size_t little = 8u << 20;
    struct engine_request o = {.positions = 40000, .memory = little};
    struct memory_plan plan;
    assert_int_equal(engine_estimate(&plan, k, d, &o, &e), -1);
    const char *says = strstr(e.text, "--length ");
    if (!says)
        fail_msg("no --length that would fit in: %s", e.text);
    o.positions = atoi(says + 9) - 1;
    assert_true(o.positions > 1 && o.positions < 40000);
    if (engine_estimate(&plan, k, d, &o, &e))
        fail_msg("the length that would fit does not: %s", e.text);
    assert_true(plan.total <= (double)little);
    /* where not even one token fits, what it needs does not depend on what was asked for */
    char longest[sizeof e.text];
    o.memory = 1000;
    assert_int_equal(engine_estimate(&plan, k, d, &o, &e), -1);
    memcpy(longest, e.text, sizeof longest);
    assert_non_null(strstr(longest, "one token need"));
    o.positions = 1;
    assert_int_equal(engine_estimate(&plan, k, d, &o, &e), -1);
    assert_string_equal(e.text, longest);
    o.memory = 1u << 30;
    o.positions = 4000;
    assert_int_equal(engine_estimate(&plan, k, d, &o, &e), 0);
    assert_int_equal(plan.stored_layers, plan.layers);
    o.memory = (size_t)(plan.total - 1000);
    assert_int_equal(engine_estimate(&plan, k, d, &o, &e), 0);
    assert_true(plan.total <= (double)o.memory);
    decoder_close(d);
    k->close(k);
}

/* Forward alone, with more outputs than one, gives the same log p. */
static void test_forward_alone(void **state)
{
    (void)state;
    struct error e;
    struct kernels *k = open_set("f64");
    for (size_t i = 0; i < case_count; i++) {
        const struct golden *c = &cases[i];
        double logprob[2];
        if (c->length > 200) /* the long ones are of families that short ones have too */
            continue;
        struct decoder *d = open_decoder(c->checkpoint);
        struct engine *g = open_engine(k, d,
                                       (struct engine_request){.positions = (int)c->length - 1,
                                                               .kind = REQUEST_SCORE,
                                                               .score.outputs = 2,
                                                               .weights = WEIGHTS_RESIDENT,
                                                               .memory = 1u << 30});
        if (engine_score(g, logprob, c->ids, 1, &e))
            fail_msg("%s", e.text);
        if (!(fabs(logprob[1] - c->logprob[0]) <= 1e-9))
            fail_msg("%s: log p %.12g forward alone, expected %.12g", c->name, logprob[1],
                     c->logprob[0]);
        engine_close(g);
        decoder_close(d);
    }
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens_reference_f64),
        cmocka_unit_test(test_goldens_reference_f32),
        cmocka_unit_test(test_goldens_cpu_f32),
        cmocka_unit_test(test_goldens_cuda_f32),
        cmocka_unit_test(test_goldens_reference_bf16),
        cmocka_unit_test(test_goldens_cpu_bf16),
        cmocka_unit_test(test_goldens_reference_bf16x3),
        cmocka_unit_test(test_goldens_cpu_bf16x3),
        cmocka_unit_test(test_goldens_cuda_tf32),
        cmocka_unit_test(test_goldens_cuda_bf16),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_same_bytes_cuda),
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_memory_plan),
        cmocka_unit_test(test_forward_alone),
    };
    if (getenv("REACH_CUDA")) /* a run for the plug-in's sets */
        cmocka_set_test_filter("*_cuda*");
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
