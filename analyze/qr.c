#include "analyze/qr.h"

#include <math.h>

static double length_of(const double *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

/* y [n] minus scale v (v'y), where v has 1 in its first place. */
static void reflect(double *y, const double *v, size_t n, double scale)
{
    double product = y[0];

    for (size_t i = 1; i < n; i++)
        product += v[i] * y[i];
    product *= scale;
    y[0] -= product;
    for (size_t i = 1; i < n; i++)
        y[i] -= product * v[i];
}

static void swap_columns(double *a, size_t rows, int k, int l)
{
    for (size_t i = 0; i < rows; i++) {
        double kept = a[(size_t)k * rows + i];

        a[(size_t)k * rows + i] = a[(size_t)l * rows + i];
        a[(size_t)l * rows + i] = kept;
    }
}

/* The column from k on with the largest remainder below row k. */
static int longest(const double *a, size_t rows, int columns, int k)
{
    double most = -1;
    int best = k;

    for (int l = k; l < columns; l++) {
        double length = length_of(a + (size_t)l * rows + (size_t)k, rows - (size_t)k);

        if (length > most)
            most = length, best = l;
    }
    return best;
}

void qr_factor(double *a, size_t rows, int columns, int *pivot, double *scale)
{
    for (int k = 0; k < columns; k++)
        pivot[k] = k;
    for (int k = 0; k < columns; k++) {
        double *v = a + (size_t)k * rows + (size_t)k, length, first;
        size_t n = rows - (size_t)k;
        int l = longest(a, rows, columns, k), kept = pivot[k];

        swap_columns(a, rows, k, l);
        pivot[k] = pivot[l];
        pivot[l] = kept;
        length = length_of(v, n);
        scale[k] = 0;
        if (length == 0)
            continue;
        /* the reflection maps v to (-sign(v_0) length, 0, ...): so v_0 + sign(v_0) length does not
         * cancel */
        first = v[0] + copysign(length, v[0]);
        scale[k] = fabs(first) / length;
        for (size_t i = 1; i < n; i++)
            v[i] /= first;
        for (int c = k + 1; c < columns; c++)
            reflect(a + (size_t)c * rows + (size_t)k, v, n, scale[k]);
        v[0] = -copysign(length, v[0]);
    }
}

void qr_apply(double *y, const double *a, size_t rows, int columns, const double *scale)
{
    for (int k = 0; k < columns; k++)
        reflect(y + k, a + (size_t)k * rows + (size_t)k, rows - (size_t)k, scale[k]);
}

void qr_solve(double *y, const double *a, size_t rows, int columns)
{
    for (int k = columns - 1; k >= 0; k--) {
        for (int c = k + 1; c < columns; c++)
            y[k] -= a[(size_t)c * rows + (size_t)k] * y[c];
        y[k] /= a[(size_t)k * rows + (size_t)k];
    }
}
