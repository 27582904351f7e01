/* nanoGPT's files: weights, the sizes of the model as the config, and everything else left alone.
 */
#include "io/checkpoint/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"
#include "tests/stored_zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDENS "tests/goldens/torch/"

/* Names are those of the model before it was compiled, which is told. */
static void test_golden(void **state)
{
    struct error e = {""};
    struct checkpoint c;
    const char *text;
    long width;
    int biased;
    (void)state;
    if (checkpoint_open(&c, GOLDENS "nanogpt.pt", &e))
        fail_msg("%s", e.text);
    expect_tensors(c.tensors, GOLDENS "nanogpt.json");
    assert_non_null(strstr(tensors_notes(c.tensors), "without their part _orig_mod"));
    assert_int_equal(config_string_or(c.config, "model_type", "", &text, &e), 0);
    assert_string_equal(text, "nanogpt");
    assert_int_equal(config_int(c.config, "n_embd", 1, 9, &width, &e), 0);
    assert_int_equal(config_bool_or(c.config, "bias", 1, &biased, &e), 0);
    assert_true(width == 4 && biased == 0);
    assert_int_equal(config_has(c.config, "iter_num"), 0);
    checkpoint_close(&c);
}

/* A folder with nothing else that is known stands for the file. */
static void test_folder(void **state)
{
    struct error e;
    char *file;
    (void)state;
    scratch_write(scratch_folder, "ckpt.pt", "", 0);
    assert_int_equal(checkpoint_in_folder(&file, scratch_folder, &e), 0);
    assert_string_equal(file, scratch_path(scratch_folder, "ckpt.pt"));
    free(file);
    scratch_write(scratch_folder, "config.json", "{}", 2);
    assert_int_equal(checkpoint_in_folder(&file, scratch_folder, &e), 0);
    assert_null(file);
    remove(scratch_path(scratch_folder, "config.json"));
}

/* {"model": MODEL, "model_args": ARGUMENTS} */
static void refused(const char *what, const char *model, const char *arguments, size_t size,
                    const char *words)
{
    char pickle[512], *at = pickle;
    unsigned char file[2048];
    struct error e = {""};
    struct checkpoint c;
    at = mempcpy(at, "\x80\2}(U\5model", 11);
    at = mempcpy(at, model, strlen(model));
    at = mempcpy(at, "U\12model_args", 12);
    at = mempcpy(at, arguments, size);
    at = mempcpy(at, "u.", 2);
    const struct stored_record records[] = {{"x/data.pkl", pickle, (size_t)(at - pickle)},
                                            {"x/version", "3\n", 2}};
    const char *path = scratch_write(scratch_folder, what, file, stored_zip(file, records, 2, 0));
    if (checkpoint_open(&c, path, &e) == 0)
        fail_msg("%s: was accepted", what);
    assert_int_equal(check_message(what, &e, words), 0);
}

static void test_refused(void **state)
{
    (void)state;
#define HAND(what, model, arguments, words) \
    refused(what, model, arguments, sizeof(arguments) - 1, words)
    HAND("weights are a number", "K\1", "}U\6n_embdK\4s", "without tensors");
    HAND("a tensor is a number", "}U\1aK\1s", "}U\6n_embdK\4s", "tensor a is a whole number");
    HAND("sizes without names", "}", "}(K\1K\1U\6n_embdK\4u",
         "a field of model_args has no name in text");
    HAND("text that is not UTF-8", "}", "}(U\1aU\1\xFFU\6n_embdK\4u",
         "a field of model_args is not UTF-8");
    HAND("in itself", "}", "}q\1(U\1ah\1U\6n_embdK\4u", "model_args is nested too deeply");
    HAND("other sizes", "}", "}U\5widthK\4s", "without tensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_folder),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
