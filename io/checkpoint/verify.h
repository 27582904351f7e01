/* Reading a whole checkpoint once to see that nothing in it is damaged. */
#ifndef REACH_IO_CHECKPOINT_VERIFY_H
#define REACH_IO_CHECKPOINT_VERIFY_H

#include "io/tensors/tensors.h"

/* What was looked at. */
struct verified {
    size_t files, bytes; /* of the store */
    size_t tensors; /* whose numbers are all finite */
    size_t right, unguarded; /* zip records whose checksum is right, and those without one */
};

/* Checks what opening a checkpoint leaves unread: the CRC-32 of every record of PyTorch's zip archives, every number of every
 * tensor that `used` is set of (finite), and the bytes of all tensors against the total that an index states. HDF5's own
 * checksums are checked when it is opened. The first fault is an error that names file and record, or tensor and element (from
 * 0). */
int tensors_verify(struct verified *out, struct tensors *t, struct error *e) MUST_USE;

#endif
