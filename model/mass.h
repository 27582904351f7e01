/* The mass of attention by distance, for the attention ERF of [B]. */
#ifndef REACH_MODEL_MASS_H
#define REACH_MODEL_MASS_H

#include "model/engine.h"

/* The queries that count, for an engine with options.attention = 1 and options.outputs set to this: those of the second half of n
 * inputs, the middle one included. */
int attention_queries(int n);

/* mass [count, layers, heads, n] of `count` segments of ids [count, n + 1]: the mean over those queries of the attention they pay
 * at distance t. Each head's sums to 1. */
int engine_attention(struct engine *g, double *mass, const int32_t *ids, int count, struct error *e) MUST_USE;

#endif
