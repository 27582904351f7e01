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

/* Makes and locks the folder; refuses it when one of `names` (NULL-terminated) is there, unless `force`. 0 or -1. */
int results_open(struct results *r, const char *folder, const char *const *names, int force, struct error *e) MUST_USE;
/* 1 if PATH, where an option has a file written, is one of `names` in FOLDER: one of the two would be lost. */
int results_holds(const char *folder, const char *const *names, const char *path);
/* Unlocks; a folder that was made for nothing is removed. */
void results_close(struct results *r);

/* The files of one result, each written whole under a temporary name; the first one is what makes them a result. Zeroed: none. */
enum { RESULTS_FILES_MAX = 5 };
struct results_files {
    struct atomic_file file[RESULTS_FILES_MAX];
    int count;
};

/* Puts them in their places in FOLDER, so that a kill at any moment leaves the files of one run or of the other, never of both:
 * removed is first what was there
 * (`names`, and scripts and pictures of the figures `stems`, NULL-terminated lists, the file that makes them a result first of
 * all), and the new file that makes them a result comes last. 0 or -1. */
int results_place(struct results_files *r, const char *folder, const char *const *names, const char *const *stems,
                  struct error *e) MUST_USE;
void results_abandon(struct results_files *r);

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
