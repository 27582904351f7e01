/* Reference set: the head, one row per segment with its gradient or many rows without, its table
 * read row by row.
 *
 * z_v = x . w_v + bias_v; with a soft-cap z_v = cap tanh(z_v / cap). log p = z_target - log sum
 * exp z, and
 *     d log p / d x = sum over v of (1[v = target] - p_v) dz_v w_v,
 *     dz_v = 1 - tanh^2 (1 without a soft-cap). */
#include "kernels/reference/reference.h"

#include <math.h>
#include <stdlib.h>

enum {
    COLUMNS = 64, /* columns of dx that are summed together: one thread's share of the table's
                     columns at a time */
    TOGETHER = 8 /* rows of head_rows that share each reading of the table */
};

/* g[v] = seed d log p / d (x . w_v), replacing z[v] = x . w_v + bias_v; returns log p. */
static double softmax_reverse(double *z, size_t vocabulary, size_t target, double soft_cap,
                              double seed)
{
    double largest = -INFINITY, sum = 0, others = 0;
    for (size_t v = 0; v < vocabulary; v++) {
        double capped = soft_cap > 0 ? soft_cap * tanh(z[v] / soft_cap) : z[v];
        if (capped > largest) /* the sum gets any NaN, and everything is NaN */
            largest = capped;
    }
    double z_target = soft_cap > 0 ? soft_cap * tanh(z[target] / soft_cap) : z[target];
    for (size_t v = 0; v < vocabulary; v++) {
        double e = exp((soft_cap > 0 ? soft_cap * tanh(z[v] / soft_cap) : z[v]) - largest);
        sum += e;
        others += v == target ? 0 : e;
    }
    for (size_t v = 0; v < vocabulary; v++) {
        double tangent = soft_cap > 0 ? tanh(z[v] / soft_cap) : 0,
               capped = soft_cap > 0 ? soft_cap * tangent : z[v];
        /* 1 - p of the target is the sum of the others: no cancellation where p is near 1 */
        double d = v == target ? others / sum : -exp(capped - largest) / sum;
        z[v] = seed * d * (1 - tangent * tangent);
    }
    return z_target - largest - log(sum);
}

static void head_segment(real *dx, real *logprob, const real *x, double *z, const struct weight *w,
                         const real *bias, size_t target, double soft_cap, double seed,
                         size_t width)
{
#pragma omp parallel for
    for (size_t v = 0; v < w->rows; v++) {
        double sum = 0;
        for (size_t c0 = 0; c0 < width; c0 += COLUMNS) {
            real row[COLUMNS];
            size_t count = width - c0 < COLUMNS ? width - c0 : COLUMNS;
            weight_parts_read(row, w->parts, v, c0, count);
            for (size_t c = 0; c < count; c++)
                sum += (double)x[c0 + c] * row[c];
        }
        z[v] = sum + (bias ? (double)bias[v] : 0.0);
    }
    *logprob = (real)softmax_reverse(z, w->rows, target, soft_cap, seed);
#pragma omp parallel for schedule(dynamic)
    for (size_t c0 = 0; c0 < width; c0 += COLUMNS) {
        double sum[COLUMNS] = {0};
        size_t count = width - c0 < COLUMNS ? width - c0 : COLUMNS;
        for (size_t v = 0; v < w->rows; v++) {
            real row[COLUMNS];
            weight_parts_read(row, w->parts, v, c0, count);
            for (size_t c = 0; c < count; c++)
                sum[c] += z[v] * row[c];
        }
        for (size_t c = 0; c < count; c++)
            dx[c0 + c] = (real)sum[c];
    }
}

