/* The size of a png on paper, which gnuplot does not store. */
#ifndef REACH_PLOTS_DENSITY_H
#define REACH_PLOTS_DENSITY_H

#include "io/error.h"

/* Sets the resolution of the picture at `path` to `dpi` dots per inch (PNG specification, 11.3.4.3:
 * pHYs), replacing any earlier value. */
int density_write(const char *path, double dpi, struct error *e) MUST_USE;

#endif
