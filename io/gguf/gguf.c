#include "io/gguf/gguf.h"

#include "io/bytes.h"
#include "io/half.h"
#include "io/system/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_BYTES_MAX = 65535,
    PAIR_BYTES_MIN = 8 + 1 + 4 + 1, /* a one-byte key and a one-byte value */
    TENSOR_BYTES_MIN = 8 + 1 + 4 + 8 + 4 + 8,
    ALIGNMENT_DEFAULT = 32
};

/* The text being read, and the position in it. */
struct cursor {
    const char *path;
    const unsigned char *bytes;
    size_t size, at;
    struct error *e;
};

/* -- pieces -- */

static int take(struct cursor *c, void *out, size_t size, const char *what)
{
    if (size > c->size - c->at) {
        fail(c->e, "%s: ends within %s (the file is cut off)", c->path, what);
        return -1;
    }
    memcpy(out, c->bytes + c->at, size);
    c->at += size;
    return 0;
}

static int take_text(struct cursor *c, struct gguf_text *out, const char *what)
{
    uint64_t size;
    if (take(c, &size, sizeof size, what))
        return -1;
    if (size > c->size - c->at)
        return fail(c->e, "%s: %s has %llu bytes, but only %zu follow (the file is cut off)",
                    c->path, what, (unsigned long long)size, c->size - c->at);
    *out = (struct gguf_text){(const char *)c->bytes + c->at, (size_t)size};
    c->at += (size_t)size;
    return 0;
}

/* Part of a text that may appear in a message. */
static int shown(struct gguf_text t)
{
    return t.size < 80 ? (int)t.size : 80;
}

/* -- metadata -- */

static const unsigned char sizes[GGUF_TYPES] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};

static int take_type(struct cursor *c, const struct gguf_pair *p, enum gguf_type *out)
{
    uint32_t type;
    if (take(c, &type, sizeof type, "the type of a value"))
        return -1;
    if (type >= GGUF_TYPES)
        return fail(c->e, "%s: %.*s has a value of type %u (expected 0 to %d)", c->path,
                    shown(p->key), p->key.text, type, GGUF_TYPES - 1);
    *out = (enum gguf_type)type;
    return 0;
}

/* Skips the elements of the value. */
static int take_values(struct cursor *c, struct gguf_pair *p)
{
    struct gguf_text text;
    size_t each = p->type == GGUF_STRING ? sizeof(uint64_t) : sizes[p->type];
    p->value = c->bytes + c->at;
    if (p->count > (c->size - c->at) / each)
        return fail(c->e,
                    "%s: %.*s has %llu values, but only %zu bytes follow (the file is cut off)",
                    c->path, shown(p->key), p->key.text, (unsigned long long)p->count,
                    c->size - c->at);
    for (uint64_t i = 0; p->type == GGUF_STRING && i < p->count; i++)
        if (take_text(c, &text, "a text in the metadata"))
            return -1;
    for (uint64_t i = 0; p->type == GGUF_BOOL && i < p->count; i++)
        if (p->value[i] > 1)
            return fail(c->e, "%s: %.*s is neither true nor false, but %d", c->path, shown(p->key),
                        p->key.text, p->value[i]);
    if (p->type != GGUF_STRING)
        c->at += (size_t)p->count * each;
    return 0;
}

static int take_pair(struct cursor *c, struct gguf_pair *p)
{
    if (take_text(c, &p->key, "a key of the metadata"))
        return -1;
    if (p->key.size == 0 || p->key.size > KEY_BYTES_MAX || memchr(p->key.text, '\0', p->key.size))
        return fail(
            c->e, "%s: a key of the metadata has %zu bytes, or a NUL among them (expected 1 to %d)",
            c->path, p->key.size, KEY_BYTES_MAX);
    if (take_type(c, p, &p->type))
        return -1;
    p->count = 1;
    p->is_array = p->type == GGUF_ARRAY;
    if (p->is_array) {
        if (take_type(c, p, &p->type) || take(c, &p->count, sizeof p->count, "an array"))
            return -1;
        if (p->type == GGUF_ARRAY)
            return fail(c->e, "%s: %.*s is an array of arrays (expected numbers or texts)", c->path,
                        shown(p->key), p->key.text);
    }
    return take_values(c, p);
}

