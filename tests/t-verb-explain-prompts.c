/* What `reach explain` is asked about each text of a file of prompts, answers among them: as by
 * itself, and against transformers in float64 (tests/goldens/explain/questions.py). */
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

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* In a file of prompts, beside others, each is what it is by itself; of one token there is no sum.
 */
static void test_answers(void **state)
{
    static const char file[] = "{\"prompt\": \"abcde\", \"answer\": \"fgh\"}\n"
                               "{\"prompt\": \"a\"}\n"
                               "{\"prompt\": \"abcd\", \"answer\": \"xy\", \"id\": \"z\"}\n"
                               "{\"prompt\": \"vwxyz\", \"answer\": \"abc\"}\n"
                               "{\"prompt\": \"abcd\", \"answer\": \"e\"}\n";
    struct csv_table all, one;
    char *text;
    json_t *line;

    (void)state;
    scratch_write(base, "prompts", file, sizeof file - 1);
    succeed("explain bytes --prompts prompts --by word -o many --force --quiet");
    all = read_table(at("many/explain.csv"));
    assert_int_equal(all.rows, (5 + 5 + 6 + 7) + 1 + (4 + 4 + 5) + (5 + 5 + 6 + 7) + 4);
    succeed("explain bytes --prompt vwxyz --answer abc -o one --force --quiet");
    one = read_table(at("one/explain.csv"));
    assert_int_equal(one.rows, 5 + 5 + 6 + 7);
    for (size_t i = 0; i < one.rows; i++) {
        assert_string_equal(cell(&one, i, "norm"), cell(&all, 37 + i, "norm"));
        assert_string_equal(cell(&one, i, "target_logprob"), cell(&all, 37 + i, "target_logprob"));
    }
    assert_string_equal(cell(&one, 0, "target_id"), "-1");
    assert_near(number(&one, 0, "target_logprob"),
                number(&one, 5, "target_logprob") + number(&one, 10, "target_logprob") +
                    number(&one, 16, "target_logprob"),
                1e-6, "the sum of log p");
    text = slurp(at("many/explain.jsonl"), NULL);
    line = json_loads(strtok(text, "\n"), 0, NULL);
    assert_string_equal(json_string_value(
                            json_object_get(json_object_get(line, "target"), "token")),
                        "fgh");
    assert_true(json_is_null(json_object_get(json_object_get(line, "target"), "id")));
    json_decref(line);
    free(text);
    csv_table_free(&all);
    csv_table_free(&one);
}

static void near_json(const json_t *got, const char *expected)
{
    assert_true(json_is_number(got));
    assert_true(json_number_value(got) == strtod(expected, NULL));
}

/* A prediction of a line: an id with log p. */
static void check_prediction(const json_t *one, size_t row)
{
    assert_int_equal(json_integer_value(json_object_get(one, "id")),
                     (int)number(&explain_want, row, "id"));
    assert_near(json_number_value(json_object_get(one, "logprob")),
                number(&explain_want, row, "value"), EXPLAIN_TOLERANCE, "log p");
}

/* Line `asked` of explain.jsonl, and the rows of explain.csv from `first` on. */
static void check_line(const json_t *line, const struct csv_table *rows, size_t first, size_t model,
                       int asked)
{
    const json_t *id = json_object_get(explain_question[asked - 1], "id"),
                 *ids = json_object_get(line, "ids");
    const char *name = explain_models[model];
    size_t i = 0;

    assert_true(id ? json_equal(id, json_object_get(line, "id"))
                   : json_integer_value(json_object_get(line, "id")) == asked);
    assert_string_equal(json_string_value(json_object_get(line, "model")), name);
    assert_true(explain_row(&i, name, asked, "target"));
    check_prediction(json_object_get(line, "target"), i - 1);
    i = 0;
    if (explain_row(&i, name, asked, "against"))
        check_prediction(json_object_get(line, "against"), i - 1);
    else
        assert_null(json_object_get(line, "against"));
    i = 0;
    for (size_t k = 0; explain_row(&i, name, asked, "other"); k++)
        check_prediction(json_array_get(json_object_get(line, "alternatives"), k), i - 1);
    for (size_t k = 0; k < json_array_size(ids); k++) {
        assert_int_equal(json_integer_value(json_array_get(ids, k)),
                         (int)number(rows, first + k, "id"));
        assert_string_equal(json_string_value(json_array_get(json_object_get(line, "tokens"), k)),
                            cell(rows, first + k, "piece"));
        near_json(json_array_get(json_object_get(line, "norms"), k), cell(rows, first + k, "norm"));
        near_json(json_array_get(json_object_get(line, "shares"), k),
                  cell(rows, first + k, "share"));
    }
}

