/* What a long run says on standard error while it goes on: a bar on a terminal, messages, and a log file. */
#ifndef REACH_COMMANDS_PROGRESS_H
#define REACH_COMMANDS_PROGRESS_H

#include "io/error.h"

#include <stddef.h>
#include <stdio.h>

struct progress {
    const char *verb;
    int quiet; /* no bar and no messages */
    int bar; /* standard error is a terminal */
    FILE *log; /* NULL: none */
    double started; /* seconds on the monotonic clock */
    double measuring; /* when the measuring began: the rate is that of it alone */
    double drawn; /* when the bar was drawn last */
    const char *unit; /* of the work; progress_open sets "segments" */
    size_t total, done, at_start; /* units; at_start of them came from a journal */
};

/* Starts; `log_path` NULL: no log, else messages are appended to it. */
int progress_open(struct progress *p, const char *verb, int quiet, const char *log_path, struct error *e) MUST_USE;
/* A line to standard error (unless quiet) and to the log. */
void progress_message(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same, also where it is quiet: what went wrong and was put right. */
void progress_warning(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* A line to the log alone, with the seconds since the start. */
void progress_log(struct progress *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* The work: `total` segments of which `done` need not be measured again. */
void progress_start(struct progress *p, size_t total, size_t done);
/* `done` more segments are measured; `what` is being worked on. */
void progress_step(struct progress *p, size_t done, const char *what);
/* Clears the bar's line. */
void progress_clear(struct progress *p);
void progress_close(struct progress *p);

/* Seconds since progress_open. */
double progress_seconds(const struct progress *p);

#endif
