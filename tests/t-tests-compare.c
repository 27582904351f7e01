/* The comparator itself: it must be able to fail. */
#include "tests/compare.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

static void test_values(void **state)
{
    const struct {
        double got, want, absolute, relative;
        int result;
    } cases[] = {
        {1, 1, 0, 0, 0},
        {1.5, 1, 0.5, 0, 0},
        {1.51, 1, 0.5, 0, -1},
        {110, 100, 0, 0.1001, 0},
        {111, 100, 0, 0.1, -1},
        {-111, -100, 0, 0.1, -1},
        {NAN, 1, INFINITY, 0, -1},
        {1, NAN, INFINITY, 0, -1},
        {NAN, NAN, INFINITY, 0, -1},
        {INFINITY, 1, INFINITY, INFINITY, -1},
        {1, INFINITY, INFINITY, INFINITY, -1},
        {-INFINITY, -INFINITY, 0, 0, 0},
        {-INFINITY, INFINITY, INFINITY, 0, -1},
        {1, 1, NAN, 0, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got[3] = {0, cases[i].got, 0}, want[3] = {0, cases[i].want, 0};
        int result = compare_values("expected complaint", got, want, 3, cases[i].absolute,
                                    cases[i].relative);
        if (result != cases[i].result)
            fail_msg("case %zu: got %g, want %g: %d (expected %d)", i, cases[i].got, cases[i].want,
                     result, cases[i].result);
    }
}

static void test_bounded_and_exact(void **state)
{
    const double want[2] = {1, 2}, near[2] = {1, 2.5}, bound[2] = {0, 1}, zero[1] = {0.0},
                 minus[1] = {-0.0}, nan[1] = {NAN};
    (void)state;
    assert_int_equal(compare_bounded("bounded", near, want, bound, 2, 0.5), 0);
    assert_int_equal(compare_bounded("expected complaint", near, want, bound, 2, 0.4), -1);
    assert_int_equal(compare_exact("exact", want, want, 2), 0);
    assert_int_equal(compare_exact("expected complaint", near, want, 2), -1);
    assert_int_equal(compare_exact("expected complaint", minus, zero, 1), -1);
    assert_int_equal(compare_exact("expected complaint", nan, nan, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_bounded_and_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
