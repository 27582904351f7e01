/* Reference set: operations that only move or add rows. */
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

void fill_move(struct kernels *k)
{
    k->copy = copy;
    k->add = add;
    k->tail = tail;
    k->tail_reverse = tail_reverse;
    k->join = join;
}
