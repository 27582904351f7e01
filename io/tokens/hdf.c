/* Token ids in HDF5. A first process finds the dataset and a second reads it (for the reason in
 * io/formats/hdf.h), so whatever they leave open is closed when they end. */
#include "io/tokens/formats.h"

#include "io/element.h"
#include "io/formats/hdf.h"
#include "io/system/confine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_ELEMENTS = 1 << 16, NAME_BYTES_MAX = 1024 };

/* The first process's report about the dataset. */
struct found {
    char name[NAME_BYTES_MAX];
    struct stored_tokens tokens;
    size_t piece_rows; /* to be read at a time */
};

struct reader {
    const struct hdf_file *file;
    const char *inside; /* where the dataset is; NULL: to be found */
    struct found found;
    int candidates; /* datasets of integers found in the root group */
    int32_t *ids; /* [count], shared with the second process */
    struct error *e;
};

/* -- in the children -- */

/* Opens the object at a path of hard links; -1: it does not exist. */
static hid_t open_path(hid_t file, const char *path)
{
    hid_t at = H5Oopen(file, "/", H5P_DEFAULT);
    while (at >= 0) {
        char part[NAME_BYTES_MAX];
        size_t length;
        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (length == 0)
            return at;
        if (length >= sizeof part || H5Iget_type(at) != H5I_GROUP)
            return -1;
        memcpy(part, path, length);
        part[length] = '\0';
        at = hdf_is_hard_link(at, part) ? H5Oopen(at, part, H5P_DEFAULT) : -1;
        path += length;
    }
    return -1;
}

static int is_integers(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space),
        result = type >= 0 && H5Tget_class(type) == H5T_INTEGER && (rank == 1 || rank == 2);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

/* Notes the name of a dataset of integers. */
static herr_t note_dataset(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct reader *r = context;
    if (info->type != H5L_TYPE_HARD || strlen(name) >= sizeof r->found.name)
        return 0;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object >= 0 && H5Iget_type(object) == H5I_DATASET && is_integers(object)) {
        strcpy(r->found.name, name);
        r->candidates++;
    }
    if (object >= 0)
        H5Oclose(object);
    return 0;
}

enum { DEPTH_MAX = 8, LINKS_MAX = 10000, SHOWN_MAX = 400 };

/* Datasets of integers below the root group, for a message. */
struct nested {
    char path[NAME_BYTES_MAX], shown[SHOWN_MAX];
    int depth, links;
};

static herr_t show_nested(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct nested *n = context;
    size_t at = strlen(n->path), shown = strlen(n->shown);
    hsize_t from = 0;
    if (n->links++ >= LINKS_MAX || n->depth > DEPTH_MAX || info->type != H5L_TYPE_HARD ||
        at + strlen(name) + 2 > sizeof n->path)
        return n->links > LINKS_MAX;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    snprintf(n->path + at, sizeof n->path - at, "/%s", name);
    n->depth++;
    if (kind == H5I_GROUP)
        H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, &from, show_nested, n);
    else if (kind == H5I_DATASET && n->depth > 1 && is_integers(object))
        snprintf(n->shown + shown, sizeof n->shown - shown, "%s%s", shown ? ", " : "", n->path);
    n->depth--;
    n->path[at] = '\0';
    if (object >= 0)
        H5Oclose(object);
    return 0;
}

static int choose_dataset(struct reader *r, hid_t file)
{
    struct nested nested = {.path = ""};
    hsize_t at = 0;
    if (r->inside || hdf_is_hard_link(file, "tokens")) {
        snprintf(r->found.name, sizeof r->found.name, "%s", r->inside ? r->inside : "tokens");
        return 0;
    }
    if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &at, note_dataset, r) < 0)
        return hdf_fail(r->e, r->file->path, "its root group");
    if (r->candidates == 1)
        return 0;
    at = 0;
    if (r->candidates == 0 &&
        H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &at, show_nested, &nested) >= 0 &&
        *nested.shown)
        return fail(
            r->e,
            "%s: has its datasets of integers in groups: %s (expected one of them, as %s:/NAME)",
            r->file->path, nested.shown, r->file->path);
    return fail(r->e,
                "%s: has no dataset tokens and %d others of integers with 1 or 2 dimensions "
                "(expected one, or FILE:/NAME)",
                r->file->path, r->candidates);
}

