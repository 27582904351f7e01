/* Models with adapters against PEFT in float64 (tests/goldens/adapters/make.py), and adapters that
 * a model cannot take. */
#include "analyze/curve.h"
#include "model/engine.h"
#include "tests/golden.h"
#include "tests/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct {
    const char *name, *base;
} adapters[] = {{"llama-patterns", "llama-gqa"},
                {"llama-whole", "llama-gqa"},
                {"llama-table", "llama-gqa"},
                {"gpt2-conv1d", "gpt2"},
                {"llama-added", "llama-gqa"},
                {"llama-bin", "llama-gqa"},
                {"llama-dora", "llama-gqa"},
                {"llama-dora-table", "llama-gqa"},
                {"gpt2-dora", "gpt2"},
                {"llama-tokens", "llama-gqa"},
                {"llama-pissa", "llama-gqa"},
                {"mixtral-router", "mixtral"},
                {"gpt-neox-head", "gpt-neox-parallel"},
                {"llama-sum", "llama-gqa"},
                {"gpt-neox-fused", "gpt-neox-parallel"}};
enum { ADAPTERS = sizeof adapters / sizeof *adapters };

/* Of llama-sum. */
static struct adapter_part parts[] = {
    {(char *)(uintptr_t) "tests/goldens/adapters/llama-patterns", 0.4},
    {(char *)(uintptr_t) "tests/goldens/adapters/llama-bin", -0.25},
    {(char *)(uintptr_t) "tests/goldens/adapters/llama-pissa", 1}};

/* The model with one adapter, as it is. */
static struct decoder *open_adapted(const char *base, const char *folder, struct error *e)
{
    struct adapter_part part = {(char *)(uintptr_t)folder, 1};
    return decoder_open_adapted(base, &(struct adapter_list){&part, 1}, e);
}

static struct golden *cases;
static size_t case_count;

static int open_cases(void **state)
{
    cases = goldens_open(&case_count);
    return scratch_setup(state) || !case_count ? -1 : 0;
}

static int close_cases(void **state)
{
    goldens_free(cases, case_count);
    return scratch_teardown(state);
}

