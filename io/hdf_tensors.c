#include "io/hdf_tensors.h"

#include "io/atomic.h"
#include "io/hdf.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NESTING_MAX = 32,
    OBJECTS_MAX = 100000,
    NAME_BYTES_MAX = 1024,
    CONFIG_BYTES_MAX = 16 << 20,
    DEFLATE_RATIO_MAX = 1032 /* zlib's bound on how far data shrink */
};

/* -- types -- */

/* Those that tensors are stored as. h5py knows them all (BF16 only as a wider type). */
static const char *const type_names[] = {"F32", "F16", "BF16", "F64", "BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64"};
enum { TYPES = sizeof type_names / sizeof *type_names };

/* A floating type of two bytes: sign, exponent of that many bits and that bias, fraction. */
static hid_t make_half(size_t exponent, size_t bias)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    if (type >= 0 && H5Tset_fields(type, 15, 15 - exponent, exponent, 0, 15 - exponent) >= 0 && H5Tset_ebias(type, bias) >= 0 && H5Tset_size(type, 2) >= 0)
        return type;
    H5Tclose(type);
    return -1;
}

/* As h5py stores numpy's bool. */
static hid_t make_bool(void)
{
    const int8_t no = 0, yes = 1;
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    if (type >= 0 && H5Tenum_insert(type, "FALSE", &no) >= 0 && H5Tenum_insert(type, "TRUE", &yes) >= 0)
        return type;
    H5Tclose(type);
    return -1;
}

/* Caller closes. */
static hid_t make_type(const char *name)
{
    const struct {
        const char *name;
        hid_t type;
    } plain[] = {{"F32", H5T_IEEE_F32LE}, {"F64", H5T_IEEE_F64LE}, {"U8", H5T_STD_U8LE},   {"I8", H5T_STD_I8LE},   {"U16", H5T_STD_U16LE},
                 {"I16", H5T_STD_I16LE},  {"U32", H5T_STD_U32LE},  {"I32", H5T_STD_I32LE}, {"U64", H5T_STD_U64LE}, {"I64", H5T_STD_I64LE}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, name) == 0)
            return H5Tcopy(plain[i].type);
    return strcmp(name, "F16") == 0 ? make_half(5, 15) : strcmp(name, "BF16") == 0 ? make_half(8, 127) : make_bool();
}

/* What a dataset's type is called here; NULL: none of them. */
static const struct stored_type *find_type(hid_t type)
{
    for (int i = 0; i < TYPES; i++) {
        hid_t own = make_type(type_names[i]);
        int equal = own >= 0 && H5Tequal(type, own) > 0;
        H5Tclose(own);
        if (equal)
            return stored_type_find(type_names[i]);
    }
    return NULL;
}

/* -- reading -- */

struct reader {
    struct tensors *t;
    const struct mapped *file;
    const char *prefix; /* of names in the group that is visited */
    int depth;
    size_t objects;
    struct error *e;
};

/* Storage in this file, by filters that are part of HDF5. */
static int check_storage(struct reader *r, hid_t list, const char *name)
{
    int ok = H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) == 0;
    for (int i = 0, n = ok ? H5Pget_nfilters(list) : 0; i < n; i++) {
        unsigned flags, configuration;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &configuration);
        ok = ok && (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32);
    }
    return ok ? 0 : fail(r->e, "%s: tensor %s is not stored in the file itself, plain or by deflate and shuffle", r->file->path, name);
}

/* A chunk beyond the dataset's own size would be a way to ask for memory. */
static int check_chunk(struct reader *r, hid_t list, const struct tensor *t)
{
    hsize_t chunk[TENSOR_RANK_MAX];
    int ok = H5Pget_layout(list) != H5D_CHUNKED || H5Pget_chunk(list, t->rank, chunk) == t->rank;
    for (int i = 0; ok && H5Pget_layout(list) == H5D_CHUNKED && i < t->rank; i++)
        ok = chunk[i] <= t->shape[i];
    return ok ? 0 : fail(r->e, "%s: tensor %s has chunks larger than itself", r->file->path, t->name);
}

/* Sets the tensor's data: a view of the mapping, or memory of the store. */
static int read_data(struct reader *r, hid_t dataset, hid_t type, hid_t list, struct tensor *t)
{
    t->data = r->file->bytes;
    if (t->bytes == 0)
        return 0;
    hsize_t stored = H5Dget_storage_size(dataset);
    haddr_t offset = H5Dget_offset(dataset);
    if (stored == 0 || stored > r->file->size || t->bytes / DEFLATE_RATIO_MAX > stored)
        return fail(r->e, "%s: tensor %s claims %zu bytes, but %llu are stored", r->file->path, t->name, t->bytes, (unsigned long long)stored);
    if (H5Pget_layout(list) == H5D_CONTIGUOUS) {
        if (stored != t->bytes || offset == HADDR_UNDEF || offset > r->file->size || t->bytes > r->file->size - offset)
            return fail(r->e, "%s: the data of tensor %s do not lie within the file", r->file->path, t->name);
        t->data = r->file->bytes + offset;
        return 0;
    }
    if (check_chunk(r, list, t))
        return -1;
    void *memory = store_memory(r->t, t->bytes, t->name, r->e);
    if (!memory)
        return -1;
    t->data = memory;
    return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory) < 0 ? hdf_fail(r->e, r->file->path, t->name) : 0;
}

