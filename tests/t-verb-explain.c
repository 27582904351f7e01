/* `reach explain` as a user meets it: numbers against float64 PyTorch (tests/goldens/explain) and
 * against `reach erf`, results shown again, and what is refused. How it looks:
 * t-verb-explain-shown.c. */
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

#include <hdf5.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char goldens[PATH_MAX], code[PATH_MAX]; /* tests/goldens/explain, examples/models */
static char *prompt; /* as a word of a command line */

static int setup(void **state)
{
    struct tiny bytes = {.seed = 1}, learned = {.seed = 2, .learned = 12};
    int32_t ids[90];

    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens/explain", goldens) ||
        !realpath("examples/models", code) || tiny_checkpoint(at("bytes"), &bytes) != 0 ||
        tiny_checkpoint(at("learned"), &learned) != 0 || tiny_text(at("text"), 90, 4) != 0 ||
        tiny_text(at("one"), 1, 4) != 0 || tiny_text(at("long"), 4000, 5) != 0)
        return -1;
    if (!(prompt = slurp(at("text"), NULL)))
        return -1;
    for (int i = 0; i < 90; i++)
        ids[i] = (unsigned char)prompt[i];
    free(prompt);
    if (tiny_npy(at("text.npy"), ids, 0, 90) != 0 || tiny_npy(at("rows.npy"), ids, 2, 45) != 0)
        return -1;
    ids[2] = 256;
    if (tiny_npy(at("far.npy"), ids, 1, 90) != 0)
        return -1;
    prompt = slurp(scratch_path(goldens, "prompt.txt"), NULL);
    for (char *at = prompt; at && (at = strchr(at, ' '));)
        *at = '~';
    return prompt ? 0 : -1;
}

static int teardown(void **state)
{
    free(prompt);
    return program_close(state);
}

/* ---- against PyTorch ---- */

/* Norms of BASE/FOLDER/explain.csv against those of a quantity; shares absolutely. */
static void compare_norms(const char *folder, const char *quantity, double tolerance)
{
    struct csv_table got = read_table(at("%s/explain.csv", folder)),
                     want = read_table(scratch_path(goldens, "expected.csv"));
    double sum = 0;
    size_t n = 0, first = 0;

    for (size_t i = 0; i < want.rows; i++)
        if (strcmp(cell(&want, i, "quantity"), quantity) == 0) {
            first = n++ ? first : i;
            sum += number(&want, i, "value");
        }
    assert_int_equal(got.rows, n);
    for (size_t i = 0; i < n; i++) {
        double norm = number(&want, first + i, "value");

        assert_string_equal(cell(&got, i, "id"), cell(&want, first + i, "id"));
        if (!(fabs(number(&got, i, "norm") - norm) <= 10 * tolerance * norm) ||
            !(fabs(number(&got, i, "share") - norm / sum) <= tolerance))
            fail_msg("%s at position %zu: norm %s, share %s (expected %g, %g)", quantity, i + 1,
                     cell(&got, i, "norm"), cell(&got, i, "share"), norm, norm / sum);
    }
    csv_table_free(&got);
    csv_table_free(&want);
}

/* The note says log p of the target and the others as the oracle has them. */
static void compare_predictions(const char *folder, int contrast, double tolerance)
{
    struct csv_table want = read_table(scratch_path(goldens, "expected.csv"));
    char *text = slurp(at("%s/explain.csv", folder), NULL),
         *note = strstr(text, "# target: token 103, "), *end;

    assert_non_null(note);
    *strchr(note, '\n') = 0;
    for (size_t i = 0; i < want.rows; i++) {
        int is_against = strcmp(cell(&want, i, "quantity"), "against") == 0;
        char id[40];

        if (strcmp(cell(&want, i, "quantity"), "logprob") != 0 && !(is_against && contrast))
            continue;
        snprintf(id, sizeof id, "(id %s), log p ", cell(&want, i, "id"));
        end = strstr(note, id);
        if (!end ||
            !(fabs(strtod(end + strlen(id), NULL) - number(&want, i, "value")) <= tolerance))
            fail_msg("id %s, log p %s: %s", cell(&want, i, "id"), cell(&want, i, "value"), note);
    }
    assert_int_equal(strstr(note, "against \"self\"") != NULL, contrast);
    free(text);
    csv_table_free(&want);
}