static const struct golden *case_of(const char *name)
{
    for (size_t i = 0; i < case_count; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    fail_msg("%s is not a golden case", name);
    return NULL;
}

static void compare(const char *name, const char *dtype, enum weights_mode weights, double bound)
{
    const struct golden *base = case_of(adapters[0].base);
    char folder[128], path[160];
    struct error e = {""};
    for (size_t i = 0; i < ADAPTERS; i++)
        if (strcmp(adapters[i].name, name) == 0)
            base = case_of(adapters[i].base);
    size_t n = base->length - 1;
    snprintf(folder, sizeof folder, "tests/goldens/adapters/%s", name);
    snprintf(path, sizeof path, "%s/norm.npy", folder);
    double *norm = golden_read_f64(path, base->segments * n);
    snprintf(path, sizeof path, "%s/logprob.npy", folder);
    double *logprob = golden_read_f64(path, base->segments),
           *got = calloc(base->segments * (n + 1), sizeof *got),
           *got_logprob = got + base->segments * n, *c = calloc(4 * n, sizeof *c);
    struct decoder *d = strcmp(name, "llama-sum") == 0
                            ? decoder_open_adapted(base->checkpoint,
                                                   &(struct adapter_list){parts, 3}, &e)
                            : open_adapted(base->checkpoint, folder, &e);
    struct kernels *k = d ? kernels_open(dtype, &e) : NULL;
    struct engine_request request = {.positions = (int)n, .batch = 1, .weights = weights};
    struct engine *g = k ? engine_create(k, d, &request, &e) : NULL;
    if (!g)
        fail_msg("%s: %s", name, e.text);
    for (size_t s = 0; s < base->segments; s++) {
        if (engine_measure(g, got + s * n, got_logprob + s, base->ids + s * base->length, 1, &e))
            fail_msg("%s: %s", name, e.text);
        if (!(fabs(got_logprob[s] - logprob[s]) <= bound))
            fail_msg("%s, %s, segment %zu: log p %.12g (expected %.12g)", name, dtype, s,
                     got_logprob[s], logprob[s]);
        if (!(fabs(logprob[s] - base->logprob[s]) > 0.1))
            fail_msg("%s, segment %zu: the adapter changes nothing", name, s);
        assert_int_equal(curve_share(c, got + s * n, n) || curve_share(c + n, norm + s * n, n), 0);
        curve_cumulative(c + 2 * n, c, n);
        curve_cumulative(c + 3 * n, c + n, n);
        for (size_t m = 0; m < n; m++)
            if (!(fabs(c[2 * n + m] - c[3 * n + m]) <= bound))
                fail_msg("%s, %s, segment %zu, position %zu: c %.12g (expected %.12g)", name, dtype,
                         s, m, c[2 * n + m], c[3 * n + m]);
    }
    engine_close(g);
    k->close(k);
    decoder_close(d);
    free(norm);
    free(logprob);
    free(got);
    free(c);
}

/* In float64 what is left is the rounding of merged matrices to float. */
static void test_goldens(void **state)
{
    (void)state;
    for (size_t i = 0; i < ADAPTERS; i++) {
        compare(adapters[i].name, "f32", WEIGHTS_AUTO, 1e-5);
        compare(adapters[i].name, "f32", WEIGHTS_BY_LAYER, 1e-5);
        compare(adapters[i].name, "f64", WEIGHTS_AUTO, 1e-6);
    }
}

/* -- what a model cannot take -- */

static void refused(const char *base, const char *adapter, const char *words)
{
    struct error e = {""};
    struct decoder *d = open_adapted(base, adapter, &e);
    if (d)
        fail_msg("%s with %s: was opened", base, adapter);
    assert_int_equal(check_message(adapter, &e, words), 0);
}

/* What is no sum is merged alone, and without a factor. */
static void only_sums_are_joined(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"tests/goldens/adapters/llama-dora", "use_dora is not supported with a factor"},
        {"tests/goldens/adapters/llama-tokens", "trainable_token_indices is not supported with a"},
        {"tests/goldens/adapters/llama-added", "a module that was trained whole is not supported"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int other = 0; other < 2; other++) {
            struct adapter_part two[] = {{(char *)(uintptr_t)rows[i][0], other ? 1 : 0.5},
                                         parts[1]};
            struct error e = {""};
            struct decoder *d = decoder_open_adapted("tests/goldens/llama-gqa",
                                                     &(struct adapter_list){two, 1 + other}, &e);
            if (d)
                fail_msg("%s was merged", rows[i][0]);
            assert_int_equal(check_message(rows[i][0], &e, rows[i][1]), 0);
        }
}

/* An adapter whose one tensor, a vector or a matrix of zeros of F32, replaces that of the base. */
static const char *replacing(const char *name, size_t rows, size_t columns)
{
    static const char config[] = "{\"peft_type\": \"LORA\", \"r\": 1}";
    size_t bytes = rows * (columns ? columns : 1) * 4;
    char header[512], shape[64];
    mkdir(scratch_path(scratch_folder, "adapter"), 0700);
    scratch_write(scratch_folder, "adapter/adapter_config.json", config, sizeof config - 1);
    snprintf(shape, sizeof shape, columns ? "%zu,%zu" : "%zu", rows, columns);
    uint64_t size = (uint64_t)snprintf(
        header, sizeof header,
        "{\"base_model.model.%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[0,%zu]}}",
        name, shape, bytes);
    unsigned char *file = calloc(1, 8 + size + bytes);
    assert_non_null(file);
    memcpy(file, &size, 8);
    memcpy(file + 8, header, size);
    scratch_write(scratch_folder, "adapter/adapter_model.safetensors", file, 8 + size + bytes);
    free(file);
    return scratch_path(scratch_folder, "adapter");
}

static void test_refused(void **state)
{
    (void)state;
    refused("tests/goldens/gpt2", "tests/goldens/adapters/llama-whole",
            "lm_head.weight, which|does not have");
    refused("tests/goldens/llama-gqa", "tests/goldens/adapters/gpt2-conv1d",
            "transformer.h.0|does not have");
    refused("tests/goldens/llama-gqa", "tests/goldens/gpt2", "holds no adapter");
    refused("tests/goldens/gpt2", replacing("transformer.wte.weight", 97, 24),
            "the adapter changes the embedding or the head|ties");
    refused("tests/goldens/gguf/llama-tied.gguf", replacing("model.norm.weight", 32, 0), "is GGUF");
    refused("tests/goldens/llama-gqa", "tests/goldens/adapters/gpt-neox-fused", "does not have");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens),
                                       cmocka_unit_test(only_sums_are_joined),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
