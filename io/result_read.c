/* Reading erf.h5 back. Everything in it may be hostile: links that lead out of the file, shapes far beyond the data, other types.
 *
 * A first process lists what there is and a second reads the data (io/hdf.h says why). */
#include "io/result.h"

#include "io/confine.h"
#include "io/csv.h"
#include "io/element.h"
#include "io/hdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1 << 20, MODELS_MAX = 100000 };

/* The datasets of a model: their dimensions, in this order, and those that need not be there. */
enum { NORM, LOGPROB, STATUS, START, S, C, C_LO, C_HI, COMPLETENESS, ATTENTION_HIGH, ATTENTION_LOW, DATASETS };
enum { BY_HEAD = 1 /* layers, heads */, BY_SEGMENT = 2, BY_POSITION = 4, PAIRS = 8, OPTIONAL = 16 };
static const struct {
    const char *name;
    int dimensions;
    size_t element_bytes; /* in memory */
} datasets[DATASETS] = {
    [NORM] = {"norm", BY_SEGMENT | BY_POSITION, sizeof(double)},
    [LOGPROB] = {"logprob", BY_SEGMENT, sizeof(double)},
    [STATUS] = {"status", BY_SEGMENT, sizeof(uint8_t)},
    [START] = {"start", BY_SEGMENT, sizeof(uint64_t)},
    [S] = {"s", BY_POSITION, sizeof(double)},
    [C] = {"c", BY_POSITION, sizeof(double)},
    [C_LO] = {"c_lo", BY_POSITION, sizeof(double)},
    [C_HI] = {"c_hi", BY_POSITION, sizeof(double)},
    [COMPLETENESS] = {"completeness", BY_SEGMENT | PAIRS | OPTIONAL, sizeof(double)},
    [ATTENTION_HIGH] = {"attention_high", BY_HEAD | BY_POSITION | OPTIONAL, sizeof(uint64_t)},
    [ATTENTION_LOW] = {"attention_low", BY_HEAD | BY_POSITION | OPTIONAL, sizeof(uint64_t)},
};

/* What the first process tells of a model. Its attributes follow, names and values, and behind them a text of no bytes as a name.
 * All texts are their size (uint64_t) and the bytes. Before the models stand version and command. */
struct row {
    char name[sizeof((struct result_model *)0)->name];
    uint64_t target, layer; /* 0, 0: the main group */
    uint64_t segments, positions, layers, heads, wide;
    uint64_t address[DATASETS]; /* in the file; 0: not there */
};

/* -- in the first child: what there is -- */

struct lister {
    const char *path;
    size_t file_bytes;
    FILE *out;
    size_t models;
    const struct row *model; /* of the groups inside a model's that are being listed */
    struct error *e;
};

static void put_text(struct lister *r, const char *text)
{
    uint64_t size = strlen(text);
    fwrite(&size, sizeof size, 1, r->out);
    fwrite(text, 1, size, r->out);
}

/* The attribute as text: strings as they are, whole numbers and reals in decimal. *value = NULL for a kind we do not read. Caller
 * frees. */
static int read_attribute(struct lister *r, hid_t attribute, const char *name, char **value)
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

/* Writes a text attribute that must be there; NULL in `expected`: any text. */
static int list_text(struct lister *r, hid_t object, const char *name, const char *expected)
{
    char *value = NULL;
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    if (attribute < 0)
        return fail(r->e, "%s: has no attribute %s (expected a result of reach erf)", r->path, name);
    int result = read_attribute(r, attribute, name, &value);
    if (result == 0 && !value)
        result = fail(r->e, "%s: attribute %s is not text", r->path, name);
    else if (result == 0 && expected && strcmp(value, expected))
        result = fail(r->e, "%s: has %s '%s' (expected %s)", r->path, name, value, expected);
    else if (result == 0)
        put_text(r, value);
    free(value);
    return result;
}

static herr_t list_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    struct lister *r = context;
    char *value = NULL;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return hdf_fail(r->e, r->path, name);
    int result = read_attribute(r, attribute, name, &value);
    H5Aclose(attribute);
    if (result == 0 && value && *name) {
        put_text(r, name);
        put_text(r, value);
    }
    free(value);
    return result;
}

/* Checks one dataset of the model and fills in its address. Sizes of 0 in the row are filled in, others must agree. `stored` and
 * `other` are the types it may have; *is_other tells which. */
