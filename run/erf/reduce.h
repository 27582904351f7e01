/* From norms to summaries. */
#ifndef REACH_RUN_ERF_REDUCE_H
#define REACH_RUN_ERF_REDUCE_H

#include "io/results/result.h"

/* Fills status and summary of `count` fields of a model from their norms, using the thresholds and
 * other settings of its result. Norms are rounded as they will be stored; sets `wide` if they do
 * not fit into float. 0, -1, or ERF_UNUSABLE when every segment of a field is excluded. */
enum { ERF_UNUSABLE = -2 };
int erf_reduce(const struct result *r, struct result_model *m, struct result_field *fields,
               size_t count, struct error *e) MUST_USE;

#endif
