#include "io/tensors/tensors_parts.h"

#include "io/system/file.h"
#include "io/system/memory.h"
#include "io/system/spill.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    NAME_BYTES_MAX = 1024,
    SHARED_MAX = 64 /* maximum average number of tensors that share the same data */
};

static const struct stored_type types[] = {
    {"F64", 8, STORED_REAL, ELEMENT_F64}, {"F32", 4, STORED_REAL, ELEMENT_F32},
    {"F16", 2, STORED_REAL, ELEMENT_F16}, {"BF16", 2, STORED_REAL, ELEMENT_BF16},
    {"BOOL", 1, STORED_INTEGER, 0},       {"U8", 1, STORED_INTEGER, 0},
    {"I8", 1, STORED_INTEGER, 0},         {"U16", 2, STORED_INTEGER, 0},
    {"I16", 2, STORED_INTEGER, 0},        {"U32", 4, STORED_INTEGER, 0},
    {"I32", 4, STORED_INTEGER, 0},        {"U64", 8, STORED_INTEGER, 0},
    {"I64", 8, STORED_INTEGER, 0},        {"F8_E5M2", 1, STORED_OTHER, 0},
    {"F8_E4M3", 1, STORED_CODES, 0},      {"F8_E8M0", 1, STORED_CODES, 0},
    {"F8_E4M3FNUZ", 1, STORED_OTHER, 0},  {"F8_E5M2FNUZ", 1, STORED_OTHER, 0},
    {"F4", 0, STORED_OTHER, 0},           {"F6_E2M3", 0, STORED_OTHER, 0},
    {"F6_E3M2", 0, STORED_OTHER, 0},      {"C64", 8, STORED_OTHER, 0},
    {"C128", 16, STORED_OTHER, 0},
};

static const struct stored_type quantised_types[] = {
    {"Q4_0", 18, STORED_QUANTISED, ELEMENT_Q4_0},
    {"Q4_1", 20, STORED_QUANTISED, ELEMENT_Q4_1},
    {"Q5_0", 22, STORED_QUANTISED, ELEMENT_Q5_0},
    {"Q5_1", 24, STORED_QUANTISED, ELEMENT_Q5_1},
    {"Q8_0", 34, STORED_QUANTISED, ELEMENT_Q8_0},
    {"Q2_K", 84, STORED_QUANTISED, ELEMENT_Q2_K},
    {"Q3_K", 110, STORED_QUANTISED, ELEMENT_Q3_K},
    {"Q4_K", 144, STORED_QUANTISED, ELEMENT_Q4_K},
    {"Q5_K", 176, STORED_QUANTISED, ELEMENT_Q5_K},
    {"Q6_K", 210, STORED_QUANTISED, ELEMENT_Q6_K},
    {"MXFP4", 17, STORED_QUANTISED, ELEMENT_MXFP4},
    {"IQ4_NL", 18, STORED_QUANTISED, ELEMENT_IQ4_NL},
    {"IQ4_XS", 136, STORED_QUANTISED, ELEMENT_IQ4_XS},
    {"TQ1_0", 54, STORED_QUANTISED, ELEMENT_TQ1_0},
    {"TQ2_0", 66, STORED_QUANTISED, ELEMENT_TQ2_0},
    {"FP8", 1, STORED_QUANTISED, ELEMENT_FP8},
    {"INT8", 1, STORED_QUANTISED, ELEMENT_INT8},
    {"NF4", 0, STORED_QUANTISED, ELEMENT_NF4},
    {"FP4", 0, STORED_QUANTISED, ELEMENT_FP4},
    {"E2M1", 0, STORED_QUANTISED, ELEMENT_E2M1},
    {"INT", 0, STORED_QUANTISED, ELEMENT_INT},
};

const struct stored_type *stored_type_of(enum element type)
{
    const struct stored_type *at = types;
    if (element_is_quantised(type))
        at = quantised_types;
    while (at->type != type)
        at++;
    return at;
}

const struct stored_type *stored_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0)
            return &types[i];
    return NULL;
}

/* -- filling -- */

struct tensors *store_create(const char *path, struct error *e)
{
    struct tensors *t = calloc(1, sizeof *t);
    if (!t || !(t->path = strdup(path))) {
        fail_memory(e, (double)sizeof *t + (double)strlen(path), path);
        free(t);
        return NULL;
    }
    return t;
}

