/* How long it takes is said before one waits: by `reach info --segments`, and by `reach erf`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "run/progress.h"
#include "tests/program.h"
#include "tests/tiny.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void durations(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0.00123, "0.0012 s"},   {0.42, "0.42 s"},     {9.94, "9.9 s"},
                 {12.4, "12 s"},          {99.4, "99 s"},       {99.6, "2 min"},
                 {5969, "99 min"},        {5971, "1 h 40 min"}, {7260, "2 h 01 min"},
                 {360000, "100 h 00 min"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DURATION_TEXT];

        assert_string_equal(duration_text(text, cases[i].seconds), cases[i].text);
    }
}

static void info_of_a_run(void **state)
{
    struct outcome o = reach("info model --length 64 --segments 1000");

    (void)state;
    assert_int_equal(o.status, 0);
    /* 63 norms of 8 + 4 bytes, and 64 ids of 4, for each segment */
    assert_non_null(strstr(o.out, "\nrun            about "));
    assert_non_null(strstr(o.out, " for 1000 segments, up to 1.01 MB on the disk\n"));
    outcome_free(&o);
    o = reach("info model --length 64");
    assert_null(strstr(o.out, "\nrun "));
    outcome_free(&o);
    expect("info model --segments 0", 2, "--segments");
}

static int is_said(const struct system_call *c, void *unused)
{
    char *text = c->made ? slurp(at("stderr"), NULL) : NULL;
    int said = text && strstr(text, "this takes about ");

    (void)unused;
    free(text);
    return said;
}

static void long_runs_say_so_first(void **state)
{
    struct outcome o = end_at("erf large --text text --length 1024 --stride 64 --segments 4000 "
                              "--memory 64M -o long",
                              SIGINT, is_said, NULL);

    (void)state;
    if (!strstr(o.err, "this takes about "))
        fail_msg("%s", o.err);
    outcome_free(&o);
    o = reach("erf model --text text --length 64 --segments 4 -o short");
    assert_int_equal(o.status, 0);
    assert_null(strstr(o.err, "this takes about "));
    outcome_free(&o);
}

static int make_inputs(void **state)
{
    (void)state;
    return program_open() != 0 || tiny_checkpoint(at("model"), &(struct tiny){.seed = 1}) != 0 ||
                   tiny_checkpoint(at("large"), &(struct tiny){.seed = 2,
                                                               .hidden = 256,
                                                               .layers = 8,
                                                               .heads = 8}) != 0 ||
                   tiny_text(at("text"), 300000, 3) != 0
               ? -1
               : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(durations), cmocka_unit_test(info_of_a_run),
                                       cmocka_unit_test(long_runs_say_so_first)};

    return cmocka_run_group_tests(tests, make_inputs, program_close);
}
