/* What `reach fit` prints. */
#ifndef REACH_COMMANDS_FIT_H
#define REACH_COMMANDS_FIT_H

#include "run/fit/fit.h"

/* A table of all fits; of Sandwich, the curve that is published beside its readings. */
int fit_print(const struct fit_run *r, struct error *e) MUST_USE;

#endif
