/* A store of the tensors of a GGUF file and its shards. Private to io/. */
#ifndef REACH_IO_GGUF_READ_H
#define REACH_IO_GGUF_READ_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* Adds the tensors of the file and of its other shards, with the names and layouts of the library.
 * Quantised ones stay as they are in the file; rows in another order are copied. *own: the model as
 * a config. Caller closes *own. */
int gguf_read(struct tensors *t, const struct mapped *file, struct config **own,
              struct error *e) MUST_USE;

/* The GGUF architecture's name for a model_type of the library; "": none. */
const char *gguf_name_of(const char *model_type);

#endif
