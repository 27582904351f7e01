/* Writing erf.h5. */
#include "io/results/result.h"

#include "io/formats/hdf.h"
#include "io/system/atomic.h"
#include "io/system/confine.h"
#include "io/system/file.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_ELEMENTS_MAX = 1 << 20, DEFLATE_LEVEL = 4, IMAGE_STEP = 4 << 20 };

/* Property lists and the file, all closed together. */
struct writer {
    const char *path;
    hid_t file, group_list, file_list, access_list;
    struct error *e;
};

static int is_ok(struct writer *w, herr_t status)
{
    return status >= 0 ? 1 : (hdf_fail(w->e, w->path, "cannot be written"), 0);
}

/* The value as a whole number if that gives the same text when read back. */
static int whole_number(const char *text, int64_t *out)
{
    char *end, again[32];
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return 0;
    snprintf(again, sizeof again, "%lld", value);
    *out = value;
    return strcmp(again, text) == 0;
}

/* Text as variable-length UTF-8, which h5py shows as str; whole numbers as int64. */
static int write_attribute(struct writer *w, hid_t object, const char *name, const char *value)
{
    int64_t number = 0;
    int whole = whole_number(value, &number), ok = 0;
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(whole ? H5T_STD_I64LE : H5T_C_S1),
          attribute = -1;
    if (!is_ok(w, space) || !is_ok(w, type))
        goto end;
    if (!whole &&
        (!is_ok(w, H5Tset_size(type, H5T_VARIABLE)) || !is_ok(w, H5Tset_cset(type, H5T_CSET_UTF8))))
        goto end;
    if (!is_ok(w, attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT)))
        goto end;
    ok = is_ok(w, whole ? H5Awrite(attribute, H5T_NATIVE_INT64, &number)
                        : H5Awrite(attribute, type, &value));
end:
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
    return ok ? 0 : -1;
}

/* [blocks, rows, columns]; blocks, or blocks and rows, may be 0: then there are fewer dimensions.
 */
struct dataset {
    const char *name;
    hid_t stored, native;
    const void *data;
    size_t blocks, rows, columns;
};

/* A chunk is (a part of) one row. */
static int write_dataset(struct writer *w, hid_t group, struct dataset d)
{
    hsize_t shape[3] = {d.blocks, d.rows, d.columns},
            chunk[3] = {1, 1, d.columns < CHUNK_ELEMENTS_MAX ? d.columns : CHUNK_ELEMENTS_MAX};
    int rank = d.blocks ? 3 : d.rows ? 2 : 1, ok = 0, first = 3 - rank;
    hid_t dataset = -1, space = H5Screate_simple(rank, shape + first, NULL),
          list = H5Pcreate(H5P_DATASET_CREATE);
    if (!is_ok(w, space) || !is_ok(w, list) || !is_ok(w, H5Pset_chunk(list, rank, chunk + first)) ||
        !is_ok(w, H5Pset_shuffle(list)) || !is_ok(w, H5Pset_deflate(list, DEFLATE_LEVEL)) ||
        !is_ok(w, H5Pset_fletcher32(list)) || !is_ok(w, H5Pset_obj_track_times(list, 0)))
        goto end;
    if (!is_ok(w, dataset = H5Dcreate2(group, d.name, d.stored, space, H5P_DEFAULT, list,
                                       H5P_DEFAULT)))
        goto end;
    ok = is_ok(w, H5Dwrite(dataset, d.native, H5S_ALL, H5S_ALL, H5P_DEFAULT, d.data));
end:
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    return ok ? 0 : -1;
}

/* The group of a field; the target's group is made with its first layer. */
static hid_t create_group(struct writer *w, hid_t models, const struct result_model *m,
                          const struct result_field *f)
{
    char name[sizeof m->name + 64];
    hid_t target, group;
    if (f != m->fields) {
        snprintf(name, sizeof name, "%s/target-%zu", m->name, f->target);
        target = H5Lexists(models, name, H5P_DEFAULT) > 0
                     ? H5Gopen2(models, name, H5P_DEFAULT)
                     : H5Gcreate2(models, name, H5P_DEFAULT, w->group_list, H5P_DEFAULT);
        if (!is_ok(w, target))
            return -1;
        snprintf(name, sizeof name, "layer-%zu", f->layer);
        group = H5Gcreate2(target, name, H5P_DEFAULT, w->group_list, H5P_DEFAULT);
        H5Gclose(target);
    } else {
        group = H5Gcreate2(models, m->name, H5P_DEFAULT, w->group_list, H5P_DEFAULT);
    }
    return is_ok(w, group) ? group : -1;
}

