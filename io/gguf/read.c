#include "io/gguf/read.h"

#include "io/gguf/arrange.h"
#include "io/gguf/finish.h"
#include "io/system/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARDS_MAX = 1000, NAME_MAX_LENGTH = 256 };

/* The file being read. */
struct reading {
    struct tensors *t;
    struct gguf shards[SHARDS_MAX];
    const struct mapped *files[SHARDS_MAX];
    struct gguf_model model;
    struct error *e;
};

/* -- shards -- */

/* PATH of shard `number`, from 1; PATH is the first: NAME-00001-of-00003.gguf. NULL with *e. */
static char *shard_path(const char *path, int number, int count, struct error *e)
{
    char end[32], *out;
    size_t length = strlen(path),
           of = (size_t)snprintf(end, sizeof end, "-%05d-of-%05d.gguf", 1, count);
    if (length < of || strcmp(path + length - of, end)) {
        fail(e, "%s: is the first of %d shards (expected a name that ends in %s)", path, count,
             end);
        return NULL;
    }
    if (asprintf(&out, "%.*s-%05d-of-%05d.gguf", (int)(length - of), path, number, count) >= 0)
        return out;
    fail_memory(e, (double)length, "a path");
    return NULL;
}

static int read_shard(struct reading *r, int index, int count)
{
    int64_t number, of;
    char *path = shard_path(r->files[0]->path, index + 1, count, r->e);
    int there = path && access(path, F_OK) == 0;
    if (path && !there)
        fail(r->e, "%s: is missing (expected shard %d of %d beside the first)", path, index + 1,
             count);
    r->files[index] = there ? store_map(r->t, path, r->e) : NULL;
    free(path);
    if (!r->files[index])
        return -1;
    struct gguf *g = &r->shards[index];
    r->model.count++;
    if (gguf_parse(g, r->files[index]->path, r->files[index]->bytes, r->files[index]->size, r->e) ||
        gguf_integer_or(g, "split.no", 0, SHARDS_MAX, -1, &number, r->e) ||
        gguf_integer_or(g, "split.count", 0, UINT16_MAX, 0, &of, r->e))
        return -1;
    if (number != index || of != count)
        return fail(r->e, "%s: says that it is shard %lld of %lld (expected %d of %d)", g->path,
                    (long long)number + 1, (long long)of, index + 1, count);
    return 0;
}

static int read_shards(struct reading *r)
{
    int64_t number, count, tensors;
    size_t held = 0;
    struct gguf *first = &r->shards[0];
    r->model = (struct gguf_model){.shards = r->shards, .count = 1};
    if (gguf_parse(first, r->files[0]->path, r->files[0]->bytes, r->files[0]->size, r->e) ||
        gguf_integer_or(first, "split.no", 0, UINT16_MAX, 0, &number, r->e) ||
        gguf_integer_or(first, "split.count", 0, UINT16_MAX, 0, &count, r->e))
        return -1;
    if (number)
        return fail(r->e,
                    "%s: is shard %lld of %lld (expected the first, which says what the model is)",
                    first->path, (long long)number + 1, (long long)count);
    if (count > SHARDS_MAX)
        return fail(r->e, "%s: has %lld shards (expected at most %d)", first->path,
                    (long long)count, SHARDS_MAX);
    for (int i = 1; i < count; i++)
        if (read_shard(r, i, (int)count))
            return -1;
    for (size_t i = 0; i < r->model.count; i++)
        held += r->shards[i].tensor_count;
    if (gguf_integer_or(first, "split.tensors.count", 0, INT32_MAX, (int64_t)held, &tensors, r->e))
        return -1;
    return (size_t)tensors == held
               ? 0
               : fail(r->e,
                      "%s: states %lld tensors in all, and its shards hold %zu (expected the same)",
                      first->path, (long long)tensors, held);
}

/* -- tensors -- */

/* The place in the file of the library's row. */
static size_t row_in_file(const struct gguf_model *m, enum gguf_layout layout, size_t row)
{
    size_t size = (size_t)m->head_size, heads = (size_t)m->heads, kv = (size_t)m->kv_heads,
           each = heads / kv;
    size_t head = row / size, at = row % size;
    if (layout != LAYOUT_FUSED) /* half h, number j in it, is stored as pair j, member h */
        return head * size + at % (size / 2) * 2 + at / (size / 2);
    size_t group = head / (each + 2), part = head % (each + 2);
    if (part < each)
        return (group * each + part) * size + at;
    return (heads + (part == each ? 0 : kv) + group) * size + at;
}

