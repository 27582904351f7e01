/* What the figures of `reach plot` show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/plot_inputs.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The map of layers holds shares by doubling of the distance: of the last token, which is a whole
 * doubling, its own share; its colours span three decades at most. */
static void layers_are_told_apart(void **state)
{
    char *layers = script_of("all/layers.gp"), *curves = script_of("all/erf.gp"),
         *map = strstr(layers, "$map1 << EOD\n"), *last = strstr(curves, "$curve1 << EOD\n"),
         *range = strstr(layers, "set cbrange [");
    double low, high;

    (void)state;
    assert_true(map && last && range && strstr(layers, "set logscale cb\n"));
    last = strstr(last, "\n63 ");
    assert_non_null(last);
    assert_float_equal(strtod(strchr(map, '\n') + 1, NULL), strtod(last + 4, NULL),
                       1e-3 * strtod(last + 4, NULL));
    assert_int_equal(sscanf(range, "set cbrange [%lf:%lf]", &low, &high), 2);
    assert_true(low > 0 && high >= 2 * low && high <= 1001 * low);
    assert_non_null(strstr(layers, "$numbers1 using 1:2:(sprintf('%d', $3)) with labels"));
    free(layers);
    free(curves);
}

/* Models with one field at a target do not hide each other: their points lie side by side, around
 * the target; only saturated fields have arrows. */
static void targets_are_side_by_side(void **state)
{
    char *script = script_of("all/targets.gp"),
         *line[2] = {strstr(script, "$line1 << EOD\n"), strstr(script, "$line2 << EOD\n")};
    double at[2], low, high;

    (void)state;
    assert_true(line[0] && line[1]);
    for (int i = 0; i < 2; i++)
        at[i] = strtod(strchr(line[i], '\n') + 1, NULL);
    assert_true(at[0] < 16 && at[1] > 16 && fabs(at[0] * at[1] - 256) < 1e-6);
    assert_int_equal(sscanf(strstr(script, "set xrange ["), "set xrange [%lf:%lf]", &low, &high),
                     2);
    assert_true(low < at[0] && high > 64 * at[1] / 16);
    assert_non_null(strstr(script, "1:($5 == 1 ? $2 : NaN):(0):("));
    assert_non_null(strstr(script, "a lower bound: all tokens needed"));
    free(script);
}

/* Marks of a row that would overlap lie below each other, in order; the arrow of a field of the
 * whole length starts at its mark and ends inside the frame. */
static void marks_of_a_ladder_are_seen(void **state)
{
    static const char head[] = "model,segments,excluded,length,threshold,erf,erf_lo,erf_hi,"
                               "saturated,target,layer\n",
                      rows[] = "a,4,0,2048,0.5,10,10,10,0,,\na,4,0,2048,0.9,2040,2040,2040,0,,\n"
                               "a,4,0,2048,0.99,2047,2047,2047,1,,\n";
    char text[512], *script, *arrow;
    double at, up, length, low, high;

    (void)state;
    snprintf(text, sizeof text, "%s%s", head, rows);
    scratch_write(base, "near.csv", text, strlen(text));
    script_only("plot near.csv -o near --width 85mm");
    script = script_of("near/ladder.gp");
    assert_non_null(strstr(script, "$threshold1 << EOD\n10 1 10 10\n"));
    assert_non_null(strstr(script, "$threshold2 << EOD\n2040 1.13636 "));
    assert_non_null(strstr(script, "$threshold3 << EOD\n2047 0.863636 "));
    arrow = strstr(script, "set arrow from 2047, ");
    assert_non_null(arrow);
    assert_int_equal(sscanf(arrow, "set arrow from %lf, %lf rto graph %lf", &at, &up, &length), 3);
    assert_float_equal(up, 0.863636, 1e-6);
    assert_int_equal(sscanf(strstr(script, "set xrange ["), "set xrange [%lf:%lf]", &low, &high),
                     2);
    assert_true(log(at / low) / log(high / low) + length < 1);
    assert_non_null(strstr(script, "a lower bound: all tokens"));
    free(script);
}

