/* Parameters of the cpu set. A matrix stays in the file's memory if products can read it there:
 * float, aligned, dense rows or dense columns (GPT-2's Conv1D), as up to SLICES_MOST slices. Else
 * it is copied to a dense float matrix [rows, columns]; of one with blocks on its diagonal the
 * blocks. Vectors and tables are the reference's. */
#include "kernels/cpu/state.h"

#include <stdlib.h>
#include <string.h>

enum { SLICES_MOST = 4, BLOCK = 64 };

/* The part as one slice, if products can read it in place. */
static int part_slice(struct cpu_slice *out, const struct weight_part *p, size_t first)
{
    size_t rows = p->groups * p->rows;
    if (p->type != ELEMENT_F32 || p->offset != 0 || p->factors ||
        (uintptr_t)p->data % sizeof(float) ||
        (p->groups > 1 && p->group_stride != p->rows * p->row_stride))
        return 0;
    *out = (struct cpu_slice){.data = p->data, .first = first, .rows = rows, .depth = p->columns};
    if ((p->column_stride == 1 || p->columns == 1) && (p->row_stride >= p->columns || rows == 1)) {
        out->ld = rows == 1 ? p->columns : p->row_stride;
        return 1;
    }
    if ((p->row_stride == 1 || rows == 1) && (p->column_stride >= rows || p->columns == 1)) {
        out->ld = p->columns == 1 ? rows : p->column_stride;
        out->transposed = 1;
        return 1;
    }
    return 0;
}

/* 1 if `next` continues at the end of `s`, so that both are one slice. */
static int slices_join(const struct cpu_slice *s, const struct cpu_slice *next)
{
    return s->transposed == next->transposed && s->ld == next->ld &&
           next->data == s->data + s->rows * (s->transposed ? 1 : s->ld) &&
           (!s->transposed || s->rows + next->rows <= s->ld);
}

/* Slices of the parts in place; 0 if they must be copied. */
static int borrow_slices(struct cpu_slice slices[SLICES_MOST], const struct weight_part *parts,
                         int part_count)
{
    int count = 0;
    size_t first = 0;
    for (int i = 0; i < part_count; i++) {
        struct cpu_slice s;
        if (!part_slice(&s, &parts[i], first))
            return 0;
        first += s.rows;
        if (count && slices_join(&slices[count - 1], &s))
            slices[count - 1].rows += s.rows;
        else if (count < SLICES_MOST)
            slices[count++] = s;
        else
            return 0;
    }
    return count;
}

/* Block `group` of a part of a matrix with blocks on its diagonal, as a matrix of its own. */
static struct weight_part block_of(const struct weight_part *p, size_t group)
{
    struct weight_part block = *p;
    if (element_is_scaled(p->type))
        block.first += group * p->group_stride;
    else
        block.data = (const char *)p->data + element_bytes(p->type, group * p->group_stride);
    block.columns /= p->groups;
    block.groups = 1, block.group_stride = 0, block.diagonal = 0;
    return block;
}

/* 1 if blocks are read in place; slices[parts groups], or NULL. */
static int borrow_blocks(struct cpu_slice *slices, const struct weight_part *parts, int part_count)
{
    size_t first = 0, at = 0;
    for (int i = 0; i < part_count; i++)
        for (size_t group = 0; group < parts[i].groups; group++, first += parts[i].rows) {
            struct weight_part block = block_of(&parts[i], group);
            struct cpu_slice s;
            if (!part_slice(&s, &block, first))
                return 0;
            s.column = group * block.columns;
            if (slices)
                slices[at++] = s;
        }
    return 1;
}

static size_t weight_bytes(struct kernels *k, enum weight_use use, const struct weight_part *parts,
                           int part_count)
{
    struct cpu_slice slices[SLICES_MOST];
    size_t rows, columns;
    if (use != WEIGHT_MATRIX)
        return cpu_state(k)->base.weight_bytes(k, use, parts, part_count);
    if (weight_parts_size(&rows, &columns, parts, part_count, NULL))
        return 0;
    if (parts->diagonal)
        return borrow_blocks(NULL, parts, part_count)
                   ? 0
                   : rows * (columns / parts->groups) * sizeof(float);
    if (borrow_slices(slices, parts, part_count))
        return 0;
    return rows * columns * sizeof(float);
}

/* out[count, columns] = rows first.. of a part whose columns are contiguous in memory: read along
 * them, BLOCK elements at a time.
 */
static void widen_columns(float *out, const struct weight_part *p, size_t group, size_t row,
                          size_t count)
{
    float column[BLOCK];
    for (size_t c = 0; c < p->columns; c++) {
        element_run_f32(column, p->data, p->type,
                        p->first + group * p->group_stride + row + c * p->column_stride, count);
        for (size_t r = 0; r < count; r++)
            out[r * p->columns + c] = column[r];
    }
}

