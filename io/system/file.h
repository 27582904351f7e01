/* Reading files that others wrote: regular files only, sizes bounded. Private to io/. */
#ifndef REACH_IO_SYSTEM_FILE_H
#define REACH_IO_SYSTEM_FILE_H

#include "io/error.h"

#include <stddef.h>

/* Opens a regular file for reading (a folder, pipe or device is an error) and gets its size.
 * Returns a descriptor, caller closes; -1 on failure. */
int file_open_regular(const char *path, size_t *size, struct error *e) MUST_USE;

/* Reads exactly `size` bytes at `offset`; a shorter file is an error. */
int file_read_at(int descriptor, const char *path, void *out, size_t size, size_t offset,
                 struct error *e) MUST_USE;

/* The whole file, at most `limit` bytes, followed by a NUL. A write to the file meanwhile is an
 * error. Caller frees. */
char *file_read_whole(const char *path, size_t limit, size_t *size, struct error *e) MUST_USE;

/* Writes all bytes, and continues after interruptions and short writes. errno says why on -1. */
int file_write_all(int descriptor, const void *data, size_t size) MUST_USE;

/* FOLDER/NAME, with one slash between them. Caller frees; NULL with *e. */
char *path_join(const char *folder, const char *name, struct error *e) MUST_USE;
/* 1 if FOLDER/NAME exists. */
int path_exists(const char *folder, const char *name);
/* The part of PATH after its last slash (borrowed). */
const char *path_base(const char *path);

#endif
