#include "io/torch/neox_merge.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 };

enum rule {
    JOIN_ROWS, /* column-parallel: rows side by side */
    JOIN_GATED, /* the same, in halves when the MLP is gated */
    JOIN_COLUMNS, /* row-parallel */
    JOIN_HEAD, /* rows or columns, as the settings say */
    ROW_BIAS, /* of a row-parallel product */
    AVERAGE, /* norms: copies that may have drifted apart */
    COPY /* the same everywhere */
};

/* How a tensor is distributed, by the end of its name (megatron/model/, mpu/layers.py). */
static const struct {
    const char *end;
    enum rule rule;
} rules[] = {
    {".word_embeddings.weight", JOIN_ROWS},
    {".position_embeddings.weight", COPY},
    {".position_embeddings.inv_freq", COPY},
    {".rotary_emb.inv_freq", COPY},
    {".alibi_embed.slopes", JOIN_ROWS},
    {".rpe.bias_p", JOIN_ROWS},
    {".rpe.bias_a", JOIN_ROWS},
    {".rpe.wei_p", JOIN_ROWS},
    {".rpe.wei_a", JOIN_ROWS},
    {".rpe.weight", JOIN_COLUMNS},
    {".query_key_value.weight", JOIN_ROWS},
    {".query_key_value.bias", JOIN_ROWS},
    {".attention.dense.weight", JOIN_COLUMNS},
    {".attention.dense.bias", ROW_BIAS},
    {".dense_h_to_4h.weight", JOIN_GATED},
    {".dense_h_to_4h.bias", JOIN_GATED},
    {".linear1.weight", JOIN_GATED},
    {".linear1.bias", JOIN_GATED},
    {".dense_4h_to_h.weight", JOIN_COLUMNS},
    {".dense_4h_to_h.bias", ROW_BIAS},
    {".linear2.weight", JOIN_COLUMNS},
    {".linear2.bias", ROW_BIAS},
    {".final_linear.weight", JOIN_HEAD},
    {"norm.weight", AVERAGE},
    {"norm.bias", AVERAGE},
    {"norm.scale", AVERAGE},
    {"norm.g", AVERAGE},
};

/* One tensor with its counterparts in the other ranks. */
struct merge {
    struct tensors *out;
    const struct mapped *file;
    const struct tensor *parts[64];
    size_t ranks;
    struct error *e;
};

static int find_rule(enum rule *out, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t end = strlen(rules[i].end);
        if (length >= end && strcmp(name + length - end, rules[i].end) == 0) {
            *out = rules[i].rule;
            return 0;
        }
    }
    return -1;
}

/* 1 if all ranks hold the same bytes. */
static int parts_are_equal(const struct merge *m)
{
    static const size_t step = PIECE / sizeof(double);
    unsigned char a[PIECE], b[PIECE];
    for (size_t r = 1; r < m->ranks; r++)
        for (size_t first = 0; first < m->parts[0]->count; first += step) {
            size_t count = m->parts[0]->count - first < step ? m->parts[0]->count - first : step;
            tensor_copy(a, m->parts[0], first, count);
            tensor_copy(b, m->parts[r], first, count);
            if (memcmp(a, b, count * m->parts[0]->stored->bytes))
                return 0;
        }
    return 1;
}

/* A tensor of the given shape in memory of the store: *memory is to be filled. NULL on failure. */
static struct tensor *add_owned(struct merge *m, const struct stored_type *type,
                                const size_t *shape, void **memory)
{
    const struct tensor *first = m->parts[0];
    struct tensor *t = store_add(m->out, m->file, first->name, strlen(first->name), m->e);
    if (!t || store_shape(t, type, first->rank, shape, m->file->path, m->e) ||
        !(*memory = store_memory(m->out, t->bytes, first->name, m->e)))
        return NULL;
    t->data = *memory;
    return t;
}

/* What is the same in all ranks, taken from the first. */
static int take_first(struct merge *m)
{
    struct tensor *t = store_add(m->out, m->file, m->parts[0]->name, strlen(m->parts[0]->name),
                                 m->e);
    if (!t)
        return -1;
    const char *name = t->name;
    *t = *m->parts[0];
    t->name = name;
    return 0;
}

