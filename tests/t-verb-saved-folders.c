/* Folders exactly as transformers writes them, one for each family: `reach tokenize`, and `reach erf --text` in float64
 * (tests/goldens/saved/make.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/result.h"
#include "io/tokens.h"
#include "tests/compare.h"
#include "tests/golden.h"
#include "tests/program.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 40, STRIDE = 30, SEGMENTS = 2 }; /* as make.py has them */

static const char *const families[] = {"bloom",    "falcon",     "gemma2",    "gpt2",        "gpt_neox",  "gptj",  "llama",
                                       "mistral",  "mpt",        "opt",       "phi",         "qwen2",     "qwen3", "gemma",
                                       "phi3",     "starcoder2", "gpt_neo",   "gpt_bigcode", "codegen",   "olmo",  "stablelm",
                                       "nemotron", "arcee",      "ministral", "seed_oss",    "internlm3", "glm",   "glm4",
                                       "ernie4_5", "helium",     "granite",   "xglm",        "biogpt"};
enum { FAMILIES = sizeof families / sizeof *families };
static char saved[PATH_MAX]; /* the folder of goldens */

static int setup(void **state)
{
    (void)state;
    return program_open() != 0 || !realpath("tests/goldens/saved", saved) ? -1 : 0;
}

static void run(const char *line)
{
    struct outcome o = reach(line);

    if (o.status != 0)
        fail_msg("reach %s: %s", line, o.err);
    outcome_free(&o);
}

static void text_is_read_as_its_tokenizer_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAMILIES; i++) {
        char line[3 * PATH_MAX], golden[PATH_MAX + 64];
        const char *got = at("ids.npy"), *want = golden;
        struct tokens a, b;
        struct error e = {""};

        snprintf(line, sizeof line, "tokenize %s/%s %s/text.txt ids.npy --force --quiet", saved, families[i], saved);
        run(line);
        snprintf(golden, sizeof golden, "%s/%s-ids.npy", saved, families[i]);
        if (tokens_read_files(&a, &got, 1, &e) || tokens_read_files(&b, &want, 1, &e))
            fail_msg("%s", e.text);
        if (a.total != b.total || memcmp(a.ids, b.ids, a.total * sizeof *a.ids) != 0)
            fail_msg("%s: %zu tokens differ from the expected %zu", families[i], a.total, b.total);
        tokens_free(&a);
        tokens_free(&b);
    }
}

/* Which needs the weights, the configuration, the text's tokens and the beginning-of-text token where the tokenizer puts one. */
static void norms_are_those_of_the_writer(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAMILIES; i++) {
        char line[3 * PATH_MAX], golden[PATH_MAX + 64];
        struct result r;
        struct error e = {""};
        int bad = 0;

        snprintf(line, sizeof line,
                 "erf m=%s/%s --text %s/text.txt --dtype f64 --length %d --stride %d --segments %d --bootstrap 0 --format svg "
                 "--force --quiet -o out",
                 saved, families[i], saved, LENGTH, STRIDE, SEGMENTS);
        run(line);
        snprintf(golden, sizeof golden, "%s/%s-expected.npy", saved, families[i]);
        double *want = golden_read_f64(golden, SEGMENTS * LENGTH);
        if (result_read(at("out/erf.h5"), &r, &e))
            fail_msg("%s", e.text);
        assert_int_equal(r.models->segments, SEGMENTS);
        assert_int_equal(result_main(r.models)->positions, LENGTH - 1);
        for (size_t s = 0; s < SEGMENTS; s++) {
            const double *expected = want + s * LENGTH;
            double largest = 0;

            for (size_t m = 0; m < LENGTH - 1; m++)
                largest = expected[m] > largest ? expected[m] : largest;
            bad |= compare_values(families[i], result_main(r.models)->norm + s * (LENGTH - 1), expected, LENGTH - 1,
                                  1e-11 * largest, 0);
            bad |= compare_values(families[i], &result_main(r.models)->logprob[s], &expected[LENGTH - 1], 1, 1e-11, 0);
        }
        assert_int_equal(bad, 0);
        result_free(&r);
        free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_read_as_its_tokenizer_reads_it),
                                       cmocka_unit_test(norms_are_those_of_the_writer)};

    return cmocka_run_group_tests_name("saved", tests, setup, program_close);
}
