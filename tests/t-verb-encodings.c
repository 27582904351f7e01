/* A run's own position encoding: --rope, --bias, --window, --keep-first, --logn against float64
 * PyTorch (tests/goldens/encodings), and where they are told, recorded and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/curve.h"
#include "io/results/result.h"
#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENTS = 2, INPUTS = 97, VALUES = SEGMENTS * INPUTS };

static char goldens[4096];
#define LLAMA_TOKENS "goldens/llama/tokens.npy"

static struct result measured(const char *model, const char *tokens, const char *options,
                              const char *dtype, const char *folder)
{
    char line[512];
    struct result r;
    struct outcome o;
    struct error e;

    snprintf(line, sizeof line,
             "erf %s --tokens %s --dtype %s --device cpu --threads 1 --bootstrap 0 --quiet -o %s "
             "--force %s",
             model, tokens, dtype, folder, options);
    o = reach(line);
    if (o.status != 0)
        fail_msg("%s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
    if (result_read(at("%s/erf.h5", folder), &r, &e) != 0)
        fail_msg("%s", e.text);
    return r;
}

static void compare(const char *name, const char *dtype, const struct result_field *f,
                    const double *norm, const double *logprob, double tolerance)
{
    double s[2][INPUTS], c[2][INPUTS];

    assert_int_equal(f->positions, INPUTS);
    for (size_t i = 0; i < SEGMENTS; i++) {
        if (!(fabs(f->logprob[i] - logprob[i]) <= tolerance))
            fail_msg("%s %s: log p %.12g, expected %.12g", name, dtype, f->logprob[i], logprob[i]);
        assert_int_equal(curve_share(s[0], f->norm + i * INPUTS, INPUTS), 0);
        assert_int_equal(curve_share(s[1], norm + i * INPUTS, INPUTS), 0);
        curve_cumulative(c[0], s[0], INPUTS);
        curve_cumulative(c[1], s[1], INPUTS);
        for (size_t m = 0; m < INPUTS; m++) {
            if (norm[i * INPUTS + m] == 0 && !(f->norm[i * INPUTS + m] == 0))
                fail_msg("%s %s, position %zu: norm %g of an input that nothing sees, expected "
                         "exactly 0",
                         name, dtype, m, f->norm[i * INPUTS + m]);
            if (!(fabs(c[0][m] - c[1][m]) <= tolerance))
                fail_msg("%s %s, position %zu: c %.12g, expected %.12g", name, dtype, m, c[0][m],
                         c[1][m]);
        }
    }
}

static void encodings_agree_with_pytorch(void **state)
{
    char name[64], model[32], options[256], path[64], tokens[64];
    FILE *f = fopen(at("goldens/cases.csv"), "r");
    int cases = 0;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*[^\n]"), 0);
    while (fscanf(f, " %63[^,],%31[^,],%255[^\n]", name, model, options) == 3) {
        double expected[VALUES + SEGMENTS];
        char *quote = strrchr(options, '"'); /* where there are commas */
        FILE *values = fopen(at("goldens/%s.f64", name), "rb");

        if (quote)
            *quote = 0;
        assert_non_null(values);
        assert_int_equal(fread(expected, sizeof *expected, VALUES + SEGMENTS, values),
                         VALUES + SEGMENTS);
        fclose(values);
        snprintf(path, sizeof path, "goldens/%s", model);
        snprintf(tokens, sizeof tokens, "goldens/%s/tokens.npy", model);
        for (int wide = 0; wide < 2; wide++) {
            struct result r = measured(path, tokens, options + (quote != NULL),
                                       wide ? "f64" : "f32", "case");

            compare(name, wide ? "f64" : "f32", result_main(&r.models[0]), expected,
                    expected + VALUES, wide ? 1e-9 : 1e-5);
            result_free(&r);
        }
        cases++;
    }
    fclose(f);
    assert_int_equal(cases, 38);
}

/* A copy of the golden llama in BASE/NAME whose rope_parameters are `parameters` and whose
 * max_position_embeddings are `positions`. */
