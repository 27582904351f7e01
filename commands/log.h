/* The file of --log: one JSON object a line, for schedulers and scripts. doc/outputs.md says what is in them. */
#ifndef REACH_COMMANDS_LOG_H
#define REACH_COMMANDS_LOG_H

#include "run/progress.h"

struct log {
    char *path; /* owned; NULL: there is no log */
    int descriptor;
    double progress; /* when the last line of progress was written */
    struct error failed; /* why lines are missing; empty: none are */
};

/* Opens a file to append to, made where there is none. A pipe must have a reader: nothing is waited for. */
int log_open(struct log *l, const char *path, struct error *e) MUST_USE;
/* Closes; no-op on a zeroed struct. */
void log_close(struct log *l);

/* Appends the line of an event with a single write. `facts` end with one without a name. Once a line could not be written no
 * other is tried, and l->failed says why. */
void log_line(struct log *l, const struct progress *p, const char *event, const struct progress_fact *facts);

#endif
