/* How far a run is from the float64 reference. */
#ifndef REACH_RUN_ERF_PRECISION_H
#define REACH_RUN_ERF_PRECISION_H

#include "run/erf/run.h"

/* The largest deviations of one model. */
struct deviation {
    double s, c, logprob; /* s relative, where the oracle's s > 1e-6 */
    size_t erf, outside; /* largest difference of ERF in tokens; segments outside what the allowed error of c permits */
    size_t segments;
};

/* Deviations that are expected of a type at most; infinite: no bound is known. */
struct precision_bounds {
    double s, c, logprob;
};
struct precision_bounds precision_bounds(const char *dtype, int keep_bf16);

/* Measures the first segments of each model, as many as --check-precision says, again in the float64 reference set: out [models].
 * The run is done. */
int precision_check(struct deviation *out, const struct erf_run *r, struct error *e) MUST_USE;

#endif
