/* Whole models on the cuda set, of random weights in memory, so that this also runs where no
 * checkpoint can be read: against the same engine on the reference set in double, and bit by bit
 * against itself in other batches, plans and runs. */
#include "analyze/curve.h"
#include "model/engine.h"
#include "tests/kernel_run.h"
#include "tests/memory_decoder.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEGMENTS = 3, CASES = 6 };

static const struct model_case {
    struct memory_shape shape;
    int positions;
} cases[CASES] = {
    /* kind, layers, heads, kv_heads, hidden, mlp, vocabulary, positions, window */
    {{MEMORY_GPT2, 2, 2, 0, 64, 96, 131, 80, 0}, 67},
    {{MEMORY_NEOX, 2, 3, 0, 96, 192, 97, 0, 0}, 65},
    {{MEMORY_LLAMA, 2, 4, 2, 128, 176, 200, 0, 0}, 70},
    {{MEMORY_LLAMA, 3, 4, 1, 60, 44, 61, 0, 9}, 41},
    {{MEMORY_ALIBI, 2, 2, 0, 66, 50, 77, 1, 0}, 64},
    {{MEMORY_NEOX, 2, 1, 0, 16, 16, 5, 0, 0}, 1},
};

static const struct {
    const char *dtype;
    double c; /* the design's figures, for trained models; random ones are rougher: twice that for
                 the rough types */
} types[] = {{"f32", 1e-5}, {"tf32", 1e-3}, {"bf16", 1e-2}};

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e;
    for (int i = 0; i < kernel_set_count; i++) {
        if (strcmp(kernel_sets[i].name, name) != 0 || strcmp(kernel_sets[i].dtype, dtype) != 0)
            continue;
        if (!set_usable(&kernel_sets[i]))
            return NULL;
        struct kernels *k = kernel_sets[i].open(&e);
        if (!k)
            fail_msg("%s %s: %s", name, dtype, e.text);
        return k;
    }
    fail_msg("no kernel set %s %s", name, dtype);
    return NULL;
}

static struct decoder *open_decoder(const struct model_case *c)
{
    struct error e;
    struct decoder *d = memory_decoder(&c->shape, &e);
    if (!d)
        fail_msg("%s", e.text);
    return d;
}

/* The stand-in for a GPU is slow: it does a part of the cases, and leaves the type in between to
 * tests of single operations. */
static int left_out(const struct kernels *k, int i)
{
    return strstr(k->name, "stand-in") && (i % 2 || !strcmp(k->dtype, "tf32"));
}

/* [SEGMENTS, n] norms and then [SEGMENTS] log p; the caller frees. *plan (may be NULL): the plan
 * that it ran by. */
static double *measure_by(struct memory_plan *plan, struct kernels *k, const struct decoder *d,
                          int positions, struct engine_request o)
{
    struct error e;
    size_t n = (size_t)positions;
    double *out = calloc(SEGMENTS * (n + 1), sizeof *out);
    int32_t ids[SEGMENTS * 128];
    assert_non_null(out);
    assert_true(n + 1 <= 128);
    for (size_t i = 0; i < SEGMENTS * (n + 1); i++)
        ids[i] = (int32_t)(i * i * 31 + i * 7919) % d->vocabulary;
    o.positions = positions;
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s: %s", k->name, e.text);
    size_t batch = (size_t)engine_plan(g)->batch;
    if (plan)
        *plan = *engine_plan(g);
    for (size_t i = 0; i < SEGMENTS; i += batch)
        if (engine_measure(g, out + i * n, out + SEGMENTS * n + i, ids + i * (n + 1),
                           (int)(SEGMENTS - i < batch ? SEGMENTS - i : batch), &e))
            fail_msg("%s: %s", k->name, e.text);
    engine_close(g);
    return out;
}

static double *measure(struct kernels *k, const struct decoder *d, int positions,
                       struct engine_request o)
{
    o.memory = (size_t)1 << 30;
    return measure_by(NULL, k, d, positions, o);
}

/* The largest difference of the cumulative curves of any segment. */
static double curve_difference(const double *a, const double *b, size_t n)
{
    double s[128], t[128], c[128], f[128], worst = 0;
    for (size_t i = 0; i < SEGMENTS; i++) {
        if (curve_share(s, a + i * n, n) || curve_share(t, b + i * n, n))
            return NAN;
        curve_cumulative(c, s, n);
        curve_cumulative(f, t, n);
        for (size_t m = 0; m < n; m++)
            worst = fmax(worst, fabs(c[m] - f[m]));
    }
    return worst;
}

