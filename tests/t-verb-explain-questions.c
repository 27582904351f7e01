/* What `reach explain` is asked about a text: named tokens, several targets and several places,
 * against transformers in float64 with PyTorch's autograd (tests/goldens/explain/questions.py). */
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

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { QUESTIONS_MOST = 32 };

static struct csv_table want;
static char saved[PATH_MAX]; /* tests/goldens/saved */
static json_t *question[QUESTIONS_MOST];
static size_t question_count;

static const char *const models[] = {"gpt2", "llama", "mistral"};
static const double tolerance = 1e-9;
enum { MODELS = 2 }; /* the last one is asked for an answer only */

static int setup(void **state)
{
    const struct tiny bytes = {.seed = 1}, no_texts = {.seed = 2, .vocabulary = 24};
    const int32_t ids[] = {1, 2, 3, 4};
    char *lines, *text;

    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens/saved", saved))
        return -1;
    want = read_table("tests/goldens/explain/questions.csv");
    lines = slurp("tests/goldens/explain/questions.jsonl", NULL);
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
        if (!(question[question_count++] = json_loads(line, 0, NULL)))
            return -1;
    free(lines);
    text = slurp("tests/goldens/saved/text.txt", NULL);
    scratch_write(base, "long", text, 1200);
    free(text);
    return tiny_text(at("text"), 90, 4) != 0 || tiny_checkpoint(at("bytes"), &bytes) != 0 ||
                   tiny_checkpoint(at("no-texts"), &no_texts) != 0 ||
                   tiny_npy(at("ids.npy"), ids, 0, 4) != 0
               ? -1
               : 0;
}

static int teardown(void **state)
{
    while (question_count > 0)
        json_decref(question[--question_count]);
    csv_table_free(&want);
    return program_close(state);
}

/* The next row of `quantity` of a question from row *i on; 0: none. *i is then behind it. */
static int next_row(size_t *i, const char *model, int number_of, const char *quantity)
{
    for (; *i < want.rows; ++*i)
        if (strcmp(cell(&want, *i, "model"), model) == 0 &&
            number(&want, *i, "question") == number_of &&
            strcmp(cell(&want, *i, "quantity"), quantity) == 0)
            return ++*i, 1;
    return 0;
}

static void near(double got, double expected, double most, const char *what)
{
    if (!(fabs(got - expected) <= most))
        fail_msg("%s: %.17g (expected %.17g)", what, got, expected);
}

/* The rows of BASE/FOLDER/explain.csv that follow row *at, of one target, and the rows of the
 * golden from *from on. */
static void compare_target(const struct csv_table *got, size_t *at_row, size_t *from, size_t model,
                           int asked)
{
    const char *name = models[model];
    double sum = 0;
    size_t first = *from, target = first, n = 0;
    char what[96];

    snprintf(what, sizeof what, "%s, question %d", name, asked);
    assert_true(next_row(&target, name, asked, "target"));
    for (size_t i = first; next_row(&i, name, asked, "norm") && i < target; n++)
        sum += number(&want, i - 1, "value");
    assert_int_equal(n, (int)number(&want, target - 1, "place") - 1);
    for (size_t k = 0, i = first; k < n; k++, ++*at_row) {
        double norm;

        assert_true(next_row(&i, name, asked, "norm"));
        norm = number(&want, i - 1, "value");
        assert_string_equal(cell(got, *at_row, "id"), cell(&want, i - 1, "id"));
        near(number(got, *at_row, "norm"), norm, 10 * tolerance * norm, what);
        near(number(got, *at_row, "share"), norm / sum, tolerance, what);
        assert_string_equal(cell(got, *at_row, "target_id"), cell(&want, target - 1, "id"));
        assert_string_equal(cell(got, *at_row, "target_position"),
                            cell(&want, target - 1, "place"));
        near(number(got, *at_row, "target_logprob"), number(&want, target - 1, "value"), tolerance,
             what);
    }
    *from = target;
}

