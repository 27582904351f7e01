#include "io/safetensors.h"

#include "io/file.h"
#include "io/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    HEADER_BYTES_MAX = 100000000, /* the reference reader's cap */
    INDEX_BYTES_MAX = 100000000,
    NAME_BYTES_MAX = 1024,
    ENTRY_BYTES_MIN = sizeof "\"\":{\"dtype\":\"F4\",\"shape\":[],\"data_offsets\":[0,0]}" - 1,
    DIGEST_PIECE = 1 << 20
};

/* One mapped file. */
struct shard {
    char *path;
    int descriptor;
    const unsigned char *map; /* NULL until mapped */
    size_t size;              /* bytes of the file */
    size_t data;              /* offset of the first tensor's bytes */
};

struct entry {
    struct tensor tensor; /* first, so that a tensor handed out is its entry */
    size_t shard;
    size_t begin, end; /* bytes within the shard's data */
};

struct tensors {
    char *path;
    struct shard *shards; /* in order of their names */
    size_t shard_count;
    struct entry *entries; /* sorted by name once all shards are read */
    size_t entry_count;
};

enum kind { KIND_REAL, KIND_INTEGER, KIND_UNREADABLE };

/* Every type of the format. What we do not compute with is split: integers are passed by (mask buffers), the rest is refused by name. */
static const struct dtype {
    const char *name;
    size_t bytes;
    enum kind kind;
    enum element type;
} dtypes[] = {
    {"F64", 8, KIND_REAL, ELEMENT_F64},  {"F32", 4, KIND_REAL, ELEMENT_F32},  {"F16", 2, KIND_REAL, ELEMENT_F16},
    {"BF16", 2, KIND_REAL, ELEMENT_BF16}, {"BOOL", 1, KIND_INTEGER, 0},       {"U8", 1, KIND_INTEGER, 0},
    {"I8", 1, KIND_INTEGER, 0},          {"U16", 2, KIND_INTEGER, 0},         {"I16", 2, KIND_INTEGER, 0},
    {"U32", 4, KIND_INTEGER, 0},         {"I32", 4, KIND_INTEGER, 0},         {"U64", 8, KIND_INTEGER, 0},
    {"I64", 8, KIND_INTEGER, 0},         {"F8_E5M2", 1, KIND_UNREADABLE, 0},  {"F8_E4M3", 1, KIND_UNREADABLE, 0},
    {"F8_E8M0", 1, KIND_UNREADABLE, 0},  {"F8_E4M3FNUZ", 1, KIND_UNREADABLE, 0}, {"F8_E5M2FNUZ", 1, KIND_UNREADABLE, 0},
    {"F4", 0, KIND_UNREADABLE, 0},       {"F6_E2M3", 0, KIND_UNREADABLE, 0},  {"F6_E3M2", 0, KIND_UNREADABLE, 0},
    {"C64", 8, KIND_UNREADABLE, 0},
};

/* -- one tensor's entry in the header -- */

/* Sets the tensor's type and returns the row of `dtypes`, or NULL. */
static const struct dtype *read_dtype(struct tensor *t, const json_t *value, const char *path, struct error *e)
{
    if (!json_is_string(value)) {
        fail(e, "%s: tensor %s has no dtype (expected text such as \"F32\")", path, t->name);
        return NULL;
    }
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(json_string_value(value), dtypes[i].name))
            continue;
        if (dtypes[i].kind == KIND_UNREADABLE) {
            fail(e, "%s: tensor %s is stored as %s, which is not supported (expected F64, F32, F16 or BF16)", path, t->name, dtypes[i].name);
            return NULL;
        }
        t->type = dtypes[i].type;
        t->integer = t->used = dtypes[i].kind == KIND_INTEGER;
        return &dtypes[i];
    }
    fail(e, "%s: tensor %s has the unknown dtype '%.40s' (expected F64, F32, F16 or BF16)", path, t->name, json_string_value(value));
    return NULL;
}

