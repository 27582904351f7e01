/* Inputs of layers that wait for reverse elsewhere than in their buffers: on disk to the same
 * bytes, as few as must; in bf16 to the nearest, with log p untouched and c near what it was,
 * whatever the batch, the weights and the place they wait in. */
#include "analyze/curve.h"
#include "model/engine.h"
#include "model/engine_parts.h"
#include "tests/golden.h"
#include "tests/memory_decoder.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MUCH ((size_t)1 << 30)
enum { N = 260, SEGMENTS = 2 };

/* Deep, so that inputs weigh; the third a cone, whose inputs are of all sizes; bf16, and f32. */
static const struct memory_shape shapes[] = {{MEMORY_LLAMA, 9, 4, 2, 64, 48, 60, 0, 0},
                                             {MEMORY_NEOX, 8, 2, 0, 64, 64, 50, 0, 0},
                                             {MEMORY_LLAMA, 9, 4, 2, 64, 48, 60, 0, 50},
                                             {MEMORY_ALIBI, 7, 2, 0, 64, 64, 50, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e;
    for (int i = 0; i < kernel_set_count; i++)
        if (strcmp(kernel_sets[i].name, name) == 0 && strcmp(kernel_sets[i].dtype, dtype) == 0) {
            struct kernels *k = kernel_sets[i].open(&e);
            if (!k)
                fail_msg("%s", e.text);
            return k;
        }
    fail_msg("no set %s in %s", name, dtype);
    return NULL;
}

static struct decoder *shape_of(size_t i)
{
    struct error e;
    struct decoder *d = memory_decoder(&shapes[i], &e);
    if (!d)
        fail_msg("%s", e.text);
    return d;
}

static struct memory_plan estimate(struct kernels *k, const struct decoder *d,
                                   struct engine_request o)
{
    struct memory_plan p;
    struct error e;
    if (engine_estimate(&p, k, d, &o, &e))
        fail_msg("%zu bytes, keep %d: %s", o.memory, o.gradient.keep, e.text);
    return p;
}

/* norm [segments, layers, n] and log p behind it, of ids that are made up. The caller frees. */
static double *measure(struct kernels *k, const struct decoder *d, struct engine_request o,
                       size_t *bytes)
{
    struct error e;
    size_t n = (size_t)o.positions, each = (o.gradient.by_layer ? (size_t)d->layers : 1) * n,
           count = SEGMENTS * (each + 1);
    double *out = calloc(count, sizeof *out);
    int32_t *ids = malloc(SEGMENTS * (n + 1) * sizeof *ids);
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    assert_true(out && ids);
    for (size_t i = 0; i < SEGMENTS * (n + 1); i++)
        ids[i] = (int32_t)(random_at(1, i) % (uint64_t)d->vocabulary);
    for (size_t s = 0; s < SEGMENTS;) {
        size_t batch = (size_t)engine_plan(g)->batch,
               now = SEGMENTS - s < batch ? SEGMENTS - s : batch;
        if (engine_measure(g, out + s * each, out + SEGMENTS * each + s, ids + s * (n + 1),
                           (int)now, &e))
            fail_msg("%s", e.text);
        s += now;
    }
    engine_close(g);
    free(ids);
    *bytes = count * sizeof *out;
    return out;
}

static void assert_same(const double *want, struct kernels *k, const struct decoder *d,
                        struct engine_request o, const char *what)
{
    size_t bytes;
    double *got = measure(k, d, o, &bytes);
    if (memcmp(want, got, bytes) != 0)
        fail_msg("%s: other bytes (%s, keep %d, batch %d, weights %d, %zu bytes of memory)", what,
                 k->name, o.gradient.keep, o.batch, o.weights, o.memory);
    free(got);
}

/* With a budget that takes them one after the other to disk: the fewest, and the same bytes each
 * time. */
static void disk(struct kernels *k, enum keep_mode keep, int by_layer, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct decoder *d = shape_of(i);
        struct engine_request o = {.positions = N,
                                   .memory = MUCH,
                                   .weights = WEIGHTS_BY_LAYER,
                                   .batch = 1};
        size_t bytes;
        int before = 0, seen = 0;
        o.gradient.keep = keep, o.gradient.by_layer = by_layer;
        double *want = measure(k, d, o, &bytes);
        o.gradient.keep = keep == KEEP_AUTO ? KEEP_RECOMPUTE : keep;
        struct memory_plan p = estimate(k, d, o);
        assert_true(p.disk == 0 && p.disk_layers == 0 && p.stored_layers == 0);
        o.gradient.keep = keep, o.gradient.scratch = scratch_folder;
        assert_true(estimate(k, d, o).disk == 0); /* it fits */
        assert_same(want, k, d, o, "nothing on disk");
        for (size_t budget = (size_t)p.total;; budget = (size_t)p.total - 1) {
            struct error e;
            o.memory = budget;
            if (engine_estimate(&p, k, d, &o, &e)) {
                struct engine_request none = o;
                none.gradient.scratch = NULL;
                assert_int_equal(check_message("less than what all on disk need", &e,
                                               "needs|would fit"),
                                 0);
                assert_int_equal(engine_estimate(&p, k, d, &none, &e), -1);
                break;
            }
            if (!(p.total <= (double)budget && p.batch == 1 && p.stored_layers == 0 &&
                  p.disk_layers >= before && (p.disk > 0) == (p.disk_layers > 0)))
                fail_msg("shape %zu: %d layers on disk, %.0f of %zu bytes, %.0f on disk", i,
                         p.disk_layers, p.total, budget, p.disk);
            if (p.disk_layers) {
                double rows = 0, size = keep == KEEP_BF16 ? 2 : (double)k->role_size[ROLE_RESIDUAL];
                struct shape s;
                assert_int_equal(shape_open(&s, d, &o, &e), 0);
                for (int l = 0; l < p.disk_layers; l++)
                    rows += s.keys[l];
                shape_close(&s);
                assert_true(p.disk == rows * d->hidden * size);
                seen++;
            }
            before = p.disk_layers;
            assert_same(want, k, d, o, "on disk");
        }
        assert_true(seen >= (shapes[i].window ? 1 : 3));
        free(want);
        memory_decoder_free(d);
    }
    assert_int_equal(scratch_count(scratch_folder), 0);
    k->close(k);
}

