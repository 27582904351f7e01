/* commands/terminal.c: lines of progress where standard error is not a terminal. The test moves the
 * start into the past instead of waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/terminal.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *held; /* standard error meanwhile */
static int before;

static void hold(struct terminal *t, int quiet)
{
    struct error e;

    fflush(stderr);
    held = tmpfile();
    before = dup(STDERR_FILENO);
    assert_true(held && before >= 0 && dup2(fileno(held), STDERR_FILENO) >= 0);
    assert_int_equal(terminal_open(t, "erf", quiet, NULL, "reach erf m", &e), 0);
}

/* What was printed; the caller frees. */
static char *release(void)
{
    char *text = calloc(1, 1 << 16);
    size_t size;

    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    assert_non_null(text);
    rewind(held);
    size = fread(text, 1, (1 << 16) - 1, held);
    fclose(held);
    text[size] = 0;
    return text;
}

/* A step that ends so many seconds after the start of the run and of measuring. */
static void step_at(struct terminal *t, double seconds, size_t done)
{
    t->progress.started = t->progress.measuring = progress_now() - seconds;
    progress_step(&t->progress, done, "model");
}

static void expect_lines(const char *want)
{
    char *text = release();

    if (strcmp(text, want) != 0)
        fail_msg("printed:\n%sexpected:\n%s", text, want);
    free(text);
}

static void an_hour(void **state)
{
    struct terminal t;

    (void)state;
    hold(&t, 0);
    progress_start(&t.progress, 69, 0);
    step_at(&t, 59, 1);
    step_at(&t, 61, 1);
    step_at(&t, 120, 1);
    step_at(&t, 122, 1); /* at least a minute */
    step_at(&t, 1000, 6);
    step_at(&t, 1240, 1);
    step_at(&t, 1260, 1); /* at least a fifth of the time so far */
    step_at(&t, 3600, 57); /* the end has a message of its own */
    progress_end(&t.progress);
    expect_lines("reach erf: 2 of 69 segments, 34 min left\n"
                 "reach erf: 4 of 69 segments, 33 min left\n"
                 "reach erf: 10 of 69 segments, 98 min left\n"
                 "reach erf: 12 of 69 segments, 1 h 40 min left\n");
}

/* Steps every ten seconds of a day. */
static void a_day_has_some_dozens(void **state)
{
    struct terminal t;
    char *text;
    size_t lines = 0;

    (void)state;
    hold(&t, 0);
    progress_start(&t.progress, 9000, 0);
    for (int i = 1; i <= 8640; i++)
        step_at(&t, 10 * i, 1);
    text = release();
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_in_range(lines, 24, 36);
    assert_memory_equal(text, "reach erf: 6 of 9000 segments, 24 h 59 min left\n", 48);
    free(text);
}

/* A journal's part is done at once, and its pace is not known; a single unit has a percentage. */
static void what_is_not_known(void **state)
{
    struct terminal t;

    (void)state;
    hold(&t, 0);
    progress_start(&t.progress, 69, 12);
    step_at(&t, 61, 0);
    progress_start(&t.progress, 1, 0);
    progress_costs(&t.progress, 200, 0);
    t.progress.cost.done = 50;
    step_at(&t, 180, 0);
    expect_lines("reach erf: 12 of 69 segments\nreach erf: 25 %, 9 min left\n");
}

static void nothing_if_quiet_or_short(void **state)
{
    struct terminal t;

    (void)state;
    for (int quiet = 0; quiet < 2; quiet++) {
        hold(&t, quiet);
        progress_start(&t.progress, 69, 0);
        for (int i = 1; i < 60; i++)
            step_at(&t, quiet ? 60 * i : i, 1);
        progress_end(&t.progress);
        expect_lines("");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_hour),
                                       cmocka_unit_test(a_day_has_some_dozens),
                                       cmocka_unit_test(what_is_not_known),
                                       cmocka_unit_test(nothing_if_quiet_or_short)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
