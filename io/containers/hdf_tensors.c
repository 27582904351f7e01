#include "io/containers/hdf_tensors.h"

#include "io/containers/hdf_types.h"
#include "io/formats/hdf.h"
#include "io/system/confine.h"
#include "io/system/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HDF5 runs in a separate process, which reports what it found as a list of rows; the data of plain
 * datasets are then read from the mapping. */

enum { NESTING_MAX = 32, OBJECTS_MAX = 100000, NAME_BYTES_MAX = 1024, CONFIG_BYTES_MAX = 16 << 20 };

/* One dataset as reported by the child; `name_size` bytes of its name follow. Or the config: no
 * type, `name_size` bytes of text. */
struct row {
    char type[16]; /* the name of a stored_type */
    uint64_t name_size, rank, shape[TENSOR_RANK_MAX];
    uint64_t packed; /* 1: not contiguous */
    uint64_t offset; /* of the data in the file, if contiguous */
    uint64_t stored; /* bytes in the file */
    uint64_t address; /* of the dataset's description */
};

/* -- in the child: listing -- */

struct lister {
    const struct mapped *file;
    FILE *out;
    const char *prefix; /* of names in the visited group */
    int depth;
    size_t objects;
    struct error *e;
};

static int list_dataset(struct lister *l, hid_t dataset, const char *name)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset),
          list = H5Dget_create_plist(dataset);
    struct row row = {.name_size = strlen(name)};
    char label[NAME_BYTES_MAX + 16];
    hsize_t shape[H5S_MAX_RANK];
    H5O_info_t info;
    int result = -1, rank = space >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL
                                ? H5Sget_simple_extent_dims(space, shape, NULL)
                                : -1;
    if (type < 0 || list < 0 || rank < 0 || H5Oget_info(dataset, &info) < 0) {
        fail(l->e, "%s: dataset %s has no type or no shape", l->file->path, name);
        goto end;
    }
    if (rank > TENSOR_RANK_MAX) {
        fail(l->e, "%s: tensor %s has %d dimensions (expected at most %d)", l->file->path, name,
             rank, TENSOR_RANK_MAX);
        goto end;
    }
    const struct stored_type *stored = hdf_type_find(type);
    row.rank = (uint64_t)rank;
    for (int i = 0; i < rank; i++)
        row.shape[i] = shape[i];
    if (!stored) {
        fail(l->e,
             "%s: tensor %s is stored as a type that is not supported (expected little-endian "
             "float64, float32, float16 or "
             "bfloat16)",
             l->file->path, name);
        goto end;
    }
    snprintf(label, sizeof label, "tensor %s", name);
    if (hdf_check_storage(dataset, label, l->file->path, l->file->size, l->e))
        goto end;
    snprintf(row.type, sizeof row.type, "%s", stored->name);
    row.packed = H5Pget_layout(list) != H5D_CONTIGUOUS;
    row.offset = H5Dget_offset(dataset);
    row.stored = H5Dget_storage_size(dataset);
    row.address = info.addr;
    fwrite(&row, sizeof row, 1, l->out);
    fwrite(name, 1, row.name_size, l->out);
    result = 0;
end:
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *l = context;
    const char *prefix = l->prefix;
    char full[NAME_BYTES_MAX + 2];
    if (info->type != H5L_TYPE_HARD)
        return fail(l->e,
                    "%s: %s%s is a link to elsewhere (expected a group or a dataset in the file)",
                    l->file->path, prefix, name);
    if (strlen(prefix) + strlen(name) > NAME_BYTES_MAX)
        return fail(l->e, "%s: the name %.40s... is too long (expected at most %d bytes)",
                    l->file->path, name, NAME_BYTES_MAX);
    if (++l->objects > OBJECTS_MAX || l->depth >= NESTING_MAX)
        return fail(l->e, "%s: holds too many datasets and groups, or groups within themselves",
                    l->file->path);
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    int result;
    if (kind == H5I_DATASET) {
        snprintf(full, sizeof full, "%s%s", prefix, name);
        result = list_dataset(l, object, full);
    } else if (kind == H5I_GROUP) {
        hsize_t at = 0;
        snprintf(full, sizeof full, "%s%s.", prefix, name);
        l->prefix = full;
        l->depth++;
        result = H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, &at, visit, l) < 0 ? -1 : 0;
        l->depth--;
        l->prefix = prefix;
    } else {
        result = fail(l->e, "%s: %s%s is neither a dataset nor a group", l->file->path, prefix,
                      name);
    }
    if (object >= 0)
        H5Oclose(object);
    return result;
}

