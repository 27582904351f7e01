/* Reading a whole checkpoint once to check that nothing in it is damaged. */
#ifndef REACH_IO_CHECKPOINT_VERIFY_H
#define REACH_IO_CHECKPOINT_VERIFY_H

#include "io/tensors/tensors.h"

/* What was checked. */
struct verified {
    size_t files, bytes; /* of the store */
    size_t tensors; /* with all their numbers finite */
    size_t right, unguarded; /* zip records with a correct checksum, and records without one */
};

/* Checks what opening a checkpoint leaves unread: the CRC-32 of every record of PyTorch's zip
 * archives, that every number of the tensors marked `used` is finite, and the bytes of all tensors
 * against the total stated by an index. HDF5's own checksums are checked when the file is opened.
 * The first fault is an error that names file and record, or tensor and element (from 0). */
int tensors_verify(struct verified *out, struct tensors *t, struct error *e) MUST_USE;

#endif
