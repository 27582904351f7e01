/* Blocks computed by slices of positions when whole segments do not fit: the same bytes, whatever
 * the rows of the last block, the set, and where inputs of layers wait. */
#include "analyze/curve.h"
#include "model/engine.h"
#include "model/engine_parts.h"
#include "tests/golden.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two slices. Of the second almost all rows are targets, or one; of so many the gradient reaches
 * the first. */
enum { N = 2 * SLICE_ROWS + 5, OUTPUTS = SLICE_ROWS - 1 };

static struct kernels *open_set(const char *name, const char *dtype)
{
    struct error e;
    for (int i = 0; i < kernel_set_count; i++)
        if (strcmp(kernel_sets[i].name, name) == 0 && strcmp(kernel_sets[i].dtype, dtype) == 0)
            return kernel_sets[i].open(&e);
    return NULL;
}

static struct memory_plan estimate(struct kernels *k, const struct decoder *d,
                                   struct engine_request o)
{
    struct memory_plan p;
    struct error e;
    if (engine_estimate(&p, k, d, &o, &e))
        fail_msg("%zu bytes: %s", o.memory, e.text);
    return p;
}

static size_t numbers(const struct decoder *d, const struct gradient_request *g)
{
    return (size_t)N * (g->by_layer ? (size_t)d->layers : 1) + (size_t)g->outputs;
}

/* norm [layers, N] and log p [outputs] of one segment. The caller frees. */
static double *measure(struct kernels *k, const struct decoder *d, struct engine_request o)
{
    struct error e;
    size_t count = numbers(d, &o.gradient);
    double *out = calloc(count, sizeof *out);
    int32_t *ids = malloc((N + 1) * sizeof *ids);
    struct engine *g = engine_create(k, d, &o, &e);
    if (!g)
        fail_msg("%s", e.text);
    assert_true(out && ids);
    for (size_t i = 0; i <= N; i++)
        ids[i] = (int32_t)(1 + random_at(1, i) % (uint64_t)(d->vocabulary - 1));
    if (engine_measure(g, out, out + count - o.gradient.outputs, ids, 1, &e))
        fail_msg("%s", e.text);
    engine_close(g);
    free(ids);
    return out;
}

/* As little memory as slices need: with a folder all inputs of layers are in it, of more layers
 * than the two that have buffers anyway. */
static size_t least(struct kernels *k, const struct decoder *d, struct engine_request o)
{
    struct memory_plan p;
    struct error e;
    for (p = estimate(k, d, o);; o.memory = (size_t)p.total - 1)
        if (engine_estimate(&p, k, d, &o, &e))
            return o.memory + 1;
}

static void compare(struct kernels *k, const struct decoder *d, struct gradient_request gradient,
                    const char *what)
{
    struct engine_request o = {.positions = N,
                               .batch = 1,
                               .memory = (size_t)1 << 40,
                               .gradient = gradient};
    size_t count = numbers(d, &gradient);
    struct memory_plan whole = estimate(k, d, o);
    double *want = measure(k, d, o);
    assert_int_equal(whole.sliced_layers, 0);
    o.memory = least(k, d, o);
    struct memory_plan p = estimate(k, d, o);
    if (p.sliced_layers != d->layers || p.stored_layers ||
        (p.disk > 0) != (o.gradient.scratch && d->layers > 2) || !(p.total < whole.total))
        fail_msg("%s, %s: %d of %d layers by slices, %d stored, %.0f of %.0f bytes, %.0f on disk",
                 what, k->name, p.sliced_layers, d->layers, p.stored_layers, p.total, whole.total,
                 p.disk);
    double *got = measure(k, d, o);
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("%s, %s, %d outputs: number %zu of %zu is %.17g by slices, else %.17g", what,
                     k->name, o.gradient.outputs, i, count, got[i], want[i]);
    assert_true(want[count - 1] < 0 && (o.gradient.outputs == 1 || want[SLICE_ROWS - 1] > 0));
    free(want), free(got);
}

