/* `reach ppl` as a user meets it: numbers against the float64 PyTorch loop of tests/goldens/ppl,
 * tables, files, refusals; and its figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/ppl.h"
#include "io/formats/csv.h"
#include "plots/ppl.h"
#include "tests/golden.h"
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

static char goldens[4096]; /* tests/goldens, from the root */

/* The table of BASE/FOLDER/ppl.csv; csv_table_free. */
static struct csv_table read_ppl(const char *folder)
{
    return read_table(at("%s/ppl.csv", folder));
}

static void wrong_usage_exits_2(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"ppl", "no MODEL"},
        {"ppl none", "no text is given"},
        {"ppl none --text text --tokens rows.npy", "both given"},
        {"ppl none --text text --protocol first", "last, nonoverlapping, sliding or cached"},
        {"ppl none --text text --context 0", "--context"},
        {"ppl none --text text --context 64,", "--context"},
        {"ppl none --text text --context 64,,32", "--context"},
        {"ppl none --text text --context 64x", "--context"},
        {"ppl none --text text --context 99999999999999999999999999999999999999999999",
         "--context"},
        {"ppl none --text text --protocol cached --window 4 --stride 4",
         "--protocol sliding and last"},
        {"ppl none --text text --protocol nonoverlapping --stride 4",
         "--protocol sliding and last"},
        {"ppl none --text text --protocol sliding --context 8,4 --stride 5", "would not be scored"},
        {"ppl none --text text --protocol sliding --stride 0", "--stride"},
        {"ppl none --text text --protocol nonoverlapping --segments 4", "--protocol last"},
        {"ppl none --text text --protocol cached --context 4", "--window"},
        {"ppl none --text text --protocol cached --window 0", "--window"},
        {"ppl none --text text --bias 2+", "character"},
        {"ppl none --text text --positions all", "--positions"},
        {"ppl none --text text --format gif", "png"},
        {"ppl a=none a=window --text text", "given twice"},
        {"ppl none --text text --frobnicate", "unknown option"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].line, 2, rows[i].said);
}

static void bad_input_is_named(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"ppl nowhere --text text", "nowhere"},
        {"ppl none --text absent", "absent"},
        {"ppl none --text short --context 64", "expected at least 65"},
        {"ppl none --text short --context 64 --protocol nonoverlapping", "expected at least 65"},
        {"ppl none --tokens rows.npy --context 64", "64 tokens a row"},
        {"ppl none --tokens outside.npy --protocol sliding --context 8", "id 256 at index 7"},
        {"ppl none --tokens outside.npy --context 8 --segments 30", "id 256"},
        {"ppl learned --text text --context 16,33", "--context 32 at most"},
        {"ppl learned --text text --protocol cached --window 4", "learned positions"},
        {"ppl none --text text --protocol cached", "--window N"},
        {"ppl none --text text --protocol cached --window 4 --bias -t/L", "length L"},
        {"ppl none --text text --context 8 -o text", "text"},
        {"ppl none --text text --context 4096 --memory 2M", "may be used"},
        {"ppl spoiled --text text --context 8 --quiet -o bad",
         "the output of layer 2 of 2 is the first that is not finite"},
        {"ppl spoiled --text text --protocol nonoverlapping --context 8 --quiet",
         "the first that token 2:"},
        {"ppl spoiled --text short --protocol cached --window 4 --quiet", "62 of 62 targets"},
        {"ppl none --text text --context 8 --device cuda:77", "--device cuda:77"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].line, 1, rows[i].said);
    assert_false(exists(at("bad"))); /* a folder that was made for nothing */
}