static int list_dataset(struct lister *r, hid_t group, struct row *row, int which, hid_t stored, hid_t other, uint64_t *is_other)
{
    const char *model = row->name, *name = datasets[which].name;
    uint64_t *sizes[3], two = 2;
    int dimensions = datasets[which].dimensions, rank = 0, result = -1;
    char label[sizeof row->name + 16];
    hsize_t dims[3] = {0};
    H5O_info_t info;
    if (dimensions & BY_HEAD)
        sizes[rank++] = &row->layers, sizes[rank++] = &row->heads;
    if (dimensions & BY_SEGMENT)
        sizes[rank++] = &row->segments;
    if (dimensions & BY_POSITION)
        sizes[rank++] = &row->positions;
    if (dimensions & PAIRS)
        sizes[rank++] = &two;
    if (dimensions & OPTIONAL && H5Lexists(group, name, H5P_DEFAULT) <= 0)
        return 0;
    hid_t dataset = hdf_is_hard_link(group, name) ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (dataset < 0)
        return fail(r->e, "%s: %s has no dataset %s (expected a result of reach erf)", r->path, model, name);
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
        if (dims[i] == 0 || (*sizes[i] && dims[i] != *sizes[i])) {
            fail(r->e, "%s: %s/%s has size %llu (expected %llu)", r->path, model, name, (unsigned long long)dims[i],
                 (unsigned long long)(*sizes[i] ? *sizes[i] : 1));
            goto end;
        }
        *sizes[i] = dims[i];
    }
    if (H5Oget_info(dataset, &info) < 0) {
        hdf_fail(r->e, r->path, name);
        goto end;
    }
    row->address[which] = info.addr;
    snprintf(label, sizeof label, "%s/%s", model, name);
    result = hdf_check_storage(dataset, label, r->path, r->file_bytes, r->e);
end:
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(dataset);
    return result;
}

static int list_datasets(struct lister *r, hid_t group, struct row *row)
{
    const hid_t real = H5T_IEEE_F64LE, word = H5T_STD_U64LE,
                types[DATASETS] = {H5T_IEEE_F32LE, real, H5T_STD_U8LE, word, real, real, real, real, real, word, word};
    uint64_t unused;
    for (int i = 0; i < DATASETS; i++)
        if (list_dataset(r, group, row, i, types[i], i == NORM ? real : types[i], i == NORM ? &row->wide : &unused))
            return -1;
    return 0;
}

static int list_attributes(struct lister *r, hid_t group)
{
    hsize_t at = 0;
    unsigned tracked = 0;
    hid_t list = H5Gget_create_plist(group);
    H5Pget_attr_creation_order(list, &tracked);
    H5Pclose(list);
    H5_index_t order = tracked & H5P_CRT_ORDER_INDEXED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    if (H5Aiterate2(group, order, H5_ITER_INC, &at, list_attribute, r) < 0)
        return -1;
    put_text(r, "");
    return 0;
}

/* Calls `each` for the links of a group, in the order they were made in where that is kept. */
static herr_t iterate(hid_t group, H5L_iterate_t each, struct lister *r)
{
    unsigned tracked = 0;
    hsize_t at = 0;
    hid_t list = H5Gget_create_plist(group);
    H5Pget_link_creation_order(list, &tracked);
    H5Pclose(list);
    return H5Literate(group, tracked & H5P_CRT_ORDER_INDEXED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, &at, each, r);
}

/* The number behind `stem` in a name that is nothing else, as it would be written; 0, or -1. */
static int number_behind(const char *name, const char *stem, uint64_t *out)
{
    char again[64];
    size_t length = strlen(stem);
    if (strncmp(name, stem, length) || strlen(name) > 40)
        return -1;
    *out = strtoull(name + length, NULL, 10);
    snprintf(again, sizeof again, "%s%llu", stem, (unsigned long long)*out);
    return strcmp(again, name) ? -1 : 0;
}

/* Lists what is in the group of a model, target and layer, whose row says which. */
static int list_group(struct lister *r, hid_t group, struct row *row)
{
    if (r->models++ >= MODELS_MAX)
        return fail(r->e, "%s: has more than %d models, targets and layers", r->path, MODELS_MAX);
    if (list_datasets(r, group, row))
        return -1;
    fwrite(row, sizeof *row, 1, r->out);
    return list_attributes(r, group);
}

