/* The file of --log: one JSON object per line, described in doc/outputs.md. */
#ifndef REACH_COMMANDS_LOG_H
#define REACH_COMMANDS_LOG_H

#include "run/progress.h"

struct log {
    char *path; /* owned; NULL: no log */
    int descriptor;
    double progress; /* when the last line of progress was written */
    struct error failed; /* why lines are missing; empty: none are */
};

/* Opens a file to append to, creating it if needed. A pipe must already have a reader. */
int log_open(struct log *l, const char *path, struct error *e) MUST_USE;
/* Closes; no-op on a zeroed struct. */
void log_close(struct log *l);

/* Appends the line of an event with a single write. `facts` ends with an entry without a name.
 * After a failed write it writes no more, and l->failed says why. */
void log_line(struct log *l, const struct progress *p, const char *event,
              const struct progress_fact *facts);

#endif
