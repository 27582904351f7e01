/* Shared by all uses of HDF5: its messages in our form, and reading in a separate process. Private
 * to io/. */
#ifndef REACH_IO_FORMATS_HDF_H
#define REACH_IO_FORMATS_HDF_H

#include "io/error.h"
#include "io/system/watch.h"

#include <hdf5.h>
#include <stddef.h>

/* HDF5 trusts the structure that a file claims: a changed byte can make it read beyond its memory
 * or allocate all of it. So it reads only within confine() of io/system/confine.h, with this much
 * memory for its own structures, and this much time in addition to that for the data. */
enum { HDF_MEMORY = 256 << 20, HDF_SECONDS = 20, HDF_BYTES_A_SECOND = 10 << 20 };
enum { HDF_DEFLATE_RATIO_MAX = 1032 }; /* zlib's bound on how far data shrink */

/* Turns HDF5's own printing of errors off; call before the first use in a function. */
void hdf_quiet(void);

/* fail() with HDF5's innermost reason for the failure of the last call: "FILE: WHAT: reason". */
int hdf_fail(struct error *e, const char *path, const char *what);

/* A file to read, by its descriptor, even if the name later belongs to another file. */
struct hdf_file {
    const char *path; /* borrowed, for messages */
    int descriptor;
    size_t size;
    struct stamp stamp;
};

/* Opens a regular file and checks it as hdf_check_memory does. Caller closes. */
int hdf_file_open(struct hdf_file *out, const char *path, struct error *e) MUST_USE;
/* Fails if the file was written to since it was opened. */
int hdf_file_unchanged(struct hdf_file *f, struct error *e) MUST_USE;
void hdf_file_close(struct hdf_file *f);

/* Opens it with HDF5, for the child of confine(), which closes nothing. Negative on failure. */
hid_t hdf_open_descriptor(int descriptor, const char *path, struct error *e) MUST_USE;

/* 1 if `name` is a hard link in the group, so neither external nor dangling. */
int hdf_is_hard_link(hid_t group, const char *name);

/* An attribute as text: strings as they are, whole numbers and reals in decimal. *value = NULL for
 * other kinds. The caller frees. */
int hdf_attribute_text(char **value, hid_t attribute, const char *name, const char *path,
                       struct error *e) MUST_USE;

/* Checks how a dataset is stored: in the file itself, by filters that are part of HDF5, at most
 * one of which compresses; in chunks no larger than the dataset (large chunks would be a way to
 * exhaust memory); and with enough bytes in the file for its shape (none if empty). NAME is for
 * messages. */
int hdf_check_storage(hid_t dataset, const char *name, const char *path, size_t file_bytes,
                      struct error *e) MUST_USE;

/* Checks what HDF5 1.10 does not check and hangs or crashes on: the objects of the global heaps,
 * which hold variable-length text. Files with a user block or sizes other than 64 bits are
 * refused. */
int hdf_check_memory(const unsigned char *bytes, size_t size, const char *path,
                     struct error *e) MUST_USE;

#endif