static void test_against_pytorch(void **state)
{
    static const struct {
        const char *dtype;
        double tolerance;
    } cases[] = {{"f32", 1e-5}, {"f64", 1e-9}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        succeed("explain %s/alibi --prompt %s --dtype %s -o out --force --quiet", code, prompt,
                cases[i].dtype);
        compare_norms("out", "norm", cases[i].tolerance);
        compare_predictions("out", 0, cases[i].tolerance);
        succeed("explain %s/alibi --prompt %s --dtype %s --against self -o out --force --quiet",
                code, prompt, cases[i].dtype);
        compare_norms("out", "contrast", cases[i].tolerance);
        compare_predictions("out", 1, cases[i].tolerance);
    }
}

static double member(const char *text, const char *name)
{
    char quoted[40];

    snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    assert_non_null(text = strstr(text, quoted));
    return strtod(text + strlen(quoted), NULL);
}

/* Integrated gradients say what they add up to, and what they should: on the screen, in the CSV's
 * comment and in both kinds of JSON. */
static void test_completeness(void **state)
{
    struct csv_table want = read_table(scratch_path(goldens, "expected.csv"));
    double zeros[2] = {number(&want, want.rows - 2, "value"),
                       number(&want, want.rows - 1, "value")};

    (void)state;
    for (int contrast = 0; contrast < 2; contrast++) {
        double value = zeros[0] - contrast * zeros[1], baseline, sum, explained;
        char line[12000], lines[12020], *text;
        struct outcome o;
        FILE *f = fopen(at("prompts"), "w");

        assert_non_null(f);
        fprintf(f, "{\"prompt\": \"");
        for (const char *c = prompt; *c; c++)
            if (strchr("\"\\\n", *c))
                fprintf(f, *c == '\n' ? "\\n" : "\\%c", *c);
            else
                fputc(*c == '~' ? ' ' : *c, f);
        fprintf(f, contrast ? "\", \"against\": \"self\"}\n" : "\"}\n");
        assert_int_equal(fclose(f), 0);
        snprintf(line, sizeof line,
                 "explain %s/alibi --prompt %s --dtype f64 --attribution ig -o complete --force%s",
                 code, prompt, contrast ? " --against self" : "");
        o = reach(line);
        assert_int_equal(o.status, 0);
        if (!strstr(o.out, "Completeness: the attributions sum to "))
            fail_msg("%s", o.out);
        outcome_free(&o);
        text = slurp(at("complete/explain.csv"), NULL);
        assert_non_null(strstr(text, "; completeness: the sum of the attributions is "));
        free(text);
        snprintf(lines, sizeof lines, "%s --json", line);
        o = reach(lines);
        text = strstr(o.out, "\"completeness\": [");
        assert_non_null(text);
        baseline = member(text, "baseline"), sum = member(text, "sum");
        explained = member(text, "explained");
        if (!(fabs(baseline - value) <= 1e-9) || !(fabs(sum - (explained - baseline)) < 0.5))
            fail_msg("baseline %.12g, expected %.12g; sum %.9g of %.9g", baseline, value, sum,
                     explained - baseline);
        outcome_free(&o);
        succeed("explain %s/alibi --prompts prompts --dtype f64 --attribution ig -o complete "
                "--force --quiet",
                code);
        text = slurp(at("complete/explain.jsonl"), NULL);
        assert_non_null(strstr(text, "\"completeness\": {"));
        assert_true(member(text, "sum") == sum && member(text, "baseline") == baseline);
        free(text);
    }
    csv_table_free(&want);
}

/* ---- against reach erf ---- */

