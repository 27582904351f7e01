/* What `reach explain` is asked about a text: named tokens, several targets and several places,
 * against transformers in float64 with PyTorch's autograd (tests/goldens/explain/questions.py). Of
 * a file of prompts: t-verb-explain-prompts.c. */
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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All targets of a question, in BASE/FOLDER. */
static void compare(const char *folder, size_t model, int asked, size_t targets)
{
    struct csv_table got = read_table(at("%s/explain.csv", folder));
    size_t row = 0, from = 0;

    for (size_t i = 0; i < targets; i++)
        assert_explained(&got, &row, &from, model, asked);
    assert_int_equal(row, got.rows);
    csv_table_free(&got);
}

/* The note names the other tokens, with their log p. */
static void compare_others(const char *folder, size_t model, int asked)
{
    static const char *const quantities[] = {"against", "other"};
    char *text = slurp(at("%s/explain.csv", folder), NULL),
         *note = strstr(text, "# target: token "), *end;

    assert_non_null(note);
    *strchr(note, '\n') = 0;
    for (size_t q = 0; q < 2; q++)
        for (size_t i = 0; explain_row(&i, explain_models[model], asked, quantities[q]);) {
            char id[40];

            snprintf(id, sizeof id, "(id %s), log p ", cell(&explain_want, i - 1, "id"));
            end = strstr(note, id);
            if (!end)
                fail_msg("%s is not in %s", id, note);
            assert_near(strtod(end + strlen(id), NULL), number(&explain_want, i - 1, "value"),
                        EXPLAIN_TOLERANCE, id);
        }
    free(text);
}

/* A word of a command line. */
static char *word(const char *option, const json_t *value)
{
    static char out[4][256];
    static int turn;
    char *to = out[turn++ % 4];

    if (!value)
        *to = 0;
    else if (json_is_integer(value))
        snprintf(to, 256, " --%s %d", option, (int)json_integer_value(value));
    else
        snprintf(to, 256, " --%s %s", option, json_string_value(value));
    for (char *blank = to + strlen(option) + 4; value && *blank; blank++)
        *blank = *blank == ' ' ? '~' : *blank;
    return to;
}

static void test_questions(void **state)
{
    (void)state;
    for (size_t m = 0; m < EXPLAIN_MODELS; m++)
        for (size_t i = 0; i < explain_question_count; i++) {
            const json_t *text = json_object_get(explain_question[i], "text");

            if (text)
                scratch_write(base, "question", json_string_value(text), json_string_length(text));
            succeed("explain %s/%s%s%s%s%s --dtype f64 -o one --force --quiet", explain_saved,
                    explain_models[m], text ? " --text question" : "",
                    word("prompt", json_object_get(explain_question[i], "prompt")),
                    word("target", json_object_get(explain_question[i], "target")),
                    word("against", json_object_get(explain_question[i], "against")));
            compare("one", m, (int)i + 1, 1);
            compare_others("one", m, (int)i + 1);
        }
}

static void test_likeliest(void **state)
{
    const char *prompt = word("prompt", json_object_get(explain_question[0], "prompt"));

    (void)state;
    for (size_t m = 0; m < EXPLAIN_MODELS; m++) {
        succeed("explain %s/%s%s --targets 4 --dtype f64 -o four --force --quiet", explain_saved,
                explain_models[m], prompt);
        compare("four", m, -1, 4);
        /* --memory leaves room for one at a time: the same numbers */
        succeed("explain %s/%s%s --targets 4 --dtype f64 --memory 700K -o less --force --quiet",
                explain_saved, explain_models[m], prompt);
        assert_same_file(at("four/explain.csv"), at("less/explain.csv"));
    }
}

/* Of several targets none is the token that they are compared with. */
static void test_likeliest_but_one(void **state)
{
    const char *prompt = word("prompt", json_object_get(explain_question[0], "prompt"));
    struct csv_table four, three;

    (void)state;
    succeed("explain %s/gpt2%s --targets 4 --dtype f64 -o four --force --quiet", explain_saved,
            prompt);
    four = read_table(at("four/explain.csv"));
    succeed("explain %s/gpt2%s --targets 3 --against %s --dtype f64 -o three --force --quiet",
            explain_saved, prompt, cell(&four, 11, "target_id"));
    three = read_table(at("three/explain.csv"));
    assert_int_equal(three.rows, 33);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(cell(&three, 11 * k, "target_id"),
                            cell(&four, 11 * (k + (k > 0)), "target_id"));
        succeed("explain %s/gpt2%s --target %s --against %s --dtype f64 -o one --force --quiet",
                explain_saved, prompt, cell(&three, 11 * k, "target_id"),
                cell(&four, 11, "target_id"));
        struct csv_table one = read_table(at("one/explain.csv"));
        for (size_t i = 0; i < 11; i++)
            assert_string_equal(cell(&one, i, "norm"), cell(&three, 11 * k + i, "norm"));
        csv_table_free(&one);
    }
    csv_table_free(&four);
    csv_table_free(&three);
}

