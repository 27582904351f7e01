/* One kind of attention on the device: its tables of scores and of rotary angles. */
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/state.cuh"

#include <stdlib.h>

/* One row of a table: value(i) = factor * source[i] (`neutral` without a source) for 0 <= i <
 * count, `outside` around it; and the largest of every NORM_ROWS. */
static void fill_row(float *row, float *most, size_t stride, size_t most_count,
                     const double *source, int count, double factor, float neutral, float outside,
                     int absolute)
{
    for (size_t i = 0; i < stride; i++)
        row[i] = outside;
    for (size_t i = 0; i < most_count; i++)
        most[i] = -INFINITY;
    for (int i = 0; i < count; i++) {
        float value = source ? (float)(factor * source[i]) : neutral,
              size = absolute ? fabsf(value) : value, *largest = &most[i / NORM_ROWS];
        row[TABLE_PAD + i] = value;
        if (!(size <= *largest))
            *largest = size;
    }
}

/* 1 if some finite biases of a head, or a finite one and a mask, differ by more than 2^-x can hold
 * in a float. */
static int is_steep(const double *bias, int heads, int positions)
{
    for (int h = 0; bias && h < heads; h++) {
        double low = INFINITY, high = -INFINITY;
        for (int t = 0; t < positions; t++) {
            low = fmin(low, bias[(size_t)h * (size_t)positions + (size_t)t]);
            high = fmax(high, bias[(size_t)h * (size_t)positions + (size_t)t]);
        }
        if ((high - low) * M_LOG2E > 120)
            return 1;
    }
    return 0;
}

static void tables_free(struct kernels *k, struct attention_tables *t)
{
    if (t)
        cuda_give(k, t->memory, t->bytes);
    free(t);
}

static struct attention_tables *tables_create(struct kernels *k, const struct attention_shape *s,
                                              struct error *e)
{
    size_t n = (size_t)s->positions, heads = (size_t)s->heads, bias_rows = s->bias ? heads : 1,
           visible = n, count, bytes;
    size_t stride = (n + 2 * TABLE_PAD + 3) / 4 * 4, most = cuda_divide_up(n, NORM_ROWS), rows;
    struct attention_tables *t = (struct attention_tables *)calloc(1, sizeof *t);
    float *host = NULL;
    rows = bias_rows + (s->multiplier ? heads : 0) + (s->key_bias ? heads : 0);
    if (!t || __builtin_mul_overflow(rows, stride + most, &count) ||
        __builtin_mul_overflow(count, sizeof(float), &bytes) || !(host = (float *)malloc(bytes))) {
        fail_memory(e, (double)rows * (double)(stride + most) * sizeof(float), "attention tables");
        goto failed;
    }
    if (s->window > 0 && s->keep == 0 && (size_t)s->window < n)
        visible = (size_t)s->window;
    {
        float *row = host, *largest = host + rows * stride;
        for (size_t h = 0; h < bias_rows; h++, row += stride, largest += most)
            fill_row(row, largest, stride, most, s->bias ? s->bias + h * n : NULL, (int)visible,
                     M_LOG2E, 0, -INFINITY, 0);
        for (size_t h = 0; s->multiplier && h < heads; h++, row += stride, largest += most)
            fill_row(row, largest, stride, most, s->multiplier + h * n, (int)n, 1, 1, 1, 1);
        for (size_t h = 0; s->key_bias && h < heads; h++, row += stride, largest += most)
            fill_row(row, largest, stride, most, s->key_bias + h * n, (int)n, M_LOG2E, 0, 0, 0);
    }
    t->bytes = bytes;
    t->memory = (float *)cuda_take(k, bytes, cuda_state(k)->stream, e);
    if (!t->memory ||
        cuda_check_now(cudaMemcpyAsync(t->memory, host, bytes, cudaMemcpyHostToDevice,
                                       cuda_state(k)->stream),
                       "attention tables", e) ||
        cuda_check_now(cudaStreamSynchronize(cuda_state(k)->stream), "attention tables", e))
        goto failed;
    t->stride = stride;
    t->most_stride = (int)most;
    t->bias_stride = s->bias ? stride : 0;
    t->bias_most_stride = s->bias ? (int)most : 0;
    t->bias = t->memory;
    t->bias_most = t->memory + rows * stride;
    if (s->multiplier) {
        t->multiplier = t->bias + bias_rows * stride;
        t->multiplier_most = t->bias_most + bias_rows * most;
    }
    if (s->key_bias) {
        size_t before = bias_rows + (s->multiplier ? heads : 0);
        t->key_bias = t->bias + before * stride;
        t->key_bias_most = t->bias_most + before * most;
    }
    t->steep = is_steep(s->bias, s->heads, s->positions) ||
               is_steep(s->key_bias, s->heads, s->positions);
    free(host);
    return t;
failed:
    free(host);
    tables_free(k, t);
    return NULL;
}

static void attention_free(struct kernels *k, struct attention *a)
{
    struct cuda_attention *d = a ? (struct cuda_attention *)a->fast : NULL;
    if (d) {
        tables_free(k, d->scores);
        cuda_give(k, d->positions, d->bytes);
        free(d);
    }
    attention_release(a);
}

/* Cosines, sines, and factors of queries, rounded to float, on the device. */
static int upload_positions(struct kernels *k, struct cuda_attention *d,
                            const struct attention_shape *shape, struct error *e)
{
    size_t angles = (size_t)shape->positions * (size_t)shape->rotary_size / 2,
           factors = shape->query_factor ? (size_t)shape->positions : 0,
           count = 2 * angles + factors; /* its doubles exist, so its floats do not overflow */
    cudaStream_t stream = cuda_state(k)->stream;
    if (!count)
        return 0;
    float *host = (float *)malloc(count * sizeof(float));
    if (!host)
        return fail_memory(e, (double)count * sizeof(float), "rotary angles");
    for (size_t i = 0; i < angles; i++) {
        host[i] = (float)shape->cosine[i];
        host[angles + i] = (float)shape->sine[i];
    }
    for (size_t i = 0; i < factors; i++)
        host[2 * angles + i] = (float)shape->query_factor[i];
    d->bytes = count * sizeof(float);
    d->positions = (float *)cuda_take(k, d->bytes, stream, e);
    int failed = !d->positions ||
                 cuda_check_now(cudaMemcpyAsync(d->positions, host, d->bytes,
                                                cudaMemcpyHostToDevice, stream),
                                "rotary angles", e) ||
                 cuda_check_now(cudaStreamSynchronize(stream), "rotary angles", e);
    if (d->positions) {
        d->cosine = d->positions;
        d->sine = d->cosine + angles;
        d->factor = d->sine + angles;
    }
    free(host);
    return failed ? -1 : 0;
}

static struct attention *attention_create(struct kernels *k, const struct attention_shape *shape,
                                          struct error *e)
{
    struct cuda_range range("attention_create");
    struct attention *a = kernels_take_error(k, e) ? NULL : attention_copy(shape, e);
    struct cuda_attention *d;
    if (!a)
        return NULL;
    a->fast = d = (struct cuda_attention *)calloc(1, sizeof *d);
    if (!d) {
        fail_memory(e, sizeof *d, "attention tables");
        attention_release(a);
        return NULL;
    }
    d->scores = tables_create(k, &a->shape, e);
    if (!d->scores || upload_positions(k, d, &a->shape, e)) {
        attention_free(k, a);
        return NULL;
    }
    return a;
}

void cuda_fill_attention_tables(struct kernels *k)
{
    k->attention_create = attention_create;
    k->attention_free = attention_free;
}