static void make_model(const char *name, const char *parameters, const char *positions)
{
    char *text = slurp(at("goldens/llama/config.json"), NULL), *rope, *end, path[8192];
    FILE *f;

    assert_non_null(text);
    rope = strstr(text, "\"rope_parameters\": {");
    assert_non_null(rope);
    end = strchr(rope, '}');
    assert_int_equal(mkdir(at("%s", name), 0777), 0);
    snprintf(path, sizeof path, "%s/llama/model.safetensors", goldens);
    assert_int_equal(symlink(path, at("%s/model.safetensors", name)), 0);
    f = fopen(at("%s/config.json", name), "w");
    assert_non_null(f);
    *strstr(text, "\"max_position_embeddings\": 32") = 0;
    fprintf(f, "%s\"max_position_embeddings\": %s%.*s\"rope_parameters\": {%s%s", text, positions,
            (int)(rope - (text + strlen(text) + 29)), text + strlen(text) + 29, parameters, end);
    fclose(f);
    free(text);
}

/* The lines of a CSV file that are no comments. */
static char *table_of(const char *path)
{
    char *text = slurp(path, NULL), *from = text;

    assert_non_null(text);
    while (*from == '#')
        from = strchr(from, '\n') + 1;
    memmove(text, from, strlen(from) + 1);
    return text;
}

/* --rope gives the bytes that a configuration gives which says the same, whatever scaling the
 * checkpoint has; dynamic goes by the length of each context. */
static void rope_is_that_of_a_configuration(void **state)
{
    static const struct {
        const char *spec, *parameters, *positions;
    } rows[] = {
        {"linear:factor=4", "\"rope_type\": \"linear\", \"factor\": 4.0, \"rope_theta\": 700.0",
         "32"},
        {"dynamic:factor=4", "\"rope_type\": \"dynamic\", \"factor\": 4.0, \"rope_theta\": 700.0",
         "32"},
        {"dynamic:factor=4,original=48",
         "\"rope_type\": \"dynamic\", \"factor\": 4.0, \"rope_theta\": 700.0", "48"},
        {"base=90,yarn:factor=4,original=24,beta_fast=6",
         "\"rope_type\": \"yarn\", \"factor\": 4.0, \"rope_theta\": 90.0, "
         "\"original_max_position_embeddings\": 24, "
         "\"beta_fast\": 6.0",
         "32"},
        {"llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=64",
         "\"rope_type\": \"llama3\", \"factor\": 8.0, \"rope_theta\": 700.0, "
         "\"original_max_position_embeddings\": 64, "
         "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0",
         "32"},
        {"base=5000", "\"rope_type\": \"default\", \"rope_theta\": 5000.0", "32"},
        {"none", "\"rope_type\": \"default\", \"rope_theta\": 700.0", "32"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        char name[32], other[32], line[1024], *tables[2];
        struct result own, configured;

        snprintf(name, sizeof name, "says-%d", i);
        snprintf(other, sizeof other,
                 i % 2 ? "goldens/llama"
                       : "yarn"); /* a scaling of its own, none of which may stay */
        make_model(name, rows[i].parameters, rows[i].positions);
        snprintf(line, sizeof line, "--rope %s", rows[i].spec);
        own = measured(other, LLAMA_TOKENS, line, "f32", "own");
        configured = measured(name, LLAMA_TOKENS, "", "f32", "configured");
        assert_memory_equal(result_main(&own.models[0])->norm,
                            result_main(&configured.models[0])->norm, VALUES * sizeof(double));
        assert_memory_equal(result_main(&own.models[0])->logprob,
                            result_main(&configured.models[0])->logprob, SEGMENTS * sizeof(double));
        result_free(&own);
        result_free(&configured);
        for (int j = 0; j < 2; j++) {
            snprintf(line, sizeof line,
                     "ppl m=%s --tokens goldens/llama/tokens.npy --protocol sliding --context "
                     "20,40,97 --quiet --device cpu -o "
                     "ppl --force "
                     "%s %s",
                     j ? name : other, j ? "" : "--rope", j ? "" : rows[i].spec);
            expect(line, 0, NULL);
            tables[j] = table_of(at("ppl/ppl.csv"));
        }
        assert_string_equal(tables[0], tables[1]);
        free(tables[0]);
        free(tables[1]);
    }
}

static void encodings_are_told(void **state)
{
    struct result r;
    struct outcome o;

    (void)state;
    r = measured("goldens/llama", LLAMA_TOKENS,
                 "--rope base=5000,linear:factor=4 --window 20 --keep-first 4 --logn "
                 "--train-length 32 --bias alibi(delta=1)",
                 "f32", "told");
    assert_string_equal(result_attribute(result_main(&r.models[0]), "position_encoding"),
                        "--bias alibi(delta=1), --rope base=5000,linear:factor=4, --window 20, "
                        "--keep-first 4, --logn, trained on 32, "
                        "on rotary, base 700");
    assert_non_null(strstr(r.command, "--bias 'alibi(delta=1)' --rope base=5000,linear:factor=4 "
                                      "--window 20 --keep-first 4 --logn"));
    assert_int_equal(r.models[0].cone, 1 + 2 * 19 + 4);
    result_free(&r);
    r = measured("goldens/llama", LLAMA_TOKENS, "--window none", "f32", "told");
    assert_non_null(strstr(r.command, " --window 0"));
    result_free(&r);
    r = measured("goldens/llama", LLAMA_TOKENS, "--window 1073741824 --keep-first 1073741824",
                 "f32", "told"); /* the most */
    assert_int_equal(r.models[0].cone, INPUTS);
    result_free(&r);

    o = reach("info goldens/llama --rope yarn:factor=4,original=24 --window 20 --keep-first 4 "
              "--length 128");
    assert_int_equal(o.status, 0);
    assert_non_null(
        strstr(o.out,
               "positions      --rope "
               "base=700,yarn:factor=4,original=24,attention_factor=1.138629436,beta_fast=32,"
               "beta_slow=1, --window 20, --keep-first 4, on rotary, base 700\n"));
    assert_non_null(strstr(o.out, "declared       32 positions (max_position_embeddings)\n"));
    assert_non_null(strstr(o.out, "window         20\n"));
    assert_non_null(strstr(o.out, "cone           43 of 127 inputs\n"));
    outcome_free(&o);

    /* more inputs than positions: a line, not an error */
    o = reach("erf goldens/llama --tokens goldens/llama/tokens.npy --device cpu -o beyond --rope "
              "dynamic:factor=4");
    assert_int_equal(o.status, 0);
    assert_non_null(
        strstr(o.err, "goldens/llama: 97 inputs are more than its configuration has positions for "
                      "(max_position_embeddings 32), and its encoding continues beyond them\n"));
    outcome_free(&o);
    o = reach("ppl goldens/llama --tokens goldens/llama/tokens.npy --device cpu --context 20,33");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "33 inputs are more than"));
    outcome_free(&o);
    o = reach("ppl goldens/llama --tokens goldens/llama/tokens.npy --device cpu --context 20,32");
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.err, "inputs are more"));
    outcome_free(&o);
}

