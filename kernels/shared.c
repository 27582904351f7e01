#include "kernels/shared.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernels *kernels_allocate(struct error *e)
{
    struct kernels *k = calloc(1, sizeof *k);
    struct kernels_state *state = calloc(1, sizeof *state);
    if (!k || !state) {
        free(k);
        free(state);
        fail_memory(e, sizeof *k + sizeof *state, "a kernel set");
        return NULL;
    }
    k->state = state;
    return k;
}

void kernels_release(struct kernels *k)
{
    if (!k)
        return;
    free(k->state);
    free(k);
}

struct buffer *kernels_buffer(struct kernels *k, enum buffer_role role, size_t count,
                              void *(*allocate)(size_t bytes), struct error *e)
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
    if (!b || !(b->owned = allocate(bytes))) {
        free(b);
        fail_memory(e, (double)bytes, "a buffer");
        return NULL;
    }
    b->data = b->owned;
    b->count = count;
    b->role = role;
    return b;
}

int kernels_keep_error(struct kernels *k, const char *format, ...)
{
    struct kernels_state *state = k->state;
    va_list arguments;
    va_start(arguments, format);
#pragma omp critical(kernels_kept_error)
    if (!state->failed) {
        char text[sizeof state->first.text];
        vsnprintf(text, sizeof text, format, arguments);
        state->failed = fail(&state->first, "%s", text);
    }
    va_end(arguments);
    return -1;
}

int kernels_take_error(struct kernels *k, struct error *e)
{
    struct kernels_state *state = k->state;
    if (!state->failed)
        return 0;
    state->failed = 0;
    return fail(e, "%s", state->first.text);
}

int weight_parts_size(size_t *rows, size_t *columns, const struct weight_part *parts,
                      int part_count, struct error *e)
{
    if (part_count < 1)
        return fail(e, "weight: no parts");
    *rows = 0;
    *columns = parts[0].columns;
    for (int i = 0; i < part_count; i++) {
        const struct weight_part *p = &parts[i];
        size_t stacked, elements;
        if (!p->data || !p->groups || !p->rows || !p->columns)
            return fail(e, "weight part %d is empty", i);
        if (p->diagonal && (p->columns % p->groups || p->factors || p->offset != 0))
            return fail(e, "weight part %d has %zu blocks in %zu columns", i, p->groups,
                        p->columns);
        if (p->diagonal != parts->diagonal)
            return fail(e, "weight part %d is not as part 0: of blocks on a diagonal, or not", i);
        if (p->columns != *columns)
            return fail(e, "weight part %d has %zu columns (expected %zu)", i, p->columns,
                        *columns);
        if (size_multiply(&stacked, p->groups, p->rows) || size_add(rows, *rows, stacked) ||
            size_multiply(&elements, *rows, *columns) ||
            size_multiply(&elements, elements, sizeof(double)))
            return fail(e, "weight: its size overflows");
    }
    return 0;
}

/* The part that holds `row` of the stack, with *at the row's first element, its factor, and the
 * columns that are stored: *stored from *column on. */
static const struct weight_part *find_row(size_t *at, double *factor, size_t *column,
                                          size_t *stored, const struct weight_part *parts,
                                          size_t row)
{
    while (row >= parts->groups * parts->rows)
        row -= parts->groups * parts->rows, parts++;
    *stored = parts->columns / (parts->diagonal ? parts->groups : 1);
    *column = parts->diagonal ? row / parts->rows * *stored : 0;
    *at = parts->first + row / parts->rows * parts->group_stride +
          row % parts->rows * parts->row_stride;
    *factor = parts->factors ? parts->factors[row] : 1;
    return parts;
}

/* Of `count` columns from `column` on those that are among `stored` from `from` on: how many are
 * before them, the first of them, counted from `from`, and their number. */
struct overlap {
    size_t skipped, first, count;
};

static struct overlap overlap_of(size_t column, size_t count, size_t from, size_t stored)
{
    size_t begin = column > from ? column : from,
           end = column + count < from + stored ? column + count : from + stored;
    return begin < end ? (struct overlap){begin - column, begin - from, end - begin}
                       : (struct overlap){0};
}

void weight_parts_read_f64(double *out, const struct weight_part *parts, size_t row, size_t column,
                           size_t count)
{
    size_t at, from, stored;
    double factor;
    const struct weight_part *p = find_row(&at, &factor, &from, &stored, parts, row);
    if (p->diagonal) {
        struct overlap o = overlap_of(column, count, from, stored);
        memset(out, 0, count * sizeof *out);
        out += o.skipped, column = o.first, count = o.count;
    }
    at += column * p->column_stride;
    if (p->column_stride == 1)
        element_run_f64(out, p->data, p->type, at, count);
    else
        for (size_t c = 0; c < count; c++)
            out[c] = element_read(p->data, p->type, at + c * p->column_stride);
    if (factor != 1 || p->offset != 0)
        for (size_t c = 0; c < count; c++)
            out[c] = out[c] * factor + p->offset;
}

