/* The verbs. Each takes the arguments behind its name and returns the exit status: 0 done, 1 failed, 2 wrong usage. */
#ifndef REACH_COMMANDS_COMMANDS_H
#define REACH_COMMANDS_COMMANDS_H

#include "commands/options.h"

extern const struct verb trf_verb, fit_verb, plot_verb, bias_verb, info_verb, convert_verb, tokenize_verb, version_verb;

int main_erf(int argc, char **argv);
int main_merge(int argc, char **argv);
int main_ppl(int argc, char **argv);

#endif
