/* The result folder of a verb whose results are written at once: locked, checked for results of before, and the command as it is
 * recorded. */
#ifndef REACH_RUN_RESULTS_H
#define REACH_RUN_RESULTS_H

#include "io/system/atomic.h"
#include "run/progress.h"

struct results {
    const char *folder; /* borrowed */
    int lock, is_new;
};

/* A file that a result may have. `found` is what its verb found. */
struct results_file {
    const char *name;
    int (*is_wanted)(const void *found); /* NULL: always */
    /* Writes PATH, but for the renaming (atomic_stage). 0 or -1. */
    int (*write)(const void *found, const char *path, struct atomic_file *out, struct error *e);
};

/* All that one may have: the first file is what makes them a result. */
struct results_layout {
    const struct results_file *files; /* ended by one without a name */
    const char *const *stems; /* of its figures, ended by NULL */
};

/* Makes and locks the folder; refuses it when a file or a figure's script of the layout is there, unless `force`. 0 or -1. */
int results_open(struct results *r, const char *folder, const struct results_layout *l, int force, struct error *e) MUST_USE;
/* 1 and a message if one of them is in the folder, or memory runs out. */
int results_exist(const char *folder, const struct results_layout *l, struct error *e);
/* 1 if PATH, where an option has a file written, is one of them in FOLDER: one of the two would be lost. */
int results_holds(const char *folder, const struct results_layout *l, const char *path);
/* Unlocks; a folder that was made for nothing is removed. */
void results_close(struct results *r);

/* Writes the files that are wanted whole under temporary names and puts them in their places in FOLDER, so that a kill at any
 * moment leaves the files of one run or of the other, never of both: removed is first what was there (of the whole layout, with
 * scripts and pictures, the file that makes them a result first of all), and the new file that makes them a result comes last.
 * 0 or -1. */
int results_write(const char *folder, const struct results_layout *l, const void *found, struct error *e) MUST_USE;

/* "command: COMMAND", as it stands in files; NULL when memory runs out. Caller frees. */
char *command_comment(const char *command);

/* Tells `p` what drawing a figure returned (plots/figure.h): results do without pictures. 0, or -1 with the message in *e. */
int results_drawn(int drawn, struct progress *p, const struct error *e);

/* FOLDER/NAME; NULL with *e when memory runs out. Caller frees. */
char *results_path(const char *folder, const char *name, struct error *e);

/* An error where PATH, a folder of `reach erf` or a file in one, lies beside the journal of an unfinished run: which run it is of
 * nobody can tell. */
int results_check_finished(const char *path, struct error *e) MUST_USE;

#endif