static herr_t list_layer(hid_t target, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *r = context;
    struct row row = {.target = r->model->target};
    if (info->type != H5L_TYPE_HARD || number_behind(name, "layer-", &row.layer))
        return 0;
    hid_t group = H5Gopen2(target, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s/target-%llu/%s is not a group", r->path, r->model->name, (unsigned long long)row.target,
                    name);
    memcpy(row.name, r->model->name, sizeof row.name);
    int result = list_group(r, group, &row);
    H5Gclose(group);
    return result;
}

static herr_t list_target(hid_t model, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *r = context;
    const struct row *above = r->model;
    struct row row = *above;
    if (info->type != H5L_TYPE_HARD || number_behind(name, "target-", &row.target) || row.target == 0)
        return 0;
    hid_t group = H5Gopen2(model, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s/%s is not a group", r->path, row.name, name);
    r->model = &row;
    herr_t result = iterate(group, list_layer, r);
    r->model = above;
    H5Gclose(group);
    return result;
}

static herr_t list_model(hid_t models, const char *name, const H5L_info_t *info, void *context)
{
    struct lister *r = context;
    struct row row = {0};
    if (info->type != H5L_TYPE_HARD)
        return fail(r->e, "%s: models/%s is a link to elsewhere (expected a group in the file)", r->path, name);
    if (strlen(name) >= sizeof row.name)
        return fail(r->e, "%s: the name of model %.40s... is too long", r->path, name);
    hid_t group = H5Gopen2(models, name, H5P_DEFAULT);
    if (group < 0)
        return fail(r->e, "%s: models/%s is not a group", r->path, name);
    strcpy(row.name, name);
    r->model = &row;
    herr_t result = list_group(r, group, &row) || iterate(group, list_target, r) < 0 ? -1 : 0;
    H5Gclose(group);
    return result;
}

static int list_models(struct lister *r, hid_t file)
{
    hid_t models = hdf_is_hard_link(file, "models") ? H5Gopen2(file, "models", H5P_DEFAULT) : -1;
    if (models < 0)
        return fail(r->e, "%s: has no group models (expected a result of reach erf)", r->path);
    if (iterate(models, list_model, r) < 0)
        return -1;
    return r->models ? 0 : fail(r->e, "%s: holds no models", r->path);
}

static int list_file(FILE *out, void *context, struct error *e)
{
    const struct hdf_file *f = context;
    struct lister r = {.path = f->path, .file_bytes = f->size, .out = out, .e = e};
    hid_t file = hdf_open_descriptor(f->descriptor, f->path, e);
    if (file < 0)
        return -1;
    if (list_text(&r, file, "format", "reach-erf/1") == 0 && list_text(&r, file, "version", NULL) == 0 &&
        list_text(&r, file, "command", NULL) == 0 && list_models(&r, file) == 0)
        return 0;
    return e->text[0] ? -1 : hdf_fail(e, f->path, "is damaged"); /* the iterators themselves failed */
}

/* -- in the second child: the data -- */

struct data {
    const struct hdf_file *file;
    struct result *out;
    uint64_t (*address)[DATASETS]; /* [models] */
};

static void **array_of(struct result_model *m, int which)
{
    void **const arrays[DATASETS] = {(void **)&m->norm,
                                     (void **)&m->logprob,
                                     (void **)&m->status,
                                     (void **)&m->start,
                                     (void **)&m->s,
                                     (void **)&m->c,
                                     (void **)&m->c_lo,
                                     (void **)&m->c_hi,
                                     (void **)&m->completeness,
                                     (void **)&m->attention_high,
                                     (void **)&m->attention_low};
    return arrays[which];
}

/* Elements of an array of the model; -1 beyond 64 bits. */
static int count_elements(size_t *out, const struct result_model *m, int which)
{
    int dimensions = datasets[which].dimensions;
    *out = dimensions & PAIRS ? 2 : 1;
    return (dimensions & BY_HEAD && (size_multiply(out, *out, m->layers) || size_multiply(out, *out, m->heads))) ||
                   (dimensions & BY_SEGMENT && size_multiply(out, *out, m->segments)) ||
                   (dimensions & BY_POSITION && size_multiply(out, *out, m->positions))
               ? -1
               : 0;
}

/* The same of a model that has its memory: nothing overflows. */
static size_t elements_of(const struct result_model *m, int which)
{
    size_t count = 0;
    return count_elements(&count, m, which) ? 0 : count;
}

static int read_data(FILE *out, void *context, struct error *e)
{
    (void)out;
    const struct data *d = context;
    const char *path = d->file->path;
    hid_t file = hdf_open_descriptor(d->file->descriptor, path, e);
    if (file < 0)
        return -1;
    const hid_t real = H5T_NATIVE_DOUBLE, word = H5T_NATIVE_UINT64,
                types[DATASETS] = {real, real, H5T_NATIVE_UINT8, word, real, real, real, real, real, word, word};
    for (size_t i = 0; i < d->out->model_count; i++)
        for (int k = 0; k < DATASETS; k++) {
            struct result_model *m = &d->out->models[i];
            if (!d->address[i][k])
                continue;
            hid_t dataset = H5Oopen_by_addr(file, d->address[i][k]), space = H5Dget_space(dataset);
            hssize_t count = H5Sget_simple_extent_npoints(space);
            if (count < 0 || (size_t)count != elements_of(m, k))
                return fail(e, "%s: is damaged (%s/%s changed its shape)", path, m->name, datasets[k].name);
            if (H5Dread(dataset, types[k], H5S_ALL, H5S_ALL, H5P_DEFAULT, *array_of(m, k)) < 0)
                return hdf_fail(e, path, datasets[k].name);
            H5Sclose(space);
            H5Oclose(dataset);
        }
    return 0;
}

/* -- in the program -- */

/* What the first child wrote, taken piece by piece. */
struct cursor {
    const char *at;
    size_t left;
    const char *path;
    struct error *e;
};

static int take(struct cursor *c, void *out, size_t size)
{
    if (size > c->left)
        return fail(c->e, "%s: is damaged", c->path);
    memcpy(out, c->at, size);
    c->at += size;
    c->left -= size;
    return 0;
}

/* Caller frees *text. */
static int take_text(struct cursor *c, char **text)
{
    uint64_t size = 0;
    *text = NULL;
    if (take(c, &size, sizeof size))
        return -1;
    if (size > c->left)
        return fail(c->e, "%s: is damaged", c->path);
    if (!(*text = strndup(c->at, size)))
        return fail_memory(c->e, (double)size, c->path);
    c->at += size;
    c->left -= size;
    return 0;
}

static int take_attributes(struct cursor *c, struct result_model *m)
{
    for (;;) {
        char *name, *value;
        if (take_text(c, &name))
            return -1;
        if (*name == '\0') {
            free(name);
            return 0;
        }
        struct result_attribute *grown = take_text(c, &value) ? NULL
                                                              : realloc(m->attributes, (m->attribute_count + 1) * sizeof *grown);
        if (!grown) {
            int result = value ? fail_memory(c->e, (double)(m->attribute_count + 1) * sizeof *grown, "attributes") : -1;
            free(name);
            free(value);
            return result;
        }
        m->attributes = grown;
        m->attributes[m->attribute_count++] = (struct result_attribute){name, value};
    }
}

/* Adds the bytes of the model's arrays that are there, each on a multiple of 8, to *total, and the largest to *largest. */
static int add_bytes(size_t *total, size_t *largest, const struct result_model *m, const uint64_t *address)
{
    size_t count, bytes;
    if (m->segments == 0 || m->positions == 0)
        return -1;
    for (int k = 0; k < DATASETS; k++) {
        if (!address[k])
            continue;
        if (count_elements(&count, m, k) || size_multiply(&bytes, count, datasets[k].element_bytes) ||
            size_add(&bytes, bytes, 7) || size_add(total, *total, bytes / 8 * 8))
            return -1;
        *largest = bytes > *largest ? bytes : *largest;
    }
    return 0;
}

/* All models without their data; *addresses of these, which the caller frees. */
static int take_models(struct cursor *c, struct result *out, uint64_t (**addresses)[DATASETS])
{
    while (c->left) {
        struct row row;
        if (take(c, &row, sizeof row))
            return -1;
        struct result_model *models = realloc(out->models, (out->model_count + 1) * sizeof *models);
        if (models)
            out->models = models;
        uint64_t(*grown)[DATASETS] = realloc(*addresses, (out->model_count + 1) * sizeof *grown);
        if (grown)
            *addresses = grown;
        if (!models || !grown)
            return fail_memory(c->e, (double)(out->model_count + 1) * (sizeof *models + sizeof *grown), "models");
        struct result_model *m = &models[out->model_count];
        memcpy(grown[out->model_count++], row.address, sizeof row.address);
        *m = (struct result_model){.target = row.target,
                                   .layer = row.layer,
                                   .segments = row.segments,
                                   .positions = row.positions,
                                   .layers = row.layers,
                                   .heads = row.heads,
                                   .wide = row.wide != 0};
        memcpy(m->name, row.name, sizeof m->name);
        m->name[sizeof m->name - 1] = '\0';
        if (take_attributes(c, m))
            return -1;
    }
    return 0;
}

/* Memory for the arrays of all models; *largest is the size of the largest. */
static int give_memory(struct result *out, uint64_t (*address)[DATASETS], size_t *largest, const char *path, struct error *e)
{
    size_t total = 0;
    *largest = 0;
    for (size_t i = 0; i < out->model_count; i++)
        if (add_bytes(&total, largest, &out->models[i], address[i]))
            return fail(e, "%s: its shapes overflow 64 bits", path);
    if (!(out->memory = confine_memory(total, path, e)))
        return -1;
    out->memory_bytes = total;
    unsigned char *at = out->memory;
    for (size_t i = 0; i < out->model_count; i++)
        for (int k = 0; k < DATASETS; k++) {
            if (!address[i][k])
                continue;
            *array_of(&out->models[i], k) = at;
            at += (elements_of(&out->models[i], k) * datasets[k].element_bytes + 7) / 8 * 8;
        }
    return 0;
}

static int check_status(const struct result_model *m, const char *path, struct error *e)
{
    for (size_t i = 0; i < m->segments; i++)
        if (m->status[i] != SEGMENT_DONE && m->status[i] != SEGMENT_EXCLUDED)
            return fail(e, "%s: %s/status of segment %zu is %d (expected 1: done, or 2: excluded)", path, m->name, i,
                        m->status[i]);
    return 0;
}

/* No run writes other curves: of these the figures would show nothing, without a word. */
static int check_curves(const struct result_model *m, const char *path, struct error *e)
{
    static const char *const names[] = {"s", "c", "c_lo", "c_hi"};
    const double *const curves[] = {m->s, m->c, m->c_lo, m->c_hi};
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < m->positions; i++)
            if (!(curves[k][i] >= 0 && curves[k][i] <= 1 + 1e-9)) /* up to rounding */
                return fail(e, "%s: %s/%s at position %zu is %g (expected a share from 0 to 1)", path, m->name, names[k], i + 1,
                            curves[k][i]);
    return 0;
}

