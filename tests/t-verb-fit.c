/* `reach fit` as a user meets it: $REACH is spawned, and what it prints, writes and returns is
 * checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/csv.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first row of a formula's head (NULL: any). */
static size_t find_row(const struct csv_table *t, const char *formula, const char *head)
{
    for (size_t row = 0; row < t->rows; row++)
        if (strcmp(cell(t, row, "formula"), formula) == 0 &&
            (!head || strcmp(cell(t, row, "head"), head) == 0))
            return row;
    fail_msg("no row with formula %s, head %s", formula, head ? head : "");
    return 0;
}

static void write_text(const char *name, const char *text)
{
    scratch_write(base, name, text, strlen(text));
}

static void errors_are_one_line(void **state)
{
    static const struct {
        const char *line;
        int status;
        const char *said;
    } cases[] = {
        {"fit", 2, "no FORMULA"},
        {"fit alibi type1", 2, "unexpected argument"},
        {"fit rope:64", 1, "no bias to fit"},
        {"fit alibi --range 5", 2, "FIRST:LAST"},
        {"fit alibi --range 9:5", 2, "FIRST"},
        {"fit alibi --form a*b*c", 2, "not linear"},
        {"fit alibi --form ln(1+t)", 2, "coefficients"},
        {"fit alibi --form a+b*h", 2, "only on the distance t"},
        {"fit window(40) --range 0:99", 1, "t = 40"},
        {"fit alibi --range 0:0", 1, "do not determine"},
        {"fit three.csv", 1, "two columns"},
        {"fit broken.csv", 1, "expected two numbers"},
        {"fit empty.csv", 1, "no row"},
        {"fit pairs.csv --range 100:200", 1, "no row"},
        {"fit trained --heads 4", 2, "--heads 4: is for formulas and presets"},
        {"fit pairs.csv --set a=1", 2, "which --set, --heads and --slopes do not change"},
        {"fit pairs.csv --heads 4", 2, "which --set, --heads and --slopes do not change"},
        {"fit pairs.csv --slopes press", 2, "which --set, --heads and --slopes do not change"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].line, cases[i].status, cases[i].said);
}

