#include "io/containers/safetensors.h"

#include "io/formats/json.h"
#include "io/system/atomic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES_MAX = 100000000, /* the reference reader's cap */
    ENTRY_BYTES_MIN = sizeof "\"\":{\"dtype\":\"F4\",\"shape\":[],\"data_offsets\":[0,0]}" - 1
};

/* The place of a tensor's bytes within the file's data. */
struct extent {
    size_t begin, end;
    size_t index; /* in the store */
};

/* -- one tensor's entry in the header -- */

static const struct stored_type *read_dtype(const struct tensor *t, const json_t *value,
                                            const char *path, struct error *e)
{
    if (!json_is_string(value)) {
        fail(e, "%s: tensor %s has no dtype (expected text such as \"F32\")", path, t->name);
        return NULL;
    }
    const struct stored_type *stored = stored_type_find(json_string_value(value));
    if (!stored)
        fail(e, "%s: tensor %s has the unknown dtype '%.40s' (expected F64, F32, F16 or BF16)",
             path, t->name, json_string_value(value));
    return stored;
}

static int read_shape(struct tensor *t, const struct stored_type *stored, const json_t *value,
                      const char *path, struct error *e)
{
    size_t shape[TENSOR_RANK_MAX];
    if (!json_is_array(value))
        return fail(e, "%s: tensor %s has no shape (expected a list of whole numbers)", path,
                    t->name);
    if (json_array_size(value) > TENSOR_RANK_MAX)
        return fail(e, "%s: tensor %s has %zu dimensions (expected at most %d)", path, t->name,
                    json_array_size(value), TENSOR_RANK_MAX);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *size = json_array_get(value, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return fail(
                e, "%s: tensor %s has a size in its shape that is not a whole number of at least 0",
                path, t->name);
        shape[i] = (size_t)json_integer_value(size);
    }
    return store_shape(t, stored, (int)json_array_size(value), shape, path, e);
}

static int read_offsets(struct extent *extent, const char *name, const json_t *value,
                        const char *path, struct error *e)
{
    size_t *out[2] = {&extent->begin, &extent->end};
    if (!json_is_array(value) || json_array_size(value) != 2)
        return fail(e, "%s: tensor %s has no data_offsets (expected [begin, end])", path, name);
    for (size_t i = 0; i < 2; i++) {
        const json_t *offset = json_array_get(value, i);
        if (!json_is_integer(offset) || json_integer_value(offset) < 0)
            return fail(e,
                        "%s: tensor %s has data_offsets that are not whole numbers of at least 0",
                        path, name);
        *out[i] = (size_t)json_integer_value(offset);
    }
    if (extent->end < extent->begin)
        return fail(e, "%s: tensor %s ends at byte %zu, before its begin at %zu", path, name,
                    extent->end, extent->begin);
    return 0;
}

static int read_entry(struct tensors *t, const struct mapped *file, struct extent *extent,
                      const char *name, const json_t *value, struct error *e)
{
    if (!json_is_object(value))
        return fail(
            e, "%s: tensor %s is not described by an object (expected dtype, shape, data_offsets)",
            file->path, name);
    extent->index = tensors_count(t);
    struct tensor *tensor = store_add(t, file, name, strlen(name), e);
    const struct stored_type *stored =
        tensor ? read_dtype(tensor, json_object_get(value, "dtype"), file->path, e) : NULL;
    if (!stored || read_shape(tensor, stored, json_object_get(value, "shape"), file->path, e) ||
        read_offsets(extent, name, json_object_get(value, "data_offsets"), file->path, e))
        return -1;
    if (extent->end - extent->begin != tensor->bytes)
        return fail(e, "%s: tensor %s has %zu bytes of data (expected %zu by its shape and type)",
                    file->path, name, extent->end - extent->begin, tensor->bytes);
    return 0;
}

/* -- one file -- */

static int by_offset(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The data must be covered: no holes, overlap or bytes after them. Sets every tensor's pointer. */
static int place_tensors(struct tensors *t, const struct mapped *file, size_t data,
                         struct extent *extents, size_t count, struct error *e)
{
    size_t at = 0, data_bytes = file->size - data;
    if (count)
        qsort(extents, count, sizeof *extents, by_offset);
    for (size_t i = 0; i < count; i++) {
        struct tensor *tensor = tensors_at(t, extents[i].index);
        if (extents[i].begin > at)
            return fail(
                e,
                "%s: a hole of %zu bytes lies before tensor %s (expected its data at offset %zu)",
                file->path, extents[i].begin - at, tensor->name, at);
        if (extents[i].begin < at)
            return fail(e,
                        "%s: the data of tensor %s overlap those of tensor %s (expected offset "
                        "%zu, found %zu)",
                        file->path, tensor->name, tensors_at(t, extents[i - 1].index)->name, at,
                        extents[i].begin);
        if (extents[i].end > data_bytes)
            return fail(e,
                        "%s: the data of tensor %s end at offset %zu, but the file has only %zu "
                        "bytes of data (the file is cut off)",
                        file->path, tensor->name, extents[i].end, data_bytes);
        tensor->data = file->bytes + data + at;
        at = extents[i].end;
    }
    if (at != data_bytes)
        return fail(e, "%s: %zu bytes follow the last tensor (expected none)", file->path,
                    data_bytes - at);
    return 0;
}

static int check_metadata(const json_t *metadata, const char *path, struct error *e)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return fail(e, "%s: __metadata__ is not an object (expected names with text)", path);
    json_object_foreach((json_t *)metadata, key, value) if (!json_is_string(value)) return fail(
        e, "%s: __metadata__ '%.80s' is not text", path, key);
    return 0;
}

