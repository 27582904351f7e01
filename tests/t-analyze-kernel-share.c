/* analyze/kernel_share.c: against distributions whose convolutions have closed forms, and against
 * sums written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/kernel_share.h"

/* after the project's headers: its macro fail would hide their function */
#include <cmocka.h>

#include <math.h>

static void is_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("%.17g, not %.17g", value, expected);
}

/* Steps of p^t: after R layers the distance t has the weight (1-p)^R p^t (t+R-1 over R-1), the
 * negative binomial distribution. */
static void test_geometric(void **state)
{
    enum { N = 600, WITHIN = 70, LAYERS = 5 };
    const double p = 0.95;
    double kernel[N], in = 0, all = 0;
    const double *one = kernel, *two[2] = {kernel, kernel};

    (void)state;
    for (int t = 0; t < N; t++)
        kernel[t] = 3 * pow(p, t);
    for (int t = 0; t < N; t++) {
        double weight = pow(p, t) * exp(lgamma(t + LAYERS) - lgamma(t + 1) - lgamma(LAYERS));

        all += weight;
        in += t < WITHIN ? weight : 0;
    }
    is_near(kernel_share(&one, (const int[]){LAYERS}, 1, N, WITHIN), in / all);
    is_near(kernel_share(two, (const int[]){2, 3}, 2, N, WITHIN), in / all);
}

/* A window of w in each of R layers: ways to write distances below `within` as R steps below w, by
 * inclusion and exclusion. */
static double windows_within(int w, int layers, int within)
{
    double ways = 0, sign = 1;

    for (int k = 0; k <= layers && within - 1 - k * w >= 0; k++, sign = -sign)
        ways += sign *
                exp(lgamma(layers + 1) - lgamma(k + 1) - lgamma(layers - k + 1) +
                    lgamma(within - k * w + layers) - lgamma(layers + 1) - lgamma(within - k * w));
    return ways / pow(w, layers);
}

static void test_windows(void **state)
{
    double kernel[1024] = {0};
    const double *one = kernel;

    (void)state;
    for (int t = 0; t < 48; t++)
        kernel[t] = 0.25;
    is_near(kernel_share(&one, (const int[]){4}, 1, 1024, 128), windows_within(48, 4, 128));
    is_near(kernel_share(&one, (const int[]){4}, 1, 1024, 189), 1);
    is_near(kernel_share(&one, (const int[]){4}, 1, 150, 100),
            windows_within(48, 4, 100) / windows_within(48, 4, 150));
    is_near(kernel_share(&one, (const int[]){1}, 1, 1024, 12), 0.25);
}

/* Two layers of different kernels, summed pair by pair; one of them falls too fast for a double. */
static void test_pairs(void **state)
{
    enum { N = 300, WITHIN = 100 };
    double slow[N], fast[N], in = 0, all = 0;
    const double *both[2] = {slow, fast};

    (void)state;
    for (int t = 0; t < N; t++) {
        slow[t] = 1 / (1.0 + t);
        fast[t] = exp(-0.01 * t * t);
    }
    for (int t = 0; t < N; t++)
        for (int u = 0; t + u < N; u++) {
            all += slow[t] * fast[u];
            in += t + u < WITHIN ? slow[t] * fast[u] : 0;
        }
    is_near(kernel_share(both, (const int[]){1, 1}, 2, N, WITHIN), in / all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometric),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