/* Five marks at one place stay within their row, clear of each other. */
static void many_marks_stay_in_their_row(void **state)
{
    char text[512], *script;
    size_t used = (size_t)sprintf(text, "model,segments,excluded,length,threshold,erf,erf_lo,"
                                        "erf_hi,saturated,target,layer\n");
    double before = 1.5, at;

    (void)state;
    for (int k = 0; k < 5; k++)
        used += (size_t)sprintf(text + used, "a,4,0,2048,%g,%d,%d,%d,0,,\n",
                                (double[]){0.5, 0.9, 0.95, 0.99, 0.999}[k], 2040 + k, 2040 + k,
                                2040 + k);
    scratch_write(base, "together.csv", text, strlen(text));
    script_only("plot together.csv -o together --width 85mm");
    script = script_of("together/ladder.gp");
    for (int k = 1; k <= 5; k++) {
        snprintf(text, sizeof text, "$threshold%d << EOD\n", k);
        assert_int_equal(sscanf(strstr(script, text) + strlen(text), "%*d %lf", &at), 1);
        assert_true(at > 0.5 && before - at >= (k == 1 ? 0.08 : 0.16));
        before = at;
    }
    free(script);
}

/* A map of few heads says its numbers, in cells that have room. */
static void fields_of_few_heads_are_numbers(void **state)
{
    (void)state;
    script_only("plot all --figure heads -o numbers");
    assert_has("numbers/heads.gp", "(sprintf(\"%.0f\", $3)) with labels tc rgb \"#FFFFFF\"");
    expect("plot all --figure heads -o narrow --width 60mm --font-size 14", 1, "expected 86mm");
    script_only("plot all --figure heads -o narrow --width 86mm --font-size 14");
}

/* Fields are compared where theory and measurement have a name in common; a theoretical one that
 * the length could not show is hollow, at the frame. */
static void fields_are_compared_by_name(void **state)
{
    (void)state;
    script_with_warning("plot all --figure fields -o matched",
                        "fields.gp: no theoretical field of none: left out");
    assert_has("matched/fields.gp", "label1 = 'window'\n");
    assert_lacks("matched/fields.gp", "'none'");
    assert_lacks("matched/fields.gp", "beyond the measured length");
    script_only("trf window=alibi -o long");
    script_only("trf other=alibi -o other");
    script_only("erf none --text text --length 32 --segments 3 --quiet -o plain");
    script_only("plot long/trf.csv step-3 -o beyond");
    assert_has("beyond/fields.gp", "$kind1 << EOD\nEOD\n$beyond1 << EOD\n");
    assert_lacks("beyond/fields.gp", "$beyond1 << EOD\nEOD\n");
    assert_has("beyond/fields.gp", "title 'beyond the measured length, or unbounded'");
    script_with_warning(
        "plot other/trf.csv plain -o apart",
        "no theoretical field of none; no measured field of other: no name has both");
    assert_has("apart/fields.gp", "label2 = 'none'\n");
    script_only("plot other/trf.csv -o alone"); /* theory alone was asked for */
}

/* Layers with the same fields are one line of epsilon.gp; others are named by their numbers. */
static void layers_alike_are_one_line(void **state)
{
    static const char head[] = "formula,head,length,layers,epsilon,verdict,sum_lo,sum_hi,trf_lo,"
                               "trf_hi,layer,log10_trf_lo,log10_trf_hi\n";
    static const struct {
        const char *name;
        int trf[4]; /* at epsilon 0.1, by layer */
    } models[] = {{"same", {7, 7, 7, 7}}, {"differ", {7, 7, 9, 7}}};
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", head);

    (void)state;
    for (int m = 0; m < 2; m++)
        for (int layer = 0; layer < 4; layer++)
            for (int k = 0; k < 2; k++)
                used += (size_t)snprintf(text + used, sizeof text - used,
                                         "%s,all,inf,1,%s,converges,1,1,%d,%d,%d,,\n",
                                         models[m].name, k ? "0.01" : "0.1",
                                         models[m].trf[layer] + 20 * k,
                                         models[m].trf[layer] + 20 * k, layer + 1);
    scratch_write(base, "layers.csv", text, strlen(text));
    script_only("plot layers.csv -o alike --figure epsilon");
    assert_has("alike/epsilon.gp",
               "title1 = 'Theoretical field over the share that it leaves out'");
    assert_has("alike/epsilon.gp", "label1 = 'same'\n");
    assert_has("alike/epsilon.gp", "label2 = 'differ, layers 1-2, 4'\n");
    assert_has("alike/epsilon.gp", "label3 = 'differ, layer 3'\n");
    assert_lacks("alike/epsilon.gp", "label4");
}

