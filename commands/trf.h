/* What `reach trf` prints. */
#ifndef REACH_COMMANDS_TRF_H
#define REACH_COMMANDS_TRF_H

#include "run/trf/trf.h"

/* Tables, proofs and the ranking on standard output. */
int trf_print(const struct trf_run *r, struct error *e) MUST_USE;
/* The TRF(0.01) of every head of a checkpoint as `reach info` has it: a line for layers that are alike. */
int trf_print_summary(const struct decoder *d, struct error *e) MUST_USE;

#endif
