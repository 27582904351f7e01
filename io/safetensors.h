/* Checkpoint tensors in safetensors files, one or several shards, mapped and never copied whole.
 *
 * Format: huggingface/safetensors, README. Every check of the reference reader is made (header size, UTF-8, JSON, types, offsets without holes
 * or overlap, exact file size), and stricter ones: duplicate names are refused, shard names may not leave the folder. */
#ifndef REACH_IO_SAFETENSORS_H
#define REACH_IO_SAFETENSORS_H

#include "io/element.h"
#include "io/error.h"

#include <stdint.h>

enum { TENSOR_RANK_MAX = 8 };

/* One stored tensor: row-major, little-endian. `data` points into the mapping (no alignment promised) and lives as long as the store. */
struct tensor {
    const char *name;
    const void *data;
    enum element type;
    int rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t count; /* elements */
    size_t bytes;
    int integer; /* 1: an integer or boolean type; `type` means nothing */
    int used;    /* set by whoever asks for it, so that tensors nobody asked for can be refused by name */
};

struct tensors;

/* Opens PATH: a .safetensors file, a model.safetensors.index.json, or a folder holding one of them (the index
 * is preferred). Caller closes. NULL on failure.
 * Tensors of an integer or boolean type are listed with used = 1 and cannot be found: families that keep mask buffers store them so. */
struct tensors *tensors_open(const char *path, struct error *e) MUST_USE;
void tensors_close(struct tensors *t);

/* Tensors in the order of their names. */
size_t tensors_count(const struct tensors *t);
struct tensor *tensors_at(struct tensors *t, size_t index);
/* The tensor of that name, or NULL. */
struct tensor *tensors_find(struct tensors *t, const char *name);
const char *tensors_path(const struct tensors *t);

/* XXH3-128 of every file's bytes, shards in the order of their names, as 32 hex digits. Reads the files once, in pieces, and does not keep them in memory. */
int tensors_digest(struct tensors *t, char digest[33], struct error *e) MUST_USE;

/* Tells the kernel that mapped pages of this range are not needed now (they are read again from the file when touched). */
void tensors_release_pages(const void *data, size_t bytes);

#endif