const struct mapped *store_map(struct tensors *t, const char *path, struct error *e)
{
    struct mapped **grown = realloc(t->files, (t->file_count + 1) * sizeof *grown);
    struct mapped *file = calloc(1, sizeof *file);
    if (grown)
        t->files = grown;
    if (!grown || !file || !(file->path = strdup(path))) {
        fail_memory(e, (double)(t->file_count + 1) * sizeof *grown, "the table of files");
        free(file);
        return NULL;
    }
    t->files[t->file_count++] = file;
    file->bytes = (const unsigned char *)"";
    file->descriptor = watch_open(&t->watch, path, &file->size, e);
    if (file->descriptor < 0) {
        file->size = 0;
        return NULL;
    }
    if (file->size == 0)
        return file;
    void *map = mmap(NULL, file->size, PROT_READ, MAP_SHARED, file->descriptor, 0);
    if (map == MAP_FAILED) {
        fail(e, "%s: cannot be mapped (%zu bytes): %s", path, file->size, strerror(errno));
        file->size = 0;
        return NULL;
    }
    file->bytes = map;
#ifdef MADV_HUGEPAGE
    /* read into huge pages where the file system has them: they are mapped in less than half the
     * time */
    (void)!madvise(map, file->size, MADV_HUGEPAGE);
#endif
    static const char pointer[] = "version https://git-lfs.github.com/spec/";
    if (file->size > sizeof pointer && memcmp(file->bytes, pointer, sizeof pointer - 1) == 0) {
        fail(e,
             "%s: is a pointer of Git LFS, not the file it stands for (expected that file: `git "
             "lfs pull` fetches it)",
             path);
        return NULL;
    }
    return file;
}

int store_watch(struct tensors *t, const char *path, struct error *e)
{
    size_t size;
    return watch_open(&t->watch, path, &size, e) < 0 || watch_settle(&t->watch, e) ? -1 : 0;
}

struct tensor *store_add(struct tensors *t, const struct mapped *file, const char *name,
                         size_t length, struct error *e)
{
    if (length > NAME_BYTES_MAX) {
        fail(e, "%s: a tensor's name has %zu bytes (expected at most %d): %.40s...", file->path,
             length, NAME_BYTES_MAX, name);
        return NULL;
    }
    if (memchr(name, '\0', length)) {
        fail(e, "%s: a tensor's name holds a NUL character (%.*s...)", file->path,
             (int)strnlen(name, length), name);
        return NULL;
    }
    if (t->entry_count == t->entry_capacity) {
        size_t capacity = t->entry_capacity ? 2 * t->entry_capacity : 64;
        struct slot *grown = realloc(t->entries, capacity * sizeof *grown);
        if (!grown) {
            fail_memory(e, (double)capacity * sizeof *grown, "the table of tensors");
            return NULL;
        }
        t->entries = grown;
        t->entry_capacity = capacity;
    }
    char *copy = strndup(name, length);
    if (!copy) {
        fail_memory(e, (double)length + 1, "a tensor's name");
        return NULL;
    }
    struct slot *entry = &t->entries[t->entry_count++];
    *entry = (struct slot){.tensor = {.name = copy}, .file = file};
    return &entry->tensor;
}

int store_shape(struct tensor *t, const struct stored_type *stored, int rank, const size_t *shape,
                const char *path, struct error *e)
{
    if (stored->kind == STORED_OTHER)
        return fail(e,
                    "%s: tensor %s is stored as %s, which is not supported (expected F64, F32, F16 "
                    "or BF16)",
                    path, t->name, stored->name);
    if (rank > TENSOR_RANK_MAX)
        return fail(e, "%s: tensor %s has %d dimensions (expected at most %d)", path, t->name, rank,
                    TENSOR_RANK_MAX);
    t->stored = stored;
    t->type = stored->type;
    t->used = stored->kind == STORED_INTEGER;
    t->integer = t->used || stored->kind == STORED_CODES;
    t->rank = rank;
    t->count = 1;
    for (int i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        if (size_multiply(&t->count, t->count, shape[i]))
            return fail(
                e,
                "%s: tensor %s has more elements than can be counted (its shape overflows 64 bits)",
                path, t->name);
    }
    size_t block = stored->kind == STORED_QUANTISED ? element_block(stored->type) : 1;
    if (block > 1 && (rank < 2 || shape[rank - 1] % block))
        return fail(e,
                    "%s: tensor %s is stored as %s in rows of %zu (expected a matrix with rows of "
                    "a multiple of %zu)",
                    path, t->name, stored->name, rank ? shape[rank - 1] : 1, block);
    if (size_multiply(&t->bytes, t->count / block, stored->bytes))
        return fail(
            e, "%s: tensor %s has more bytes than can be counted (its shape overflows 64 bits)",
            path, t->name);
    /* an empty tensor is never read; the product of its other sizes may overflow */
    size_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t->stride[i] = stride;
        stride *= t->count ? shape[i] : 1;
    }
    return 0;
}

int owned_room(struct tensors *t, const char *what, struct error *e)
{
    struct owned *grown = realloc(t->owned, (t->owned_count + 1) * sizeof *grown);
    if (!grown)
        return fail_memory(e, (double)(t->owned_count + 1) * sizeof *grown, what);
    t->owned = grown;
    return 0;
}

