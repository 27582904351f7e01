/* What `reach fit` prints. */
#ifndef REACH_COMMANDS_FIT_H
#define REACH_COMMANDS_FIT_H

#include "run/fit/fit.h"
#include "run/results.h"

/* What only --json has of a struct fit_run. */
extern const struct results_file *const fit_shown[];

/* A table of all fits; for Sandwich, the published curve beside its readings. */
int fit_print(const struct fit_run *r, struct error *e) MUST_USE;

#endif