/* Every golden case whose context is among those of one call. */
static void numbers_are_those_of_the_oracle(void **state)
{
    static const struct {
        const char *protocol, *options;
    } calls[] = {
        {"last", "--segments 3 --context 16,1,5"},
        {"nonoverlapping", "--context 1,11,52"},
        {"sliding", "--context 11 --stride 4"},
        {"sliding", "--context 52 --stride 9"},
        {"cached", "--window 6"},
        {"cached", "--window 60"},
    };
    static const char *const models[] = {"own-alibi", "own-rotary-half", "own-sinusoidal",
                                         "own-window-list"};
    struct csv_table cases;
    struct error e;
    size_t compared = 0;

    (void)state;
    if (csv_read("tests/goldens/ppl/cases.csv", &cases, &e) != 0)
        fail_msg("%s", e.text);
    size_t last = cases.rows - 1,
           values = (size_t)(number(&cases, last, "first") + number(&cases, last, "count"));
    double *logprob = golden_read_f64("tests/goldens/ppl/logprob.npy", values);
    for (int wide = 0; wide < 2; wide++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            struct csv_table t;

            succeed("ppl %s/%s %s/%s %s/%s %s/%s --tokens %s/ppl/tokens.npy --protocol %s %s "
                    "--dtype %s --quiet --force -o golden",
                    goldens, models[0], goldens, models[1], goldens, models[2], goldens, models[3],
                    goldens, calls[c].protocol, calls[c].options, wide ? "f64" : "f32");
            t = read_ppl("golden");
            for (size_t i = 0; i < t.rows; i++) {
                size_t j = 0, first, count;
                double sum = 0, nll = number(&t, i, "nll"), tolerance = wide ? 1e-9 : 1e-5;

                assert_string_equal(cell(&t, i, "protocol"), calls[c].protocol);
                while (j < cases.rows &&
                       (strcmp(strrchr(cell(&cases, j, "checkpoint"), '/') + 1,
                               cell(&t, i, "model")) ||
                        strcmp(cell(&cases, j, "protocol"), calls[c].protocol) ||
                        strcmp(cell(&cases, j, "context"), cell(&t, i, "context")) ||
                        strcmp(cell(&cases, j, "stride"), cell(&t, i, "stride")) ||
                        (*cell(&cases, j, "window") &&
                         strcmp(cell(&cases, j, "window"), cell(&t, i, "window")))))
                    j++;
                if (j == cases.rows)
                    fail_msg("%s %s: row %zu has no golden case", calls[c].protocol,
                             calls[c].options, i);
                first = (size_t)number(&cases, j, "first"),
                count = (size_t)number(&cases, j, "count");
                for (size_t k = 0; k < count; k++)
                    sum -= logprob[first + k];
                if ((size_t)number(&t, i, "tokens") != count ||
                    !(fabs(nll - sum / (double)count) <= tolerance) ||
                    !(fabs(number(&t, i, "ppl") - exp(nll)) <= 1e-12 * exp(nll)))
                    fail_msg("%s %s, %s, context %s: %s targets, NLL %.12g, expected %zu and %.12g",
                             cell(&t, i, "model"), calls[c].protocol, wide ? "f64" : "f32",
                             cell(&t, i, "context"), cell(&t, i, "tokens"), nll, count,
                             sum / (double)count);
                compared++;
            }
            csv_table_free(&t);
        }
    assert_int_equal(compared, 2 * (3 + 3 + 1 + 1 + 1 + 1) * 4);
    free(logprob);
    csv_table_free(&cases);
}

/* The header is a contract; the first model has no difference, a model has none to itself, and
 * others' is that of the means. */
static void differences_are_paired(void **state)
{
    struct csv_table t;
    char *text;

    (void)state;
    succeed(
        "ppl none again=none window --text text --context 4,12 --segments 40 --quiet -o paired");
    text = slurp(at("paired/ppl.csv"), NULL);
    assert_non_null(strstr(text, "\nmodel,protocol,context,stride,tokens,nll,std_error,ppl,window,"
                                 "seconds_per_token,diff,diff_se,p,bytes,characters,words,"
                                 "bits_per_byte,character_ppl,word_ppl\n"));
    assert_int_equal(strncmp(text, "# reach ", 8), 0);
    assert_non_null(strstr(text, "\n# command: reach ppl none again=none window --text text "
                                 "--protocol last --context 4,12 --segments 40\n"));
    free(text);
    t = read_ppl("paired");
    assert_int_equal(t.rows, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(cell(&t, i, "model"), i < 2 ? "none" : i < 4 ? "again" : "window");
        assert_string_equal(cell(&t, i, "context"), i % 2 ? "12" : "4");
        assert_string_equal(cell(&t, i, "stride"), "");
        assert_string_equal(cell(&t, i, "tokens"), "40");
        assert_string_equal(cell(&t, i, "window"), i < 4 ? "" : "5");
        assert_string_equal(cell(&t, i, "seconds_per_token"), "");
        if (i < 2) {
            assert_string_equal(cell(&t, i, "diff"), "");
            assert_string_equal(cell(&t, i, "diff_se"), "");
            assert_string_equal(cell(&t, i, "p"), "");
            continue;
        }
        double difference = number(&t, i, "nll") - number(&t, i % 2, "nll"), p = number(&t, i, "p");
        if (!(fabs(number(&t, i, "diff") - difference) <= 1e-12))
            fail_msg("row %zu: diff %s, the means differ by %.12g", i, cell(&t, i, "diff"),
                     difference);
        if (i < 4 ? number(&t, i, "diff_se") != 0 || p != 1
                  : !(number(&t, i, "diff_se") > 0 && p > 0 && p < 1))
            fail_msg("row %zu: diff_se %s, p %s", i, cell(&t, i, "diff_se"), cell(&t, i, "p"));
    }
    csv_table_free(&t);
}

