/* Work that a library does on untrusted data, in a process of its own: it may crash, hang or ask for all memory, and only that
 * work fails. Private to io/. */
#ifndef REACH_IO_SYSTEM_CONFINE_H
#define REACH_IO_SYSTEM_CONFINE_H

#include "io/error.h"

#include <stddef.h>
#include <stdio.h>

enum { CONFINE_OUTPUT_MAX = 256 << 20 };

/* Runs work(out, context, e) in a child process, which gets `memory` bytes and `seconds` of processor time beyond what it begins
 * with. Its 0 or -1 and its message become this function's; what it wrote to `out` (at most CONFINE_OUTPUT_MAX bytes) is *output
 * of *size bytes, which the caller frees. Memory that is mapped shared is shared with it, other changes are lost. A child that
 * ends in any other way is an error: PATH is damaged. */
int confine(char **output, size_t *size, int (*work)(FILE *out, void *context, struct error *e), void *context, size_t memory,
            size_t seconds, const char *path, struct error *e) MUST_USE;

/* Zeroed memory that such a child shares, for much output. Takes no room until it is written to. NULL on failure, also when the
 * system has not so much; ended by confine_memory_free. */
void *confine_memory(size_t bytes, const char *what, struct error *e) MUST_USE;
void confine_memory_free(void *memory, size_t bytes);

#endif