/* The dense float matrix of one part. */
static void widen_part(float *out, const struct weight_part *p)
{
    size_t blocks = (p->rows + BLOCK - 1) / BLOCK;
    int along_columns = p->row_stride == 1 && p->column_stride != 1 && p->offset == 0 &&
                        !p->factors;
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < p->groups * blocks; b++) {
        size_t group = b / blocks, row = b % blocks * BLOCK,
               count = p->rows - row < BLOCK ? p->rows - row : BLOCK;
        float *to = out + (group * p->rows + row) * p->columns;
        if (along_columns)
            widen_columns(to, p, group, row, count);
        else
            for (size_t r = 0; r < count; r++)
                weight_parts_read_f32(to + r * p->columns, p, group * p->rows + row + r, 0,
                                      p->columns);
    }
}

static void weight_free(struct kernels *k, struct weight *w)
{
    if (w && w->fast) {
        struct cpu_matrix *m = w->fast;
        cpu_block_give(k, w->owned, m->bytes);
        free(m->slices);
        free(m);
        w->owned = NULL;
    }
    cpu_state(k)->base.weight_free(k, w);
}

/* Fills a matrix with blocks on its diagonal. */
static int fill_blocks(struct kernels *k, struct weight *w, struct cpu_matrix *m,
                       const struct weight_part *parts, int part_count, struct error *e)
{
    size_t blocks = parts->groups, depth = w->columns / blocks,
           bytes = w->rows * depth * sizeof(float);
    for (int i = 0; i < part_count; i++)
        if (!parts[i].diagonal || parts[i].groups != blocks)
            return fail(e, "weight part %d has other blocks than part 0", i);
    m->blocks = blocks, m->slice_count = (int)blocks * part_count;
    if (!(m->slices = calloc((size_t)m->slice_count, sizeof *m->slices)))
        return fail_memory(e, (double)m->slice_count * sizeof *m->slices, "a weight");
    if (borrow_blocks(m->slices, parts, part_count))
        return 0;
    w->data = w->owned = cpu_block_take(k, bytes);
    if (!w->owned)
        return fail_memory(e, (double)bytes, "a weight");
    m->bytes = bytes;
    for (size_t i = 0, first = 0; i < (size_t)m->slice_count; i++) {
        struct weight_part block = block_of(&parts[i / blocks], i % blocks);
        float *to = (float *)w->owned + first * depth;
        widen_part(to, &block);
        m->slices[i] = (struct cpu_slice){.data = to,
                                          .ld = depth,
                                          .first = first,
                                          .rows = block.rows,
                                          .column = i % blocks * depth,
                                          .depth = depth};
        first += block.rows;
    }
    return 0;
}

static int fill_matrix(struct kernels *k, struct weight *w, const struct weight_part *parts,
                       int part_count, struct error *e)
{
    struct cpu_slice slices[SLICES_MOST];
    struct cpu_matrix *m;
    int count;
    if (weight_parts_size(&w->rows, &w->columns, parts, part_count, e))
        return -1;
    w->fast = m = calloc(1, sizeof *m);
    if (!m)
        return fail_memory(e, sizeof *m, "a weight");
    m->blocks = 1;
    if (parts->diagonal)
        return fill_blocks(k, w, m, parts, part_count, e);
    count = borrow_slices(slices, parts, part_count);
    if (!(m->slices = calloc((size_t)(count ? count : 1), sizeof *m->slices)))
        return fail_memory(e, sizeof *m, "a weight");
    if (count) {
        m->slice_count = count;
        memcpy(m->slices, slices, (size_t)count * sizeof *slices);
        return 0;
    }
    size_t bytes = w->rows * w->columns * sizeof(float); /* checked by weight_parts_size */
    w->data = w->owned = cpu_block_take(k, bytes);
    if (!w->owned)
        return fail_memory(e, (double)bytes, "a weight");
    m->bytes = bytes;
    float *to = w->owned;
    for (int i = 0; i < part_count; i++) {
        widen_part(to, &parts[i]);
        to += parts[i].groups * parts[i].rows * w->columns;
    }
    m->slice_count = 1;
    m->slices[0] = (struct cpu_slice){.data = w->owned,
                                      .ld = w->columns,
                                      .rows = w->rows,
                                      .depth = w->columns};
    return 0;
}

static struct weight *weight_load(struct kernels *k, enum weight_use use,
                                  const struct weight_part *parts, int part_count, struct error *e)
{
    struct weight *w;
    if (use != WEIGHT_MATRIX)
        return cpu_state(k)->base.weight_load(k, use, parts, part_count, e);
    if (kernels_take_error(k, e))
        return NULL;
    w = calloc(1, sizeof *w);
    if (!w) {
        fail_memory(e, sizeof *w, "a weight");
        return NULL;
    }
    w->use = use;
    if (fill_matrix(k, w, parts, part_count, e)) {
        weight_free(k, w);
        return NULL;
    }
    return w;
}

void cpu_fill_weight(struct kernels *k)
{
    k->weight_load = weight_load;
    k->weight_free = weight_free;
    k->weight_bytes = weight_bytes;
}
