/* Files that must not change while in use: a run measures what is read from them for hours, and
 * records it under one digest. Private to io/. */
#ifndef REACH_IO_SYSTEM_WATCH_H
#define REACH_IO_SYSTEM_WATCH_H

#include "io/system/stamp.h"

#include <stddef.h>

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

/* Opens a regular file and gets its size; its descriptor belongs to the watch. -1 on failure. */
int watch_open(struct watch *w, const char *path, size_t *size, struct error *e) MUST_USE;
/* Waits until the times of all files are past, so that any later write has another time. Call it
 * before trusting their contents. */
int watch_settle(struct watch *w, struct error *e) MUST_USE;
/* Fails, naming the first file that has changed since it was opened. */
int watch_check(struct watch *w, struct error *e) MUST_USE;
void watch_close(struct watch *w);

#endif
