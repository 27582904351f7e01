/* Perplexity's statistics: by hand on small numbers, Student's t against mpmath
 * (tests/goldens/ppl), invariances. */
#include "analyze/perplexity.h"
#include "io/formats/csv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void require(const char *what, double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%s: %.17g, expected %.17g", what, got, want);
}

static void test_mean(void **state)
{
    (void)state;
    static const double nll[] = {1, 2, 4, 5};
    struct perplexity p = perplexity_of(nll, 4), one = perplexity_of(nll + 1, 1);
    assert_int_equal(p.tokens, 4);
    require("nll", p.nll, 3, 0);
    require("std_error", p.std_error, sqrt(10.0 / 3 / 4), 1e-15);
    require("ppl", p.ppl, exp(3), 1e-15);
    require("nll of one", one.nll, 2, 0);
    assert_true(isnan(one.std_error));
}

static void test_compare(void **state)
{
    (void)state;
    /* differences 1, 2, 3, 4, 5: mean 3, sd sqrt(2.5), t = 3 / sqrt(0.5), p from tables of t(4):
     * 0.0132355... */
    static const double a[] = {2, 4, 6, 8, 10}, b[] = {1, 2, 3, 4, 5};
    struct perplexity_difference d = perplexity_compare(a, b, 5),
                                 back = perplexity_compare(b, a, 5),
                                 same = perplexity_compare(a, a, 5);
    require("difference", d.difference, 3, 0);
    require("std_error", d.std_error, sqrt(0.5), 1e-15);
    require("p", d.p, 0.013235599563682, 1e-11);
    require("difference the other way", back.difference, -3, 0);
    require("p the other way", back.p, d.p, 0);
    require("difference to itself", same.difference, 0, 0);
    require("p to itself", same.p, 1, 0);
    static const double shifted[] = {3, 5, 7, 9, 11};
    require("p of a constant difference", perplexity_compare(shifted, a, 5).p, 0, 0);
    struct perplexity_difference one = perplexity_compare(a, b, 1);
    require("difference of one", one.difference, 1, 0);
    if (!isnan(one.std_error) || !isnan(one.p))
        fail_msg("one pair: std_error %g, p %g, expected none", one.std_error, one.p);
}

/* The pairing removes what both models have in common. */
static void test_pairing(void **state)
{
    (void)state;
    double a[100], b[100];
    for (int i = 0; i < 100; i++) {
        b[i] = 10 * sin(i * i);
        a[i] = b[i] + 0.01 + 0.001 * cos(i);
    }
    struct perplexity_difference d = perplexity_compare(a, b, 100);
    if (!(d.std_error < 1e-4 && d.p < 1e-30 && perplexity_of(a, 100).std_error > 0.1))
        fail_msg("std_error %g and p %g of the difference", d.std_error, d.p);
}

static void test_student(void **state)
{
    (void)state;
    struct csv_table t;
    struct error e;
    if (csv_read("tests/goldens/ppl/t-test.csv", &t, &e))
        fail_msg("%s", e.text);
    assert_int_equal(t.columns, 3);
    assert_true(t.rows > 100);
    for (size_t i = 0; i < t.rows; i++) {
        double x = strtod(t.cell[3 * i], NULL), degrees = strtod(t.cell[3 * i + 1], NULL),
               want = strtod(t.cell[3 * i + 2], NULL);
        double got = student_two_sided(x, degrees), mirrored = student_two_sided(-x, degrees);
        if (!(fabs(got - want) <= (1e-11 + 1e-16 * degrees) * want) || got != mirrored)
            fail_msg("t = %g with %g degrees of freedom: p %.17g, mirrored %.17g, expected %.17g "
                     "(off by %.2g)",
                     x, degrees, got, mirrored, want, got / want - 1);
    }
    csv_table_free(&t);
    assert_true(isnan(student_two_sided(NAN, 3)));
    assert_true(isnan(student_two_sided(1, 0)));
    require("t beyond every number", student_two_sided(1e300, 5), 0, 0);
    require("t inf", student_two_sided(INFINITY, 5), 0, 0);
}

