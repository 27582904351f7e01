/* How readers of checkpoint formats fill a store of tensors. Private to io/. */
#ifndef REACH_IO_TENSORS_STORE_H
#define REACH_IO_TENSORS_STORE_H

#include "io/tensors/tensors.h"

#include <stdio.h>

/* One mapped file of a store. */
struct mapped {
    char *path;
    int descriptor; /* the store's */
    const unsigned char *bytes; /* never NULL, also for an empty file */
    size_t size;
};

/* An empty store for the checkpoint at PATH. tensors_close ends it at any stage. */
struct tensors *store_create(const char *path, struct error *e) MUST_USE;

/* Maps a regular file; it belongs to the store and counts in its digest, in the order of these
 * calls. */
const struct mapped *store_map(struct tensors *t, const char *path, struct error *e) MUST_USE;

/* A regular file that describes the model and is about to be read: not part of the digest, but it
 * must not change, like the mapped files. */
int store_watch(struct tensors *t, const char *path, struct error *e) MUST_USE;

/* Adds a zeroed tensor named by `length` bytes (refused: more than 1024, none, or a NUL among
 * them). Messages name `file`. Valid until the next is added. */
struct tensor *store_add(struct tensors *t, const struct mapped *file, const char *name,
                         size_t length, struct error *e) MUST_USE;

/* Sets type, shape, count, bytes and the strides of dense rows. An unsupported type, a rank beyond
 * TENSOR_RANK_MAX or a shape that overflows 64 bits is an error that names PATH and the tensor. */
int store_shape(struct tensor *t, const struct stored_type *stored, int rank, const size_t *shape,
                const char *path, struct error *e) MUST_USE;

/* Zeroed memory that lives as long as the store; more than the system has is refused, with `what`
 * in the message. It is shared memory, so tensors_release_pages does not lose it. */
void *store_memory(struct tensors *t, size_t bytes, const char *what, struct error *e) MUST_USE;

/* The same for data that may be larger than memory (io/system/spill.h). */
void *store_spill(struct tensors *t, size_t bytes, const char *what, struct error *e) MUST_USE;

/* A store without data: from now on each tensor that tensors_suppose is asked for exists, of this
 * type and full of zeros. */
void store_suppose(struct tensors *t, enum element type);

/* Sorts by name, and refuses duplicate names and tensors that share data so much that they claim 64
 * times the size of the files. Afterwards tensors can be found, and none added. */
int store_finish(struct tensors *t, struct error *e) MUST_USE;

/* Gives a tensor of a finished store the type, place and numbers of another of its shape, in `file`
 * or in memory of the store. */
void store_replace(struct tensors *t, struct tensor *old, const struct tensor *with,
                   const struct mapped *file);
/* Removes the tensors marked as companions from a finished store. */
void store_drop_companions(struct tensors *t);
/* Sorts the tensors of a finished store again after store_rename; their names are unique. */
void store_sort(struct tensors *t);

/* Writes all elements, row after row. -1 if writing fails. */
int store_write(FILE *out, const struct tensor *tensor) MUST_USE;

/* Adds a line to the result of tensors_notes. */
void store_note(struct tensors *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* Sets the result of tensors_assumed. */
void store_assume(struct tensors *t, const char *text);
/* Renames a tensor of a finished store; the new name is no longer than the old one. store_finish
 * or store_sort sorts again. */
void store_rename(struct tensor *t, const char *name);

/* Stores the total bytes of all tensors as stated by an index; store_stated returns 0 if it states
 * none. */
void store_state(struct tensors *t, size_t bytes);
int store_stated(const struct tensors *t, size_t *bytes);

/* The mapped files. */
size_t store_files(const struct tensors *t);
const struct mapped *store_file_at(const struct tensors *t, size_t index);
/* The file that holds a tensor of a finished store. */
const struct mapped *store_file(const struct tensor *tensor);

#endif
