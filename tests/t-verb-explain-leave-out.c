/* `reach explain --leave-out`: changes of log p against transformers in float64, which runs each
 * text as a whole (tests/goldens/explain/leave_out.py), and against runs of this program on the
 * shorter texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/formats/csv.h"
#include "tests/explain_inputs.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prompt[] = "I~found~Queequeg's~arm~thrown~over~me~in~the~most~loving";

static double value_of(const struct csv_table *t, size_t row, const char *column)
{
    const char *text = cell(t, row, column);

    return *text ? strtod(text, NULL) : NAN;
}

/* The units of one target, from `at_row` on, against the golden's of a question, from `from` on.
 * Returns the golden's row after them. */
static size_t compare(const struct csv_table *want, size_t from, const struct csv_table *got,
                      size_t at_row)
{
    const char *model = cell(want, from, "model"), *question = cell(want, from, "question");
    size_t i = from;

    at_row += !*cell(got, at_row, "change"); /* the beginning-of-text token, by itself */
    for (; i < want->rows && strcmp(cell(want, i, "model"), model) == 0 &&
           strcmp(cell(want, i, "question"), question) == 0;
         i++, at_row++) {
        char what[96];

        snprintf(what, sizeof what, "%s, %s, row %zu", model, question, i);
        if ((int)number(got, at_row, "position") > 1) /* a beginning-of-text token stays */
            assert_string_equal(cell(got, at_row, "position"), cell(want, i, "first"));
        assert_string_equal(cell(got, at_row, "last"), cell(want, i, "last"));
        assert_near(number(got, at_row, "change"), number(want, i, "change"), EXPLAIN_TOLERANCE,
                    what);
    }
    return i;
}

static void test_transformers(void **state)
{
    struct csv_table want = read_table("tests/goldens/explain/leave_out.csv"), got;

    (void)state;
    for (size_t i = 0; i < want.rows;) {
        const char *model = cell(&want, i, "model");

        succeed("explain %s/%s --prompt %s --answer ~and~affectionate --leave-out word --dtype f64 "
                "-o out --force --quiet",
                explain_saved, model, prompt);
        got = read_table(at("out/units.csv"));
        i = compare(&want, i, &got, 0);
        csv_table_free(&got);
        /* the two likeliest, which are then each other's contrast */
        succeed("explain %s/%s --prompt %s --targets 2 --leave-out word --dtype f64 -o out --force "
                "--quiet",
                explain_saved, model, prompt);
        got = read_table(at("out/units.csv"));
        i = compare(&want, i, &got, 0);
        succeed("explain %s/%s --prompt %s --target %s --against %s --leave-out word --dtype f64 "
                "-o out --force --quiet",
                explain_saved, model, prompt, cell(&got, 0, "target_id"),
                cell(&got, got.rows - 1, "target_id"));
        csv_table_free(&got);
        got = read_table(at("out/units.csv"));
        i = compare(&want, i, &got, 0);
        csv_table_free(&got);
    }
    csv_table_free(&want);
}

/* log p of a target after a text, whose blanks are `~`. */
static double logprob_after(const char *model, const char *text, const char *target,
                            const char *options)
{
    struct csv_table t;
    double value;

    succeed("explain %s --prompt %s --target %s --dtype f64 %s -o whole --force --quiet", model,
            text, target, options);
    t = read_table(at("whole/explain.csv"));
    value = number(&t, 0, "target_logprob");
    csv_table_free(&t);
    return value;
}

/* Each byte is a token, so a text without a part is the text that has only the others. */
static void check_parts(const char *model, const char *parts, const char *options)
{
    char text[256] = "", line[512];
    struct csv_table t;
    double whole;

    for (const char *from = parts; *from; from++)
        if (*from != '|')
            strncat(text, from, 1);
    whole = logprob_after(model, text, "x", options);
    succeed("explain %s --prompt %s --target x --dtype f64 --leave-out word %s -o out --force "
            "--quiet",
            model, text, options);
    t = read_table(at("out/units.csv"));
    for (size_t i = 0, first = 0; i < t.rows; i++) {
        size_t size = strcspn(parts + first + i, "|");
        char what[320];

        snprintf(line, sizeof line, "%.*s%s", (int)first, text, text + first + size);
        snprintf(what, sizeof what, "%s %s without part %zu", model, options, i + 1);
        assert_near(number(&t, i, "change"), logprob_after(model, line, "x", options) - whole,
                    EXPLAIN_TOLERANCE, what);
        first += size;
    }
    csv_table_free(&t);
}

