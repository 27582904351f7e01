#include "io/formats/hdf.h"

#include "io/bytes.h"
#include "io/element.h"
#include "io/system/file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void hdf_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t keep_reason(unsigned n, const H5E_error2_t *error, void *reason)
{
    if (n == 0 && error->desc)
        snprintf(reason, 256, "%s", error->desc);
    return 0;
}

int hdf_fail(struct error *e, const char *path, const char *what)
{
    char reason[256] = "HDF5 gives no reason";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, reason);
    return fail(e, "%s: %s: %s", path, what, reason);
}

/* A global heap: "GCOL", version, 3 zeros, size[8]; then objects, each index[2] references[2]
 * zeros[4] size[8] and data padded to 8 bytes. Object 0 is the free space, and its size counts its
 * header. (HDF5 file format specification, III.E.) */
enum { HEAP_HEADER = 16, OBJECT_HEADER = 16 };

/* 1 if every object of the heap at `heap`, `room` bytes before the file's end, fits, not empty. */
static int heap_is_sound(const unsigned char *heap, size_t room)
{
    if (room < HEAP_HEADER || load64(heap + 8) > room || load64(heap + 8) < HEAP_HEADER)
        return 0;
    for (size_t left = (size_t)load64(heap + 8) - HEAP_HEADER; left >= OBJECT_HEADER;) {
        const unsigned char *object = heap + load64(heap + 8) - left;
        uint64_t size = load64(object + 8), taken = size;
        if (size > left)
            return 0;
        if (object[0] || object[1])
            taken = OBJECT_HEADER + (size + 7) / 8 * 8;
        if (taken < OBJECT_HEADER || taken > left)
            return 0;
        left -= (size_t)taken;
    }
    return 1;
}

int hdf_check_memory(const unsigned char *bytes, size_t size, const char *path, struct error *e)
{
    static const unsigned char signature[8] = "\x89HDF\r\n\x1a\n", heap[5] = "GCOL\x01";
    if (size < 16 || memcmp(bytes, signature, sizeof signature))
        return fail(e, "%s: is not an HDF5 file (expected it to begin with \\x89HDF)", path);
    const unsigned char *sizes =
        bytes +
        (bytes[8] < 2 ? 13 : 9); /* of addresses and of lengths, by the superblock's version */
    if (sizes[0] != 8 || sizes[1] != 8)
        return fail(e, "%s: has addresses of %d and lengths of %d bytes (expected 8 and 8)", path,
                    sizes[0], sizes[1]);
    for (const unsigned char *at = bytes;
         (at = memmem(at, size - (size_t)(at - bytes), heap, sizeof heap)); at++)
        if (!heap_is_sound(at, size - (size_t)(at - bytes)))
            return fail(e, "%s: is damaged (the global heap at byte %zu)", path,
                        (size_t)(at - bytes));
    return 0;
}

int hdf_file_open(struct hdf_file *out, const char *path, struct error *e)
{
    size_t size = 0;
    *out = (struct hdf_file){.path = path,
                             .descriptor = file_open_regular(path, &size, e),
                             .size = size};
    if (out->descriptor < 0)
        return -1;
    if (stamp_take(&out->stamp, out->descriptor, path, e)) {
        hdf_file_close(out);
        return -1;
    }
    unsigned char *bytes = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, out->descriptor, 0)
                                : NULL;
    int result;
    if (bytes == MAP_FAILED) {
        result = fail(e, "%s: cannot be mapped (%zu bytes): %s", path, size, strerror(errno));
    } else {
        result = hdf_check_memory(bytes, size, path, e);
        if (size)
            munmap(bytes, size);
    }
    if (result)
        hdf_file_close(out);
    return result;
}

int hdf_file_unchanged(struct hdf_file *f, struct error *e)
{
    return stamp_check(&f->stamp, f->descriptor, f->path, e);
}

void hdf_file_close(struct hdf_file *f)
{
    close(f->descriptor);
    f->descriptor = -1;
}

hid_t hdf_open_descriptor(int descriptor, const char *path, struct error *e)
{
    char name[64];
    hdf_quiet();
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    hid_t h = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (h < 0)
        hdf_fail(e, path, "is not a readable HDF5 file");
    return h;
}

int hdf_is_hard_link(hid_t group, const char *name)
{
    H5L_info_t info;
    return H5Lexists(group, name, H5P_DEFAULT) > 0 &&
           H5Lget_info(group, name, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

/* Filters that are part of HDF5; *packs tells whether one is deflate. */
static int filters_are_known(hid_t list, int *packs)
{
    *packs = 0;
    for (int i = 0, n = H5Pget_nfilters(list); i < n; i++) {
        unsigned flags, configuration;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL,
                                             &configuration);
        if ((filter == H5Z_FILTER_DEFLATE && (*packs)++) ||
            (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
             filter != H5Z_FILTER_FLETCHER32))
            return 0;
    }
    return 1;
}

int hdf_check_storage(hid_t dataset, const char *name, const char *path, size_t file_bytes,
                      struct error *e)
{
    hsize_t shape[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    hid_t list = H5Dget_create_plist(dataset), space = H5Dget_space(dataset),
          type = H5Dget_type(dataset);
    int rank = H5Sget_simple_extent_dims(space, shape, NULL), packs = 0;
    H5D_layout_t layout = H5Pget_layout(list);
    size_t bytes = H5Tget_size(type);
    hsize_t stored = H5Dget_storage_size(dataset);
    int overflow = rank < 0 || bytes == 0, own = layout != H5D_VIRTUAL &&
                                                 H5Pget_external_count(list) == 0 &&
                                                 filters_are_known(list, &packs);
    int chunked = layout == H5D_CHUNKED,
        within = !chunked || H5Pget_chunk(list, H5S_MAX_RANK, chunk) == rank;
    for (int i = 0; i < rank; i++) {
        overflow |= size_multiply(&bytes, bytes, (size_t)shape[i]);
        within = within && (!chunked || chunk[i] <= shape[i] || shape[i] == 0);
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(list);
    if (overflow)
        return fail(e, "%s: %s has no shape, or one that overflows 64 bits", path, name);
    if (!own)
        return fail(e, "%s: %s is not stored in the file itself, plain or by deflate and shuffle",
                    path, name);
    if (!within)
        return fail(e, "%s: %s has chunks larger than itself", path, name);
    if (bytes && (stored == 0 || stored > file_bytes ||
                  bytes / (packs ? HDF_DEFLATE_RATIO_MAX : 1) > stored))
        return fail(e, "%s: %s claims %zu bytes, more than the file can hold (%llu are stored)",
                    path, name, bytes, (unsigned long long)stored);
    return 0;
}
