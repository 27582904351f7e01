/* The tensors of a checkpoint, in any file format: views of mapped files, found by name.
 *
 * io/checkpoint/checkpoint.h opens a store; io/tensors/store.h is the interface for readers of
 * formats. */
#ifndef REACH_IO_TENSORS_TENSORS_H
#define REACH_IO_TENSORS_TENSORS_H

#include "io/element.h"
#include "io/error.h"

#include <stdint.h>

enum { TENSOR_RANK_MAX = 8 };

/* Every type in files, by its safetensors name, and quantised types. Those we do not compute with:
 * integers are skipped (mask buffers), codes are numbers only with a separate scale
 * (io/tensors/quantised.h), other kinds are refused by name. */
struct stored_type {
    const char *name; /* "F32" */
    size_t bytes; /* of one element, for quantised types of a block; 0: less than a byte */
    enum stored_kind {
        STORED_REAL,
        STORED_QUANTISED,
        STORED_INTEGER,
        STORED_CODES,
        STORED_OTHER
    } kind;
    enum element type; /* of a real or quantised one */
};

/* The type of that name in safetensors, or NULL. */
const struct stored_type *stored_type_find(const char *name);
/* The stored type whose elements have that type. */
const struct stored_type *stored_type_of(enum element type);

/* One stored tensor, little-endian. Element [i, j, ...] is stride[0] i + stride[1] j + ... elements
 * after `data` (of any alignment, and living as long as the store). Strides are never negative, and
 * every element is within the file or memory owned by the store. Along one axis of a quantised
 * tensor elements are adjacent, in whole blocks. For a tensor with scales `data` points to a struct
 * scaled (io/scaled.h). */
struct tensor {
    const char *name;
    const void *data;
    const struct stored_type *stored;
    enum element type;
    int rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t stride[TENSOR_RANK_MAX]; /* elements */
    size_t count; /* elements */
    size_t bytes; /* of all elements, row after row, and of their scales */
    int integer; /* 1: an integer or boolean type, or codes; `type` means nothing */
    int companion; /* 1: belongs to a quantised matrix, and will leave the store */
    int beside; /* 1: of another model in the same checkpoint (model/outer.h) */
    int merged; /* 1: an adapter changed it (io/adapters/adapter.h) */
    int used; /* set by whoever asks for it, so that tensors nobody asked for can be refused by name
               */
};

struct tensors;

void tensors_close(struct tensors *t);

/* Tensors in order of name. */
size_t tensors_count(const struct tensors *t);
struct tensor *tensors_at(struct tensors *t, size_t index);
/* The tensor of that name, or NULL. Tensors of an integer or boolean type are listed with used = 1
 * and are not found, since families store mask buffers this way. */
struct tensor *tensors_find(struct tensors *t, const char *name);
/* The same, including integers. */
struct tensor *tensors_find_any(struct tensors *t, const char *name);
/* 1 if there are no data, and tensors are supposed (store_suppose): then only sizes mean anything.
 */
int tensors_supposed(const struct tensors *t);
/* The tensor of that name and shape, in a store of such tensors. NULL when memory runs out. Valid
 * until the next is asked for. */
struct tensor *tensors_suppose(struct tensors *t, const char *name, int rank, const size_t *shape,
                               struct error *e) MUST_USE;
const char *tensors_path(const struct tensors *t);
/* Lines, separated by \n, about how the checkpoint was read, for whoever runs it: what was skipped,
 * cut from names or assumed; "": none. */
const char *tensors_notes(const struct tensors *t);
/* What the checkpoint's format cannot say and was assumed, separated by ", ", printable; "":
 * nothing. */
const char *tensors_assumed(const struct tensors *t);

/* Fails, naming the first of the store's files (including index and settings) that was written to
 * since it was opened. Call it before keeping anything computed from the tensors. A file that was
 * removed, or replaced by a rename, counts as unchanged. */
int tensors_unchanged(struct tensors *t, struct error *e) MUST_USE;

/* XXH3-128 of the bytes of every file of the store, shards in order of name, as 32 hex digits.
 * Reads the files once, in pieces, and does not keep them in memory. */
int tensors_digest(struct tensors *t, char digest[33], struct error *e) MUST_USE;

/* Copies elements first .. first+count of the tensor in row-major order, as stored; those of
 * quantised tensors as floats (for which `out` is aligned). */
void tensor_copy(void *out, const struct tensor *t, size_t first, size_t count);
/* The type of the elements from tensor_copy. */
enum element tensor_copied(const struct tensor *t);

/* The first quantised tensor, or NULL. */
const struct tensor *tensors_quantised(const struct tensors *t);
/* From now on quantised tensors count, and are written, as F32: the same numbers in more bytes. */
int tensors_widen(struct tensors *t, struct error *e) MUST_USE;

/* Tells the kernel that mapped pages of this range are not needed now (they come back unchanged
 * when accessed). */
void tensors_release_pages(const void *data, size_t bytes);
/* The same for elements of a tensor from `first` on, and for all of a tensor. */
void tensors_release_elements(const void *data, enum element type, size_t first, size_t count);
void tensor_release(const struct tensor *t);
/* 1 if `data` is in a file that the store maps, or in memory that it made: pages of other memory
 * would be lost. */
int tensors_hold(const struct tensors *t, const void *data);

#endif
