/* The safetensors format: one file's tensors into a store, and a store's tensors into a file.
 *
 * Format: huggingface/safetensors, README. Makes every check of the reference reader (header size,
 * UTF-8, JSON, types, offsets without holes or overlap, exact file size) and also refuses duplicate
 * names. Private to io/. */
#ifndef REACH_IO_CONTAINERS_SAFETENSORS_H
#define REACH_IO_CONTAINERS_SAFETENSORS_H

#include "io/tensors/store.h"

/* Adds the file's tensors; they point into the mapping. */
int safetensors_read(struct tensors *t, const struct mapped *file, struct error *e) MUST_USE;

/* Writes all tensors, dense and in the reference writer's order (widest type first, then by name),
 * for PATH, where atomic_place puts them. On failure nothing is left. */
struct atomic_file;
int safetensors_stage(const char *path, struct tensors *t, struct atomic_file *out,
                      struct error *e) MUST_USE;

#endif
