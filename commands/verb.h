/* One call of a verb, from its arguments to its exit status. */
#ifndef REACH_COMMANDS_VERB_H
#define REACH_COMMANDS_VERB_H

#include "commands/options.h"
#include "commands/terminal.h"

struct call {
    const struct verb *verb;
    void *options;
    char *command; /* as it is recorded */
    struct settings settings; /* what the result depends on */
    struct terminal terminal; /* where the run's words go */
};

/* Parses, prints the help, starts threads and the log, runs, tells what went wrong, and puts everything away: all that verbs do
 * alike. Returns the exit status. */
int verb_run(const struct verb *v, int argc, char **argv);

#endif
