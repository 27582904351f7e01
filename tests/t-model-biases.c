/* model/biases.c: windows, layers and positions as people read them, and biases as tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/formula_window.h"
#include "model/biases.h"
#include "model/recurrence_layout.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6 };

static void test_windows(void **state)
{
    const struct {
        int window[LAYERS]; /* below 0: a convolution of that many inputs; below -100: chunks */
        int uniform;
        const char *text;
    } cases[] = {
        {{0, 0, 0, 0, 0, 0}, 0, "none"},
        {{32, 32, 32, 32, 32, 32}, 32, "32"},
        {{32, 32, 32, 32, 0, 64}, 0, "32 (layers 1-4), none (layer 5), 64 (layer 6)"},
        {{0, 8, 0, 8, 8, 8}, 0, "none (layers 1, 3), 8 (layers 2, 4-6)"},
        {{-3, -3, -3, -3, -3, -3}, 0, "convolution of 3"},
        {{3, -3, -3, 3, -4, 3},
         0,
         "3 (layers 1, 4, 6), convolution of 3 (layers 2-3), convolution of 4 (layer 5)"},
        {{-109, -109, -109, 0, -108, -109},
         0,
         "chunks of 9 (layers 1-3, 6), none (layer 4), chunks of 8 (layer 5)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct block blocks[LAYERS];
        struct decoder d = {.layers = LAYERS, .blocks = blocks};
        char *text;

        memset(blocks, 0, sizeof blocks);
        for (int l = 0; l < LAYERS; l++)
            if (cases[i].window[l] < 0 && cases[i].window[l] > -100)
                blocks[l].mixer.ways = MIXING_CONVOLUTION,
                blocks[l].mixer.convolution.reach = -cases[i].window[l];
            else if (cases[i].window[l] < 0)
                blocks[l].mixer.ways = MIXING_ATTENTION,
                blocks[l].score.chunk = -cases[i].window[l] - 100;
            else
                blocks[l].mixer.ways = MIXING_ATTENTION,
                blocks[l].score.window = cases[i].window[l];
        text = decoder_windows_text(&d);
        assert_non_null(text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(decoder_window(&d), cases[i].uniform);
        free(text);
    }
}

/* Rotary positions turn keys: where no layer attends there is nothing to say of them. */
static void test_positions_beside_recurrences(void **state)
{
    static const struct {
        enum position_kind position;
        unsigned ways[2];
        const char *text;
    } cases[] = {
        {POSITION_ROTARY, {MIXING_RECURRENCE, MIXING_RECURRENCE}, "7 states in 2 of 2 layers"},
        {POSITION_ROTARY,
         {MIXING_RECURRENCE, MIXING_ATTENTION},
         "given, 7 states in 1 of 2 layers"},
        {POSITION_ROTARY, {MIXING_ATTENTION, MIXING_ATTENTION}, "given"},
        {POSITION_ROTARY,
         {MIXING_RECURRENCE, MIXING_RECURRENCE | MIXING_ATTENTION},
         "given, 7 states in 2 of 2 layers"},
        {POSITION_LEARNED,
         {MIXING_RECURRENCE, MIXING_RECURRENCE},
         "given, 7 states in 2 of 2 layers"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct block blocks[2];
        struct decoder *d = calloc(1, sizeof *d);

        assert_non_null(d);
        memset(blocks, 0, sizeof blocks);
        for (int l = 0; l < 2; l++)
            blocks[l].mixer.ways = cases[i].ways[l];
        d->layers = 2, d->blocks = blocks, d->position = cases[i].position;
        strcpy(d->position_text, "given");
        recurrence_describe(d, "%d states", 7);
        assert_string_equal(d->position_text, cases[i].text);
        free(d);
    }
}

static void test_layers(void **state)
{
    int of_layer[LAYERS] = {0, 0, 1, 0, 2, 2};
    const struct bias_set s = {.layers = LAYERS, .bias_of_layer = of_layer, .bias_count = 3};
    const char *const want[] = {"layers 1-2, 4", "layer 3", "layers 5-6"};
    char text[64], narrow[8], cut[24];

    (void)state;
    for (int b = 0; b < 3; b++) {
        bias_layers_text(text, sizeof text, &s, b);
        assert_string_equal(text, want[b]);
    }
    bias_layers_text(narrow, sizeof narrow, &s, 0);
    assert_string_equal(narrow, "layers ");
    bias_layers_text(cut, 18, &s, 0);
    assert_string_equal(cut, "layers 1-2, ...");
    bias_layers_text(cut, 19, &s, 0);
    assert_string_equal(cut, "layers 1-2, 4");
    memset(of_layer, 0, sizeof of_layer);
    bias_layers_text(text, sizeof text, &s, 0);
    assert_string_equal(text, "");
}

static void test_formula_windows(void **state)
{
    const struct {
        const char *text;
        int heads;
        long window;
        int has_length;
    } cases[] = {
        {"-t", 4, 0, 0},
        {"window(16)", 4, 16, 0},
        {"alibi + window(64)", 8, 64, 0},
        {"t<=9?-t:-inf", 2, 10, 0},
        {"t<3?(t<2?0:-inf):-inf", 1, 2, 0},
        {"-t/L", 1, 0, 1},
        {"t<h?0:-inf", 2, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct formula_error problem;
        struct formula *f = formula_parse(cases[i].text, &problem);

        assert_non_null(f);
        if (formula_window(f, cases[i].heads) != cases[i].window)
            fail_msg("%s: window %ld", cases[i].text, formula_window(f, cases[i].heads));
        assert_int_equal(formula_has_variable(f, VARIABLE_LENGTH), cases[i].has_length);
        formula_free(f);
    }
}

/* Heads that are alike have one row; a value that is none is refused. */
static void test_tables(void **state)
{
    const struct {
        const char *text;
        int rows;
        double last; /* of the last row, at distance 3; NaN: refused */
    } cases[] = {{"-t/h", 3, -1},
                 {"-2*t", 1, -6},
                 {"t<2?-t:-inf", 1, -INFINITY},
                 {"-t/L", 1, -0.75},
                 {"1/(t-2)", 1, NAN}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct formula_error problem;
        struct error e = {""};
        struct bias_set s = {0};
        double table[3 * 4];

        assert_int_equal(biases_of_formula(&s, formula_parse(cases[i].text, &problem), 3, 64, &e),
                         0);
        assert_int_equal(bias_rows(&s, &s.biases[0]), cases[i].rows);
        if (isnan(cases[i].last)) {
            assert_int_equal(bias_table(table, &s, &s.biases[0], 4, "name", &e), -1);
            assert_non_null(strstr(e.text, "name: "));
        } else {
            assert_int_equal(bias_table(table, &s, &s.biases[0], 4, "name", &e), 0);
            assert_true(table[4 * cases[i].rows - 1] == cases[i].last);
        }
        biases_free(&s);
    }
}

/* Layers with fixed decays: the bias -k t of each head, k being the stored slope_rate. */
static void test_decays(void **state)
{
    static const struct {
        int layer;
        double rate[3];
    } want[] = {{0, {0.259765625, 0.1962890625, 0.2353515625}},
                {2, {0.361328125, 0.0225830078125, 0.58203125}}};
    struct error e = {""};
    struct decoder *d = decoder_open("tests/goldens/minimax", &e);
    struct bias_set s = {0};
    double table[3 * 8];

    (void)state;
    if (!d)
        fail_msg("%s", e.text);
    assert_int_equal(biases_of_decoder(&s, d, &e), 0);
    assert_int_equal(s.bias_count, 3);
    assert_string_equal(s.biases[s.bias_of_layer[1]].reason,
                        "rotary positions turn queries and keys: no bias by distance");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct layer_bias *b = &s.biases[s.bias_of_layer[want[i].layer]];

        assert_true(b->decays && b->reason[0] == 0 && b->window == 0);
        assert_int_equal(bias_rows(&s, b), 3);
        assert_int_equal(bias_table(table, &s, b, 8, "name", &e), 0);
        for (int h = 0; h < 3; h++)
            for (int t = 0; t < 8; t++)
                assert_true(table[8 * h + t] == -want[i].rate[h] * t);
    }
    biases_free(&s);
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows), cmocka_unit_test(test_positions_beside_recurrences),
        cmocka_unit_test(test_layers),  cmocka_unit_test(test_formula_windows),
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_decays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
