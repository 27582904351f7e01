/* The result folder of a verb that writes its results at the end: locks it, checks it for earlier
 * results, and formats the recorded command. */
#ifndef REACH_RUN_RESULTS_H
#define REACH_RUN_RESULTS_H

#include "io/formats/csv.h"
#include "io/formats/json_write.h"
#include "io/system/atomic.h"
#include "run/progress.h"

struct results {
    const char *folder; /* borrowed */
    int lock, is_new;
};

/* A part of a result: a table, which is a CSV file and a member of the JSON document, or another
 * file. `found` is the verb's result. */
struct results_file {
    int (*is_wanted)(const void *found); /* NULL: always */

    /* a table: its rows, by csv_row. 0 or -1 */
    const struct csv_layout *layout;
    int (*rows)(const void *found, struct csv *csv, struct error *e);
    /* a line for readers; empty: none. The caller frees it; NULL: out of memory. May be NULL */
    char *(*note)(const void *found);
    int single; /* only in the document: an object, of the only row */

    /* another file: writes PATH, without the rename (atomic_stage). 0 or -1 */
    const char *name;
    int (*write)(const void *found, const char *path, struct atomic_file *out, struct error *e);
};

/* All files that a result may have; the first file makes them a result. */
struct results_layout {
    const struct results_file *const *files; /* ended by NULL */
    const char *const *stems; /* of its figures, ended by NULL */
};

/* Makes and locks the folder; refuses it if it has a file or a figure's script of the layout,
 * unless `force`. 0 or -1. */
int results_open(struct results *r, const char *folder, const struct results_layout *l, int force,
                 struct error *e) MUST_USE;
/* 1 with a message if one of them is in the folder, or memory runs out. */
int results_exist(const char *folder, const struct results_layout *l, struct error *e);
/* 1 if PATH, an output file named by an option, is one of them in FOLDER and would overwrite it. */
int results_holds(const char *folder, const struct results_layout *l, const char *path);
/* Unlocks, and removes a folder that was made and not used. */
void results_close(struct results *r);

/* Writes the wanted files under temporary names and then moves them into FOLDER, so that a kill at
 * any moment leaves files of the old or the new run, never of both. First it removes the old files
 * of the whole layout, with scripts and pictures, starting with the file that makes them a result;
 * the new one of that file is moved last. `command` is for their comments. 0 or -1. */
int results_write(const char *folder, const struct results_layout *l, const void *found,
                  const char *command, struct error *e) MUST_USE;

/* The wanted tables of a list as members of a document, after the first note among them as the
 * member `note`. 0 or -1. */
int results_document(struct json_writer *d, const struct results_file *const *files,
                     const void *found, struct error *e) MUST_USE;

/* "command: COMMAND", as in files; NULL: out of memory. Caller frees. */
char *command_comment(const char *command);

/* Reports to `p` the return value of drawing figures in FOLDER (plots/figure.h): results are valid
 * without pictures; and another font than the one asked for (NULL: the default). 0, or -1 with the
 * message in *e. */
int results_drawn(int drawn, const char *folder, const char *formats, const char *font,
                  struct progress *p, const struct error *e);

/* FOLDER/NAME; NULL with *e when memory runs out. Caller frees. */
char *results_path(const char *folder, const char *name, struct error *e);

/* Fails if PATH, a folder of `reach erf` or a file in one, is beside the journal of an unfinished
 * run, since it may be from another run. */
int results_check_finished(const char *path, struct error *e) MUST_USE;

#endif
