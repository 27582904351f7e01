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

#endif
