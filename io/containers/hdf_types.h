/* The HDF5 types that tensors are stored as. Private to io/. */
#ifndef REACH_IO_CONTAINERS_HDF_TYPES_H
#define REACH_IO_CONTAINERS_HDF_TYPES_H

#include "io/tensors/tensors.h"

#include <hdf5.h>

/* The HDF5 type for a tensor of that stored type, real or integer; negative on failure. Caller
 * closes. h5py reads all of them (BF16 only as a wider type). */
hid_t hdf_type_make(const struct stored_type *stored);

/* Our name for a dataset's type; NULL: no match. */
const struct stored_type *hdf_type_find(hid_t type);

#endif