void *store_memory(struct tensors *t, size_t bytes, const char *what, struct error *e)
{
    if (owned_room(t, what, e) || memory_check(bytes, what, e))
        return NULL;
    /* shared: private pages would be lost in MADV_DONTNEED */
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (memory == MAP_FAILED) {
        fail_memory(e, (double)bytes, what);
        return NULL;
    }
    t->owned[t->owned_count++] = (struct owned){memory, bytes ? bytes : 1};
    return memory;
}

static int holds(const void *memory, size_t bytes, const void *data)
{
    uintptr_t first = (uintptr_t)memory, at = (uintptr_t)data;
    return at >= first && at - first < bytes;
}

int tensors_hold(const struct tensors *t, const void *data)
{
    for (size_t i = 0; i < t->file_count; i++)
        if (holds(t->files[i]->bytes, t->files[i]->size, data))
            return 1;
    for (size_t i = 0; i < t->owned_count; i++)
        if (holds(t->owned[i].memory, t->owned[i].bytes, data))
            return 1;
    return 0;
}

void *store_spill(struct tensors *t, size_t bytes, const char *what, struct error *e)
{
    void *memory = owned_room(t, what, e) ? NULL : spill_map(bytes, what, e);
    if (memory)
        t->owned[t->owned_count++] = (struct owned){memory, bytes ? bytes : 1};
    return memory;
}

int entry_order(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return strcmp(x->tensor.name, y->tensor.name);
}

/* Tensors may share their data, but a small file that claims large tensors would fill a disk when
 * converted. */
static int check_sharing(const struct tensors *t, struct error *e)
{
    size_t held = t->file_count || !t->entry_count ? 0 : t->entries[0].file->size,
           claimed = 0; /* without its own files it is a part of another store */
    for (size_t i = 0; i < t->file_count; i++)
        held += t->files[i]->size;
    for (size_t i = 0; i < t->owned_count; i++)
        held += t->owned[i].bytes;
    for (size_t i = 0; i < t->entry_count; i++)
        if (size_add(&claimed, claimed, t->entries[i].tensor.bytes) || claimed / SHARED_MAX > held)
            return fail(e, "%s: its tensors claim more than %d times the bytes that it holds",
                        t->path, SHARED_MAX);
    return 0;
}

int store_finish(struct tensors *t, struct error *e)
{
    if (check_sharing(t, e))
        return -1;
    if (t->entry_count)
        qsort(t->entries, t->entry_count, sizeof *t->entries, entry_order);
    for (size_t i = 1; i < t->entry_count; i++) {
        const struct slot *one = &t->entries[i - 1], *other = &t->entries[i];
        if (entry_order(one, other))
            continue;
        if (one->file == other->file)
            return fail(e, "%s: holds tensor %s twice (a duplicate name)", one->file->path,
                        one->tensor.name);
        return fail(e, "%s: tensor %s is also in %s (expected it in one shard)", other->file->path,
                    other->tensor.name, path_base(one->file->path));
    }
    return 0;
}

void store_state(struct tensors *t, size_t bytes)
{
    t->stated = bytes;
    t->is_stated = 1;
}

int store_stated(const struct tensors *t, size_t *bytes)
{
    *bytes = t->stated;
    return t->is_stated;
}

void store_note(struct tensors *t, const char *format, ...)
{
    size_t at = strlen(t->notes);
    va_list arguments;
    if (at && at + 1 < sizeof t->notes)
        t->notes[at++] = '\n';
    va_start(arguments, format);
    vsnprintf(t->notes + at, sizeof t->notes - at, format, arguments);
    va_end(arguments);
}

void store_assume(struct tensors *t, const char *text)
{
    snprintf(t->assumed, sizeof t->assumed, "%s", text);
}

void store_rename(struct tensor *t, const char *name)
{
    memmove((char *)t->name, name, strlen(name) + 1);
}

void store_replace(struct tensors *t, struct tensor *old, const struct tensor *with,
                   const struct mapped *file)
{
    t->stated += with->bytes - old->bytes;
    old->data = with->data;
    old->stored = with->stored;
    old->type = with->type;
    old->bytes = with->bytes;
    memcpy(old->stride, with->stride, sizeof old->stride);
    old->merged = 1;
    ((struct slot *)old)->file = file;
}

size_t store_files(const struct tensors *t)
{
    return t->file_count;
}

const struct mapped *store_file_at(const struct tensors *t, size_t index)
{
    return t->files[index];
}

const struct mapped *store_file(const struct tensor *tensor)
{
    return ((const struct slot *)tensor)->file;
}

void tensors_close(struct tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->entry_count; i++)
        free((char *)t->entries[i].tensor.name);
    for (size_t i = 0; i < t->file_count; i++) {
        struct mapped *file = t->files[i];
        if (file->size)
            munmap((void *)file->bytes, file->size);
        free(file->path);
        free(file);
    }
    for (size_t i = 0; i < t->owned_count; i++)
        munmap(t->owned[i].memory, t->owned[i].bytes);
    watch_close(&t->watch);
    supposed_free(t);
    free(t->owned);
    free(t->entries);
    free(t->files);
    free(t->path);
    free(t);
}
