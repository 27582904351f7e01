/* Reading erf.h5 back. Anything in it may be hostile: links out of the file, shapes far beyond the
 * data, other types.
 *
 * A first process lists the contents (result_list.c) and a second reads the data (for the reason in
 * io/formats/hdf.h). */
#include "io/results/result_list.h"

#include "io/element.h"
#include "io/formats/hdf.h"
#include "io/system/confine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- in the second child: the data -- */

static void **array_of(const struct result *r, const struct result_group *g, int which)
{
    struct result_model *m = &r->models[g->model];
    struct result_field *f = &m->fields[g->field];
    void **const arrays[DATASETS] = {(void **)&f->norm,
                                     (void **)&f->logprob,
                                     (void **)&f->status,
                                     (void **)&m->start,
                                     (void **)&f->summary.s,
                                     (void **)&f->summary.c,
                                     (void **)&f->summary.c_lo,
                                     (void **)&f->summary.c_hi,
                                     (void **)&f->completeness,
                                     (void **)&m->attention.high,
                                     (void **)&m->attention.low,
                                     (void **)&m->attention.log_decay,
                                     (void **)&m->attention.decay_high,
                                     (void **)&m->attention.decay_low,
                                     (void **)&m->tokens,
                                     (void **)&m->pieces.id,
                                     (void **)&m->pieces.end,
                                     (void **)&m->pieces.bytes};
    return arrays[which];
}

/* Elements of an array; -1 beyond 64 bits. */
static int count_elements(size_t *out, const struct result *r, const struct result_group *g,
                          int which)
{
    const struct result_model *m = &r->models[g->model];
    int dimensions = result_datasets[which].dimensions;
    *out = dimensions & PAIRS ? 2 : 1;
    return (dimensions & BY_HEAD && (size_multiply(out, *out, m->attention.layers) ||
                                     size_multiply(out, *out, m->attention.heads))) ||
                   (dimensions & BY_RECURRENCE &&
                    (size_multiply(out, *out, m->attention.layers) ||
                     size_multiply(out, *out, m->attention.recurrence_heads))) ||
                   (dimensions & BY_SEGMENT && size_multiply(out, *out, m->segments)) ||
                   (dimensions & BY_TOKEN && size_multiply(out, *out, m->fields[0].target)) ||
                   (dimensions & BY_PIECE && size_multiply(out, *out, m->pieces.count)) ||
                   (dimensions & BY_BYTE && size_multiply(out, *out, m->pieces.size)) ||
                   (dimensions & BY_POSITION &&
                    size_multiply(out, *out, m->fields[g->field].positions))
               ? -1
               : 0;
}

/* The same for a result that is already allocated, so nothing overflows. */
static size_t elements_of(const struct result *r, const struct result_group *g, int which)
{
    size_t count = 0;
    return count_elements(&count, r, g, which) ? 0 : count;
}

static int read_data(FILE *out, void *context, struct error *e)
{
    (void)out;
    const struct result_data *d = context;
    const char *path = d->file->path;
    hid_t file = hdf_open_descriptor(d->file->descriptor, path, e);
    if (file < 0)
        return -1;
    const hid_t real = H5T_NATIVE_DOUBLE, word = H5T_NATIVE_UINT64, byte = H5T_NATIVE_UINT8,
                id = H5T_NATIVE_INT32,
                types[DATASETS] = {real, real, byte, word, real, real, real, real, real,
                                   word, word, real, word, word, id,   id,   word, byte};
    for (size_t i = 0; i < d->group_count; i++)
        for (int k = 0; k < DATASETS; k++) {
            const struct result_group *g = &d->groups[i];
            const char *model = d->out->models[g->model].name;
            if (!g->address[k])
                continue;
            hid_t dataset = H5Oopen_by_addr(file, g->address[k]), space = H5Dget_space(dataset);
            hssize_t count = H5Sget_simple_extent_npoints(space);
            if (count < 0 || (size_t)count != elements_of(d->out, g, k))
                return fail(e, "%s: is damaged (%s/%s changed its shape)", path, model,
                            result_datasets[k].name);
            if (H5Dread(dataset, types[k], H5S_ALL, H5S_ALL, H5P_DEFAULT, *array_of(d->out, g, k)) <
                0)
                return hdf_fail(e, path, result_datasets[k].name);
            H5Sclose(space);
            H5Oclose(dataset);
        }
    return 0;
}

/* -- in the program -- */

/* Adds the bytes of a group's arrays, each on a multiple of 8, to *total; *largest is the
 * largest. */
static int add_bytes(size_t *total, size_t *largest, const struct result *r,
                     const struct result_group *g)
{
    size_t count, bytes;
    if (r->models[g->model].segments == 0 || r->models[g->model].fields[g->field].positions == 0)
        return -1;
    for (int k = 0; k < DATASETS; k++) {
        if (!g->address[k])
            continue;
        if (count_elements(&count, r, g, k) ||
            size_multiply(&bytes, count, result_datasets[k].element_bytes) ||
            size_add(&bytes, bytes, 7) || size_add(total, *total, bytes / 8 * 8))
            return -1;
        *largest = bytes > *largest ? bytes : *largest;
    }
    return 0;
}

/* Memory for the arrays of all models; *largest is the size of the largest. */
static int give_memory(struct result_data *d, size_t *largest, const char *path, struct error *e)
{
    struct result *out = d->out;
    size_t total = 0;
    *largest = 0;
    for (size_t i = 0; i < d->group_count; i++)
        if (add_bytes(&total, largest, out, &d->groups[i]))
            return fail(e, "%s: its shapes overflow 64 bits", path);
    if (!(out->memory = confine_memory(total, path, e)))
        return -1;
    out->memory_bytes = total;
    unsigned char *at = out->memory;
    for (size_t i = 0; i < d->group_count; i++)
        for (int k = 0; k < DATASETS; k++) {
            const struct result_group *g = &d->groups[i];
            if (!g->address[k])
                continue;
            *array_of(out, g, k) = at;
            at += (elements_of(out, g, k) * result_datasets[k].element_bytes + 7) / 8 * 8;
        }
    return 0;
}

