/* Reading erf.h5 back. Everything in it may be hostile: links that lead out of the file, shapes far beyond the data, other types.
 *
 * A first process lists what there is (result_list.c) and a second reads the data (io/hdf.h says why). */
#include "io/result_list.h"

#include "io/confine.h"
#include "io/element.h"
#include "io/hdf.h"

#include <stdlib.h>
#include <string.h>

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
    int dimensions = result_datasets[which].dimensions;
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
                return fail(e, "%s: is damaged (%s/%s changed its shape)", path, m->name, result_datasets[k].name);
            if (H5Dread(dataset, types[k], H5S_ALL, H5S_ALL, H5P_DEFAULT, *array_of(m, k)) < 0)
                return hdf_fail(e, path, result_datasets[k].name);
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
        if (count_elements(&count, m, k) || size_multiply(&bytes, count, result_datasets[k].element_bytes) ||
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
        struct result_row row;
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
            at += (elements_of(&out->models[i], k) * result_datasets[k].element_bytes + 7) / 8 * 8;
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
    if (confine(&rows, &size, result_list, (void *)(uintptr_t)d->file, HDF_MEMORY, HDF_SECONDS, path, e))
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
