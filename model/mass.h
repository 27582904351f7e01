/* How far the mixers of all layers reach back over a text: the mass of attention by distance, for
 * the attention ERF of [B], and the log decays of recurrences. */
#ifndef REACH_MODEL_MASS_H
#define REACH_MODEL_MASS_H

#include "model/engine.h"

/* With a REQUEST_ATTENTION, of `count` segments (at most plan.batch) of ids [count, n + 1]:
 *   mass [count, layers, heads, n]: the mean attention at distance t over the queries of the second
 *     half of the n inputs, including the middle one; each head's values sum to 1, or are 0 in a
 *     layer that does not attend;
 *   decay [count, layers, decoder_recurrence_heads]: minus the log decay of a head's state, its
 *     mean over the n inputs, in nats per token; 0 in other layers. Not used without recurrences.
 */
int engine_attention(struct engine *g, double *mass, double *decay, const int32_t *ids, int count,
                     struct error *e) MUST_USE;

#endif