static void encodings_are_refused(void **state)
{
    static const struct {
        const char *options, *said;
        int status;
    } rows[] = {
        {"--rope linear", "linear lacks its factor", 2},
        {"--rope linear:factor=x", "--rope: factor \"x\" is not valid", 2},
        {"--rope linear:factor=2,factor=3", "factor is given twice", 2},
        {"--rope linear:beta_fast=3", "expected NAME=VALUE of factor", 2},
        {"--rope longrope:factor=2", "--rope of type longrope needs long_factor", 1},
        {"--rope rope_freqs", "\"rope_freqs\" is not valid", 2},
        {"--rope none:factor=2", "\"none:factor=2\" is not valid", 2},
        {"--rope base=-1", "base \"-1\" is not valid", 2},
        {"--rope llama3:factor=8,low_freq_factor=1,high_freq_factor=1", "of type llama3 needs", 1},
        {"--rope none --positions none", "--rope and --positions none are both given", 2},
        {"--keep-first 4", "no layer has a window", 1},
        {"--window 0 --keep-first 4", "no layer has a window", 1},
        {"--keep-first 0", "expected a whole number from 1", 2},
        {"--bias-dtype bf16",
         "--bias-dtype: the model has no position biases (its positions: rotary", 1},
        {"--bias-dtype f32 --positions none", "--bias-dtype: the model has no position biases", 1},
        {"--logn", "expected --train-length N too", 1},
        {"--logn --train-length 1", "expected --train-length N too", 1},
    };
    char line[512];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line,
                 "erf goldens/llama --tokens goldens/llama/tokens.npy --quiet -o refused %s",
                 rows[i].options);
        expect(line, rows[i].status, rows[i].said);
    }
    expect(
        "erf learned --tokens goldens/llama/tokens.npy --quiet -o refused --rope linear:factor=2",
        1, "learned: --rope: the model has no rotary positions (its positions: learned");
    expect("ppl goldens/llama --tokens goldens/llama/tokens.npy --quiet --protocol cached --window "
           "9 --keep-first 2",
           1, "expected no --keep-first");
    expect("ppl goldens/llama --tokens goldens/llama/tokens.npy --quiet --protocol cached --window "
           "9 --logn --train-length 9",
           1, "expected no --logn");
    expect("ppl goldens/llama --tokens goldens/llama/tokens.npy --quiet --protocol cached --window "
           "9 --rope dynamic:factor=2",
           1, "dynamic scaling");
}

