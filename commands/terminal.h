/* Where a run's words go: a bar and messages on standard error, and a log file. */
#ifndef REACH_COMMANDS_TERMINAL_H
#define REACH_COMMANDS_TERMINAL_H

#include "run/progress.h"

#include <stdio.h>

struct terminal {
    struct progress progress; /* what the run sees */
    const char *verb;
    int quiet; /* no bar and no messages */
    int bar; /* standard error is a terminal */
    FILE *log; /* NULL: none */
    double drawn; /* when the bar was drawn last */
    struct error not_drawn; /* why pictures are missing; empty: nothing was said of them */
};

/* Starts; `log_path` NULL: no log, else messages are appended to it. */
int terminal_open(struct terminal *t, const char *verb, int quiet, const char *log_path, struct error *e) MUST_USE;
/* Messages alone: no bar and no log, so that nothing can fail, and nothing needs to be closed. */
void terminal_plain(struct terminal *t, const char *verb, int quiet);
/* Clears the bar's line, before something else is printed. */
void terminal_clear(struct terminal *t);
void terminal_close(struct terminal *t);

#endif