/* All targets of a question, in BASE/FOLDER. */
static void compare(const char *folder, size_t model, int asked, size_t targets)
{
    struct csv_table got = read_table(at("%s/explain.csv", folder));
    size_t row = 0, from = 0;

    for (size_t i = 0; i < targets; i++)
        compare_target(&got, &row, &from, model, asked);
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
        for (size_t i = 0; next_row(&i, models[model], asked, quantities[q]);) {
            char id[40];

            snprintf(id, sizeof id, "(id %s), log p ", cell(&want, i - 1, "id"));
            end = strstr(note, id);
            if (!end)
                fail_msg("%s is not in %s", id, note);
            near(strtod(end + strlen(id), NULL), number(&want, i - 1, "value"), tolerance, id);
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
    for (size_t m = 0; m < MODELS; m++)
        for (size_t i = 0; i < question_count; i++) {
            const json_t *text = json_object_get(question[i], "text");

            if (text)
                scratch_write(base, "question", json_string_value(text), json_string_length(text));
            succeed("explain %s/%s%s%s%s%s --dtype f64 -o one --force --quiet", saved, models[m],
                    text ? " --text question" : "",
                    word("prompt", json_object_get(question[i], "prompt")),
                    word("target", json_object_get(question[i], "target")),
                    word("against", json_object_get(question[i], "against")));
            compare("one", m, (int)i + 1, 1);
            compare_others("one", m, (int)i + 1);
        }
}

static void test_likeliest(void **state)
{
    const char *prompt = word("prompt", json_object_get(question[0], "prompt"));

    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        succeed("explain %s/%s%s --targets 4 --dtype f64 -o four --force --quiet", saved, models[m],
                prompt);
        compare("four", m, -1, 4);
        /* --memory leaves room for one at a time: the same numbers */
        succeed("explain %s/%s%s --targets 4 --dtype f64 --memory 700K -o less --force --quiet",
                saved, models[m], prompt);
        assert_same_file(at("four/explain.csv"), at("less/explain.csv"));
    }
}

