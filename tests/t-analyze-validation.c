/* Which inputs are changed, and what of their changes is reported: by hand on small numbers. */
#include "analyze/validation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void require(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-14 * fabs(want)))
        fail_msg("%s: %.17g, expected %.17g", what, got, want);
}

static void test_kept(void **state)
{
    static const size_t up_to_24[] = {1, 2, 3, 4, 6, 8, 11, 16, 23};
    size_t kept[VALIDATION_KEPT_MAX];

    (void)state;
    assert_int_equal(validation_kept(kept, 24), 9);
    assert_memory_equal(kept, up_to_24, sizeof up_to_24);
    assert_int_equal(validation_kept(kept, 23), 8); /* 23 would keep all */
    assert_int_equal(validation_kept(kept, 2), 1);
    assert_int_equal(validation_kept(kept, 1), 0);
    for (size_t n = 1; n < (1UL << 31); n = n * 3 + 1) {
        size_t count = validation_kept(kept, n);

        for (size_t i = 0; i < count; i++)
            if (kept[i] >= n || (i && kept[i] <= kept[i - 1]))
                fail_msg("of %zu inputs, number %zu of those kept is %zu", n, i, kept[i]);
    }
}

/* Every octave has its share, the last one as far as there are inputs; another seed draws others.
 */
static void test_single(void **state)
{
    size_t one[VALIDATION_SINGLE_MAX], other[VALIDATION_SINGLE_MAX];

    (void)state;
    for (size_t n = 1; n < (1UL << 31); n = n * 2 + 3) {
        size_t count = validation_single(one, n, 7, 0), octaves[32] = {0};

        assert_int_equal(validation_single(other, n, 8, 1000), count);
        for (size_t i = 0; i < count; i++) {
            if (one[i] < 1 || one[i] > n || (i && one[i] <= one[i - 1]))
                fail_msg("of %zu inputs, number %zu drawn is %zu", n, i, one[i]);
            octaves[63 - __builtin_clzl(one[i])]++;
        }
        for (size_t j = 0; (1UL << j) <= n; j++) {
            size_t width = (2UL << j) - 1 <= n ? 1UL << j : n - (1UL << j) + 1;

            assert_int_equal(octaves[j], width < 4 ? width : 4);
        }
        if (n > 64)
            assert_memory_not_equal(one, other, count * sizeof *one);
        validation_single(other, n, 7, 0);
        assert_memory_equal(one, other, count * sizeof *one);
    }
}

static void test_change(void **state)
{
    /* differences 1, 2, 3, 4, 5: mean 3, standard error sqrt(0.5), 97.5 % point of Student's t with
     * 4 degrees 2.7764451051977934
     */
    static const double changed[] = {2, 4, 6, 8, 10}, whole[] = {1, 2, 3, 4, 5}, less[] = {0, 4};
    struct validation_change c, both, one;

    (void)state;
    assert_int_equal(validation_change(&c, changed, whole, 5), 0);
    assert_int_equal(validation_change(&both, less, whole, 2), 0);
    assert_int_equal(validation_change(&one, changed, whole, 1), 0);
    require("mean", c.change.mean, 3);
    require("size", c.size.mean, 3);
    require("its end", c.size.hi, c.change.hi);
    if (!(fabs(c.change.lo - (3 - 2.7764451051977934 * sqrt(0.5))) < 1e-9 &&
          fabs(c.change.hi - (3 + 2.7764451051977934 * sqrt(0.5))) < 1e-9))
        fail_msg("interval [%.12g, %.12g]", c.change.lo, c.change.hi);
    require("mean of -1 and 2", both.change.mean, 0.5);
    require("size of -1 and 2", both.size.mean, 1.5);
    /* 12.706204736174706 of one degree times sqrt(0.5 / 2) */
    if (!(fabs(both.size.hi - both.size.lo - 12.706204736174706) < 1e-9))
        fail_msg("interval of two [%.12g, %.12g]", both.size.lo, both.size.hi);
    require("mean of one", one.change.mean, 1);
    assert_true(isnan(one.change.lo) && isnan(one.size.hi));
}

static void test_enough(void **state)
{
    static const double change[] = {3, 0.01, 1, 0.2, 0.04, -0.5, 0.05};

    (void)state;
    assert_int_equal(validation_enough(change, 7, 0.05), 4);
    assert_int_equal(validation_enough(change, 7, 1), 1);
    assert_int_equal(validation_enough(change, 7, 5), 0);
    assert_int_equal(validation_enough(change, 7, 0.01), 7);
    assert_int_equal(validation_enough((const double[]){NAN, 0, 0}, 3, 0.1), 1);
    assert_int_equal(validation_enough((const double[]){0, NAN}, 2, 0.1), 2);
    assert_int_equal(validation_enough(change, 0, 1), 0);
}

/* Inputs 1 to 3 and two octaves of four: one in the order of the norms, the other against it; signs
 * do not count. */
static void test_correlate(void **state)
{
    static const size_t where[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15};
    static const double change[] = {9, -8, 7, 1, -2, 3, -4, 0.4, 0.3, 0.2, 0.1};
    double norm[15], all, octaves;

    (void)state;
    for (size_t i = 0; i < 15; i++)
        norm[i] = 1e-3 * (double)i; /* growing towards the target */
    assert_int_equal(validation_correlate(&all, &octaves, change, where, 11, norm, 15), 0);
    /* ranks of |change| 11 10 9 5 6 7 8 4 3 2 1 against 11 to 1: sum of squares 9 + 1 + 1 + 9 = 20
     */
    require("all", all, 1 - 6 * 20.0 / (11 * 120));
    require("octaves: -1 and 1", octaves, 0);
    assert_int_equal(validation_correlate(&all, &octaves, change, where, 7, norm, 15), 0);
    require("an octave against the order", octaves, -1);
    assert_int_equal(validation_correlate(&all, &octaves, change, where, 3, norm, 15), 0);
    require("three inputs in order", all, 1);
    assert_true(isnan(octaves));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_single),
                                       cmocka_unit_test(test_change), cmocka_unit_test(test_enough),
                                       cmocka_unit_test(test_correlate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
