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

/* A window of w and a convolution of w widen the cone by w - 1; full attention anywhere ends it,
 * and keys kept first are seen from everywhere. */
static void test_cone_of_mixed_layers(void **state)
{
    static const struct {
        int window[5], keep; /* 0: full attention; below 0: a convolution of that many inputs */
        long cone;
    } cases[] = {
        {{-3, -3, -3, -3, -3}, 0, 11},  {{-3, 8, -4, 5, -1}, 0, 17},
        {{-3, 8, 0, 5, -3}, 0, 1000},   {{0, -3, -3, -3, -3}, 0, 1000},
        {{-3, -3, -3, -3, 0}, 0, 1000}, {{-3, 8, -4, 5, -1}, 6, 23},
        {{1, -1, 1, -1, 1}, 0, 1},      {{-8, 600, -8, 600, -8}, 0, 1000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct block blocks[5];
        struct decoder d = {.layers = 5, .blocks = blocks};
        memset(blocks, 0, sizeof blocks);
        for (int l = 0; l < d.layers; l++) {
            int window = cases[i].window[l];
            struct block *b = &blocks[l];
            b->mixer.ways = window < 0 ? MIXING_CONVOLUTION : MIXING_ATTENTION;
            if (window < 0)
                b->mixer.convolution.reach = -window;
            else
                b->score.window = window, b->score.keep = cases[i].keep;
        }
        if (decoder_cone(&d, 1000) != cases[i].cone)
            fail_msg("case %zu: a cone of %ld (expected %ld)", i, decoder_cone(&d, 1000),
                     cases[i].cone);
    }
}

/* A model that convolves alone has nothing that these options change. */
static void test_override_without_attention(void **state)
{
    static const struct {
        struct position_override o;
        const char *option;
    } cases[] = {{{.window = 8}, "--window"},
                 {{.window = -1, .positions_none = 1}, "--positions"},
                 {{.window = -1, .log_length = 32}, "--logn"},
                 {{.window = -1, .keep = 2}, "--keep-first"}};
    struct decoder *d = open_decoder("tests/goldens/lfm2-short");
    struct error e;
    char want[160];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct position_override o = cases[i].o;
        o.bias_type = ELEMENT_F64;
        assert_int_equal(decoder_override(d, &o, &e), -1);
        snprintf(want, sizeof want, "tests/goldens/lfm2-short: %s: the model has no attention",
                 cases[i].option);
        assert_int_equal(strncmp(e.text, want, strlen(want)), 0);
    }
    decoder_close(d);
    d = open_decoder("tests/goldens/lfm2");
    assert_int_equal(
        decoder_override(d, &(struct position_override){.window = 8, .bias_type = ELEMENT_F64}, &e),
        0);
    assert_int_equal(decoder_cone(d, 1000), 1 + 2 + 7 + 2);
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

/* nanoGPT's block_size is what it was trained on; positions of others may be more. */
static void test_train_length(void **state)
{
    (void)state;
    struct decoder *d = open_decoder("tests/goldens/nanogpt/ckpt.pt");
    assert_int_equal(d->train_length, 48);
    decoder_close(d);
    d = open_decoder("tests/goldens/gpt2");
    assert_int_equal(d->train_length, 0);
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cone),
        cmocka_unit_test(test_cone_of_mixed_layers),
        cmocka_unit_test(test_override_without_attention),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_bos),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_train_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
