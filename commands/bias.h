/* What `reach bias` prints. */
#ifndef REACH_COMMANDS_BIAS_H
#define REACH_COMMANDS_BIAS_H

#include "run/bias/bias.h"
#include "run/results.h"

/* What only --json has of a struct bias_run. */
extern const struct results_file *const bias_shown[];

/* All biases, at growing distances. */
int bias_print(const struct bias_run *r, struct error *e) MUST_USE;
/* The presets, printed after the help. */
void bias_print_presets(FILE *f);

#endif