/* Of several targets none is the token that they are compared with. */
static void test_likeliest_but_one(void **state)
{
    const char *prompt = word("prompt", json_object_get(question[0], "prompt"));
    struct csv_table four, three;

    (void)state;
    succeed("explain %s/gpt2%s --targets 4 --dtype f64 -o four --force --quiet", saved, prompt);
    four = read_table(at("four/explain.csv"));
    succeed("explain %s/gpt2%s --targets 3 --against %s --dtype f64 -o three --force --quiet",
            saved, prompt, cell(&four, 11, "target_id"));
    three = read_table(at("three/explain.csv"));
    assert_int_equal(three.rows, 33);
    for (size_t k = 0; k < 3; k++) {
        assert_string_equal(cell(&three, 11 * k, "target_id"),
                            cell(&four, 11 * (k + (k > 0)), "target_id"));
        succeed("explain %s/gpt2%s --target %s --against %s --dtype f64 -o one --force --quiet",
                saved, prompt, cell(&three, 11 * k, "target_id"), cell(&four, 11, "target_id"));
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
    const json_t *text = json_object_get(question[8], "text");

    (void)state;
    scratch_write(base, "question", json_string_value(text), json_string_length(text));
    for (size_t m = 0; m < MODELS; m++) {
        succeed("explain %s/%s --text question --target-position 7,3 --target-position 10 --dtype "
                "f64 -o places --force --quiet",
                saved, models[m]);
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
            saved);
    succeed("explain erf --segment 1 --target-position 5,9,20 -o stored --force --quiet");
    succeed("explain %s/gpt2 --text text --target-position 5,9,20 --dtype f64 -o measured --force "
            "--quiet",
            saved);
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
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct csv_table got;
        size_t row = 0, from = 0;

        succeed("explain %s/%s --prompt %s --answer %s --dtype f64 -o answer --force --quiet",
                saved, models[m], prompt, answer);
        got = read_table(at("answer/explain.csv"));
        compare_target(&got, &row, &from, m, -2);
        for (from = 0; row < got.rows;)
            compare_target(&got, &row, &from, m, -3);
        assert_false(next_row(&from, models[m], -3, "target"));
        csv_table_free(&got);
    }
}

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
    near(number(&one, 0, "target_logprob"),
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
        near(number(&units, u, "distance"), number(&units, u, "target_position") - 1 - last, 0,
             "distance");
        near(number(&units, u, "cumulative"), number(&tokens, i, "cumulative"), 1e-12,
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
        near(number(&units, u, "norm"), norm, 1e-12 * norm, "norm");
        near(number(&units, u, "share"), share, 1e-12, "share");
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
                saved, by[i]);
        check_sums("sums");
        succeed("explain %s/gpt2%s --targets 3 --by %s -o sums --force --quiet", saved,
                word("prompt", json_object_get(question[4], "prompt")), by[i]);
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

/* ---- many prompts ---- */

static void near_json(const json_t *got, const char *expected)
{
    assert_true(json_is_number(got));
    assert_true(json_number_value(got) == strtod(expected, NULL));
}

/* A prediction of a line: an id with log p. */
static void check_prediction(const json_t *one, size_t row)
{
    assert_int_equal(json_integer_value(json_object_get(one, "id")), (int)number(&want, row, "id"));
    near(json_number_value(json_object_get(one, "logprob")), number(&want, row, "value"), tolerance,
         "log p");
}

/* Line `asked` of explain.jsonl, and the rows of explain.csv from `first` on. */
static void check_line(const json_t *line, const struct csv_table *rows, size_t first, size_t model,
                       int asked)
{
    const json_t *id = json_object_get(question[asked - 1], "id"),
                 *ids = json_object_get(line, "ids");
    const char *name = models[model];
    size_t i = 0;

    assert_true(id ? json_equal(id, json_object_get(line, "id"))
                   : json_integer_value(json_object_get(line, "id")) == asked);
    assert_string_equal(json_string_value(json_object_get(line, "model")), name);
    assert_true(next_row(&i, name, asked, "target"));
    check_prediction(json_object_get(line, "target"), i - 1);
    i = 0;
    if (next_row(&i, name, asked, "against"))
        check_prediction(json_object_get(line, "against"), i - 1);
    else
        assert_null(json_object_get(line, "against"));
    i = 0;
    for (size_t k = 0; next_row(&i, name, asked, "other"); k++)
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
    for (size_t m = 0; m < MODELS; m++) {
        char *lines;
        struct csv_table rows;
        size_t row = 0, line = 0;

        succeed("explain %s/%s --prompts %s/../explain/questions.jsonl --dtype f64 -o many --force "
                "--quiet",
                saved, models[m], saved);
        rows = read_table(at("many/explain.csv"));
        lines = slurp(at("many/explain.jsonl"), NULL);
        for (char *one = strtok(lines, "\n"); one; one = strtok(NULL, "\n")) {
            json_t *parsed = json_loads(one, JSON_REJECT_DUPLICATES, NULL);
            size_t from = 0, first = row;

            assert_non_null(parsed);
            compare_target(&rows, &row, &from, m, (int)++line);
            check_line(parsed, &rows, first, m, (int)line);
            assert_int_equal(json_array_size(json_object_get(parsed, "norms")), row - first);
            json_decref(parsed);
        }
        assert_int_equal(line, question_count);
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
                for (size_t c = 0; c + 1 < one.columns; c++)
                    assert_string_equal(one.cell[k * one.columns + c],
                                        all.cell[row * all.columns + c]);
            csv_table_free(&one);
        }
        assert_int_equal(row, all.rows);
        csv_table_free(&all);
    }
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
    assert_non_null(strstr(o.err, "2 prompts in "));
    outcome_free(&o);
    t = read_table(at("members/explain.csv"));
    assert_int_equal(t.rows, 2);
    assert_string_equal(cell(&t, 0, "target_id"), "49");
    assert_string_equal(cell(&t, 0, "prompt"), "2");
    assert_string_equal(cell(&t, 1, "target_id"), "1");
    assert_string_equal(cell(&t, 1, "prompt"), "4");
    csv_table_free(&t);
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

static void test_said(void **state)
{
    char line[PATH_MAX + 160];

    (void)state;
    snprintf(line, sizeof line, "explain %s/gpt2 --prompt I~had --target his", saved);
    struct outcome o = reach(line);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "--target his: \""));
    assert_non_null(strstr(o.err, "is taken, the likelier of those that it may mean; by an id: "));
    assert_null(strstr(o.out, "likeliest next"));
    outcome_free(&o);
    snprintf(line, sizeof line, "explain %s/gpt2 --text text --target-position 5 --target 300",
             saved);
    o = reach(line);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "--target 300 takes the place of token 5 of the text"));
    outcome_free(&o);
    snprintf(line, sizeof line, "explain %s/gpt2 --prompt I~had --targets 3 --show 0 --top 0",
             saved);
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
        snprintf(line, sizeof line, "explain %s/gpt2 %s --quiet", saved, cases[i].options);
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
                                       cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_prompts),
                                       cmocka_unit_test(test_prompts_as_one),
                                       cmocka_unit_test(test_bad_lines),
                                       cmocka_unit_test(test_members),
                                       cmocka_unit_test(test_interrupted),
                                       cmocka_unit_test(test_said),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
