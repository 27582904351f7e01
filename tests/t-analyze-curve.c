#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void test_share(void **state)
{
    (void)state;
    double s[4] = {9, 9, 9, 9};
    assert_int_equal(curve_share(s, (const double[]){1, 0, 5, 2}, 4), 0);
    assert_memory_equal(s, ((const double[]){0.125, 0, 0.625, 0.25}), sizeof s);

    static const double refused[][4] = {{0, 0, 0, 0},
                                        {1, NAN, 1, 1},
                                        {1, 1, 1, INFINITY},
                                        {-INFINITY, 1, 1, 1},
                                        {1, -1e-300, 1, 1}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        double untouched[4] = {7, 7, 7, 7};
        if (curve_share(untouched, refused[i], 4) != -1 || untouched[0] != 7 || untouched[3] != 7)
            fail_msg("row %zu was taken", i);
    }
    assert_int_equal(curve_share(s, refused[0], 0), -1);

    /* any scale, to the ends of the range, and in place */
    static const double scales[] = {1, 0x1p-1070, 0x1p-500, 0x1p600, 0x1p1020};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        double scaled[4] = {8 * scales[i], 0, 15 * scales[i], 9 * scales[i]};
        assert_int_equal(curve_share(scaled, scaled, 4), 0);
        if (!(scaled[0] == 0.25 && scaled[1] == 0 && scaled[2] == 0.46875 && scaled[3] == 0.28125))
            fail_msg("scale %g: %g %g %g %g", scales[i], scaled[0], scaled[1], scaled[2],
                     scaled[3]);
    }
}

static void test_cumulative(void **state)
{
    (void)state;
    double c[4];
    curve_cumulative(c, (const double[]){0.25, 0.5, 0, 0.25}, 4);
    assert_memory_equal(c, ((const double[]){1, 0.75, 0.25, 0.25}), sizeof c);
    double s[3] = {0.1, 0.2,
                   0.3}; /* not yet normalised; in place; from the end: 0.3, then 0.3 + 0.2, ... */
    curve_cumulative(s, s, 3);
    double total = 0.3 + 0.2 + 0.1;
    assert_memory_equal(s, ((const double[]){1, (0.3 + 0.2) / total, 0.3 / total}), sizeof s);
}

static void test_erf(void **state)
{
    (void)state;
    static const double c[5] = {1, 0.9, 0.5, 0.5, 0.25};
    static const struct {
        double q;
        size_t erf;
    } table[] = {{0.1, 1}, {0.25, 2}, {0.3, 2}, {0.5, 4}, {0.89, 4}, {0.9, 5}, {0.99, 5}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (curve_erf(c, 5, table[i].q) != table[i].erf)
            fail_msg("q = %g: %zu, expected %zu", table[i].q, curve_erf(c, 5, table[i].q),
                     table[i].erf);
    assert_int_equal(curve_erf((const double[]){1}, 1, 0.99), 1);
    /* the paper's example in kind: all the mass in the last w tokens makes an ERF of at most w */
    double window[100] = {0}, curve[100];
    for (int m = 60; m < 100; m++)
        window[m] = 1.0 / 40;
    curve_cumulative(curve, window, 100);
    assert_int_equal(curve_erf(curve, 100, 0.99), 40);
    assert_int_equal(curve_erf(curve, 100, 0.9),
                     37); /* 36 of 40 is 0.9 and not above; doubles must not say 36 */
}

static void test_mean_and_sink(void **state)
{
    (void)state;
    static const double s[3 * 2] = {0.5, 0.5, 100, 100, 0.25, 0.75};
    double mean[2];
    assert_int_equal(curve_mean(mean, s, (const uint8_t[]){1, 0, 2}, 3, 2), 2);
    assert_true(mean[0] == 0.375 && mean[1] == 0.625);
    assert_int_equal(curve_mean(mean, s, (const uint8_t[]){0, 0, 0}, 3, 2), 0);
    assert_true(mean[0] == 0 && mean[1] == 0);

    static const double share[4] = {0.5, 0.25, 0.125, 0.125};
    assert_true(curve_sink_share(share, 4, 0) == 0);
    assert_true(curve_sink_share(share, 4, 2) == 0.75);
    assert_true(curve_sink_share(share, 4, 9) == 1);
}

static void test_quantile(void **state)
{
    (void)state;
    double values[5] = {5, 1, 4, 2, 3};
    static const struct {
        double p, value;
    } table[] = {{1e-9, 1}, {0.2, 1},  {0.21, 2}, {0.4, 2}, {0.5, 3},
                 {0.6, 3},  {0.61, 4}, {0.8, 4},  {0.9, 5}, {1, 5}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!(quantile(values, 5, table[i].p) == table[i].value))
            fail_msg("p = %g: %g, expected %g", table[i].p, quantile(values, 5, table[i].p),
                     table[i].value);
    assert_true(values[0] == 1 && values[4] == 5); /* sorted in place */

    /* p = k/1000 of `count` values must be number ceil(k count / 1000), computed in integers */
    double many[1000];
    for (size_t count = 1; count <= 1000; count += count < 50 ? 1 : 95) {
        for (size_t i = 0; i < count; i++)
            many[i] = (double)(i + 1);
        for (int k = 1; k <= 1000; k += 1 + k % 3) {
            double expected = (double)(((size_t)k * count + 999) / 1000),
                   got = quantile(many, count, k / 1000.0);
            if (!(got == expected))
                fail_msg("%zu values, p = %d/1000: %g, expected %g", count, k, got, expected);
        }
    }
}

static void test_random(void **state)
{
    (void)state;
    /* the published first outputs of SplitMix64 for seed 1234567 */
    static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u,
                                         9817491932198370423u, 4593380528125082431u,
                                         16408922859458223821u};
    for (uint64_t i = 0; i < 5; i++)
        assert_true(random_at(1234567, i) == published[i]);
    double mean = 0;
    for (uint64_t i = 0; i < 20000; i++)
        mean += (double)random_at(0, i) * 0x1p-64 / 20000;
    if (!(fabs(mean - 0.5) <= 0.01))
        fail_msg("mean %g", mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),    cmocka_unit_test(test_cumulative),
        cmocka_unit_test(test_erf),      cmocka_unit_test(test_mean_and_sink),
        cmocka_unit_test(test_quantile), cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
