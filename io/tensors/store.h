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

/* An empty store for what lies at PATH. tensors_close ends it at any stage. */
struct tensors *store_create(const char *path, struct error *e) MUST_USE;

/* Maps a regular file; it belongs to the store and counts in its digest, in the order of these calls. */
const struct mapped *store_map(struct tensors *t, const char *path, struct error *e) MUST_USE;

/* A regular file that says what the model is, and is about to be read: it is not part of the digest, and must stay as it is like
 * the mapped files. */
int store_watch(struct tensors *t, const char *path, struct error *e) MUST_USE;

/* Adds a zeroed tensor named by `length` bytes (refused: more than 1024, none, or a NUL among them). `file` is the one that
 * messages name. Valid until the next is added. */
struct tensor *store_add(struct tensors *t, const struct mapped *file, const char *name, size_t length, struct error *e) MUST_USE;

/* Sets type, shape, count, bytes and the strides of dense rows; a type that cannot be read, a rank beyond TENSOR_RANK_MAX and a
 * shape that overflows 64 bits are errors that name PATH and the tensor. */
int store_shape(struct tensor *t, const struct stored_type *stored, int rank, const size_t *shape, const char *path,
                struct error *e) MUST_USE;

/* Zeroed memory that lives as long as the store; more than the system has is refused, with `what` in the message. It is shared
 * memory of the kernel's, which tensors_release_pages does not lose. */
void *store_memory(struct tensors *t, size_t bytes, const char *what, struct error *e) MUST_USE;

/* The same for what may be larger than memory (io/system/spill.h). */
void *store_spill(struct tensors *t, size_t bytes, const char *what, struct error *e) MUST_USE;

/* Sorts by name and refuses a name that is there twice, and tensors that share data so often that they claim 64 times what the
 * files hold. After it tensors may be found, and none added. */
int store_finish(struct tensors *t, struct error *e) MUST_USE;

/* Gives a tensor of a finished store the type, the place and the numbers of another of its shape, which lies in `file` or in
 * memory of the store's. */
void store_replace(struct tensors *t, struct tensor *old, const struct tensor *with, const struct mapped *file);
/* Takes the tensors out of a finished store that are marked as companions. */
void store_drop_companions(struct tensors *t);
/* Takes the last bytes from the names of the tensors of a type, in a finished store that no two of these names are the same in
 * and none is in already, and sorts anew. */
void store_cut_names(struct tensors *t, enum element type, size_t bytes);

/* Writes all elements, row after row. -1 when the stream takes no more. */
int store_write(FILE *out, const struct tensor *tensor) MUST_USE;

/* Adds a line to what tensors_notes gives. */
void store_note(struct tensors *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* What tensors_assumed gives. */
void store_assume(struct tensors *t, const char *text);
/* Gives a tensor of a finished store a name that is no longer than the old one; store_finish sorts anew. */
void store_rename(struct tensor *t, const char *name);

/* Keeps how many bytes an index states for all tensors together; *bytes of it, 0 when there is no such statement. */
void store_state(struct tensors *t, size_t bytes);
int store_stated(const struct tensors *t, size_t *bytes);

/* The mapped files. */
size_t store_files(const struct tensors *t);
const struct mapped *store_file_at(const struct tensors *t, size_t index);
/* The file that holds a tensor of a finished store. */
const struct mapped *store_file(const struct tensor *tensor);

#endif