static void test_disk(void **state)
{
    (void)state;
    disk(open_set("cpu", "f32"), KEEP_AUTO, 0, SHAPES);
    disk(open_set("cpu", "f32"), KEEP_AUTO, 1, 1);
    disk(open_set("reference", "f64"), KEEP_AUTO, 0, 1);
}

static void test_disk_bf16(void **state)
{
    (void)state;
    disk(open_set("cpu", "f32"), KEEP_BF16, 0, SHAPES);
}

/* Another batch, other weights, another set of the same type: what is kept in bf16 does not depend
 * on them. */
static void test_bf16_alone(void **state)
{
    struct kernels *k = open_set("cpu", "f32");
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct decoder *d = shape_of(i);
        struct engine_request o = {.positions = N, .memory = MUCH, .batch = 1};
        size_t bytes;
        double *plain = measure(k, d, o, &bytes);
        struct memory_plan stored = estimate(k, d, o);
        o.gradient.keep = KEEP_RECOMPUTE;
        struct memory_plan recomputed = estimate(k, d, o);
        o.gradient.keep = KEEP_BF16;
        struct memory_plan p = estimate(k, d, o);
        double *want = measure(k, d, o, &bytes);
        assert_true(p.short_inputs && p.stored_layers == 0 && p.disk == 0);
        if (!shapes[i].window && !(p.total < recomputed.total && p.total < stored.total))
            fail_msg("shape %zu: %.0f bytes in bf16, %.0f recomputed, %.0f stored", i, p.total,
                     recomputed.total, stored.total);
        /* forward is the same, reverse is not */
        assert_memory_equal(plain + SEGMENTS * N, want + SEGMENTS * N, SEGMENTS * sizeof *want);
        assert_true(memcmp(plain, want, SEGMENTS * N * sizeof *want) != 0);
        for (int batch = 1; batch <= 3; batch++)
            for (int weights = WEIGHTS_RESIDENT; weights <= WEIGHTS_BY_LAYER; weights++) {
                o.batch = batch, o.weights = (enum weights_mode)weights;
                assert_same(want, k, d, o, "in bf16");
            }
        free(plain), free(want);
        memory_decoder_free(d);
    }
    k->close(k);
}

/* Numbers that bf16 has stay: of a model in bf16 with one layer, whose input is rows of the
 * embedding, all bytes. */
