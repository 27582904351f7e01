/* `reach erf` on a machine that stops it or lacks something: interruption and --resume, limits, no
 * gnuplot, no driver, and any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/curve.h"
#include "commands/erf.h"
#include "io/formats/csv.h"
#include "io/results/result.h"
#include "tests/erf_inputs.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- results ---- */

static void threads_change_no_byte(void **state)
{
    (void)state;
    expect("erf window none --text text --length 64 --segments 9 --quiet --threads 1 -o threads-1",
           0, NULL);
    expect("erf window none --text text --length 64 --segments 9 --quiet --threads 2 -o threads-2",
           0, NULL);
    assert_same_erf("threads-1", "threads-2");
}

static void without_gnuplot(void **state)
{
    struct outcome o = finish(
        start("erf window --text text --length 64 --segments 3 -o blind", "/nonexistent"));

    (void)state;
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "reach erf: gnuplot: not found"));
    assert_true(exists(at("blind/erf.gp")) && exists(at("blind/curve.csv")) &&
                exists(at("blind/erf.h5")));
    assert_false(exists(at("blind/erf.png")) || exists(at("blind/erf.part")));
    outcome_free(&o);
}

/* gnuplot is there and fails: the results are written and printed, and the exit status says that
 * something is missing. */
static void pictures_that_fail_are_told(void **state)
{
    FILE *f;
    struct outcome o;

    (void)state;
    assert_int_equal(mkdir(at("bin"), 0777), 0);
    assert_non_null(f = fopen(at("bin/gnuplot"), "w"));
    fputs("#!/bin/sh\necho no such font >&2\nexit 3\n", f);
    fclose(f);
    assert_int_equal(chmod(at("bin/gnuplot"), 0777), 0);
    o = finish(start(
        "erf window --text text --length 64 --segments 3 --quiet --check-precision 1 -o undrawn",
        at("bin")));
    if (o.status != 1 || lines(o.err) != 1 ||
        !strstr(o.err, "reach erf: gnuplot: cannot draw undrawn/erf.gp: no such font") ||
        !strstr(o.out, "largest deviations"))
        fail_msg("exit %d: %s%s", o.status, o.err, o.out);
    outcome_free(&o);
    assert_true(exists(at("undrawn/erf.gp")) && exists(at("undrawn/erf.h5")));
    assert_false(exists(at("undrawn/erf.png")) || exists(at("undrawn/erf.part")));
    static const char *const others[] = {
        "ppl window --text text --context 8 --segments 3 --quiet -o undrawn",
        "trf alibi --heads 2 --length 64 -o undrawn", "bias alibi --heads 2 --length 16 -o undrawn",
        "fit alibi --heads 2 --form a+b*t --range 0:9 -o undrawn",
        "plot undrawn/erf.h5 -o undrawn-again"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = finish(start(others[i], at("bin")));
        if (o.status != 1 || lines(o.err) != 1 || !strstr(o.err, ": no such font"))
            fail_msg("reach %s\nexit %d: %s", others[i], o.status, o.err);
        outcome_free(&o);
        o = finish(start(others[i], "/nonexistent"));
        outcome_free(&o);
    }
}

/* A file that may not grow further is told like a full disk, and what was measured is kept. */
static void a_limit_on_files_is_told(void **state)
{
    char command[9000];
    struct outcome o;

    (void)state;
    snprintf(command, sizeof command,
             "cd '%s' && ulimit -f 8 && '%s' erf window --text text --length 64 --segments 40 "
             "--stride 64 --quiet -o limited "
             ">stdout 2>stderr",
             base, getenv("REACH"));
    int status = system(command);
    o = finish(-1);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 || lines(o.err) != 1 ||
        !strstr(o.err, "limited/erf.part: cannot be written: File too large"))
        fail_msg("status %#x: %s", (unsigned)status, o.err);
    outcome_free(&o);
    expect(
        "erf window --text text --length 64 --segments 40 --stride 64 --quiet -o limited --resume",
        0, NULL);
}

/* However little address space there is, a run ends with its result or with one line that says why
 * not. Libraries take some 100 MB of it; under AddressSanitizer there are terabytes, and no limit
 * can be set. */
static void a_limit_on_memory_is_told(void **state)
{
    char command[9000];
    int ended[2] = {0};

    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    if (getenv("REACH_EMULATED")) /* an emulator's own memory would be limited */
        skip();
    for (int kilobytes = 110000; kilobytes <= 400000; kilobytes += 13000) {
        snprintf(command, sizeof command,
                 "cd '%s' && ulimit -v %d && PATH=/nonexistent OMP_NUM_THREADS=4 '%s' erf window "
                 "--text text --length 64 --segments 4 "
                 "--quiet -o limited --force >stdout 2>stderr",
                 base, kilobytes, getenv("REACH"));
        int status = system(command), code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        struct outcome o = finish(-1);
        if (code == 127 && strstr(o.err, "shared libraries")) /* not even the program */
            continue;
        if (code != 0 && code != 1)
            fail_msg("%d kB: status %#x: %s", kilobytes, (unsigned)status, o.err);
        if (lines(o.err) != code) /* nothing is said of a run that ends well */
            fail_msg("%d kB: exit %d: %s", kilobytes, code, o.err);
        ended[code]++;
        outcome_free(&o);
    }
    if (!ended[0] || !ended[1])
        fail_msg("%d ended well, %d did not", ended[0], ended[1]);
}

/* Without CUDA's driver a plug-in is not looked at, unless --device cuda asks for it: here it is no
 * library at all. */
