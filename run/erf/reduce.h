/* From norms to summaries. */
#ifndef REACH_RUN_ERF_REDUCE_H
#define REACH_RUN_ERF_REDUCE_H

#include "run/erf/run.h"

/* Summaries of all fields of target `target` from their norms. 0, -1, or ERF_UNUSABLE when every segment of one is excluded. */
enum { ERF_UNUSABLE = -2 };
int erf_reduce(struct erf_run *r, struct erf_model *m, size_t target, struct error *e) MUST_USE;

#endif
