/* What every use of HDF5 here shares: its messages as ours. Private to io/. */
#ifndef REACH_IO_HDF_H
#define REACH_IO_HDF_H

#include "io/error.h"

/* Turns HDF5's own printing of errors off; call before the first use in a function. */
void hdf_quiet(void);

/* fail() with the innermost reason that HDF5 gives for the call that has just failed: "FILE: WHAT: reason". */
int hdf_fail(struct error *e, const char *path, const char *what);

#endif
