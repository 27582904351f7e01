/* How a file was when it was opened, to be compared with later. Private to io/.
 *
 * Descriptors are compared, not paths: a file that another is renamed over lives on behind its descriptor with the bytes that it
 * had, and so does one that is removed. Both, and a further name, change the time of the last change of state (ctime), and the
 * number of names with it; ctime alone changes when a file is written to, also where the time of the last write (mtime) is set
 * back. */
#ifndef REACH_IO_SYSTEM_STAMP_H
#define REACH_IO_SYSTEM_STAMP_H

#include "io/error.h"

#include <sys/stat.h>
#include <time.h>

/* How a file was. */
struct stamp {
    dev_t device;
    ino_t inode;
    nlink_t names;
    off_t size;
    struct timespec written, changed;
};

/* Takes the stamp of an open file, before anything is read from it. */
int stamp_take(struct stamp *s, int descriptor, const char *path, struct error *e) MUST_USE;
/* 0 if the file is as it was; the stamp then counts its names anew. */
int stamp_check(struct stamp *s, int descriptor, const char *path, struct error *e) MUST_USE;

#endif
