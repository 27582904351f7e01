/* The result folder of a verb whose results are written at once: locked, checked for results of before, and the command as it is recorded. */
#ifndef REACH_COMMANDS_RESULTS_H
#define REACH_COMMANDS_RESULTS_H

#include "commands/options.h"

struct results {
    const char *folder; /* borrowed */
    int lock, is_new;
};

/* Makes and locks the folder; refuses it when one of `names` (NULL-terminated) is there, unless `force`. 0 or -1. */
int results_open(struct results *r, const char *folder, const char *const *names, int force, struct error *e) MUST_USE;
/* Unlocks; a folder that was made for nothing is removed. */
void results_close(struct results *r);
/* FOLDER/NAME; NULL with *e when memory runs out. Caller frees. */
char *results_path(const char *folder, const char *name, struct error *e);

/* A blank, and the word as a shell reads it back. */
void command_word(FILE *f, const char *word);

#endif
