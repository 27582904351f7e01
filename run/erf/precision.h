/* How much a run deviates from the float64 reference. */
#ifndef REACH_RUN_ERF_PRECISION_H
#define REACH_RUN_ERF_PRECISION_H

#include "run/erf/run.h"

/* The largest deviations of one model. */
struct deviation {
    double s, c, logprob; /* s relative, if the oracle's s > 1e-6 */
    size_t erf, outside; /* largest ERF difference in tokens; segments not within the error of c */
    size_t segments;
};

/* The largest deviations expected for a type; infinite: no known bound. */
struct precision_bounds {
    double s, c, logprob;
};
struct precision_bounds precision_bounds(const char *dtype, int keep_bf16);

/* Measures the first segments of each model, as many as --check-precision says, again with the
 * float64 reference set, into out [models]. Call it after the run. */
int precision_check(struct deviation *out, const struct erf_run *r, struct error *e) MUST_USE;

#endif
