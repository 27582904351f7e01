/* Checkpoints in several files: the index that Hugging Face folders contain. Private to io/. */
#ifndef REACH_IO_CHECKPOINT_INDEX_H
#define REACH_IO_CHECKPOINT_INDEX_H

#include "io/tensors/store.h"

/* Reads the index at PATH ({"weight_map": {tensor: file}}), then with `read` every file it names,
 * in order of name, and finishes the store. Names that lead out of the folder are refused, and so
 * is a tensor that is not in the file named by the index. */
int index_read(struct tensors *t, const char *path,
               int (*read)(struct tensors *t, const char *path, struct error *e),
               struct error *e) MUST_USE;

#endif
