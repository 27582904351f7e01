/* Bootstrap over segments: the slow part of erf_summarize. */
#ifndef REACH_ANALYZE_BOOTSTRAP_H
#define REACH_ANALYZE_BOOTSTRAP_H

#include "analyze/curve.h"

/* c_lo, c_hi [positions]: 95 % interval of c at each position; erf [thresholds, replicates]: ERF of
 * each replicate's curve (see erf_summarize). c [positions] is the curve of all segments, share
 * [any, positions] holds the shares s of the `used` segments in rows row[0..used).
 * settings->bootstrap > 0. Returns 0, or -1 when memory runs out. */
int bootstrap_curves(double *c_lo, double *c_hi, size_t *erf, const double *c, const double *share,
                     const size_t *row, size_t used, size_t positions,
                     const struct erf_settings *settings);

#endif
