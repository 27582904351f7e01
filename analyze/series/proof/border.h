/* b = u + A W, W the sine or cosine of start + slope t, slope a rational number, A = c + q ln(k + s t): how f is where W is near
 * the end of its range that makes f large. */
#ifndef REACH_ANALYZE_SERIES_PROOF_BORDER_H
#define REACH_ANALYZE_SERIES_PROOF_BORDER_H

#include "analyze/series/proof/evaluate.h"

/* 1 if a wave is the sine or cosine of start + slope t, slope an algebraic number that is not 0, so that 2 pi is no rational
 * multiple of it. */
int wave_turns(int *start, int *slope, struct expression_pool *p, int wave);

struct border {
    int slope, start; /* nodes */
    int quarter; /* f is largest at the angles quarter pi / 2, modulo 2 pi */
    int amplitude; /* node: A or -A, which grows */
    int envelope; /* node: u + amplitude - ln(amplitude) / 2 */
};
/* Of node `root`, of which `wave` is a part. 1, or 0: it is not of that form. */
int border_new(struct border *out, struct expression_pool *p, int root, int wave);

#endif
