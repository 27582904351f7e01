/* What `reach trf` reads and writes: tables, certificates, figures, formulas from a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/trf.h"
#include "io/formats/csv.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"
#include "tests/trf_inputs.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const char *name, const char *text)
{
    scratch_write(base, name, text, strlen(text));
}

/* ---- reach trf ---- */

static void long_integers_are_whole_in_the_table(void **state)
{
    struct csv_table t;
    size_t row;

    (void)state;
    expect("trf kerple_log --set p=1.05 --set a=1 -o slow", 0, "digits)");
    t = read_table(at("slow/trf.csv"));
    row = trf_row(&t, "kerple_log", "all", "inf", "1", "0.01", "");
    /* the least j with zeta(1.05, j + 1) < zeta(1.05) / 100, by mpmath with 120 digits */
    if (strcmp(cell(&t, row, "trf_lo"), "5640741144419037752115262568930173714240") != 0 ||
        strcmp(cell(&t, row, "trf_lo"), cell(&t, row, "trf_hi")) != 0 ||
        !(fabs(strtod(cell(&t, row, "log10_trf_lo"), NULL) - 39.75133617025723) <= 1e-12))
        fail_msg("p = 1.05: [%s, %s], log10 %s", cell(&t, row, "trf_lo"), cell(&t, row, "trf_hi"),
                 cell(&t, row, "log10_trf_lo"));
    csv_table_free(&t);
}

