/* Folders exactly as transformers writes them, one for each family: `reach tokenize`, and `reach
 * erf --text` in float64 (tests/goldens/saved/make.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "io/tokens/tokens.h"
#include "tests/compare.h"
#include "tests/golden.h"
#include "tests/program.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 40, STRIDE = 30, SEGMENTS = 2 }; /* as make.py has them */

static struct dirent *
    *files; /* of the folder of goldens that end in -ids.npy: one for each family */
static int file_count;
static char saved[PATH_MAX]; /* the folder of goldens */

static const char ids_end[] = "-ids.npy";

static int is_ids(const struct dirent *d)
{
    size_t length = strlen(d->d_name), end = strlen(ids_end);
    return length > end && strcmp(d->d_name + length - end, ids_end) == 0;
}

static int setup(void **state)
{
    (void)state;
    if (program_open() != 0 || !realpath("tests/goldens/saved", saved) ||
        (file_count = scandir(saved, &files, is_ids, alphasort)) < 40)
        return -1;
    for (int i = 0; i < file_count; i++)
        files[i]->d_name[strlen(files[i]->d_name) - strlen(ids_end)] =
            0; /* the family's name is left */
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < file_count; i++)
        free(files[i]);
    free(files);
    return program_close(state);
}

static void text_is_read_as_its_tokenizer_reads_it(void **state)
{
    (void)state;
    for (int i = 0; i < file_count; i++) {
        char line[4 * PATH_MAX], golden[PATH_MAX + 300];
        const char *got = at("ids.npy"), *want = golden;
        struct tokens a, b;
        struct error e = {""};

        snprintf(line, sizeof line, "tokenize %s/%s %s/text.txt ids.npy --force --quiet", saved,
                 files[i]->d_name, saved);
        succeed("%s", line);
        snprintf(golden, sizeof golden, "%s/%s-ids.npy", saved, files[i]->d_name);
        if (tokens_read_files(&a, &got, 1, &e) || tokens_read_files(&b, &want, 1, &e))
            fail_msg("%s", e.text);
        if (a.total != b.total || memcmp(a.ids, b.ids, a.total * sizeof *a.ids) != 0)
            fail_msg("%s: %zu tokens differ from the expected %zu", files[i]->d_name, a.total,
                     b.total);
        tokens_free(&a);
        tokens_free(&b);
    }
}

/* Which needs the weights, the configuration, the text's tokens and the beginning-of-text token
 * where the tokenizer puts one. */
static void norms_are_those_of_the_writer(void **state)
{
    (void)state;
    for (int i = 0; i < file_count; i++) {
        char line[4 * PATH_MAX], golden[PATH_MAX + 300];
        struct result r;
        struct error e = {""};
        int bad = 0;

        snprintf(line, sizeof line,
                 "erf m=%s/%s --text %s/text.txt --dtype f64 --length %d --stride %d --segments %d "
                 "--bootstrap 0 --format svg "
                 "--force --quiet -o out",
                 saved, files[i]->d_name, saved, LENGTH, STRIDE, SEGMENTS);
        succeed("%s", line);
        snprintf(golden, sizeof golden, "%s/%s-expected.npy", saved, files[i]->d_name);
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
            bad |= compare_values(files[i]->d_name, result_main(r.models)->norm + s * (LENGTH - 1),
                                  expected, LENGTH - 1, 1e-11 * largest, 0);
            bad |= compare_values(files[i]->d_name, &result_main(r.models)->logprob[s],
                                  &expected[LENGTH - 1], 1, 1e-11, 0);
        }
        assert_int_equal(bad, 0);
        result_free(&r);
        free(want);
    }
}

static void info_says_what_experts_there_are(void **state)
{
    static const struct {
        const char *family, *words;
    } rows[] = {{"mixtral",
                 "\nexperts        2 of 4 chosen in 2 of 2 layers, 8 wide, silu, gated\nblocks"},
                {"qwen2_moe", "\nexperts        2 of 4 chosen in 2 of 2 layers, 8 wide, silu, "
                              "gated; shared 12 wide, with a gate\n"},
                {"glm4_moe", "\nmlp            20, silu, gated\nexperts        2 of 4 chosen in 1 "
                             "of 2 layers, 8 wide, silu, "
                             "gated; shared 8 wide\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[2 * PATH_MAX];
        snprintf(line, sizeof line, "info %s/%s --length 60", saved, rows[i].family);
        struct outcome o = reach(line);
        if (o.status != 0 || !strstr(o.out, rows[i].words) ||
            !strstr(o.err, "the choice itself is held constant"))
            fail_msg("reach %s: status %d, %s%s", line, o.status, o.out, o.err);
        outcome_free(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_read_as_its_tokenizer_reads_it),
                                       cmocka_unit_test(norms_are_those_of_the_writer),
                                       cmocka_unit_test(info_says_what_experts_there_are)};

    return cmocka_run_group_tests_name("saved", tests, setup, teardown);
}
