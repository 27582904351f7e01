/* The verbs. */
#ifndef REACH_COMMANDS_COMMANDS_H
#define REACH_COMMANDS_COMMANDS_H

#include "commands/options.h"

extern const struct verb erf_verb, explain_verb, merge_verb, ppl_verb, trf_verb, bias_verb,
    fit_verb, plot_verb, report_verb, info_verb, convert_verb, tokenize_verb, families_verb,
    completion_verb, version_verb;

/* All of them, in the order of the help; ended by NULL. */
extern const struct verb *const verbs[];

/* The program: runs the verb named by the arguments, or prints help. Returns the exit status. */
int commands_main(int argc, char **argv);

#endif
