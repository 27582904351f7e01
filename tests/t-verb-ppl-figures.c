/* What `reach ppl` shows and writes besides its table: figures, gain.csv, the FILE of --per-token.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/ppl.h"
#include "io/formats/csv.h"
#include "plots/ppl.h"
#include "tests/golden.h"
#include "tests/ppl_inputs.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AS(list) \
    &(const struct figure_style) \
    { \
        .formats = (list) \
    }

/* --per-token: the means are those of the table, the ids are the text's bytes, and a target has the
 * same NLL whichever protocol gives it a context. */
static void per_token_is_what_the_table_averages(void **state)
{
    enum { CONTEXT = 12 };
    struct csv_table t, each, other;
    struct error e;
    size_t size, next = 0;
    unsigned char *text = scratch_read(at("short"), &size);
    double *by_position = calloc(size + 1, sizeof *by_position);

    (void)state;
    assert_non_null(by_position);
    succeed("ppl none --text short --protocol sliding --context %d --stride 1 --quiet --per-token "
            "sliding.csv",
            CONTEXT);
    assert_int_equal(csv_read(at("sliding.csv"), &other, &e), 0);
    assert_int_equal(other.rows, size - 1);
    for (size_t i = 0; i < other.rows; i++)
        by_position[(size_t)number(&other, i, "position")] = number(&other, i, "nll");
    succeed("ppl none window --text short --context %d,5 --stride 3 --segments 1000 --quiet "
            "--force -o overlapping --per-token "
            "each.csv",
            CONTEXT);
    t = read_ppl("overlapping");
    assert_int_equal(csv_read(at("each.csv"), &each, &e), 0);
    for (size_t c = 0; c < 2; c++) /* contexts, the short one first, in each both models */
        for (size_t m = 0; m < 2; m++) {
            size_t row = m * 2 + c, count = (size_t)number(&t, row, "tokens");
            double sum = 0;

            assert_int_equal(count, (size - CONTEXT - 1) / 3 + 1);
            assert_string_equal(cell(&t, row, "stride"), "3");
            for (size_t i = 0; i < count; i++, next++) {
                size_t position = (size_t)number(&each, next, "position");
                double nll = number(&each, next, "nll");

                assert_string_equal(cell(&each, next, "model"), cell(&t, row, "model"));
                assert_string_equal(cell(&each, next, "context"), cell(&t, row, "context"));
                assert_string_equal(cell(&each, next, "row"), "");
                assert_int_equal(position, CONTEXT + 1 + 3 * i);
                assert_int_equal((int)number(&each, next, "id"), text[position - 1]);
                if (text[position - 1] > ' ' && text[position - 1] < 127 &&
                    text[position - 1] != '\\') {
                    assert_int_equal(cell(&each, next, "piece")[0], text[position - 1]);
                    assert_int_equal(strlen(cell(&each, next, "piece")), 1);
                } else
                    assert_true(*cell(&each, next, "piece"));
                if (m == 0 && c == 1 && !(fabs(nll - by_position[position]) <= 1e-5))
                    fail_msg("position %zu: NLL %.9g, in sliding windows %.9g", position, nll,
                             by_position[position]);
                sum += nll;
            }
            if (!(fabs(sum / (double)count - number(&t, row, "nll")) <= 1e-12))
                fail_msg("row %zu: NLL %s, of the targets %.17g", row, cell(&t, row, "nll"),
                         sum / (double)count);
        }
    assert_int_equal(next, each.rows);
    csv_table_free(&other);
    succeed("ppl none --tokens rows.npy --protocol nonoverlapping --context 9 --quiet --per-token "
            "rows.csv");
    assert_int_equal(csv_read(at("rows.csv"), &other, &e), 0);
    assert_int_equal(other.rows, 252);
    assert_string_equal(cell(&other, 63, "row"), "2");
    assert_string_equal(cell(&other, 63, "position"), "2");
    assert_string_equal(cell(&other, 62, "position"), "64");
    csv_table_free(&other);
    succeed(
        "ppl none --tokens rows.npy --context 9 --quiet --force --per-token rows.csv"); /* a target
                                                                                           a row:
                                                                                           its last
                                                                                           token */
    assert_int_equal(csv_read(at("rows.csv"), &other, &e), 0);
    assert_int_equal(other.rows, 4);
    for (size_t i = 0; i < other.rows; i++) {
        assert_int_equal((size_t)number(&other, i, "row"), i + 1);
        assert_string_equal(cell(&other, i, "position"), "64");
    }
    expect("ppl none --text short --context 8 --per-token rows.csv", 1, "rows.csv: exists");
    succeed("ppl none --text short --context 8 --quiet -o beside");
    expect(
        "ppl none --text short --context 8 --force -o beside --per-token beside/../beside/ppl.csv",
        1, "--per-token beside/../beside/ppl.csv: is a file of the results in beside");
    expect("ppl none --text short --context 8 --force -o ./ --per-token gain.csv", 1,
           "is a file of the results in ./");
    succeed("ppl none --text short --context 8 --quiet --force -o beside --per-token "
            "beside/targets.csv");
    expect("ppl none --text short --context 8 --per-token nowhere/rows.csv", 1, "nowhere/rows.csv");
    csv_table_free(&other);
    csv_table_free(&each);
    csv_table_free(&t);
    free(by_position);
    free(text);
}