static int read_dataset(struct reader *r, hid_t dataset, const char *name)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), list = H5Dget_create_plist(dataset);
    hsize_t dims[H5S_MAX_RANK];
    size_t shape[H5S_MAX_RANK];
    int result = -1, rank = space >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL ? H5Sget_simple_extent_dims(space, dims, NULL) : -1;
    struct tensor *t = NULL;
    if (type < 0 || list < 0 || rank < 0) {
        fail(r->e, "%s: dataset %s has no type or no shape", r->file->path, name);
        goto end;
    }
    const struct stored_type *stored = find_type(type);
    if (!stored) {
        fail(r->e, "%s: tensor %s is stored as a type that is not supported (expected little-endian float64, float32, float16 or bfloat16)", r->file->path,
             name);
        goto end;
    }
    for (int i = 0; i < rank; i++)
        shape[i] = (size_t)dims[i];
    if (!(t = store_add(r->t, r->file, name, strlen(name), r->e)) || store_shape(t, stored, rank, shape, r->file->path, r->e) ||
        check_storage(r, list, name))
        goto end;
    result = read_data(r, dataset, type, list, t);
end:
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct reader *r = context;
    const char *prefix = r->prefix;
    char full[NAME_BYTES_MAX + 2];
    if (info->type != H5L_TYPE_HARD)
        return fail(r->e, "%s: %s%s is a link to elsewhere (expected a group or a dataset in the file)", r->file->path, prefix, name);
    if (strlen(prefix) + strlen(name) > NAME_BYTES_MAX)
        return fail(r->e, "%s: the name %.40s... is too long (expected at most %d bytes)", r->file->path, name, NAME_BYTES_MAX);
    if (++r->objects > OBJECTS_MAX || r->depth >= NESTING_MAX)
        return fail(r->e, "%s: holds too many datasets and groups, or groups within themselves", r->file->path);
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    int result;
    if (kind == H5I_DATASET) {
        snprintf(full, sizeof full, "%s%s", prefix, name);
        result = read_dataset(r, object, full);
    } else if (kind == H5I_GROUP) {
        hsize_t at = 0;
        snprintf(full, sizeof full, "%s%s.", prefix, name);
        r->prefix = full;
        r->depth++;
        result = H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, &at, visit, r) < 0 ? -1 : 0;
        r->depth--;
        r->prefix = prefix;
    } else {
        result = fail(r->e, "%s: %s%s is neither a dataset nor a group", r->file->path, prefix, name);
    }
    if (object >= 0)
        H5Oclose(object);
    return result;
}

/* The attribute `config` of the root as text; *text NULL: there is none. Caller frees. */
static int read_config(char **text, struct reader *r, hid_t root)
{
    char *variable = NULL;
    int result = -1;
    *text = NULL;
    if (H5Aexists(root, "config") <= 0)
        return 0;
    hid_t attribute = H5Aopen(root, "config", H5P_DEFAULT), type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    if (type < 0 || space < 0 || H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_type(space) != H5S_SCALAR || size > CONFIG_BYTES_MAX) {
        fail(r->e, "%s: the attribute config is not text (expected JSON, at most %d bytes)", r->file->path, CONFIG_BYTES_MAX);
        goto end;
    }
    herr_t status = 0;
    if (H5Tis_variable_str(type) > 0) {
        if ((status = H5Aread(attribute, type, &variable)) >= 0)
            *text = strdup(variable ? variable : "");
    } else if ((*text = calloc(1, size + 1))) {
        status = H5Aread(attribute, type, *text);
    }
    if (status < 0)
        hdf_fail(r->e, r->file->path, "config");
    else if (!*text)
        fail_memory(r->e, (double)size, "config");
    else
        result = 0;
end:
    if (variable)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, &variable);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    if (result) {
        free(*text);
        *text = NULL;
    }
    return result;
}

int hdf_tensors_read(struct tensors *t, const struct mapped *file, struct config **own, struct error *e)
{
    struct reader r = {.t = t, .file = file, .prefix = "", .e = e};
    char name[64], *text = NULL;
    hsize_t at = 0;
    int result = -1;
    if (hdf_check_memory(file->bytes, file->size, file->path, e))
        return -1;
    hdf_quiet();
    if (e)
        e->text[0] = '\0';
    snprintf(name, sizeof name, "/proc/self/fd/%d", file->descriptor); /* the file that is mapped, whatever has its name now */
    hid_t h = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (h < 0)
        return hdf_fail(e, file->path, "is not a readable HDF5 file");
    if (H5Literate(h, H5_INDEX_NAME, H5_ITER_INC, &at, visit, &r) >= 0 && read_config(&text, &r, h) == 0 &&
        (!text || (*own = config_from_text(file->path, text, strlen(text), e))))
        result = 0;
    if (result && e && e->text[0] == '\0')
        hdf_fail(e, file->path, "is damaged"); /* the iterator itself failed */
    free(text);
    H5Fclose(h);
    return result;
}