/* Impossible values of a used segment: log p > 0 (up to rounding), norms < 0, or not finite. */
static int check_segment(const struct result_model *m, const struct result_field *f, size_t i,
                         const char *path, struct error *e)
{
    const double *norm = f->norm + i * f->positions, logprob = f->logprob[i], most = 1e-6;
    int is_number = !isnan(logprob);

    if (logprob > most || (f->completeness && f->completeness[2 * i + 1] > most))
        return fail(e, "%s: %s/%s of segment %zu is %g (expected a log p, which is not above 0)",
                    path, m->name, logprob > most ? "logprob" : "completeness", i,
                    logprob > most ? logprob : f->completeness[2 * i + 1]);
    for (size_t k = 0; k < f->positions; k++) {
        is_number = is_number && !isnan(norm[k]);
        if (norm[k] < 0)
            return fail(e,
                        "%s: %s/norm of segment %zu at position %zu is %g (expected none below 0)",
                        path, m->name, i, k + 1, norm[k]);
    }
    return is_number ? 0
                     : fail(e,
                            "%s: %s, target %zu, layer %zu: the status of segment %zu is 1, but "
                            "its norms and log p are not "
                            "usable (expected 2)",
                            path, m->name, f->target, f->layer, i);
}

static int check_segments(const struct result_model *m, const struct result_field *f,
                          const char *path, struct error *e)
{
    for (size_t i = 0; i < m->segments; i++) {
        if (f->status[i] != SEGMENT_DONE && f->status[i] != SEGMENT_EXCLUDED)
            return fail(e, "%s: %s/status of segment %zu is %d (expected 1: done, or 2: excluded)",
                        path, m->name, i, f->status[i]);
        if (f->status[i] == SEGMENT_DONE && check_segment(m, f, i, path, e) != 0)
            return -1;
    }
    return 0;
}

/* No run writes other curves: figures would silently show nothing. */
static int check_curves(const struct result_model *m, const struct result_field *f,
                        const char *path, struct error *e)
{
    static const char *const names[] = {"s", "c", "c_lo", "c_hi"};
    const double *const curves[] = {f->summary.s, f->summary.c, f->summary.c_lo, f->summary.c_hi};
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < f->positions; i++)
            if (!(curves[k][i] >= 0 && curves[k][i] <= 1 + 1e-9)) /* up to rounding */
                return fail(e, "%s: %s/%s at position %zu is %g (expected a share from 0 to 1)",
                            path, m->name, names[k], i + 1, curves[k][i]);
    return 0;
}

static int check_tokens(const struct result_model *m, const char *path, struct error *e)
{
    struct error why;
    for (size_t i = 0; m->tokens && i < m->field_count; i++)
        if (m->fields[i].target > m->fields[0].target)
            return fail(e, "%s: %s/target-%zu is beyond the segments, which have %zu tokens", path,
                        m->name, m->fields[i].target, m->fields[0].target);
    for (size_t i = 0; m->tokens && i < m->segments * m->fields[0].target; i++)
        if (m->tokens[i] < 0 || (m->vocabulary && (size_t)m->tokens[i] >= m->vocabulary))
            return fail(
                e,
                "%s: %s/tokens has the id %d at index %zu (expected one of the vocabulary of %zu)",
                path, m->name, (int)m->tokens[i], i, m->vocabulary);
    if (!m->pieces.id != !m->pieces.end || !m->pieces.id != !m->pieces.bytes)
        return fail(e,
                    "%s: %s has some of piece_id, piece_end and piece_bytes (expected all or none)",
                    path, m->name);
    return texts_check(&m->pieces, &why) ? fail(e, "%s: %s/piece_id: %s", path, m->name, why.text)
                                         : 0;
}

static int read_arrays(struct result_data *d, struct error *e)
{
    struct result *out = d->out;
    const char *path = d->file->path;
    char *none = NULL;
    size_t size, largest, memory;
    if (give_memory(d, &largest, path, e))
        return -1;
    /* chunks may be as large as their dataset, and are unpacked through two filters */
    if (size_multiply(&memory, 4, largest) || size_add(&memory, memory, HDF_MEMORY))
        return fail_memory(e, 4 * (double)largest, path);
    int result = confine(&none, &size, read_data, d, memory,
                         HDF_SECONDS + out->memory_bytes / HDF_BYTES_A_SECOND, path, e);
    free(none);
    for (size_t i = 0; result == 0 && i < d->group_count; i++) {
        const struct result_model *m = &out->models[d->groups[i].model];
        const struct result_field *f = &m->fields[d->groups[i].field];
        result = check_segments(m, f, path, e) || check_curves(m, f, path, e) ? -1 : 0;
        if (result == 0 && f == m->fields)
            result = check_tokens(m, path, e);
    }
    return result;
}

static int read_result(const char *path, struct result *out, int with_arrays, struct error *e)
{
    struct hdf_file file;
    struct result_data data = {.file = &file, .out = out};
    *out = (struct result){0};
    if (hdf_file_open(&file, path, e))
        return -1;
    int result = result_read_heads_of(&data, e) || (with_arrays && read_arrays(&data, e)) ? -1 : 0;
    free(data.groups);
    if (hdf_file_unchanged(&file, e)) /* may also be the cause of the other failure */
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
