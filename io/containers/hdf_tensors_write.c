#include "io/containers/hdf_tensors.h"
#include "io/containers/hdf_types.h"
#include "io/formats/hdf.h"
#include "io/system/atomic.h"
#include "io/system/confine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HDF5 does not survive a failed write (it keeps the unwritten data, and its exit handler crashes).
 * So, in a separate process, it makes a sparse file with places for the tensors, and the data are
 * written there with the same checks as every other file. */

enum { MEMORY = 256 << 20, SECONDS = 600 };

struct frame {
    const char *path, *temporary;
    struct tensors *tensors;
    const struct config *config;
};

/* -- in the child -- */

/* Makes a dataset whose space is allocated and never filled; writes its offset. */
static int make_dataset(FILE *out, hid_t file, const char *path, const struct tensor *t,
                        struct error *e)
{
    hsize_t dims[TENSOR_RANK_MAX];
    if (strchr(t->name, '/') || *t->name == '\0' || strcmp(t->name, ".") == 0)
        return fail(e, "%s: '%s' cannot name a tensor in HDF5 (expected a name without /)", path,
                    t->name);
    for (int i = 0; i < t->rank; i++)
        dims[i] = t->shape[i];
    hid_t space = t->rank ? H5Screate_simple(t->rank, dims, NULL) : H5Screate(H5S_SCALAR),
          type = hdf_type_make(t->stored);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    uint64_t offset = HADDR_UNDEF;
    if (H5Pset_obj_track_times(list, 0) >= 0 &&
        H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
        (dataset = H5Dcreate2(file, t->name, type, space, H5P_DEFAULT, list, H5P_DEFAULT)) >= 0)
        offset = H5Dget_offset(dataset);
    int result = dataset < 0 || (t->bytes && offset == HADDR_UNDEF) ? hdf_fail(e, path, t->name)
                                                                    : 0;
    fwrite(&offset, sizeof offset, 1, out);
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
             (attribute = H5Acreate2(file, "config", type, space, H5P_DEFAULT, H5P_DEFAULT)) < 0 ||
             H5Awrite(attribute, type, &text) < 0)
        hdf_fail(e, path, "config");
    else
        result = 0;
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
    free(text);
    return result;
}

/* Everything but the data. Writes the offset of each tensor, in the store's order. */
static int make_frame(FILE *out, void *context, struct error *e)
{
    const struct frame *f = context;
    int result = -1;
    hdf_quiet();
    hid_t list = H5Pcreate(H5P_FILE_CREATE), file = -1;
    if (H5Pset_obj_track_times(list, 0) < 0 ||
        (file = H5Fcreate(f->temporary, H5F_ACC_EXCL, list, H5P_DEFAULT)) < 0)
        return hdf_fail(e, f->path, "cannot be written");
    result = make_config(file, f->path, f->config, e);
    for (size_t i = 0; result == 0 && i < tensors_count(f->tensors); i++)
        result = make_dataset(out, file, f->path, tensors_at(f->tensors, i), e);
    if (H5Fclose(file) < 0 && result == 0)
        result = hdf_fail(e, f->path, "cannot be written");
    H5Pclose(list);
    return result;
}

/* -- in the program -- */

/* Writes the data to their places. */
static int write_data(const struct frame *frame, const char *offsets, struct error *e)
{
    FILE *f = fopen(frame->temporary, "r+be");
    int failed = !f;
    for (size_t i = 0; !failed && i < tensors_count(frame->tensors); i++) {
        const struct tensor *t = tensors_at(frame->tensors, i);
        uint64_t offset;
        memcpy(&offset, offsets + i * sizeof offset, sizeof offset);
        failed = t->bytes && (fseeko(f, (off_t)offset, SEEK_SET) || store_write(f, t));
    }
    failed = failed || fflush(f);
    int reason = errno;
    if (f && fclose(f) && !failed)
        failed = 1, reason = errno;
    return failed ? fail(e, "%s: cannot be written: %s", frame->path, strerror(reason)) : 0;
}

int hdf_tensors_write(const char *path, struct tensors *t, const struct config *c, struct error *e)
{
    char *temporary = atomic_temporary_name(path, e), *offsets = NULL;
    struct frame frame = {path, temporary, t, c};
    size_t size;
    int result = -1;
    if (!temporary)
        return -1;
    if (confine(&offsets, &size, make_frame, &frame, MEMORY, SECONDS, path, e) == 0 &&
        size == tensors_count(t) * sizeof(uint64_t) && write_data(&frame, offsets, e) == 0 &&
        tensors_unchanged(t, e) == 0)
        result = atomic_rename(temporary, path, e);
    else
        atomic_discard(temporary);
    free(offsets);
    free(temporary);
    return result;
}
