/* Private to io/. */
#ifndef REACH_IO_GGUF_SPLIT_H
#define REACH_IO_GGUF_SPLIT_H

#include "io/tensors/store.h"

/* Replaces every tensor of a finished store that holds all experts of a layer by a matrix for each
 * expert, named as in the library's files; the data stay where they are. Refused if no view gives
 * the library's order. */
int gguf_split_experts(struct tensors *t, const char *model_type, struct error *e) MUST_USE;

#endif