static void test_bf16_exact(void **state)
{
    const struct memory_shape one = {MEMORY_LLAMA, 1, 4, 2, 32, 48, 60, 0, 0};
    struct error e;
    struct decoder *d = memory_decoder(&one, &e);
    struct kernels *k = open_set("cpu", "f32");
    struct engine_request o = {.positions = N, .memory = MUCH};
    size_t bytes;
    (void)state;
    assert_non_null(d);
    double *want = measure(k, d, o, &bytes);
    o.gradient.keep = KEEP_BF16;
    assert_same(want, k, d, o, "rows of bf16");
    free(want);
    memory_decoder_free(d);
    k->close(k);
}

/* Put aside and taken back, every number is the nearest one of bf16, ties to even; in f64 by way of
 * f32. */
static void rounding(struct kernels *k, const char *folder)
{
    static const double corners[] = {0.0,        -0.0,           1.0,        1.00390625,
                                     1.01171875, -1.00390625,    1e-40,      0x1p-133,
                                     0x1p-134,   0x1.8p-133,     0x1p-149,   65504,
                                     0x1.fep127, 0x1.fefffep127, 0x1.ffp127, -0x1.fffffep127,
                                     INFINITY,   -INFINITY,      NAN,        3.14159265,
                                     0x1.0101p0, 0x1.00fffep0};
    enum { CORNERS = sizeof corners / sizeof *corners };
    struct decoder *d = shape_of(0);
    struct engine_request o = {.positions = N,
                               .memory = MUCH,
                               .batch = 1,
                               .weights = WEIGHTS_BY_LAYER};
    struct error e;
    o.gradient.keep = KEEP_BF16;
    o.gradient.scratch = folder;
    if (folder)
        o.memory = (size_t)estimate(k, d, o).total - 1;
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    assert_true((g->shape.disk_layers > 0) == (folder != NULL));
    size_t count = (size_t)N * (size_t)d->hidden;
    double *values = malloc(3 * count * sizeof *values), *back = values + count,
           *other = values + 2 * count;
    assert_non_null(values);
    for (int l = 0; l < d->layers; l += d->layers - 1) {
        for (size_t i = 0; i < count; i++) {
            uint64_t drawn = random_at(7, i + (size_t)l * count);
            float one;
            uint32_t bits = (uint32_t)drawn;
            memcpy(&one, &bits, sizeof one); /* any float there is */
            values[i] = i < CORNERS ? (double)(float)corners[i] : (double)one;
            other[i] = -1;
        }
        k->write(k, g->layers[l].x, 0, values, count);
        assert_int_equal(aside_put(g, l, 1, &e), 0);
        k->write(k, g->layers[l].x, 0, other, count);
        assert_int_equal(aside_take(g, l, 1, &e), 0);
        k->read(k, back, g->layers[l].x, 0, count);
        for (size_t i = 0; i < count; i++) {
            double want = element_round(values[i], ELEMENT_BF16);
            if (isnan(values[i]) ? !isnan(back[i]) : memcmp(&want, &back[i], sizeof want) != 0)
                fail_msg("layer %d: %a came back as %a (expected %a)", l, values[i], back[i], want);
        }
    }
    free(values);
    engine_close(g);
    memory_decoder_free(d);
    k->close(k);
}