/* The ratio of perplexities is that of the targets' log p, paired. */
static void ratios_are_paired(void **state)
{
    static const char table[] = "model,protocol,context,stride,tokens,nll,std_error,ppl,window,"
                                "seconds_per_token,diff,diff_se,p\n"
                                "a,last,8,,3,2,0.5,7.389,,,,,\na,last,16,,3,1,0.5,2.718,,,,,\n",
                      targets[] = "model,context,row,position,id,nll\na,8,,5,1,1\na,8,,9,1,2\na,8,,"
                                  "7,1,3\na,16,,9,1,1.5\na,16,,5,1,0.5\n"
                                  "a,16,,7,1,1\na,16,,70,1,50\n";
    char *script, *line;
    double x, ppl, low, high, ratio, ratio_low, ratio_high;

    (void)state;
    scratch_write(base, "few.csv", table, strlen(table));
    scratch_write(base, "few-targets.csv", targets, strlen(targets));
    script_only("plot few.csv few-targets.csv --train-length 8 -o ratio");
    script = script_of("ratio/ppl.gp");
    line = strstr(script, "$line1 << EOD\n");
    assert_non_null(line);
    line = strchr(strchr(line, '\n') + 1, '\n') +
           1; /* context 16: differences -0.5, -0.5, -2 over the three that both have */
    assert_int_equal(sscanf(line, "%lf %lf %lf %lf %lf %lf %lf", &x, &ppl, &low, &high, &ratio,
                            &ratio_low, &ratio_high),
                     7);
    assert_float_equal(x, 16, 1e-9);
    assert_float_equal(ratio, 0.36787944117, 1e-9); /* exp(-1) */
    assert_float_equal(ratio_low, 0.13807, 1e-4); /* exp(-1 - 1.96 * 0.5) */
    assert_float_equal(ratio_high, 0.98020, 1e-4);
    free(script);
    assert_has("ratio/ppl.gp", "Perplexity over that at 8 tokens");
}

static void steps_are_in_order(void **state)
{
    char *script;

    (void)state;
    script_only("plot step-20 step-3 -o training --colours sequential");
    script = script_of("training/steps.gp");
    assert_non_null(strstr(script, "$fields << EOD\n3 "));
    for (size_t i = 0; i < 5; i++) { /* the order of the lines, dark to light, each with its band */
        static const char *const thresholds[] = {"0.999", "0.99", "0.95", "0.9", "0.5"};
        char entry[64], band[64];

        snprintf(entry, sizeof entry, "ls %zu title 'ERF(%s)'", i + 1, thresholds[i]);
        snprintf(band, sizeof band, "$fields using 1:%zu:%zu with filledcurves ls %zu", 3 * i + 3,
                 3 * i + 4, i + 1);
        if (!strstr(script, entry) || !strstr(script, band))
            fail_msg("steps.gp has no \"%s\" with \"%s\"", entry, band);
    }
    assert_non_null(strstr(script,
                           "set style line 1 lw 2.6*line_width pt 7 ps mark dt solid lc rgb "
                           "\"#0D0887\""));
    assert_non_null(strstr(script,
                           "set style line 6 lw 2.6*line_width pt 7 ps mark dt solid lc rgb "
                           "\"#0D0887\""));
    assert_non_null(strstr(script, "ls 6 title 'c of the last 16'"));
    char *row = strchr(strstr(script, "$fields"), '\n') + 1;
    assert_float_equal(strtod(row, &row), 3, 0); /* the step */
    for (double value = 1e9, next; *row != '\n'; value = next) {
        double low, high;

        next = strtod(row, &row), low = strtod(row, &row), high = strtod(row, &row);
        assert_true(low <= next && next <= high && next <= value);
    }
    assert_true(strstr(script, "\n20 ") > strstr(script, "\n3 "));
    free(script);
    script = script_of("training/erf.gp");
    assert_true(strstr(script, "label1 = 'step-3/window'") &&
                strstr(script, "label2 = 'step-20/window'"));
    free(script);
    script_only(
        "plot all --steps 500,100 -o training --figure steps --force --xlog --panels field");
    assert_has("training/steps.gp", "$fields << EOD\n100 ");
    assert_lacks("training/steps.gp", "Share of the most recent");
    expect("plot all --steps 0,100 -o training --figure steps --force --xlog", 1,
           "begins at step 0");
}

