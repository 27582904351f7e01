/* Files that must stay as they are while they are used: what is read from them is measured for hours, and recorded under one
 * digest. Private to io/.
 *
 * Descriptors are compared, not paths: a file that another is renamed over lives on behind its descriptor with the bytes that it
 * had, and so does one that is removed. Both, and a further name, change the time of the last change of state (ctime), and the
 * number of names with it; ctime alone changes when a file is written to, also where the time of the last write (mtime) is set
 * back. */
#ifndef REACH_IO_WATCH_H
#define REACH_IO_WATCH_H

#include "io/error.h"

#include <stddef.h>
#include <stdint.h>
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

struct watched {
    char *path;
    int descriptor;
    struct stamp stamp;
};

/* Zeroed: no files. */
struct watch {
    struct watched *files;
    size_t count;
};

/* Opens a regular file and tells its size; its descriptor belongs to the watch. -1 on failure. */
int watch_open(struct watch *w, const char *path, size_t *size, struct error *e) MUST_USE;
/* Waits until the times of all files are past, so that whatever is written from now on has another time. To be called before what
 * is in them is believed. */
int watch_settle(struct watch *w, struct error *e) MUST_USE;
/* An error that names the first file that has changed since it was opened. */
int watch_check(struct watch *w, struct error *e) MUST_USE;
void watch_close(struct watch *w);

#endif