static int read_shape(struct reader *r, hid_t dataset)
{
    struct stored_tokens *s = &r->found.tokens;
    hsize_t dims[2] = {0};
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    *s = (struct stored_tokens){.element_bytes = H5Tget_size(type),
                                .is_signed = H5Tget_sign(type) != H5T_SGN_NONE,
                                .count = 1};
    s->rank = H5Sget_simple_extent_ndims(space);
    if (H5Sget_simple_extent_dims(space, dims, NULL) != s->rank || s->element_bytes == 0 ||
        s->element_bytes > 8)
        return fail(r->e, "%s: %s has no shape, or integers of %zu bytes", r->file->path,
                    r->found.name, s->element_bytes);
    for (int i = 0; i < s->rank; i++) {
        size_t bytes;
        s->shape[i] = (size_t)dims[i];
        if (size_multiply(&s->count, s->count, s->shape[i]) ||
            size_multiply(&bytes, s->count, sizeof(uint64_t)))
            return fail(r->e, "%s: the shape of %s overflows 64 bits", r->file->path,
                        r->found.name);
    }
    return s->count ? 0 : fail(r->e, "%s: %s holds no tokens", r->file->path, r->found.name);
}

/* Rows of a chunk; 1 if not chunked. */
static size_t rows_of_chunk(hid_t dataset)
{
    hsize_t chunk[2] = {1, 1};
    hid_t list = H5Dget_create_plist(dataset);
    int chunked = H5Pget_layout(list) == H5D_CHUNKED && H5Pget_chunk(list, 2, chunk) > 0;
    H5Pclose(list);
    return chunked && chunk[0] ? (size_t)chunk[0] : 1;
}

/* As for gzip (io/system/input.h): a small compressed file could fill memory. */
static int check_ratio(const struct reader *r, hid_t dataset)
{
    const struct stored_tokens *s = &r->found.tokens;
    const size_t bytes = s->count * s->element_bytes;
    if (bytes <= INPUT_UNPACKED_FREE || bytes / INPUT_RATIO_MAX <= H5Dget_storage_size(dataset))
        return 0;
    return fail(r->e,
                "%s: %s unpacks to more than %d times its size (expected token ids, which do not)",
                r->file->path, r->found.name, INPUT_RATIO_MAX);
}

/* Writes a struct found. */
static int find_dataset(FILE *out, void *context, struct error *e)
{
    struct reader *r = context;
    struct found *f = &r->found;
    r->e = e;
    hid_t file = hdf_open_descriptor(r->file->descriptor, r->file->path, e);
    if (file < 0 || choose_dataset(r, file))
        return -1;
    hid_t dataset = open_path(file, r->inside ? r->inside : f->name);
    if (dataset < 0 || H5Iget_type(dataset) != H5I_DATASET)
        return fail(e, "%s: has no dataset at %s", r->file->path, f->name);
    if (!is_integers(dataset))
        return fail(e, "%s: %s is not a dataset of integers with 1 or 2 dimensions", r->file->path,
                    f->name);
    if (read_shape(r, dataset) ||
        hdf_check_storage(dataset, f->name, r->file->path, r->file->size, e) ||
        check_ratio(r, dataset))
        return -1;
    /* whole chunks at a time, or each would be unpacked repeatedly */
    size_t columns = f->tokens.rank == 2 ? f->tokens.shape[1] : 1,
           chunk_rows = rows_of_chunk(dataset);
    f->piece_rows = PIECE_ELEMENTS / columns / chunk_rows * chunk_rows;
    f->piece_rows = f->piece_rows ? f->piece_rows : chunk_rows;
    fwrite(f, sizeof *f, 1, out);
    return 0;
}

/* Reads rows [first, first + rows) as 64 bits, since HDF5 would clamp larger values to 32. */
static int read_rows(struct reader *r, hid_t dataset, hid_t space, uint64_t *piece, size_t first,
                     size_t rows)
{
    const struct stored_tokens *s = &r->found.tokens;
    size_t columns = s->rank == 2 ? s->shape[1] : 1;
    hsize_t start[2] = {first, 0}, shape[2] = {rows, columns};
    struct stored_tokens wide = *s;
    hid_t memory = H5Screate_simple(s->rank, shape, NULL);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, shape, NULL) < 0 ||
        H5Dread(dataset, s->is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, memory, space,
                H5P_DEFAULT, piece) < 0)
        return hdf_fail(r->e, r->file->path, r->found.name);
    H5Sclose(memory);
    wide.element_bytes = sizeof *piece;
    for (size_t i = 0; i < rows * columns; i++) {
        char text[32];
        int32_t id = stored_id((const unsigned char *)&piece[i], &wide, text);
        if (id < 0)
            return stored_fail(r->file->path, s, first * columns + i, text, r->e);
        r->ids[first * columns + i] = id;
    }
    return 0;
}

