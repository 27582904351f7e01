/* Forward-only runs: log-probabilities of the tokens that follow the last positions of a segment,
 * for perplexity ([A] section 3.4 and appendix B).
 *
 * Their engine is made by a REQUEST_SCORE (model/engine.h) and closed like any other. Only the rows
 * needed for the outputs are computed, and one layer's activations are held at a time. */
#ifndef REACH_MODEL_SCORE_H
#define REACH_MODEL_SCORE_H

#include "model/engine.h"

/* Scores `count` segments (at most plan.batch) of ids [count, n + 1]: logprob [count, outputs], log
 * p of each segment's last `outputs` tokens, each given all tokens of the segment before it. */
int engine_score(struct engine *g, double *logprob, const int32_t *ids, int count,
                 struct error *e) MUST_USE;

/* The requirements of score.carry: a window in every layer, and nothing that depends on absolute
 * positions unless it can be recomputed for each call. 0, or -1 with the reason. */
int score_carry_check(const struct decoder *d, struct error *e) MUST_USE;

/* With score.carry: one pass over a stream of any length in pieces. ids [count + 1] are the next
 * `count` inputs (1 to outputs; fewer than outputs only at the end of the stream) and the token
 * after them; logprob [count]. Keys and values of earlier positions are carried, so the result is
 * that of one long pass in which every layer attends to its last `window` keys ([A] appendix B). */
int engine_score_next(struct engine *g, double *logprob, const int32_t *ids, int count,
                      struct error *e) MUST_USE;
/* The next call begins a new stream. */
void engine_score_restart(struct engine *g);

/* The requirement of score.retain: 1 if what the model computes at a position depends on it and on
 * the tokens so far, but not on the length of the text. */
int score_retains(const struct decoder *d);

/* With score.retain: the next `count` inputs of a text, 1 to score.outputs, and the token after
 * them, ids [count + 1]; logprob [outputs] of the last `outputs` of these tokens, 1 to `count`.
 * Positions are counted from the beginning of the text, whose keys and values are all kept, so the
 * result is that of one pass over the text so far. */
int engine_score_on(struct engine *g, double *logprob, const int32_t *ids, int count, int outputs,
                    struct error *e) MUST_USE;
/* Forgets all but the first `inputs` inputs (at most those so far): the next call goes on after
 * them. */
void engine_score_rewind(struct engine *g, int inputs);

#endif
