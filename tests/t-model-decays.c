/* The mean log decays of recurrences against transformers in float64
 * (tests/goldens/make_decays.py), and what they are reduced with. */
#include "analyze/attribution.h"
#include "model/mass.h"
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

enum { ROWS_MOST = 400, SEGMENTS_MOST = 2 };

static struct {
    char name[64];
    size_t segment, layer, head; /* from 1 */
    double log_decay;
} want[ROWS_MOST];
static size_t want_count;

static struct golden *goldens;
static size_t golden_count;

static int open_cases(void **state)
{
    FILE *table = fopen("tests/goldens/decays.csv", "r");
    char line[256];
    (void)state;
    omp_set_num_threads(1);
    if (!table || !fgets(line, sizeof line, table))
        return -1;
    for (; fgets(line, sizeof line, table); want_count++) {
        assert_true(want_count < ROWS_MOST);
        assert_int_equal(sscanf(line, "%63[^,],%zu,%zu,%zu,%lf", want[want_count].name,
                                &want[want_count].segment, &want[want_count].layer,
                                &want[want_count].head, &want[want_count].log_decay),
                         5);
    }
    fclose(table);
    goldens = goldens_open(&golden_count);
    return want_count > 50 && golden_count > 0 ? 0 : -1;
}

static int close_cases(void **state)
{
    (void)state;
    goldens_free(goldens, golden_count);
    return 0;
}

/* Minus the log decays of all segments [segments, layers, heads], in batches; caller frees. The
 * mass of a head is 1 in layers that attend, and 0 in others. */
static double *decays_of(const struct golden *c, const struct decoder *d, struct kernels *k,
                         int batch)
{
    struct error e;
    size_t n = c->length - 1, layers = (size_t)d->layers, heads = (size_t)d->heads,
           recurrence_heads = (size_t)decoder_recurrence_heads(d);
    struct engine_request request = {.positions = (int)n,
                                     .kind = REQUEST_ATTENTION,
                                     .batch = batch};
    struct engine *g = engine_create(k, d, &request, &e);
    double *decay = calloc(c->segments * layers * recurrence_heads, sizeof *decay),
           *mass = calloc((size_t)batch * layers * heads * n, sizeof *mass);
    if (!g)
        fail_msg("%s: %s", c->name, e.text);
    assert_non_null(decay);
    assert_non_null(mass);
    for (size_t i = 0; i < c->segments; i += (size_t)batch) {
        int now = c->segments - i < (size_t)batch ? (int)(c->segments - i) : batch;
        if (engine_attention(g, mass, decay + i * layers * recurrence_heads, c->ids + i * c->length,
                             now, &e))
            fail_msg("%s: %s", c->name, e.text);
        for (size_t at = 0; at < (size_t)now * layers * heads; at++) {
            double total = 0;
            for (size_t t = 0; t < n; t++)
                total += mass[at * n + t];
            assert_true(fabs(total - block_attends(&d->blocks[at / heads % layers])) < 1e-5);
        }
    }
    engine_close(g);
    free(mass);
    return decay;
}

static void check_case(const struct golden *c, struct kernels *k, double tolerance)
{
    struct error e;
    struct decoder *d = decoder_open(c->checkpoint, &e);
    if (!d)
        fail_msg("%s: %s", c->name, e.text);
    size_t layers = (size_t)d->layers, heads = (size_t)decoder_recurrence_heads(d), found = 0,
           recurrences = 0;
    double *one = decays_of(c, d, k, 1), *all = decays_of(c, d, k, SEGMENTS_MOST);
    assert_memory_equal(one, all, c->segments * layers * heads * sizeof *one);
    for (size_t i = 0; i < want_count; i++) {
        if (strcmp(want[i].name, c->name))
            continue;
        double got =
            one[((want[i].segment - 1) * layers + want[i].layer - 1) * heads + want[i].head - 1];
        if (!(fabs(got + want[i].log_decay) <= tolerance * -want[i].log_decay))
            fail_msg("%s, %s: segment %zu, layer %zu, head %zu: log decay %.17g, expected %.17g",
                     k->name, c->name, want[i].segment, want[i].layer, want[i].head, -got,
                     want[i].log_decay);
        found++;
    }
    for (size_t l = 0; l < layers; l++)
        if (block_recurs(&d->blocks[l]))
            recurrences++;
        else
            for (size_t h = 0; h < heads; h++)
                assert_true(one[l * heads + h] == 0);
    assert_int_equal(found, c->segments * recurrences * heads);
    free(one);
    free(all);
    decoder_close(d);
}

static void check_goldens(const char *set, const char *dtype, double tolerance)
{
    struct error e;
    struct kernels *k = NULL;
    int cases = 0;
    for (int i = 0; i < kernel_set_count; i++)
        if (strcmp(kernel_sets[i].name, set) == 0 && strcmp(kernel_sets[i].dtype, dtype) == 0 &&
            kernel_sets[i].usable())
            k = kernel_sets[i].open(&e);
    if (!k)
        fail_msg("no kernel set %s %s", set, dtype);
    for (size_t i = 0; i < golden_count; i++) {
        int there = 0;
        for (size_t w = 0; w < want_count; w++)
            there |= strcmp(want[w].name, goldens[i].name) == 0;
        if (there)
            check_case(&goldens[i], k, tolerance);
        cases += there;
    }
    assert_true(cases >= 6);
    k->close(k);
}

static void test_goldens_f64(void **state)
{
    (void)state;
    check_goldens("reference", "f64", 1e-9);
}

static void test_goldens_f32(void **state)
{
    (void)state;
    check_goldens("cpu", "f32", 1e-5);
}

static void test_goldens_cuda_f32(void **state)
{
    (void)state;
    if (!getenv("REACH_CUDA"))
        skip();
    check_goldens("cuda", "f32", 1e-5);
}

/* A fixed decay g reaches epsilon at the t with g^t = epsilon. */
static void test_tokens(void **state)
{
    static const double kept[] = {0.5, 0.9, 0.999};
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        double t = decay_tokens(0.01, log(kept[i]));
        assert_true(fabs(pow(kept[i], t) - 0.01) < 1e-12);
    }
    assert_true(decay_tokens(0.01, -0.0) == INFINITY);
    assert_true(isnan(decay_tokens(0.01, NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens_f64),
        cmocka_unit_test(test_goldens_f32),
        cmocka_unit_test(test_goldens_cuda_f32),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests_name("decays", tests, open_cases, close_cases);
}
