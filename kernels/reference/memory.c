/* Reference set: memory, and the table. */
#include "kernels/reference/reference.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes)
{
    void *memory;
    return posix_memalign(&memory, 64, bytes ? bytes : 1) ? NULL : memory;
}

static struct buffer *create(struct kernels *k, enum buffer_role role, size_t count,
                             struct error *e)
{
    return kernels_buffer(k, role, count, allocate, e);
}

static void destroy(struct kernels *k, struct buffer *b)
{
    (void)k;
    if (!b)
        return;
    free(b->owned);
    free(b);
}

static void aim(struct kernels *k, struct buffer *view, const struct buffer *b, size_t at)
{
    view->data = (char *)b->data + at * k->role_size[b->role];
    view->count = b->count - at;
}

static void write(struct kernels *k, struct buffer *b, size_t at, const double *values,
                  size_t count)
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

static void write_index(struct kernels *k, struct buffer *b, size_t at, const int32_t *values,
                        size_t count)
{
    (void)k;
    memcpy((int32_t *)b->data + at, values, count * sizeof *values);
}

static void read_index(struct kernels *k, int32_t *values, const struct buffer *b, size_t at,
                       size_t count)
{
    (void)k;
    memcpy(values, (const int32_t *)b->data + at, count * sizeof *values);
}

/* The larger allocation of attention_reverse (see there) and the head (a segment's logits). */
static size_t scratch_bytes(struct kernels *k, const struct attention_shape *shape,
                            struct rows rows, struct head_shape head)
{
    size_t n = (size_t)shape->positions, threads = (size_t)omp_get_max_threads(),
           attention = threads * sizeof(double) * n * (3 + 2 * (size_t)shape->head_size),
           logits = threads * head.vocabulary * sizeof(double);
    (void)k;
    (void)rows;
    return attention > logits ? attention : logits;
}

void fill_memory(struct kernels *k)
{
    k->create = create;
    k->destroy = destroy;
    k->aim = aim;
    k->write = write;
    k->read = read;
    k->write_index = write_index;
    k->read_index = read_index;
    k->synchronize = kernels_take_error; /* every operation is complete when it returns */
    k->scratch_bytes = scratch_bytes;
    k->close = kernels_release;
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
    fill_move(k);
    fill_linear(k);
    fill_norm(k);
    fill_activation(k);
    fill_convolution(k);
    fill_experts(k);
    fill_attention(k);
    fill_recurrence(k);
    fill_scan(k);
    fill_lru(k);
    fill_wkv(k);
    fill_head(k);
}
