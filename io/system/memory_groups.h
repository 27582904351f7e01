/* The memory limits of control groups, set by containers, batch systems and service managers. */
#ifndef REACH_IO_SYSTEM_MEMORY_GROUPS_H
#define REACH_IO_SYSTEM_MEMORY_GROUPS_H

#include <stddef.h>

/* Bytes that this process can still take before it reaches a memory limit of its control group, or
 * of a group above it. Cached files that the system would reclaim first do not count as used.
 * Versions 1 and 2. SIZE_MAX if there is no limit, or nothing can be read. `root` is put before
 * every path ("" for this machine; other folders for tests). */
size_t memory_of_groups(const char *root);

#endif