static void screen_and_files(void **state)
{
    struct outcome o = reach(
        "ppl none window --text middle --context 8,4 --segments 9 --train-length 6");

    (void)state;
    assert_int_equal(o.status, 0);
    assert_int_equal(strncmp(o.out, "model ", 6), 0);
    assert_int_equal(lines(o.out), 5 + 2 + 3 + 8 + 2);
    assert_non_null(strstr(o.out, "time/token"));
    assert_non_null(strstr(o.out, "paired over the same targets"));
    assert_non_null(strstr(o.out, "PPL/char"));
    assert_null(strstr(o.out, "PPL/word")); /* of nine bytes */
    assert_non_null(strstr(o.out, "9 segments of 9 tokens"));
    outcome_free(&o);
    o = reach("ppl none --text middle --protocol sliding --context 8 --quiet");
    assert_non_null(strstr(o.out, "PPL/word")); /* of 699 */
    outcome_free(&o);
    assert_false(exists(at("reach-ppl"))); /* nothing is written without -o */
    o = reach("ppl none --text middle --context 8,4 --segments 9 --format png,svg -o files");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "results are in files"));
    outcome_free(&o);
    assert_true(exists(at("files/ppl.csv")));
    assert_true(exists(at("files/ppl.gp")));
    assert_true(exists(at("files/ppl.png")));
    assert_true(exists(at("files/ppl.svg")));
    assert_int_equal(scratch_count(at("files")), 4);
    expect("ppl none --text middle --context 8 --segments 9 -o files --quiet", 1, "--force");
    succeed("ppl none --text middle --context 8 --segments 9 --force --quiet -o files");
    assert_false(exists(at("files/ppl.svg"))); /* a picture of other numbers */
    o = finish(start("ppl none --text middle --context 8 --segments 9 -o bare", "/nonexistent"));
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "gnuplot"));
    outcome_free(&o);
    assert_true(exists(at("bare/ppl.csv")) && exists(at("bare/ppl.gp")));
}

/* Cached inference reads a whole text: its figures count windows, and those of several runs become
 * one line. */
static void cached_figure_counts_windows(void **state)
{
    char *text;

    (void)state;
    for (int w = 3; w <= 5; w += 2)
        succeed("ppl none --text middle --protocol cached --window %d --quiet -o cached-%d", w, w);
    succeed("plot cached-3/ppl.csv cached-5/ppl.csv -o cached-both");
    for (size_t i = 0; i < 3; i++) {
        static const struct {
            const char *folder, *points[2];
        } rows[] = {{"cached-3", {"\n3 "}},
                    {"cached-5", {"\n5 "}},
                    {"cached-both", {"\n3 ", "\n5 "}}};

        text = slurp(at("%s/ppl.gp", rows[i].folder), NULL);
        if (!strstr(text, "set xlabel \"window (tokens)\"") || !strstr(text, rows[i].points[0]) ||
            (rows[i].points[1] && !strstr(text, rows[i].points[1])))
            fail_msg("%s: not over its windows:\n%s", rows[i].folder, text);
        free(text);
    }
    text = slurp(at("files/ppl.gp"), NULL);
    assert_non_null(strstr(text, "set xlabel \"context (input tokens)\""));
    free(text);
}

/* Figures of odd numbers are drawn whole: gnuplot says nothing, the picture is there. */
static void odd_figures_are_drawn(void **state)
{
    static const struct ppl_point one[] = {{64, 1.2, NAN, NAN, NAN}},
                                  zero[] = {{1, 0, 0, 0, 0}, {2, 0, 0, 0, 0}},
                                  huge[] = {{16, 1, 0.1, 0, 0},
                                            {32, 300, 1, 299, 1},
                                            {64, 900, NAN, NAN, NAN}},
                                  alone[] = {{8, 500, 1, NAN, NAN}},
                                  steep[] = {{4, 1, 0.3, -8, 0.1},
                                             {40, 3, 0.1, -6, 0.2},
                                             {400, 9, 0.2, 0, 0}};
    static const struct ppl_line rows[][3] = {
        {{"one", one, 1, 0, 0}},
        {{"it's \"quoted\" `x` @y", zero, 2, 1, 1},
         {"more", zero, 2, 3, 1},
         {"other", zero, 2, 3, 1}},
        {{"huge", huge, 3, 128, 64}, {"steep", steep, 3, 512, 400}},
        {{"alone", alone, 1, 8, 0}},
    };
    static const size_t counts[] = {1, 3, 2, 1};
    const struct figure_place to = {base, "odd", NULL, AS("png")};
    struct error e;

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int rc = figure_ppl(&to, &(struct ppl_lines){rows[i], counts[i], "it's a title", "context"},
                            &e);

        if (rc != 0 || !exists(at("odd.png")))
            fail_msg("figure %zu: %d, %s", i, rc, rc ? e.text : "no picture");
    }
    assert_int_equal(figure_ppl(&to, &(struct ppl_lines){NULL, 0, "", ""}, &e), -1);
}