static int read_shape(struct tensor *t, size_t element_bytes, const json_t *value, const char *path, struct error *e)
{
    if (!json_is_array(value))
        return fail(e, "%s: tensor %s has no shape (expected a list of whole numbers)", path, t->name);
    if (json_array_size(value) > TENSOR_RANK_MAX)
        return fail(e, "%s: tensor %s has %zu dimensions (expected at most %d)", path, t->name, json_array_size(value), TENSOR_RANK_MAX);
    t->rank = (int)json_array_size(value);
    t->count = 1;
    for (int i = 0; i < t->rank; i++) {
        const json_t *size = json_array_get(value, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail(e, "%s: tensor %s has a size in its shape that is no whole number from 0 up", path, t->name);
        t->shape[i] = (size_t)json_integer_value(size);
        if (size_multiply(&t->count, t->count, t->shape[i]))
            return fail(e, "%s: tensor %s has more elements than can be counted (its shape overflows 64 bits)", path, t->name);
    }
    if (size_multiply(&t->bytes, t->count, element_bytes))
        return fail(e, "%s: tensor %s has more bytes than can be counted (its shape overflows 64 bits)", path, t->name);
    return 0;
}

static int read_offsets(struct entry *entry, const json_t *value, const char *path, struct error *e)
{
    size_t *out[2] = {&entry->begin, &entry->end};
    if (!json_is_array(value) || json_array_size(value) != 2)
        return fail(e, "%s: tensor %s has no data_offsets (expected [begin, end])", path, entry->tensor.name);
    for (size_t i = 0; i < 2; i++) {
        const json_t *offset = json_array_get(value, i);
        if (!json_is_integer(offset) || json_integer_value(offset) < 0)
            return fail(e, "%s: tensor %s has data_offsets that are no whole numbers from 0 up", path, entry->tensor.name);
        *out[i] = (size_t)json_integer_value(offset);
    }
    if (entry->end < entry->begin)
        return fail(e, "%s: tensor %s ends at byte %zu, before its begin at %zu", path, entry->tensor.name, entry->end, entry->begin);
    return 0;
}

static int read_entry(struct entry *entry, const char *name, const json_t *value, const char *path, struct error *e)
{
    if (strlen(name) > NAME_BYTES_MAX)
        return fail(e, "%s: a tensor's name has %zu bytes (expected at most %d): %.40s...", path, strlen(name), NAME_BYTES_MAX, name);
    if (!json_is_object(value))
        return fail(e, "%s: tensor %s is not described by an object (expected dtype, shape, data_offsets)", path, name);
    char *copy = strdup(name);
    if (!copy)
        return fail_memory(e, (double)strlen(name) + 1, "a tensor's name");
    entry->tensor.name = copy;
    const struct dtype *dtype = read_dtype(&entry->tensor, json_object_get(value, "dtype"), path, e);
    if (!dtype || read_shape(&entry->tensor, dtype->bytes, json_object_get(value, "shape"), path, e) ||
        read_offsets(entry, json_object_get(value, "data_offsets"), path, e))
        return -1;
    if (entry->end - entry->begin != entry->tensor.bytes)
        return fail(e, "%s: tensor %s has %zu bytes of data (expected %zu by its shape and type)", path, name, entry->end - entry->begin,
                    entry->tensor.bytes);
    return 0;
}

/* -- one file -- */

static int by_offset(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The data must be covered from end to end: no holes, no overlap, nothing behind. Sets every tensor's pointer. */
static int place_entries(struct entry *entries, size_t count, const struct shard *s, struct error *e)
{
    size_t at = 0, data_bytes = s->size - s->data;
    if (count)
        qsort(entries, count, sizeof *entries, by_offset);
    for (size_t i = 0; i < count; i++) {
        const char *name = entries[i].tensor.name;
        if (entries[i].begin > at)
            return fail(e, "%s: a hole of %zu bytes lies before tensor %s (expected its data at offset %zu)", s->path, entries[i].begin - at, name, at);
        if (entries[i].begin < at)
            return fail(e, "%s: the data of tensor %s overlap those of tensor %s (expected offset %zu, found %zu)", s->path, name,
                        entries[i - 1].tensor.name, at, entries[i].begin);
        if (entries[i].end > data_bytes)
            return fail(e, "%s: the data of tensor %s end at offset %zu, but the file has only %zu bytes of data (the file is cut off)", s->path, name,
                        entries[i].end, data_bytes);
        entries[i].tensor.data = s->map + s->data + at;
        at = entries[i].end;
    }
    if (at != data_bytes)
        return fail(e, "%s: %zu bytes lie behind the last tensor (expected none)", s->path, data_bytes - at);
    return 0;
}

static int check_metadata(const json_t *metadata, const char *path, struct error *e)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return fail(e, "%s: __metadata__ is not an object (expected names with text)", path);
    json_object_foreach((json_t *)metadata, key, value)
        if (!json_is_string(value))
            return fail(e, "%s: __metadata__ '%.80s' is not text", path, key);
    return 0;
}

/* Maps the file and finds its header: *header of *header_bytes. */
static int map_shard(struct shard *s, const char **header, size_t *header_bytes, struct error *e)
{
    s->descriptor = file_open_regular(s->path, &s->size, e);
    if (s->descriptor < 0)
        return -1;
    if (s->size < 8)
        return fail(e, "%s: has %zu bytes (expected a safetensors file: 8 bytes of header size, header, data)", s->path, s->size);
    void *map = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->descriptor, 0);
    if (map == MAP_FAILED)
        return fail(e, "%s: cannot be mapped (%zu bytes): %s", s->path, s->size, strerror(errno));
    s->map = map;
    uint64_t stated;
    memcpy(&stated, s->map, sizeof stated);
    if (stated > HEADER_BYTES_MAX)
        return fail(e, "%s: states a header of %llu bytes (expected at most %d: this is no safetensors file)", s->path, (unsigned long long)stated,
                    HEADER_BYTES_MAX);
    if (stated > s->size - 8)
        return fail(e, "%s: states a header of %llu bytes, but only %zu follow (the file is cut off)", s->path, (unsigned long long)stated, s->size - 8);
    *header = (const char *)s->map + 8;
    *header_bytes = (size_t)stated;
    s->data = 8 + (size_t)stated;
    return 0;
}

