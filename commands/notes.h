/* Notes below tables, as a member of the documents of --json. */
#ifndef REACH_COMMANDS_NOTES_H
#define REACH_COMMANDS_NOTES_H

#include "io/formats/csv.h"

#include <stdio.h>

extern const struct csv_layout notes_layout;

/* A row for each line that `put` writes about `found`. */
int notes_rows(const void *found, void (*put)(FILE *f, const void *found), struct csv *csv,
               struct error *e) MUST_USE;

/* What `put` writes about each of `count` models, a line for each different text, after the names
 * of those that it is said of; nothing about models of which `put` writes nothing. */
struct model_notes {
    const void *found;
    size_t count;
    const char *(*name)(const void *found, size_t model);
};
void notes_of_models(FILE *f, const struct model_notes *n,
                     void (*put)(FILE *f, const void *found, size_t model));

/* Sentences about each model stand below a table of at most so many. */
enum { SENTENCES_MOST = 3 };

/* The same lines as notes_rows on standard output. */
int notes_print(const void *found, void (*put)(FILE *f, const void *found),
                struct error *e) MUST_USE;

#endif
