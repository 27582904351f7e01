/* How much memory there is, so that a file which stands for more than that is refused before the system ends the program for it.
 */
#ifndef REACH_IO_SYSTEM_MEMORY_H
#define REACH_IO_SYSTEM_MEMORY_H

#include "io/error.h"

#include <stddef.h>

/* Bytes that can still be had: what the system says is available, and no more than the limits of this process (ulimit -v, -d) and
 * of its control groups leave. SIZE_MAX when nothing says. */
size_t memory_available(void);

/* The most bytes of memory that this program held at once, pages of mapped files included; 0 when nothing says. */
size_t memory_peak(void);

/* -1 when `bytes` are more than that; `what` they are for. Asks the system each time: not for small amounts. */
int memory_check(size_t bytes, const char *what, struct error *e) MUST_USE;

#endif
