/* From norms to summaries. */
#ifndef REACH_RUN_ERF_REDUCE_H
#define REACH_RUN_ERF_REDUCE_H

#include "io/results/result.h"

/* Fills status and summary of `count` fields of a model, by the thresholds and so on of its result, from their norms, which are
 * rounded as they will be stored; sets `wide` where float does not hold them. 0, -1, or ERF_UNUSABLE when every segment of one is
 * excluded. */
enum { ERF_UNUSABLE = -2 };
int erf_reduce(const struct result *r, struct result_model *m, struct result_field *fields, size_t count,
               struct error *e) MUST_USE;

#endif