/* The attribute `config` of the root, if present. */
static int list_config(struct lister *l, hid_t root)
{
    char *text = NULL, *variable = NULL;
    struct row row = {0};
    int result = -1;
    if (H5Aexists(root, "config") <= 0)
        return 0;
    hid_t attribute = H5Aopen(root, "config", H5P_DEFAULT), type = H5Aget_type(attribute),
          space = H5Aget_space(attribute);
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    if (type < 0 || space < 0 || H5Tget_class(type) != H5T_STRING ||
        H5Sget_simple_extent_type(space) != H5S_SCALAR || size > CONFIG_BYTES_MAX) {
        fail(l->e, "%s: the attribute config is not text (expected JSON, at most %d bytes)",
             l->file->path, CONFIG_BYTES_MAX);
        goto end;
    }
    int is_variable = H5Tis_variable_str(type) > 0;
    if (!is_variable && !(text = calloc(1, size + 1))) {
        fail_memory(l->e, (double)size, "config");
        goto end;
    }
    if (H5Aread(attribute, type, is_variable ? (void *)&variable : text) < 0) {
        hdf_fail(l->e, l->file->path, "config");
        goto end;
    }
    const char *found = is_variable ? variable ? variable : "" : text;
    row.name_size = strlen(found);
    fwrite(&row, sizeof row, 1, l->out);
    fwrite(found, 1, row.name_size, l->out);
    result = 0;
end:
    free(text); /* HDF5's own memory is freed when the process ends */
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return result;
}

/* Writes a row for every dataset and for the config. */
static int list_file(FILE *out, void *context, struct error *e)
{
    struct lister l = {.file = context, .out = out, .prefix = "", .e = e};
    hsize_t at = 0;
    hid_t file = hdf_open_descriptor(l.file->descriptor, l.file->path, e);
    if (file < 0)
        return -1;
    if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &at, visit, &l) >= 0 &&
        list_config(&l, file) == 0)
        return 0;
    return e->text[0] ? -1
                      : hdf_fail(e, l.file->path, "is damaged"); /* the iterator itself failed */
}

/* -- in the child: compressed data -- */

struct packed {
    uint64_t address;
    void *memory;
    const struct stored_type *type;
    size_t bytes;
};

struct unpacker {
    const struct mapped *file;
    struct packed *packed;
    size_t count, capacity;
    size_t bytes, largest;
};

