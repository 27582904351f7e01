/* Reading erf.h5 back. Everything in it may be hostile: links that lead out of the file, shapes far beyond the data, other types. */
#include "io/result.h"

#include "io/csv.h"
#include "io/element.h"
#include "io/file.h"
#include "io/hdf.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_BYTES_MAX = 1 << 20,
    DEFLATE_RATIO_MAX = 1032, /* zlib's bound on how far data shrink */
    MODELS_MAX = 100000
};

struct reader {
    const char *path;
    size_t file_bytes;
    struct result *out;
    struct error *e;
};

/* -- attributes -- */

/* The attribute as text: strings as they are, whole numbers and reals in decimal. *value = NULL for a kind we do not read. Caller frees. */
static int read_attribute(struct reader *r, hid_t attribute, const char *name, char **value)
{
    int result = -1;
    char *variable = NULL, number[32];
    long long whole;
    unsigned long long natural;
    double real;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    *value = NULL;
    if (type < 0 || space < 0) {
        hdf_fail(r->e, r->path, name);
        goto end;
    }
    H5T_class_t kind = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    herr_t status = 0;
    if (H5Sget_simple_extent_type(space) != H5S_SCALAR || (kind != H5T_STRING && kind != H5T_INTEGER && kind != H5T_FLOAT)) {
        result = 0;
        goto end;
    }
    if (kind == H5T_STRING && H5Tis_variable_str(type) > 0) {
        if ((status = H5Aread(attribute, type, &variable)) >= 0)
            *value = strdup(variable ? variable : "");
    } else if (kind == H5T_STRING && size <= TEXT_BYTES_MAX) {
        if ((*value = calloc(1, size + 1)))
            status = H5Aread(attribute, type, *value);
    } else if (kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE) {
        status = H5Aread(attribute, H5T_NATIVE_ULLONG, &natural);
        snprintf(number, sizeof number, "%llu", status < 0 ? 0 : natural);
        *value = strdup(number);
    } else if (kind == H5T_INTEGER) {
        status = H5Aread(attribute, H5T_NATIVE_LLONG, &whole);
        snprintf(number, sizeof number, "%lld", status < 0 ? 0 : whole);
        *value = strdup(number);
    } else if (kind == H5T_FLOAT) {
        status = H5Aread(attribute, H5T_NATIVE_DOUBLE, &real);
        *value = strdup(csv_format_real(number, status < 0 ? 0 : real));
    } else {
        fail(r->e, "%s: attribute %s has %zu bytes (expected at most %d)", r->path, name, size, TEXT_BYTES_MAX);
        goto end;
    }
    if (status < 0)
        hdf_fail(r->e, r->path, name);
    else if (!*value)
        fail_memory(r->e, (double)size, name);
    else
        result = 0;
end:
    if (result) {
        free(*value);
        *value = NULL;
    }
    if (variable)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, &variable);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

/* A text attribute that must be there. */
static char *read_text(struct reader *r, hid_t object, const char *name)
{
    char *value = NULL;
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    if (attribute < 0) {
        fail(r->e, "%s: has no attribute %s (expected a result of reach erf)", r->path, name);
        return NULL;
    }
    if (read_attribute(r, attribute, name, &value) == 0 && !value)
        fail(r->e, "%s: attribute %s is not text", r->path, name);
    H5Aclose(attribute);
    return value;
}

struct attribute_target {
    struct reader *r;
    struct result_model *model;
};

static herr_t add_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    struct attribute_target *to = context;
    struct result_model *m = to->model;
    char *value = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return hdf_fail(to->r->e, to->r->path, name);
    int result = read_attribute(to->r, attribute, name, &value);
    H5Aclose(attribute);
    if (result || !value)
        return result;
    struct result_attribute *grown = realloc(m->attributes, (m->attribute_count + 1) * sizeof *grown);
    char *copy = strdup(name);
    if (grown)
        m->attributes = grown;
    if (!grown || !copy) {
        free(value);
        free(copy);
        return fail_memory(to->r->e, (double)(m->attribute_count + 1) * sizeof *grown, "attributes");
    }
    m->attributes[m->attribute_count++] = (struct result_attribute){copy, value};
    return 0;
}

/* -- datasets -- */

