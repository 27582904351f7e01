#include "io/gguf/arrange.h"

#include "io/gguf/finish.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- decays -- */

int gguf_take_decays(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                     const struct gguf_tensor *from, const unsigned char *data, struct error *e)
{
    if (store_shape(out, stored_type_of(ELEMENT_F64), from->rank, from->shape, model_path(m), e))
        return -1;
    double *memory = store_memory(t, out->bytes, out->name, e);
    if (!memory)
        return -1;
    for (size_t i = 0; i < out->count; i++) {
        double rate = from->stored->kind == STORED_REAL ? element_read(data, from->stored->type, i)
                                                        : NAN;
        if (!(rate < 0) || isinf(rate))
            return fail(e, "%s: tensor '%.*s' holds %g (expected decays: numbers below 0)",
                        model_path(m), (int)from->name.size, from->name.text, rate);
        memory[i] = log(-rate);
    }
    out->data = memory;
    return 0;
}

/* -- halves of a matrix -- */

/* A tensor, and the one that makes a matrix of the library with it. */
static const char *const halves[][2] = {{"blk.#.attn_qkv", "blk.#.attn_gate"},
                                        {"blk.#.ffn_gate", "blk.#.ffn_up"},
                                        {"blk.#.ffn_gate_shexp", "blk.#.ffn_up_shexp"}};
enum { HALVES = sizeof halves / sizeof *halves };

/* The other half to that of a row, first or second, or NULL. */
static const struct gguf_tensor *other_half(const struct gguf_model *m, const struct name_row *row,
                                            long block, int of, const unsigned char **data)
{
    char name[64];
    int i = 0;
    while (i < HALVES && strcmp(halves[i][of], row->gguf))
        i++;
    if (i == HALVES)
        return NULL;
    snprintf(name, sizeof name, "blk.%ld.%s.weight", block, halves[i][1 - of] + strlen("blk.#."));
    return model_numbers(m, name, data);
}

int gguf_has_half(const struct gguf_model *m, const struct name_row *row, long block)
{
    const unsigned char *data;
    return other_half(m, row, block, 1, &data) != NULL;
}

/* Where row i of the library's matrix lies, in rows of both halves one below the other. The packed
 * one has for each key head its query, key, values and gates; the halves have all queries, all
 * keys, all values, and all gates. */
static size_t packed_row(const struct gguf_states *s, size_t i)
{
    const size_t key = (size_t)s->key, groups = (size_t)s->groups, inner = (size_t)s->inner,
                 each = inner / groups, size = 2 * (key + each), group = i / size, at = i % size;
    if (at < 2 * key) /* of queries, and then of keys */
        return (at < key ? 0 : groups * key) + group * key + at % key;
    const size_t value = at - 2 * key; /* of values, and then of gates */
    return 2 * groups * key + (value < each ? 0 : inner) + group * each + value % each;
}

static int refuse_halves(const struct gguf_model *m, const char *name, const struct name_row *row,
                         struct error *e)
{
    return fail(e, "%s: the tensors %s and its other half do not make %s (expected two matrices)",
                model_path(m), row->gguf, name);
}

/* Row `row` of a matrix, as numbers of a type. */
static void copy_row(unsigned char *out, enum element type, const struct gguf_tensor *matrix,
                     const unsigned char *data, size_t row)
{
    const size_t columns = matrix->shape[1], bytes = element_bytes(type, columns);
    if (type == matrix->stored->type)
        memcpy(out, data + row * bytes, bytes);
    else if (type == ELEMENT_F64)
        element_run_f64((double *)(void *)out, data, matrix->stored->type, row * columns, columns);
    else
        element_run_f32((float *)(void *)out, data, matrix->stored->type, row * columns, columns);
}