static uint64_t stated_header(const struct mapped *file)
{
    uint64_t stated;
    memcpy(&stated, file->bytes, sizeof stated);
    return stated;
}

int safetensors_read(struct tensors *t, const struct mapped *file, struct error *e)
{
    if (file->size < 8)
        return fail(
            e,
            "%s: has %zu bytes (expected a safetensors file: 8 bytes of header size, header, data)",
            file->path, file->size);
    uint64_t header_bytes = stated_header(file);
    if (header_bytes > HEADER_BYTES_MAX)
        return fail(e,
                    "%s: states a header of %llu bytes (expected at most %d: this is not a "
                    "safetensors file)",
                    file->path, (unsigned long long)header_bytes, HEADER_BYTES_MAX);
    if (header_bytes > file->size - 8)
        return fail(e,
                    "%s: states a header of %llu bytes, but only %zu follow (the file is cut off)",
                    file->path, (unsigned long long)header_bytes, file->size - 8);
    json_t *root = json_parse_object(file->path, "the header", (const char *)file->bytes + 8,
                                     (size_t)header_bytes, e);
    if (!root)
        return -1;
    int result = -1;
    size_t count = json_object_size(root), at = 0;
    const char *name;
    json_t *value;
    struct extent *extents = NULL;
    if (count > header_bytes / ENTRY_BYTES_MIN + 1) {
        fail(e,
             "%s: names %zu tensors in a header of %llu bytes (more than can be described there)",
             file->path, count, (unsigned long long)header_bytes);
        goto end;
    }
    extents = calloc(count ? count : 1, sizeof *extents);
    if (!extents) {
        fail_memory(e, (double)count * sizeof *extents, "the table of tensors");
        goto end;
    }
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (check_metadata(value, file->path, e))
                goto end;
        } else if (read_entry(t, file, &extents[at++], name, value, e)) {
            goto end;
        }
    }
    result = place_tensors(t, file, 8 + (size_t)header_bytes, extents, at, e);
end:
    free(extents);
    json_decref(root);
    return result;
}

/* -- writing -- */

static int by_width(const void *a, const void *b)
{
    const struct tensor *x = *(const struct tensor *const *)a,
                        *y = *(const struct tensor *const *)b;
    if (x->stored->bytes != y->stored->bytes)
        return x->stored->bytes > y->stored->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The header's text, padded with blanks to a multiple of 8 bytes. Caller frees. */
static char *make_header(const char *path, struct tensor *const *order, size_t count,
                         struct error *e)
{
    json_t *root = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    char *text = NULL, *padded = NULL;
    size_t at = 0;
    for (size_t i = 0; root && i < count; i++) {
        const struct tensor *t = order[i];
        json_t *shape = json_array(), *entry;
        size_t end;
        if (json_object_get(root, t->name)) {
            fail(e, "%s: a tensor cannot be named %s in a safetensors file", path, t->name);
            json_decref(shape);
            goto end;
        }
        for (int k = 0; k < t->rank; k++)
            json_array_append_new(shape, json_integer((json_int_t)t->shape[k]));
        if (size_add(&end, at, t->bytes) || end > INT64_MAX) {
            fail(e, "%s: would have more bytes than can be counted", path);
            json_decref(shape);
            goto end;
        }
        entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->stored->name, "shape", shape,
                          "data_offsets", (json_int_t)at, (json_int_t)end);
        if (!entry || json_object_set_new(root, t->name, entry)) {
            fail(e,
                 "%s: the header cannot be made (out of memory, or the name of a tensor is not "
                 "UTF-8)",
                 path);
            goto end;
        }
        at = end;
    }
    text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    if (text && asprintf(&padded, "%s%*s", text, (int)((8 - strlen(text) % 8) % 8), "") < 0)
        padded = NULL;
    if (!padded)
        fail_memory(e, (double)count * 100, "the header");
end:
    free(text);
    json_decref(root);
    return padded;
}

int safetensors_stage(const char *path, struct tensors *t, struct atomic_file *out, struct error *e)
{
    size_t count = tensors_count(t);
    struct tensor **order = calloc(count ? count : 1, sizeof *order);
    char *header = NULL;
    int result = -1;
    *out = (struct atomic_file){0};
    if (!order)
        return fail_memory(e, (double)count * sizeof *order, path);
    for (size_t i = 0; i < count; i++)
        order[i] = tensors_at(t, i);
    qsort(order, count, sizeof *order, by_width);
    if (!(header = make_header(path, order, count, e)) || atomic_open(out, path, e))
        goto end;
    uint64_t header_bytes = strlen(header);
    int written = fwrite(&header_bytes, sizeof header_bytes, 1, out->stream) == 1 &&
                  fputs(header, out->stream) >= 0;
    for (size_t i = 0; written && i < count; i++)
        written = store_write(out->stream, order[i]) == 0;
    result = tensors_unchanged(t, e) ? -1 : atomic_stage(out, e); /* says why a write failed */
end:
    if (result)
        atomic_abandon(out);
    free(header);
    free(order);
    return result;
}
