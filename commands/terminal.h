/* Output of a run's messages: a bar and messages on standard error, and a log file. */
#ifndef REACH_COMMANDS_TERMINAL_H
#define REACH_COMMANDS_TERMINAL_H

#include "commands/log.h"

struct terminal {
    struct progress progress; /* for the run */
    const char *verb;
    int quiet; /* no bar and no messages */
    int bar; /* standard error is a terminal */
    struct log log;
    int lines; /* it is none: lines of progress in place of the bar */
    double drawn; /* when the bar was last drawn */
    double said; /* the last line of progress, in seconds from the start */
    struct error not_drawn; /* why pictures are missing; empty: not reported */
};

/* Starts; `log_path` NULL: no log, else events are appended to it, first the start of `command`. */
int terminal_open(struct terminal *t, const char *verb, int quiet, const char *log_path,
                  const char *command, struct error *e) MUST_USE;
/* Only messages: without bar and log, so that nothing can fail or needs closing. */
void terminal_plain(struct terminal *t, const char *verb, int quiet);
/* No messages either: for a rank whose output nobody needs. */
void terminal_silent(struct terminal *t, const char *verb);
/* At each step, in place of the bar where standard error is not a terminal: prints what is done and
 * the time left after a minute, then at intervals of at least a minute and at least a fifth of the
 * time since the start. */
void terminal_line(struct terminal *t);
/* Clears the bar's line before other output. */
void terminal_clear(struct terminal *t);
/* Prints speed and memory at the end, for people. */
void terminal_sum_up(struct terminal *t);
/* Logs the end: `message` says why a run failed, NULL if it did not. */
void terminal_close(struct terminal *t, const char *message);

#endif