/* All that the first child tells. */
static int read_heads(struct data *d, struct error *e)
{
    const char *path = d->file->path;
    char *rows = NULL, *format = NULL;
    size_t size;
    if (confine(&rows, &size, list_file, (void *)(uintptr_t)d->file, HDF_MEMORY, HDF_SECONDS, path, e))
        return -1;
    struct cursor c = {rows, size, path, e};
    int result = take_text(&c, &format) || take_text(&c, &d->out->version) || take_text(&c, &d->out->command) ||
                         take_models(&c, d->out, &d->address)
                     ? -1
                     : 0;
    free(format);
    free(rows);
    return result;
}

static int read_arrays(struct data *d, struct error *e)
{
    struct result *out = d->out;
    const char *path = d->file->path;
    char *none = NULL;
    size_t size, largest, memory;
    if (give_memory(out, d->address, &largest, path, e))
        return -1;
    /* chunks may be as large as their dataset, and are unpacked through two filters */
    if (size_multiply(&memory, 4, largest) || size_add(&memory, memory, HDF_MEMORY))
        return fail_memory(e, 4 * (double)largest, path);
    int result = confine(&none, &size, read_data, d, memory, HDF_SECONDS + out->memory_bytes / HDF_BYTES_A_SECOND, path, e);
    free(none);
    for (size_t i = 0; result == 0 && i < out->model_count; i++)
        result = check_status(&out->models[i], path, e) || check_curves(&out->models[i], path, e) ? -1 : 0;
    return result;
}

static int read_result(const char *path, struct result *out, int with_arrays, struct error *e)
{
    struct hdf_file file;
    struct data data = {.file = &file, .out = out};
    *out = (struct result){0};
    if (hdf_file_open(&file, path, e))
        return -1;
    int result = read_heads(&data, e) || (with_arrays && read_arrays(&data, e)) ? -1 : 0;
    free(data.address);
    if (hdf_file_unchanged(&file, e)) /* also the cause of what else went wrong */
        result = -1;
    hdf_file_close(&file);
    if (result)
        result_free(out);
    return result;
}

int result_read(const char *path, struct result *out, struct error *e)
{
    return read_result(path, out, 1, e);
}

int result_read_heads(const char *path, struct result *out, struct error *e)
{
    return read_result(path, out, 0, e);
}