static void test_prompts(void **state)
{
    (void)state;
    for (size_t m = 0; m < EXPLAIN_MODELS; m++) {
        char *lines;
        struct csv_table rows;
        size_t row = 0, line = 0;

        succeed("explain %s/%s --prompts %s/../explain/questions.jsonl --dtype f64 -o many --force "
                "--quiet",
                explain_saved, explain_models[m], explain_saved);
        rows = read_table(at("many/explain.csv"));
        lines = slurp(at("many/explain.jsonl"), NULL);
        for (char *one = strtok(lines, "\n"); one; one = strtok(NULL, "\n")) {
            json_t *parsed = json_loads(one, JSON_REJECT_DUPLICATES, NULL);
            size_t from = 0, first = row;

            assert_non_null(parsed);
            assert_explained(&rows, &row, &from, m, (int)++line);
            check_line(parsed, &rows, first, m, (int)line);
            assert_int_equal(json_array_size(json_object_get(parsed, "norms")), row - first);
            json_decref(parsed);
        }
        assert_int_equal(line, explain_question_count);
        assert_int_equal(row, rows.rows);
        free(lines);
        csv_table_free(&rows);
    }
}

/* In batches of several lengths, with an engine that is fitted to each, every number is that of a
 * run of one prompt. */
static void test_prompts_as_one(void **state)
{
    static const char *const prompts[] = {"abcde",   "a",  "hello~there", "tt",    "vwxyz",
                                          "one.two", "ab", "12345",       "x~y~z", "q"};
    static const char *const options[] = {"",
                                          "--attribution inputxgrad",
                                          "--attribution ig",
                                          "--attribution smoothgrad --seed 3",
                                          "--against a",
                                          "--window 3 --targets 3"};
    char file[1024] = "";

    (void)state;
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        size_t used = strlen(file);

        snprintf(file + used, sizeof file - used, "{\"prompt\": \"%s\"%s}\n", prompts[i],
                 i % 3 == 1 && i < 7 ? ", \"against\": \"b\"" : "");
        for (char *tilde = file + used; (tilde = strchr(tilde, '~'));)
            *tilde = ' ';
    }
    scratch_write(base, "prompts", file, strlen(file));
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        struct csv_table all;
        size_t row = 0;

        succeed("explain bytes --prompts prompts -o many --force --quiet %s", options[o]);
        all = read_table(at("many/explain.csv"));
        for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
            const char *own = i % 3 == 1 && i < 7 ? "--against b" : "", *rest = options[o];
            struct csv_table one;

            if (*own && strncmp(rest, "--against", 9) == 0)
                rest = "";
            succeed("explain bytes --prompt %s -o one --force --quiet %s %s", prompts[i], own,
                    rest);
            one = read_table(at("one/explain.csv"));
            for (size_t k = 0; k < one.rows; k++, row++)
                for (size_t c = 0; c < one.columns; c++)
                    if (strcmp(one.header[c], "prompt") != 0)
                        assert_string_equal(one.cell[k * one.columns + c],
                                            all.cell[row * all.columns + c]);
            csv_table_free(&one);
        }
        assert_int_equal(row, all.rows);
        csv_table_free(&all);
    }
}

/* Every answer of several tokens has the id -1 and its text, in each file and document. */
static void test_two_answers(void **state)
{
    static const char file[] = "{\"prompt\": \"ab\", \"answer\": \"cd\"}\n"
                               "{\"prompt\": \"ab\", \"answer\": \"e\\\\f\"}\n";
    static const char *const texts[] = {"cd", "c", "d", "e\\\\f", "e", "\\\\", "f"};
    struct outcome o;
    json_t *all, *targets;

    (void)state;
    scratch_write(base, "two", file, sizeof file - 1);
    o = reach("explain bytes --prompts two --by word -o two-answers --json --quiet");
    assert_int_equal(o.status, 0);
    all = json_loads(o.out, 0, NULL);
    targets = json_object_get(all, "targets");
    assert_int_equal(json_array_size(targets), 7);
    for (size_t i = 0; i < 7; i++) {
        const json_t *one = json_array_get(targets, i);
        json_int_t id = json_integer_value(json_object_get(one, "id"));

        assert_true(i % 3 == 0 && i < 6 ? id == -1 : id >= 0);
        assert_string_equal(json_string_value(json_object_get(one, "text")), texts[i]);
    }
    for (int units = 0; units < 2; units++) {
        struct csv_table t = read_table(
            at(units ? "two-answers/units.csv" : "two-answers/explain.csv"));
        size_t id = (size_t)csv_column(&t, "target_id"), text = (size_t)csv_column(&t, "target");
        size_t at_text = 0;

        for (size_t k = 0; k < t.rows; k++) {
            const char *const *row = (const char *const *)&t.cell[k * t.columns];

            if (strcmp(row[text], texts[at_text]) != 0)
                at_text++;
            assert_string_equal(row[text], texts[at_text]);
            assert_int_equal(strcmp(row[id], "-1") == 0, at_text % 3 == 0 && at_text < 6);
        }
        assert_int_equal(at_text, 6);
        csv_table_free(&t);
    }
    json_decref(all);
    outcome_free(&o);
}

