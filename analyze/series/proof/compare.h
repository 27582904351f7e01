/* Comparing two series whose biases are in one pool. */
#ifndef REACH_ANALYZE_SERIES_PROOF_COMPARE_H
#define REACH_ANALYZE_SERIES_PROOF_COMPARE_H

#include "analyze/series/proof/proof.h"

/* 1 if f/g is proved never to increase, looking at `budget` intervals at most. */
int ratio_falls(const struct proof *f, const struct proof *g, long budget);
/* 1 if f/g is proved to be one number. */
int are_proportional(const struct proof *f, const struct proof *g);

#endif