/* The last token of a segment has the log p that `reach erf` finds for its target. */
static void last_is_the_target_of_erf(void **state)
{
    struct csv_table t, erf;
    struct error e;

    (void)state;
    succeed("ppl none window --text text --context 40 --segments 25 --quiet --force -o last");
    succeed("erf none window --text text --length 41 --segments 25 --quiet --force --bootstrap 0 "
            "-o last-erf");
    t = read_ppl("last");
    if (csv_read(at("last-erf/summary.csv"), &erf, &e) != 0)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < erf.rows; i++) {
        size_t row = strcmp(cell(&erf, i, "model"), "none") != 0;

        if (!(fabs(number(&erf, i, "mean_logprob") + number(&t, row, "nll")) <= 1e-6))
            fail_msg("%s: NLL %s, mean log p of reach erf %s", cell(&erf, i, "model"),
                     cell(&t, row, "nll"), cell(&erf, i, "mean_logprob"));
    }
    csv_table_free(&erf);
    csv_table_free(&t);
}

/* Each row of a table is a stream of its own: the mean over all is that of the rows' means, for
 * every protocol. */
static void rows_are_streams(void **state)
{
    static const char *const calls[] = {"--protocol nonoverlapping --context 9",
                                        "--protocol sliding --context 9 --stride 2",
                                        "--protocol cached --window 3"};

    (void)state;
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        double sum = 0;
        struct csv_table t;

        for (int i = 0; i < 4; i++) {
            succeed("ppl none --tokens row-%d.npy %s --quiet --force -o row", i, calls[c]);
            t = read_ppl("row");
            assert_string_equal(cell(&t, 0, "tokens"), "63");
            sum += number(&t, 0, "nll");
            csv_table_free(&t);
        }
        succeed("ppl none --tokens rows.npy %s --quiet --force -o row", calls[c]);
        t = read_ppl("row");
        assert_string_equal(cell(&t, 0, "tokens"), "252");
        if (!(fabs(number(&t, 0, "nll") - sum / 4) <= 1e-6))
            fail_msg("%s: NLL %s, of the rows alone %.9g", calls[c], cell(&t, 0, "nll"), sum / 4);
        csv_table_free(&t);
    }
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

static void assert_same_csv(const char *a, const char *b)
{
    char *one = slurp(at("%s/ppl.csv", a), NULL), *two = slurp(at("%s/ppl.csv", b), NULL);

    assert_non_null(one);
    assert_non_null(two);
    if (strcmp(one, two) != 0)
        fail_msg("%s and %s differ:\n%s\n%s", a, b, one, two);
    free(one);
    free(two);
}

