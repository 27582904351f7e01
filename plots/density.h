/* The size of a png on paper, which gnuplot does not record. */
#ifndef REACH_PLOTS_DENSITY_H
#define REACH_PLOTS_DENSITY_H

#include "io/error.h"

/* Puts `dpi` dots to the inch into the picture at `path` (PNG specification, 11.3.4.3: pHYs), in place of what it says of it. */
int density_write(const char *path, double dpi, struct error *e) MUST_USE;

#endif