static void test_against_reference(void **state)
{
    (void)state;
    struct kernels *oracle = open_set("reference", "f64");
    int any = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct kernels *k = open_set("cuda", types[t].dtype);
        for (int i = 0; k && i < CASES; i++) {
            size_t n = (size_t)cases[i].positions;
            if (left_out(k, i))
                continue;
            struct decoder *d = open_decoder(&cases[i]);
            struct engine_request o = {.weights = WEIGHTS_RESIDENT};
            double *want = measure(oracle, d, cases[i].positions, o),
                   *got = measure(k, d, cases[i].positions, o);
            double difference = curve_difference(got, want, n);
            if (!(difference <= types[t].c))
                fail_msg("%s %s, case %d: c differs by %g, expected at most %g", k->name, k->dtype,
                         i, difference, types[t].c);
            for (size_t s = 0; s < SEGMENTS; s++)
                if (!(fabs(got[SEGMENTS * n + s] - want[SEGMENTS * n + s]) <= 10 * types[t].c))
                    fail_msg("%s %s, case %d, segment %zu: log p %g, expected %g", k->name,
                             k->dtype, i, s, got[SEGMENTS * n + s], want[SEGMENTS * n + s]);
            free(want), free(got);
            memory_decoder_free(d);
        }
        any |= k != NULL;
        if (k)
            k->close(k);
    }
    oracle->close(oracle);
    if (!any)
        skip();
}

/* Stored or recomputed, weights resident or by layer, any batch, another run: the same bytes. */
static void test_same_bytes(void **state)
{
    const struct engine_request ways[] = {
        {.gradient.keep = KEEP_STORE, .weights = WEIGHTS_RESIDENT, .batch = 3},
        {.gradient.keep = KEEP_STORE, .weights = WEIGHTS_BY_LAYER, .batch = 2},
        {.gradient.keep = KEEP_RECOMPUTE, .weights = WEIGHTS_BY_LAYER, .batch = 1},
        {.gradient.keep = KEEP_STORE, .weights = WEIGHTS_RESIDENT, .batch = 3}};
    int any = 0, early = getenv("REACH_CUDA_HOST_COPIES") != NULL;
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct kernels *k = open_set("cuda", types[t].dtype);
        for (int i = 0; k && i < CASES; i++) {
            size_t count = SEGMENTS * ((size_t)cases[i].positions + 1);
            if (left_out(k, i))
                continue;
            struct decoder *d = open_decoder(&cases[i]);
            double *first = measure(k, d, cases[i].positions, ways[0]);
            for (size_t w = 1; w < sizeof ways / sizeof *ways; w++) {
                if (w == 2) /* uploads of the stand-in run late but here, where they run as early as
                               may be */
                    setenv("REACH_CUDA_HOST_COPIES", "early", 1);
                double *again = measure(k, d, cases[i].positions, ways[w]);
                if (!early)
                    unsetenv("REACH_CUDA_HOST_COPIES");
                if (memcmp(first, again, count * sizeof *first) != 0)
                    fail_msg("%s %s, case %d: other bytes with keep %d, weights %d, batch %d",
                             k->name, k->dtype, i, ways[w].gradient.keep, ways[w].weights,
                             ways[w].batch);
                free(again);
            }
            free(first);
            memory_decoder_free(d);
        }
        any |= k != NULL;
        if (k)
            k->close(k);
    }
    if (!any)
        skip();
}

static void set_device_memory(size_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", bytes);
    setenv("REACH_CUDA_HOST_MEMORY", text, 1);
}

/* On a device whose memory holds two blocks but not all: weights come and go by layer, within that
 * memory and to the same bytes; on a smaller one the run is refused. The stand-in alone can be made
 * small. */
static void test_small_device(void **state)
{
    const struct model_case c = {{MEMORY_GPT2, 8, 2, 0, 64, 2048, 50, 16, 0}, 9};
    const struct engine_request o = {.batch = 2, .gradient.keep = KEEP_STORE, .positions = 9};
    struct memory_plan resident, by_layer;
    struct error e;
    struct kernels *k = open_set("cuda", "bf16");
    (void)state;
    if (!k)
        skip();
    if (!strstr(k->name, "stand-in")) {
        k->close(k);
        skip();
    }
    struct decoder *d = open_decoder(&c);
    double *want = measure_by(&resident, k, d, c.positions, o);
    assert_true(resident.resident);
    struct engine_request streamed = o;
    streamed.weights = WEIGHTS_BY_LAYER;
    if (engine_estimate(&by_layer, k, d, &streamed, &e))
        fail_msg("%s", e.text);
    assert_true(by_layer.total < resident.total);
    k->close(k);
    k = open_set("cuda", "bf16"); /* a fresh one, with nothing in its pool */
    set_device_memory((size_t)((by_layer.total + resident.total) / 2 / 0.9));
    struct memory_plan plan;
    double *got = measure_by(&plan, k, d, c.positions, o);
    assert_int_equal(plan.resident, 0);
    if (memcmp(want, got, SEGMENTS * ((size_t)c.positions + 1) * sizeof *want) != 0)
        fail_msg("weights by layer: other bytes");
    k->close(k);
    k = open_set("cuda", "bf16");
    set_device_memory((size_t)(0.5 * by_layer.total));
    struct engine *g = engine_create(k, d, &o, &e);
    assert_null(g);
    if (!strstr(e.text, "may be used") || strchr(e.text, '\n'))
        fail_msg("\"%s\" (expected one line with what may be used)", e.text);
    unsetenv("REACH_CUDA_HOST_MEMORY");
    free(want), free(got);
    memory_decoder_free(d);
    k->close(k);
}

