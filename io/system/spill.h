/* Room on disk for what may be larger than memory: files without a name, which are gone with the process, however it ends. */
#ifndef REACH_IO_SYSTEM_SPILL_H
#define REACH_IO_SYSTEM_SPILL_H

#include "io/error.h"

#include <stddef.h>

/* Zeroed memory behind which stands a file without a name, in $TMPDIR or /var/tmp, whose room is taken at once: the system writes
 * pages there when it needs theirs. NULL on failure, also when the disk has not so much; ended by munmap. */
void *spill_map(size_t bytes, const char *what, struct error *e) MUST_USE;

/* A file without a name in `folder`, whose room of `bytes` is taken at once; `what` it holds is for messages. Both are borrowed.
 * NULL on failure; ended by spill_close, NULL is allowed. */
struct spill;
struct spill *spill_open(const char *folder, size_t bytes, const char *what, struct error *e) MUST_USE;
/* `bytes` at offset `at`, all of them or -1. */
int spill_write(struct spill *s, size_t at, const void *data, size_t bytes, struct error *e) MUST_USE;
int spill_read(struct spill *s, size_t at, void *data, size_t bytes, struct error *e) MUST_USE;
void spill_close(struct spill *s);

#endif