/* 1 if `name` is a hard link in the group: nothing that leads to another file, or nowhere. */
static int is_hard_link(hid_t group, const char *name)
{
    H5L_info_t info;
    return H5Lexists(group, name, H5P_DEFAULT) > 0 && H5Lget_info(group, name, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

/* Storage that stays in this file, by filters that are part of HDF5, and enough of it for `bytes`. */
static int check_storage(struct reader *r, hid_t dataset, const char *model, const char *name, size_t bytes)
{
    hid_t list = H5Dget_create_plist(dataset);
    int ok = list >= 0 && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) == 0;
    for (int i = 0, n = ok ? H5Pget_nfilters(list) : 0; i < n; i++) {
        unsigned flags, configuration;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &configuration);
        ok = ok && (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32);
    }
    H5Pclose(list);
    if (!ok)
        return fail(r->e, "%s: %s/%s is not stored in the file itself by deflate and shuffle", r->path, model, name);
    hsize_t stored = H5Dget_storage_size(dataset);
    if (stored == 0 || stored > r->file_bytes || bytes / DEFLATE_RATIO_MAX > stored)
        return fail(r->e, "%s: %s/%s claims %zu bytes, more than the file can hold", r->path, model, name, bytes);
    return 0;
}

/* A chunk beyond the dataset's own size would be a way to ask for memory. */
static int check_chunk(struct reader *r, hid_t dataset, const char *model, const char *name, int rank, const hsize_t *shape)
{
    hsize_t chunk[2];
    hid_t list = H5Dget_create_plist(dataset);
    int ok = list >= 0 && (H5Pget_layout(list) != H5D_CHUNKED || H5Pget_chunk(list, rank, chunk) == rank);
    for (int i = 0; ok && H5Pget_layout(list) == H5D_CHUNKED && i < rank; i++)
        ok = chunk[i] <= shape[i];
    H5Pclose(list);
    return ok ? 0 : fail(r->e, "%s: %s/%s has chunks larger than itself", r->path, model, name);
}

/* Reads a dataset of the given rank into fresh memory. A size of 0 in `shape` is filled in, others must agree. `stored` and `other` are the types
 * it may have. */
static void *read_dataset(struct reader *r, hid_t group, const char *model, const char *name, int rank, size_t *shape, hid_t stored, hid_t other,
                          hid_t native, int *is_other)
{
    void *data = NULL;
    size_t count = 1, bytes;
    hsize_t dims[2] = {0};
    hid_t dataset = is_hard_link(group, name) ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (dataset < 0) {
        fail(r->e, "%s: %s has no dataset %s (expected a result of reach erf)", r->path, model, name);
        return NULL;
    }
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    *is_other = H5Tequal(type, other) > 0;
    if (!*is_other && H5Tequal(type, stored) <= 0) {
        fail(r->e, "%s: %s/%s has the wrong element type", r->path, model, name);
        goto end;
    }
    if (H5Sget_simple_extent_ndims(space) != rank || H5Sget_simple_extent_dims(space, dims, NULL) != rank) {
        fail(r->e, "%s: %s/%s has the wrong number of dimensions (expected %d)", r->path, model, name, rank);
        goto end;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0 || (shape[i] && dims[i] != shape[i])) {
            fail(r->e, "%s: %s/%s has size %llu (expected %zu)", r->path, model, name, (unsigned long long)dims[i], shape[i] ? shape[i] : 1);
            goto end;
        }
        shape[i] = (size_t)dims[i];
        if (size_multiply(&count, count, shape[i])) {
            fail(r->e, "%s: %s/%s has a shape that overflows 64 bits", r->path, model, name);
            goto end;
        }
    }
    if (size_multiply(&bytes, count, H5Tget_size(native)) || size_multiply(&count, count, H5Tget_size(type))) {
        fail(r->e, "%s: %s/%s has a shape that overflows 64 bits", r->path, model, name);
        goto end;
    }
    if (check_storage(r, dataset, model, name, count) || check_chunk(r, dataset, model, name, rank, dims))
        goto end;
    if (!(data = malloc(bytes))) {
        fail_memory(r->e, (double)bytes, name);
        goto end;
    }
    if (H5Dread(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
        hdf_fail(r->e, r->path, name);
        free(data);
        data = NULL;
    }
end:
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
    return data;
}

static double *read_reals(struct reader *r, hid_t group, const char *model, const char *name, size_t *size)
{
    int other;
    return read_dataset(r, group, model, name, 1, size, H5T_IEEE_F64LE, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &other);
}

/* -- models -- */

