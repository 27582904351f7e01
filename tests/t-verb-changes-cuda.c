/* What verbs change of a model, and what they measure of it, on the stand-in that REACH_CUDA names:
 * the numbers of `--device cuda` in f32 beside those of
 * `--device cpu` in double, and that each change is one. Without the stand-in there is nothing to
 * do here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/changed.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LLAMA "goldens/llama-gqa"
#define ALIBI "goldens/own-alibi"
#define SINKS "goldens/gpt-oss"
#define EXPERTS "goldens/mixtral"

/* A model, the tokens' folder, the options; what they must change of the norms: nothing, when NULL,
 * or those of this line. */
struct erf_case {
    const char *model, *tokens, *options;
    int changes;
    const char *table; /* a CSV file to compare as well, or NULL */
};

static const struct erf_case erf_cases[] = {
    {LLAMA, LLAMA, "--adapter goldens/adapters/llama-patterns", 1, NULL},
    {LLAMA, LLAMA, "--adapter goldens/adapters/llama-whole", 1, NULL},
    {LLAMA, LLAMA, "--adapter goldens/adapters/llama-table --layer all", 1, "/curve.csv"},
    {LLAMA, LLAMA, "--rope linear:factor=4", 1, NULL},
    {LLAMA, LLAMA, "--rope base=900,yarn:factor=4,original=8", 1, NULL},
    {LLAMA, LLAMA, "--rope dynamic:factor=3,original=8", 1, NULL},
    {LLAMA, LLAMA, "--rope llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original=16", 1,
     NULL},
    {LLAMA, LLAMA, "--positions none", 1, NULL},
    {LLAMA, LLAMA, "--bias -ln(1+t)", 1, NULL},
    {LLAMA, LLAMA, "--logn --train-length 16", 1, NULL},
    {LLAMA, LLAMA, "--window 5", 1, "/curve.csv"},
    {LLAMA, LLAMA, "--window 5 --keep-first 2", 1, "/curve.csv"},
    {LLAMA, LLAMA,
     "--window 5 --keep-first 2 --logn --train-length 16 --rope linear:factor=2 --bias "
     "alibi(delta=1)",
     1, NULL},
    {LLAMA, LLAMA, "--layer all --attention --target-position 9", 0, "/attention.csv"},
    {LLAMA, LLAMA, "--validate 2", 0, "/validation.csv"},
    {LLAMA, LLAMA, "--attribution inputxgrad", 1, "/curve.csv"},
    {LLAMA, LLAMA, "--attribution ig", 1, "/curve.csv"},
    {LLAMA, LLAMA, "--attribution smoothgrad", 1, "/curve.csv"},
    {ALIBI, ALIBI, "--bias kerple_log(p=1,a=2)", 1, NULL},
    {ALIBI, ALIBI, "--bias-dtype bf16 --bias alibi(delta=1)", 1, NULL},
    {ALIBI, ALIBI, "--bias none", 1, NULL},
    {SINKS, SINKS, "--layer all --attention", 0, "/attention.csv"},
    {SINKS, SINKS, "--keep-first 2 --window 6", 1, NULL},
    {"ties", EXPERTS, "", 0, NULL}, /* choices between equal scores, which both count */
    {EXPERTS, EXPERTS, "--attribution ig", 1, "/curve.csv"},
    {EXPERTS, EXPERTS, "--window 9 --keep-first 3", 1, NULL},
    {EXPERTS, EXPERTS, "--rope linear:factor=4", 1, NULL},
    {"goldens/quantised/nf4", "goldens/quantised/nf4", "--layer all", 0, "/curve.csv"},
    {"goldens/quantised/fp8-blocks", "goldens/quantised/fp8-blocks", "--bias alibi", 1, NULL},
    {"goldens/quantised/mxfp4", "goldens/quantised/mxfp4", "--attribution inputxgrad", 1,
     "/curve.csv"},
};

static int with_stand_in(void)
{
    return getenv("REACH_CUDA") != NULL;
}

/* Cells are the same words, or numbers as near as float lets them be. Times are passed over. */
static void assert_near_tables(const char *line, const char *name)
{
    struct csv_table a = read_table(at("cuda%s", name)), b = read_table(at("cpu%s", name));
    int times = csv_column(&a, "seconds_per_token");

    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.columns, b.columns);
    assert_true(a.rows > 0);
    for (size_t i = 0; i < a.rows * a.columns; i++) {
        char *end_a, *end_b;
        double x = strtod(a.cell[i], &end_a), y = strtod(b.cell[i], &end_b);
        int number = *a.cell[i] && *b.cell[i] && !*end_a && !*end_b;

        if ((int)(i % a.columns) != times && strcmp(a.cell[i], b.cell[i]) != 0 &&
            (!number || !(fabs(x - y) <= 2e-5 + 1e-4 * fabs(y))))
            fail_msg("%s: %s, row %zu, column %zu: %s, and %s by the processor", line, name,
                     i / a.columns, i % a.columns, a.cell[i], b.cell[i]);
    }
    csv_table_free(&a);
    csv_table_free(&b);
}

/* The largest difference of norms of two fields, over the largest norm. */
static double norms_apart(const struct result_field *f, const struct result_field *g,
                          size_t segments)
{
    double largest = 0, apart = 0;

    assert_int_equal(f->positions, g->positions);
    for (size_t i = 0; i < segments * f->positions; i++) {
        assert_true(isfinite(f->norm[i]) && isfinite(g->norm[i]));
        largest = fmax(largest, g->norm[i]);
        apart = fmax(apart, fabs(f->norm[i] - g->norm[i]));
    }
    assert_true(largest > 0);
    return apart / largest;
}

