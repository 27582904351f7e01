/* Files written completely or not at all, and the lock on a result folder. */
#ifndef REACH_IO_SYSTEM_ATOMIC_H
#define REACH_IO_SYSTEM_ATOMIC_H

#include "io/error.h"

#include <stdio.h>

struct atomic_file {
    FILE *stream;
    char *path, *temporary;
};

/* Opens a temporary file beside PATH for writing, locked. Removes those of PATH left by killed
 * processes. */
int atomic_open(struct atomic_file *f, const char *path, struct error *e) MUST_USE;
/* Checks every write, fsyncs file and folder, renames. On failure the temporary file is removed and
 * PATH is as before. */
int atomic_commit(struct atomic_file *f, struct error *e) MUST_USE;
/* The two halves of commit, for files that only make sense together: the first checks, fsyncs and
 * closes, the second renames. */
int atomic_stage(struct atomic_file *f, struct error *e) MUST_USE;
int atomic_place(struct atomic_file *f, struct error *e) MUST_USE;
/* Closes and removes the temporary file; no-op on a committed or zeroed struct. */
void atomic_abandon(struct atomic_file *f);

/* Name of a temporary file beside PATH for a library that opens by name (HDF5). Caller frees the
 * string after one of the two calls below. */
char *atomic_temporary_name(const char *path, struct error *e) MUST_USE;
/* Its commit: syncs and renames; on failure the temporary file is removed. */
int atomic_rename(const char *temporary, const char *path, struct error *e) MUST_USE;
/* Removes it instead. */
void atomic_discard(const char *temporary);

/* Removes every open temporary file, locks of folders, scratch folders and watched folders;
 * async-signal-safe, for a handler of SIGINT or SIGTERM. */
void atomic_remove_all(void);

/* Makes renames and removals in the folder survive a power cut, before any later ones. */
int folder_sync(const char *path, struct error *e) MUST_USE;
/* Makes PATH and its parents. A file in the way, or a folder that cannot be written to, is an
 * error. */
int folder_make(const char *path, struct error *e) MUST_USE;
/* Locks the folder (flock on a lock file in it) and returns a descriptor to keep open, or -1: "in
 * use by another reach". */
int folder_lock(const char *path, struct error *e) MUST_USE;
void folder_unlock(int descriptor, const char *path);
/* From now on, until folder_unwatch, atomic_remove_all removes the folder if it is empty. */
int folder_watch(const char *path, struct error *e) MUST_USE;
void folder_unwatch(const char *path);
/* Makes a folder STEM-XXXXXX for files alone in $TMPDIR or /tmp, and returns its path, or NULL.
 * folder_scratch_remove removes it with its contents, and frees the path; does nothing for NULL. */
char *folder_scratch(const char *stem, struct error *e) MUST_USE;
void folder_scratch_remove(char *made);

#endif
