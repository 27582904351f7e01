/* A stream of token ids to a file: .npy, or HDF5 with one dataset `tokens`. */
#include "io/tokens/tokens.h"

#include "io/formats/hdf.h"
#include "io/system/atomic.h"
#include "io/system/file.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_IDS = 1 << 15, CHUNK_IDS = 1 << 16, DEFLATE_LEVEL = 4, IMAGE_STEP = 4 << 20 };

static int fits_16_bits(const struct tokens *t)
{
    for (size_t i = 0; i < t->total; i++)
        if (t->ids[i] > UINT16_MAX)
            return 0;
    return 1;
}

static int write_npy(const char *path, const struct tokens *t, size_t width, struct error *e)
{
    struct atomic_file f;
    char header[128];
    unsigned char piece[4 * PIECE_IDS];
    if (atomic_open(&f, path, e))
        return -1;
    /* magic, version 1.0, the header's length, and the header padded with blanks so that the data
     * begin at byte 128 */
    int used = snprintf(header, sizeof header,
                        "{'descr': '<u%zu', 'fortran_order': False, 'shape': (%zu,), }", width,
                        t->total);
    fprintf(f.stream, "\x93NUMPY%c%c%c%c%s%*s\n", 1, 0, 118, 0, header, 117 - used, "");
    for (size_t done = 0; done < t->total;) {
        size_t count = t->total - done < PIECE_IDS ? t->total - done : PIECE_IDS;
        for (size_t i = 0; i < count; i++)
            for (size_t b = 0; b < width; b++)
                piece[i * width + b] = (unsigned char)((uint32_t)t->ids[done + i] >> 8 * b);
        if (fwrite(piece, width, count, f.stream) != count)
            break; /* the commit reports why */
        done += count;
    }
    return atomic_commit(&f, e);
}

static int fill_hdf(hid_t file, const char *path, const struct tokens *t, size_t width,
                    struct error *e)
{
    hsize_t shape = t->total, chunk = t->total < CHUNK_IDS ? t->total : CHUNK_IDS;
    hid_t space = H5Screate_simple(1, &shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE),
          dataset = -1;
    int result = 0;
    if (H5Pset_chunk(list, 1, &chunk) < 0 || H5Pset_shuffle(list) < 0 ||
        H5Pset_deflate(list, DEFLATE_LEVEL) < 0 || H5Pset_obj_track_times(list, 0) < 0 ||
        (dataset = H5Dcreate2(file, "tokens", width == 2 ? H5T_STD_U16LE : H5T_STD_U32LE, space,
                              H5P_DEFAULT, list, H5P_DEFAULT)) < 0 ||
        H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->ids) < 0 ||
        H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        result = hdf_fail(e, path, "cannot be written");
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    return result;
}

/* The bytes of the file; caller frees. */
static unsigned char *take_image(hid_t file, const char *path, size_t *bytes, struct error *e)
{
    ssize_t size = H5Fget_file_image(file, NULL, 0);
    unsigned char *image = size > 0 ? malloc((size_t)size) : NULL;
    if (size > 0 && !image) {
        fail_memory(e, (double)size, path);
    } else if (!image || H5Fget_file_image(file, image, (size_t)size) < 0) {
        hdf_fail(e, path, "cannot be written");
        free(image);
        image = NULL;
    }
    *bytes = (size_t)size;
    return image;
}

/* In memory, because HDF5 does not survive a failed write: its exit handler crashes on a full
 * disk. */
static int write_hdf(const char *path, const struct tokens *t, size_t width, struct error *e)
{
    struct atomic_file f;
    unsigned char *image = NULL;
    size_t bytes;
    int result = -1;
    hdf_quiet();
    hid_t list = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    /* the earliest format: HDF5 1.10 corrupts the checksum of a later superblock when it returns
     * the image */
    if (H5Pset_obj_track_times(list, 0) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) < 0 ||
        H5Pset_fapl_core(access, IMAGE_STEP, 0) < 0 ||
        (file = H5Fcreate(path_base(path), H5F_ACC_TRUNC, list, access)) < 0)
        hdf_fail(e, path, "cannot be written");
    else if (fill_hdf(file, path, t, width, e) == 0)
        image = take_image(file, path, &bytes, e);
    H5Fclose(file);
    H5Pclose(access);
    H5Pclose(list);
    if (image && atomic_open(&f, path, e) == 0) {
        fwrite(image, 1, bytes, f.stream);
        result = atomic_commit(&f, e);
    }
    free(image);
    return result;
}

int tokens_write(const char *path, const struct tokens *t, struct error *e)
{
    size_t width = fits_16_bits(t) ? 2 : 4;
    if (t->total == 0)
        return fail(e, "%s: there are no tokens to write", path);
    return tokens_is_hdf_name(path) ? write_hdf(path, t, width, e) : write_npy(path, t, width, e);
}

int tokens_is_hdf_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".h5") == 0 || strcmp(dot, ".hdf5") == 0);
}