/* The points of the first line of a figure without their contexts, which are set aside a little;
 * the caller frees. */
static char *points_of(const char *path)
{
    char *script = slurp(path, NULL), *from = script ? strstr(script, "$line1 << EOD\n") : NULL,
         *to = from ? strstr(from, "\nEOD\n") : NULL;
    char *points = NULL, *line, *rest;
    size_t size;
    FILE *f = open_memstream(&points, &size);

    if (!to || !f)
        fail_msg("%s: no points", path);
    *to = 0;
    for (line = strtok_r(strchr(from, '\n'), "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        fprintf(f, "%s\n", strchr(line, ' '));
    fclose(f);
    free(script);
    return points;
}

/* Each bar of the first line ends inside the axis of the first panel. */
static void bars_are_inside(const char *path)
{
    char *script = slurp(path, NULL), *points = points_of(path), *line, *rest;
    double low, high, value, from, to;

    assert_non_null(script);
    assert_int_equal(sscanf(strstr(script, "set yrange ["), "set yrange [%lf:%lf]", &low, &high),
                     2);
    for (line = strtok_r(points, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_int_equal(sscanf(line, "%lf %lf %lf", &value, &from, &to), 3);
        if (!(low < from && from < value && value < to && to < high))
            fail_msg("%s: %g [%g, %g] on an axis from %g to %g", path, value, from, to, low, high);
    }
    free(points);
    free(script);
}

/* --gain: what gain.csv says follows from the NLLs of --per-token. */
static void gain_follows_from_the_targets(void **state)
{
    enum { CONTEXTS = 3, MOST = 64 };
    static const char *const protocols[] = {"last --segments 20", "sliding", "nonoverlapping"};
    struct csv_table gain, each;
    struct error e;

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        double nll[2][CONTEXTS][MOST];
        size_t count;

        succeed("ppl none window --text short --protocol %s --context 12,3,6 --gain --gain-within "
                "0.02 --quiet --force -o gain "
                "--per-token gain-each.csv --format svg",
                protocols[k]);
        if (csv_read(at("gain/gain.csv"), &gain, &e) != 0 ||
            csv_read(at("gain-each.csv"), &each, &e) != 0)
            fail_msg("%s", e.text);
        assert_int_equal(gain.rows, 2 * CONTEXTS);
        count = each.rows / gain.rows;
        assert_in_range(count, 3, MOST);
        for (size_t j = 0; j < CONTEXTS; j++)
            for (size_t m = 0; m < 2; m++)
                for (size_t i = 0; i < count; i++)
                    nll[m][j][i] = number(&each, (j * 2 + m) * count + i, "nll");
        for (size_t m = 0; m < 2; m++) {
            double enough = 0;

            for (size_t j = 0; j < CONTEXTS; j++) {
                size_t row = m * CONTEXTS + j, needed = 0;
                double pays = 0, rest = 0;

                for (size_t i = 0; i < count; i++) {
                    size_t first = 0;

                    pays += j ? nll[m][j - 1][i] - nll[m][j][i] : 0;
                    rest += nll[m][j][i] - nll[m][CONTEXTS - 1][i];
                    while (nll[m][first][i] > nll[m][CONTEXTS - 1][i] + 0.02)
                        first++;
                    needed += first == j;
                }
                enough += (double)needed / (double)count;
                assert_int_equal((size_t)number(&gain, row, "tokens"), count);
                assert_true(fabs(number(&gain, row, "needed") - (double)needed / (double)count) <
                            1e-12);
                assert_true(fabs(number(&gain, row, "enough") - enough) < 1e-12);
                if (j == 0)
                    assert_string_equal(cell(&gain, row, "gain"), "");
                else {
                    assert_true(fabs(number(&gain, row, "gain") - pays / (double)count) < 1e-12);
                    assert_true(number(&gain, row, "gain_lo") <= number(&gain, row, "gain") &&
                                number(&gain, row, "gain") <= number(&gain, row, "gain_hi"));
                }
                if (j == CONTEXTS - 1)
                    assert_string_equal(cell(&gain, row, "rest"), "");
                else
                    assert_true(fabs(number(&gain, row, "rest") - rest / (double)count) < 1e-12);
                if (*cell(&gain, row, "needed_median"))
                    assert_int_equal(number(&gain, row, "enough") >= 0.5,
                                     number(&gain, row, "needed_median") <= (double)(3 << j));
            }
        }
        succeed("plot gain/ppl.csv gain-each.csv -o gain-ratio --format svg --force");
        char *own = points_of(at("gain/ppl.gp")), *drawn_again = points_of(at("gain-ratio/ppl.gp"));
        assert_string_equal(
            own, drawn_again); /* perplexities over that at the reference, from the same pairs */
        assert_null(strstr(own, "NaN"));
        free(own);
        free(drawn_again);
        csv_table_free(&gain);
        csv_table_free(&each);
    }
    assert_true(exists(at("gain/gain.gp")));
    succeed("plot gain/gain.csv -o gain-plot --format svg");
    char *own = points_of(at("gain/gain.gp")), *drawn_again = points_of(at("gain-plot/gain.gp"));
    assert_string_equal(own, drawn_again); /* intervals of 62 targets too, but at the longest */
    assert_non_null(strstr(own, " 1 1 1\n"));
    free(own);
    free(drawn_again);
    bars_are_inside(at("gain/ppl.gp"));
    succeed(
        "ppl none --text short --context 3,6 --quiet --force -o gain --format svg"); /* what it had
                                                                                        before does
                                                                                        not stay */
    assert_false(exists(at("gain/gain.csv")) || exists(at("gain/gain.gp")) ||
                 exists(at("gain/gain.svg")));
    succeed(
        "ppl none --text short --context 62,12 --gain --quiet -o gain-one --format svg"); /* one
                                                                                             target:
                                                                                             no
                                                                                             intervals
                                                                                           */
    expect("ppl none --text short --gain-within 0.2", 2, "--gain-within is given without --gain");
    expect("ppl none --text short --context 8,0000000000000000000000000000016x", 2,
           "--context: \"0000");
    expect("ppl none --text short --context 8 --timing", 2,
           "--timing is given without -o (expected both, or neither)");
    expect("ppl none --text short --context 8 --format svg", 2, "--format is given without -o");
    expect("ppl none --text short --context 8 --per-token -", 2, "--per-token: \"-\" is not valid");
    expect("ppl none --text short --gain --context 8", 2,
           "--gain: compares several contexts, and one is given");
    expect("ppl window --text short --gain --protocol cached", 2,
           "--gain: compares several contexts");
    expect("ppl none --text short --gain --gain-within 0", 2, "--gain-within");
}

/* Of a model that the longest context makes worse nothing is told of what its targets need, and
 * nobody needs "no more than" the longest. */
static void worse_at_the_longest(void **state)
{
    static const struct {
        const char *model, *says, *median;
    } cases[] = {
        {"rotary", "rotary: the longest context makes it worse: the best is 128 tokens, not 512",
         ""},
        {"alibi", "alibi: half of the targets need no more than 128 tokens of context, more than a",
         "128"},
    };
    char examples[4096];

    (void)state;
    assert_non_null(realpath("examples", examples));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[9000];
        struct outcome o;
        struct csv_table t;
        char *page;

        snprintf(line, sizeof line,
                 "ppl %s/models/%s --text %s/text/moby-dick.txt.gz --context 128,512 "
                 "--segments 60 --gain --wide --force -o needs",
                 examples, cases[i].model, examples);
        o = reach(line);
        t = read_table(at("needs/gain.csv"));
        if (!strstr(o.out, cases[i].says))
            fail_msg("%s", o.out);
        assert_null(strstr(o.out, "no more than 512"));
        for (size_t row = 0; row < t.rows; row++)
            assert_string_equal(cell(&t, row, "needed_median"), cases[i].median);
        succeed("report needs --force");
        page = slurp(at("report.html"), NULL);
        if (!strstr(page, "<h2") || strstr(page, "no more than 512"))
            fail_msg("the report of %s says that none needs more than 512", cases[i].model);
        assert_non_null(strstr(page, cases[i].says));
        csv_table_free(&t);
        outcome_free(&o);
        free(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(per_token_is_what_the_table_averages),
        cmocka_unit_test(screen_and_files),
        cmocka_unit_test(cached_figure_counts_windows),
        cmocka_unit_test(odd_figures_are_drawn),
        cmocka_unit_test(gain_follows_from_the_targets),
        cmocka_unit_test(worse_at_the_longest),
    };
    return cmocka_run_group_tests_name("ppl", tests, ppl_inputs, program_close);
}
