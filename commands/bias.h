/* What `reach bias` prints. */
#ifndef REACH_COMMANDS_BIAS_H
#define REACH_COMMANDS_BIAS_H

#include "run/bias/bias.h"

/* All biases, at growing distances. */
int bias_print(const struct bias_run *r, struct error *e) MUST_USE;
/* The presets, printed after the help. */
void bias_print_presets(void);

#endif
