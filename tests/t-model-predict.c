/* Log p of a whole vocabulary, and gradients of the difference of two, in every set of kernels:
 * against the goldens' log p, and identities that need no oracle. */
#include "model/engine.h"
#include "tests/golden.h"

#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct golden *cases;
static size_t case_count;

static int open_cases(void **state)
{
    (void)state;
    omp_set_num_threads(
        1); /* the models are tiny: starting threads would take longer than they do */
    cases = goldens_open(&case_count);
    return case_count ? 0 : -1;
}

static int close_cases(void **state)
{
    (void)state;
    goldens_free(cases, case_count);
    return 0;
}

static struct engine *open_engine(struct kernels *k, const struct decoder *d, size_t n,
                                  int contrast, int32_t against, enum weights_mode weights)
{
    struct engine_request o = {.positions = (int)n,
                               .memory = 1u << 30,
                               .batch = 1,
                               .weights = weights,
                               .gradient = {.contrast = contrast, .against = against}};
    struct error e;
    struct engine *g = engine_create(k, d, &o, &e);

    if (!g)
        fail_msg("%s", e.text);
    return g;
}

static void measure(double *norm, double *logprob, struct engine *g, const int32_t *ids)
{
    struct error e;

    if (engine_measure(g, norm, logprob, ids, 1, &e))
        fail_msg("%s", e.text);
}

/* Forward alone, behind a target that is not looked at, and again behind a pass in reverse. How
 * near each set comes to the goldens is t-model-goldens.c's to say. */