int gguf_join_halves(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                     const struct name_row *row, const struct gguf_tensor *first,
                     const unsigned char *data, long block, struct error *e)
{
    const unsigned char *other = NULL;
    const struct gguf_tensor *second = other_half(m, row, block, 0, &other);
    const struct gguf_states *s = &m->states;
    const int packed = row->layout == LAYOUT_PACKED;
    const size_t expected[2] = {(size_t)(2 * s->groups * s->key + s->inner), (size_t)s->inner};
    if (!second || first->rank != 2 || second->rank != 2 || first->shape[1] != second->shape[1] ||
        (packed ? first->shape[0] != expected[0] || second->shape[0] != expected[1]
                : first->shape[0] != second->shape[0]) ||
        first->stored->kind == STORED_INTEGER || second->stored->kind == STORED_INTEGER)
        return refuse_halves(m, out->name, row, e);
    const struct stored_type *stored = first->stored;
    if (first->stored != second->stored)
        stored = stored_type_of(first->stored->type == ELEMENT_F64 ||
                                        second->stored->type == ELEMENT_F64
                                    ? ELEMENT_F64
                                    : ELEMENT_F32);
    const size_t rows = first->shape[0] + second->shape[0];
    if (store_shape(out, stored, 2, (size_t[]){rows, first->shape[1]}, model_path(m), e))
        return -1;
    unsigned char *memory = store_memory(t, out->bytes, out->name, e);
    if (!memory)
        return -1;
    for (size_t i = 0; i < rows; i++) {
        const size_t at = packed ? packed_row(s, i) : i;
        const int below = at >= first->shape[0];
        copy_row(memory + i * (out->bytes / rows), stored->type, below ? second : first,
                 below ? other : data, below ? at - first->shape[0] : at);
    }
    out->data = memory;
    return 0;
}

/* -- value heads by turns -- */

/* What these files have by turns, first the first value head of each key head, then the second
 * ones, and the library by key heads. */
static const struct turned {
    const char *gguf;
    enum { ROWS, LAST_ROWS, HEADS, COLUMNS } what; /* of values; after queries and keys; of heads */
} turned[] = {{"blk.#.attn_qkv", LAST_ROWS},   {"blk.#.attn_gate", ROWS},
              {"blk.#.ssm_conv1d", LAST_ROWS}, {"blk.#.ssm_alpha", HEADS},
              {"blk.#.ssm_beta", HEADS},       {"blk.#.ssm_dt", HEADS},
              {"blk.#.ssm_a", HEADS},          {"blk.#.ssm_out", COLUMNS}};
enum { TURNED = sizeof turned / sizeof *turned };

/* Where number i of `heads` runs of `size` lies in the file. */
static size_t place_by_turns(const struct gguf_states *s, size_t size, size_t i)
{
    const size_t groups = (size_t)s->groups, each = (size_t)s->heads / groups, head = i / size;
    return (head % each * groups + head / each) * size + i % size;
}

int gguf_take_turns(struct tensors *t, struct tensor *out, const struct gguf_model *m,
                    const struct name_row *row, struct error *e)
{
    const struct gguf_states *s = &m->states;
    const struct turned *of = turned;
    while (of < turned + TURNED && strcmp(of->gguf, row->gguf))
        of++;
    if (of == turned + TURNED || s->heads == s->groups)
        return 0;
    const size_t first = of->what == LAST_ROWS ? (size_t)(2 * s->groups * s->key) : 0,
                 size = of->what == HEADS ? 1 : (size_t)(s->inner / s->heads),
                 runs = (size_t)s->heads * size, lines = out->shape[0];
    const int columns = of->what == COLUMNS;
    if (out->integer || (columns && out->rank != 2) || out->shape[columns] != first + runs ||
        (out->rank == 1 && element_is_quantised(out->type)))
        return fail(e, "%s: tensor %s has another shape than that of %lld heads of %lld numbers",
                    model_path(m), out->name, (long long)s->heads,
                    (long long)(runs / (size_t)s->heads));
    struct tensor from = *out;
    /* heads that are not whole blocks are widened */
    if (columns && size % element_block(out->type) &&
        store_shape(out, stored_type_of(ELEMENT_F32), 2, from.shape, model_path(m), e))
        return -1;
    unsigned char *memory = store_memory(t, out->bytes, out->name, e);
    if (!memory)
        return -1;
    const unsigned char *data = from.data;
    const size_t bytes = out->bytes / lines;
    for (size_t i = 0; i < lines && !columns; i++) {
        const size_t at = i < first ? i : first + place_by_turns(s, size, i - first);
        memcpy(memory + i * bytes, data + at * bytes, bytes);
    }
    for (size_t i = 0; i < lines && columns; i++)
        for (size_t head = 0; head < (size_t)s->heads; head++) {
            unsigned char *to = memory + i * bytes + element_bytes(out->type, head * size);
            const size_t at = i * runs + place_by_turns(s, size, head * size);
            if (out->type == from.type)
                memcpy(to, data + element_bytes(from.type, at), element_bytes(from.type, size));
            else
                element_run_f32((float *)(void *)to, data, from.type, at, size);
        }
    out->data = memory;
    return 0;
}
