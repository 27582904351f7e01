#include "io/atomic.h"
#include "io/hdf.h"
#include "io/hdf_tensors.h"
#include "io/hdf_types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    hid_t space = t->rank ? H5Screate_simple(t->rank, dims, NULL) : H5Screate(H5S_SCALAR), type = hdf_type_make(t->stored);
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