static void head(struct kernels *k, struct buffer *dx, struct buffer *logprob,
                 const struct buffer *x, const struct buffer *targets, const struct weight *w,
                 const struct weight *bias, double soft_cap, double seed, int segments, int width)
{
    double *z = calloc(w->rows, sizeof *z); /* [vocabulary] */
    if (!z) {
        kernels_keep_error(k, "out of memory (%zu logits of the head)", w->rows);
        return;
    }
    for (int s = 0; s < segments; s++) {
        int32_t target = ((const int32_t *)targets->data)[s];
        size_t at = (size_t)s * (size_t)width;
        if (target < 0 || (size_t)target >= w->rows) {
            kernels_keep_error(k, "head: target id %d (expected 0 to %zu)", (int)target,
                               w->rows - 1);
            continue;
        }
        head_segment((real *)dx->data + at, (real *)logprob->data + s, (const real *)x->data + at,
                     z, w, bias ? bias->data : NULL, (size_t)target, soft_cap, seed, (size_t)width);
    }
    free(z);
}

/* log softmax(z)[target] of one row's logits, after capping them in place. */
static double log_probability(double *z, size_t vocabulary, size_t target, double soft_cap)
{
    double largest = -INFINITY, sum = 0;
    for (size_t v = 0; v < vocabulary; v++) {
        if (soft_cap > 0)
            z[v] = soft_cap * tanh(z[v] / soft_cap);
        if (z[v] > largest) /* the sum gets any NaN, and everything is NaN */
            largest = z[v];
    }
    for (size_t v = 0; v < vocabulary; v++)
        sum += exp(z[v] - largest);
    return z[target] - largest - log(sum);
}

/* z[count, vocabulary] = x[count, width] w^T + bias; each row of the table is read once for all of
 * them. */
static void logits(double *z, const real *x, const struct weight *w, const real *bias, size_t count,
                   size_t width)
{
    for (size_t v = 0; v < w->rows; v++) {
        for (size_t r = 0; r < count; r++)
            z[r * w->rows + v] = bias ? (double)bias[v] : 0.0;
        for (size_t c0 = 0; c0 < width; c0 += COLUMNS) {
            real row[COLUMNS];
            size_t some = width - c0 < COLUMNS ? width - c0 : COLUMNS;
            weight_parts_read(row, w->parts, v, c0, some);
            for (size_t r = 0; r < count; r++) {
                double sum = 0;
                for (size_t c = 0; c < some; c++)
                    sum += (double)x[r * width + c0 + c] * row[c];
                z[r * w->rows + v] += sum;
            }
        }
    }
}

static void head_rows(struct kernels *k, struct buffer *logprob, const struct buffer *x,
                      const struct buffer *targets, const struct weight *w,
                      const struct weight *bias, double soft_cap, struct rows rows, int width)
{
    size_t count = (size_t)rows.segments * (size_t)rows.count, vocabulary = w->rows;
    const int32_t *target = targets->data; /* [count] */
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (size_t first = 0; first < count; first += TOGETHER) {
        size_t some = count - first < TOGETHER ? count - first : TOGETHER;
        double *z = calloc(some * vocabulary, sizeof *z); /* [some, vocabulary] */
        if (!z) {
            failed = 1;
            continue;
        }
        logits(z, (const real *)x->data + first * (size_t)width, w, bias ? bias->data : NULL, some,
               (size_t)width);
        for (size_t r = 0; r < some; r++) {
            real *out = (real *)logprob->data + first + r;
            int32_t id = target[first + r];
            if (id >= 0 && (size_t)id < vocabulary) {
                *out = (real)log_probability(z + r * vocabulary, vocabulary, (size_t)id, soft_cap);
            } else {
                kernels_keep_error(k, "head: target id %d (expected 0 to %zu)", (int)id,
                                   vocabulary - 1);
                *out = NAN;
            }
        }
        free(z);
    }
    if (failed)
        kernels_keep_error(k, "out of memory (%d rows of %zu logits of the head)", TOGETHER,
                           vocabulary);
}

void fill_head(struct kernels *k)
{
    k->head = head;
    k->head_rows = head_rows;
}
