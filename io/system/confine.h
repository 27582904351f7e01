/* Runs a library's work on untrusted data in a separate process: if it crashes, hangs or asks for
 * all memory, only that work fails. Private to io/. */
#ifndef REACH_IO_SYSTEM_CONFINE_H
#define REACH_IO_SYSTEM_CONFINE_H

#include "io/error.h"

#include <stddef.h>
#include <stdio.h>

enum { CONFINE_OUTPUT_MAX = 256 << 20 };

/* Runs work(out, context, e) in a child process, limited to `memory` bytes and `seconds` of
 * processor time beyond its start. Returns the child's 0 or -1 with its message; what it wrote to
 * `out` (at most CONFINE_OUTPUT_MAX bytes) is *output of *size bytes, which the caller frees. The
 * child shares memory that is mapped shared; its other changes are lost. If it ends in any other
 * way, the error is that PATH is damaged. */
int confine(char **output, size_t *size, int (*work)(FILE *out, void *context, struct error *e),
            void *context, size_t memory, size_t seconds, const char *path,
            struct error *e) MUST_USE;

/* Zeroed memory that the child shares, for large output. Takes no room until it is written to. NULL
 * on failure, also if the system has too little; freed by confine_memory_free. */
void *confine_memory(size_t bytes, const char *what, struct error *e) MUST_USE;
void confine_memory_free(void *memory, size_t bytes);

#endif