/* Copies the rows in the library's order into memory of the store. */
static int reorder(struct reading *r, struct tensor *t, enum gguf_layout layout,
                   const struct gguf *g)
{
    const struct gguf_model *m = &r->model;
    int64_t heads = layout == LAYOUT_QUERY ? m->heads
                    : layout == LAYOUT_KEY ? m->kv_heads
                                           : m->heads + 2 * m->kv_heads;
    size_t rows = t->shape[0], bytes = t->bytes / rows;
    if (rows != (size_t)(heads * m->head_size) || (layout != LAYOUT_FUSED && m->head_size % 2))
        return fail(r->e,
                    "%s: tensor %s has %zu rows (expected %lld heads of %lld, an even number)",
                    g->path, t->name, rows, (long long)heads, (long long)m->head_size);
    unsigned char *memory = store_memory(r->t, t->bytes, t->name, r->e);
    if (!memory)
        return -1;
    for (size_t i = 0; i < rows; i++)
        memcpy(memory + i * bytes,
               (const unsigned char *)t->data + row_in_file(m, layout, i) * bytes, bytes);
    tensor_release(t);
    t->data = memory;
    return 0;
}

/* The numbers minus one, which the reader adds again: as floats if exact, else in double. */
static int less_one(struct reading *r, struct tensor *t, const struct gguf *g)
{
    const void *data = t->data;
    enum element type = t->type;
    int wide = 0;
    if (t->rank != 1)
        return fail(r->e, "%s: tensor %s has %d dimensions (expected 1)", g->path, t->name,
                    t->rank);
    for (size_t i = 0; i < t->count; i++) {
        double value = element_read(data, type, i) - 1;
        wide |= value == value && value != (double)(float)value;
    }
    if (store_shape(t, stored_type_of(wide ? ELEMENT_F64 : ELEMENT_F32), 1, (size_t[]){t->count},
                    g->path, r->e))
        return -1;
    void *memory = store_memory(r->t, t->bytes, t->name, r->e);
    if (!memory)
        return -1;
    for (size_t i = 0; i < t->count; i++)
        if (wide)
            ((double *)memory)[i] = element_read(data, type, i) - 1;
        else
            ((float *)memory)[i] = (float)(element_read(data, type, i) - 1);
    t->data = memory;
    return 0;
}

/* Each row of a matrix, one for each head, or each matrix of a stack, as NAME.NUMBER.weight. */
static int add_parts(struct reading *r, const struct gguf *g, const struct gguf_tensor *from,
                     const struct mapped *file, const struct name_row *row, long block)
{
    enum { STACKED_MOST = 64 };
    const char *library = row->library, *mark = strchr(library, '#');
    const int heads = row->layout == LAYOUT_NAMED_HEADS;
    if (heads && (from->rank != 2 || (int64_t)from->shape[0] > r->model.heads))
        return fail(r->e, "%s: tensor %.*s has not a row for each head", g->path,
                    (int)from->name.size, from->name.text);
    if (!heads && (from->rank != 3 || from->shape[0] > STACKED_MOST))
        return fail(r->e, "%s: tensor %.*s is not a stack of at most %d matrices", g->path,
                    (int)from->name.size, from->name.text, STACKED_MOST);
    for (size_t i = 0; i < from->shape[0]; i++) {
        char name[NAME_MAX_LENGTH];
        if (mark)
            snprintf(name, sizeof name, "%.*s%ld%s.%zu.weight", (int)(mark - library), library,
                     block, mark + 1, i);
        else
            snprintf(name, sizeof name, "%s.%zu.weight", library, i);
        struct tensor *t = store_add(r->t, file, name, strlen(name), r->e);
        if (!t || store_shape(t, from->stored, from->rank - 1, from->shape + 1, g->path, r->e))
            return -1;
        t->data = file->bytes + from->offset + i * t->bytes;
    }
    return 0;
}

static int refuse_place(const struct reading *r, const struct gguf *g,
                        const struct gguf_tensor *from)
{
    return fail(r->e, "%s: tensor '%.*s' has no place in a model of the architecture %s", g->path,
                from->name.size < 100 ? (int)from->name.size : 100, from->name.text,
                r->model.architecture->name);
}

/* 1 if the library's name has neither .weight nor .bias. */
static int is_bare(enum gguf_layout layout)
{
    return layout == LAYOUT_BARE || layout == LAYOUT_COLUMN || layout == LAYOUT_DECAYS ||
           layout == LAYOUT_STATE_DECAYS;
}

static void flatten(struct tensor *t)
{
    t->rank = 1, t->shape[0] = t->count, t->stride[0] = 1;
}