/* -- writing -- */

/* Where a tensor's data go in the file. */
struct place {
    const struct tensor *tensor;
    size_t offset;
};

/* Makes a dataset whose space is taken and never filled; tells where it lies. */
static int make_dataset(struct place *out, hid_t file, const char *path, const struct tensor *t, struct error *e)
{
    hsize_t dims[TENSOR_RANK_MAX];
    if (strchr(t->name, '/') || *t->name == '\0' || strcmp(t->name, ".") == 0)
        return fail(e, "%s: '%s' cannot name a tensor in HDF5 (expected a name without /)", path, t->name);
    for (int i = 0; i < t->rank; i++)
        dims[i] = t->shape[i];
    hid_t space = t->rank ? H5Screate_simple(t->rank, dims, NULL) : H5Screate(H5S_SCALAR), type = make_type(t->stored->name);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    haddr_t offset = HADDR_UNDEF;
    if (H5Pset_obj_track_times(list, 0) >= 0 && H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
        (dataset = H5Dcreate2(file, t->name, type, space, H5P_DEFAULT, list, H5P_DEFAULT)) >= 0)
        offset = H5Dget_offset(dataset);
    int result = dataset < 0 || (t->bytes && offset == HADDR_UNDEF) ? hdf_fail(e, path, t->name) : 0;
    *out = (struct place){t, t->bytes ? (size_t)offset : 0};
    H5Dclose(dataset);
    H5Pclose(list);
    H5Tclose(type);
    H5Sclose(space);
    return result;
}

static int make_config(hid_t file, const char *path, const struct config *c, struct error *e)
{
    size_t size;
    const char *borrowed = config_text(c, &size);
    char *text = strndup(borrowed, size);
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1), attribute = -1;
    int result = -1;
    if (!text)
        fail_memory(e, (double)size, path);
    else if (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
             (attribute = H5Acreate2(file, "config", type, space, H5P_DEFAULT, H5P_DEFAULT)) < 0 || H5Awrite(attribute, type, &text) < 0)
        hdf_fail(e, path, "config");
    else
        result = 0;
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
    free(text);
    return result;
}

/* Everything but the data, written by HDF5: a sparse file in which the tensors have their places. */
static int make_frame(const char *temporary, const char *path, struct place *places, size_t count, const struct config *c, struct error *e)
{
    int result = -1;
    hid_t list = H5Pcreate(H5P_FILE_CREATE), file = -1;
    if (H5Pset_obj_track_times(list, 0) < 0 || (file = H5Fcreate(temporary, H5F_ACC_EXCL, list, H5P_DEFAULT)) < 0) {
        hdf_fail(e, path, "cannot be written");
        goto end;
    }
    result = make_config(file, path, c, e);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = make_dataset(&places[i], file, path, places[i].tensor, e);
end:
    if (file >= 0 && H5Fclose(file) < 0 && result == 0)
        result = hdf_fail(e, path, "cannot be written");
    H5Pclose(list);
    return result;
}

/* Puts the data in their places. */
static int write_data(const char *temporary, const char *path, const struct place *places, size_t count, struct error *e)
{
    FILE *f = fopen(temporary, "r+be");
    int failed = !f;
    for (size_t i = 0; !failed && i < count; i++)
        failed = places[i].tensor->bytes && (fseeko(f, (off_t)places[i].offset, SEEK_SET) || store_write(f, places[i].tensor));
    failed = failed || fflush(f);
    int reason = errno;
    if (f && fclose(f) && !failed)
        failed = 1, reason = errno;
    return failed ? fail(e, "%s: cannot be written: %s", path, strerror(reason)) : 0;
}

int hdf_tensors_write(const char *path, struct tensors *t, const struct config *c, struct error *e)
{
    size_t count = tensors_count(t);
    struct place *places = calloc(count ? count : 1, sizeof *places);
    char *temporary = NULL;
    int result = -1;
    if (!places)
        return fail_memory(e, (double)count * sizeof *places, path);
    for (size_t i = 0; i < count; i++)
        places[i].tensor = tensors_at(t, i);
    hdf_quiet();
    if ((temporary = atomic_temporary_name(path, e))) {
        if (make_frame(temporary, path, places, count, c, e) || write_data(temporary, path, places, count, e))
            atomic_discard(temporary);
        else
            result = atomic_rename(temporary, path, e);
    }
    free(temporary);
    free(places);
    return result;
}
