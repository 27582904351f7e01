/* Checkpoints in HDF5: one dataset for each tensor, with the tensor's name as its path (`/` for
 * `.`), and the config as JSON in the attribute `config` of the root. Private to io/. */
#ifndef REACH_IO_CONTAINERS_HDF_TENSORS_H
#define REACH_IO_CONTAINERS_HDF_TENSORS_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* Adds every dataset of the mapped file. Contiguous ones are views of the mapping, others (chunked,
 * deflated) are read into memory of the store. Links that leave the file, external storage, filters
 * that are not HDF5's own and big-endian numbers are refused. *own: the attribute `config`, or NULL
 * if there is none. Caller closes *own. */
int hdf_tensors_read(struct tensors *t, const struct mapped *file, struct config **own,
                     struct error *e) MUST_USE;

/* Writes all tensors, dense and in order of name, and the config, to PATH, atomically. */
int hdf_tensors_write(const char *path, struct tensors *t, const struct config *c,
                      struct error *e) MUST_USE;

#endif
