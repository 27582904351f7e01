/* Checkpoints in HDF5: a dataset a tensor, whose path is the tensor's name (`/` stands for `.`), and the config as JSON in the
 * attribute `config` of the root. Private to io/. */
#ifndef REACH_IO_CONTAINERS_HDF_TENSORS_H
#define REACH_IO_CONTAINERS_HDF_TENSORS_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* Adds every dataset of the mapped file. Those that lie there in one piece are views of the mapping, others (chunked, deflated)
 * are read into memory of the store. Links that leave the file, storage outside it, filters that are not HDF5's own and
 * big-endian numbers are refused. *own: the attribute `config`, or NULL when there is none. Caller closes *own. */
int hdf_tensors_read(struct tensors *t, const struct mapped *file, struct config **own, struct error *e) MUST_USE;

/* Writes all tensors, dense and in the order of their names, and the config, as PATH, which is there whole or not at all. */
int hdf_tensors_write(const char *path, struct tensors *t, const struct config *c, struct error *e) MUST_USE;

#endif
