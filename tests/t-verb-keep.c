/* --keep and --scratch of `reach erf`, `explain` and `info`, as a user meets them; see program.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH = 512, N = LENGTH - 1, SEGMENTS = 3 };
#define SOME "erf deep --text text --bootstrap 20 --quiet --device cpu"
#define RUN SOME " --length 512 --segments 3"
#define MANY SOME " --length 128 --segments 60"

/* What `reach info` plans, in bytes as it shows them: of memory, and on disk. */
static void planned(const char *line, double *memory, double *disk)
{
    struct outcome o = reach(line);
    char unit[3] = "";
    const char *at_memory, *at_disk;

    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    at_memory = strstr(o.out, "memory         ");
    assert_non_null(at_memory);
    assert_int_equal(sscanf(at_memory, "memory %lf %2s", memory, unit), 2);
    *memory *= strcmp(unit, "MB") == 0 ? 1e6 : 1e3;
    *disk = 0;
    at_disk = strstr(o.out, "on disk for the inputs of");
    if (at_disk) {
        while (strncmp(at_disk, "), ", 3) != 0)
            at_disk--;
        assert_int_equal(sscanf(at_disk, "), %lf %2s", disk, unit), 2);
        *disk *= strcmp(unit, "MB") == 0 ? 1e6 : 1e3;
    }
    outcome_free(&o);
}

/* With a budget that all in memory are above: the bytes of a run that has room, nothing left in the
 * folder, and a plan that says what it takes. */
static void disk_changes_nothing(void **state)
{
    char line[256];
    double memory, disk, less, none;
    struct outcome o;

    (void)state;
    succeed(RUN " -o whole");
    planned("info deep --length 512 --memory 2G --scratch disk", &memory, &disk);
    assert_true(disk == 0);
    /* the least without disk: by what the refusal of too little says */
    o = reach("info deep --length 512 --memory 2M");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "a segment of 512 tokens needs "));
    memory = atof(strstr(o.err, "needs ") + 6) * 1e6;
    outcome_free(&o);
    for (int i = 1; i <= 3; i++) {
        less = memory - 0.2e6 * i;
        snprintf(line, sizeof line, "info deep --length 512 --memory %.0f", less);
        o = reach(line);
        assert_int_equal(o.status, 1);
        assert_non_null(strstr(o.err, "would fit, or --scratch DIR with this length; --memory"));
        outcome_free(&o);
        snprintf(line, sizeof line, "info deep --length 512 --memory %.0f --scratch disk", less);
        planned(line, &none, &disk);
        assert_true(none <= less + 1e5 && disk >= 0.15e6 * i);
        snprintf(line, sizeof line, RUN " --memory %.0f --scratch disk -o on-disk-%d", less, i);
        succeed("%s", line);
        snprintf(line, sizeof line, "on-disk-%d", i);
        assert_same_file(at("whole/erf.h5"), at("%s/erf.h5", line));
        assert_same_file(at("whole/curve.csv"), at("%s/curve.csv", line));
    }
    assert_int_equal(rmdir(at("disk")), 0); /* nothing was left in it */
    assert_int_equal(mkdir(at("disk"), 0700), 0);
}

/* c moves a little, log p not at all, and the result says what was asked for. */
static void bf16_is_told(void **state)
{
    struct result plain, kept;
    double most = 0;

    (void)state;
    succeed(RUN " --force -o whole");
    succeed(RUN " --keep bf16 -o kept");
    succeed(RUN " --keep f32 -o named");
    assert_same_file(at("whole/erf.h5"), at("named/erf.h5"));
    plain = read_result("whole");
    kept = read_result("kept");
    assert_string_equal(result_attribute(result_main(&kept.models[0]), "keep"), "bf16");
    assert_null(result_attribute(result_main(&plain.models[0]), "keep"));
    assert_non_null(strstr(kept.command, "--keep bf16"));
    assert_memory_equal(result_main(&plain.models[0])->logprob,
                        result_main(&kept.models[0])->logprob, SEGMENTS * sizeof(double));
    for (size_t i = 0; i < N; i++)
        most = fmax(most, fabs(result_main(&plain.models[0])->summary.c[i] -
                               result_main(&kept.models[0])->summary.c[i]));
    assert_true(most > 0 && most <= 2e-2); /* a random model */
    result_free(&plain);
    result_free(&kept);
    expect("info deep --length 512 --keep bf16", 0,
           "inputs of layers in bf16, the rest recomputed");
    expect("erf deep --text text --length 64 --segments 2 --keep bf16 --check-precision 2 --format "
           "svg --quiet -o checked",
           0, "5e-03");
    expect("explain deep --text short --keep bf16 --scratch disk", 0, "gradient norm comes from");
}

/* A run goes on with what it began with. */
static void resume_keeps_to_it(void **state)
{
    struct outcome o = run_until_journal(MANY " --keep bf16 -o stopped", "stopped", SIGINT, 8000);

    (void)state;
    outcome_free(&o);
    expect(MANY " -o stopped --resume", 1, "keep");
    expect(MANY " --keep bf16 --scratch /nonexistent -o stopped --resume", 1, "/nonexistent");
    succeed(MANY " --keep bf16 --scratch disk -o stopped --resume");
    succeed(MANY " --keep bf16 -o straight");
    assert_same_file(at("stopped/erf.h5"), at("straight/erf.h5"));
}

static void refusals(void **state)
{
    (void)state;
    expect(RUN " -o no --keep bf16 --dtype f64", 2, "--keep bf16 and --dtype f64");
    expect("info deep --scratch /nonexistent", 1, "/nonexistent: cannot hold inputs of layers");
    expect("info deep --keep bf16 --dtype f64", 2, "--keep bf16 and --dtype f64");
    expect(RUN " -o no --keep f16", 2, "f32 or bf16");
    expect(RUN " -o no --scratch nowhere", 1, "nowhere: cannot hold inputs of layers");
    expect(RUN " -o no --scratch text", 1, "Not a directory");
    expect("ppl deep --text text --context 8 --keep bf16 -o no", 2, "--keep");
    expect("ppl deep --text text --context 8 --scratch disk -o no", 2, "--scratch");
    expect("explain whole --segment 1 --keep bf16", 2, "--keep");
}

static int open_all(void **state)
{
    (void)state;
    return program_open() ||
                   tiny_checkpoint(at("deep"),
                                   &(struct tiny){.layers = 12, .hidden = 64, .seed = 3}) ||
                   tiny_text(at("text"), 20000, 1) || tiny_text(at("short"), 60, 2) ||
                   mkdir(at("disk"), 0700)
               ? -1
               : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(disk_changes_nothing),
                                       cmocka_unit_test(bf16_is_told),
                                       cmocka_unit_test(resume_keeps_to_it),
                                       cmocka_unit_test(refusals)};

    return cmocka_run_group_tests_name("verb-keep", tests, open_all, program_close);
}
