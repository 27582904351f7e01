/* The parts of `reach erf` that read arguments and print. */
#ifndef REACH_COMMANDS_ERF_H
#define REACH_COMMANDS_ERF_H

#include "commands/verb.h"
#include "run/erf/parts.h"

/* options_parse, options_free and options_command of erf. */
int erf_options_parse(struct erf_options *o, int argc, char **argv, struct error *e) MUST_USE;
void erf_options_free(struct erf_options *o);
char *erf_options_command(const struct erf_options *o);

/* Runs the verb. */
int erf_call(struct call *c, struct error *e) MUST_USE;

/* The table, the paired differences and notes, to standard output. */
int erf_print(const struct erf_run *r, struct error *e) MUST_USE;
int erf_print_attention(const struct erf_run *r, struct error *e) MUST_USE;
/* Reruns the first segments of each model in the float64 reference set and prints the largest deviations. */
int erf_check_precision(const struct erf_run *r, struct error *e) MUST_USE;

#endif
