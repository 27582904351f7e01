/* Biases computed in narrow types against PyTorch's own arithmetic in them
 * (tests/goldens/bias-dtype), bit by bit, and what
 * --bias-dtype does to a model. */
#include "analyze/formula.h"
#include "io/element.h"
#include "model/decoder.h"
#include "tests/golden.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 6, SHOWN = 3, DISTANCES = 166, MOST = 6000 };
static const int shown[SHOWN] = {1, 4, 6};
static const char *const formulas[] = {"alibi",
                                       "alibi_press",
                                       "-(1.05+0.3*h)*ln(1+0.37/h*t)",
                                       "-(0.11*h)*t^(0.4+0.1*h)",
                                       "type1",
                                       "divergent_b",
                                       "smoothed_sandwich",
                                       "sandwich(dbar=16)",
                                       "t<257?0.1*t:-0.3*t",
                                       "1/3+h",
                                       "exp(-(0.07*h)*sqrt(t))"};
enum { CASES = sizeof formulas / sizeof *formulas };

static double round_to(double x, int type)
{
    return element_round(x, (enum element)type);
}

static struct formula *parse(const char *text)
{
    struct formula_error e;
    struct formula *f = formula_parse(text, &e);

    if (!f)
        fail_msg("%s: %s", text, e.message);
    return f;
}

static void biases_are_those_of_pytorch(void **state)
{
    static const enum element types[] = {ELEMENT_BF16, ELEMENT_F16};
    double *distances = golden_read_f64("tests/goldens/bias-dtype/distances.npy", DISTANCES);
    double *values = golden_read_f64("tests/goldens/bias-dtype/values.npy",
                                     CASES * 2 * SHOWN * DISTANCES),
           *want = values;
    double *table = malloc(HEADS * MOST * sizeof *table);

    (void)state;
    assert_non_null(table);
    for (size_t i = 0; i < CASES; i++)
        for (size_t k = 0; k < 2; k++) {
            struct formula *f = parse(formulas[i]);
            struct formula_rounding rounding = {round_to, (int)types[k]};
            struct formula_error e;

            if (formula_table_rounded(table, f, HEADS, 64, MOST, MOST + 1, &rounding, &e) != 0)
                fail_msg("%s: %s", formulas[i], e.message);
            for (size_t s = 0; s < SHOWN; s++)
                for (size_t n = 0; n < DISTANCES; n++, want++) {
                    size_t t = (size_t)distances[n];
                    struct formula_point at = {(double)t, shown[s], HEADS, 64, MOST + 1};
                    double got = table[(size_t)(shown[s] - 1) * MOST + t],
                           alone = formula_evaluate_rounded(f, &at, &rounding);

                    if (!(got == *want) || !(alone == *want))
                        fail_msg("%s, %s, head %d, distance %zu: %a in the table, %a by itself "
                                 "(PyTorch: %a)",
                                 formulas[i], element_name(types[k]), shown[s], t, got, alone,
                                 *want);
                }
            formula_free(f);
        }
    free(table);
    free(values);
    free(distances);
}

/* Float has one answer for sums, products, quotients and roots. */
static void f32_is_float_arithmetic(void **state)
{
    struct formula *f = parse("-(0.1*t+0.7)/(t+3)*sqrt(t)");
    struct formula_rounding rounding = {round_to, ELEMENT_F32};

    (void)state;
    for (int t = 0; t < 5000; t++) {
        struct formula_point at = {t, 1, 1, 64, 5001};
        volatile float product = 0.1f * (float)t, sum = product + 0.7f, below = (float)t + 3.0f,
                       quotient = -sum / below, root = sqrtf((float)t), want = quotient * root;
        double got = formula_evaluate_rounded(f, &at, &rounding);

        if (!(got == (double)want))
            fail_msg("distance %d: %a (expected %a)", t, got, (double)want);
    }
    formula_free(f);
}

static void what_decides_is_exact(void **state)
{
    static const struct {
        const char *formula;
        double t, want;
    } rows[] = {{"t", 257, 256},
                {"t", 259, 260},
                {"window(w=258)", 257, 0},
                {"window(w=257)", 257, -INFINITY},
                {"t==257?1:2", 257, 1},
                {"floor(t/257)", 257, 1},
                {"floor(t/257)", 256, 0},
                {"max(t,257)", 3, 256},
                {"sum(i,0,t,1)", 299, 300},
                {"2^-100*t", 3, 3 * 0x1p-100}};
    struct formula_rounding rounding = {round_to, ELEMENT_BF16};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct formula *f = parse(rows[i].formula);
        struct formula_point at = {rows[i].t, 1, 1, 64, 512};
        double got = formula_evaluate_rounded(f, &at, &rounding);

        if (!(got == rows[i].want))
            fail_msg("%s at %g: %g (expected %g)", rows[i].formula, rows[i].t, got, rows[i].want);
        assert_true(formula_evaluate_rounded(f, &at, NULL) == formula_evaluate(f, &at));
        formula_free(f);
    }
}

/* A type for all layers is told, and takes the place of the model's own. */
static void a_model_says_its_type(void **state)
{
    const char *folder = scratch_path(scratch_folder, "model");
    struct tiny t = {.layers = 3,
                     .settings = "\"position_bias\": \"alibi\", \"key_bias\": \"-0.01*t\","};
    struct position_override o = {.window = -1, .bias_type = ELEMENT_F16};
    struct error e;
    struct decoder *d;

    (void)state;
    assert_int_equal(tiny_checkpoint(folder, &t), 0);
    d = decoder_open(folder, &e);
    if (!d)
        fail_msg("%s", e.text);
    for (int l = 0; l < 3; l++)
        assert_true(d->blocks[l].score.bias_type == ELEMENT_F64 &&
                    d->blocks[l].score.key_bias_type == ELEMENT_F64);
    assert_int_equal(decoder_override(d, &o, &e), 0);
    for (int l = 0; l < 3; l++)
        assert_true(d->blocks[l].score.bias_type == ELEMENT_F16 &&
                    d->blocks[l].score.key_bias_type == ELEMENT_F16);
    assert_ptr_equal(strstr(d->position_text, "--bias-dtype f16, on "), d->position_text);
    decoder_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(biases_are_those_of_pytorch),
                                       cmocka_unit_test(f32_is_float_arithmetic),
                                       cmocka_unit_test(what_decides_is_exact),
                                       cmocka_unit_test(a_model_says_its_type)};

    return cmocka_run_group_tests_name("bias types", tests, scratch_setup, scratch_teardown);
}
