/* Memory for what may be larger than memory. Private to io/. */
#ifndef REACH_IO_SPILL_H
#define REACH_IO_SPILL_H

#include "io/error.h"

#include <stddef.h>

/* Zeroed memory behind which stands a file without a name, in $TMPDIR or /var/tmp, whose room is taken at once: the system writes
 * pages there when it needs theirs. NULL on failure, also when the disk has not so much; ended by munmap. */
void *spill_map(size_t bytes, const char *what, struct error *e) MUST_USE;

#endif
