/* A file's state when it was opened, for later comparison. Private to io/.
 *
 * Descriptors are compared, not paths: a file that was removed, or replaced by a rename, stays
 * accessible by its descriptor with its old bytes. Both, and adding a name, change the ctime
 * together with the number of names; a write changes the ctime alone, even if the mtime is set
 * back. */
#ifndef REACH_IO_SYSTEM_STAMP_H
#define REACH_IO_SYSTEM_STAMP_H

#include "io/error.h"

#include <sys/stat.h>
#include <time.h>

/* A file's state. */
struct stamp {
    dev_t device;
    ino_t inode;
    nlink_t names;
    off_t size;
    struct timespec written, changed;
};

/* Stamps an open file, before anything is read from it. */
int stamp_take(struct stamp *s, int descriptor, const char *path, struct error *e) MUST_USE;
/* 0 if the file is unchanged; then updates the stamp's number of names. */
int stamp_check(struct stamp *s, int descriptor, const char *path, struct error *e) MUST_USE;

#endif