/* Reads shard `index` and appends its tensors. */
static int read_shard(struct tensors *t, size_t index, struct error *e)
{
    struct shard *s = &t->shards[index];
    const char *header = NULL;
    size_t header_bytes = 0;
    if (map_shard(s, &header, &header_bytes, e))
        return -1;
    json_t *root = json_parse_object(s->path, "the header", header, header_bytes, e);
    if (!root)
        return -1;
    int result = -1;
    size_t first = t->entry_count, count = json_object_size(root), total, bytes;
    const char *name;
    json_t *value;
    struct entry *grown;
    if (count > header_bytes / ENTRY_BYTES_MIN + 1) {
        fail(e, "%s: names %zu tensors in a header of %zu bytes (more than can be described there)", s->path, count, header_bytes);
        goto end;
    }
    if (size_add(&total, first, count) || size_multiply(&bytes, total, sizeof *grown) || !(grown = realloc(t->entries, bytes ? bytes : 1))) {
        fail_memory(e, ((double)first + (double)count) * sizeof *grown, "the table of tensors");
        goto end;
    }
    t->entries = grown;
    json_object_foreach(root, name, value) {
        if (strcmp(name, "__metadata__") == 0) {
            if (check_metadata(value, s->path, e))
                goto end;
            continue;
        }
        struct entry *entry = &t->entries[t->entry_count++];
        *entry = (struct entry){.shard = index};
        if (read_entry(entry, name, value, s->path, e))
            goto end;
    }
    result = place_entries(t->entries + first, t->entry_count - first, s, e);
end:
    json_decref(root);
    return result;
}

/* -- which files -- */

