/* The mass of attention by distance, for the attention ERF of [B]. */
#ifndef REACH_MODEL_MASS_H
#define REACH_MODEL_MASS_H

#include "model/engine.h"

/* With a REQUEST_ATTENTION: mass [count, layers, heads, n] of `count` segments (at most plan.batch)
 * of ids [count, n + 1]: the mean attention at distance t over the queries of the second half of
 * the n inputs, including the middle one. Each head's values sum to 1. */
int engine_attention(struct engine *g, double *mass, const int32_t *ids, int count,
                     struct error *e) MUST_USE;

#endif
