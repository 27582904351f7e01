/* A store of the tensors of a GGUF file and its shards. Private to io/. */
#ifndef REACH_IO_GGUF_READ_H
#define REACH_IO_GGUF_READ_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* Adds the tensors under the names and in the layouts of the library whose families are read, those of the other shards with
 * them. Quantised ones stay as they are in the file; rows that lie in another order there are copied. *own: the model as a
 * config. Caller closes *own. */
int gguf_read(struct tensors *t, const struct mapped *file, struct config **own, struct error *e) MUST_USE;

/* The architecture's name of a model_type of the library; "": there is none. */
const char *gguf_name_of(const char *model_type);

#endif