static void test_positions(void **state)
{
    const json_t *text = json_object_get(explain_question[8], "text");

    (void)state;
    scratch_write(base, "question", json_string_value(text), json_string_length(text));
    for (size_t m = 0; m < EXPLAIN_MODELS; m++) {
        succeed("explain %s/%s --text question --target-position 7,3 --target-position 10 --dtype "
                "f64 -o places --force --quiet",
                explain_saved, explain_models[m]);
        compare("places", m, 0, 3);
    }
}

/* Places of a result are those of the model. */
static void test_positions_of_a_result(void **state)
{
    char *stored, *measured;

    (void)state;
    succeed("erf %s/gpt2 --text text --length 20 --segments 1 --target-position 5,9 --dtype f64 -o "
            "erf --force --quiet",
            explain_saved);
    succeed("explain erf --segment 1 --target-position 5,9,20 -o stored --force --quiet");
    succeed("explain %s/gpt2 --text text --target-position 5,9,20 --dtype f64 -o measured --force "
            "--quiet",
            explain_saved);
    stored = slurp(at("stored/explain.csv"), NULL);
    measured = slurp(at("measured/explain.csv"), NULL);
    assert_string_equal(strstr(stored, "\nmodel,"), strstr(measured, "\nmodel,"));
    free(stored);
    free(measured);
}

/* The sum of log p of several tokens, and each of them; with a window, whose last block then
 * computes a cone of several rows. */
static void test_answer(void **state)
{
    static const char prompt[] = "I~found~Queequeg's~arm~thrown~over~me~in~the~most~loving",
                      answer[] = "~and~affectionate";

    (void)state;
    for (size_t m = 0; m < EXPLAIN_MODELS_ALL; m++) {
        struct csv_table got;
        size_t row = 0, from = 0;

        succeed("explain %s/%s --prompt %s --answer %s --dtype f64 -o answer --force --quiet",
                explain_saved, explain_models[m], prompt, answer);
        got = read_table(at("answer/explain.csv"));
        assert_explained(&got, &row, &from, m, -2);
        for (from = 0; row < got.rows;)
            assert_explained(&got, &row, &from, m, -3);
        assert_false(explain_row(&from, explain_models[m], -3, "target"));
        csv_table_free(&got);
    }
}

/* ---- by word, sentence, line ---- */

/* Each byte is a token, so that only the rules decide; a bar stands between units. */
static void test_units(void **state)
{
    static const struct {
        const char *by, *units;
    } cases[] = {
        {"word", "a|  bc|\n\nd| e"},
        {"word", " a| b| "},
        {"word", "   "},
        {"word", "don't|\tstop.\"|\r\nNow"},
        {"sentence", "He has 3.14.| \"Yes!\"| she\n|said (so?)|  And on"},
        {"sentence", "\n\nOne\n|\nTwo.| three...| four"},
        {"sentence", "no end.here"},
        {"sentence", "Is it\xe2\x80\x9d?|\n(it.| is.\xe2\x80\x9d)| Done"},
        {"line", "a\n|\n|b. c\n"},
        {"line", "one"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char joined[1024] = "", line[512], *to = line;
        struct csv_table t;

        for (const char *from = cases[i].units; *from; from++)
            if (*from != '|')
                *to++ = *from == ' ' ? '~' : *from;
        *to = 0;
        succeed("explain bytes --prompt %s --by %s -o by --force --quiet", line, cases[i].by);
        t = read_table(at("by/units.csv"));
        for (size_t k = 0; k < t.rows; k++)
            snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", k ? "|" : "",
                     cell(&t, k, "text"));
        csv_table_free(&t);
        to = line; /* as tables spell it */
        for (const char *from = cases[i].units; *from; from++)
            to += *from == '\n'   ? sprintf(to, "\\n")
                  : *from == '\r' ? sprintf(to, "\\r")
                  : *from == '\t' ? sprintf(to, "\\t")
                                  : sprintf(to, "%c", *from);
        assert_string_equal(joined, line);
    }
}

/* Sums over units are sums over their tokens, of the model and of a result, at every target. */
static void check_sums(const char *folder)
{
    struct csv_table tokens = read_table(at("%s/explain.csv", folder)),
                     units = read_table(at("%s/units.csv", folder));
    size_t i = 0;

    for (size_t u = 0; u < units.rows; u++) {
        double norm = 0, share = 0, position = number(&units, u, "position"),
               last = number(&units, u, "last");
        char text[1024] = "";

        assert_true(position == number(&tokens, i, "position"));
        assert_near(number(&units, u, "distance"), number(&units, u, "target_position") - 1 - last,
                    0, "distance");
        assert_near(number(&units, u, "cumulative"), number(&tokens, i, "cumulative"), 1e-12,
                    "cumulative");
        for (; i < tokens.rows && number(&tokens, i, "unit") == number(&units, u, "unit") &&
               strcmp(cell(&tokens, i, "target_id"), cell(&units, u, "target_id")) == 0 &&
               number(&tokens, i, "target_position") == number(&units, u, "target_position");
             i++) {
            norm += number(&tokens, i, "norm");
            share += number(&tokens, i, "share");
            assert_true(number(&tokens, i, "position") <= last);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                     cell(&tokens, i, "piece"));
        }
        assert_near(number(&units, u, "norm"), norm, 1e-12 * norm, "norm");
        assert_near(number(&units, u, "share"), share, 1e-12, "share");
        assert_string_equal(cell(&units, u, "text"), text);
    }
    assert_int_equal(i, tokens.rows);
    csv_table_free(&tokens);
    csv_table_free(&units);
}