/* Mamba-2 and scans with norms: no MLP. Linear recurrent units, and gated delta rules with norms of
 * keys and an MLP, once the layer that attends is one of them too. */
static void test_bytes(void **state)
{
    const struct {
        const char *folder;
        struct gradient_request gradient;
    } cases[] = {{"tests/goldens/mamba2", {.by_layer = 1, .outputs = OUTPUTS}},
                 {"tests/goldens/mamba2", {.outputs = 1}},
                 {"tests/goldens/falcon-mamba", {.outputs = OUTPUTS}},
                 {"tests/goldens/recurrent-gemma", {.outputs = OUTPUTS}},
                 {"tests/goldens/qwen3-5", {.scratch = scratch_folder, .outputs = OUTPUTS}}};
    static const char *const sets[][2] = {{"cpu", "f32"},
                                          {"reference", "f32"},
                                          {"reference", "f64"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e;
        struct decoder *d = decoder_open(cases[i].folder, &e);
        if (!d)
            fail_msg("%s", e.text);
        struct block second = d->blocks[1];
        if (!block_recurs(&second))
            d->blocks[1] = d->blocks[0];
        for (size_t j = 0; j < sizeof sets / sizeof *sets; j++) {
            struct kernels *k = open_set(sets[j][0], sets[j][1]);
            assert_non_null(k);
            compare(k, d, cases[i].gradient, cases[i].folder);
            k->close(k);
        }
        d->blocks[1] = second;
        decoder_close(d);
    }
}

/* A buffer aimed at a part of another reads and writes its elements, of either size. */
static void test_aim(void **state)
{
    static const char *const dtypes[] = {"f32", "f64"};
    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct kernels *k = open_set("reference", dtypes[i]);
        struct error e;
        double values[5] = {1, 2, 3, 4, 5}, back[2];
        assert_non_null(k);
        struct buffer *b = k->create(k, ROLE_RESIDUAL, 5, &e),
                      *part = k->create(k, ROLE_RESIDUAL, 0, &e);
        assert_true(b && part);
        k->write(k, b, 0, values, 5);
        k->aim(k, part, b, 2);
        k->read(k, back, part, 1, 2);
        assert_true(back[0] == 4 && back[1] == 5);
        k->aim(k, part, b, 0);
        k->write(k, part, 1, values, 1);
        k->destroy(k, part);
        k->read(k, back, b, 0, 2);
        assert_true(back[0] == 1 && back[1] == 1);
        k->destroy(k, b);
        k->close(k);
    }
}

/* Slices have SLICE_ROWS rows or, in long segments, a little more. */
static void test_cuts(void **state)
{
    static const struct {
        int n, count, rows;
    } cases[] = {{1, 0, 1},        {8191, 0, 8191},    {8192, 2, 4096},
                 {8193, 2, 4097},  {9216, 2, 5120},    {12287, 2, 6144},
                 {12288, 3, 4096}, {131071, 31, 5120}, {131072, 32, 4096}};
    struct error e;
    struct decoder *d = decoder_open("tests/goldens/mamba2", &e);
    struct engine_request o = {.positions = 1, .batch = 1};
    struct shape s;
    (void)state;
    assert_true(d && shape_open(&s, d, &o, &e) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shape_rows(&s, cases[i].n);
        s.slices = 0;
        assert_true(slices_count(&s, 0) == 0 && slices_rows(&s, 0) == cases[i].n);
        s.slices = 1;
        if (slices_count(&s, 0) != cases[i].count || slices_rows(&s, 0) != cases[i].rows)
            fail_msg("%d rows: %d slices of at most %d (expected %d of %d)", cases[i].n,
                     slices_count(&s, 0), slices_rows(&s, 0), cases[i].count, cases[i].rows);
        assert_int_equal(slices_queries(&s, d->layers - 1), 1);
    }
    shape_close(&s);
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes), cmocka_unit_test(test_aim),
                                       cmocka_unit_test(test_cuts)};
    return cmocka_run_group_tests_name("slices", tests, scratch_setup, scratch_teardown);
}
