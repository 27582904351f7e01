/* Private to io/. */
#ifndef REACH_IO_GGUF_SPLIT_H
#define REACH_IO_GGUF_SPLIT_H

#include "io/tensors/store.h"

/* Puts a matrix for each expert in place of every tensor of a finished store that holds one of all experts of a layer, under the
 * names that the library's files have for them; the data stay where they are. Refused where the library has them in an order that
 * no view gives. */
int gguf_split_experts(struct tensors *t, const char *model_type, struct error *e) MUST_USE;

#endif
