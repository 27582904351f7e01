/* One call of a verb, from its arguments to its exit status. */
#ifndef REACH_COMMANDS_VERB_H
#define REACH_COMMANDS_VERB_H

#include "commands/options.h"
#include "commands/terminal.h"
#include "io/formats/json_write.h"

/* Of the documents of --json: a reader that knows a number understands all documents with it. */
enum { DOCUMENT_SCHEMA = 1 };

struct call {
    const struct verb *verb;
    void *options;
    char *command; /* as recorded */
    struct settings settings; /* what the result depends on */
    struct terminal terminal; /* for the run's messages */
    struct json_writer *json; /* with --json, which nothing else may be printed with; else NULL */
};

/* Adds the tables of the verb to the document of --json: those that only it has from `shown`, those
 * that are files too from `found`. 0 or -1. */
int verb_document(struct call *c, const void *shown, const void *found, struct error *e) MUST_USE;

/* The common part of all verbs: parses, prints the help, starts threads and the log, runs, reports
 * errors, and frees everything. Returns the exit status. */
int verb_run(const struct verb *v, int argc, char **argv);

#endif