static void test_rounding(void **state)
{
    (void)state;
    rounding(open_set("reference", "f32"), NULL);
    rounding(open_set("cpu", "f32"), scratch_folder);
    rounding(open_set("reference", "f64"), NULL);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* c against float64 transformers. The figure for bf16 arithmetic holds, which rounds more: of
 * trained models, and of random ones, where a rounding can turn a ReLU on or off, twice that of
 * half of them, with none far off. */
static void test_goldens(void **state)
{
    size_t count, random = 0, refused = 0, n;
    struct golden *cases = goldens_open(&count);
    struct kernels *k = open_set("cpu", "f32");
    double *worst = calloc(count + 1, sizeof *worst);
    struct error e;
    (void)state;
    assert_true(count > 0 && worst);
    for (size_t i = 0; i<count; i++, random += worst[random]> 0) {
        const struct golden *c = &cases[i];
        struct decoder *d = decoder_open(c->checkpoint, &e);
        if (!d)
            fail_msg("%s", e.text);
        n = c->length - 1;
        struct engine_request o = {.positions = (int)n,
                                   .memory = MUCH,
                                   .batch = 1,
                                   .gradient.keep = KEEP_BF16};
        struct engine *g = engine_create(k, d, &o, &e);
        double *norm = calloc(5 * n, sizeof *norm), logprob, far = 0;
        assert_non_null(norm);
        if (decoder_has_experts(d)) {
            assert_null(g);
            assert_int_equal(check_message(c->name, &e, "experts|--keep f32"), 0);
            refused++;
        } else if (!g) {
            fail_msg("%s: %s", c->name, e.text);
        }
        for (size_t s = 0; g && s < c->segments; s++) {
            if (engine_measure(g, norm, &logprob, c->ids + s * (n + 1), 1, &e))
                fail_msg("%s", e.text);
            if (!(fabs(logprob - c->logprob[s]) <= 1e-5))
                fail_msg("%s, segment %zu: log p %.12g, expected %.12g", c->name, s, logprob,
                         c->logprob[s]);
            if (curve_share(norm + n, norm, n) || curve_share(norm + 2 * n, c->norm + s * n, n))
                fail_msg("%s, segment %zu: norms not usable", c->name, s);
            curve_cumulative(norm + 3 * n, norm + n, n);
            curve_cumulative(norm + 4 * n, norm + 2 * n, n);
            for (size_t m = 0; m < n; m++)
                far = fmax(far, fabs(norm[3 * n + m] - norm[4 * n + m]));
        }
        if (!(far <= (strncmp(c->name, "example-", 8) == 0 ? 5e-3 : 0.2)))
            fail_msg("%s: c differs by %g", c->name, far);
        worst[random] = strncmp(c->name, "example-", 8) == 0 ? 0 : far;
        engine_close(g);
        decoder_close(d);
        free(norm);
    }
    qsort(worst, random, sizeof *worst, by_value);
    assert_true(random > 50 && refused > 0);
    if (!(worst[random / 2] <= 1e-2))
        fail_msg("c differs by %g in the median of %zu random models, expected at most 1e-2",
                 worst[random / 2], random);
    free(worst);
    goldens_free(cases, count);
    k->close(k);
}

static size_t some_free(struct kernels *k)
{
    (void)k;
    return MUCH;
}

/* Neither on a device, whose memory the plan is of; nor where the folder is none, be it needed or
 * not. */
static void test_refused(void **state)
{
    struct kernels *k = open_set("reference", "f32");
    struct decoder *d = shape_of(1);
    struct engine_request o = {.positions = 9, .memory = MUCH};
    struct memory_plan p;
    struct error e;
    (void)state;
    k->memory_free = some_free;
    o.gradient.keep = KEEP_BF16;
    assert_int_equal(engine_estimate(&p, k, d, &o, &e), -1);
    assert_int_equal(check_message("bf16 on a device", &e, "--device cpu|--keep bf16"), 0);
    o.gradient.keep = KEEP_AUTO, o.gradient.scratch = scratch_folder;
    assert_int_equal(engine_estimate(&p, k, d, &o, &e), -1);
    assert_int_equal(check_message("disk on a device", &e, "--device cpu|--scratch"), 0);
    k->memory_free = NULL;
    o.gradient.scratch = "/nonexistent";
    assert_null(engine_create(k, d, &o, &e));
    assert_int_equal(check_message("no folder", &e, "/nonexistent|inputs of layers|No such file"),
                     0);
    memory_decoder_free(d);
    k->close(k);
}

/* A disk that is full: refused before anything is measured. */
static void test_full(void **state)
{
    struct kernels *k = open_set("reference", "f32");
    struct decoder *d = shape_of(0);
    struct engine_request o = {.positions = N,
                               .memory = MUCH,
                               .batch = 1,
                               .weights = WEIGHTS_BY_LAYER};
    struct error e;
    (void)state;
    o.gradient.keep = KEEP_RECOMPUTE;
    o.memory = (size_t)estimate(k, d, o).total - 1;
    o.gradient.keep = KEEP_AUTO, o.gradient.scratch = scratch_folder;
    assert_true(estimate(k, d, o).disk > 1000);
    scratch_limit(1000);
    assert_null(engine_create(k, d, &o, &e));
    scratch_unlimit();
    assert_int_equal(check_message("a full disk", &e, "inputs of layers|File too large"), 0);
    assert_int_equal(scratch_count(scratch_folder), 0);
    memory_decoder_free(d);
    k->close(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disk),       cmocka_unit_test(test_disk_bf16),
        cmocka_unit_test(test_bf16_alone), cmocka_unit_test(test_bf16_exact),
        cmocka_unit_test(test_rounding),   cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_full)};
    return cmocka_run_group_tests_name("aside", tests, scratch_setup, scratch_teardown);
}
