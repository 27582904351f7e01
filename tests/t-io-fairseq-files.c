/* fairseq's files: weights, the arguments of the run as the config, and everything else left alone.
 */
#include "io/checkpoint/checkpoint.h"
#include "tests/expected.h"
#include "tests/scratch.h"
#include "tests/stored_zip.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS "tests/goldens/torch/"

static void test_golden(void **state)
{
    (void)state;
    struct error e = {""};
    struct checkpoint c;
    if (checkpoint_open(&c, GOLDENS "fairseq.pt", &e))
        fail_msg("%s", e.text);
    expect_tensors(c.tensors, GOLDENS "fairseq.json");
    long layers;
    double dropout;
    int log, learned;
    const char *text;
    assert_int_equal(config_string_or(c.config, "model_type", "", &text, &e), 0);
    assert_string_equal(text, "fairseq_transformer_lm");
    assert_int_equal(config_string_or(c.config, "arch", "", &text, &e), 0);
    assert_string_equal(text, "transformer_rpe_lm_base");
    assert_int_equal(config_int(c.config, "decoder_layers", 1, 9, &layers, &e), 0);
    assert_int_equal(config_int(c.config, "rpe_type", -1, 13, &layers, &e), 0);
    assert_int_equal(layers, -1);
    assert_int_equal(config_real_or(c.config, "dropout", 0, 1, 0, &dropout, &e), 0);
    assert_true(dropout == 0.1);
    assert_int_equal(config_bool_or(c.config, "kerple_log", 0, &log, &e) ||
                         config_bool_or(c.config, "learned", 1, &learned, &e),
                     0);
    assert_true(log == 1 && learned == 0);
    assert_int_equal(config_has(c.config, "adaptive_softmax_cutoff"), 0);
    assert_int_equal(json_array_size(config_get(c.config, "betas")), 2);
    assert_int_equal(config_string_or(c.config, "lost", "", &text, &e),
                     0); /* an object: told, not run */
    assert_string_equal(text, "<the object lost.module.Lost(...)>");
    checkpoint_close(&c);
}

static void refused(const char *path, const char *words)
{
    struct error e = {""};
    struct checkpoint c;
    if (checkpoint_open(&c, path, &e) == 0)
        fail_msg("%s (%s): was accepted", path, words);
    assert_int_equal(check_message(path, &e, words), 0);
}

/* {"model": MODEL, "cfg": {"model": ARGUMENTS}} */
static void refused_by_hand(const char *what, const char *model, size_t model_size,
                            const char *arguments, size_t size, const char *words)
{
    char *pickle = malloc(size + model_size + 100), *at = pickle;
    unsigned char *file = malloc(size + model_size + 1000);
    at = mempcpy(at, "\x80\2}(U\5model", 11);
    at = mempcpy(at, model, model_size);
    at = mempcpy(at, "U\3cfg}U\5model", 13);
    at = mempcpy(at, arguments, size);
    at = mempcpy(at, "su.", 3);
    const struct stored_record records[] = {{"x/data.pkl", pickle, (size_t)(at - pickle)},
                                            {"x/version", "3\n", 2}};
    refused(scratch_write(scratch_folder, what, file, stored_zip(file, records, 2, 0)), words);
    free(file);
    free(pickle);
}

static void test_refused(void **state)
{
    (void)state;
    refused(GOLDENS "fairseq-no-cfg.pt",
            "fairseq-no-cfg.pt: holds no cfg[\"model\"]|position encoding is unknown");
    refused(GOLDENS "fairseq-no-model.pt", "holds no cfg[\"model\"]|position encoding is unknown");
    refused(GOLDENS "fairseq-object.pt",
            "tensor extra is the object lost.module.Lost(...) (expected a tensor)");
#define HAND(what, model, arguments, words) \
    refused_by_hand(what, model, sizeof(model) - 1, arguments, sizeof(arguments) - 1, words)
    HAND("a number", "}", "K\1",
         "cfg[\"model\"] is a whole number (expected the arguments of the model)");
    HAND("a call", "}", "cposix\nsystem\nU\2id\x85R",
         "cfg[\"model\"] is the object posix.system(...)");
    HAND("no state", "}", "cargparse\nNamespace\n)\x81", "cfg[\"model\"] is empty");
    HAND("a field without name", "}", "}K\1K\1s", "a field of cfg[\"model\"] has no name in text");
    HAND("NUL in a name", "}", "}U\3a\0bK\1s", "no name in text");
    HAND("a name that is not UTF-8", "}", "}U\1\xFFK\1s", "no name in text");
    HAND("text that is not UTF-8", "}", "}U\1aU\1\xFFs", "not UTF-8");
    HAND("weights are a list", "]", "}", "model is a list (expected a dict of tensors)");
    HAND("in itself", "}", "}q\1U\1ah\1s", "nested too deeply");
    /* each list holds the one before twenty times */
    char bomb[2000];
    size_t n = (size_t)sprintf(bomb, "}(U\1a]q\1");
    for (int level = 1; level < 8; level++) {
        n += (size_t)sprintf(bomb + n, "U\1%c](", 'a' + level);
        for (int i = 0; i < 20; i++)
            n += (size_t)sprintf(bomb + n, "h%c", level);
        n += (size_t)sprintf(bomb + n, "eq%c", level + 1);
    }
    bomb[n++] = 'u';
    refused_by_hand("a bomb", "}", 1, bomb, n, "nested too deeply, or too large");
    /* a list that holds one text of 2^16 bytes a hundred times */
    char *texts = malloc(1 << 17);
    n = (size_t)sprintf(texts, "}(U\1a](X");
    memcpy(texts + n, "\0\0\1\0", 4);
    memset(texts + n + 4, 'a', 1 << 16);
    n += 4 + (1 << 16);
    n += (size_t)sprintf(texts + n, "q\1");
    for (int i = 0; i < 100; i++)
        n += (size_t)sprintf(texts + n, "h\1");
    texts[n++] = 'e', texts[n++] = 'u';
    refused_by_hand("a text again and again", "}", 1, texts, n, "nested too deeply, or too large");
    free(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