static void test_shorter_texts(void **state)
{
    static const char *const options[] = {
        "",
        "--rope dynamic:factor=4,original=8", /* depends on the length: as a whole */
        "--rope linear:factor=2",
        "--window 5",
        "--window 5 --keep-first 2",
        "--logn --train-length 4",
        "--bias -t/L",
        "--bias alibi",
        "--positions none --bias alibi",
        "--memory 300K",
    };
    static const char parts[] = "one|~two|~three|~four|~five";

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        check_parts("rotary", parts, options[i]);
    check_parts("learned", parts, "");
}

/* An answer stays, also where it goes on with a word: each of its tokens has the same parts, and
 * their changes sum up to those of the whole. */
static void test_answer_stays(void **state)
{
    static const char *const without[] = {"~two~three", "one~three", "one~two", "one~two~three"};
    static const char answer[] = "xyz";
    struct csv_table t;
    size_t row = 3;
    double sum[3] = {0};

    (void)state;
    succeed("explain rotary --prompt one~two~three --answer %s --leave-out word --dtype f64 -o out "
            "--force --quiet",
            answer);
    t = read_table(at("out/units.csv"));
    assert_int_equal(t.rows, 3 + 3 + 4 + 4); /* of the sum and of each token */
    for (size_t k = 0; k < 3; k++) {
        char text[64], target[2] = {answer[k], 0};
        double whole;

        snprintf(text, sizeof text, "%s%.*s", without[3], (int)k, answer);
        whole = logprob_after("rotary", text, target, "");
        for (size_t i = 0; i < 3; i++, row++) {
            double change = number(&t, row, "change");

            snprintf(text, sizeof text, "%s%.*s", without[i], (int)k, answer);
            assert_near(change, logprob_after("rotary", text, target, "") - whole,
                        EXPLAIN_TOLERANCE, text);
            sum[i] += change;
        }
        if (k == 0)
            continue;
        assert_string_equal(cell(&t, row, "position"), "14");
        assert_string_equal(cell(&t, row, "change"), "");
        assert_string_equal(cell(&t, row++, "change_rank"), "");
    }
    for (size_t i = 0; i < 3; i++)
        assert_near(number(&t, i, "change"), sum[i], EXPLAIN_TOLERANCE, "the answer");
    csv_table_free(&t);
}

/* Spearman's correlation and ranks from the columns, where no two values are equal. */
static void test_ranks(void **state)
{
    struct csv_table t;
    double squares = 0;
    size_t n;

    (void)state;
    succeed("explain rotary --prompt one~two~three~four~five~six --leave-out word -o out --force "
            "--quiet");
    t = read_table(at("out/units.csv"));
    n = t.rows;
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        size_t above = 0, larger = 0;

        for (size_t k = 0; k < n; k++) {
            above += fabs(number(&t, k, "change")) > fabs(number(&t, i, "change"));
            larger += number(&t, k, "share") > number(&t, i, "share");
        }
        assert_int_equal((int)number(&t, i, "change_rank"), (int)above + 1);
        squares += ((double)above - (double)larger) * ((double)above - (double)larger);
    }
    for (size_t i = 0; i < n; i++)
        assert_near(number(&t, i, "rank_correlation"),
                    1 - 6 * squares / ((double)n * ((double)n * (double)n - 1)), 1e-12,
                    "rank correlation");
    csv_table_free(&t);
}

/* Changes of several targets, places and prompts are those of each by itself, to the last bit: only
 * beginnings are shared. */
