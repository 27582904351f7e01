/* Where a run's words go: a bar and messages on standard error, and a log file. */
#ifndef REACH_COMMANDS_TERMINAL_H
#define REACH_COMMANDS_TERMINAL_H

#include "commands/log.h"

struct terminal {
    struct progress progress; /* what the run sees */
    const char *verb;
    int quiet; /* no bar and no messages */
    int bar; /* standard error is a terminal */
    struct log log;
    double drawn; /* when the bar was drawn last */
    struct error not_drawn; /* why pictures are missing; empty: nothing was said of them */
};

/* Starts; `log_path` NULL: no log, else what happens is appended to it, first that `command` begins. */
int terminal_open(struct terminal *t, const char *verb, int quiet, const char *log_path, const char *command,
                  struct error *e) MUST_USE;
/* Messages alone: no bar and no log, so that nothing can fail, and nothing needs to be closed. */
void terminal_plain(struct terminal *t, const char *verb, int quiet);
/* Not even messages: of a rank whose words nobody needs. */
void terminal_silent(struct terminal *t, const char *verb);
/* Clears the bar's line, before something else is printed. */
void terminal_clear(struct terminal *t);
/* How fast it went and what memory it took: for people, once all is done. */
void terminal_sum_up(struct terminal *t);
/* The end, in the log: `message` says why a run failed, NULL if it did not. */
void terminal_close(struct terminal *t, const char *message);

#endif
