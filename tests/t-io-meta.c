/* Meta's own folders: settings that are understood, and what is refused by name. The numbers are
 * compared with transformers' by t-model-goldens (meta-*). */
#include "io/checkpoint/checkpoint.h"
#include "tests/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/meta-"

static void put(const char *name, const char *from)
{
    size_t size;
    unsigned char *bytes = scratch_read(from, &size);
    scratch_write(scratch_folder, name, bytes, size);
    free(bytes);
}

static void clear(void)
{
    static const char *const names[] = {"params.json", "consolidated.00.pth", "consolidated.01.pth",
                                        "consolidated.03.pth"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(scratch_path(scratch_folder, names[i]));
}

/* The folder with these settings is refused with the words. */
static void refused(const char *what, const char *params, const char *words)
{
    struct error e = {""};
    struct checkpoint c;
    scratch_write(scratch_folder, "params.json", params, strlen(params));
    if (checkpoint_open(&c, scratch_folder, &e) == 0)
        fail_msg("%s: was accepted", what);
    assert_int_equal(check_message(what, &e, words), 0);
}

static void test_settings(void **state)
{
    struct error e = {""};
    struct checkpoint c;
    long vocabulary, inner, kv_heads;
    (void)state;
    if (checkpoint_open(&c, GOLDENS "llama3", &e))
        fail_msg("%s", e.text);
    assert_int_equal(config_int(c.config, "intermediate_size", 1, 999, &inner, &e), 0);
    assert_int_equal(config_int(c.config, "num_key_value_heads", 1, 999, &kv_heads, &e), 0);
    assert_int_equal(config_int(c.config, "vocab_size", 1, 999, &vocabulary, &e), 0);
    assert_true(inner == 56 && kv_heads == 2 && vocabulary == 64);
    assert_non_null(strstr(tensors_notes(c.tensors), "Llama 3.1 has it, factor 8"));
    checkpoint_close(&c);
    if (checkpoint_open(&c, GOLDENS "llama32", &e))
        fail_msg("%s", e.text);
    assert_non_null(strstr(tensors_notes(c.tensors), "Llama 3.2 has it, factor 32"));
    checkpoint_close(&c);
}

static void test_refused(void **state)
{
    struct error e = {""};
    static const char *const sizes = "{\"dim\": 16, \"n_layers\": 2, \"n_heads\": 4}";
    (void)state;
    clear();
    put("consolidated.00.pth", GOLDENS "llama2/consolidated.00.pth");
    put("consolidated.01.pth", GOLDENS "llama2/consolidated.01.pth");
    refused("experts", "{\"dim\": 16, \"n_layers\": 2, \"n_heads\": 4, \"moe_args\": {}}",
            "params.json|moe_args is not supported");
    refused("no width", "{\"n_layers\": 2, \"n_heads\": 4}", "params.json|dim");
    refused("a factor of 0",
            "{\"dim\": 16, \"n_layers\": 2, \"n_heads\": 4, \"ffn_dim_multiplier\": 0}",
            "ffn_dim_multiplier");
    assert_int_equal(checkpoint_open(&(struct checkpoint){0},
                                     scratch_path(scratch_folder, "consolidated.00.pth"), &e),
                     -1);
    assert_int_equal(check_message("a part", &e, "expected the folder as the path"), 0);
    put("consolidated.03.pth", GOLDENS "llama2/consolidated.01.pth");
    refused("a gap", sizes, "consolidated.02.pth is missing");
    clear();
    put("consolidated.00.pth", GOLDENS "llama2/consolidated.00.pth");
    put("consolidated.01.pth", GOLDENS "llama3/consolidated.00.pth");
    refused("another model's rank", sizes, "consolidated");
}

/* What torchtune saves of all ranks. */
static void test_torchtune(void **state)
{
    static const char *const names[] = {"meta_model_2.pt", "meta_model_10.pt",
                                        "model-00001-of-00001.bin"};
    struct error e = {""};
    struct checkpoint c;
    (void)state;
    clear();
    put("params.json", GOLDENS "llama32/params.json");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put(names[i], GOLDENS "llama32/consolidated.00.pth");
        if (checkpoint_open(&c, scratch_folder, &e))
            fail_msg("%s", e.text);
        assert_non_null(strstr(tensors_notes(c.tensors), names[i]));
        checkpoint_close(&c);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(scratch_path(scratch_folder, names[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings),
                                       cmocka_unit_test(test_torchtune),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
