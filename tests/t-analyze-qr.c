/* QR factors against what they are by definition: the reflections take A to R, R is upper
 * triangular with a falling diagonal, and the least squares that follow have residuals at right
 * angles to every column. */
#include "analyze/qr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 40, COLUMNS = 5 };

/* Values in [-1, 1), the same for a seed. */
static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 11) * 0x1p-52 - 1;
}

static void fill(double *a, uint64_t seed, double smallest)
{
    for (int c = 0; c < COLUMNS; c++)
        for (int i = 0; i < ROWS; i++)
            a[c * ROWS + i] = noise(&seed) * pow(smallest, (double)c / (COLUMNS - 1));
}

static void assert_factors(const double *a, size_t rows)
{
    double f[COLUMNS * ROWS], scale[COLUMNS], column[ROWS];
    int pivot[COLUMNS], seen = 0;

    memcpy(f, a, COLUMNS * rows * sizeof *f);
    qr_factor(f, rows, COLUMNS, pivot, scale);
    for (int k = 0; k < COLUMNS; k++) {
        seen |= 1 << pivot[k];
        memcpy(column, a + (size_t)pivot[k] * rows, rows * sizeof *column);
        qr_apply(column, f, rows, COLUMNS, scale);
        for (size_t i = 0; i < rows; i++) {
            double want = i <= (size_t)k ? f[(size_t)k * rows + i] : 0;

            if (!(fabs(column[i] - want) <= 1e-14))
                fail_msg("column %d, row %zu: Q'A is %.17g, R %.17g", k, i, column[i], want);
        }
        if (k > 0 && !(fabs(f[(size_t)k * rows + (size_t)k]) <=
                       fabs(f[(size_t)(k - 1) * rows + (size_t)(k - 1)]) * (1 + 1e-14)))
            fail_msg("R's diagonal grows at %d", k);
    }
    assert_int_equal(seen, (1 << COLUMNS) - 1);
}

static void test_factors(void **state)
{
    double a[COLUMNS * ROWS];

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fill(a, seed, seed % 2 ? 1 : 1e-9);
        assert_factors(a, ROWS);
        assert_factors(a, COLUMNS); /* square: the last reflection is of one number */
    }
}

static void test_dependent(void **state)
{
    double a[COLUMNS * ROWS], scale[COLUMNS];
    int pivot[COLUMNS];

    (void)state;
    fill(a, 3, 1);
    for (int i = 0; i < ROWS; i++) {
        a[2 * ROWS + i] = 0;
        a[4 * ROWS + i] = a[i] - 0.5 * a[ROWS + i];
    }
    assert_factors(a, ROWS);
    qr_factor(a, ROWS, COLUMNS, pivot, scale);
    assert_true(fabs(a[2 * ROWS + 2]) > 0.1);
    assert_true(fabs(a[3 * ROWS + 3]) <= 1e-15);
    assert_true(a[4 * ROWS + 4] == 0);
    assert_int_equal(pivot[4], 2);
}

static void test_least_squares(void **state)
{
    double a[COLUMNS * ROWS], f[COLUMNS * ROWS], y[ROWS], b[ROWS], scale[COLUMNS];
    uint64_t seed = 99;
    int pivot[COLUMNS];

    (void)state;
    fill(a, 7, 1e-3);
    memcpy(f, a, sizeof f);
    for (int i = 0; i < ROWS; i++)
        b[i] = y[i] = noise(&seed);
    qr_factor(f, ROWS, COLUMNS, pivot, scale);
    qr_apply(b, f, ROWS, COLUMNS, scale);
    qr_solve(b, f, ROWS, COLUMNS);
    for (int k = 0; k < COLUMNS; k++)
        for (int i = 0; i < ROWS; i++)
            y[i] -= b[k] * a[pivot[k] * ROWS + i];
    for (int k = 0; k < COLUMNS; k++) {
        double product = 0;

        for (int i = 0; i < ROWS; i++)
            product += a[k * ROWS + i] * y[i];
        if (!(fabs(product) <= 1e-14))
            fail_msg("column %d and the residuals: %.3g", k, product);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_dependent),
        cmocka_unit_test(test_least_squares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