static void check_prediction(struct kernels *k, const struct decoder *d, const struct golden *c,
                             double tolerance)
{
    size_t n = c->length - 1, count = (size_t)d->vocabulary;
    struct engine *g = open_engine(k, d, n, 0, 0, WEIGHTS_BY_LAYER);
    double *first = calloc(2 * count + n, sizeof *first), *again = first + count,
           *norm = again + count, own, sum = 0;
    int32_t *ids = malloc(c->length * sizeof *ids);
    struct error e;

    memcpy(ids, c->ids, c->length * sizeof *ids);
    ids[n] = ids[0];
    if (engine_forward(g, ids, 1, &e) || engine_predict(g, first, 0, 1, &e))
        fail_msg("%s", e.text);
    measure(norm, &own, g, c->ids);
    if (engine_predict(g, again, 0, 1, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(first, again, count * sizeof *first);
    for (size_t t = 0; t < count; t++)
        sum += exp(first[t]);
    if (!(fabs(first[c->ids[n]] - c->logprob[0]) <= 10 * tolerance) ||
        !(fabs(first[c->ids[n]] - own) <= tolerance) || !(fabs(sum - 1) <= 1e-12))
        fail_msg("%s, %s: log p %.17g, the engine's %.17g, expected %.17g; all p make %.17g",
                 c->name, k->name, first[c->ids[n]], own, c->logprob[0], sum);
    engine_close(g);
    free(first);
    free(ids);
}

/* The gradient of a difference turns its sign, and nothing else, when the two are exchanged, and is
 * no longer than both. */
static void check_contrast(struct kernels *k, const struct decoder *d, const struct golden *c,
                           double tolerance)
{
    size_t n = c->length - 1;
    int32_t target = c->ids[n], other = target ? target - 1 : 1,
            *ids = malloc(c->length * sizeof *ids);
    double *norm = calloc(4 * n, sizeof *norm), logprob[4];

    memcpy(ids, c->ids, c->length * sizeof *ids);
    for (size_t i = 0; i < 4; i++) { /* target - other, other - target, target, other */
        struct engine *g = open_engine(k, d, n, i < 2, i ? target : other,
                                       i ? WEIGHTS_RESIDENT : WEIGHTS_BY_LAYER);

        ids[n] = i % 2 ? other : target;
        measure(norm + i * n, &logprob[i], g, ids);
        engine_close(g);
    }
    assert_true(logprob[0] == logprob[2] && logprob[1] == logprob[3]);
    for (size_t m = 0; m < n; m++) {
        double both = norm[m], a = norm[2 * n + m], b = norm[3 * n + m];

        if (both != norm[n + m] || !(both <= (a + b) * (1 + tolerance)) ||
            !(both >= fabs(a - b) - (a + b) * tolerance))
            fail_msg(
                "%s, %s, position %zu: norm %.17g, exchanged %.17g, of the two %.17g and %.17g",
                c->name, k->name, m, both, norm[n + m], a, b);
    }
    free(norm);
    free(ids);
}

static void reshape(struct engine *g, size_t n, int batch, int contrast, int32_t against)
{
    const struct engine_request o = {.positions = (int)n,
                                     .batch = batch,
                                     .gradient = {.contrast = contrast, .against = against}};
    struct error e;

    if (engine_reshape(g, &o, &e))
        fail_msg("%s", e.text);
}

/* An engine of shorter segments, made to fit the golden's, gives the bytes of one that was made for
 * them: with targets that are named after the forward pass, and a contrast for each segment. */
static void check_reshaped(struct kernels *k, const struct decoder *d, const struct golden *c)
{
    size_t n = c->length - 1;
    int count = c->segments < 2 ? 1 : 2;
    struct engine *used = open_engine(k, d, n > 3 ? n - 3 : n, 1, 1, WEIGHTS_AUTO), *fresh;
    double *norm = calloc(4 * n, sizeof *norm), logprob[4];
    int32_t *ids = malloc(2 * c->length * sizeof *ids), against[2];
    struct error e;

    for (int contrast = 0; contrast < 2; contrast++) {
        memcpy(ids, c->ids, (size_t)count * c->length * sizeof *ids);
        for (int i = 0; i < count; i++) {
            int32_t *target = &ids[(size_t)i * c->length + n];

            against[i] = *target > i ? *target - 1 - i : *target + 1 + i;
            fresh = open_engine(k, d, n, contrast, against[i], WEIGHTS_AUTO);
            measure(norm + (size_t)i * n, &logprob[i], fresh, ids + (size_t)i * c->length);
            engine_close(fresh);
            *target = 0;
        }
        reshape(used, n, count, contrast, 0);
        if (engine_forward(used, ids, count, &e) ||
            (contrast && engine_contrast(used, against, count, &e)) ||
            engine_reverse(used, norm + 2 * n, logprob + 2, c->ids, count, &e))
            fail_msg("%s, %s: %s", c->name, k->name, e.text);
        if (memcmp(norm, norm + 2 * n, (size_t)count * n * sizeof *norm) ||
            memcmp(logprob, logprob + 2, (size_t)count * sizeof *logprob))
            fail_msg("%s, %s, contrast %d: a reshaped engine finds other numbers", c->name, k->name,
                     contrast);
    }
    engine_close(used);
    free(norm);
    free(ids);
}

static void check_sets(const char *dtype, double tolerance, size_t every)
{
    struct error e;

    for (int j = 0; j < kernel_set_count; j++) {
        struct kernels *k;

        if (strcmp(kernel_sets[j].dtype, dtype) != 0 || !kernel_sets[j].usable())
            continue;
        if (!(k = kernel_sets[j].open(&e)))
            fail_msg("%s", e.text);
        for (size_t i = 0; i < case_count; i += every) {
            struct decoder *d = decoder_open(cases[i].checkpoint, &e);

            if (!d)
                fail_msg("%s", e.text);
            if (d->padding < 0) {
                check_prediction(k, d, &cases[i], tolerance);
                check_contrast(k, d, &cases[i], tolerance);
                check_reshaped(k, d, &cases[i]);
            }
            decoder_close(d);
        }
        k->close(k);
    }
}

static void test_f64(void **state)
{
    (void)state;
    check_sets("f64", 1e-9, 2);
}

static void test_f32(void **state)
{
    (void)state;
    check_sets("f32", 1e-5, 6);
}

/* The other token must be one of the vocabulary. */
static void test_refused(void **state)
{
    struct error e;
    struct kernels *k = kernels_open("f32", &e);
    struct decoder *d = decoder_open("tests/goldens/own-alibi", &e);
    struct engine_request o = {.positions = 5,
                               .gradient = {.contrast = 1, .against = d->vocabulary}};

    (void)state;
    assert_null(engine_create(k, d, &o, &e));
    assert_non_null(strstr(e.text, "outside the vocabulary"));
    o.gradient.against = 1;
    o.gradient.outputs = 2;
    assert_null(engine_create(k, d, &o, &e));
    assert_non_null(strstr(e.text, "a sum of 2 targets after 5 inputs, with a contrast"));
    o.gradient = (struct gradient_request){.outputs = 6};
    assert_null(engine_create(k, d, &o, &e));
    assert_non_null(strstr(e.text, "a sum of 6 targets after 5 inputs (expected"));
    decoder_close(d);
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f64), cmocka_unit_test(test_f32),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
