/* What every use of HDF5 here shares: its messages as ours. Private to io/. */
#ifndef REACH_IO_HDF_H
#define REACH_IO_HDF_H

#include "io/error.h"

#include <stddef.h>

/* Turns HDF5's own printing of errors off; call before the first use in a function. */
void hdf_quiet(void);

/* fail() with the innermost reason that HDF5 gives for the call that has just failed: "FILE: WHAT: reason". */
int hdf_fail(struct error *e, const char *path, const char *what);

/* Checks what HDF5 1.10 itself believes unseen and hangs or crashes on when it is wrong: the objects of its global heaps, where variable-length text
 * lies. Files with a user block or sizes other than 64 bits are refused. To be called on any file that comes from outside, before H5Fopen. */
int hdf_check_file(const char *path, struct error *e) MUST_USE;
/* The same of a file that is mapped. */
int hdf_check_memory(const unsigned char *bytes, size_t size, const char *path, struct error *e) MUST_USE;

#endif
