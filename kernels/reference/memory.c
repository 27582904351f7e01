/* Reference set: memory, and the operations that only move or add rows. */
#include "kernels/reference/reference.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct buffer *create(struct kernels *k, enum buffer_role role, size_t count, struct error *e)
{
    size_t bytes;
    struct buffer *b;
    if (kernels_take_error(k, e))
        return NULL;
    if (size_multiply(&bytes, count, k->role_size[role])) {
        fail(e, "buffer: %zu elements overflow", count);
        return NULL;
    }
    b = calloc(1, sizeof *b);
    if (!b || posix_memalign(&b->data, 64, bytes ? bytes : 1)) {
        free(b);
        fail_memory(e, (double)bytes, "a buffer");
        return NULL;
    }
    b->count = count;
    b->role = role;
    return b;
}

static void destroy(struct kernels *k, struct buffer *b)
{
    (void)k;
    if (!b)
        return;
    free(b->data);
    free(b);
}

static void write(struct kernels *k, struct buffer *b, size_t at, const double *values, size_t count)
{
    real *data = b->data;
    (void)k;
    for (size_t i = 0; i < count; i++)
        data[at + i] = (real)values[i];
}

static void read(struct kernels *k, double *values, const struct buffer *b, size_t at, size_t count)
{
    const real *data = b->data;
    (void)k;
    for (size_t i = 0; i < count; i++)
        values[i] = data[at + i];
}

static void write_index(struct kernels *k, struct buffer *b, size_t at, const int32_t *values, size_t count)
{
    (void)k;
    memcpy((int32_t *)b->data + at, values, count * sizeof *values);
}

/* The most that attention_reverse allocates (see there), and what the head takes for a vocabulary of 2^19. */
static size_t scratch_bytes(struct kernels *k, const struct attention_shape *shape, struct rows rows)
{
    size_t n = (size_t)shape->positions;
    (void)k;
    (void)rows;
    return (size_t)omp_get_max_threads() * sizeof(double) * n * (3 + 2 * (size_t)shape->head_size) +
           ((size_t)1 << 19) * sizeof(double);
}

static void copy(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows, int width)
{
    size_t size = k->role_size[y->role] * (size_t)width, total = (size_t)rows.segments * (size_t)rows.count;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++)
        memcpy((char *)y->data + r * size, (const char *)x->data + r * size, size);
}

static void add(struct kernels *k, struct buffer *y, const struct buffer *x, struct rows rows, int width)
{
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)width;
    real *sum = y->data;
    const real *more = x->data;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i++)
        sum[i] += more[i];
}

/* Row r of dst's segments*to rows is row tail_row(r) of src's segments*from rows. */
static size_t tail_row(size_t r, int to, int from)
{
    return r / (size_t)to * (size_t)from + (size_t)(from - to) + r % (size_t)to;
}

static void tail(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from, int width)
{
    size_t size = k->role_size[dst->role] * (size_t)width, rows = (size_t)segments * (size_t)to;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++)
        memcpy((char *)dst->data + r * size, (const char *)src->data + tail_row(r, to, from) * size, size);
}

static void tail_reverse(struct kernels *k, struct buffer *dst, const struct buffer *src, int segments, int to, int from,
                         int width)
{
    size_t rows = (size_t)segments * (size_t)to;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {
        real *d = (real *)dst->data + tail_row(r, to, from) * (size_t)width; /* [width] */
        const real *x = (const real *)src->data + r * (size_t)width; /* [width] */
        for (size_t i = 0; i < (size_t)width; i++)
            d[i] += x[i];
    }
}

static void join(struct kernels *k, struct buffer *dst, const struct buffer *a, const struct buffer *b, int segments, int first,
                 int second, int width)
{
    size_t size = k->role_size[dst->role] * (size_t)width, before = (size_t)first * size, behind = (size_t)second * size;
    for (size_t s = 0; s < (size_t)segments; s++) {
        char *to = (char *)dst->data + s * (before + behind);
        if (before)
            memcpy(to, (const char *)a->data + s * before, before);
        memcpy(to + before, (const char *)b->data + s * behind, behind);
    }
}

void fill_memory(struct kernels *k)
{
    k->create = create;
    k->destroy = destroy;
    k->write = write;
    k->read = read;
    k->write_index = write_index;
    k->synchronize = kernels_take_error; /* every operation is done when it returns */
    k->scratch_bytes = scratch_bytes;
    k->close = kernels_release;
    k->copy = copy;
    k->add = add;
    k->tail = tail;
    k->tail_reverse = tail_reverse;
    k->join = join;
}

void reference_fill(struct kernels *k)
{
    snprintf(k->name, sizeof k->name, "reference");
    snprintf(k->dtype, sizeof k->dtype, "%s", REFERENCE_DTYPE);
    for (int role = 0; role < ROLE_COUNT; role++)
        k->role_size[role] = role == ROLE_INDEX ? sizeof(int32_t) : sizeof(real);
    k->workers = omp_get_max_threads();
    fill_memory(k);
    fill_weight(k);
    fill_rows(k);
    fill_linear(k);
    fill_norm(k);
    fill_activation(k);
    fill_attention(k);
    fill_head(k);
}
