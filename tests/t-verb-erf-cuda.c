/* `reach erf --device cuda` as a user meets it, on the stand-in that REACH_CUDA names: batches of
 * any size, interruption and resumption give the same files; and what it says of products that its
 * library does not run. Without the stand-in there is nothing to do here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/program.h"
#include "tests/tiny.h"

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH = 24, SEGMENTS = 60 };
#define FEW \
    "--memory 20M" /* two segments or so at a time, of the 32 that there is room for otherwise */

static int with_stand_in(void)
{
    const char *plugin = getenv("REACH_CUDA");

    return plugin && strstr(plugin, "cuda-host");
}

static void assert_same_results(const char *a, const char *b)
{
    static const char *const names[] = {"erf.h5", "curve.csv", "summary.csv", "erf.gp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t sizes[2];
        char *texts[2] = {slurp(at("%s/%s", a, names[i]), &sizes[0]),
                          slurp(at("%s/%s", b, names[i]), &sizes[1])};

        if (!texts[0] || !texts[1] || sizes[0] != sizes[1] ||
            memcmp(texts[0], texts[1], sizes[0]) != 0)
            fail_msg("%s of %s and %s differ", names[i], a, b);
        free(texts[0]);
        free(texts[1]);
    }
}

static void run(const char *folder, const char *dtype, const char *more)
{
    char line[512];
    struct outcome o;

    snprintf(line, sizeof line,
             "erf window none --text text --length %d --segments %d --device cuda --dtype %s "
             "--bootstrap 10 --quiet -o %s %s",
             LENGTH, SEGMENTS, dtype, folder, more);
    o = reach(line);
    if (o.status != 0)
        fail_msg("%s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
}

/* The run in FOLDER, sent `number` once a few records are there. */
static struct outcome interrupted(const char *folder, const char *dtype, int number)
{
    char line[512];

    snprintf(line, sizeof line,
             "erf window none --text text --length %d --segments %d --device cuda --dtype %s "
             "--bootstrap 10 --quiet -o %s " FEW,
             LENGTH, SEGMENTS, dtype, folder);
    return run_until_journal(line, folder, number, 12 * LENGTH * sizeof(double));
}

static void any_batch_gives_the_same_files(void **state)
{
    (void)state;
    if (!with_stand_in())
        skip();
    run("whole", "bf16", "");
    run("small", "bf16", FEW);
    assert_same_results("whole", "small");
}

static void interrupted_runs_go_on(void **state)
{
    struct outcome o;

    (void)state;
    if (!with_stand_in())
        skip();
    o = interrupted("stopped", "bf16", SIGINT);
    if (o.status != 1 || lines(o.err) != 1 || !strstr(o.err, "--resume") ||
        !strstr(o.err, "segments are kept"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_true(exists(at("stopped/erf.part")));
    run("stopped", "bf16", "--resume");
    assert_same_results("whole", "stopped");
    o = interrupted("killed", "bf16", SIGKILL);
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    assert_int_equal(truncate(at("killed/erf.part"), (off_t)journal_size("killed") - 50), 0);
    run("killed", "bf16", "--resume");
    assert_same_results("whole", "killed");
}

static size_t times_in(const char *text, const char *wanted)
{
    size_t times = 0;

    for (; (text = strstr(text, wanted)); text += strlen(wanted))
        times++;
    return times;
}

/* Runs LINE with a library that has every algorithm or none; what it says must hold one warning of
 * the products then. */
static void warns(const char *line, const char *mode, size_t times)
{
    setenv("REACH_CUDA_HOST_BLAS", mode, 1);
    struct outcome o = reach(line);
    unsetenv("REACH_CUDA_HOST_BLAS");
    if (o.status != 0 ||
        times_in(o.err, "no algorithm of its library serves a matrix product") != times)
        fail_msg("%s, %s: exit %d: %s", line, mode, o.status, o.err);
    outcome_free(&o);
}

/* A product that no algorithm of the library serves is right and slow: people are told once, a log
 * every kind. */
static void slow_products_are_told(void **state)
{
    static const char *const modes[] = {"plain", "nothing"};

    (void)state;
    if (!with_stand_in())
        skip();
    for (size_t own = 0; own < 2; own++) {
        char line[512];
        size_t size, kinds;

        snprintf(line, sizeof line,
                 "erf none window --text text --length %d --segments 4 --device cuda --dtype bf16 "
                 "--bootstrap 5 -o %s "
                 "--log log-%s",
                 LENGTH, modes[own], modes[own]);
        warns(line, modes[own], own);
        char *log = slurp(at("log-%s", modes[own]), &size);
        assert_non_null(log);
        kinds = times_in(log, "\"event\":\"product\"");
        assert_true(kinds > 5);
        assert_int_equal(times_in(log, own ? "\"by\":\"own kernel\"" : "\"by\":\"library\""),
                         kinds);
        free(log);
        snprintf(line, sizeof line, "ppl none --text short --context 16 --device cuda --dtype f32");
        warns(line, modes[own], own);
        snprintf(line, sizeof line, "explain none --text short --device cuda --dtype f32");
        warns(line, modes[own], own);
    }
}

static int make_inputs(void **state)
{
    (void)state;
    return program_open() != 0 || tiny_checkpoint(at("none"), &(struct tiny){.seed = 1}) != 0 ||
                   tiny_checkpoint(
                       at("window"),
                       &(struct tiny){.seed = 2,
                                      .settings = "\"window\": 5, \"train_length\": 16,"}) != 0 ||
                   tiny_text(at("text"), 40000, 7) != 0 || tiny_text(at("short"), 20, 8) != 0
               ? -1
               : 0;
}

int main(void)
{
    char *plugin = getenv("REACH_CUDA") ? realpath(getenv("REACH_CUDA"), NULL)
                                        : NULL; /* the program is started in another folder */

    if (plugin)
        setenv("REACH_CUDA", plugin, 1);
    free(plugin);
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_batch_gives_the_same_files),
                                       cmocka_unit_test(interrupted_runs_go_on),
                                       cmocka_unit_test(slow_products_are_told)};

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
