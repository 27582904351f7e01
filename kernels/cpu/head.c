/* The head of the cpu set: the table is read twice where it lies, once for the logits, once for their gradient, in fixed chunks of its rows; sums in
 * double, chunks added in order. For the formulas see the reference's head. */
#include "kernels/cpu/state.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { CHUNKS_MOST = 64, CHUNK_LEAST = 64 };

/* Row `row` of the table as floats: where it lies if it can be read there, else widened into `buffer`. */
static const float *table_row(float *buffer, const struct weight *w, size_t row)
{
    const struct weight_part *p = w->parts;
    if (p->type == ELEMENT_F32 && p->groups == 1 && row < p->rows && p->column_stride == 1 && p->offset == 0 && (uintptr_t)p->data % sizeof(float) == 0)
        return (const float *)p->data + row * p->row_stride;
    weight_parts_read_f32(buffer, p, row, 0, w->columns);
    return buffer;
}

/* g[v] = seed d log p / d (x . w_v), made in place of z[v] = x . w_v + bias_v; returns log p. */
static double softmax_reverse(double *z, size_t vocabulary, size_t target, double soft_cap, double seed)
{
    double largest = -INFINITY, sum = 0, others = 0;
    for (size_t v = 0; v < vocabulary; v++) {
        double capped = soft_cap > 0 ? soft_cap * tanh(z[v] / soft_cap) : z[v];
        if (!(capped <= largest)) /* NaN wins, and then all is NaN */
            largest = capped;
    }
    double z_target = soft_cap > 0 ? soft_cap * tanh(z[target] / soft_cap) : z[target];
    for (size_t v = 0; v < vocabulary; v++) {
        double tangent = soft_cap > 0 ? tanh(z[v] / soft_cap) : 0, e = exp((soft_cap > 0 ? soft_cap * tangent : z[v]) - largest);
        sum += e;
        others += v == target ? 0 : e;
        z[v] = -seed * e * (1 - tangent * tangent);
    }
    double tangent = soft_cap > 0 ? z_target / soft_cap : 0;
    for (size_t v = 0; v < vocabulary; v++)
        z[v] /= sum;
    z[target] = seed * (others / sum) * (1 - tangent * tangent); /* 1 - p is the sum of the others: nothing cancels where p is near 1 */
    return z_target - largest - log(sum);
}

static void head(struct kernels *k, struct buffer *dx, struct buffer *logprob, const struct buffer *x, const struct weight *w, const struct weight *bias,
                 const struct buffer *targets, double soft_cap, double seed, int segments, int width)
{
    const struct vector_kernels *vector = cpu_state(k)->vector;
    const float *in = x->data, *b = bias ? bias->data : NULL; /* [segments, width], [vocabulary] */
    size_t vocabulary = w->rows, columns = (size_t)width, count = (size_t)segments;
    size_t chunk = (vocabulary + CHUNKS_MOST - 1) / CHUNKS_MOST;
    if (chunk < CHUNK_LEAST)
        chunk = CHUNK_LEAST;
    size_t chunks = (vocabulary + chunk - 1) / chunk;
    size_t z_bytes = count * vocabulary * sizeof(double), sum_bytes = chunks * count * columns * sizeof(double);
    char *scratch = cpu_scratch(k, z_bytes + sum_bytes + (size_t)omp_get_max_threads() * columns * sizeof(float), "the head");
    if (!scratch)
        return;
    double *z = (double *)scratch, *sums = (double *)(scratch + z_bytes); /* [segments, vocabulary], [chunks, segments, width] */
    float *rows = (float *)(scratch + z_bytes + sum_bytes);               /* [threads, width] */

#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < chunks; c++)
        for (size_t v = c * chunk; v < vocabulary && v < (c + 1) * chunk; v++) {
            const float *row = table_row(rows + (size_t)omp_get_thread_num() * columns, w, v);
            for (size_t s = 0; s < count; s++)
                z[s * vocabulary + v] = vector->dot_double(in + s * columns, row, columns) + (b ? (double)b[v] : 0.0);
        }
#pragma omp parallel for schedule(dynamic)
    for (size_t s = 0; s < count; s++) {
        int32_t target = ((const int32_t *)targets->data)[s];
        float *out = (float *)logprob->data + s;
        if (target >= 0 && (size_t)target < vocabulary) {
            *out = (float)softmax_reverse(z + s * vocabulary, vocabulary, (size_t)target, soft_cap, seed);
        } else {
            kernels_keep_error(k, "head: target id %d (expected 0 to %zu)", (int)target, vocabulary - 1);
            memset(z + s * vocabulary, 0, vocabulary * sizeof *z);
            *out = NAN;
        }
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < chunks; c++) {
        double *sum = sums + c * count * columns; /* [segments, width] */
        memset(sum, 0, count * columns * sizeof *sum);
        for (size_t v = c * chunk; v < vocabulary && v < (c + 1) * chunk; v++) {
            const float *row = table_row(rows + (size_t)omp_get_thread_num() * columns, w, v);
            for (size_t s = 0; s < count; s++)
                vector->add_scaled_double(sum + s * columns, row, z[s * vocabulary + v], columns);
        }
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count * columns; i++) {
        double total = 0;
        for (size_t c = 0; c < chunks; c++)
            total += sums[c * count * columns + i];
        ((float *)dx->data)[i] = (float)total;
    }
}

void cpu_fill_head(struct kernels *k)
{
    k->head = head;
}
