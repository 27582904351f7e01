/* The memory plan's choice of a batch: the largest that fits, and then as even as the segments
 * allow. */
#include "model/engine.h"
#include "tests/memory_decoder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { POSITIONS = 63, WANTED = 32 }; /* the most that a small model takes */

static struct kernels *k;
static struct decoder *d;

static struct memory_plan estimate(struct engine_request o)
{
    struct memory_plan plan;
    struct error e;
    o.positions = POSITIONS, o.weights = WEIGHTS_RESIDENT;
    if (engine_estimate(&plan, k, d, &o, &e))
        fail_msg("batch %d, %zu segments, %zu bytes: %s", o.batch, o.segments, o.memory, e.text);
    return plan;
}

/* For every number of segments at once the memory that it takes and one byte less. */
static void test_largest(void **state)
{
    (void)state;
    assert_int_equal(estimate((struct engine_request){.memory = (size_t)1 << 40}).batch, WANTED);
    for (int batch = 1; batch <= WANTED; batch++) {
        double total =
            estimate((struct engine_request){.batch = batch, .memory = (size_t)1 << 40}).total;
        for (int less = 0; less <= (batch > 1); less++) {
            struct memory_plan p = estimate(
                (struct engine_request){.memory = (size_t)total + 1 - 2 * (size_t)less});
            if (p.batch != batch - less || p.stored_layers != p.layers || !(p.total <= p.budget))
                fail_msg("room for %d: %d at once, %d of %d layers stored, %g of %g bytes",
                         batch - less, p.batch, p.stored_layers, p.layers, p.total, p.budget);
        }
    }
}

static void test_even(void **state)
{
    static const struct {
        int most;
        size_t segments;
        int want;
    } cases[] = {{8, 10, 5},      {8, 8, 8},    {8, 9, 5},
                 {8, 17, 6},      {8, 1000, 8}, {8, 3, 3},
                 {5, 1001, 5},    {1, 7, 1},    {WANTED, 1000, WANTED},
                 {WANTED, 33, 17}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double total = estimate((struct engine_request){.batch = cases[i].most,
                                                        .memory = (size_t)1 << 40})
                           .total;
        struct memory_plan p = estimate(
            (struct engine_request){.segments = cases[i].segments, .memory = (size_t)total + 1});
        if (p.batch != cases[i].want || p.stored_layers != p.layers || !(p.total <= p.budget))
            fail_msg("%zu segments, at most %d at once: %d (expected %d)", cases[i].segments,
                     cases[i].most, p.batch, cases[i].want);
    }
}

/* Weights that the set widens stay in memory as long as a quarter of the largest batch fits beside
 * them. */
static void test_resident(void **state)
{
    const struct memory_shape shape = {MEMORY_LLAMA, 8, 2, 2, 32, 96, 131, 0, 0};
    struct error e;
    struct decoder *narrow = memory_decoder(&shape, &e);
    (void)state;
    assert_non_null(narrow);
    for (int batch = 1; batch <= WANTED; batch++) {
        struct memory_plan p;
        struct engine_request o = {.positions = POSITIONS,
                                   .batch = batch,
                                   .weights = WEIGHTS_RESIDENT,
                                   .memory = (size_t)1 << 40};
        assert_int_equal(engine_estimate(&p, k, narrow, &o, &e), 0);
        o.batch = 0, o.weights = WEIGHTS_AUTO, o.memory = (size_t)p.total + 1;
        assert_int_equal(engine_estimate(&p, k, narrow, &o, &e), 0);
        if (4 * batch >= WANTED ? !p.resident || p.batch != batch
                                : p.batch < batch || p.stored_layers != p.layers)
            fail_msg("room for %d beside the weights: %d at once, resident %d", batch, p.batch,
                     p.resident);
    }
    memory_decoder_free(narrow);
}

/* A batch that the caller names is not touched. */
static void test_named(void **state)
{
    (void)state;
    assert_int_equal(
        estimate((struct engine_request){.batch = 8, .segments = 10, .memory = (size_t)1 << 40})
            .batch,
        8);
}

/* A set of tiles: enough of them for five and a half turns of its workers. GPT-2-small's shape has
 * 12 heads of 16 tiles at 2048 tokens, and 96 tiles in its narrowest product; 132 workers want 1452
 * and 726. */