static const char refused_length[] =
    "--train-length: the checkpoints state other training lengths themselves";

/* It is of models that do not say it: where none takes it, it is refused. */
static void training_lengths(void **state)
{
    static const struct {
        const char *line;
        int status;
        const char *said; /* NULL: nothing */
    } rows[] = {
        {"erf trained --train-length 8 -o taken --tokens goldens/llama/tokens.npy", 0, NULL},
        {"erf trained --train-length 9 -o refused --tokens goldens/llama/tokens.npy", 1,
         refused_length},
        {"erf trained learned --train-length 9 -o mixed --tokens goldens/llama/tokens.npy", 0,
         NULL},
        {"ppl trained --context 4 --train-length 8 --tokens goldens/llama/tokens.npy", 0, NULL},
        {"ppl trained --context 4 --train-length 9 --tokens goldens/llama/tokens.npy", 1,
         refused_length},
        {"ppl trained learned --context 4 --train-length 9 --tokens goldens/llama/tokens.npy", 0,
         NULL},
        {"explain trained --prompt abcdefgh --logn --train-length 8", 0, NULL},
        {"explain trained --prompt abcdefgh --logn --train-length 9", 1, refused_length},
        {"explain trained --prompt abcdefgh --train-length 8", 2, "expected it with --logn"},
    };
    char line[512];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line, "%s --quiet", rows[i].line);
        expect(line, rows[i].status, rows[i].said);
    }
    expect("info learned --train-length 9", 0, "train length   9");
    expect("info trained --train-length 9", 1, refused_length);
}

/* First keys lie outside every window, so no theoretical field of a window is told. */
static void kept_keys_have_no_theory(void **state)
{
    char *text;

    (void)state;
    expect("erf goldens/llama --tokens goldens/llama/tokens.npy --quiet --device cpu --bias "
           "alibi(delta=1) --positions none "
           "--window 9 "
           "--keep-first 2 --attention -o kept",
           0, NULL);
    text = table_of(at("kept/attention.csv"));
    assert_null(strstr(text, "converges"));
    free(text);
    expect("info goldens/llama --positions none --window 9 --keep-first 2", 0,
           "the first 2 keys stay visible besides the window");
}

static int make_inputs(void **state)
{
    const struct tiny learned = {.vocabulary = 64, .learned = 128};
    const struct tiny trained = {.settings = "\"train_length\": 8,"};

    (void)state;
    setenv("PATH", "/nowhere", 1); /* no pictures: a hundred runs */
    if (!realpath("tests/goldens/encodings", goldens) || program_open() != 0 ||
        symlink(goldens, at("goldens")) != 0 || tiny_checkpoint(at("learned"), &learned) != 0 ||
        tiny_checkpoint(at("trained"), &trained) != 0)
        return -1;
    make_model("yarn",
               "\"rope_type\": \"yarn\", \"factor\": 3.0, \"rope_theta\": 700.0, "
               "\"attention_factor\": 1.5",
               "32");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_agree_with_pytorch),
        cmocka_unit_test(rope_is_that_of_a_configuration),
        cmocka_unit_test(encodings_are_told),
        cmocka_unit_test(encodings_are_refused),
        cmocka_unit_test(training_lengths),
        cmocka_unit_test(kept_keys_have_no_theory),
    };

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