/* What stands behind the comment lines of two tables. */
static void expect_same_rows(const char *a, const char *b)
{
    char *x = slurp(at("%s/explain.csv", a), NULL), *y = slurp(at("%s/explain.csv", b), NULL);

    assert_string_equal(strstr(x, "\nmodel,"), strstr(y, "\nmodel,"));
    free(x);
    free(y);
}

/* The same numbers, to the last bit, from the model and from the result that holds the segment. */
static void test_as_erf(void **state)
{
    static const char *const options[] = {"",
                                          "--attribution~inputxgrad",
                                          "--attribution~ig",
                                          "--attribution~smoothgrad --seed~3",
                                          "--window 8",
                                          "--bias alibi(delta=1)"};

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char plain[64];

        snprintf(plain, sizeof plain, "%s", options[i]);
        for (char *at = plain; (at = strchr(at, '~'));)
            *at = ' ';
        succeed("erf bytes --text text --length 90 --segments 1 --dtype f64 --target-position 20 "
                "-o erf --force --quiet %s",
                plain);
        succeed("explain bytes --text text --dtype f64 -o model --force --quiet %s", plain);
        succeed("explain erf --segment 1 -o stored --force --quiet");
        expect_same_rows("model", "stored");
        succeed("explain bytes --text text --dtype f64 --target-position 20 -o model --force "
                "--quiet %s",
                plain);
        succeed("explain erf --segment 1 --target-position 20 -o stored --force --quiet");
        expect_same_rows("model", "stored");
    }
}

/* Pieces come with a result, through shards and merge as well. */
static void test_results_are_whole(void **state)
{
    struct csv_table t;

    (void)state;
    succeed("erf %s/window-24 x=bytes --text long --length 64 --segments 5 -o whole --quiet", code);
    for (int i = 1; i <= 2; i++)
        succeed("erf %s/window-24 x=bytes --text long --length 64 --segments 5 --shard %d/2 -o "
                "shard-%d --quiet",
                code, i, i);
    succeed("merge shard-1 shard-2 -o merged --quiet");
    succeed("explain whole --segment 4 --model window-24 -o a --quiet");
    succeed("explain merged/erf.h5 --segment 4 --model window-24 -o b --quiet");
    expect_same_rows("a", "b");
    succeed("explain shard-2 --segment 2 --model window-24 -o c --quiet");
    expect_same_rows("a", "c");
    t = read_table(at("a/explain.csv"));
    for (size_t i = 0; i < t.rows; i++)
        assert_true(*cell(&t, i, "piece"));
    csv_table_free(&t);
    succeed("explain whole --segment 4 --model x -o d --quiet");
    t = read_table(at("d/explain.csv"));
    assert_int_equal(strlen(cell(&t, 5, "piece")), 1);
    assert_int_equal(*cell(&t, 5, "piece"), (char)number(&t, 5, "id"));
    csv_table_free(&t);
}

static void test_columns(void **state)
{
    struct csv_table t;
    double before = 1, sum = 0;

    (void)state;
    succeed("explain bytes --text text -o columns --quiet --threads 1");
    succeed("explain bytes --text text -o columns-2 --quiet --threads 2");
    expect_same_rows("columns", "columns-2");
    t = read_table(at("columns/explain.csv"));
    assert_int_equal(t.rows, 89);
    for (size_t i = 0; i < t.rows; i++) {
        assert_true(number(&t, i, "position") == (double)i + 1 &&
                    number(&t, i, "distance") == (double)(t.rows - 1 - i));
        assert_true(number(&t, i, "cumulative") <= before);
        assert_true(number(&t, i, "line") == 1);
        before = number(&t, i, "cumulative");
        sum += number(&t, i, "share");
        for (size_t k = 0; k < i; k++)
            assert_true((number(&t, i, "share") >= number(&t, k, "share")) ==
                        (number(&t, i, "rank") < number(&t, k, "rank")));
    }
    assert_true(fabs(sum - 1) < 1e-12);
    csv_table_free(&t);
}