/* Joined along `axis`, each rank's part as `pieces` equal pieces that are joined one by one. */
static int join(struct merge *m, int axis, size_t pieces)
{
    const struct tensor *first = m->parts[0];
    size_t shape[TENSOR_RANK_MAX], inner = first->stored->bytes, outer = 1;
    unsigned char *memory;
    if (axis >= first->rank || first->shape[axis] % pieces)
        return fail(m->e,
                    "%s: tensor %s has a shape that cannot be joined over model-parallel ranks",
                    m->file->path, first->name);
    memcpy(shape, first->shape, sizeof shape);
    if (size_multiply(&shape[axis], shape[axis], m->ranks))
        return fail(m->e, "%s: tensor %s has more elements than can be counted over all ranks",
                    m->file->path, first->name);
    if (!add_owned(m, first->stored, shape, (void **)&memory))
        return -1;
    for (int i = 0; i < first->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? first->shape[i] / pieces : first->shape[i];
    size_t run = inner / first->stored->bytes; /* adjacent elements of one rank */
    for (size_t i = 0; i < outer * pieces; i++)
        for (size_t r = 0; r < m->ranks; r++)
            tensor_copy(memory + (i * m->ranks + r) * inner, m->parts[r], i * run, run);
    for (size_t r = 0; r < m->ranks; r++)
        tensors_release_pages(m->parts[r]->data, m->parts[r]->bytes);
    return 0;
}

/* sum over ranks / divisor, in double: exact for what is stored in fewer bits. */
static int combine(struct merge *m, double divisor)
{
    const struct tensor *first = m->parts[0];
    double *memory, sum;
    if (first->integer)
        return fail(m->e, "%s: tensor %s is of an integer type, and ranks differ in it",
                    m->file->path, first->name);
    if (!add_owned(m, stored_type_find("F64"), first->shape, (void **)&memory))
        return -1;
    for (size_t i = 0; i < first->count; i++) {
        sum = 0;
        for (size_t r = 0; r < m->ranks; r++) {
            double element;
            tensor_copy(&element, m->parts[r], i, 1);
            sum += element_read(&element, first->type, 0);
        }
        memory[i] = sum / divisor;
    }
    return 0;
}

static int merge_one(struct merge *m, const struct neox_settings *settings)
{
    const struct tensor *first = m->parts[0];
    enum rule rule;
    if (find_rule(&rule, first->name))
        return fail(m->e, "%s: how model-parallel ranks share tensor %s is not known",
                    m->file->path, first->name);
    for (size_t r = 1; r < m->ranks; r++)
        if (m->parts[r]->stored != first->stored || m->parts[r]->rank != first->rank ||
            memcmp(m->parts[r]->shape, first->shape, (size_t)first->rank * sizeof *first->shape))
            return fail(m->e, "%s: tensor %s has another type or shape in rank %zu", m->file->path,
                        first->name, r);
    if (settings->grouped && strstr(first->name, ".query_key_value."))
        return fail(m->e,
                    "%s: tensor %s: joining grouped keys and values over model-parallel ranks is "
                    "not supported",
                    m->file->path, first->name);
    switch (rule) {
    case JOIN_ROWS: return join(m, 0, 1);
    case JOIN_GATED: return join(m, 0, settings->gated ? 2 : 1);
    case JOIN_COLUMNS: return join(m, 1, 1);
    case JOIN_HEAD: return join(m, settings->head_by_columns ? 0 : 1, 1);
    case ROW_BIAS:
        if (settings->sums_row_biases)
            return combine(m, 1);
        break;
    case AVERAGE:
        if (!parts_are_equal(m))
            return combine(m, (double)m->ranks);
        break;
    case COPY: break;
    }
    if (!parts_are_equal(m))
        return fail(m->e, "%s: tensor %s differs between model-parallel ranks (expected copies)",
                    m->file->path, first->name);
    return take_first(m);
}

int neox_merge(struct tensors *out, const struct mapped *file, struct tensors *const *parts,
               size_t ranks, const struct neox_settings *settings, struct error *e)
{
    struct merge m = {.out = out, .file = file, .ranks = ranks, .e = e};
    if (ranks > sizeof m.parts / sizeof *m.parts)
        return fail(e, "%s: is spread over %zu model-parallel ranks (expected at most %zu)",
                    file->path, ranks, sizeof m.parts / sizeof *m.parts);
    for (size_t r = 1; r < ranks; r++)
        if (tensors_count(parts[r]) != tensors_count(parts[0]))
            return fail(e, "%s: rank %zu holds %zu tensors, rank 0 %zu", file->path, r,
                        tensors_count(parts[r]), tensors_count(parts[0]));
    for (size_t i = 0; i < tensors_count(parts[0]); i++) {
        for (size_t r = 0; r < ranks; r++)
            if (!(m.parts[r] = tensors_find_any(parts[r], tensors_at(parts[0], i)->name)))
                return fail(e, "%s: tensor %s is missing in rank %zu", file->path,
                            tensors_at(parts[0], i)->name, r);
        if (merge_one(&m, settings))
            return -1;
    }
    return 0;
}
