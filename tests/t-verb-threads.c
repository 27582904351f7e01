/* Threads as an environment grants them: few, none at all, in tiny stacks. Either the program gives
 * the bytes of a plain run, or it says in a line what it lacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "run/threads.h"
#include "tests/program.h"
#include "tests/tiny.h"

#include <cmocka.h>
#include <dnnl.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERF "erf window rotary --text text --length 80 --segments 5 --bootstrap 20 --quiet --force"
#define PPL "ppl window --text text --context 32,72 --protocol nonoverlapping --quiet --force"

static const char *const erf_files[] = {"erf.h5", "curve.csv", "summary.csv", "erf.gp", NULL},
                         *const ppl_files[] = {"ppl.csv", NULL};

/* Sets or unsets the variables of "NAME=VALUE NAME=VALUE". */
static void change(const char *settings, int set)
{
    char copy[512], *rest = copy;

    snprintf(copy, sizeof copy, "%s", settings);
    for (char *name; (name = strsep(&rest, " ")) != NULL;) {
        char *value = strchr(name, '=');

        if (!value)
            continue;
        *value++ = 0;
        assert_int_equal(set ? setenv(name, value, 1) : unsetenv(name), 0);
    }
}

/* Runs LINE with these settings, without gnuplot; must succeed. */
static struct outcome run(const char *settings, const char *line)
{
    struct outcome o;

    change(settings, 1);
    o = finish(start(line, "/nowhere"));
    change(settings, 0);
    if (o.status != 0)
        fail_msg("%s: reach %s: exit %d: %s", settings, line, o.status, o.err);
    return o;
}

static int setup(void **state)
{
    static const char *const unset[] = {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT",
                                        "OMP_DYNAMIC",     "OMP_MAX_ACTIVE_LEVELS",
                                        "OMP_STACKSIZE",   "OMP_WAIT_POLICY"};
    struct tiny window = {.hidden = 64, .heads = 4, .settings = "\"window\": 24,", .seed = 1},
                rotary = {.hidden = 64, .heads = 4, .layers = 1, .seed = 2};

    (void)state;
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    if (program_open() != 0 || tiny_checkpoint(at("window"), &window) != 0 ||
        tiny_checkpoint(at("rotary"), &rotary) != 0 || tiny_text(at("text"), 1000, 3) != 0)
        return -1;
    return 0;
}

/* The files of BASE/other are those of BASE/plain. */
static void compare(const char *settings, const char *const *files)
{
    for (; *files; files++) {
        size_t sizes[2];
        char *texts[2] = {slurp(at("plain/%s", *files), &sizes[0]),
                          slurp(at("other/%s", *files), &sizes[1])};

        if (!texts[0] || !texts[1] || sizes[0] != sizes[1] ||
            memcmp(texts[0], texts[1], sizes[0]) != 0)
            fail_msg("%s: %s differs from that of a plain run", settings, *files);
        free(texts[0]);
        free(texts[1]);
    }
}

static void environments_change_no_byte(void **state)
{
    static const char *const settings[] = {
        "OMP_THREAD_LIMIT=1",
        "OMP_THREAD_LIMIT=2 OMP_NUM_THREADS=5",
        "OMP_DYNAMIC=true",
        "OMP_DYNAMIC=true OMP_NUM_THREADS=64",
        "OMP_MAX_ACTIVE_LEVELS=0",
        "OMP_MAX_ACTIVE_LEVELS=1",
        "OMP_NUM_THREADS=1",
        "OMP_NUM_THREADS=1,1",
        "OMP_NUM_THREADS=3,2 OMP_NESTED=true",
        "OMP_NUM_THREADS=64",
        "OMP_PROC_BIND=true OMP_PLACES=cores",
        "OMP_PROC_BIND=spread OMP_PLACES={0}",
        "OMP_WAIT_POLICY=active",
        "OMP_CANCELLATION=true",
        "OMP_SCHEDULE=guided,3",
        "OMP_TARGET_OFFLOAD=disabled",
        "OMP_STACKSIZE=1M",
        "GOMP_CPU_AFFINITY=0",
        "GOMP_SPINCOUNT=0",
        "KMP_LIBRARY=serial",
        "KMP_DEVICE_THREAD_LIMIT=1",
        "KMP_BLOCKTIME=0 KMP_AFFINITY=compact",
        "ONEDNN_DEFAULT_FPMATH_MODE=BF16",
        "ONEDNN_VERBOSE=2 DNNL_VERBOSE=2",
    };
    struct outcome plain, other;

    (void)state;
    plain = run("", ERF " -o plain");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        other = run(settings[i], ERF " -o other");
        assert_string_equal(other.out, plain.out);
        compare(settings[i], erf_files);
        outcome_free(&other);
    }
    for (int threads = 1; threads <= 4; threads += 3) {
        char line[256];

        snprintf(line, sizeof line, ERF " -o other --threads %d", threads);
        other = run("OMP_THREAD_LIMIT=3", line);
        compare(line, erf_files);
        outcome_free(&other);
    }
    outcome_free(&plain);
}

static void one_processor_changes_no_byte(void **state)
{
    struct outcome plain = run("", ERF " -o plain"), other;
    cpu_set_t all, one;
    int first = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    other = run("OMP_NUM_THREADS=2 OMP_DYNAMIC=true", ERF " -o other");
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    compare("one processor", erf_files);
    outcome_free(&plain);
    outcome_free(&other);
}

static void perplexity_stays(void **state)
{
    static const char *const settings[] = {"OMP_THREAD_LIMIT=1", "OMP_DYNAMIC=true",
                                           "OMP_MAX_ACTIVE_LEVELS=0", "OMP_NUM_THREADS=7"};
    struct outcome o = run("", PPL " -o plain");

    (void)state;
    outcome_free(&o);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        o = run(settings[i], PPL " -o other");
        outcome_free(&o);
        compare(settings[i], ppl_files);
    }
}

