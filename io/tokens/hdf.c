/* Token ids in HDF5. */
#include "io/tokens/formats.h"

#include "io/element.h"
#include "io/file.h"
#include "io/hdf.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_ELEMENTS = 1 << 16,
    NAME_BYTES_MAX = 1024,
    DEFLATE_RATIO_MAX = 1032 /* zlib's bound on how far data shrink */
};

struct reader {
    const char *path;
    size_t file_bytes;
    char name[NAME_BYTES_MAX]; /* of the dataset that is read */
    int found;                 /* datasets of integers met in the root group */
    struct error *e;
};

/* 1 if the link is a hard one: nothing that leads to another file, or nowhere. */
static int is_hard_link(hid_t group, const char *name)
{
    H5L_info_t info;
    return H5Lexists(group, name, H5P_DEFAULT) > 0 && H5Lget_info(group, name, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

/* Opens what lies at a path of hard links; -1: it is not there. */
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
        int written = snprintf(part, sizeof part, "%.*s", (int)(length < INT32_MAX ? length : INT32_MAX), path);
        hid_t next = H5Iget_type(at) == H5I_GROUP && (size_t)written < sizeof part && is_hard_link(at, part) ? H5Oopen(at, part, H5P_DEFAULT) : -1;
        H5Oclose(at);
        at = next;
        path += length;
    }
    return -1;
}

static int is_integers(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space), result = type >= 0 && H5Tget_class(type) == H5T_INTEGER && (rank == 1 || rank == 2);
    H5Sclose(space);
    H5Tclose(type);
    return result;
}

/* Notes the name of a dataset of integers. */
static herr_t note_dataset(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct reader *r = context;
    if (info->type != H5L_TYPE_HARD || strlen(name) >= sizeof r->name)
        return 0;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object >= 0 && H5Iget_type(object) == H5I_DATASET && is_integers(object)) {
        strcpy(r->name, name);
        r->found++;
    }
    if (object >= 0)
        H5Oclose(object);
    return 0;
}

static int choose_dataset(struct reader *r, hid_t file)
{
    hsize_t at = 0;
    if (is_hard_link(file, "tokens")) {
        strcpy(r->name, "tokens");
        return 0;
    }
    if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &at, note_dataset, r) < 0)
        return hdf_fail(r->e, r->path, "its root group");
    return r->found == 1 ? 0 : fail(r->e, "%s: has no dataset tokens and %d others of integers with 1 or 2 dimensions (expected one, or FILE:/NAME)", r->path,
                                    r->found);
}

/* Storage in the file itself, by filters that are part of HDF5, at most one of which packs, and enough of it for what the shape claims. */
static int check_storage(struct reader *r, hid_t dataset, const struct stored_tokens *s, hsize_t *chunk)
{
    hid_t list = H5Dget_create_plist(dataset);
    hsize_t stored = H5Dget_storage_size(dataset);
    int packed = 0, chunked = list >= 0 && H5Pget_layout(list) == H5D_CHUNKED;
    int ok = list >= 0 && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) == 0;
    for (int i = 0, n = ok ? H5Pget_nfilters(list) : 0; i < n; i++) {
        unsigned flags, configuration;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &configuration);
        packed += filter == H5Z_FILTER_DEFLATE;
        ok = ok && packed <= 1 && (filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32);
    }
    if (chunked && H5Pget_chunk(list, s->rank, chunk) != s->rank)
        ok = 0;
    H5Pclose(list);
    if (!ok)
        return fail(r->e, "%s: %s is not stored in the file itself, plain or by deflate and shuffle", r->path, r->name);
    for (int i = 0; chunked && i < s->rank; i++)
        if (chunk[i] > s->shape[i])
            return fail(r->e, "%s: %s has chunks larger than itself", r->path, r->name);
    if (stored == 0 || stored > r->file_bytes || s->count * s->element_bytes / (packed ? DEFLATE_RATIO_MAX : 1) > stored)
        return fail(r->e, "%s: %s claims %zu elements, more than the file can hold", r->path, r->name, s->count);
    return 0;
}