static void test_bad_lines(void **state)
{
    static const struct {
        const char *second, *said;
    } cases[] = {
        {"{\"prompt\": \"a\",}", "prompts: line 2 is not valid JSON"},
        {"[1]", "prompts: line 2 is not a JSON object"},
        {"{\"prompt\": 3}", "prompts: line 2: the value of prompt is not valid"},
        {"{\"target\": \"a\"}", "prompts: line 2: has neither a prompt nor a text"},
        {"{\"prompt\": \"a\", \"text\": \"b\"}", "prompts: line 2: has both a prompt and a text"},
        {"{\"prompt\": \"a\", \"target\": -1}",
         "prompts: line 2: the value of target is not valid"},
        {"{\"prompt\": \"a\", \"target\": 256}",
         "prompts: line 2: target 256 is not in its vocabulary (expected an id from 0 to 255)"},
        {"{\"prompt\": \"a\", \"target\": 4294967296}",
         "prompts: line 2: target 4294967296 is not an id"},
        {"{\"prompt\": \"a\", \"target\": \"12\"}",
         "prompts: line 2: the text 12 of target is not a token"},
        {"{\"prompt\": \"a\", \"target\": \"bc\"}", "prompts: line 2: "},
        {"{\"prompt\": \"a\", \"target\": \"b\", \"against\": \"b\"}",
         "prompts: line 2: against b is the target itself"},
        {"{\"text\": \"a\"}", "prompts: line 2: has one token (expected at least 2 tokens"},
        {"{\"prompt\": \"a\", \"prompt\": \"b\"}", "prompts: line 2 is not valid JSON"},
        {"{\"prompt\": \"a\xff\"}", "prompts: line 2 is not UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[256];

        snprintf(file, sizeof file, "{\"prompt\": \"x\"}\n%s\n", cases[i].second);
        scratch_write(base, "prompts", file, strlen(file));
        expect("explain bytes --prompts prompts --quiet -o bad", 1, cases[i].said);
        assert_false(exists(at("bad")));
    }
    scratch_write(base, "prompts", "\n\n", 2);
    expect("explain bytes --prompts prompts --quiet", 1, "prompts: has no lines");
    expect("explain bytes --prompts prompts --prompt x", 2,
           "--prompts and --prompt are both given");
    expect("explain bytes --prompts prompts --target-position 3", 2,
           "--prompts and --target-position are both given");
}

/* A digit that is a text is not an id; empty lines count, and other members are told once. */
static void test_members(void **state)
{
    static const char file[] = "\n{\"prompt\": \"a\", \"target\": \"1\", \"note\": 1}\r\n \n"
                               "{\"prompt\": \"a\", \"target\": 1, \"note\": 2, \"id\": null}";
    struct csv_table t;
    struct outcome o;

    (void)state;
    scratch_write(base, "prompts", file, sizeof file - 1);
    o = reach("explain bytes --prompts prompts -o members --force");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "prompts: line 2: note is not used"));
    assert_null(strstr(o.err, "line 4: note"));
    assert_non_null(strstr(o.err, "2 targets in "));
    outcome_free(&o);
    t = read_table(at("members/explain.csv"));
    assert_int_equal(t.rows, 2);
    assert_string_equal(cell(&t, 0, "target_id"), "49");
    assert_string_equal(cell(&t, 0, "prompt"), "2");
    assert_string_equal(cell(&t, 1, "target_id"), "1");
    assert_string_equal(cell(&t, 1, "prompt"), "4");
    csv_table_free(&t);
}

/* A member that is nearly one of ours is refused, however many others there are. */
static void test_misspelt_members(void **state)
{
    static const char *const cases[][2] = {
        {"{\"prompt\": \"a\", \"taget\": \"b\"}",
         "prompts: line 1: unknown member taget (did you mean target?)"},
        {"{\"promt\": \"a\"}", "prompts: line 1: unknown member promt (did you mean prompt?)"},
        {"{\"prompt\": \"a\", \"Answer\": \"c\", \"idx\": 4}",
         "prompts: line 1: unknown member Answer (did you mean answer?)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write(base, "prompts", cases[i][0], strlen(cases[i][0]));
        expect("explain bytes --prompts prompts", 1, cases[i][1]);
    }
    static const char others[] = "{\"prompt\": \"a\", \"idx\": 4, \"test\": 1, \"next\": 2, "
                                 "\"answer\": \"c\", \"answers\": 3}\n";
    scratch_write(base, "prompts", others, sizeof others - 1);
    succeed("explain bytes --prompts prompts --quiet");
}

static int at_fsync(const struct system_call *c, void *unused)
{
    (void)unused;
    return c->number == SYS_fsync || c->number == SYS_fdatasync;
}

static void test_interrupted(void **state)
{
    struct outcome o;

    (void)state;
    scratch_write(base, "prompts", "{\"prompt\": \"a\"}\n{\"prompt\": \"bc\"}\n", 34);
    o = end_at("explain bytes --prompts prompts -o ended --quiet", SIGINT, at_fsync, NULL);
    assert_int_not_equal(o.status, 0);
    assert_false(exists(at("ended")));
    outcome_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),          cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_prompts_as_one),   cmocka_unit_test(test_two_answers),
        cmocka_unit_test(test_bad_lines),        cmocka_unit_test(test_members),
        cmocka_unit_test(test_misspelt_members), cmocka_unit_test(test_interrupted)};

    return cmocka_run_group_tests(tests, explain_inputs, explain_inputs_free);
}