/* How often the host has waited for the stand-in; 0 on a device, which does not count. */
static long host_waits(void)
{
    const char *path = getenv("REACH_CUDA");
    void *plugin = path && *path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    long (*waits)(void) = NULL;
    if (plugin)
        *(void **)&waits = dlsym(plugin, "cuda_host_waits");
    long count = waits ? waits() : 0;
    if (plugin)
        dlclose(plugin);
    return count;
}

/* Two batches at a time: the second begins without a wait, results are those of one batch after the
 * other, and nothing is lost or leaked on the way out. */
static void test_two_at_a_time(void **state)
{
    enum { BATCHES = 5 };
    const struct model_case *c = &cases[2];
    size_t n = (size_t)c->positions, layers = (size_t)c->shape.layers;
    int any = 0;
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int by_layer = 0; by_layer < 2; by_layer++) {
            struct error e;
            struct kernels *k = open_set("cuda", types[t].dtype);
            if (!k || left_out(k, 2)) {
                if (k)
                    k->close(k);
                continue;
            }
            struct decoder *d = open_decoder(c);
            struct engine_request o = {.positions = c->positions,
                                       .batch = 2,
                                       .weights = by_layer ? WEIGHTS_BY_LAYER : WEIGHTS_RESIDENT,
                                       .gradient.by_layer = by_layer,
                                       .memory = (size_t)1 << 30};
            struct engine *g = engine_create(k, d, &o, &e);
            if (!g)
                fail_msg("%s", e.text);
            size_t each = 2 * (by_layer ? layers : 1) * n;
            double *norm[2] = {calloc(BATCHES * each, sizeof(double)),
                               calloc(BATCHES * each, sizeof(double))},
                   logprob[2][2 * BATCHES];
            int32_t ids[BATCHES][2 * 128];
            memset(logprob, 0, sizeof logprob);
            assert_true(norm[0] && norm[1]);
            for (int b = 0; b < BATCHES; b++) {
                int count = b == 3 ? 1 : 2; /* one in between is short */
                for (size_t i = 0; i < 2 * (n + 1); i++)
                    ids[b][i] = (int32_t)((i * i * 31 + i * 7919 + 17 * (size_t)b) %
                                          (size_t)d->vocabulary);
                assert_int_equal(engine_measure(g, norm[0] + (size_t)b * each, logprob[0] + 2 * b,
                                                ids[b], count, &e),
                                 0);
            }
            assert_int_equal(engine_ahead(g), 2);
            assert_int_equal(engine_end(g, norm[1], logprob[1], &e), -1); /* none is begun */
            for (int b = 0; b < BATCHES; b++) {
                long before = host_waits();
                if (engine_begin(g, ids[b], b == 3 ? 1 : 2, &e))
                    fail_msg("%s", e.text);
                if (!by_layer)
                    assert_int_equal(host_waits(), before);
                if (b == 0)
                    continue;
                assert_int_equal(engine_begin(g, ids[b], 1, &e), -1); /* a third one is refused */
                if (engine_end(g, norm[1] + (size_t)(b - 1) * each, logprob[1] + 2 * (b - 1), &e))
                    fail_msg("%s", e.text);
            }
            ids[0][5] = d->vocabulary; /* refused, and the one before goes on to its end */
            assert_int_equal(engine_begin(g, ids[0], 2, &e), -1);
            assert_int_equal(engine_end(g, norm[1] + (BATCHES - 1) * each,
                                        logprob[1] + 2 * (BATCHES - 1), &e),
                             0);
            if (memcmp(norm[0], norm[1], BATCHES * each * sizeof(double)) != 0 ||
                memcmp(logprob[0], logprob[1], sizeof logprob[0]) != 0)
                fail_msg("%s %s, by layer %d: other bytes with two batches at a time", k->name,
                         k->dtype, by_layer);
            assert_int_equal(engine_begin(g, ids[1], 2, &e), 0); /* and given up */
            assert_int_equal(engine_begin(g, ids[2], 2, &e), 0);
            engine_close(g);
            free(norm[0]), free(norm[1]);
            memory_decoder_free(d);
            k->close(k);
            any = 1;
        }
    if (!any)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_reference),
                                       cmocka_unit_test(test_same_bytes),
                                       cmocka_unit_test(test_small_device),
                                       cmocka_unit_test(test_two_at_a_time)};
    return cmocka_run_group_tests_name("cuda-model", tests, NULL, NULL);
}