static void equal_runs_give_equal_bytes(void **state)
{
    static const char *const calls[] = {"--context 30,7 --segments 50",
                                        "--protocol nonoverlapping --context 33",
                                        "--protocol sliding --context 20",
                                        "--protocol cached --window 5"};

    (void)state;
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        succeed("ppl window none --text middle %s --quiet --force --threads 1 -o same-1", calls[c]);
        succeed("ppl window none --text middle %s --quiet --force --threads 4 -o same-2", calls[c]);
        assert_same_csv("same-1", "same-2");
        succeed("ppl window none --text middle %s --quiet --force --memory 7M -o same-2",
                calls[c]); /* smaller batches */
        assert_same_csv("same-1", "same-2");
    }
    succeed("ppl none --text middle --context 8 --segments 9 --timing --quiet --force -o same-1");
    struct csv_table t = read_ppl("same-1");
    if (!(number(&t, 0, "seconds_per_token") > 0))
        fail_msg("--timing: %s seconds a token", cell(&t, 0, "seconds_per_token"));
    csv_table_free(&t);
}

static void screen_and_files(void **state)
{
    struct outcome o = reach(
        "ppl none window --text middle --context 8,4 --segments 9 --train-length 6");

    (void)state;
    assert_int_equal(o.status, 0);
    assert_int_equal(strncmp(o.out, "model ", 6), 0);
    assert_int_equal(lines(o.out), 5 + 2 + 3 + 7 + 2);
    assert_non_null(strstr(o.out, "time/token"));
    assert_non_null(strstr(o.out, "paired over the same targets"));
    assert_non_null(strstr(o.out, "PPL/word"));
    assert_non_null(strstr(o.out, "9 segments of 9 tokens"));
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
    o = finish(
        start("ppl none --text middle --context 8 --segments 9 -o bare --quiet", "/nonexistent"));
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

/* The folder is made, and signals are watched. */
static int is_begun(const struct system_call *c, void *unused)
{
    (void)unused;
    return c->made && c->number == SYS_rt_sigaction && exists(at("long"));
}

static void interrupted_leaves_nothing(void **state)
{
    struct outcome o = end_at("ppl none --text text --protocol sliding --context 64 --stride 1 "
                              "--dtype f64 --quiet -o long",
                              SIGINT, is_begun, NULL);

    (void)state;
    if (o.status != 1 || lines(o.err) != 1 || !strstr(o.err, "interrupted") || *o.out)
        fail_msg("exit %d, stderr: %s, stdout: %s", o.status, o.err, o.out);
    outcome_free(&o);
    assert_false(exists(at("long")));
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
    assert_true(exists(at("gain-plot/gain.gp")));
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

static int make_inputs(void **state)
{
    static const struct {
        const char *name;
        struct tiny shape;
    } models[] = {
        {"none", {.seed = 1}},
        {"window", {.seed = 2, .settings = "\"window\": 5, \"train_length\": 16,"}},
        {"learned", {.seed = 3, .learned = 32}},
        {"spoiled", {.seed = 6, .spoiled = "layers.1.mlp.down.bias"}},
    };
    int32_t ids[256];
    char *text;

    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens", goldens))
        return -1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (tiny_checkpoint(at("%s", models[i].name), &models[i].shape) != 0)
            return -1;
    if (tiny_text(at("text"), 40000, 7) != 0 || tiny_text(at("short"), 63, 8) != 0 ||
        tiny_text(at("middle"), 700, 9) != 0 || !(text = slurp(at("text"), NULL)))
        return -1;
    for (int i = 0; i < 256; i++)
        ids[i] = (unsigned char)text[i];
    free(text);
    if (tiny_npy(at("rows.npy"), ids, 4, 64) != 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if (tiny_npy(at("row-%d.npy", i), ids + 64 * i, 0, 64) != 0)
            return -1;
    ids[7] = 256;
    return tiny_npy(at("outside.npy"), ids, 0, 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage_exits_2),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(numbers_are_those_of_the_oracle),
        cmocka_unit_test(differences_are_paired),
        cmocka_unit_test(last_is_the_target_of_erf),
        cmocka_unit_test(rows_are_streams),
        cmocka_unit_test(per_token_is_what_the_table_averages),
        cmocka_unit_test(equal_runs_give_equal_bytes),
        cmocka_unit_test(screen_and_files),
        cmocka_unit_test(cached_figure_counts_windows),
        cmocka_unit_test(interrupted_leaves_nothing),
        cmocka_unit_test(odd_figures_are_drawn),
        cmocka_unit_test(gain_follows_from_the_targets),
    };
    return cmocka_run_group_tests_name("ppl", tests, make_inputs, program_close);
}
