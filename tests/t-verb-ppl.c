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
                    ppl_goldens, models[0], ppl_goldens, models[1], ppl_goldens, models[2],
                    ppl_goldens, models[3], ppl_goldens, calls[c].protocol, calls[c].options,
                    wide ? "f64" : "f32");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage_exits_2),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(numbers_are_those_of_the_oracle),
        cmocka_unit_test(differences_are_paired),
        cmocka_unit_test(last_is_the_target_of_erf),
        cmocka_unit_test(rows_are_streams),
        cmocka_unit_test(equal_runs_give_equal_bytes),
        cmocka_unit_test(interrupted_leaves_nothing),
    };
    return cmocka_run_group_tests_name("ppl", tests, ppl_inputs, program_close);
}