static void test_tiles(void **state)
{
    static const struct {
        int heads, hidden, positions, workers, want;
    } cases[] = {
        {12, 768, 2047, 132, 8},  {12, 768, 32767, 132, 1},  {12, 768, 2048, 132, 8},
        {12, 768, 2049, 132, 8},  {12, 768, 511, 132, 31},   {32, 4096, 2047, 132, 3},
        {32, 4096, 8191, 132, 1}, {16, 1024, 1023, 108, 10}, {2, 32, 63, 132, 32}, /* the most */
        {1, 512, 4095, 132, 32},  {64, 128, 2047, 132, 32}, /* products are narrow */
        {12, 768, 2047, 1, 1},
    };
    struct memory_shape shape = {MEMORY_NEOX, 2, 0, 0, 0, 8, 16, 0, 0};
    struct error e;
    int workers = k->workers;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine_request o = {.positions = cases[i].positions, .memory = (size_t)1 << 62};
        struct memory_plan p;
        shape.heads = cases[i].heads, shape.hidden = cases[i].hidden;
        struct decoder *one = memory_decoder(&shape, &e);
        assert_non_null(one);
        k->tile = 128, k->workers = cases[i].workers;
        assert_int_equal(engine_estimate(&p, k, one, &o, &e), 0);
        k->tile = 0, k->workers = workers;
        if (p.batch != cases[i].want)
            fail_msg("%d heads, hidden %d, %d positions, %d workers: %d segments (expected %d)",
                     cases[i].heads, cases[i].hidden, cases[i].positions, cases[i].workers, p.batch,
                     cases[i].want);
        memory_decoder_free(one);
    }
}

/* Operations of attention in one segment, counted pair by pair: two products of a pair forward,
 * five in reverse. A pair whose bias is 87 below that at distance 0 gives 0 in float, even of equal
 * scores. */
static double count_attention(const struct decoder *of, int n)
{
    double pairs = 0;
    int chunk = of->blocks[0].score.chunk, first = n - 1;
    if (chunk) { /* in every layer: a query sees what its place in its chunk says */
        for (int l = of->layers - 1; l >= 0; l--, first -= first % chunk)
            for (int i = first; i < n; i++)
                pairs += of->heads * (i % chunk + 1);
        return 14.0 * of->head_size * pairs;
    }
    for (int l = 0; l < of->layers; l++)
        for (int h = 1; h <= of->heads; h++)
            for (int t = 0; t < n; t++) {
                const struct score *s = &of->blocks[l].score;
                struct formula_point at = {.t = t,
                                           .h = h,
                                           .heads = of->heads,
                                           .head_size = of->head_size,
                                           .length = n + 1};
                int queries = n, last = s->window ? (of->layers - 1 - l) * (s->window - 1) + 1
                                        : l + 1 < of->layers ? n
                                                             : 1;
                queries = last < queries ? last : queries;
                if ((s->window && t >= s->window) ||
                    (s->bias && formula_evaluate(s->bias, &at) < -87))
                    continue;
                pairs += n - t < queries ? n - t : queries;
            }
    return 14.0 * of->head_size * pairs;
}

static void test_work(void **state)
{
    static const struct {
        struct memory_shape shape;
        double off; /* distances of biases are looked at 32 to an octave */
    } cases[] = {{{MEMORY_GPT2, 3, 2, 0, 32, 96, 131, 5000, 0}, 0},
                 {{MEMORY_GPT2, 3, 2, 0, 32, 96, 131, 5000, 80}, 0},
                 {{MEMORY_LLAMA, 2, 4, 2, 32, 96, 131, 0, 3000}, 0},
                 {{MEMORY_LLAMA, 3, 4, 2, 32, 96, 131, 0, -7}, 0},
                 {{MEMORY_GPT2, 2, 2, 0, 32, 96, 131, 5000, -400}, 0},
                 {{MEMORY_ALIBI, 2, 8, 0, 64, 96, 131, 0, 0}, 0.02},
                 {{MEMORY_ALIBI, 3, 2, 0, 32, 96, 131, 0, 500}, 0.02}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 1; n < 5000; n = 5 * n + 1) {
            struct engine_request o = {.positions = n, .batch = 1, .memory = (size_t)1 << 62};
            struct memory_plan p;
            struct error e;
            struct decoder *one = memory_decoder(&cases[i].shape, &e);
            assert_non_null(one);
            assert_int_equal(engine_estimate(&p, k, one, &o, &e), 0);
            double want = count_attention(one, n);
            if (!(fabs(p.attention_flops - want) <= cases[i].off * want &&
                  p.attention_flops < p.flops))
                fail_msg("case %zu, %d positions: %g of %g operations in attention (expected %g)",
                         i, n, p.attention_flops, p.flops, want);
            memory_decoder_free(one);
        }
}

/* Of a model with latents, by hand: hidden 12; 2 heads with keys of 4 + 2 and values of 3; latents
 * of 6 and 5; an MLP of 10 in layer 0, and in layer 1 a router of 6, 2 experts of 6 and one of 12.
 */
