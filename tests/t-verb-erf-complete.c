/* `reach erf --resume` where the run is complete already: nothing is measured, what the run printed
 * is printed again, and the files stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOME " --text text --length 32 --segments 7 --bootstrap 20 --device cpu"

static int setup(void **state)
{
    struct tiny shape = {.seed = 1};

    (void)state;
    if (program_open() != 0 || tiny_checkpoint(at("m"), &shape) != 0 ||
        tiny_text(at("text"), 2000, 7) != 0 || tiny_text(at("other"), 2000, 8) != 0)
        return -1;
    shape.seed = 2;
    return tiny_checkpoint(at("n"), &shape);
}

/* `reach erf LINE -o FOLDER --resume MORE`, which must succeed. */
static struct outcome resume(const char *line, const char *folder, const char *more)
{
    char command[512];
    struct outcome o;

    snprintf(command, sizeof command, "erf %s" SOME " -o %s --resume%s", line, folder, more);
    o = finish(start(command, "/nonexistent")); /* without gnuplot */
    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", command, o.status, o.err);
    return o;
}

static void the_same_is_printed(void **state)
{
    static const char *const lines[] = {"m n --layer all --target-position 16",
                                        "m --attribution ig",
                                        "m --attribution smoothgrad",
                                        "m n --shard 2/3",
                                        "m --dtype f64",
                                        "m --check-precision 2"};
    static const char *const shown[] = {"", " --json", " --table latex"};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t k = 0; k < (i ? 1 : sizeof shown / sizeof *shown); k++) {
            char folder[32], file[64];
            struct stat before, after;
            struct outcome first, again;

            snprintf(folder, sizeof folder, "run-%zu-%zu", i, k);
            snprintf(file, sizeof file, "%s/erf.h5", folder);
            first = resume(lines[i], folder, shown[k]);
            assert_null(strstr(first.err, "is complete"));
            assert_int_equal(stat(at("%s", file), &before), 0);
            again = resume(lines[i], folder, shown[k]);
            assert_int_equal(stat(at("%s", file), &after), 0);
            if (strcmp(first.out, again.out) != 0)
                fail_msg("%s%s:\n%sexpected:\n%s", lines[i], shown[k], again.out, first.out);
            assert_non_null(strstr(again.err, "erf.h5: this run is complete, and nothing is "
                                              "measured again\n"));
            assert_true(before.st_ino == after.st_ino);
            outcome_free(&first);
            outcome_free(&again);
        }
}

/* Their numbers are not all in erf.h5; the table of gradients is. */
static void other_measurements_are_in_their_files(void **state)
{
    static const char *const lines[] = {"m --attention", "m --attention --shard 1/2",
                                        "m --validate 2"};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct outcome first, again;
        char folder[32];
        size_t table;

        snprintf(folder, sizeof folder, "beside-%zu", i);
        first = resume(lines[i], folder, " --wide");
        again = resume(lines[i], folder, " --wide");
        table = (size_t)(strchr(strchr(first.out, '\n') + 1, '\n') - first.out);
        assert_memory_equal(first.out, again.out, table);
        assert_null(strstr(again.out, "attention"));
        assert_non_null(strstr(again.err, "add is in the CSV files beside it"));
        outcome_free(&first);
        outcome_free(&again);
    }
}

static void other_runs_are_refused(void **state)
{
    static const char *const others[] = {
        "erf m" SOME " --seed 9",
        "erf m" SOME " --threshold 0.8",
        "erf m" SOME " --shard 1/2",
        "erf n" SOME,
        "erf m=n" SOME,
        "erf m n" SOME,
        "erf m" SOME " --layer all",
        "erf m --text other --length 32 --segments 7 --bootstrap 20",
        "erf m" SOME " --attention"};
    struct outcome o = resume("m", "kept", "");

    (void)state;
    outcome_free(&o);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char line[256];

        snprintf(line, sizeof line, "%s -o kept --quiet --resume", others[i]);
        expect(line, 1, "kept/erf.h5: exists (expected --force to overwrite results, or another");
    }
    expect("erf m" SOME " -o kept", 1, "kept/erf.h5: exists (expected --force");
    succeed("erf m" SOME " -o kept --quiet --resume --threads 1");
}

static void damage_is_found(void **state)
{
    struct outcome o = resume("m", "damaged", "");

    (void)state;
    outcome_free(&o);
    assert_int_equal(truncate(at("damaged/erf.h5"), 3000), 0);
    expect("erf m" SOME " -o damaged --quiet --resume", 1, "damaged/erf.h5: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_is_printed),
                                       cmocka_unit_test(other_measurements_are_in_their_files),
                                       cmocka_unit_test(other_runs_are_refused),
                                       cmocka_unit_test(damage_is_found)};

    return cmocka_run_group_tests(tests, setup, program_close);
}
