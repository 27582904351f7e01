/* `reach erf` on mixtures of experts: choices that rounding decides are told and kept, and every
 * option of the run gives what it gives for other models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "io/results/result.h"
#include "tests/changed.h"
#include "tests/program.h"
#include "tests/results.h"
#include "tests/scratch.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/goldens/mixtral"
enum { POSITIONS = 97, SEGMENTS = 2, VALUES = 96 }; /* of the golden; of its router */

static char tokens[PATH_MAX];

/* Copies the golden to BASE/NAME, with all numbers of the last layer's router set to one in bf16.
 */
static void write_model(const char *name, uint16_t value)
{
    change_tensor(GOLDEN, name, "model.layers.1.block_sparse_moe.gate.weight", value, VALUES);
}

/* Many tokens, so that a run lasts. */
static void write_tokens(void)
{
    enum { COUNT = 1 << 18, HEADER = 128 };
    unsigned char *bytes = calloc(1, HEADER + 4 * COUNT);
    assert_non_null(bytes);
    memset(bytes, ' ', HEADER);
    memcpy(bytes, "\x93NUMPY\1\0\x76\0", 10);
    snprintf((char *)bytes + 10, HEADER - 10,
             "{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", COUNT);
    bytes[10 + strlen((char *)bytes + 10)] = ' ';
    bytes[HEADER - 1] = '\n';
    for (size_t i = 0; i < COUNT; i++)
        bytes[HEADER + 4 * i] = (unsigned char)(i * i / 7 % 64);
    scratch_write(base, "many.npy", bytes, HEADER + 4 * COUNT);
    free(bytes);
}

static int setup(void **state)
{
    (void)state;
    if (program_open() != 0 || !realpath(GOLDEN "/tokens.npy", tokens))
        return -1;
    write_tokens();
    write_model("ties", 0);
    write_model("nan", 0x7FC0);
    return 0;
}

/* `reach erf` into BASE/OUT; returns what it said on standard error, which the caller frees. */
static char *measure(const char *model, const char *options, const char *out)
{
    char line[2 * PATH_MAX];
    struct outcome o;

    snprintf(line, sizeof line, "erf m=%s --tokens %s --bootstrap 0 --format svg --quiet %s -o %s",
             model, tokens, options, out);
    o = finish(start(line, "/nonexistent"));
    if (o.status != 0)
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    free(o.out);
    return o.err;
}

static void assert_same_result(const char *a, const char *b)
{
    struct result x = read_result(a), y = read_result(b);
    const struct result_field *f = result_main(x.models), *g = result_main(y.models);

    assert_int_equal(x.models->segments, y.models->segments);
    assert_int_equal(f->near_ties, g->near_ties);
    assert_memory_equal(f->norm, g->norm, x.models->segments * f->positions * sizeof *f->norm);
    assert_memory_equal(f->logprob, g->logprob, x.models->segments * sizeof *f->logprob);
    result_free(&x);
    result_free(&y);
}

/* The last layer computes one row a segment: its one choice is between equal scores. */
static void near_ties_are_told_and_kept(void **state)
{
    static const char words[] =
        "m: 2 expert choices of a token in a layer within rounding error of a tie";
    char line[PATH_MAX];
    struct outcome o;
    struct result r;
    char *said;
    (void)state;

    said = measure("ties", "", "whole");
    if (!strstr(said, words))
        fail_msg("said: %s", said);
    free(said);
    r = read_result("whole");
    assert_string_equal(result_attribute(result_main(r.models), "near_ties"), "2");
    result_free(&r);

    free(measure("ties", "--shard 1/2", "part1"));
    said = measure("ties", "--shard 2/2", "part2");
    assert_non_null(
        strstr(said, "m: 1 expert choice of a token in a layer within rounding error of a tie"));
    free(said);
    snprintf(line, sizeof line, "merge part1 part2 --format svg -o merged");
    o = reach(line);
    if (o.status != 0 || !strstr(o.err, words))
        fail_msg("reach %s: exit %d: %s", line, o.status, o.err);
    outcome_free(&o);
    assert_same_result("whole", "merged");

    assert_non_null(realpath(GOLDEN, line));
    said = measure(line, "", "golden");
    assert_null(strstr(said, "rounding"));
    free(said);
    r = read_result("golden");
    assert_null(result_attribute(result_main(r.models), "near_ties"));
    result_free(&r);
}

/* What a killed run counted is counted once. */
static void near_ties_of_a_run_that_goes_on(void **state)
{
    static const char line[] = "erf m=ties --tokens many.npy --length 98 --segments 2000 --threads "
                               "1 --bootstrap 0 --format svg --quiet";
    char now[PATH_MAX];
    struct outcome o;
    (void)state;
    snprintf(now, sizeof now, "%s -o at-once", line);
    o = reach(now);
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    snprintf(now, sizeof now, "%s -o killed", line);
    o = run_until_journal(now, "killed", SIGKILL, 2048);
    outcome_free(&o);
    snprintf(now, sizeof now, "%s -o killed --resume", line);
    o = reach(now);
    if (o.status != 0 || !strstr(o.err, "m: 2000 expert choices"))
        fail_msg("reach %s: exit %d: %s", now, o.status, o.err);
    outcome_free(&o);
    assert_same_result("at-once", "killed");
}

/* Memory and threads change no bit; other options run, and what they change is another number. */
static void options_of_a_run(void **state)
{
    static const char *const same[] = {"--memory 40M --threads 1", "--threads 2"},
                             *const other[] = {"--window 9",       "--rope linear:factor=4",
                                               "--layer all",      "--attention",
                                               "--attribution ig", "--attribution smoothgrad",
                                               "--dtype f64"};
    (void)state;
    free(measure("ties", "", "plain"));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        free(measure("ties", same[i], "same"));
        assert_same_result("plain", "same");
        scratch_remove(strdup(at("same")));
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct result r;

        free(measure("ties", other[i], "other"));
        r = read_result("other");
        assert_int_equal(r.models->segments, SEGMENTS);
        assert_int_equal(result_main(r.models)->summary.excluded, 0);
        result_free(&r);
        scratch_remove(strdup(at("other")));
    }
}

/* A router without numbers leaves no segment, and the layer is named. */
static void router_without_numbers(void **state)
{
    char line[2 * PATH_MAX];
    (void)state;
    snprintf(line, sizeof line,
             "erf m=nan --tokens %s --bootstrap 0 --format svg --quiet -o nothing", tokens);
    struct outcome o = reach(line);
    if (o.status != 1 ||
        !strstr(o.err,
                "none of 2 segments is usable: the output of layer 2 of 2 is the first that is not "
                "finite"))
        fail_msg("exit %d: %s", o.status, o.err);
    outcome_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_ties_are_told_and_kept),
                                       cmocka_unit_test(near_ties_of_a_run_that_goes_on),
                                       cmocka_unit_test(options_of_a_run),
                                       cmocka_unit_test(router_without_numbers)};

    return cmocka_run_group_tests_name("experts", tests, setup, program_close);
}