/* Many fits are a band for each layer, or each name, with their median; layers with one bias are
 * one fit. */
static void many_fits_are_bands(void **state)
{
    static const char head[] =
        "formula,head,form,first,last,coefficient,value,std_error,r2,layer\n";
    char *text = malloc(1 << 20), *script;
    size_t used = (size_t)sprintf(text, "%s", head);
    double t, low, median, high;

    (void)state;
    assert_non_null(text);
    for (int layer = 1; layer <= 3; layer++)
        for (int h = 1; h <= 5; h++)
            used += (size_t)sprintf(text + used,
                                    "m,%d,a + b*t,0,10,a,%d,,0.5,%d\nm,%d,a + b*t,0,10,"
                                    "b,1,,0.5,%d\n",
                                    h, h * layer, layer, h, layer);
    scratch_write(base, "layered.csv", text, strlen(text));
    script_only("plot layered.csv -o bands");
    assert_has("bands/fit.gp", "label2 = 'm, layer 2, median of 5'\n");
    assert_has("bands/fit.gp", "curve2 = 'a = 2 to 10, b = 1, R\xc2\xb2 = 0.500'\n");
    script = script_of("bands/fit.gp");
    assert_int_equal(sscanf(strstr(script, "$fit3 << EOD\n") + 13, "%lf nan %lf %lf %lf", &t, &low,
                            &median, &high),
                     4);
    assert_true(t == 0 && low == 3 && median == 9 && high == 15);
    assert_non_null(strstr(script, "$fit3 using 1:3:5 with filledcurves"));
    free(script);
    used = (size_t)sprintf(text, "%s", head);
    for (int i = 0; i < 384; i++)
        used += (size_t)sprintf(text + used,
                                "m,%d,a + b*t,0,10,a,%d,,0.5,%d\nm,%d,a + b*t,0,10,b,1,"
                                ",0.5,%d\n",
                                i % 16 + 1, i, i / 16 + 1, i % 16 + 1, i / 16 + 1);
    scratch_write(base, "heads.csv", text, strlen(text));
    script_only("plot heads.csv -o bands --force");
    assert_has("bands/fit.gp", "label1 = 'm, median of 384'\n");
    assert_lacks("bands/fit.gp", "label2");
    used = (size_t)sprintf(text, "%s", head);
    for (int i = 0; i < 12; i++)
        used += (size_t)sprintf(text + used,
                                "m,%d,a + b*t,0,10,a,%d,,0.5,%d\nm,%d,a + b*t,0,10,b,1,"
                                ",0.5,%d\n",
                                i % 4 + 1, i == 11 ? 99 : i % 4, i / 4 + 1, i % 4 + 1, i / 4 + 1);
    scratch_write(base, "shared.csv", text, strlen(text));
    script_only("plot shared.csv -o bands --force");
    assert_has("bands/fit.gp", "label1 = 'm, head 1'\n");
    assert_has("bands/fit.gp", "label4 = 'm, layers 1-2, head 4'\n");
    assert_has("bands/fit.gp", "label5 = 'm, layer 3, head 4'\n");
    assert_has("bands/fit.gp", "curve5 = 'a = 99, b = 1, ");
    assert_has("bands/fit.gp", "heading1 = 'Fit y = a + b*t'\n");
    free(text);
}