static void test_together(void **state)
{
    static const char lines[] = "{\"prompt\":\"one two three\",\"target\":\"x\",\"id\":\"a\"}\n"
                                "{\"prompt\":\"single\",\"target\":\"x\"}\n"
                                "{\"prompt\":\"one two 4\",\"target\":\"y\",\"against\":\"x\"}\n";
    struct csv_table all, one;
    struct outcome o;
    json_t *line;
    char *text, *rest;

    (void)state;
    scratch_write(base, "lines", lines, strlen(lines));
    o = reach("explain rotary --prompts lines --leave-out word --dtype f64 -o all --force");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "1 of 3 texts are a single word, which is not left out"));
    outcome_free(&o);
    all = read_table(at("all/units.csv"));
    assert_int_equal(all.rows, 7);
    assert_string_equal(cell(&all, 3, "change"), "");
    assert_string_equal(cell(&all, 3, "change_rank"), "");
    for (size_t i = 0; i < 2; i++) {
        succeed("explain rotary --prompt one~two~%s --dtype f64 --leave-out word -o one --force "
                "--quiet",
                i ? "4 --target y --against x" : "three --target x");
        one = read_table(at("one/units.csv"));
        for (size_t k = 0; k < 3; k++)
            assert_near(number(&all, 4 * i + k, "change"), number(&one, k, "change"), 1e-12,
                        "prompts");
        csv_table_free(&one);
    }
    text = slurp(at("all/explain.jsonl"), NULL);
    line = json_loadb(text, strcspn(text, "\n"), 0, NULL);
    assert_non_null(line);
    assert_near(json_real_value(
                    json_object_get(json_array_get(json_object_get(line, "units"), 1), "change")),
                number(&all, 1, "change"), 0, "explain.jsonl");
    assert_near(json_real_value(json_object_get(line, "rank_correlation")),
                number(&all, 1, "rank_correlation"), 0, "explain.jsonl");
    json_decref(line);
    rest = strchr(text, '\n') + 1;
    assert_non_null(strstr(rest, "\"change\": null"));
    free(text);
    csv_table_free(&all);

    scratch_write(base, "text", "one two three four five", 23);
    succeed("explain rotary --text text --target-position 8,14,20 --dtype f64 --leave-out word -o "
            "all --force --quiet");
    all = read_table(at("all/units.csv"));
    for (size_t i = 0, row = 0; i < 3; i++) {
        succeed("explain rotary --text text --target-position %d --dtype f64 --leave-out word -o "
                "one --force --quiet",
                8 + 6 * (int)i);
        one = read_table(at("one/units.csv"));
        for (size_t k = 0; k < one.rows; k++)
            assert_near(number(&all, row++, "change"), number(&one, k, "change"), 1e-12, "places");
        csv_table_free(&one);
    }
    csv_table_free(&all);
}

/* The screen, the page and the document say it. */
static void test_shown(void **state)
{
    struct csv_table t;
    struct outcome o;
    json_t *document;
    char *page, change[40];
    size_t top = 0;

    (void)state;
    setenv("COLUMNS", "100", 1);
    o = reach("explain rotary --prompt one~two~three~four --leave-out word -o out --force --quiet");
    unsetenv("COLUMNS");
    assert_int_equal(o.status, 0);
    t = read_table(at("out/units.csv"));
    while ((int)number(&t, top, "change_rank") != 1)
        top++;
    snprintf(change, sizeof change, "%+.4f", number(&t, top, "change"));
    for (char *c = strchr(o.out, '\n'); c; c = strchr(c, '\n')) /* lines break at any word */
        *c = ' ';
    assert_non_null(strstr(o.out, "Of all words left out one at a time, \""));
    assert_non_null(strstr(o.out, "rank correlation (Spearman) of "));
    assert_non_null(strstr(o.out, " change "));
    assert_non_null(strstr(strstr(o.out, " change "), change));
    outcome_free(&o);
    page = slurp(at("out/explain.html"), NULL);
    assert_non_null(strstr(page, "The words with the largest changes of log p when left out"));
    assert_non_null(strstr(page, change));
    assert_non_null(strstr(page, "],\"change\":["));
    free(page);
    o = reach("explain rotary --prompt one~two~three~four --leave-out word --json --quiet");
    document = json_loads(o.out, 0, NULL);
    assert_non_null(document);
    assert_near(json_real_value(
                    json_object_get(json_array_get(json_object_get(document, "units"), top),
                                    "change")),
                value_of(&t, top, "change"), 0, "--json");
    json_decref(document);
    outcome_free(&o);
    csv_table_free(&t);
}

static void test_refused(void **state)
{
    (void)state;
    expect("explain rotary --prompt single --leave-out word --quiet", 1,
           "rotary: --leave-out word: the text is a single word (expected two or more)");
    expect("explain rotary --prompt a~b --leave-out token", 2, "--leave-out");
    expect("explain rotary --prompt a~b --leave-out word --by line", 2,
           "--by line is given with --leave-out word (expected the same, or no --by");
    expect("explain no-texts --tokens ids.npy --leave-out word --quiet", 1,
           "its tokens have no texts, because it has no tokenizer");
    expect("explain erf --segment 1 --leave-out word", 2, "--leave-out");
    succeed("explain rotary --prompt a~b --leave-out word --by word --quiet");
}

static int setup(void **state)
{
    const struct tiny rotary = {.seed = 3, .settings = "\"position\": {\"kind\": \"rotary\"},"},
                      learned = {.seed = 4, .learned = 40};

    return explain_inputs(state) != 0 || tiny_checkpoint(at("rotary"), &rotary) != 0 ||
                   tiny_checkpoint(at("learned"), &learned) != 0
               ? -1
               : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transformers),
                                       cmocka_unit_test(test_shorter_texts),
                                       cmocka_unit_test(test_answer_stays),
                                       cmocka_unit_test(test_ranks),
                                       cmocka_unit_test(test_together),
                                       cmocka_unit_test(test_shown),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, setup, explain_inputs_free);
}