/* `folder` is a path's part up to and with its last slash, of `folder_length` bytes. */
static int add_shard(struct tensors *t, const char *folder, size_t folder_length, const char *name, struct error *e)
{
    struct shard *grown = realloc(t->shards, (t->shard_count + 1) * sizeof *grown);
    if (!grown)
        return fail_memory(e, (double)(t->shard_count + 1) * sizeof *grown, "the table of shards");
    t->shards = grown;
    struct shard *s = &t->shards[t->shard_count];
    *s = (struct shard){.descriptor = -1};
    if (asprintf(&s->path, "%.*s%s", (int)folder_length, folder, name) < 0) {
        s->path = NULL;
        return fail_memory(e, (double)(folder_length + strlen(name)), "a path");
    }
    t->shard_count++;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_shard_name(const char *name, const char *path, struct error *e)
{
    if (*name == '\0' || strcmp(name, ".") == 0 || strchr(name, '/') || strchr(name, '\\') || strstr(name, ".."))
        return fail(e, "%s: '%.200s' is no name of a shard (expected a file beside the index, without / \\ or ..)", path, name);
    return 0;
}

/* Adds every shard that weight_map names, in the order of their names, each once. */
static int add_indexed_shards(struct tensors *t, const json_t *map, const char *path, struct error *e)
{
    size_t count = json_object_size(map), at = 0;
    const char **names = calloc(count ? count : 1, sizeof *names);
    if (!names)
        return fail_memory(e, (double)count * sizeof *names, "the names of the shards");
    int result = -1;
    const char *tensor;
    json_t *file;
    json_object_foreach((json_t *)map, tensor, file) {
        if (!json_is_string(file)) {
            fail(e, "%s: the shard of tensor %.200s is not text", path, tensor);
            goto end;
        }
        names[at] = json_string_value(file);
        if (check_shard_name(names[at++], path, e))
            goto end;
    }
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++)
        if ((i == 0 || strcmp(names[i], names[i - 1])) && add_shard(t, path, (size_t)(path_base(path) - path), names[i], e))
            goto end;
    result = 0;
end:
    free(names);
    return result;
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return strcmp(x->tensor.name, y->tensor.name);
}

static struct entry *find_entry(const struct tensors *t, const char *name)
{
    struct entry key = {.tensor = {.name = name}};
    return t->entry_count ? bsearch(&key, t->entries, t->entry_count, sizeof key, by_name) : NULL;
}

/* Sorts by name and refuses a name that two shards hold. */
static int sort_entries(struct tensors *t, struct error *e)
{
    if (t->entry_count)
        qsort(t->entries, t->entry_count, sizeof *t->entries, by_name);
    for (size_t i = 1; i < t->entry_count; i++)
        if (by_name(&t->entries[i - 1], &t->entries[i]) == 0)
            return fail(e, "%s: tensor %s is also in %s (expected it in one shard)", t->shards[t->entries[i].shard].path, t->entries[i].tensor.name,
                        path_base(t->shards[t->entries[i - 1].shard].path));
    return 0;
}

static int open_index(struct tensors *t, const char *path, struct error *e)
{
    size_t size;
    char *text = file_read_whole(path, INDEX_BYTES_MAX, &size, e);
    if (!text)
        return -1;
    json_t *root = json_parse_object(path, "the index", text, size, e);
    free(text);
    if (!root)
        return -1;
    int result = -1;
    const json_t *map = json_object_get(root, "weight_map");
    const char *name;
    json_t *file;
    if (!json_is_object(map) || json_object_size(map) == 0) {
        fail(e, "%s: weight_map is missing or empty (expected an object: tensor names with shard files)", path);
        goto end;
    }
    if (add_indexed_shards(t, map, path, e))
        goto end;
    for (size_t i = 0; i < t->shard_count; i++)
        if (read_shard(t, i, e))
            goto end;
    if (sort_entries(t, e))
        goto end;
    json_object_foreach((json_t *)map, name, file) {
        const struct entry *entry = find_entry(t, name);
        if (!entry || strcmp(path_base(t->shards[entry->shard].path), json_string_value(file))) {
            fail(e, "%s: tensor %.200s is not in its shard %.200s", path, name, json_string_value(file));
            goto end;
        }
    }
    result = 0;
end:
    json_decref(root);
    return result;
}