/* Grids of many panels end within a page, at any width. */
static void grids_end_within_a_page(void **state)
{
    static const char *const figures[] = {"matrix", "attention", "heads"}, *const widths[] = {
                                                                               "--width 85mm",
                                                                               "--width 170mm", ""};
    char *text = malloc(1 << 20);
    size_t used = 0;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "model,layer,head,epsilon,attention_erf,trf,trf_length,verdict\n");
    for (int i = 0; i < 12 * 32 * 8; i++)
        used += (size_t)sprintf(text + used, "model-%d,%d,%d,0.01,%d,,,not applicable\n", i / 256,
                                i / 8 % 32 + 1, i % 8 + 1, 3 + i % 97);
    assert_int_equal(mkdir(at("grids"), 0777), 0);
    scratch_write(base, "grids/attention.csv", text, strlen(text));
    script_only("bias alibi --heads 24 --length 32 -o grids");
    for (size_t w = 0; w < 3; w++) {
        snprintf(text, 200, "plot grids -o paged --force --figure matrix,attention,heads %s",
                 widths[w]);
        script_with_warning(text, "matrix.gp: 16 of 24 biases are drawn, evenly spread");
        for (size_t i = 0; i < 3; i++) {
            char *script = slurp(at("paged/%s.gp", figures[i]), NULL), *high;
            double mm;

            high = script ? strstr(script, "height_mm = ") : NULL;
            assert_non_null(high);
            mm = strtod(high + strlen("height_mm = "), NULL);
            if (!(mm > 50 && mm <= 300))
                fail_msg("%s.gp with %s is %g mm high", figures[i], widths[w], mm);
            free(script);
        }
        assert_lacks("paged/heads.gp", "with labels");
    }
    free(text);
    /* a heading is not split before a number */
    script_only("bias alibi type1 --heads 5 --length 32 -o headings");
    script_only("plot headings -o split --figure matrix --width 85mm");
    assert_has("split/matrix.gp", "= 'type1,'.\"\\n\".'head 1'\n");
}

/* Bars are trf_length, and the title does not call it TRF, whose column has other numbers. */
static void bars_of_attention_are_named(void **state)
{
    const char *rows = "model,layer,head,epsilon,attention_erf,trf,trf_length,verdict\n"
                       "m,1,1,0.01,57,295,62,converges\nm,1,2,0.01,57,1179,63,converges\n";

    (void)state;
    assert_int_equal(mkdir(at("bars"), 0777), 0);
    scratch_write(base, "bars/attention.csv", rows, strlen(rows));
    script_only("plot bars -o barred");
    assert_has("barred/attention.gp", "0.58 62 0.84 0\n1.58 63 0.84 0\n");
    assert_has("barred/attention.gp",
               "and of the first L \xe2\x88\x92 1 terms of exp(bias) (bars)");
    assert_lacks("barred/attention.gp", "TRF");
    script_only("plot bars -o barred-170 --width 170mm"); /* the first blank that fits, not "(" */
    assert_has("barred-170/attention.gp", "(points) and of the first L \xe2\x88\x92 1 terms of'");
}

/* Of a formula's heads that differ the mean kernel is drawn, by which they are ranked. */
static void fields_of_formulas_are_means(void **state)
{
    (void)state;
    script_only("trf alibi kerple_log --set p=2 --set a=1 -o means");
    script_only("plot means -o meant --figure fields");
    assert_has("meant/fields.gp", "666");
    assert_lacks("meant/fields.gp", "1179");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_fits_are_bands),
        cmocka_unit_test(grids_end_within_a_page),
        cmocka_unit_test(bars_of_attention_are_named),
        cmocka_unit_test(fields_of_formulas_are_means),
        cmocka_unit_test(layers_are_told_apart),
        cmocka_unit_test(targets_are_side_by_side),
        cmocka_unit_test(marks_of_a_ladder_are_seen),
        cmocka_unit_test(fields_are_compared_by_name),
        cmocka_unit_test(layers_alike_are_one_line),
        cmocka_unit_test(ratios_are_paired),
        cmocka_unit_test(many_marks_stay_in_their_row),
        cmocka_unit_test(fields_of_few_heads_are_numbers),
        cmocka_unit_test(steps_are_in_order),
    };

    return cmocka_run_group_tests(tests, plot_inputs, program_close);
}