/* Half an interval is as wide as the 97.5 % quantile of Student's t says: its printed tables. */
static void test_margin(void **state)
{
    static const struct {
        size_t count;
        double quantile;
    } cases[] = {
        {2, 12.7062047}, {3, 4.3026527}, {11, 2.2281389}, {31, 2.0422725}, {1001, 1.9623390}};
    struct perplexity_difference d = {.std_error = 1};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(fabs(perplexity_margin(&d, cases[i].count) - cases[i].quantile) < 1e-6);
    assert_true(isnan(perplexity_margin(&d, 1)));
}

static void test_needed(void **state)
{
    static const double nll[4][3] = {{2, 0.9, 5},
                                     {1.5, 1, 3.05},
                                     {0.9, 2, 3.2},
                                     {1, 1, 3}}; /* contexts, targets */

    (void)state;
    assert_int_equal(context_needed(&nll[0][0], 4, 3, 0.1), 2);
    assert_int_equal(context_needed(&nll[0][1], 4, 3, 0.1), 0); /* what is below is enough */
    assert_int_equal(context_needed(&nll[0][2], 4, 3, 0.1), 1); /* though the next one is not */
    assert_int_equal(context_needed(&nll[0][2], 4, 3, 0.01), 3);
}

/* Every target once, in order; windows have `context` inputs, but for a last block; after the first
 * each target of a sliding window sees enough. */
static void test_windows(void **state)
{
    (void)state;
    for (size_t tokens = 2; tokens < 40; tokens++)
        for (size_t context = 1; context < tokens; context++)
            for (size_t stride = 0; stride <= context; stride++) {
                size_t count = window_count(tokens, context, stride), next = 0;
                for (size_t i = 0; i < count; i++) {
                    struct window w = window_at(i, tokens, context, stride);
                    int shorter = !stride && i + 1 == count, whole = !stride || i == 0;
                    if (w.first + w.inputs - w.scored != next || w.scored < 1 ||
                        w.scored > w.inputs || w.first + w.inputs > tokens - 1 ||
                        (shorter ? w.inputs > context : w.inputs != context) ||
                        (whole ? w.scored != w.inputs : w.scored > stride))
                        fail_msg("tokens %zu context %zu stride %zu: window %zu of %zu has first "
                                 "%zu inputs %zu scored %zu, next "
                                 "place %zu",
                                 tokens, context, stride, i, count, w.first, w.inputs, w.scored,
                                 next);
                    next += w.scored;
                }
                if (next != tokens - 1)
                    fail_msg("tokens %zu context %zu stride %zu: %zu targets are scored", tokens,
                             context, stride, next);
            }
}

/* Wilson's interval: its ends are the shares from which the observed one is 1.96 of their own
 * standard deviations away, or 0 and 1. */
static void shares_have_intervals(void **state)
{
    static const size_t counts[] = {1, 2, 7, 200, 100000};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k <= 7; k++) {
            double n = (double)counts[i], share = (double)(k * counts[i] / 7) / n, end[2];

            share_interval(&end[0], &end[1], share, counts[i]);
            if (!(end[0] >= 0 && end[0] <= share && share <= end[1] && end[1] <= 1 &&
                  end[0] < end[1]))
                fail_msg("%g of %g: [%.17g, %.17g]", share, n, end[0], end[1]);
            for (int side = 0; side < 2; side++)
                if (share != side &&
                    !(fabs(fabs(share - end[side]) -
                           1.959963984540054 * sqrt(end[side] * (1 - end[side]) / n)) <= 1e-12))
                    fail_msg("%g of %g: %.17g is not an end", share, n, end[side]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_have_intervals), cmocka_unit_test(test_mean),
        cmocka_unit_test(test_compare),          cmocka_unit_test(test_pairing),
        cmocka_unit_test(test_student),          cmocka_unit_test(test_margin),
        cmocka_unit_test(test_needed),           cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests_name("perplexity", tests, NULL, NULL);
}
