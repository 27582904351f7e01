/* The parts of `reach ppl` in commands/ppl*.c. */
#ifndef REACH_COMMANDS_PPL_H
#define REACH_COMMANDS_PPL_H

#include "commands/verb.h"
#include "run/ppl/ppl.h"

/* Runs the verb. */
int ppl_call(struct call *c, struct error *e) MUST_USE;

/* The table, the paired differences and notes, to standard output. */
int ppl_print(const struct ppl_run *r, struct error *e) MUST_USE;

/* Notes below the table that a reader needs to interpret it. */
void ppl_notes(FILE *f, const struct ppl_run *r);
/* What only --json has of a struct ppl_run. */
extern const struct results_file *const ppl_shown[];

/* How much context the targets of a model need, in tokens. */
struct gain_needs {
    double best; /* context of the lowest loss; `longest`: no other is clearly better */
    double longest, shorter; /* the longest context and the one before it */
    double half, most; /* enough for half of the targets, for nine tenths */
};
/* A sentence on it without a full stop; owned by the caller. NULL: out of memory. */
char *gain_sentence(const struct gain_needs *needs);

#endif
