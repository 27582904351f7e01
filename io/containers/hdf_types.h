/* The types of HDF5 that tensors are stored as. Private to io/. */
#ifndef REACH_IO_CONTAINERS_HDF_TYPES_H
#define REACH_IO_CONTAINERS_HDF_TYPES_H

#include "io/tensors/tensors.h"

#include <hdf5.h>

/* The type for a tensor of that stored type, which is real or an integer; negative on failure. Caller closes. h5py knows them all
 * (BF16 only as a wider type). */
hid_t hdf_type_make(const struct stored_type *stored);

/* What a dataset's type is called here; NULL: none of them. */
const struct stored_type *hdf_type_find(hid_t type);

#endif
