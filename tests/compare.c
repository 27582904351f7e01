/* The comparison of numbers that all tests share: see compare.h. */
#include "tests/compare.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

/* 1 when element i is in order on the ground of its kind alone, -1 when it cannot be, 0 when the
 * difference decides. */
static int by_kind(double got, double want)
{
    if (isnan(got) || isnan(want))
        return -1;
    if (isinf(got) || isinf(want))
        return got == want ? 1 : -1;
    return 0;
}

static int compare(const char *what, const double *got, const double *want, const double *bound,
                   size_t count, double absolute, double relative)
{
    for (size_t i = 0; i < count; i++)
        if (by_kind(got[i], want[i]) < 0) {
            print_error("%s[%zu] of %zu: got %.17g, want %.17g (not finite)\n", what, i, count,
                        got[i], want[i]);
            return -1;
        }
    for (size_t i = 0; i < count; i++) {
        double tolerance = bound ? relative * bound[i] : absolute + relative * fabs(want[i]);
        if (by_kind(got[i], want[i]) == 0 && !(fabs(got[i] - want[i]) <= tolerance)) {
            print_error("%s[%zu] of %zu: got %.17g, want %.17g, difference %.3g (tolerance %.3g)\n",
                        what, i, count, got[i], want[i], got[i] - want[i], tolerance);
            return -1;
        }
    }
    return 0;
}

int compare_values(const char *what, const double *got, const double *want, size_t count,
                   double absolute, double relative)
{
    return compare(what, got, want, NULL, count, absolute, relative);
}

int compare_bounded(const char *what, const double *got, const double *want, const double *bound,
                    size_t count, double factor)
{
    return compare(what, got, want, bound, count, 0, factor);
}

int compare_exact(const char *what, const double *got, const double *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(got[i]) || isnan(want[i]) || memcmp(&got[i], &want[i], sizeof got[i])) {
            print_error("%s[%zu] of %zu: got %a, want %a (expected the same bits)\n", what, i,
                        count, got[i], want[i]);
            return -1;
        }
    return 0;
}