static void fits_of_every_source(void **state)
{
    struct csv_table t;
    size_t row;

    (void)state;
    expect("fit sandwich --range 0:8191 -o sandwich", 0, "0.0096  closest");
    t = read_table(at("sandwich/fit.csv"));
    row = find_row(&t, "sandwich", "8");
    assert_string_equal(cell(&t, row, "coefficient"), "a");
    assert_string_equal(cell(&t, row, "first"), "0");
    assert_string_equal(cell(&t, row, "last"), "8191");
    if (!(fabs(strtod(cell(&t, row, "value"), NULL) + 0.793818524957995) <= 1e-9) ||
        !(fabs(strtod(cell(&t, row + 1, "value"), NULL) + 0.832402145557959) <= 1e-9) ||
        !(fabs(strtod(cell(&t, row, "r2"), NULL) - 0.722601805533664) <= 1e-9) ||
        !(fabs(strtod(cell(&t, row, "std_error"), NULL) - 0.0460096424533855) <= 1e-9))
        fail_msg("sandwich, head 8: %s +- %s, %s, R^2 %s", cell(&t, row, "value"),
                 cell(&t, row, "std_error"), cell(&t, row + 1, "value"), cell(&t, row, "r2"));
    csv_table_free(&t);
    assert_true(exists(at("sandwich/fit.png")) && exists(at("sandwich/fit.gp")));

    /* a bias.csv gives what the formula gives, a set for each head */
    expect("bias -0.5*ln(1+t)*h+0.25 --heads 3 --length 64 -o logs", 0, "head 3");
    expect("fit logs/bias.csv -o logs-fit", 0, "head 3");
    t = read_table(at("logs-fit/fit.csv"));
    for (int h = 1; h <= 3; h++) {
        char head[16];

        snprintf(head, sizeof head, "%d", h);
        row = find_row(&t, "-0.5*ln(1+t)*h+0.25", head);
        if (!(fabs(strtod(cell(&t, row, "value"), NULL) - 0.25) <= 1e-12) ||
            !(fabs(strtod(cell(&t, row + 1, "value"), NULL) + 0.5 * h) <= 1e-12))
            fail_msg("head %d: %s, %s", h, cell(&t, row, "value"), cell(&t, row + 1, "value"));
    }
    csv_table_free(&t);

    /* two columns, with and without a header; curve.csv by model; an inner coefficient; a range */
    expect("fit pairs.csv --form a+b*t", 0,
           "pairs.csv     4  "); /* 4 + 2 t, whose first point stands where a header would */
    expect("fit titled.csv --form a+b*t --range 1:3", 0, "1     3       3");
    expect("fit curve.csv --form a+b*t", 0, "second");
    expect("fit curve.csv --of s --form a+b*t", 0, "second");
    {
        FILE *f = fopen(at("decay.csv"), "w");

        assert_non_null(f);
        fputs("model,position,distance,s,c,c_lo,c_hi,target,layer,attribution\n", f);
        for (int d = 99; d >= 0; d--) /* a power law of exponent 0.8 up to a window's end */
            fprintf(f, "m,%d,%d,%.17g,1,1,1,101,0,grad\n", 100 - d, d,
                    d < 70 ? 0.15 * pow(1 + d, -0.8) : 0.0);
        assert_int_equal(fclose(f), 0);
    }
    expect("fit decay.csv --of ln-s --form a-p*ln(1+t) -o decay", 0, "0    69      70");
    t = read_table(at("decay/fit.csv"));
    row = find_row(&t, "m", NULL);
    if (!(fabs(strtod(cell(&t, row, "value"), NULL) - log(0.15)) <= 1e-12) ||
        !(fabs(strtod(cell(&t, row + 1, "value"), NULL) - 0.8) <= 1e-12))
        fail_msg("power law: %s, %s", cell(&t, row, "value"), cell(&t, row + 1, "value"));
    csv_table_free(&t);
    expect("fit decay.csv --of ln-s --range 70:99", 1,
           "no row of m between distances 70 and 99 with a share above 0");
    expect("fit pairs.csv --of s", 1, "has no shares by token");
    expect("fit logs/bias.csv --of s", 1, "has no shares by token");
    expect("fit alibi --of s", 2, "is not a curve.csv");
    expect("fit curve.csv --of x", 2, "--of");
    expect("fit 2-0.7*ln(1+3*t) --form a+b*ln(1+c*t) --range 0:199", 0, "-0.7");
    expect("fit slopes --form b*t --range 0:31", 0, "slopes, head 2");
    expect("fit rotary", 1, "no bias to fit");
    /* other readings of sandwich are not compared with the printed curve */
    {
        struct outcome o = reach("fit sandwich --set dbar=64");

        assert_int_equal(o.status, 0);
        assert_null(strstr(o.out, "closest"));
        outcome_free(&o);
    }
}

static void failure_leaves_nothing(void **state)
{
    (void)state;
    expect("fit window(3) --range 0:9 -o failed", 1, "t = 3");
    assert_false(exists(at("failed")));
}

static int make_inputs(void **state)
{
    static const struct {
        const char *name, *settings;
    } models[] = {
        {"slopes", "\"position_bias\": \"alibi\","},
        {"rotary", "\"position\": {\"kind\": \"rotary\"},"},
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
    write_text("pairs.csv", "0,4\n1,6\n2,8\n3,10\n");
    write_text("titled.csv", "t,y\n0,1\n1,2\n2,2.5\n3,4\n");
    write_text("three.csv", "x,y,z\n1,2,3\n");
    write_text("broken.csv", "t,y\n1,2\n2,x\n");
    write_text("empty.csv", "t,y\n");
    write_text("curve.csv", "model,position,distance,s,c,c_lo,c_hi,target,layer,attribution\n"
                            "first,1,1,0.5,1,1,1,3,0,grad\nfirst,2,0,0.5,0.5,0.5,0.5,3,0,grad\n"
                            "second,1,1,0.2,1,1,1,3,0,grad\nsecond,2,0,0.8,0.8,0.8,0.8,3,0,grad\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_one_line),
        cmocka_unit_test(fits_of_every_source),
        cmocka_unit_test(failure_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