void weight_parts_read_f32(float *out, const struct weight_part *parts, size_t row, size_t column,
                           size_t count)
{
    size_t at, from, stored;
    double factor;
    const struct weight_part *p = find_row(&at, &factor, &from, &stored, parts, row);
    if (p->diagonal) {
        struct overlap o = overlap_of(column, count, from, stored);
        memset(out, 0, count * sizeof *out);
        out += o.skipped, column = o.first, count = o.count;
    }
    at += column * p->column_stride;
    if (p->column_stride == 1 && factor == 1 && p->offset == 0)
        element_run_f32(out, p->data, p->type, at, count);
    else
        for (size_t c = 0; c < count; c++)
            out[c] = (float)(element_read(p->data, p->type, at + c * p->column_stride) * factor +
                             p->offset);
}

int weight_parts_dense(const struct weight_part *parts, int part_count, enum element type)
{
    const struct weight_part *p = parts;
    return part_count == 1 && p->type == type && p->offset == 0 && !p->factors && !p->diagonal &&
           (uintptr_t)p->data % element_size(type) == 0 &&
           (p->columns == 1 || p->column_stride == 1) &&
           (p->rows == 1 || p->row_stride == p->columns) &&
           (p->groups == 1 || p->group_stride == p->rows * p->columns);
}

static int attention_check(const struct attention_shape *s, struct error *e)
{
    if (s->heads < 1 || s->kv_heads < 1 || s->kv_heads > s->heads)
        return fail(
            e,
            "attention: %d heads with %d key-value heads (expected 1 <= key-value heads <= heads)",
            s->heads, s->kv_heads);
    if (s->head_size < 1 || s->head_size > HEAD_SIZE_MOST)
        return fail(e, "attention: head size %d (expected 1 to %d)", s->head_size, HEAD_SIZE_MOST);
    if (s->value_size < 0 || s->value_size > HEAD_SIZE_MOST)
        return fail(e, "attention: value size %d (expected 1 to %d)", s->value_size,
                    HEAD_SIZE_MOST);
    if (s->positions < 1)
        return fail(e, "attention: %d positions (expected at least 1)", s->positions);
    if (s->window < 0)
        return fail(e, "attention: window %d (expected 0 for none, or more)", s->window);
    if (s->keep < 0)
        return fail(e, "attention: %d first keys (expected 0 for none, or more)", s->keep);
    if (s->chunk < 0 || (s->chunk && s->window))
        return fail(e, "attention: chunk %d beside window %d (expected one of them to be 0)",
                    s->chunk, s->window);
    if (!(s->soft_cap >= 0))
        return fail(e, "attention: soft-cap %g (expected 0 for none, or more)", s->soft_cap);
    if (s->rotary_size < 0 || s->rotary_first < 0 || s->rotary_size % 2 ||
        s->rotary_size > s->head_size - s->rotary_first)
        return fail(e,
                    "attention: %d rotated dimensions from %d on (expected an even number of the "
                    "head size, %d)",
                    s->rotary_size, s->rotary_first, s->head_size);
    if (s->rotary_size && !(s->cosine && s->sine))
        return fail(e, "attention: rotary without its angles");
    return 0;
}

/* Copies a table to *next, if there is one, and makes *table point to the copy. */
static void copy_table(const double **table, double **next, size_t count)
{
    if (!*table || !count)
        return;
    memcpy(*next, *table, count * sizeof(double));
    *table = *next;
    *next += count;
}

struct attention *attention_copy(const struct attention_shape *shape, struct error *e)
{
    struct attention *a = NULL;
    size_t by_head, angles, count, tables;
    if (attention_check(shape, e))
        return NULL;
    tables = (shape->bias != NULL) + (shape->multiplier != NULL) + (shape->key_bias != NULL);
    if (size_multiply(&by_head, (size_t)shape->heads, (size_t)shape->positions) ||
        size_multiply(&count, by_head, tables) ||
        size_multiply(&angles, (size_t)shape->positions, (size_t)shape->rotary_size / 2) ||
        size_add(&count, count, 2 * angles) ||
        size_add(&count, count, shape->query_factor ? (size_t)shape->positions : 0) ||
        size_multiply(&count, count, sizeof(double))) {
        fail(e, "attention: the size of its tables overflows");
        return NULL;
    }
    a = calloc(1, sizeof *a);
    if (a)
        a->tables = malloc(count ? count : 1);
    if (!a || !a->tables) {
        attention_release(a);
        fail_memory(e, (double)count, "attention tables");
        return NULL;
    }
    a->shape = *shape;
    a->shape.value_size = attention_value_size(shape);
    double *next = a->tables;
    copy_table(&a->shape.bias, &next, by_head);
    copy_table(&a->shape.multiplier, &next, by_head);
    copy_table(&a->shape.key_bias, &next, by_head);
    copy_table(&a->shape.cosine, &next, angles);
    copy_table(&a->shape.sine, &next, angles);
    copy_table(&a->shape.query_factor, &next, (size_t)shape->positions);
    return a;
}

void attention_release(struct attention *a)
{
    if (!a)
        return;
    free(a->tables);
    free(a);
}