static int read_model(struct reader *r, hid_t group, struct result_model *m)
{
    size_t shape[2] = {0};
    const char *name = m->name;
    int other;
    m->norm = read_dataset(r, group, name, "norm", 2, shape, H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &m->wide);
    if (!m->norm)
        return -1;
    m->segments = shape[0];
    m->positions = shape[1];
    if (!(m->logprob = read_reals(r, group, name, "logprob", &m->segments)) ||
        !(m->status = read_dataset(r, group, name, "status", 1, &m->segments, H5T_STD_U8LE, H5T_STD_U8LE, H5T_NATIVE_UINT8, &other)) ||
        !(m->start = read_dataset(r, group, name, "start", 1, &m->segments, H5T_STD_U64LE, H5T_STD_U64LE, H5T_NATIVE_UINT64, &other)) ||
        !(m->s = read_reals(r, group, name, "s", &m->positions)) || !(m->c = read_reals(r, group, name, "c", &m->positions)) ||
        !(m->c_lo = read_reals(r, group, name, "c_lo", &m->positions)) || !(m->c_hi = read_reals(r, group, name, "c_hi", &m->positions)))
        return -1;
    for (size_t i = 0; i < m->segments; i++)
        if (m->status[i] != SEGMENT_DONE && m->status[i] != SEGMENT_EXCLUDED)
            return fail(r->e, "%s: %s/status of segment %zu is %d (expected 1: done, or 2: excluded)", r->path, name, i, m->status[i]);
    struct attribute_target to = {r, m};
    hsize_t at = 0;
    unsigned tracked = 0;
    hid_t list = H5Gget_create_plist(group);
    H5Pget_attr_creation_order(list, &tracked);
    H5Pclose(list);
    H5_index_t order = tracked & H5P_CRT_ORDER_INDEXED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    return H5Aiterate2(group, order, H5_ITER_INC, &at, add_attribute, &to) < 0 ? -1 : 0;
}

static herr_t add_model(hid_t models, const char *name, const H5L_info_t *info, void *context)
{
    struct reader *r = context;
    struct result *out = r->out;
    if (info->type != H5L_TYPE_HARD)
        return fail(r->e, "%s: models/%s is a link to elsewhere (expected a group in the file)", r->path, name);
    if (strlen(name) >= sizeof out->models->name || out->model_count >= MODELS_MAX)
        return fail(r->e, "%s: the name of model %.40s... is too long, or there are too many", r->path, name);
    hid_t group = H5Gopen2(models, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s is not a group", r->path, name);
    int result = -1;
    struct result_model *grown = realloc(out->models, (out->model_count + 1) * sizeof *grown);
    if (!grown) {
        fail_memory(r->e, (double)(out->model_count + 1) * sizeof *grown, "models");
    } else {
        out->models = grown;
        struct result_model *m = &out->models[out->model_count++];
        *m = (struct result_model){0};
        strcpy(m->name, name);
        result = read_model(r, group, m);
    }
    H5Gclose(group);
    return result;
}

static int read_models(struct reader *r, hid_t file)
{
    hid_t models = is_hard_link(file, "models") ? H5Gopen2(file, "models", H5P_DEFAULT) : -1;
    if (models < 0)
        return fail(r->e, "%s: has no group models (expected a result of reach erf)", r->path);
    unsigned tracked = 0;
    hsize_t at = 0;
    hid_t list = H5Gget_create_plist(models);
    H5Pget_link_creation_order(list, &tracked);
    H5Pclose(list);
    H5_index_t order = tracked & H5P_CRT_ORDER_INDEXED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    herr_t status = H5Literate(models, order, H5_ITER_INC, &at, add_model, r);
    H5Gclose(models);
    if (status < 0)
        return -1;
    return r->out->model_count ? 0 : fail(r->e, "%s: holds no models", r->path);
}

int result_read(const char *path, struct result *out, struct error *e)
{
    *out = (struct result){0};
    struct reader r = {.path = path, .out = out, .e = e};
    int descriptor = file_open_regular(path, &r.file_bytes, e), result = -1;
    if (descriptor < 0)
        return -1;
    close(descriptor);
    if (hdf_check_file(path, e))
        return -1;
    hdf_quiet();
    if (e)
        e->text[0] = '\0';
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return hdf_fail(e, path, "is not a readable HDF5 file");
    char *format = read_text(&r, file, "format");
    if (!format)
        goto end;
    if (strcmp(format, "reach-erf/1")) {
        fail(e, "%s: has format '%s' (expected reach-erf/1)", path, format);
        goto end;
    }
    if (!(out->version = read_text(&r, file, "version")) || !(out->command = read_text(&r, file, "command")) || read_models(&r, file))
        goto end;
    result = 0;
end:
    if (result && e && e->text[0] == '\0')
        hdf_fail(e, path, "is damaged"); /* the iterators themselves failed */
    free(format);
    H5Fclose(file);
    if (result)
        result_free(out);
    return result;
}