/* Fills the shared memory. */
static int read_dataset(FILE *out, void *context, struct error *e)
{
    (void)out;
    struct reader *r = context;
    const struct found *f = &r->found;
    r->e = e;
    hid_t file = hdf_open_descriptor(r->file->descriptor, r->file->path, e);
    if (file < 0)
        return -1;
    hid_t dataset = open_path(file, r->inside ? r->inside : f->name);
    if (dataset < 0)
        return fail(e, "%s: is damaged (%s is not found a second time)", r->file->path, f->name);
    hid_t space = H5Dget_space(dataset);
    hssize_t points = H5Sget_simple_extent_npoints(space);
    if (points < 0 || (size_t)points != f->tokens.count)
        return fail(e, "%s: is damaged (%s changed its shape)", r->file->path, f->name);
    size_t rows = f->tokens.shape[0];
    uint64_t *piece = malloc(f->piece_rows * (f->tokens.count / rows) * sizeof *piece);
    if (!piece)
        return fail_memory(e,
                           (double)f->piece_rows * (double)(f->tokens.count / rows) * sizeof *piece,
                           r->file->path);
    for (size_t first = 0; first < rows; first += f->piece_rows)
        if (read_rows(r, dataset, space, piece, first,
                      f->piece_rows < rows - first ? f->piece_rows : rows - first))
            return -1;
    return 0;
}

/* -- in the program -- */

/* The first process's report, which is trusted no more than the file. */
static int take_found(struct reader *r, const char *output, size_t size, struct error *e)
{
    struct found *f = &r->found;
    const struct stored_tokens *s = &f->tokens;
    size_t bytes;
    if (size != sizeof *f)
        return fail(e, "%s: is damaged", r->file->path);
    memcpy(f, output, sizeof *f);
    f->name[sizeof f->name - 1] = '\0';
    if ((s->rank != 1 && s->rank != 2) ||
        size_multiply(&bytes, s->shape[0], s->rank == 2 ? s->shape[1] : 1) || bytes != s->count ||
        s->count == 0 || size_multiply(&bytes, s->count, sizeof(uint64_t)) ||
        bytes / sizeof(uint64_t) / HDF_DEFLATE_RATIO_MAX > r->file->size)
        return fail(e, "%s: is damaged", r->file->path);
    f->piece_rows = f->piece_rows < s->shape[0] ? f->piece_rows : s->shape[0];
    return f->piece_rows ? 0 : fail(e, "%s: is damaged", r->file->path);
}

static int append_shared(struct reader *r, struct ids *a, struct error *e)
{
    const struct stored_tokens *s = &r->found.tokens;
    size_t bytes = s->count * sizeof *r->ids,
           piece = r->found.piece_rows * (s->count / s->shape[0]) * sizeof(uint64_t), memory, size;
    char *output = NULL;
    int result = -1;
    if (size_multiply(&memory, 4, piece) ||
        size_add(&memory, memory, HDF_MEMORY)) /* chunks are unpacked through two filters */
        return fail_memory(e, 4 * (double)piece, r->file->path);
    if (!(r->ids = confine_memory(bytes, r->file->path, e)))
        return -1;
    if (confine(&output, &size, read_dataset, r, memory, HDF_SECONDS + bytes / HDF_BYTES_A_SECOND,
                r->file->path, e) ||
        ids_reserve(a, s->count, e))
        goto end;
    for (size_t i = 0; i < s->count; i++) {
        if (r->ids[i] < 0) {
            fail(e, "%s: is damaged", r->file->path);
            goto end;
        }
        a->id[a->count++] = r->ids[i];
    }
    result = 0;
end:
    free(output);
    confine_memory_free(r->ids, bytes);
    return result;
}

int hdf_read(struct ids *a, struct stored_tokens *s, const char *path, const char *inside,
             struct error *e)
{
    struct hdf_file file;
    struct reader r = {.file = &file, .inside = inside};
    char *output = NULL;
    size_t size;
    if (hdf_file_open(&file, path, e))
        return -1;
    int result = confine(&output, &size, find_dataset, &r, HDF_MEMORY, HDF_SECONDS, path, e);
    if (result == 0 && (result = take_found(&r, output, size, e)) == 0)
        result = append_shared(&r, a, e);
    free(output);
    if (hdf_file_unchanged(&file, e)) /* may also be the cause of the other failure */
        result = -1;
    hdf_file_close(&file);
    *s = r.found.tokens;
    return result;
}