static int compare(struct gguf_text a, struct gguf_text b)
{
    int order = memcmp(a.text, b.text, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_key(const void *a, const void *b)
{
    const struct gguf_pair *x = a, *y = b;
    return compare(x->key, y->key);
}

static int take_pairs(struct cursor *c, struct gguf *g)
{
    for (size_t i = 0; i < g->pair_count; i++)
        if (take_pair(c, &g->pairs[i]))
            return -1;
    if (g->pair_count)
        qsort(g->pairs, g->pair_count, sizeof *g->pairs, by_key);
    for (size_t i = 1; i < g->pair_count; i++)
        if (by_key(&g->pairs[i - 1], &g->pairs[i]) == 0)
            return fail(c->e, "%s: holds the key %.*s twice", c->path, shown(g->pairs[i].key),
                        g->pairs[i].key.text);
    return 0;
}

/* -- tensors -- */

/* By the format's numbers; types without elements here are refused by name. */
static const struct {
    const char *name;
    enum element type;
} tensor_types[] = {
    [0] = {"F32", ELEMENT_F32},        [1] = {"F16", ELEMENT_F16},
    [2] = {"Q4_0", ELEMENT_Q4_0},      [3] = {"Q4_1", ELEMENT_Q4_1},
    [6] = {"Q5_0", ELEMENT_Q5_0},      [7] = {"Q5_1", ELEMENT_Q5_1},
    [8] = {"Q8_0", ELEMENT_Q8_0},      [9] = {"Q8_1", ELEMENT_COUNT},
    [10] = {"Q2_K", ELEMENT_Q2_K},     [11] = {"Q3_K", ELEMENT_Q3_K},
    [12] = {"Q4_K", ELEMENT_Q4_K},     [13] = {"Q5_K", ELEMENT_Q5_K},
    [14] = {"Q6_K", ELEMENT_Q6_K},     [15] = {"Q8_K", ELEMENT_COUNT},
    [16] = {"IQ2_XXS", ELEMENT_COUNT}, [17] = {"IQ2_XS", ELEMENT_COUNT},
    [18] = {"IQ3_XXS", ELEMENT_COUNT}, [19] = {"IQ1_S", ELEMENT_COUNT},
    [20] = {"IQ4_NL", ELEMENT_IQ4_NL}, [21] = {"IQ3_S", ELEMENT_COUNT},
    [22] = {"IQ2_S", ELEMENT_COUNT},   [23] = {"IQ4_XS", ELEMENT_IQ4_XS},
    [24] = {"I8", ELEMENT_COUNT},      [25] = {"I16", ELEMENT_COUNT},
    [26] = {"I32", ELEMENT_COUNT},     [27] = {"I64", ELEMENT_COUNT},
    [28] = {"F64", ELEMENT_F64},       [29] = {"IQ1_M", ELEMENT_COUNT},
    [30] = {"BF16", ELEMENT_BF16},     [34] = {"TQ1_0", ELEMENT_TQ1_0},
    [35] = {"TQ2_0", ELEMENT_TQ2_0},   [39] = {"MXFP4", ELEMENT_MXFP4},
    [40] = {"NVFP4", ELEMENT_COUNT},   [41] = {"Q1_0", ELEMENT_COUNT},
};
enum { TENSOR_TYPES = sizeof tensor_types / sizeof *tensor_types };

static int take_name(struct cursor *c, struct gguf_tensor *t)
{
    if (take_text(c, &t->name, "the name of a tensor"))
        return -1;
    for (size_t i = 0; i < t->name.size; i++) {
        unsigned char character = (unsigned char)t->name.text[i];
        if (character <= ' ' || character == '/' || character == '\\' || character == 0x7f)
            return fail(
                c->e,
                "%s: '%.*s' is not the name of a tensor (expected one without blanks and slashes)",
                c->path, shown(t->name), t->name.text);
    }
    return t->name.size ? 0 : fail(c->e, "%s: a tensor has no name", c->path);
}

static int take_shape(struct cursor *c, struct gguf_tensor *t)
{
    uint32_t rank, type;
    uint64_t lengths[GGUF_RANK_MAX];
    if (take(c, &rank, sizeof rank, "the shape of a tensor"))
        return -1;
    if (rank < 1 || rank > GGUF_RANK_MAX)
        return fail(c->e, "%s: tensor %.*s has %u dimensions (expected 1 to %d)", c->path,
                    shown(t->name), t->name.text, rank, GGUF_RANK_MAX);
    if (take(c, lengths, rank * sizeof *lengths, "the shape of a tensor") ||
        take(c, &type, sizeof type, "the type of a tensor"))
        return -1;
    t->rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) {
        t->shape[rank - 1 - i] = lengths[i];
        if (lengths[i] == 0)
            return fail(c->e, "%s: tensor %.*s has a dimension of 0", c->path, shown(t->name),
                        t->name.text);
    }
    if (type >= TENSOR_TYPES || !tensor_types[type].name)
        return fail(c->e, "%s: tensor %.*s is stored as type %u, which is not known", c->path,
                    shown(t->name), t->name.text, type);
    if (tensor_types[type].type == ELEMENT_COUNT)
        return fail(c->e,
                    "%s: tensor %.*s is stored as %s, which is not supported (expected F32, F16, "
                    "BF16, F64, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, TQ1_0, "
                    "TQ2_0 or MXFP4)",
                    c->path, shown(t->name), t->name.text, tensor_types[type].name);
    t->stored = stored_type_of(tensor_types[type].type);
    return 0;
}

/* Bytes of a tensor's data. */
static int data_bytes(struct cursor *c, const struct gguf_tensor *t, size_t *out)
{
    size_t block = element_block(t->stored->type), row = t->shape[t->rank - 1];
    *out = row / block;
    if (row % block)
        return fail(c->e,
                    "%s: tensor %.*s is stored as %s in rows of %zu (expected a multiple of %zu)",
                    c->path, shown(t->name), t->name.text, t->stored->name, row, block);
    int overflows = size_multiply(out, *out, t->stored->bytes);
    for (int i = 0; i < t->rank - 1; i++)
        overflows |= size_multiply(out, *out, t->shape[i]);
    return overflows ? fail(c->e,
                            "%s: tensor %.*s has more bytes than can be counted (its shape "
                            "overflows 64 bits)",
                            c->path, shown(t->name), t->name.text)
                     : 0;
}

static int round_up(size_t *at, size_t alignment)
{
    if (size_add(at, *at, alignment - 1))
        return -1;
    *at &= ~(alignment - 1);
    return 0;
}

/* The data follow each other, each at the next multiple of the alignment, and end with the file. On
 * entry t->offset is relative to the first. */
static int place(struct cursor *c, struct gguf *g, size_t alignment)
{
    size_t begin = c->at, at = 0, end = 0, bytes = 0;
    if (g->tensor_count == 0)
        return 0;
    if (round_up(&begin, alignment) || begin > c->size)
        return fail(c->e, "%s: ends before the data of its tensors (the file is cut off)", c->path);
    for (size_t i = 0; i < g->tensor_count; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        if (t->offset != at)
            return fail(c->e,
                        "%s: the data of tensor %.*s lie at offset %zu (expected %zu, after those "
                        "before it)",
                        c->path, shown(t->name), t->name.text, t->offset, at);
        if (data_bytes(c, t, &bytes))
            return -1;
        if (at > c->size - begin || bytes > c->size - begin - at)
            return fail(
                c->e,
                "%s: tensor %.*s has %zu bytes of data, but only %zu follow (the file is cut off)",
                c->path, shown(t->name), t->name.text, bytes,
                at > c->size - begin ? 0 : c->size - begin - at);
        t->offset = begin + at;
        at = end = at + bytes;
        if (round_up(&at, alignment))
            return fail(c->e, "%s: has more bytes than can be counted", c->path);
    }
    if (c->size - begin > at)
        return fail(c->e, "%s: %zu bytes follow the last tensor (expected none)", c->path,
                    c->size - begin - end);
    return 0;
}

static int take_tensors(struct cursor *c, struct gguf *g)
{
    int64_t alignment;
    for (size_t i = 0; i < g->tensor_count; i++) {
        uint64_t offset;
        if (take_name(c, &g->tensors[i]) || take_shape(c, &g->tensors[i]) ||
            take(c, &offset, sizeof offset, "a tensor's place"))
            return -1;
        g->tensors[i].offset = offset;
    }
    if (gguf_integer_or(g, "general.alignment", 1, 1 << 30, ALIGNMENT_DEFAULT, &alignment, c->e))
        return -1;
    if (alignment & (alignment - 1))
        return fail(c->e, "%s: general.alignment is %lld (expected a power of two)", c->path,
                    (long long)alignment);
    return place(c, g, (size_t)alignment);
}

/* -- the file -- */

static void *make(struct cursor *c, uint64_t count, size_t each, size_t least, const char *what)
{
    if (count > (c->size - c->at) / least) {
        fail(c->e, "%s: states %llu %s in a file of %zu bytes (more than can be described there)",
             c->path, (unsigned long long)count, what, c->size);
        return NULL;
    }
    size_t bytes = (size_t)count * each; /* at most a few times the file */
    if (memory_check(bytes, c->path, c->e))
        return NULL;
    void *memory = calloc(count ? (size_t)count : 1, each);
    if (!memory)
        fail_memory(c->e, (double)bytes, c->path);
    return memory;
}

int gguf_parse(struct gguf *g, const char *path, const unsigned char *bytes, size_t size,
               struct error *e)
{
    struct cursor c = {.path = path, .bytes = bytes, .size = size, .e = e};
    unsigned char magic[4];
    uint32_t version;
    uint64_t counts[2];
    *g = (struct gguf){.path = path, .bytes = bytes, .size = size};
    if (take(&c, magic, sizeof magic, "its head") || take(&c, &version, sizeof version, "its head"))
        return -1;
    if (memcmp(magic, GGUF_MAGIC, sizeof magic))
        return fail(e, "%s: does not begin with " GGUF_MAGIC, path);
    if (version && version % 65536 == 0)
        return fail(e,
                    "%s: is GGUF with the bytes of numbers in the other order (big-endian), which "
                    "is not supported",
                    path);
    if (version != 2 && version != 3)
        return fail(e, "%s: is GGUF version %u (expected 2 or 3)", path, version);
    if (take(&c, counts, sizeof counts, "its head") ||
        !(g->pairs = make(&c, counts[1], sizeof *g->pairs, PAIR_BYTES_MIN, "pairs of metadata")))
        return -1;
    g->pair_count = (size_t)counts[1];
    if (take_pairs(&c, g) ||
        !(g->tensors = make(&c, counts[0], sizeof *g->tensors, TENSOR_BYTES_MIN, "tensors")))
        return -1;
    g->tensor_count = (size_t)counts[0];
    return take_tensors(&c, g);
}

void gguf_free(struct gguf *g)
{
    free(g->pairs);
    free(g->tensors);
    *g = (struct gguf){0};
}

/* -- values -- */

const struct gguf_pair *gguf_find(const struct gguf *g, const char *key)
{
    struct gguf_pair wanted = {.key = {key, strlen(key)}};
    return g->pair_count ? bsearch(&wanted, g->pairs, g->pair_count, sizeof wanted, by_key) : NULL;
}

int gguf_is(struct gguf_text a, const char *b)
{
    return a.text && a.size == strlen(b) && memcmp(a.text, b, a.size) == 0;
}

int gguf_integer(const struct gguf_pair *p, uint64_t index, int64_t *out)
{
    const unsigned char *at = p->value + index * sizes[p->type];
    switch (p->type) {
    case GGUF_U8:
    case GGUF_BOOL: *out = *at; return 0;
    case GGUF_I8: *out = (int8_t)*at; return 0;
    case GGUF_U16: *out = load16(at); return 0;
    case GGUF_I16: *out = (int16_t)load16(at); return 0;
    case GGUF_U32: *out = load32(at); return 0;
    case GGUF_I32: *out = (int32_t)load32(at); return 0;
    case GGUF_I64:
    case GGUF_U64: *out = (int64_t)load64(at); return p->type == GGUF_U64 && *out < 0 ? -1 : 0;
    default: return -1;
    }
}

int gguf_real(const struct gguf_pair *p, uint64_t index, double *out)
{
    const unsigned char *at = p->value + index * sizes[p->type];
    int64_t whole = 0;
    switch (p->type) {
    case GGUF_F32: *out = float_of(load32(at)); return 0;
    case GGUF_F64: memcpy(out, at, sizeof *out); return 0;
    case GGUF_U64: *out = (double)load64(at); return 0;
    default:
        if (gguf_integer(p, index, &whole))
            return -1;
        *out = (double)whole;
        return 0;
    }
}

struct gguf_text gguf_next(const unsigned char **at)
{
    struct gguf_text out = {(const char *)*at + sizeof(uint64_t), (size_t)load64(*at)};
    *at += sizeof(uint64_t) + out.size;
    return out;
}

int gguf_string(const struct gguf_pair *p, struct gguf_text *out)
{
    const unsigned char *at = p->value;
    if (p->type != GGUF_STRING || p->is_array)
        return -1;
    *out = gguf_next(&at);
    return 0;
}

int gguf_integer_or(const struct gguf *g, const char *key, int64_t low, int64_t high,
                    int64_t fallback, int64_t *out, struct error *e)
{
    const struct gguf_pair *p = gguf_find(g, key);
    *out = fallback;
    if (p && (p->is_array || gguf_integer(p, 0, out) || *out < low || *out > high))
        return fail(e, "%s: %s is not a whole number from %lld to %lld", g->path, key,
                    (long long)low, (long long)high);
    return 0;
}

int gguf_string_or_none(const struct gguf *g, const char *key, struct gguf_text *out,
                        struct error *e)
{
    const struct gguf_pair *p = gguf_find(g, key);
    *out = (struct gguf_text){NULL, 0};
    if (p && gguf_string(p, out))
        return fail(e, "%s: %s is not a text", g->path, key);
    return 0;
}
