/* Scoring of one model at one context by a protocol. Private to run/ppl. */
#ifndef REACH_RUN_PPL_SCORE_H
#define REACH_RUN_PPL_SCORE_H

#include "run/ppl/ppl.h"

/* Targets that are scored: the same number, and the same ones in the same order, for every context. */
size_t score_targets(const struct ppl_run *r, const struct ppl_model *m);
/* Steps of progress that score_run takes. */
size_t score_steps(const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at);
/* The largest memory plan of the run; -1 if it cannot fit. */
int score_estimate(struct memory_plan *plan, const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at,
                   struct error *e) MUST_USE;
/* nll[score_targets] of all targets; at->seconds is set. -1 on failure or interruption, or when a log p is not finite (the
 * message says from which layer on). */
int score_run(double *nll, struct ppl_result *at, const struct ppl_run *r, const struct ppl_model *m, struct error *e) MUST_USE;

#endif