static int write_attention(struct writer *w, hid_t group, const struct result *r,
                           const struct result_attention *a)
{
    if (a->mass && write_dataset(w, group,
                                 (struct dataset){"attention", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                                  a->mass, a->layers, a->heads, a->positions}))
        return -1;
    if (a->log_decay &&
        write_dataset(w, group,
                      (struct dataset){"log_decay", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, a->log_decay,
                                       0, a->layers, a->recurrence_heads}))
        return -1;
    if (!r->shards || !a->high)
        return 0;
    if (a->recurrence_heads &&
        (write_dataset(w, group,
                       (struct dataset){"log_decay_high", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                                        a->decay_high, 0, a->layers, a->recurrence_heads}) ||
         write_dataset(w, group,
                       (struct dataset){"log_decay_low", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                                        a->decay_low, 0, a->layers, a->recurrence_heads})))
        return -1;
    return write_dataset(w, group,
                         (struct dataset){"attention_high", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                                          a->high, a->layers, a->heads, a->positions}) ||
                   write_dataset(w, group,
                                 (struct dataset){"attention_low", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                                                  a->low, a->layers, a->heads, a->positions})
               ? -1
               : 0;
}

/* The content of the segments: ids, and the texts of those that occur. */
static int write_tokens(struct writer *w, hid_t group, const struct result_model *m)
{
    const struct token_texts *p = &m->pieces;
    if (!m->tokens)
        return 0;
    if (write_dataset(w, group,
                      (struct dataset){"tokens", H5T_STD_I32LE, H5T_NATIVE_INT32, m->tokens, 0,
                                       m->segments, m->fields[0].target}))
        return -1;
    if (!p->size) /* an empty dataset cannot be chunked */
        return 0;
    return write_dataset(w, group,
                         (struct dataset){"piece_id", H5T_STD_I32LE, H5T_NATIVE_INT32, p->id, 0, 0,
                                          p->count}) ||
                   write_dataset(w, group,
                                 (struct dataset){"piece_end", H5T_STD_U64LE, H5T_NATIVE_UINT64,
                                                  p->end, 0, 0, p->count}) ||
                   write_dataset(w, group,
                                 (struct dataset){"piece_bytes", H5T_STD_U8LE, H5T_NATIVE_UINT8,
                                                  p->bytes, 0, 0, p->size})
               ? -1
               : 0;
}

static int write_field(struct writer *w, hid_t models, const struct result *r,
                       const struct result_model *m, const struct result_field *f)
{
    const size_t rows = m->segments, columns = f->positions;
    const struct dataset datasets[] = {
        {"norm", m->wide ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, f->norm, 0, rows,
         columns},
        {"logprob", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, f->logprob, 0, 0, rows},
        {"status", H5T_STD_U8LE, H5T_NATIVE_UINT8, f->status, 0, 0, rows},
        {"start", H5T_STD_U64LE, H5T_NATIVE_UINT64, m->start, 0, 0, rows},
        {"s", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, f->summary.s, 0, 0, columns},
        {"c", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, f->summary.c, 0, 0, columns},
        {"c_lo", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, f->summary.c_lo, 0, 0, columns},
        {"c_hi", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, f->summary.c_hi, 0, 0, columns},
    };
    hid_t group = create_group(w, models, m, f);
    if (group < 0)
        return -1;
    int result = 0;
    for (size_t i = 0; result == 0 && i < f->attribute_count; i++)
        result = write_attribute(w, group, f->attributes[i].name, f->attributes[i].value);
    for (size_t i = 0; result == 0 && i < sizeof datasets / sizeof *datasets; i++)
        result = write_dataset(w, group, datasets[i]);
    if (result == 0 && f->completeness)
        result = write_dataset(w, group,
                               (struct dataset){"completeness", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                                f->completeness, 0, rows, 2});
    if (result == 0 && f == m->fields)
        result = write_attention(w, group, r, &m->attention) || write_tokens(w, group, m) ? -1 : 0;
    H5Gclose(group);
    return result;
}

