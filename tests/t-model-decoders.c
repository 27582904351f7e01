/* What a decoder says of its model: the cone of its windows, where it stands, its beginning of
 * text, settings in place of its own. */
#include "analyze/curve.h"
#include "model/engine.h"
#include "model/score.h"
#include "tests/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct decoder *open_decoder(const char *path)
{
    struct error e;
    struct decoder *d = decoder_open(path, &e);
    if (!d)
        fail_msg("%s", e.text);
    return d;
}

static void test_cone(void **state)
{
    (void)state;
    struct decoder *d = open_decoder("tests/goldens/own-window");
    assert_int_equal(decoder_cone(d, 1000), 22);
    assert_int_equal(decoder_cone(d, 20), 20);
    decoder_close(d);
    d = open_decoder("tests/goldens/own-alibi");
    assert_int_equal(decoder_cone(d, 1000), 1000);
    decoder_close(d);
    d = open_decoder("tests/goldens/llama4-text-cone"); /* in chunks of 40 */
    assert_int_equal(decoder_cone(d, 97), 17);
    assert_int_equal(decoder_cone(d, 80), 40);
    assert_int_equal(decoder_cone(d, 81), 1);
    assert_int_equal(decoder_cone(d, 20), 20);
    decoder_close(d);
}

/* config.json names the beginning-of-text token: gpt2's golden has one, our own layout's does not.
 */
static void test_bos(void **state)
{
    (void)state;
    struct decoder *d = open_decoder("tests/goldens/gpt2");
    assert_true(d->bos >= 0 && d->bos < d->vocabulary);
    decoder_close(d);
    d = open_decoder("tests/goldens/own-alibi");
    assert_int_equal(d->bos, -1);
    decoder_close(d);
}

/* A checkpoint by its folder, with slashes behind it, or by its file. */
static void test_paths(void **state)
{
    (void)state;
    static const char *const paths[] = {"tests/goldens/own-window", "tests/goldens/own-window//",
                                        "tests/goldens/own-window/model.safetensors",
                                        "tests/goldens/llama-gqa/model.safetensors.index.json"};
    static const char *const bad[] = {"tests/goldens/own-window/config.json",
                                      "tests/goldens/own-window/tokens.npy", "tests/goldens/none",
                                      ""};
    struct error e;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        decoder_close(open_decoder(paths[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct decoder *d = decoder_open(bad[i], &e);
        if (d)
            fail_msg("'%s' was opened as a checkpoint", bad[i]);
        if (!strstr(e.text, "expected"))
            fail_msg("'%s': no word of what was expected: %s", bad[i], e.text);
    }
}

static void test_override(void **state)
{
    (void)state;
    struct error e;
    struct formula_error problem;
    struct decoder *d = open_decoder("tests/goldens/own-alibi");
    struct position_override o = {.bias = formula_parse("window(w=5)", &problem), .window = -1};
    assert_non_null(o.bias);
    assert_int_equal(decoder_override(d, &o, &e), 0);
    assert_null(o.bias);
    assert_non_null(strstr(d->position_text, "--bias window(w=5)"));
    o = (struct position_override){.window = 7, .positions_none = 1};
    assert_int_equal(decoder_override(d, &o, &e), 0);
    assert_int_equal(decoder_cone(d, 1000), 1 + d->layers * 6);
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cone),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_bos),
        cmocka_unit_test(test_override),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