static void test_short(void **state)
{
    char *by_text, *by_tokens;

    (void)state;
    expect("explain bytes --prompt x --quiet", 0, "1 input, target at position 2");
    expect("explain bytes --text text --target-position 2 --quiet", 0,
           "1 input, target at position 2");
    expect("explain learned --text text --target-position 13 --quiet", 0, "12 inputs");
    expect("explain learned --text text --target-position 14 --quiet", 1,
           "has learned positions for 12 inputs, and there are 13");
    succeed("explain bytes --text text -o by-text --quiet"); /* ids are the text that they were made
                                                                of */
    succeed("explain bytes --tokens text.npy -o by-tokens --quiet");
    by_text = slurp(at("by-text/explain.csv"), NULL);
    by_tokens = slurp(at("by-tokens/explain.csv"), NULL);
    assert_string_equal(strstr(by_text, "\n# units"), strstr(by_tokens, "\n# units"));
    free(by_text);
    free(by_tokens);
    expect("explain bytes --tokens text.npy --target-position 2 --quiet", 0,
           "1 input, target at position 2");
    expect("explain bytes --tokens rows.npy", 1,
           "rows.npy: has 2 rows of tokens (expected one text");
    expect("explain bytes --tokens far.npy", 1,
           "far.npy: id 256 at index 2 is not in the vocabulary of bytes");
    expect("explain bytes --tokens text.npy --text text", 2, "--text and --tokens are both given");
    expect("explain bytes --tokens text.npy --prompt x", 2, "--prompt and --tokens are both given");
    expect("explain bytes --prompt x --seed 3", 2,
           "--seed is given without --attribution smoothgrad");
    expect("explain bytes --prompt x --seed 3 --attribution ig", 2,
           "--seed is given without --attribution smoothgrad");
    expect("explain bytes --tokens text.npy --segment 1", 2, "--segment");
    expect("explain bytes --text text --target-position 91", 1, "--target-position 91: ");
    expect("explain bytes --prompt abc --target-position 3 --quiet", 0,
           "2 inputs, target at position 3");
    expect("explain bytes --prompt abc --target-position 4 --quiet", 0, "the likeliest next token");
    expect("explain bytes --prompt abc --target-position 5", 1, "has 3 tokens (expected 2 to 4)");
}

static void test_refused(void **state)
{
    static const struct {
        const char *line, *said;
        int status;
    } cases[] = {
        {"explain bytes", "nothing to explain is given", 2},
        {"explain bytes --prompt a --text text",
         "--prompt and --text are both given (expected one of them)", 2},
        {"explain bytes --prompt a --model x", "--model is for a result", 2},
        {"explain whole --segment 1 --prompt a",
         "--prompt and --segment are both given (expected one of them)", 2},
        {"explain whole --segment 1 --attribution grad",
         "--attribution and --segment are both given", 2},
        {"explain whole --segment 1 --rope none", "--rope and --segment are both given", 2},
        {"explain whole --segment 1 --against a", "--against and --segment are both given", 2},
        {"explain whole --segment 1 --bos always", "--bos and --segment are both given", 2},
        {"explain whole --segment 1 --dtype f64", "--dtype and --segment are both given", 2},
        {"explain whole --segment 1", "has 2 models (expected --model with one of: window-24, x)",
         1},
        {"explain whole --segment 1 --model y", "has no model y (expected one of: window-24, x)",
         1},
        {"explain whole --segment 6 --model x", "--segment 6: x has 5 segments (expected 1 to 5)",
         1},
        {"explain whole --segment 1 --model x --target-position 9",
         "--target-position 9 was not measured of x (expected one of: 64)", 1},
        {"explain whole/curve.csv --segment 1", "is a table", 1},
        {"explain bytes --segment 1", "bytes/", 1},
        {"explain bytes --text text --against xy",
         "bytes: has no tokenizer to find the token of --against xy in", 1},
        {"explain bytes --text text --against 256",
         "--against 256 is not in its vocabulary (expected an id from 0 to 255)", 1},
        {"explain bytes --text text --against 99999999999", "--against: 99999999999 is not an id",
         1},
        {"explain bytes --text text --rope none", "rotary", 1},
        {"explain bytes --text text --bos always", "has no beginning-of-text token", 1},
        {"explain bytes --text absent", "absent: ", 1},
        {"explain bytes --text one",
         "one: has one token (expected at least 2 tokens: one input and the target)", 1},
        {"explain bytes --text one --target-position 2",
         "one: has one token (expected at least 2 tokens", 1},
    };
    char line[PATH_MAX + 64], *text = slurp(at("text"), NULL);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].line, cases[i].status, cases[i].said);
    snprintf(line, sizeof line, "explain bytes --text text --against %d --quiet", text[89]);
    expect(line, 1, "is the target itself (expected another token)");
    snprintf(line, sizeof line, "explain %s/alibi --text text --against zzqzz", code);
    expect(line, 1, "--against zzqzz is not a token of its tokenizer");
    succeed("explain bytes --text text -o again --quiet");
    expect("explain bytes --text text -o again", 1, "again/explain.csv: exists (expected --force");
    free(text);
}

