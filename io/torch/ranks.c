#include "io/torch/ranks.h"

#include <string.h>

enum { PIECE = 1 << 16 };

int ranks_are_equal(const struct ranks *m)
{
    static const size_t step = PIECE / sizeof(double);
    unsigned char a[PIECE], b[PIECE];
    for (size_t r = 1; r < m->count; r++)
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
static struct tensor *add_owned(struct ranks *m, const struct stored_type *type,
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

int ranks_take_first(struct ranks *m)
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

int ranks_join(struct ranks *m, int axis, size_t pieces)
{
    const struct tensor *first = m->parts[0];
    size_t shape[TENSOR_RANK_MAX], inner = first->stored->bytes, outer = 1;
    unsigned char *memory;
    if (axis >= first->rank || first->shape[axis] % pieces)
        return fail(m->e,
                    "%s: tensor %s has a shape that cannot be joined over model-parallel ranks",
                    m->file->path, first->name);
    memcpy(shape, first->shape, sizeof shape);
    if (size_multiply(&shape[axis], shape[axis], m->count))
        return fail(m->e, "%s: tensor %s has more elements than can be counted over all ranks",
                    m->file->path, first->name);
    if (!add_owned(m, first->stored, shape, (void **)&memory))
        return -1;
    for (int i = 0; i < first->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? first->shape[i] / pieces : first->shape[i];
    size_t run = inner / first->stored->bytes; /* adjacent elements of one rank */
    for (size_t i = 0; i < outer * pieces; i++)
        for (size_t r = 0; r < m->count; r++)
            tensor_copy(memory + (i * m->count + r) * inner, m->parts[r], i * run, run);
    for (size_t r = 0; r < m->count; r++)
        tensors_release_pages(m->parts[r]->data, m->parts[r]->bytes);
    return 0;
}

int ranks_combine(struct ranks *m, double divisor)
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
        for (size_t r = 0; r < m->count; r++) {
            double element;
            tensor_copy(&element, m->parts[r], i, 1);
            sum += element_read(&element, first->type, 0);
        }
        memory[i] = sum / divisor;
    }
    return 0;
}

/* The parts of a tensor have one type and shape. */
static int are_alike(const struct ranks *m)
{
    const struct tensor *first = m->parts[0];
    for (size_t r = 1; r < m->count; r++)
        if (m->parts[r]->stored != first->stored || m->parts[r]->rank != first->rank ||
            memcmp(m->parts[r]->shape, first->shape, (size_t)first->rank * sizeof *first->shape))
            return fail(m->e, "%s: tensor %s has another type or shape in rank %zu", m->file->path,
                        first->name, r);
    return 0;
}

int ranks_merge(struct tensors *out, const struct mapped *file, struct tensors *const *parts,
                size_t ranks, int (*one)(struct ranks *, const void *), const void *of,
                struct error *e)
{
    struct ranks m = {.out = out, .file = file, .count = ranks, .e = e};
    if (ranks > RANKS_MAX)
        return fail(e, "%s: is spread over %zu model-parallel ranks (expected at most %d)",
                    file->path, ranks, RANKS_MAX);
    for (size_t r = 1; r < ranks; r++)
        if (tensors_count(parts[r]) != tensors_count(parts[0]))
            return fail(e, "%s: rank %zu holds %zu tensors, rank 0 %zu", file->path, r,
                        tensors_count(parts[r]), tensors_count(parts[0]));
    for (size_t i = 0; i < tensors_count(parts[0]); i++) {
        for (size_t r = 0; r < ranks; r++)
            if (!(m.parts[r] = tensors_find_any(parts[r], tensors_at(parts[0], i)->name)))
                return fail(e, "%s: tensor %s is missing in rank %zu", file->path,
                            tensors_at(parts[0], i)->name, r);
        if (are_alike(&m) || one(&m, of))
            return -1;
    }
    return 0;
}