/* The shape and the numbers of a tensor, as the library has them. */
static int fill(struct reading *r, struct tensor *t, const struct gguf *g,
                const struct gguf_tensor *from, const struct mapped *file,
                const struct name_row *row, long block)
{
    if (row->layout == LAYOUT_LATENT_KEYS)
        return gguf_join_latents(r->t, t, &r->model, from, file->bytes + from->offset, block, r->e);
    if (row->layout == LAYOUT_DECAYS || row->layout == LAYOUT_STATE_DECAYS) {
        if (gguf_take_decays(r->t, t, &r->model, from, file->bytes + from->offset, r->e))
            return -1;
        if (row->layout == LAYOUT_DECAYS)
            flatten(t);
        return 0;
    }
    if (row->layout == LAYOUT_JOINED || row->layout == LAYOUT_PACKED)
        return gguf_join_halves(r->t, t, &r->model, row, from, file->bytes + from->offset, block,
                                r->e);
    if (store_shape(t, from->stored, from->rank, from->shape, g->path, r->e))
        return -1;
    t->data = file->bytes + from->offset;
    if (row->layout == LAYOUT_PLUS_ONE)
        return less_one(r, t, g);
    if (row->layout == LAYOUT_TRANSPOSED && t->rank == 2) {
        t->shape[0] = from->shape[1], t->shape[1] = from->shape[0];
        t->stride[0] = 1, t->stride[1] = from->shape[1];
    }
    if (row->layout == LAYOUT_FLAT || row->layout == LAYOUT_COLUMN)
        flatten(t);
    if (row->layout == LAYOUT_ROW && t->rank == 1) {
        t->rank = 2;
        t->shape[1] = t->shape[0], t->stride[1] = t->stride[0];
        t->shape[0] = 1, t->stride[0] = t->shape[1];
    }
    if (row->layout == LAYOUT_TAPS && t->rank == 2) {
        t->rank = 3;
        t->shape[2] = t->shape[1], t->stride[2] = t->stride[1];
        t->shape[1] = 1, t->stride[1] = t->shape[2];
    }
    int reordered = row->layout == LAYOUT_QUERY || row->layout == LAYOUT_KEY ||
                    row->layout == LAYOUT_FUSED;
    return reordered ? reorder(r, t, row->layout, g) : 0;
}

/* N of "blk.N."; -1: it has another form. */
static long block_of(struct gguf_text name)
{
    const char *at = name.text + strlen("blk."), *end = name.text + name.size;
    long block = 0;
    if (name.size <= strlen("blk.") || memcmp(name.text, "blk.", strlen("blk.")))
        return -1;
    for (; at < end && *at >= '0' && *at <= '9' && block < LONG_MAX / 10 - 1; at++)
        block = 10 * block + (*at - '0');
    return at < end && *at == '.' ? block : -1;
}

static int add(struct reading *r, const struct gguf *g, const struct gguf_tensor *from,
               const struct mapped *file)
{
    char name[NAME_MAX_LENGTH];
    struct gguf_text suffix;
    const long blocks = r->model.layers + r->model.further;
    long block = block_of(from->name);
    if (block >= r->model.layers && block < blocks)
        return 0;
    const int beyond = blocks > 0 && block >= blocks;
    const struct name_row *row = architecture_name(&r->model, from->name, &block, &suffix);
    if (!row || beyond ||
        (row->layout == LAYOUT_HALF &&
         (!gguf_is(suffix, "weight") || !gguf_has_half(&r->model, row, block))))
        return refuse_place(r, g, from);
    if (!row->library)
        return 0;
    if (row->layout == LAYOUT_NAMED_HEADS || row->layout == LAYOUT_NAMED_PARTS)
        return add_parts(r, g, from, file, row, block);
    const char *mark = strchr(row->library, '#');
    if (mark && is_bare(row->layout))
        snprintf(name, sizeof name, "%.*s%ld%s", (int)(mark - row->library), row->library, block,
                 mark + 1);
    else if (mark)
        snprintf(name, sizeof name, "%.*s%ld%s.%.*s", (int)(mark - row->library), row->library,
                 block, mark + 1, (int)suffix.size, suffix.text);
    else
        snprintf(name, sizeof name, "%s.%.*s", row->library, (int)suffix.size, suffix.text);
    struct tensor *t = store_add(r->t, file, name, strlen(name), r->e);
    if (!t || fill(r, t, g, from, file, row, block))
        return -1;
    return r->model.states.by_turns ? gguf_take_turns(r->t, t, &r->model, row, r->e) : 0;
}

int gguf_read(struct tensors *t, const struct mapped *file, struct config **own, struct error *e)
{
    struct reading *r = calloc(1, sizeof *r);
    json_t *config;
    int result = -1;
    if (!r)
        return fail_memory(e, sizeof *r, file->path);
    r->t = t, r->e = e, r->files[0] = file;
    if (read_shards(r) || !(config = gguf_config(&r->model, e)) ||
        !(*own = config_from_json(file->path, config, e)))
        goto end;
    store_assume(t, r->model.assumed);
    for (size_t s = 0; s < r->model.count; s++)
        for (size_t i = 0; i < r->shards[s].tensor_count; i++)
            if (add(r, &r->shards[s], &r->shards[s].tensors[i], r->files[s]))
                goto end;
    result = 0;
end:
    for (size_t s = 0; s < r->model.count; s++)
        gguf_free(&r->shards[s]);
    free(r);
    return result;
}
