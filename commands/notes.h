/* Notes below tables, as a member of the documents of --json. */
#ifndef REACH_COMMANDS_NOTES_H
#define REACH_COMMANDS_NOTES_H

#include "io/formats/csv.h"

#include <stdio.h>

extern const struct csv_layout notes_layout;

/* A row for each line that `put` writes about `found`. */
int notes_rows(const void *found, void (*put)(FILE *f, const void *found), struct csv *csv,
               struct error *e) MUST_USE;

/* The same lines on standard output. */
int notes_print(const void *found, void (*put)(FILE *f, const void *found),
                struct error *e) MUST_USE;

#endif
