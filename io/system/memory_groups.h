/* The memory that control groups leave: containers, batch systems and service managers set them.
 */
#ifndef REACH_IO_SYSTEM_MEMORY_GROUPS_H
#define REACH_IO_SYSTEM_MEMORY_GROUPS_H

#include <stddef.h>

/* Bytes that this process can still take before a memory limit of its control group, or of a group above it, is reached: what is
 * in use counts without the cached files that the system would give back first. Versions 1 and 2. SIZE_MAX where no limit is
 * set, or nothing can be read. `root` stands before every path ("" for this machine; a test has files of its own). */
size_t memory_of_groups(const char *root);

#endif
