/* llm.c's GPT-2 against the same tensors under Hugging Face's names, and headers that lie. */
#include "io/checkpoint/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS "tests/goldens/torch/"

static void test_goldens(void **state)
{
    (void)state;
    static const char *const names[] = {"llmc-f32", "llmc-bf16"};
    for (size_t i = 0; i < 2; i++) {
        char path[256], expected[256];
        struct error e = {""};
        struct checkpoint c;
        long value;
        const char *text;
        snprintf(path, sizeof path, GOLDENS "%s.bin", names[i]);
        snprintf(expected, sizeof expected, GOLDENS "%s.json", names[i]);
        if (checkpoint_open(&c, path, &e))
            fail_msg("%s: %s", path, e.text);
        expect_tensors(c.tensors, expected);
        static const struct {
            const char *key;
            long value;
        } numbers[] = {
            {"vocab_size", 5}, {"n_positions", 6}, {"n_embd", 4}, {"n_layer", 2}, {"n_head", 2}};
        for (size_t k = 0; k < 5; k++) {
            assert_int_equal(config_int(c.config, numbers[k].key, 0, 100, &value, &e), 0);
            assert_int_equal(value, numbers[k].value);
        }
        assert_int_equal(config_string_or(c.config, "model_type", "", &text, &e), 0);
        assert_string_equal(text, "gpt2");
        assert_int_equal(config_string_or(c.config, "activation_function", "", &text, &e), 0);
        assert_string_equal(text, "gelu_new");
        assert_int_equal(config_has(c.config, "bos_token_id"), 0);
        checkpoint_close(&c);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int at;
        int32_t value;
        const char *words;
    } cases[] = {
        {"version", 1, 1, "version 1 (expected 20240326, version 3 or 5)"},
        {"no positions", 2, 0, "has 0 positions (expected 1 to"},
        {"negative vocabulary", 3, -1, "has -1 tokens in the vocabulary"},
        {"many layers", 4, 10001, "has 10001 layers (expected 1 to 10000)"},
        {"no heads", 5, 0, "has 0 heads"},
        {"much hidden", 6, 1 << 21, "hidden (expected 1 to 1048576)"},
        {"padding", 7, 4, "pads a vocabulary of 5 to 4 rows"},
        {"more layers", 4, 3, "ends before "},
        {"fewer layers", 4, 1, "bytes follow its last weight"},
        {"more than there is", 6, 1 << 20, "ends before wte.weight"},
        {"all large", 2, 1 << 30, "ends before wpe.weight"},
    };
    size_t size;
    unsigned char *good = scratch_read(GOLDENS "llmc-f32.bin", &size), *copy = malloc(size + 1);
    struct checkpoint c;
    struct error e = {""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(copy, good, size);
        memcpy(copy + 4 * cases[i].at, &cases[i].value, 4);
        if (checkpoint_open(&c, scratch_write(scratch_folder, "gpt2.bin", copy, size), &e) == 0)
            fail_msg("%s: was accepted", cases[i].what);
        assert_int_equal(check_message(cases[i].what, &e, cases[i].words), 0);
    }
    memcpy(copy, good, size);
    assert_int_equal(checkpoint_open(&c, scratch_write(scratch_folder, "gpt2.bin", copy, size - 1),
                                     &e),
                     -1);
    assert_int_equal(check_message("cut", &e, "ends before ln_f.bias"), 0);
    assert_int_equal(checkpoint_open(&c, scratch_write(scratch_folder, "gpt2.bin", copy, size + 1),
                                     &e),
                     -1);
    assert_int_equal(check_message("longer", &e, "1 bytes follow its last weight"), 0);
    assert_int_equal(checkpoint_open(&c, scratch_write(scratch_folder, "gpt2.bin", copy, 1000), &e),
                     -1);
    assert_int_equal(check_message("header", &e,
                                   "has 1000 bytes (expected llm.c's header of 1024)"),
                     0);
    free(copy);
    free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
