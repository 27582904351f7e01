/* The time that is left: units that cost more take longer. */
#include "run/progress.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Ten seconds after the beginning. */
static struct progress after_ten(size_t total, size_t at_start)
{
    struct progress p = {.unit = "segments"};

    progress_start(&p, total, at_start);
    p.measured = p.measuring + 10;
    return p;
}

static void expect_left(const struct progress *p, double want)
{
    if (!(fabs(progress_left(p) - want) < 1e-9 * (1 + want)))
        fail_msg("%zu of %zu units, %g of %g: %g s left (expected %g)", p->done, p->total,
                 p->cost.done, p->cost.total, progress_left(p), want);
}

static void units_that_cost_the_same(void **state)
{
    struct progress p = after_ten(12, 2);

    (void)state;
    expect_left(&p, 0); /* nothing is known yet */
    progress_step(&p, 4, "model");
    expect_left(&p, 15);
    progress_step(&p, 6, "model");
    expect_left(&p, 0);
}

/* Four short segments and then four that cost ten times as much, of which two short ones came from
 * a journal. */
static void units_that_do_not(void **state)
{
    struct progress p = after_ten(8, 2);

    (void)state;
    progress_costs(&p, 44, 2);
    expect_left(&p, 0);
    progress_step_of(&p, 2, 1, "short");
    expect_left(&p, 200); /* forty, at two in ten seconds */
    progress_step_of(&p, 1, 10, "long");
    expect_left(&p, 10 * 30 / 12.0);
    progress_step_of(&p, 3, 10, "long");
    expect_left(&p, 0);
    progress_start(&p, 4, 0); /* the next work knows nothing of these */
    p.measured = p.measuring + 10;
    progress_step(&p, 1, "other");
    expect_left(&p, 30);
}

/* A unit that takes long is seen in parts. */
static void parts_of_a_unit(void **state)
{
    struct progress p = after_ten(1, 0);

    (void)state;
    progress_costs(&p, 8, 0);
    assert_true(progress_part(&p) == 0);
    progress_spend(&p, 2, "model");
    assert_true(progress_part(&p) == 0.25 && p.done == 0);
    expect_left(&p, 30);
    progress_step_of(&p, 1, 6, "model");
    assert_true(progress_part(&p) == 1 && p.done == 1);
    p = after_ten(4, 0);
    progress_step(&p, 3, "model");
    assert_true(progress_part(&p) == 0.75);
}

/* ---- what is said of several models ---- */

static char said[1000]; /* lines, each after W, M or L for its kind */

static void keep(struct progress *p, enum progress_kind kind, const char *line)
{
    (void)p;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%c %s\n",
             kind == PROGRESS_WARNING   ? 'W'
             : kind == PROGRESS_MESSAGE ? 'M'
                                        : 'L',
             line);
}

static void models_share_what_is_said(void **state)
{
    struct progress p = {.say = keep};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        if (i < 2)
            progress_about(&p, PROGRESS_MESSAGE, names[i], "begins %d", 5);
        progress_about(&p, PROGRESS_WARNING, names[i], "not understood: %s", i == 3 ? "y" : "x");
    }
    progress_repeat(&p);
    assert_string_equal(said, "M a: begins 5\nW a: not understood: x\n"
                              "L b: begins 5\nL b: not understood: x\n"
                              "L c: not understood: x\nW d: not understood: y\n"
                              "L e: not understood: x\nL f: not understood: x\n"
                              "W b, c, e and 1 more: not understood: x, as of a\n");
    *said = 0;
    progress_repeat(&p);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_share_what_is_said),
                                       cmocka_unit_test(units_that_cost_the_same),
                                       cmocka_unit_test(units_that_do_not),
                                       cmocka_unit_test(parts_of_a_unit)};

    return cmocka_run_group_tests_name("run/progress", tests, NULL, NULL);
}
