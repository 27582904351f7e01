/* The memory available, so that a file that needs more is refused before the system kills the
 * program. */
#ifndef REACH_IO_SYSTEM_MEMORY_H
#define REACH_IO_SYSTEM_MEMORY_H

#include "io/error.h"

#include <stddef.h>

/* Bytes still available: what the system reports, within the limits of this process (ulimit -v, -d)
 * and of its control groups. SIZE_MAX if unknown. */
size_t memory_available(void);

/* The most bytes of memory that this program held at once, including pages of mapped files; 0 if
 * unknown. */
size_t memory_peak(void);

/* Fails if `bytes` are more than that; `what` says their purpose. Asks the system each time: not
 * for small amounts. */
int memory_check(size_t bytes, const char *what, struct error *e) MUST_USE;

/* Bytes for people, in powers of 1000: "1.23 GB", "1.2 MB", "12 kB" (rounded up). Returns `out`. */
enum { BYTES_TEXT = 16 };
char *bytes_text(char out[BYTES_TEXT], double bytes);

#endif
