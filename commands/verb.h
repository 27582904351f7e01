/* One call of a verb, from its arguments to its exit status. */
#ifndef REACH_COMMANDS_VERB_H
#define REACH_COMMANDS_VERB_H

#include "commands/options.h"
#include "commands/terminal.h"

struct call {
    const struct verb *verb;
    void *options;
    char *command; /* as recorded */
    struct settings settings; /* what the result depends on */
    struct terminal terminal; /* for the run's messages */
};

/* The common part of all verbs: parses, prints the help, starts threads and the log, runs, reports
 * errors, and frees everything. Returns the exit status. */
int verb_run(const struct verb *v, int argc, char **argv);

#endif
