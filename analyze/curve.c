/* Norms -> shares -> cumulative curve -> receptive field ([A] section 5.1), and the few statistics
 * they need. */
#include "analyze/curve.h"

#include <math.h>
#include <stdlib.h>

int curve_share(double *s, const double *norm, size_t n)
{
    double total = 0, scale = 1;
    for (size_t m = n; m-- > 0;) {
        if (!(norm[m] >= 0 && isfinite(norm[m])))
            return -1;
        total += norm[m];
    }
    if (!isfinite(total)) { /* only the sum overflows: valid norms of a huge scale */
        scale = 0x1p-64;
        total = 0;
        for (size_t m = n; m-- > 0;)
            total += norm[m] * scale;
    }
    if (total == 0)
        return -1;
    for (size_t m = 0; m < n; m++)
        s[m] = norm[m] * scale / total;
    return 0;
}

void curve_cumulative(double *c, const double *s, size_t n)
{
    double total = 0;
    for (size_t m = n; m-- > 0;)
        c[m] = total += s[m];
    for (size_t m = 0; m < n; m++)
        c[m] /= total;
}

size_t curve_erf(const double *c, size_t n, double q)
{
    for (size_t m = n; m-- > 1;)
        if (c[m] > q)
            return n - m;
    return n;
}

size_t curve_mean(double *mean, const double *s, const uint8_t *use, size_t rows, size_t n)
{
    size_t used = 0;
    for (size_t m = 0; m < n; m++)
        mean[m] = 0;
    for (size_t i = 0; i < rows; i++) {
        if (!use[i])
            continue;
        used++;
        for (size_t m = 0; m < n; m++)
            mean[m] += s[i * n + m];
    }
    for (size_t m = 0; m < n && used; m++)
        mean[m] /= (double)used;
    return used;
}

double curve_sink_share(const double *s, size_t n, size_t k)
{
    double share = 0;
    for (size_t m = 0; m < n && m < k; m++)
        share += s[m];
    return share;
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The smallest k with k/count >= p, 1..count. Not ceil(p * count): that product is rounded, and 0.1
 * * 30 need not be 3, while the quotient of two integers is the double nearest to it, just like p
 * and its decimal. */
static size_t quantile_rank(size_t count, double p)
{
    double n = (double)count;
    size_t rank = (size_t)(p * n);
    while (rank < count && (rank < 1 || (double)rank / n < p))
        rank++;
    return rank;
}

double quantile(double *values, size_t count, double p)
{
    qsort(values, count, sizeof *values, compare_values);
    return values[quantile_rank(count, p) - 1];
}