static void a_plug_in_needs_a_driver(void **state)
{
    char path[PATH_MAX];
    FILE *f;
    struct outcome o;

    (void)state;
    /* under an emulator what REACH names starts a program that lies elsewhere */
    if (dlopen("libcuda.so.1", RTLD_LAZY) || getenv("REACH_CUDA") || getenv("REACH_EMULATED"))
        skip();
    snprintf(path, sizeof path, "%.*s/reach-cuda.so",
             (int)(strrchr(getenv("REACH"), '/') - getenv("REACH")), getenv("REACH"));
    assert_non_null(f = fopen(path, "w"));
    fputs("no library", f);
    fclose(f);
    o = reach(
        "erf window --text text --length 64 --segments 3 --quiet -o driverless --device auto");
    if (o.status != 0 || *o.err)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    expect(
        "erf window --text text --length 64 --segments 3 --quiet -o driverless-cuda --device cuda",
        1, "cannot be loaded");
    unlink(path);
}

/* ---- interruption ---- */

static const char long_run[] = "erf window none --text text --length 64 --segments 250 --stride 64 "
                               "--dtype f64 --bootstrap 10 --quiet -o %s %s";

/* The long run in FOLDER, sent `number` once about 40 records are there. */
static struct outcome interrupted(const char *folder, int number)
{
    char line[512];

    snprintf(line, sizeof line, long_run, folder, "");
    return run_until_journal(line, folder, number, 40 * 64 * sizeof(double));
}

static void interrupted_runs_go_on(void **state)
{
    char line[512];
    struct outcome o;

    (void)state;
    snprintf(line, sizeof line, long_run, "run-whole", "");
    o = reach(line);
    assert_int_equal(o.status, 0);
    outcome_free(&o);

    /* asked to stop: tells what is kept */
    o = interrupted("run-stopped", SIGINT);
    if (o.status != 1 || lines(o.err) != 1 || !strstr(o.err, "--resume") ||
        !strstr(o.err, "of 500 segments are kept"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_true(exists(at("run-stopped/erf.part")));
    assert_false(exists(at("run-stopped/erf.h5")));
    /* other settings, and a plain start over it, are refused */
    snprintf(line, sizeof line, long_run, "run-stopped", "--resume --seed 5");
    expect(line, 1, "seed");
    snprintf(line, sizeof line, long_run, "run-stopped", "--resume --keep-first 2");
    expect(line, 1, "--keep-first");
    snprintf(line, sizeof line, long_run, "run-stopped", "");
    expect(line, 1, "--resume");
    snprintf(line, sizeof line, long_run, "run-stopped", "--resume --threads 1");
    o = reach(line);
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_false(exists(at("run-stopped/erf.part")));
    assert_same_erf("run-whole", "run-stopped");

    /* killed, with half a record at the end of the journal */
    o = interrupted("run-killed", SIGKILL);
    assert_int_equal(o.status, -SIGKILL);
    outcome_free(&o);
    assert_int_equal(truncate(at("run-killed/erf.part"), (off_t)journal_size("run-killed") - 100),
                     0);
    snprintf(line, sizeof line, long_run, "run-killed", "--resume");
    o = reach(line);
    if (o.status != 0)
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same_erf("run-whole", "run-killed");
}

/* A flipped byte in the middle of the journal costs one record, and a line says so. */
static void a_damaged_record_is_told(void **state)
{
    char line[512], byte = 0;
    struct outcome o = interrupted("run-flipped", SIGKILL);
    int journal = open(at("run-flipped/erf.part"), O_RDWR);
    off_t middle = (off_t)journal_size("run-flipped") / 2;

    (void)state;
    outcome_free(&o);
    assert_true(journal >= 0);
    assert_int_equal(pread(journal, &byte, 1, middle), 1);
    byte ^= 4;
    assert_int_equal(pwrite(journal, &byte, 1, middle), 1);
    close(journal);
    snprintf(line, sizeof line, long_run, "run-flipped", "--resume");
    o = reach(line);
    if (o.status != 0 || lines(o.err) != 1 || !strstr(o.err, "run-flipped/erf.part: 1 of ") ||
        !strstr(o.err, "records is skipped: its checksum is wrong"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
    assert_same_erf("run-whole", "run-flipped");
}

/* Sums of attention whose journal is gone are of no run. */
static void sums_without_a_journal_are_dropped(void **state)
{
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(at("sums"), 0777), 0);
    f = fopen(at("sums/erf.part.attention"), "w");
    assert_non_null(f);
    fputs("of another run", f);
    fclose(f);
    expect("erf window --text text --length 64 --segments 3 --attention --quiet -o sums --resume",
           0, NULL);
    assert_false(exists(at("sums/erf.part.attention")));
}

static void resume_without_a_journal_starts_afresh(void **state)
{
    (void)state;
    expect("erf window --text text --length 64 --segments 3 --quiet -o afresh --resume", 0, NULL);
    assert_true(exists(at("afresh/erf.h5")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_no_byte),
        cmocka_unit_test(without_gnuplot),
        cmocka_unit_test(pictures_that_fail_are_told),
        cmocka_unit_test(a_limit_on_files_is_told),
        cmocka_unit_test(a_limit_on_memory_is_told),
        cmocka_unit_test(a_plug_in_needs_a_driver),
        cmocka_unit_test(interrupted_runs_go_on),
        cmocka_unit_test(a_damaged_record_is_told),
        cmocka_unit_test(sums_without_a_journal_are_dropped),
        cmocka_unit_test(resume_without_a_journal_starts_afresh),
    };

    return cmocka_run_group_tests(tests, erf_inputs, program_close);
}
