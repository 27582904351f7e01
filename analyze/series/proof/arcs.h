/* How often the angle of a wave is where. */
#ifndef REACH_ANALYZE_SERIES_PROOF_ARCS_H
#define REACH_ANALYZE_SERIES_PROOF_ARCS_H

#include "analyze/series/proof/scale.h"

/* 1 if one of any `within` distances in a row lies in the arc, which is narrower than a turn and as wide everywhere. */
int arc_returns(fmpz_t within, const struct expression_pool *p, const struct arc *arc);
/* 1 if a wave is the sine or cosine of start + slope t, slope an algebraic number that is not 0, so that 2 pi is no rational
 * multiple of it. */
int wave_turns(int *start, int *slope, struct expression_pool *p, int wave);
/* 1 if its argument is start + slope level^power, power > 0, and what tends to 0, from X on, the level a logarithm, or t and the
 * power less than 1. */
int wave_turns_slowly(int *start, int *slope, int *level, fmpq_t power, struct expression_pool *p, int wave, const fmpz_t X);

#endif