static void checkpoints_have_a_row_a_layer_and_head(void **state)
{
    static const struct {
        const char *formula, *head, *layer, *verdict, *trf;
    } cases[] = {
        {"m", "1", "1", "converges", "74"}, /* slope 1/16: 16 ln 100 = 73.7 */
        {"m", "all", "2", "converges", NULL},
        {"windows", "all", "1", "converges", "5"},
        {"windows", "all", "2", "converges", "10"},
        {"rotary", "all", "1", "not applicable", ""},
        {"narrow", "all", "2", "not applicable", "5"}, /* the window alone */
        {"kerple", "2", "1", "converges", NULL},
        {"weighted", "all", "1", "not applicable", ""},
    };
    struct csv_table t;
    struct outcome o = reach(
        "trf m=slopes windows rotary narrow kerple weighted -o models --layers 2");

    (void)state;
    if (o.status != 0 || !strstr(o.out, "exact cone of its layers: 14 tokens") ||
        !strstr(o.out, "layer 1") || !strstr(o.out, "rotary positions turn") ||
        !strstr(o.out, "depends on the scores") || *o.err)
        fail_msg("exit %d\n%s%s", o.status, o.out, o.err);
    outcome_free(&o);
    t = read_table(at("models/trf.csv"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t row = trf_row(&t, cases[i].formula, cases[i].head, NULL, "1", NULL, cases[i].layer);

        if (strcmp(cell(&t, row, "verdict"), cases[i].verdict) != 0 ||
            (cases[i].trf && strcmp(cell(&t, row, "trf_lo"), cases[i].trf) != 0))
            fail_msg("%s, head %s, layer %s: %s, %s (expected %s, %s)", cases[i].formula,
                     cases[i].head, cases[i].layer, cell(&t, row, "verdict"),
                     cell(&t, row, "trf_lo"), cases[i].verdict,
                     cases[i].trf ? cases[i].trf : "any");
    }
    csv_table_free(&t);
    expect("bias windows --length 12", 0, "layer 2");
    expect("info slopes", 0, "TRF(0.01)");
}

/* ---- files ---- */

static void plot_sets_fields_beside_each_other(void **state)
{
    struct outcome o;
    char *script;

    (void)state;
    expect("trf windows slopes --layers 2 -o theory", 0, NULL);
    o = reach("erf windows slopes --text text --length 48 --segments 4 --bootstrap 20 -o measured "
              "--quiet");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    expect("plot theory/trf.csv measured -o both", 0, "both/fields.png");
    script = slurp(at("both/fields.gp"), NULL);
    assert_non_null(script);
    assert_non_null(strstr(script, "'windows'"));
    assert_non_null(strstr(script, "measured ERF"));
    assert_non_null(strstr(script, "TRF across layers"));
    free(script);
    assert_true(exists(at("both/fields.png")));
    expect("plot theory/trf.csv measured -o both", 1, "--force");
}

/* 1 + 1/4 + ... + 1/36 is the first partial sum above 0.9 pi^2/6, that of 61 terms above 0.99
 * pi^2/6. */
static void plot_draws_fields_over_epsilon(void **state)
{
    char *script;

    (void)state;
    expect("trf -2*ln(1+t) window(40) -ln(1+t) -(2+sin(t))*ln(1+t) --heads 1 --length 100 "
           "--epsilon 0.1 --epsilon 0.01 "
           "-o eps",
           0, NULL);
    expect("plot eps/trf.csv -o over --figure epsilon", 0, "over/epsilon.png");
    script = slurp(at("over/epsilon.gp"), NULL);
    assert_non_null(script);
    assert_non_null(
        strstr(script, "$line1 << EOD\n0.01 61 61 61 1\n0.1 6 6 6 1\nEOD\n")); /* ascending */
    assert_non_null(strstr(script, "\n0.01 40 40 40 1\n0.1 37 37 37 1\nEOD\n"));
    assert_non_null(strstr(script, "'-ln(1+t), L = 100'"));
    assert_null(strstr(script, "'-ln(1+t)'")); /* it diverges */
    free(script);
    expect("trf window(40) --heads 1 -o one", 0, NULL);
    expect("plot one/trf.csv -o over --figure epsilon --force", 1, "no figure \"epsilon\"");
    expect("plot eps/trf.csv -o over --figure epsilon --force --threshold 0.9", 1, "--threshold");
    expect(
        "plot eps/trf.csv -o over --figure epsilon --force --only window(40) --label window(40)=w",
        0, NULL);
    script = slurp(at("over/epsilon.gp"), NULL);
    assert_non_null(script);
    assert_non_null(strstr(script, "'w'"));
    assert_null(strstr(script, "$line2"));
    free(script);
}

/* Where a mask leaves single distances, no line joins their weights: dots do. */
static void figure_dots_weights_that_stand_alone(void **state)
{
    char *script;

    (void)state;
    expect("trf t-4*floor(t/4)==0?-t/8:-inf -t/8 -o alone", 0, NULL);
    script = slurp(at("alone/trf.gp"), NULL);
    assert_non_null(script);
    assert_non_null(strstr(script, "$alone1 << EOD\n1 1\n5 0.6065306597\n9 0.3678794412\n"));
    assert_non_null(strstr(script, "$alone1 using 1:2 with points"));
    assert_null(strstr(script, "$alone2"));
    free(script);
}

/* ---- weights.csv ---- */

/* The weight and the share beyond j tokens of ALiBi's head h of 8, b(t) = -t / 2^h, whose sum is
 * geometric; head 0: their mean. */
static void alibi(double *weight, double *beyond, int h, double j)
{
    double largest = 0;

    *weight = *beyond = 0;
    for (int k = h ? h : 1; k <= (h ? h : 8); k++) {
        double q = exp(-ldexp(1, -k)), part = h ? 1 : 1 - q;

        *weight += part * pow(q, j - 1);
        *beyond += pow(q, j) / (h ? 1 : 8);
        largest += part;
    }
    *weight /= largest;
}

static void weights_are_the_kernels(void **state)
{
    struct csv_table t;
    size_t heads[9] = {0}, marks = 0;

    (void)state;
    expect("trf alibi -o kernels", 0, NULL);
    t = read_table(at("kernels/weights.csv"));
    for (size_t row = 0; row < t.rows; row++) {
        int h = (int)strtol(cell(&t, row, "head"), NULL, 10);
        double weight, beyond;

        alibi(&weight, &beyond, h, number(&t, row, "tokens"));
        if (!(fabs(number(&t, row, "weight") - weight) <= 1e-12) ||
            !(fabs(number(&t, row, "beyond") - beyond) <= 1e-12))
            fail_msg("head %d, %s tokens: %s and %s (expected %.17g and %.17g)", h,
                     cell(&t, row, "tokens"), cell(&t, row, "weight"), cell(&t, row, "beyond"),
                     weight, beyond);
        heads[h]++;
        if (strcmp(cell(&t, row, "tokens"), cell(&t, row, "trf")) == 0) {
            double before;

            alibi(&weight, &before, h, number(&t, row, "tokens") - 1);
            assert_true(beyond < 0.01 && before >= 0.01);
            marks++;
        }
    }
    assert_int_equal(marks, 9); /* the row of the field, which is marked */
    for (int h = 0; h < 9; h++)
        assert_true(heads[h] > 300);
    csv_table_free(&t);
}

/* Of the first 4 distances: 1/4 each, and a geometric sum. The series of head 1 diverges, so
 * without a length there is no mean; beside another encoding that head stands for all. */
static void means_are_over_the_length(void **state)
{
    struct csv_table t;
    size_t row = 0;

    (void)state;
    expect("trf h==1?0:-t --heads 2 --length 4 -o four", 0, "diverges");
    t = read_table(at("four/weights.csv"));
    while (strcmp(cell(&t, row, "head"), "mean") != 0)
        row++;
    for (int j = 1; j <= 4; j++, row++) {
        double sum = (1 - exp(-4)) / (1 - exp(-1)),
               weight = (0.25 + exp(1 - j) / sum) / (0.25 + 1 / sum),
               beyond = (1 - j / 4.0 + (exp(-j) - exp(-4)) / (1 - exp(-4))) / 2;

        assert_string_equal(cell(&t, row, "length"), "4");
        assert_true(fabs(number(&t, row, "weight") - weight) <= 1e-14);
        assert_true(fabs(number(&t, row, "beyond") - beyond) <= 1e-14);
    }
    assert_int_equal(row, t.rows);
    csv_table_free(&t);
    expect("trf h==1?0:-t alibi --heads 2 -o several", 0, "diverges");
    t = read_table(at("several/weights.csv"));
    assert_string_equal(cell(&t, 0, "head"), "1");
    assert_string_equal(cell(&t, 0, "beyond"), "");
    assert_string_equal(cell(&t, 0, "field"), "");
    assert_string_equal(cell(&t, t.rows - 1, "head"), "mean");
    csv_table_free(&t);
    expect("trf 800-t -o large --heads 1", 0, NULL); /* exp(800) is no double */
    t = read_table(at("large/weights.csv"));
    assert_true(fabs(number(&t, 3, "weight") - exp(-3)) <= 1e-14);
    csv_table_free(&t);
}

/* The script without the lines that name the command. */
static char *drawing(const char *name)
{
    char *script = slurp(at("%s", name), NULL);

    if (!script || !strstr(script, "\n\n"))
        fail_msg("%s: is no script", name);
    memmove(script, strstr(script, "\n\n"), strlen(strstr(script, "\n\n")) + 1);
    return script;
}

static void plot_draws_weights_again(void **state)
{
    static const char *const lines[] = {"alibi",
                                        "alibi windows slopes",
                                        "-ln(1+t) --length 90",
                                        "t-4*floor(t/4)==0?-t/8:-inf",
                                        "-t/L --length 20,40",
                                        "alibi alibi"};
    char *script, *again;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[128];

        snprintf(line, sizeof line, "trf %s -o drawn --force --format tikz", lines[i]);
        expect(line, 0, NULL);
        expect("plot drawn --figure trf -o again --force --format tikz", 0, NULL);
        script = drawing("drawn/trf.gp");
        again = drawing("again/trf.gp");
        if (strcmp(script, again) != 0)
            fail_msg("trf %s: the script is another one", lines[i]);
        free(script);
        free(again);
    }
    expect("trf alibi --heads 2 -o drawn --force --format tikz", 0, NULL);
    expect("plot drawn --figure trf -o again --force --format pdf --width 85mm --height 70mm "
           "--panels tail --only alibi,~head~1 --label alibi,~head~1=first",
           0, "again/trf.pdf");
    script = drawing("again/trf.gp");
    assert_non_null(strstr(script, "width_mm = 85\nheight_mm = 70\n"));
    assert_non_null(strstr(script, "'first'"));
    assert_null(strstr(script, "$curve2"));
    free(script);
    expect("trf alibi slopes -o drawn --force --format tikz", 0, NULL);
    expect("plot drawn --figure trf -o again --force --format tikz --only alibi --label alibi=A", 0,
           NULL);
    script = drawing("again/trf.gp");
    assert_non_null(strstr(script, "'A'"));
    free(script);
    remove(at("drawn/weights.csv")); /* as older releases leave a folder */
    expect("plot drawn --figure trf -o again --force", 1,
           "--figure trf: is drawn from weights.csv, which is not among the results");
    expect("plot drawn -o again --force --format tikz", 0, "again/fields.tikz");
}

