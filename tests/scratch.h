/* A fresh folder for a test's files, a full disk, and checks on messages. */
#ifndef REACH_TESTS_SCRATCH_H
#define REACH_TESTS_SCRATCH_H

#include "io/error.h"

#include <stddef.h>

/* Makes a folder under $TMPDIR or /tmp; free and remove it with scratch_remove. */
char *scratch_make(void);
void scratch_remove(char *made);

/* One folder for all tests of a program: group fixtures for cmocka, and its path while they run. */
extern char *scratch_folder;
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* "FOLDER/NAME" in a ring of static buffers (valid for the next seven calls). */
const char *scratch_path(const char *in, const char *name);
/* Writes a file there and returns its path as scratch_path does. */
const char *scratch_write(const char *in, const char *name, const void *data, size_t size);
/* The whole file; caller frees. */
unsigned char *scratch_read(const char *path, size_t *size);
/* How many files lie in the folder (. and .. not counted). */
int scratch_count(const char *in);

/* 0 if the message is one line that holds each of the words (separated by |); otherwise prints
 * `what` and the message, and returns -1. */
int check_message(const char *what, const struct error *e, const char *words);

/* While it is set no file may grow beyond `bytes`: writing fails as on a full disk. scratch_unlimit
 * ends that. */
void scratch_limit(size_t bytes);
void scratch_unlimit(void);

#endif