static int open_single(struct tensors *t, const char *path, struct error *e)
{
    return add_shard(t, "", 0, path, e) || read_shard(t, 0, e) || sort_entries(t, e) ? -1 : 0;
}

static int open_folder(struct tensors *t, const char *folder, struct error *e)
{
    static const char *const wanted[] = {"model.safetensors.index.json", "model.safetensors"};
    size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    for (int i = 0; i < 2; i++) {
        char *path;
        if (asprintf(&path, "%s%s%s", folder, slash, wanted[i]) < 0)
            return fail_memory(e, (double)length, "a path");
        int there = access(path, F_OK) == 0;
        int result = !there ? -1 : i == 0 ? open_index(t, path, e) : open_single(t, path, e);
        free(path);
        if (there)
            return result;
    }
    return fail(e, "%s: holds no checkpoint that can be read (expected %s or %s in it)", folder, wanted[0], wanted[1]);
}

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

struct tensors *tensors_open(const char *path, struct error *e)
{
    struct tensors *t = calloc(1, sizeof *t);
    if (!t || !(t->path = strdup(path))) {
        fail_memory(e, (double)sizeof *t + (double)strlen(path), path);
        tensors_close(t);
        return NULL;
    }
    struct stat st;
    int result;
    if (stat(path, &st))
        result = fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        result = open_folder(t, path, e);
    else if (ends_with(path, ".json"))
        result = open_index(t, path, e);
    else
        result = open_single(t, path, e);
    if (result) {
        tensors_close(t);
        return NULL;
    }
    return t;
}

void tensors_close(struct tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->entry_count; i++)
        free((char *)t->entries[i].tensor.name);
    for (size_t i = 0; i < t->shard_count; i++) {
        if (t->shards[i].map)
            munmap((void *)t->shards[i].map, t->shards[i].size);
        if (t->shards[i].descriptor >= 0)
            close(t->shards[i].descriptor);
        free(t->shards[i].path);
    }
    free(t->entries);
    free(t->shards);
    free(t->path);
    free(t);
}

/* -- access -- */

size_t tensors_count(const struct tensors *t)
{
    return t->entry_count;
}

struct tensor *tensors_at(struct tensors *t, size_t index)
{
    return &t->entries[index].tensor;
}

struct tensor *tensors_find(struct tensors *t, const char *name)
{
    struct entry *entry = find_entry(t, name);
    return entry && !entry->tensor.integer ? &entry->tensor : NULL;
}

const char *tensors_path(const struct tensors *t)
{
    return t->path;
}

int tensors_digest(struct tensors *t, char digest[33], struct error *e)
{
    XXH3_state_t *state = XXH3_createState();
    unsigned char *piece = malloc(DIGEST_PIECE);
    int result = -1;
    if (!state || !piece || XXH3_128bits_reset(state) == XXH_ERROR) {
        fail_memory(e, DIGEST_PIECE, "the digest");
        goto end;
    }
    for (size_t i = 0; i < t->shard_count; i++) {
        const struct shard *s = &t->shards[i];
        for (size_t at = 0; at < s->size;) {
            size_t n = s->size - at < DIGEST_PIECE ? s->size - at : DIGEST_PIECE;
            if (file_read_at(s->descriptor, s->path, piece, n, at, e))
                goto end;
            XXH3_128bits_update(state, piece, n);
            at += n;
        }
    }
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    snprintf(digest, 33, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    result = 0;
end:
    XXH3_freeState(state);
    free(piece);
    return result;
}

void tensors_release_pages(const void *data, size_t bytes)
{
    /* inwards: a page shared with a neighbour may be in use */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)data + page - 1) & ~(page - 1), last = ((uintptr_t)data + bytes) & ~(page - 1);
    if (last > first)
        madvise((void *)first, last - first, MADV_DONTNEED);
}
