/* `reach bias` as a user meets it: $REACH is spawned, and what it prints, writes and returns is
 * checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/formula.h"
#include "io/formats/csv.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bias_help_lists_all_presets(void **state)
{
    struct outcome o = reach("bias --help --all"), brief = reach("bias --help");

    (void)state;
    for (int i = 0; i < formula_preset_count; i++) {
        char line[64];

        if (!strstr(brief.out, formula_presets[i].name))
            fail_msg("reach bias --help lacks %s", formula_presets[i].name);

        snprintf(line, sizeof line, "\n  %s", formula_presets[i].name);
        if (!strstr(o.out, line) || !strstr(o.out, formula_presets[i].summary))
            fail_msg("reach bias --help --all does not list %s", formula_presets[i].name);
    }
    outcome_free(&o);
    outcome_free(&brief);
}

static void errors_are_one_line(void **state)
{
    static const struct {
        const char *line;
        int status;
        const char *said;
    } cases[] = {
        {"bias", 2, "no FORMULA"},
        {"bias nosuchpreset", 2, "neither a preset nor a path"},
        {"bias -e^t", 2, "Euler's number is exp(1)"},
        {"bias 0/0", 1, "not a number"},
        {"bias inf", 1, "+inf"},
        {"bias alibi --length 0", 2, "--length"},
        {"bias trained --heads 4", 2, "--heads 4: is for formulas and presets"},
        {"bias alibi --set delta=1 --set ~delta~=2", 2, "set the same parameter"},
        {"bias -2*ln(1+t) kerple_log(p=2,a=1) --slopes press", 2,
         "no formula given has slopes of ALiBi"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].line, cases[i].status, cases[i].said);
}

static void slopes_of_released_code(void **state)
{
    struct outcome paper = reach("bias alibi type1 --heads 6 --length 2"),
                   press = reach("bias alibi type1 --heads 6 --length 2 --slopes press");
    struct outcome preset = reach(
        "bias alibi=alibi_press type1 --heads 6 --length 2 --slopes press");
    struct outcome power = reach("bias alibi --heads 4 --slopes press --length 4"),
                   same = reach("bias alibi --heads 4 --length 4");

    (void)state;
    assert_int_equal(press.status, 0);
    assert_string_not_equal(paper.out, press.out);
    /* 6 heads: 2^-2, 2^-4, 2^-6, 2^-8, then 2^-1 and 2^-3 */
    assert_non_null(strstr(press.out, "-0.25  -0.0625  -0.015625  -0.00390625    -0.5  -0.125"));
    assert_non_null(strstr(paper.out, "-0.39685"));
    assert_int_equal(preset.status, 0);
    assert_int_equal(same.status, 0);
    assert_non_null(
        strstr(power.out,
               strchr(same.out, '\n'))); /* a power of two: the same table under another title */
    outcome_free(&paper);
    outcome_free(&press);
    outcome_free(&preset);
    outcome_free(&power);
    outcome_free(&same);
    expect("trf alibi --slopes press --set delta=1 --heads 6", 0, "converges");
    expect("trf type1 --slopes press --set k=1 --heads 6", 0, "all heads alike");
}

static void bias_values_read_back(void **state)
{
    struct csv_table t;
    struct formula_error problem;
    struct formula *f = formula_parse("kerple_log(0.3,0.7)", &problem);

    (void)state;
    assert_non_null(f);
    expect("bias kerple_log(0.3,0.7) window(5) --length 40 -o values", 0, "head");
    t = read_table(at("values/bias.csv"));
    assert_int_equal(t.rows, 80);
    for (size_t i = 0; i < 40; i++) {
        struct formula_point p = {
            .t = (double)i, .h = 1, .heads = 8, .head_size = 64, .length = 40};

        assert_true(strtod(cell(&t, i, "bias"), NULL) == formula_evaluate(f, &p));
        assert_string_equal(cell(&t, 40 + i, "bias"), i < 5 ? "0" : "-inf");
    }
    formula_free(f);
    csv_table_free(&t);
    assert_true(exists(at("values/bias.png")) && exists(at("values/matrix.png")) &&
                exists(at("values/matrix.gp")));
    expect("bias kerple_log(0.3,0.7) window(5) --length 40 -o again", 0, NULL);
    assert_same_file(at("values/bias.gp"), at("again/bias.gp"));
    assert_same_file(at("values/matrix.gp"), at("again/matrix.gp"));
    assert_same_file(at("values/bias.csv"), at("again/bias.csv"));
}

static void nothing_half_written(void **state)
{
    struct outcome o;
    static const char *const empty_path = "/nowhere";

    (void)state;
    /* without gnuplot: data and script, a line that says so, and success */
    o = finish(start("bias alibi --length 32 -o undrawn", empty_path));
    if (o.status != 0 || lines(o.err) != 1 || !strstr(o.err, "gnuplot") ||
        !exists(at("undrawn/bias.csv")) || !exists(at("undrawn/matrix.gp")) ||
        exists(at("undrawn/bias.png")))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    /* a failure leaves what was there */
    expect("bias alibi -o taken.csv", 1, "taken.csv");
    expect("bias alibi --length 16 -o kept", 0, NULL);
    expect("bias inf --length 16 -o kept --force", 1, "+inf");
    expect("bias alibi --length 16 -o fresh", 0, NULL);
    assert_same_file(at("kept/bias.csv"), at("fresh/bias.csv"));
    assert_int_equal(scratch_count(at("kept")), scratch_count(at("fresh")));
}

static int make_inputs(void **state)
{
    static const struct {
        const char *name, *settings;
    } models[] = {
        {"trained", "\"window\": 4, \"train_length\": 8,"},
    };

    (void)state;
    if (program_open() != 0)
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct tiny t = {.settings = models[i].settings, .seed = i + 1};

        if (tiny_checkpoint(at("%s", models[i].name), &t) != 0)
            return -1;
    }
    scratch_write(base, "taken.csv", "0,4\n", 4);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bias_help_lists_all_presets), cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(slopes_of_released_code),     cmocka_unit_test(bias_values_read_back),
        cmocka_unit_test(nothing_half_written),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