/* Runs `reach LINE` with these settings, which must end with 1, say `said` in its last line and,
 * what OpenMP's own library says of its environment aside, nothing more. */
static void refuse(const char *settings, const char *line, const char *said)
{
    struct outcome o;
    const char *last;

    change(settings, 1);
    o = reach(line);
    change(settings, 0);
    last = strstr(o.err, "reach ");
    if (o.status != 1 || *o.out || !last || lines(last) != 1 || !strstr(last, said))
        fail_msg("%s: exit %d, expected to be told \"%s\": %s%s", settings, o.status, said, o.err,
                 o.out);
    outcome_free(&o);
}

static void stacks_are_checked(void **state)
{
    static const char *const verbs[] = {ERF " -o refused", PPL " -o refused",
                                        "merge plain -o refused", "info window"};
    static const struct {
        const char *settings, *said;
    } cases[] = {
        {"OMP_STACKSIZE=16K", "OMP_STACKSIZE=16K: too little stack for a thread"},
        {"OMP_STACKSIZE=1K", "OMP_STACKSIZE=1K"},
        {"OMP_STACKSIZE=0", "OMP_STACKSIZE=0"},
        {"OMP_STACKSIZE=20", "OMP_STACKSIZE=20"},
        {"OMP_STACKSIZE=40000B", "OMP_STACKSIZE=40000B: too little"},
        {"OMP_STACKSIZE=-1", "OMP_STACKSIZE=-1: not a size"},
        {"OMP_STACKSIZE=much", "OMP_STACKSIZE=much: not a size"},
        {"OMP_STACKSIZE=2MB", "OMP_STACKSIZE=2MB: not a size"},
        {"OMP_STACKSIZE=99999999999999999999", "not a size"},
        {"OMP_STACKSIZE=99999999999G", "not a size"},
        {"OMP_STACKSIZE=100000G", "2 threads cannot be started"},
        {"GOMP_STACKSIZE=16", "GOMP_STACKSIZE=16: too little"},
        {"OMP_NUM_THREADS=100000", "OMP_NUM_THREADS: 100000 threads (expected at most 4096)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t j = 0; j < (i == 0 ? sizeof verbs / sizeof *verbs : 1); j++)
            refuse(cases[i].settings, verbs[j], cases[i].said);
    assert_false(exists(at("refused")));
}

/* The least stack that is accepted is enough, for every kind of work. */
static void least_stack_is_enough(void **state)
{
    static const char *const lines[] = {ERF " -o other",
                                        ERF " -o other --dtype f64",
                                        ERF " -o other --attention --attribution ig",
                                        PPL " -o other",
                                        "info window",
                                        "info window --dtype f64"};

    char settings[64];

    (void)state;
    snprintf(settings, sizeof settings, "OMP_STACKSIZE=%dK OMP_NUM_THREADS=4",
             THREADS_STACK_LEAST >> 10);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct outcome o = run(settings, lines[i]);

        outcome_free(&o);
    }
}

/* A oneDNN whose product is wrong. */
static void wrong_products_end_the_run(void **state)
{
    char settings[4400];

    (void)state;
    snprintf(settings, sizeof settings,
             "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=%s/tests/wrong-sgemm.so", built);
    refuse(settings, ERF " -o refused", "results of a matrix product are wrong");
    refuse(settings, PPL " -o refused", "results of a matrix product are wrong");
    assert_false(exists(at("refused")));
}

/* The run of oneDNN 3, which multiplies without generated code where it gets no memory for it: its
 * results. */
static void require_results(const char *settings, const char *line)
{
    struct outcome o;

    change(settings, 1);
    o = reach(line);
    change(settings, 0);
    if (o.status != 0 || !*o.out)
        fail_msg("%s: exit %d, expected results: %s%s", settings, o.status, o.err, o.out);
    outcome_free(&o);
}

/* A oneDNN that gets no memory for the code it generates, from the first request or a later one on.
 * What it had begun is lost. */
static void no_code_ends_the_run(void **state)
{
    static const int from[] = {0, 1, 7};
    char settings[4400];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        snprintf(settings, sizeof settings,
                 "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 OMP_NUM_THREADS=4 "
                 "NO_CODE_FROM=%d "
                 "LD_PRELOAD=%s/tests/wrong-no_code.so",
                 from[i], built);
        if (dnnl_version()->major >= 3) {
            require_results(settings, ERF " -o slow --force");
            require_results(settings, PPL " -o slow-ppl --force");
            continue;
        }
        refuse(settings, ERF " -o refused", "oneDNN: the code of its products cannot be made");
        refuse(settings, PPL " -o refused", "oneDNN: the code of its products cannot be made");
        assert_false(exists(at("refused")));
    }
}

/* Instructions that oneDNN is held to change last places, so the name that results keep tells them.
 */
static void instructions_are_named(void **state)
{
    struct outcome o = run("ONEDNN_MAX_CPU_ISA=SSE41", "version");

    (void)state;
#if defined(__x86_64__)
    assert_non_null(strstr(o.out, " sse41)"));
#endif
    outcome_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments_change_no_byte),
        cmocka_unit_test(one_processor_changes_no_byte),
        cmocka_unit_test(perplexity_stays),
        cmocka_unit_test(stacks_are_checked),
        cmocka_unit_test(least_stack_is_enough),
        cmocka_unit_test(wrong_products_end_the_run),
        cmocka_unit_test(no_code_ends_the_run),
        cmocka_unit_test(instructions_are_named),
    };
    return cmocka_run_group_tests_name("threads", tests, setup, program_close);
}