/* ---- inputs ---- */

/* ---- bounds ---- */

/* The shortest decimal of the double below 0.29999999999999999 is 0.3, which is above it. */
static void tables_hold_bounds(void **state)
{
    struct csv_table t;
    const char *lo, *hi;

    (void)state;
    expect("trf t<1?ln(0.29999999999999999):-inf -o bounds", 0, "converges");
    t = read_table(at("bounds/trf.csv"));
    lo = cell(&t, 0, "sum_lo");
    hi = cell(&t, 0, "sum_hi");
    if (strncmp(lo, "0.29999999999999", 16) != 0 || strcmp(lo, "0.29999999999999999") > 0 ||
        strcmp(hi, "0.29999999999999999") < 0)
        fail_msg("the sum is 0.29999999999999999, in the table from %s to %s", lo, hi);
    csv_table_free(&t);
}

/* What a checker needs: a block for each head, and its lines. The checker itself is
 * tests/certificate.py. */
static void certificates(void **state)
{
    static const char *const lines[] = {
        "reach-certificate 1 ",
        "\nformula kerple_log-0*h\n",
        "\npreset kerple_log(p,a) -p*ln(1+a*t)\n",
        ("\nset p 2\nset a 1\nat h 1 H 2 d 64\nverdict converges\nshift 0\n"
         "rule 4.4 from 2\nrate -2 -1.3333333333333333\n"),
        "\nstart -2.197",
        "\nrule 4.4 from 1000\nrate -2 -1.998001998001998\nstart -13.8175",
        "\ntail 1000 0.000999",
        "\npartial 64 1.62943050140888",
        "\nsum 1.6449340668482",
        "\nfield 0.01 length inf 61 61\nfield 0.01 length 50 28 28\nend\nformula kerple_log",
        "\nset p 3\nset a 1\nat h 2 H 2 d 64\n",
    };

    (void)state;
    expect("trf kerple_log-0*h --set p=2,3 --set a=1 --heads 2 --length 50 --certificate proved", 0,
           "converges");
    size_t size;
    char *text = slurp(at("proved"), &size), *from = text;
    assert_non_null(text);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *found = strstr(from, lines[i]);
        if (!found)
            fail_msg("the certificate has no\n%s\nbehind\n%.60s", lines[i], from);
        from = found + (i == 0);
    }
    free(text);
    expect("trf alibi --certificate none/proved", 1, "none/proved");
    expect("trf alibi --heads 1 --certificate proved", 1,
           "proved: exists (expected another --certificate FILE, or --force)");
    expect("trf alibi --heads 1 --certificate proved --force", 0, "converges");
    expect("trf alibi --heads 1 --certificate both/trf.csv -o both", 1,
           "--certificate both/trf.csv: is a file of the results in both");
}

