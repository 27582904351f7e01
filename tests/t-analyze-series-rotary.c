/* Where sums of cosines of rotary positions are first below 0: against plain loops in long double,
 * at borders, and where nobody can tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/series.h"

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

static struct series_rotary found(const double *frequency, int count, double factor, double still,
                                  uint64_t first, uint64_t end)
{
    struct series_rotary out;
    assert_int_equal(series_rotary(&out, frequency, count, factor, still, first, end), 0);
    return out;
}

#define assert_found(x, what, where) \
    do { \
        struct series_rotary f_ = (x); \
        if (f_.verdict != (what) || f_.at != (where)) \
            fail_msg("%s: verdict %d at %llu", #x, (int)f_.verdict, (unsigned long long)f_.at); \
    } while (0)

/* The first distance from `first` on, by a plain loop; *least: how near 0 any value came. */
static uint64_t plain(long double *least, const double *frequency, int count, double factor,
                      double still, uint64_t first, uint64_t end)
{
    *least = INFINITY;
    for (uint64_t m = first; m < end; m++) {
        long double sum = 0;
        for (int k = 0; k < count; k++)
            sum += cosl((long double)m * frequency[k]);
        sum = still + factor * sum;
        *least = fminl(*least, fabsl(sum));
        if (sum < 0)
            return m;
    }
    return end;
}

static double uniform(double low, double high)
{
    return low + (high - low) * rand() / RAND_MAX;
}

static void as_plain_loops_find(void **state)
{
    enum { END = 2500, CASES = 120 };
    int below = 0;
    (void)state;
    srand(7);
    for (int i = 0; i < CASES; i++) {
        double frequency[80], factor = i % 3 ? 1 : uniform(0.5, 3), still;
        int count = 1 + rand() % 80;
        for (int k = 0; k < count; k++)
            frequency[k] = exp(uniform(log(1e-4), 0));
        still = factor * count * uniform(0, 0.6);
        uint64_t first = i % 4 ? 0 : (uint64_t)rand() % 1500;
        long double least;
        uint64_t at = plain(&least, frequency, count, factor, still, first, END);
        struct series_rotary f = found(frequency, count, factor, still, first, END);
        if (least > 1e-8 &&
            (f.at != at || f.verdict != (at < END ? ROTARY_BELOW : ROTARY_NOT_BELOW)))
            fail_msg("case %d: verdict %d at %llu (expected distance %llu)", i, (int)f.verdict,
                     (unsigned long long)f.at, (unsigned long long)at);
        below += f.verdict == ROTARY_BELOW;
    }
    if (below < 20 || below > CASES - 20) /* some of each */
        fail_msg("%d of %d are below 0 somewhere", below, CASES);
}

static void borders(void **state)
{
    double quarter = M_PI / 2, third = 2 * M_PI / 3, slow = M_PI / 2 / (1e7 - 0.5), one = 1,
           fast[2] = {1, 1};
    (void)state;
    /* a cosine that is 0, or -1/2, to the last place of a double is known no better */
    assert_found(found(&quarter, 1, 1, 0, 0, 100), ROTARY_TIE, 1);
    assert_found(found(&third, 1, 1, 0.5, 0, 100), ROTARY_TIE, 1);
    assert_found(found(&third, 1, 1, 0.5 - 1e-9, 0, 100), ROTARY_BELOW, 1);
    assert_found(found(&third, 1, 1, 0.5 + 1e-9, 0, 100), ROTARY_NOT_BELOW, 100);
    /* as many pairs that stand still as turn, or a factor that leaves them no room */
    assert_found(found(&one, 1, 1, 1, 0, 100), ROTARY_NEVER_BELOW, 100);
    assert_found(found(fast, 2, 1, 2, 0, 100), ROTARY_NEVER_BELOW, 100);
    assert_found(found(fast, 2, 1.5, 2, 0, 100), ROTARY_BELOW,
                 3); /* cos 3 = -0.99, cos 2 = -0.42 */
    assert_found(found(fast, 2, 1, 1, 0, 100), ROTARY_BELOW, 3);
    /* far out, from any start; at 10^7 it is -8e-8 */
    assert_found(found(&slow, 1, 1, 0, 0, 10000000), ROTARY_NOT_BELOW, 10000000);
    assert_found(found(&slow, 1, 1, 0, 0, 10000001), ROTARY_BELOW, 10000000);
    assert_found(found(&slow, 1, 1, 0, 9999999, 20000000), ROTARY_BELOW, 10000000);
    /* where frequencies are known to 2^-45 of them only, a distance of 2^46 is in another turn */
    assert_found(found(&one, 1, 1, 0, (uint64_t)1 << 46, (uint64_t)1 << 47), ROTARY_TIE,
                 (uint64_t)1 << 46);
    /* no distance at all */
    assert_found(found(&one, 1, 1, 0, 5, 5), ROTARY_NOT_BELOW, 5);
}

/* The slowest pair: against long double, and where that cannot tell. */
static void slowest_pairs(void **state)
{
    static const char *const epsilons[] = {"0.5", "0.999", "1e-30"};
    struct series_slowest x;
    struct formula_error e;
    (void)state;
    srand(5);
    for (int i = 0; i < 3000; i++) {
        double frequency = pow(10, uniform(-9, 0.7));
        int layers = 1 + rand() % 100;
        const char *epsilon = epsilons[i % 3];
        assert_int_equal(series_slowest(&x, frequency, epsilon, layers, &e), 0);
        const long double angles[] = {acosl(-1) / 2, 2 * acosl(-1),
                                      acosl(powl(strtold(epsilon, NULL), 1.0L / layers))};
        const uint64_t found[] = {x.quarter, x.whole, x.incoherent};
        for (int k = 0; k < 3; k++) {
            long double m = angles[k] / frequency;
            if (fabsl(m - roundl(m)) > 1e-6L && found[k] != (uint64_t)floorl(m) + 1)
                fail_msg("frequency %.17g: %llu (expected %.0Lf)", frequency,
                         (unsigned long long)found[k], floorl(m) + 1);
        }
    }
    assert_int_equal(series_slowest(&x, 0x1p-40, NULL, 1, &e), 0);
    assert_int_equal(x.quarter, 1727108826179); /* floor(pi 2^39) + 1 */
    assert_int_equal(x.incoherent, 0);
    assert_int_equal(series_slowest(&x, 0x1p-70, NULL, 1, &e), 0); /* beyond what is told */
    assert_int_equal(x.quarter, 0);
    assert_int_equal(series_slowest(&x, 1, "1", 1, &e), -1);
    assert_int_equal(series_slowest(&x, 1, "x", 1, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_plain_loops_find),
        cmocka_unit_test(slowest_pairs),
        cmocka_unit_test(borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
