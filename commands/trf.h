/* What `reach trf` prints. */
#ifndef REACH_COMMANDS_TRF_H
#define REACH_COMMANDS_TRF_H

#include "run/trf/trf.h"

/* Tables, proofs and the ranking on standard output. */
int trf_print(const struct trf_run *r, struct error *e) MUST_USE;

/* What only --json has of a struct trf_run. */
extern const struct results_file *const trf_shown[];

/* The findings about the rotary positions of a bias, as lines of text; nothing if it has none. */
void trf_print_rotary(const struct trf_run *r, int argument, int bias);

#endif
