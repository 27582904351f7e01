/* Reference set: operations that only move or add rows, or parts of them. */
#include "kernels/reference/reference.h"

#include <string.h>

static void copy(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows,
                 int width)
{
    size_t size = k->role_size[y->role] * (size_t)width,
           total = (size_t)rows.segments * (size_t)rows.count;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++)
        memcpy((char *)y->data + r * size, (const char *)x->data + r * size, size);
}

static void add(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows,
                int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    real *sum = y->data;
    const real *more = x->data;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i++)
        sum[i] += more[i];
}

/* Row r of segments*to rows is row tail_row(r) of segments*from rows. */
static size_t tail_row(size_t r, int to, int from)
{
    return r / (size_t)to * (size_t)from + (size_t)(from - to) + r % (size_t)to;
}

static void tail(struct kernels *k, struct buffer *y, const struct buffer *x, int segments, int to,
                 int from, int width)
{
    size_t size = k->role_size[y->role] * (size_t)width, rows = (size_t)segments * (size_t)to;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++)
        memcpy((char *)y->data + r * size, (const char *)x->data + tail_row(r, to, from) * size,
               size);
}

static void tail_reverse(struct kernels *k, struct buffer *dx, const struct buffer *dy,
                         int segments, int to, int from, int width)
{
    size_t rows = (size_t)segments * (size_t)to;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        real *sum = (real *)dx->data + tail_row(r, to, from) * (size_t)width; /* [width] */
        const real *more = (const real *)dy->data + r * (size_t)width; /* [width] */
        for (size_t i = 0; i < (size_t)width; i++)
            sum[i] += more[i];
    }
}

static void join(struct kernels *k, struct buffer *y, const struct buffer *x_before,
                 const struct buffer *x_behind, int segments, int before, int behind, int width)
{
    size_t size = k->role_size[y->role] * (size_t)width, first = (size_t)before * size,
           second = (size_t)behind * size;
    for (size_t s = 0; s < (size_t)segments; s++) {
        char *to = (char *)y->data + s * (first + second);
        if (before)
            memcpy(to, (const char *)x_before->data + s * first, first);
        memcpy(to + first, (const char *)x_behind->data + s * second, second);
    }
}

static void join_keys(struct kernels *k, struct buffer *kv, const struct buffer *own,
                      const struct buffer *shared, const struct attention *a, struct rows rows,
                      int shared_size)
{
    const struct attention_shape *s = &a->shape;
    size_t total = (size_t)rows.segments * (size_t)rows.count, heads = (size_t)s->kv_heads,
           size = (size_t)s->head_size, values = (size_t)s->value_size, part = (size_t)shared_size,
           rest = size - part;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++) {
        real *key = (real *)kv->data + r * heads * (size + values), *value = key + heads * size;
        const real *from = (const real *)own->data + r * heads * (rest + values),
                   *common = (const real *)shared->data + r * part;
        for (size_t h = 0; h < heads; h++, from += rest + values) {
            memcpy(key + h * size, from, rest * sizeof *key);
            memcpy(key + h * size + rest, common, part * sizeof *key);
            memcpy(value + h * values, from + rest, values * sizeof *key);
        }
    }
}

static void join_keys_reverse(struct kernels *k, struct buffer *d_own, struct buffer *d_shared,
                              const struct buffer *dkv, const struct attention *a, struct rows rows,
                              int shared_size)
{
    const struct attention_shape *s = &a->shape;
    size_t total = (size_t)rows.segments * (size_t)rows.count, heads = (size_t)s->kv_heads,
           size = (size_t)s->head_size, values = (size_t)s->value_size, part = (size_t)shared_size,
           rest = size - part;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++) {
        const real *key = (const real *)dkv->data + r * heads * (size + values),
                   *value = key + heads * size;
        real *to = (real *)d_own->data + r * heads * (rest + values),
             *common = (real *)d_shared->data + r * part;
        for (size_t h = 0; h < heads; h++, to += rest + values) {
            memcpy(to, key + h * size, rest * sizeof *to);
            memcpy(to + rest, value + h * values, values * sizeof *to);
        }
        for (size_t c = 0; c < part; c++) {
            double sum = 0;
            for (size_t h = 0; h < heads; h++)
                sum += key[h * size + rest + c];
            common[c] = (real)sum;
        }
    }
}

void fill_move(struct kernels *k)
{
    k->copy = copy;
    k->add = add;
    k->tail = tail;
    k->tail_reverse = tail_reverse;
    k->join = join;
    k->join_keys = join_keys;
    k->join_keys_reverse = join_keys_reverse;
}
