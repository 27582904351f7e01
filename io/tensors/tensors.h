/* The tensors of a checkpoint, whatever file format they lie in: views of mapped files, found by name.
 *
 * io/checkpoint/checkpoint.h opens a store; io/tensors/store.h is the side that readers of formats see. */
#ifndef REACH_IO_TENSORS_TENSORS_H
#define REACH_IO_TENSORS_TENSORS_H

#include "io/element.h"
#include "io/error.h"

#include <stdint.h>

enum { TENSOR_RANK_MAX = 8 };

/* Every type that files hold, under the name that safetensors gives it, and quantised ones. What we do not compute with is split:
 * integers are passed by (mask buffers), codes are numbers with a scale beside them alone (io/tensors/quantised.h), other kinds
 * are refused by name. */
struct stored_type {
    const char *name; /* "F32" */
    size_t bytes; /* of one element, of quantised ones of a block; 0: less than a byte */
    enum stored_kind { STORED_REAL, STORED_QUANTISED, STORED_INTEGER, STORED_CODES, STORED_OTHER } kind;
    enum element type; /* of a real or quantised one */
};

/* The type of that name in safetensors, or NULL. */
const struct stored_type *stored_type_find(const char *name);
/* The type whose elements are of that type. */
const struct stored_type *stored_type_of(enum element type);

/* One stored tensor, little-endian. Element [i, j, ...] is stride[0] i + stride[1] j + ... elements behind `data` (of no
 * alignment, and living as long as the store). Strides are never negative, and every element lies within the file or within
 * memory that the store owns. Along one axis of a quantised tensor elements lie side by side, in whole blocks. Of a tensor with
 * scales `data` point to a struct scaled (io/scaled.h). */
struct tensor {
    const char *name;
    const void *data;
    const struct stored_type *stored;
    enum element type;
    int rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t stride[TENSOR_RANK_MAX]; /* elements */
    size_t count; /* elements */
    size_t bytes; /* of all elements, row after row, and of the scales beside them */
    int integer; /* 1: an integer or boolean type, or codes; `type` means nothing */
    int companion; /* 1: belongs to a quantised matrix, and is about to leave the store */
    int merged; /* 1: an adapter changed it (io/adapters/adapter.h) */
    int used; /* set by whoever asks for it, so that tensors nobody asked for can be refused by name */
};

struct tensors;

void tensors_close(struct tensors *t);

/* Tensors in the order of their names. */
size_t tensors_count(const struct tensors *t);
struct tensor *tensors_at(struct tensors *t, size_t index);
/* The tensor of that name, or NULL. Tensors of an integer or boolean type are listed with used = 1 and are not found: families
 * that keep mask buffers store them so. */
struct tensor *tensors_find(struct tensors *t, const char *name);
/* The same, integers too. */
struct tensor *tensors_find_any(struct tensors *t, const char *name);
const char *tensors_path(const struct tensors *t);
/* Lines, \n between them, about how the checkpoint was read that whoever runs it should see: what was passed over, cut from names
 * or assumed; "": none. */
const char *tensors_notes(const struct tensors *t);
/* What the format of the checkpoint cannot say and was taken for granted, ", " between, printable; "": nothing. */
const char *tensors_assumed(const struct tensors *t);

/* An error that names the first of the files that the store was read from (and of those that describe it: index, settings) that
 * was written to since it was opened. Whoever keeps what was computed from the tensors asks first. A file that another was
 * renamed over, or that is removed, is still what it was. */
int tensors_unchanged(struct tensors *t, struct error *e) MUST_USE;

/* XXH3-128 of the bytes of every file of the store, shards in the order of their names, as 32 hex digits. Reads the files once,
 * in pieces, and does not keep them in memory. */
int tensors_digest(struct tensors *t, char digest[33], struct error *e) MUST_USE;

/* Elements first .. first+count of the tensor in row-major order, as they are stored; those of quantised tensors as floats (and
 * `out` is aligned for these). */
void tensor_copy(void *out, const struct tensor *t, size_t first, size_t count);
/* The type of the elements that tensor_copy gives. */
enum element tensor_copied(const struct tensor *t);

/* The first quantised tensor, or NULL. */
const struct tensor *tensors_quantised(const struct tensors *t);
/* Quantised tensors count as F32 from now on, in which whoever writes them gets them: the same numbers in more bytes. */
int tensors_widen(struct tensors *t, struct error *e) MUST_USE;

/* Tells the kernel that mapped pages of this range are not needed now (they come back unchanged when touched). */
void tensors_release_pages(const void *data, size_t bytes);
/* The same for elements of a tensor that begin `first` behind `data`, and for all of a tensor. */
void tensors_release_elements(const void *data, enum element type, size_t first, size_t count);
void tensor_release(const struct tensor *t);

#endif