/* A table of formulas with their parameters; where a cell is empty nothing is set. */
static void formulas_from_a_table(void **state)
{
    struct csv_table t;

    (void)state;
    write_text("forms.csv", "# "
                            "biases\nname,formula,p,a\nslow,kerple_log,1.5,1\n,\"kerple_log(2,1)\","
                            ",\nexponential,-t/10,,\n");
    expect("trf @forms.csv alibi --heads 1 -o tabled", 0, "exponential");
    t = read_table(at("tabled/trf.csv"));
    assert_int_equal(t.rows, 4);
    assert_string_equal(cell(&t, 0, "formula"), "slow");
    assert_string_equal(cell(&t, 0, "trf_lo"), "5861");
    assert_string_equal(cell(&t, 1, "formula"), "kerple_log(2,1)");
    assert_string_equal(cell(&t, 1, "trf_lo"), "61");
    assert_string_equal(cell(&t, 2, "trf_hi"), "47");
    assert_string_equal(cell(&t, 3, "formula"), "alibi");
    csv_table_free(&t);
    write_text("forms.csv", "formula,p\n-p*t,0.5\n-p*t,2\n");
    expect("trf @forms.csv", 0, "-p*t, p=0.5");
    expect(
        "trf @forms.csv --set q=3", 2,
        "--set: \"q=3\" is not a parameter of these formulas (expected NAME=VALUE, NAME one of p)");
    write_text("forms.csv", "formula,p,q\n-p*t,1,\n-p*t,1,2\n");
    expect("trf @forms.csv", 2, "forms.csv, row 2: -p*t: has no parameter 'q'");
    write_text("forms.csv", "formula,p\n-p*t,\n");
    expect("trf @forms.csv", 2, "forms.csv, row 1: -p*t: parameter 'p' has no value");
    expect("trf @forms.csv --set p=3", 0, "converges");
    write_text("forms.csv", "formula,p\n-p*t,0.5\n-p*t,\n");
    expect("trf @forms.csv --set p=3 -o both-set", 0, "converges");
    t = read_table(at("both-set/trf.csv"));
    assert_string_equal(cell(&t, 0, "trf_lo"), "10"); /* the cell's 0.5 */
    assert_string_equal(cell(&t, 1, "trf_lo"), "2");
    csv_table_free(&t);
    write_text("forms.csv", "p\n1\n");
    expect("trf @forms.csv", 2, "has no column 'formula'");
    write_text("forms.csv", "formula\n");
    expect("trf @forms.csv", 2, "no row");
    expect("trf @none.csv", 1, "none.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_integers_are_whole_in_the_table),
        cmocka_unit_test(checkpoints_have_a_row_a_layer_and_head),
        cmocka_unit_test(plot_sets_fields_beside_each_other),
        cmocka_unit_test(plot_draws_fields_over_epsilon),
        cmocka_unit_test(tables_hold_bounds),
        cmocka_unit_test(certificates),
        cmocka_unit_test(figure_dots_weights_that_stand_alone),
        cmocka_unit_test(weights_are_the_kernels),
        cmocka_unit_test(means_are_over_the_length),
        cmocka_unit_test(plot_draws_weights_again),
        cmocka_unit_test(formulas_from_a_table),
    };

    return cmocka_run_group_tests(tests, trf_inputs, program_close);
}