static void assert_near_results(const char *line, int ties)
{
    struct result a = read_result("cuda"), b = read_result("cpu");
    const struct result_model *m = a.models, *n = b.models;

    assert_non_null(strstr(a.kernels, "cuda"));
    assert_null(strstr(b.kernels, "cuda"));
    assert_int_equal(m->segments, n->segments);
    assert_int_equal(m->field_count, n->field_count);
    for (size_t i = 0; i < m->field_count; i++) {
        const struct result_field *f = &m->fields[i], *g = &n->fields[i];

        assert_int_equal(f->near_ties, g->near_ties);
        assert_int_equal(f->near_ties > 0, ties);
        if (!(norms_apart(f, g, m->segments) <= 2e-5))
            fail_msg("%s: norms of field %zu are %g of the largest apart", line, i,
                     norms_apart(f, g, m->segments));
        for (size_t s = 0; s < m->segments; s++)
            if (!(fabs(f->logprob[s] - g->logprob[s]) <= 1e-5))
                fail_msg("%s: log p of segment %zu: %.9g, and %.9g by the processor", line, s,
                         f->logprob[s], g->logprob[s]);
    }
    result_free(&a);
    result_free(&b);
}

static void erf_is_that_of_the_processor(void **state)
{
    const char *plain = "";

    (void)state;
    if (!with_stand_in())
        skip();
    for (size_t i = 0; i < sizeof erf_cases / sizeof *erf_cases; i++) {
        const struct erf_case *c = &erf_cases[i];
        char line[PATH_MAX];

        snprintf(line, sizeof line,
                 "erf m=%s --tokens %s/tokens.npy --bootstrap 0 --format svg --quiet --force",
                 c->model, c->tokens);
        if (strcmp(plain, c->model) != 0)
            succeed("%s --device cuda --dtype f32 -o plain", line);
        plain = c->model;
        succeed("%s %s --device cuda --dtype f32 -o cuda", line, c->options);
        succeed("%s %s --device cpu --dtype f64 -o cpu", line, c->options);
        snprintf(line, sizeof line, "%s %s", c->model, c->options);
        assert_near_results(line, strcmp(c->model, "ties") == 0);
        if (c->table)
            assert_near_tables(line, c->table);
        if (c->changes) {
            struct result a = read_result("cuda"), b = read_result("plain");
            double apart = norms_apart(result_main(a.models), result_main(b.models),
                                       a.models->segments);

            if (!(apart > 1e-3))
                fail_msg("%s: changes no norm by more than %g of the largest", line, apart);
            result_free(&a);
            result_free(&b);
        }
    }
}

static void perplexity_is_that_of_the_processor(void **state)
{
    static const char *const cases[] = {
        LLAMA " --adapter goldens/adapters/llama-patterns --context 5,9",
        LLAMA " --protocol sliding --stride 3 --context 8 --rope linear:factor=4",
        LLAMA " --protocol cached --window 5",
        LLAMA " --protocol nonoverlapping --context 6 --bias -ln(1+t)",
        EXPERTS " --protocol cached --window 9",
        SINKS " --protocol sliding --stride 4 --context 12 --keep-first 2",
        "goldens/quantised/nf4 --context 7",
    };

    (void)state;
    if (!with_stand_in())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *blank = strchr(cases[i], ' ');
        int model = (int)(blank - cases[i]);

        for (int cuda = 0; cuda < 2; cuda++)
            succeed("ppl m=%.*s --tokens %.*s/tokens.npy%s --format svg --quiet --force "
                    "--per-token %s-tokens.csv --device %s -o %s",
                    model, cases[i], model, cases[i], blank, cuda ? "cuda" : "cpu",
                    cuda ? "cuda --dtype f32" : "cpu --dtype f64", cuda ? "cuda" : "cpu");
        assert_near_tables(cases[i], "/ppl.csv");
        assert_near_tables(cases[i], "-tokens.csv");
    }
}

static void explain_is_that_of_the_processor(void **state)
{
    (void)state;
    if (!with_stand_in())
        skip();
    for (int cuda = 0; cuda < 2; cuda++)
        succeed("explain models/rotary --prompt def~measure(self,~query): --rope linear:factor=2 "
                "--attribution ig --force "
                "--device %s -o %s",
                cuda ? "cuda --dtype f32" : "cpu --dtype f64", cuda ? "cuda" : "cpu");
    assert_near_tables("explain", "/explain.csv");
}

static int setup(void **state)
{
    char *plugin = getenv("REACH_CUDA") ? realpath(getenv("REACH_CUDA"), NULL)
                                        : NULL; /* the program is started in another folder */
    char goldens[PATH_MAX], models[PATH_MAX];

    (void)state;
    if (plugin)
        setenv("REACH_CUDA", plugin, 1);
    free(plugin);
    if (program_open() != 0 || !realpath("tests/goldens", goldens) ||
        symlink(goldens, at("goldens")) != 0 || !realpath("examples/models", models) ||
        symlink(models, at("models")) != 0)
        return -1;
    change_tensor("tests/goldens/mixtral", "ties", "model.layers.1.block_sparse_moe.gate.weight", 0,
                  96);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(erf_is_that_of_the_processor),
                                       cmocka_unit_test(perplexity_is_that_of_the_processor),
                                       cmocka_unit_test(explain_is_that_of_the_processor)};

    return cmocka_run_group_tests_name("changes-cuda", tests, setup, program_close);
}
