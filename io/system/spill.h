/* Disk space for data that may be larger than memory: unnamed files, which disappear with the
 * process, however it ends. */
#ifndef REACH_IO_SYSTEM_SPILL_H
#define REACH_IO_SYSTEM_SPILL_H

#include "io/error.h"

#include <stddef.h>

/* Zeroed memory backed by an unnamed file in $TMPDIR or /var/tmp. Its space is allocated at once;
 * the system writes pages there when it needs memory. NULL on failure, also if the disk has too
 * little space; freed by munmap. */
void *spill_map(size_t bytes, const char *what, struct error *e) MUST_USE;

/* An unnamed file in `folder`, whose `bytes` are allocated at once; `what` names its contents in
 * messages. Both are borrowed. NULL on failure; ended by spill_close, which accepts NULL. */
struct spill;
struct spill *spill_open(const char *folder, size_t bytes, const char *what,
                         struct error *e) MUST_USE;
/* `bytes` at offset `at`, all of them or -1. */
int spill_write(struct spill *s, size_t at, const void *data, size_t bytes,
                struct error *e) MUST_USE;
int spill_read(struct spill *s, size_t at, void *data, size_t bytes, struct error *e) MUST_USE;
void spill_close(struct spill *s);

#endif
