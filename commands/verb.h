/* One call of a verb, from its arguments to its exit status. */
#ifndef REACH_COMMANDS_VERB_H
#define REACH_COMMANDS_VERB_H

#include "commands/options.h"
#include "commands/terminal.h"
#include "run/results.h"

struct call {
    const struct verb *verb;
    void *options;
    char *command; /* as it is recorded */
    struct settings settings; /* what the result depends on */
    struct terminal terminal; /* where the run's words go */
    struct results results; /* the folder, once it is locked */
    struct error not_drawn; /* why there are no pictures; empty: there are */
};

/* Parses, prints the help, starts threads and the log, runs, tells what went wrong, and puts everything away: all that verbs do
 * alike. Returns the exit status. */
int verb_run(const struct verb *v, int argc, char **argv);

/* Makes and locks the folder of -o, where one is given, until the call ends. 0 or -1. */
int call_lock(struct call *c, struct error *e) MUST_USE;

/* Takes what writing returned: -1, or what became of the pictures (plots/figure.h), of which *e tells. Where gnuplot is not there
 * the user is told; where it failed the call goes on, and fails at its end. 0 or -1. */
int call_drawn(struct call *c, int drawn, struct error *e) MUST_USE;

#endif
