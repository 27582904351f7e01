/* Quadrature, noise, windows of mass, ranks. */
#include "analyze/attribution.h"

#include "analyze/curve.h"

#include <math.h>
#include <stdlib.h>

void gauss_legendre(double *node, double *weight, int n)
{
    for (int i = 0; i < (n + 1) / 2; i++) {
        double x = cos(M_PI * (i + 0.75) / (n + 0.5)), slope = 1, step = 1;
        for (int round = 0; round < 100 && fabs(step) > 1e-15;
             round++) { /* Newton's method on P_n, a few rounds */
            double before = 1, p = x; /* P_0, P_1 */
            for (int k = 2; k <= n; k++) {
                double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
                before = p, p = next;
            }
            slope = n * (x * p - before) / (x * x - 1);
            step = p / slope;
            x -= step;
        }
        node[i] = 0.5 * (1 - x), node[n - 1 - i] = 0.5 * (1 + x);
        weight[i] = weight[n - 1 - i] = 1 / ((1 - x * x) * slope * slope);
    }
}

double random_normal(uint64_t seed, uint64_t i)
{
    double u = (double)((random_at(seed, 2 * i) >> 11) + 1) * 0x1p-53,
           v = (double)(random_at(seed, 2 * i + 1) >> 11) * 0x1p-53; /* (0, 1], [0, 1) */
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

size_t attention_erf(const double *mass, size_t n, double epsilon)
{
    double total = 0, sum = 0;
    for (size_t t = 0; t < n; t++)
        total += mass[t];
    if (!(total > 0 && isfinite(total)))
        return 0;
    for (size_t j = 1; j < n; j++) {
        sum += mass[j - 1];
        if (sum > (1 - epsilon) * total)
            return j;
    }
    return n;
}

struct ranked {
    double value, rank;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;
    return (x > y) - (x < y);
}

/* rank[i] of x[i], from 1. */
static void ranks(double *rank, struct ranked *sorted, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct ranked){x[i], 0, i};
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && sorted[last].value == sorted[first].value; last++)
            ;
        for (size_t i = first; i < last; i++)
            rank[sorted[i].at] = 0.5 * (double)(first + 1 + last);
    }
}

int rank_correlation(double *out, const double *x, const double *y, size_t n)
{
    double xy = 0, xx = 0, yy = 0, mean = 0.5 * ((double)n + 1);
    *out = NAN;
    if (n < 3)
        return 0;
    double *rank = calloc(n, 2 * sizeof *rank), *other = rank ? rank + n : NULL;
    struct ranked *sorted = calloc(n, sizeof *sorted);
    if (!rank || !sorted) {
        free(rank);
        free(sorted);
        return -1;
    }
    ranks(rank, sorted, x, n);
    ranks(other, sorted, y, n);
    for (size_t i = 0; i < n; i++) {
        xy += (rank[i] - mean) * (other[i] - mean);
        xx += (rank[i] - mean) * (rank[i] - mean);
        yy += (other[i] - mean) * (other[i] - mean);
    }
    if (xx > 0 && yy > 0)
        *out = xy / sqrt(xx * yy);
    free(rank);
    free(sorted);
    return 0;
}