/* Without times, and with groups and attributes in order of creation. */
static int set_object_list(struct writer *w, hid_t list)
{
    const unsigned tracked = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    return is_ok(w, list) && is_ok(w, H5Pset_obj_track_times(list, 0)) &&
           is_ok(w, H5Pset_link_creation_order(list, tracked)) &&
           is_ok(w, H5Pset_attr_creation_order(list, tracked));
}

/* The file as bytes; caller frees. It is made in memory because HDF5 does not survive a failed
 * write (its exit handler crashes on a full disk), and so that it is written to disk with the same
 * checks as every other file. */
static unsigned char *make_image(struct writer *w, const struct result *r, size_t *bytes)
{
    hid_t models = -1;
    unsigned char *image = NULL;
    ssize_t size;
    w->group_list = H5Pcreate(H5P_GROUP_CREATE);
    w->file_list = H5Pcreate(H5P_FILE_CREATE);
    w->access_list = H5Pcreate(H5P_FILE_ACCESS);
    w->file = -1;
    /* the earliest format on purpose: HDF5 1.10 corrupts the checksum of a later superblock when it
     * returns the image */
    if (!set_object_list(w, w->group_list) || !set_object_list(w, w->file_list) ||
        !is_ok(w, w->access_list) ||
        !is_ok(w, H5Pset_libver_bounds(w->access_list, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST)) ||
        !is_ok(w, H5Pset_fapl_core(w->access_list, IMAGE_STEP, 0)))
        goto end;
    if (!is_ok(w, w->file = H5Fcreate(path_base(w->path), H5F_ACC_TRUNC, w->file_list,
                                      w->access_list)))
        goto end;
    if (write_attribute(w, w->file, "format", "reach-erf/1") ||
        write_attribute(w, w->file, "version", r->version) ||
        write_attribute(w, w->file, "command", r->command))
        goto end;
    if (!is_ok(w, models = H5Gcreate2(w->file, "models", H5P_DEFAULT, w->group_list, H5P_DEFAULT)))
        goto end;
    for (size_t i = 0; i < r->model_count; i++)
        for (size_t k = 0; k < r->models[i].field_count; k++)
            if (write_field(w, models, r, &r->models[i], &r->models[i].fields[k]))
                goto end;
    if (!is_ok(w, H5Fflush(w->file, H5F_SCOPE_GLOBAL)) ||
        !is_ok(w, (size = H5Fget_file_image(w->file, NULL, 0)) < 0 ? -1 : 0))
        goto end;
    *bytes = (size_t)size;
    if (!(image = malloc(*bytes)))
        fail_memory(w->e, (double)*bytes, w->path);
    else if (!is_ok(w, H5Fget_file_image(w->file, image, *bytes) < 0 ? -1 : 0)) {
        free(image);
        image = NULL;
    }
end:
    H5Gclose(models);
    H5Fclose(w->file);
    H5Pclose(w->access_list);
    H5Pclose(w->file_list);
    H5Pclose(w->group_list);
    return image;
}

static int check_models(const char *path, const struct result *r, struct error *e)
{
    if (r->model_count == 0)
        return fail(e, "%s: no model to write", path);
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];
        if (*m->name == '\0' || strcmp(m->name, ".") == 0 || strcmp(m->name, "..") == 0 ||
            strchr(m->name, '/'))
            return fail(e, "%s: '%s' cannot name a model (expected a name without /)", path,
                        m->name);
        if (m->field_count == 0 || m->segments == 0 || m->fields[0].positions == 0)
            return fail(e, "%s: model %s has %zu segments of %zu positions (expected at least one)",
                        path, m->name, m->segments, m->field_count ? m->fields[0].positions : 0);
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->name, r->models[k].name) == 0)
                return fail(e, "%s: two models are named %s", path, m->name);
    }
    return 0;
}

int result_stage(const char *path, const struct result *r, struct atomic_file *out, struct error *e)
{
    *out = (struct atomic_file){0};
    if (check_models(path, r, e))
        return -1;
    hdf_quiet();
    struct writer w = {.path = path, .e = e};
    size_t bytes = 0;
    unsigned char *image = make_image(&w, r, &bytes);
    if (!image)
        return -1;
    int result = atomic_open(out, path, e);
    if (result == 0) {
        fwrite(image, 1, bytes, out->stream);
        result = atomic_stage(out, e);
    }
    free(image);
    return result;
}
