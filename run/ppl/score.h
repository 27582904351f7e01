/* Scoring of one model at one context by a protocol. Private to run/ppl. */
#ifndef REACH_RUN_PPL_SCORE_H
#define REACH_RUN_PPL_SCORE_H

#include "run/ppl/ppl.h"

#include <string.h>

enum {
    SCORE_PIECE = 2048 /* inputs of a piece of a cached pass: fixed, so that results do not depend
                          on memory */
};

/* Tokens of the longest stream. */
size_t score_longest(const struct ppl_model *m);
/* Number of scored targets, which are the same and in the same order for every context. */
size_t score_targets(const struct ppl_run *r, const struct ppl_model *m);
/* Progress steps of score_run. */
size_t score_steps(const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at);
/* The largest memory plan of the run; -1 if it does not fit. */
int score_estimate(struct memory_plan *plan, const struct ppl_run *r, const struct ppl_model *m,
                   const struct ppl_result *at, struct error *e) MUST_USE;
/* nll[score_targets] of all targets; sets at->seconds. -1 on failure or interruption, or when a log
 * p is not finite (the message names the first such layer). */
int score_run(double *nll, struct ppl_result *at, const struct ppl_run *r,
              const struct ppl_model *m, struct error *e) MUST_USE;

/* `count` tokens of a window from `ids` on, after a beginning-of-text token, if any. */
static inline void score_copy(int32_t *out, const int32_t *ids, size_t count,
                              const struct model_text *text)
{
    memcpy(out, ids, count * sizeof *out);
    if (text->bounds.begins)
        out[0] = text->bounds.bos;
}

/* explain.c: reports which target has no finite log p, and the first layer whose output is not
 * finite, using the segment that ends at the target. Always -1. */
int score_explain(const double *nll, size_t count, const struct ppl_result *at,
                  const struct ppl_run *r, const struct ppl_model *m, struct error *e) MUST_USE;

#endif