static int unpack(FILE *out, void *context, struct error *e)
{
    (void)out;
    const struct unpacker *u = context;
    hid_t file = hdf_open_descriptor(u->file->descriptor, u->file->path, e);
    if (file < 0)
        return -1;
    for (size_t i = 0; i < u->count; i++) {
        const struct packed *p = &u->packed[i];
        hid_t dataset = H5Oopen_by_addr(file, p->address), space = H5Dget_space(dataset);
        hssize_t count = H5Sget_simple_extent_npoints(space);
        if (count < 0 || (size_t)count != p->bytes / p->type->bytes)
            return fail(e, "%s: is damaged (a dataset changed its shape)", u->file->path);
        if (H5Dread(dataset, hdf_type_make(p->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, p->memory) < 0)
            return hdf_fail(e, u->file->path, "a dataset cannot be read");
        H5Sclose(space);
        H5Oclose(dataset);
    }
    return 0;
}

/* -- in the program -- */

static int add_packed(struct tensors *t, struct unpacker *u, struct tensor *tensor,
                      uint64_t address, struct error *e)
{
    if (u->count == u->capacity) {
        size_t capacity = u->capacity ? 2 * u->capacity : 64;
        struct packed *grown = realloc(u->packed, capacity * sizeof *grown);
        if (!grown)
            return fail_memory(e, (double)capacity * sizeof *grown, "the table of packed tensors");
        u->packed = grown;
        u->capacity = capacity;
    }
    void *memory = store_memory(t, tensor->bytes, tensor->name, e);
    if (!memory)
        return -1;
    tensor->data = memory;
    u->packed[u->count++] = (struct packed){address, memory, tensor->stored, tensor->bytes};
    u->largest = tensor->bytes > u->largest ? tensor->bytes : u->largest;
    return size_add(&u->bytes, u->bytes, tensor->bytes)
               ? fail_memory(e, (double)tensor->bytes, tensor->name)
               : 0;
}

static int add_row(struct tensors *t, struct unpacker *u, const struct row *row, const char *name,
                   struct error *e)
{
    const struct mapped *file = u->file;
    size_t shape[TENSOR_RANK_MAX];
    const struct stored_type *stored = stored_type_find(row->type);
    struct tensor *tensor = stored ? store_add(t, file, name, row->name_size, e) : NULL;
    if (!stored)
        return fail(e, "%s: is damaged", file->path);
    for (int i = 0; i < TENSOR_RANK_MAX; i++)
        shape[i] = row->shape[i];
    if (!tensor || store_shape(tensor, stored, (int)row->rank, shape, file->path, e))
        return -1;
    tensor->data = file->bytes;
    if (tensor->bytes == 0)
        return 0;
    if (row->stored == 0 || row->stored > file->size ||
        tensor->bytes / HDF_DEFLATE_RATIO_MAX > row->stored)
        return fail(e, "%s: tensor %s claims %zu bytes, but %llu are stored", file->path,
                    tensor->name, tensor->bytes, (unsigned long long)row->stored);
    if (row->packed)
        return add_packed(t, u, tensor, row->address, e);
    if (row->stored != tensor->bytes || row->offset > file->size ||
        tensor->bytes > file->size - row->offset)
        return fail(e, "%s: the data of tensor %s do not lie within the file", file->path,
                    tensor->name);
    tensor->data = file->bytes + row->offset;
    return 0;
}

/* Takes over all rows; *own when one of them is the config. */
static int add_rows(struct tensors *t, struct unpacker *u, const char *rows, size_t size,
                    struct config **own, struct error *e)
{
    for (size_t at = 0; at < size;) {
        struct row row;
        if (size - at < sizeof row)
            return fail(e, "%s: is damaged", u->file->path);
        memcpy(&row, rows + at, sizeof row);
        at += sizeof row;
        row.type[sizeof row.type - 1] = '\0';
        if (row.name_size > size - at || row.rank > TENSOR_RANK_MAX)
            return fail(e, "%s: is damaged", u->file->path);
        if (!*row.type && !*own &&
            !(*own = config_from_text(u->file->path, rows + at, row.name_size, e)))
            return -1;
        if (*row.type && add_row(t, u, &row, rows + at, e))
            return -1;
        at += row.name_size;
    }
    return 0;
}

int hdf_tensors_read(struct tensors *t, const struct mapped *file, struct config **own,
                     struct error *e)
{
    struct unpacker u = {.file = file};
    char *rows = NULL;
    size_t size, memory;
    int checked = hdf_check_memory(file->bytes, file->size, file->path, e);
    tensors_release_pages(file->bytes, file->size); /* all were visited */
    if (checked || confine(&rows, &size, list_file, (void *)(uintptr_t)file, HDF_MEMORY,
                           HDF_SECONDS, file->path, e))
        return -1;
    int result = add_rows(t, &u, rows, size, own, e);
    free(rows);
    rows = NULL;
    /* chunks may be as large as their dataset, and are unpacked through two filters */
    if (result == 0 && u.count &&
        (size_multiply(&memory, 4, u.largest) || size_add(&memory, memory, HDF_MEMORY)))
        result = fail_memory(e, 4 * (double)u.largest, file->path);
    else if (result == 0 && u.count && (result = memory_check(u.bytes, file->path, e)) == 0)
        result = confine(&rows, &size, unpack, &u, memory,
                         HDF_SECONDS + u.bytes / HDF_BYTES_A_SECOND, file->path, e);
    free(rows);
    free(u.packed);
    return result;
}