static int read_shape(struct reader *r, struct stored_tokens *s, hid_t dataset)
{
    hsize_t dims[2] = {0};
    size_t bytes;
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    *s = (struct stored_tokens){.element_bytes = 8, .is_signed = H5Tget_sign(type) != H5T_SGN_NONE, .rank = H5Sget_simple_extent_ndims(space)};
    size_t stored_bytes = H5Tget_size(type);
    int got = H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    H5Tclose(type);
    if (got != s->rank || stored_bytes == 0 || stored_bytes > 8)
        return fail(r->e, "%s: %s has no shape, or integers of %zu bytes", r->path, r->name, stored_bytes);
    s->element_bytes = stored_bytes;
    s->count = 1;
    for (int i = 0; i < s->rank; i++) {
        s->shape[i] = (size_t)dims[i];
        if (size_multiply(&s->count, s->count, s->shape[i]))
            return fail(r->e, "%s: the shape of %s overflows 64 bits", r->path, r->name);
    }
    if (size_multiply(&bytes, s->count, sizeof(uint64_t)))
        return fail(r->e, "%s: the shape of %s overflows 64 bits", r->path, r->name);
    return s->count ? 0 : fail(r->e, "%s: %s holds no tokens", r->path, r->name);
}

/* Reads rows [first, first + rows) and appends them. HDF5 would turn what does not fit in 32 bits into what does, so 64 are read. */
static int read_rows(struct reader *r, struct ids *a, const struct stored_tokens *s, hid_t dataset, hid_t space, uint64_t *piece, size_t first, size_t rows)
{
    size_t columns = s->rank == 2 ? s->shape[1] : 1, count = rows * columns;
    hsize_t start[2] = {first, 0}, shape[2] = {rows, columns};
    struct stored_tokens wide = *s;
    hid_t memory = H5Screate_simple(s->rank, shape, NULL);
    herr_t status = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, shape, NULL);
    if (status >= 0)
        status = H5Dread(dataset, s->is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, piece);
    H5Sclose(memory);
    if (status < 0)
        return hdf_fail(r->e, r->path, r->name);
    if (ids_reserve(a, count, r->e))
        return -1;
    wide.element_bytes = sizeof *piece;
    for (size_t i = 0; i < count; i++) {
        char text[32];
        int32_t id = stored_id((const unsigned char *)&piece[i], &wide, text);
        if (id < 0)
            return stored_fail(r->path, s, first * columns + i, text, r->e);
        a->id[a->count++] = id;
    }
    return 0;
}

static int read_dataset(struct reader *r, struct ids *a, struct stored_tokens *s, hid_t dataset)
{
    hsize_t chunk[2] = {1, 1};
    if (!is_integers(dataset))
        return fail(r->e, "%s: %s is no dataset of integers with 1 or 2 dimensions", r->path, r->name);
    if (read_shape(r, s, dataset) || check_storage(r, dataset, s, chunk))
        return -1;
    /* whole chunks at a time, or each would be unpacked again and again */
    size_t columns = s->rank == 2 ? s->shape[1] : 1, rows = PIECE_ELEMENTS / columns / (size_t)chunk[0] * (size_t)chunk[0];
    rows = rows ? rows : (size_t)chunk[0];
    rows = rows < s->shape[0] ? rows : s->shape[0];
    uint64_t *piece = malloc(rows * columns * sizeof *piece);
    hid_t space = H5Dget_space(dataset);
    int result = piece ? 0 : fail_memory(r->e, (double)rows * (double)columns * sizeof *piece, r->path);
    for (size_t first = 0; result == 0 && first < s->shape[0]; first += rows)
        result = read_rows(r, a, s, dataset, space, piece, first, rows < s->shape[0] - first ? rows : s->shape[0] - first);
    H5Sclose(space);
    free(piece);
    return result;
}

int hdf_read(struct ids *a, struct stored_tokens *s, const char *path, const char *inside, struct error *e)
{
    struct reader r = {.path = path, .e = e};
    int descriptor = file_open_regular(path, &r.file_bytes, e), result = -1;
    if (descriptor < 0)
        return -1;
    close(descriptor);
    if (hdf_check_file(path, e))
        return -1;
    hdf_quiet();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), object = -1;
    if (file < 0)
        return hdf_fail(e, path, "is not a readable HDF5 file");
    if (inside ? (snprintf(r.name, sizeof r.name, "%s", inside), 0) : choose_dataset(&r, file))
        goto end;
    object = open_path(file, inside ? inside : r.name);
    if (object < 0 || H5Iget_type(object) != H5I_DATASET)
        fail(e, "%s: has no dataset at %s", path, r.name);
    else
        result = read_dataset(&r, a, s, object);
end:
    if (object >= 0)
        H5Oclose(object);
    H5Fclose(file);
    return result;
}