/* Of a damaged result whose target lies beyond its segments, nothing is read past their ids. */
static void test_target_beyond(void **state)
{
    hid_t to, from;

    (void)state;
    succeed("erf bytes --text long --length 30 --segments 2 -o near --force --quiet");
    succeed("erf bytes --text long --length 90 --segments 2 --target-position 60 -o far --force "
            "--quiet");
    to = H5Fopen(at("near/erf.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    from = H5Fopen(at("far/erf.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(H5Ocopy(from, "models/bytes/target-60", to, "models/bytes/target-60", H5P_DEFAULT,
                        H5P_DEFAULT) >= 0);
    H5Fclose(from);
    H5Fclose(to);
    expect("explain near --segment 2 --target-position 60", 1,
           "target-60 is beyond the segments, which have 30 tokens");
}

/* A result of before ids were kept is told so, in one line, and everything else of it works as it
 * did. */
static void test_older_results(void **state)
{
    hid_t file;

    (void)state;
    succeed("erf bytes --text text --length 30 --segments 2 -o older --quiet");
    file = H5Fopen(at("older/erf.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ldelete(file, "models/bytes/tokens", H5P_DEFAULT) >= 0);
    H5Fclose(file);
    expect("explain older --segment 1", 1, "older/erf.h5: holds no token ids");
    succeed("plot older -o older-plot");
}

/* ---- what a user means by a text and a word ---- */

/* BASE/FOLDER/explain.csv of a text that comes on standard input. */
static void pipe_in(const char *model, const char *text, const char *options)
{
    char command[2 * PATH_MAX];

    snprintf(command, sizeof command,
             "cd '%s' && printf '%s' | \"$REACH\" explain %s %s 2>said >/dev/null", base, text,
             model, options);
    if (system(command) != 0)
        fail_msg("%s: %s", command, slurp(at("said"), NULL));
}

static void said(const char *text)
{
    char *all = slurp(at("said"), NULL);

    if (!strstr(all, text))
        fail_msg("%s(expected %s)", all, text);
    free(all);
}

/* The newline that editors put there is no target; with a position the text is as it is. */
static void test_newline(void **state)
{
    static const char left_out[] = "standard input: the newline at its end is left out";
    static const struct {
        const char *text, *options;
        size_t rows;
        int told;
    } cases[] = {{"def add(a, b):", "--text -", 13, 0},
                 {"def add(a, b):\\n", "--text -", 13, 1},
                 {"def add(a, b):\\r\\n", "--text -", 13, 1},
                 {"def add(a, b):\\n\\n", "--text -", 14, 1},
                 {"def add(a, b):\\n", "--text - --target-position 15", 14, 0},
                 {"def add(a, b):\\n", "--prompt -", 14, 1},
                 {"def add(a, b):\\n", "--prompt - --target-position 16", 15, 0},
                 {"a\\n", "--prompt -", 1, 1},
                 {"\\n", "--prompt -", 1, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csv_table t;
        char options[128], *all;

        snprintf(options, sizeof options, "%s -o newline --force", cases[i].options);
        pipe_in("bytes", cases[i].text, options);
        t = read_table(at("newline/explain.csv"));
        assert_int_equal(t.rows, cases[i].rows);
        csv_table_free(&t);
        all = slurp(at("said"), NULL);
        assert_int_equal(strstr(all, left_out) != NULL, cases[i].told);
        free(all);
    }
    pipe_in("bytes", "abc\\n", "--prompt - --quiet -o piped");
    succeed("explain bytes --prompt abc -o given --quiet");
    expect_same_rows("piped", "given");
}

/* The word with a blank before it, where that is the likelier token; ids from the vocabulary of the
 * example. */
static void test_against_a_word(void **state)
{
    static const char words[] = "The capital of France is", line[] = "for i in range(10):\\n    x";
    char model[PATH_MAX + 8];

    (void)state;
    snprintf(model, sizeof model, "%s/alibi", code);
    pipe_in(model, words, "--prompt - --against the"); /* without a blank it is none */
    said("--against the: \" the\" (id 305) is taken\n");
    pipe_in(model, line, "--prompt - --against def");
    said("--against def: \"def\" (id 317) is taken, the likelier of those that it may mean; by an "
         "id: 346\n");
    pipe_in(model, words, "--prompt - --against def");
    said("--against def: \" def\" (id 346) is taken, the likelier of those that it may mean; by an "
         "id: 317\n");
    pipe_in(model, words, "--prompt - --against 346 -o by-id --quiet");
    pipe_in(model, words, "--prompt - --against def -o by-word --quiet");
    expect_same_rows("by-id", "by-word");
}

static double logprob_of(const char *folder)
{
    struct csv_table t = read_table(at("%s/explain.csv", folder));
    double value = number(&t, 0, "target_logprob");

    csv_table_free(&t);
    return value;
}

/* An answer, of one token either way, is the likelier of it with and without a blank before it,
 * whose log p are those of the last tokens of texts. */
static void test_answer_with_a_blank(void **state)
{
    static const struct {
        const char *before, *answer;
        int has_blank;
    } cases[] = {{"The", "def", 1}, {"def add(", "self", 0}};
    static const char lines[] = "{\"prompt\": \"The\", \"answer\": \"def\"}\n"
                                "{\"prompt\": \"The\\n\", \"answer\": \"def\"}\n";
    char model[PATH_MAX + 8], text[64], options[128];

    (void)state;
    snprintf(model, sizeof model, "%s/alibi", code);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *before = cases[i].before, *answer = cases[i].answer;
        double lp[2];

        for (int blank = 0; blank < 2; blank++) {
            snprintf(text, sizeof text, "%s%s%s", before, blank ? " " : "", answer);
            pipe_in(model, text, "--text - -o a-text --force --quiet");
            lp[blank] = logprob_of("a-text");
        }
        assert_int_equal(lp[1] > lp[0], cases[i].has_blank);
        snprintf(options, sizeof options, "--prompt - --answer %s -o taken --force", answer);
        pipe_in(model, before, options);
        snprintf(text, sizeof text, "--answer %s: \"%s%s\" is taken, the likelier", answer,
                 cases[i].has_blank ? " " : "", answer);
        said(text);
        if (fabs(logprob_of("taken") - lp[cases[i].has_blank]) > 1e-5)
            fail_msg("%s: log p %g (expected %g)", text, logprob_of("taken"),
                     lp[cases[i].has_blank]);
    }
    scratch_write(base, "answers", lines, sizeof lines - 1); /* a prompt may end with one */
    pipe_in(model, "", "--prompts answers");
    said("answers tried with and without a blank before them: 1; the likelier is taken, and ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_pytorch), cmocka_unit_test(test_completeness),
        cmocka_unit_test(test_as_erf),          cmocka_unit_test(test_results_are_whole),
        cmocka_unit_test(test_columns),         cmocka_unit_test(test_short),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_older_results),
        cmocka_unit_test(test_target_beyond),   cmocka_unit_test(test_newline),
        cmocka_unit_test(test_against_a_word),  cmocka_unit_test(test_answer_with_a_blank)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