static void test_work_of_latents(void **state)
{
    const double keys = 12 * (6 + 2) + 6 * 2 * (4 + 3), queries = 12 * 5 + 5 * 2 * 6,
                 output = 12 * 2 * 3, mlp = 3 * 12 * 10,
                 experts = 12 * 6 + 3 * 12 * 12 + 2 * 3 * 12 * 6;
    const double products = 4 * (64 * 12 + 97 * 2 * keys + 97 * (queries + output + mlp) + queries +
                                 output + experts),
                 attention = (8 * 6 + 6 * 3) * 2 * (97 * 98 / 2 + 97);
    struct engine_request o = {.positions = 97, .batch = 1, .memory = (size_t)1 << 62};
    struct memory_plan p;
    struct error e;
    struct decoder *one = decoder_open("tests/goldens/deepseek-v3", &e);
    (void)state;
    if (!one)
        fail_msg("%s", e.text);
    assert_int_equal(engine_estimate(&p, k, one, &o, &e), 0);
    assert_true(p.attention_flops == attention);
    assert_true(p.flops == products + attention);
    decoder_close(one);
}

/* Of recurrences, by hand: a row of a head takes 11 products with its state, with the delta rule
 * 17; so the work grows with the length, and no faster. Their rates are there. */
static void test_work_of_recurrences(void **state)
{
    static const struct {
        const char *folder;
        double products, state;
        int layers, attends;
    } cases[] = {{"tests/goldens/mamba2", 11, 4 * 5 * 6, 2, 0},
                 {"tests/goldens/rwkv", 11, 10, 3, 0},
                 {"tests/goldens/qwen3-next", 17, 4 * 6 * 5, 2, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error e;
        struct engine_rates rates;
        struct decoder *one = decoder_open(cases[i].folder, &e);
        if (!one)
            fail_msg("%s", e.text);
        for (int n = 97; n < 400; n *= 2) {
            struct engine_request o = {.positions = n, .batch = 1, .memory = (size_t)1 << 62};
            struct memory_plan p;
            assert_int_equal(engine_estimate(&p, k, one, &o, &e), 0);
            assert_true(p.recurrence_flops ==
                        2 * cases[i].products * n * cases[i].state * cases[i].layers);
            assert_int_equal(p.attention_flops > 0, cases[i].attends);
            assert_true(p.flops > p.attention_flops + p.recurrence_flops);
        }
        for (int n = cases[i].attends ? 97 : 1; n < 100; n += 96) {
            if (engine_rates(&rates, k, one, n, &e))
                fail_msg("%s, %d positions: %s", cases[i].folder, n, e.text);
            assert_true(rates.recurrence > 0 && isfinite(rates.recurrence));
            assert_int_equal(isfinite(rates.attention), cases[i].attends);
        }
        decoder_close(one);
    }
}

/* Rates of every usable set are there, for a segment of any length. */
static void test_rates(void **state)
{
    const struct memory_shape shape = {MEMORY_LLAMA, 2, 4, 2, 32, 96, 131, 0, 100};
    struct error e;
    struct decoder *one = memory_decoder(&shape, &e);
    (void)state;
    assert_non_null(one);
    for (int n = 1; n < 2000; n = 9 * n + 1) {
        struct engine_rates rates;
        if (engine_rates(&rates, k, one, n, &e))
            fail_msg("%d positions: %s", n, e.text);
        if (!(rates.products > 0 && rates.attention > 0 && isfinite(rates.products) &&
              isfinite(rates.attention) && rates.recurrence == INFINITY))
            fail_msg("%d positions: %g and %g operations a second", n, rates.products,
                     rates.attention);
    }
    memory_decoder_free(one);
}

static int setup(void **state)
{
    const struct memory_shape shape = {MEMORY_GPT2, 3, 2, 0, 32, 96, 131, 80, 0};
    struct error e;
    (void)state;
    d = memory_decoder(&shape, &e);
    for (int i = 0; i < kernel_set_count && !k; i++)
        if (strcmp(kernel_sets[i].name, "reference") == 0 &&
            strcmp(kernel_sets[i].dtype, "f32") == 0)
            k = kernel_sets[i].open(&e);
    if (k)
        k->workers = 16;
    return d && k ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    memory_decoder_free(d);
    k->close(k);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_largest),
                                       cmocka_unit_test(test_even),
                                       cmocka_unit_test(test_resident),
                                       cmocka_unit_test(test_named),
                                       cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_work),
                                       cmocka_unit_test(test_work_of_latents),
                                       cmocka_unit_test(test_work_of_recurrences),
                                       cmocka_unit_test(test_rates)};
    return cmocka_run_group_tests_name("plan", tests, setup, teardown);
}