static void test_sums(void **state)
{
    static const char *const by[] = {"word", "sentence", "line"};

    (void)state;
    succeed("erf bytes --text text --length 40 --segments 1 --target-position 20 -o erf-bytes "
            "--force --quiet");
    for (size_t i = 0; i < 3; i++) {
        succeed("explain %s/llama --text long --by %s --target-position 40,120 -o sums "
                "--force --quiet",
                explain_saved, by[i]);
        check_sums("sums");
        succeed("explain %s/gpt2%s --targets 3 --by %s -o sums --force --quiet", explain_saved,
                word("prompt", json_object_get(explain_question[4], "prompt")), by[i]);
        check_sums("sums");
        succeed("explain erf-bytes --segment 1 --by %s --target-position 20,40 -o sums --force "
                "--quiet",
                by[i]);
        check_sums("sums");
    }
    /* without --by there is no such table, and a new run removes an old one */
    succeed("explain bytes --prompt a~b -o sums --force --quiet");
    assert_false(exists(at("sums/units.csv")));
}

static void test_said(void **state)
{
    char line[PATH_MAX + 160];

    (void)state;
    snprintf(line, sizeof line, "explain %s/gpt2 --prompt I~had --target his", explain_saved);
    struct outcome o = reach(line);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "--target his: \""));
    assert_non_null(strstr(o.err, "is taken, the likelier of those that it may mean; by an id: "));
    assert_null(strstr(o.out, "likeliest next"));
    outcome_free(&o);
    snprintf(line, sizeof line, "explain %s/gpt2 --text text --target-position 5 --target 300",
             explain_saved);
    o = reach(line);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "--target 300 takes the place of token 5 of the text"));
    outcome_free(&o);
    snprintf(line, sizeof line, "explain %s/gpt2 --prompt I~had --targets 3 --show 0 --top 0",
             explain_saved);
    setenv("COLUMNS", "160", 1);
    o = reach(line);
    unsetenv("COLUMNS");
    assert_int_equal(o.status, 0);
    assert_int_equal(strncmp(o.out, "number  position  before it  target ", 36), 0);
    assert_non_null(strstr(o.out, "\n1: gpt2, "));
    assert_non_null(strstr(o.out, ", number 3 of the likeliest next tokens"));
    outcome_free(&o);
}

static void test_refused(void **state)
{
    static const struct {
        const char *options, *said;
        int status;
    } cases[] = {
        {"--prompt x --target 512", "--target 512 is not in its vocabulary", 1},
        {"--prompt x --target zzqzz",
         "--target zzqzz is not a token of its tokenizer, which divides it into \"z\", \"z\", ", 1},
        {"--prompt x --target zzqzz", "; --answer takes several tokens)", 1},
        {"--prompt x --target 300 --against 300", "--against 300 is the target itself", 1},
        {"--prompt x --target 3 --targets 2", "--targets 2 is given with --target (expected", 2},
        {"--text text --targets 2", "--targets 2 is given without --prompt", 2},
        {"--prompt x --targets 2 --target-position 2",
         "--targets 2 is given with --target-position", 2},
        {"--prompt x --targets 512", "--targets 512: has a vocabulary of 512", 1},
        {"--text text --target-position 5,91", "--target-position 91: text has ", 1},
        {"--prompt x --answer yz --target 3", "--answer and --target are both given", 2},
        {"--text text --answer yz", "--answer is given without a prompt", 2},
        {"--prompt x --answer yz --attribution ig", "--answer is given with another --attrib", 2},
        {"--prompt The~coun --answer terpane",
         "--prompt: the tokenizer joins the end of the prompt with the answer", 1},
        {"--text text --target-position 5,1", "--target-position", 2},
    };
    char line[PATH_MAX + 160];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "explain %s/gpt2 %s --quiet", explain_saved, cases[i].options);
        expect(line, cases[i].status, cases[i].said);
    }
    expect("explain no-texts --tokens ids.npy --by word --quiet", 1,
           "no-texts: --by word: its tokens have no texts, because it has no tokenizer");
    expect("explain bytes --prompt x --by letter", 2, "--by");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_questions),
                                       cmocka_unit_test(test_likeliest),
                                       cmocka_unit_test(test_likeliest_but_one),
                                       cmocka_unit_test(test_positions),
                                       cmocka_unit_test(test_positions_of_a_result),
                                       cmocka_unit_test(test_answer),
                                       cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_said),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, explain_inputs, explain_inputs_free);
}
