/* One run by several ranks (run/ranks.h). Rank 0 runs all of it and alone writes; the others measure segments for it, which it
 * deals in chunks of its own batch. Which rank measures a segment changes no byte of it. Private to run/erf. */
#ifndef REACH_RUN_ERF_DEAL_H
#define REACH_RUN_ERF_DEAL_H

#include "run/erf/parts.h"

#include <stddef.h>

struct deal;

/* Rank 0, once r->journal is open: deals from now on, on a thread of its own. r->deal stays NULL where it is alone, and all but
 * deal_take then does nothing. */
int deal_open(struct erf_run *r, struct error *e) MUST_USE;
/* Ends the other ranks' work: after a failure (`failed`) nobody is waited for. */
int deal_close(struct erf_run *r, int failed, struct error *e) MUST_USE;

/* What is missing of this target is dealt, in chunks of at most `most`, until deal_end, which waits until all that was dealt is
 * kept. */
void deal_begin(struct erf_run *r, size_t index, size_t target, int most);
int deal_end(struct erf_run *r, struct error *e) MUST_USE;
/* The next chunk for this rank: as batch_next; *first is where this rank's last one ended, and moves behind this one. 0: nothing
 * is left, or another rank failed. */
int deal_take(struct erf_run *r, const struct erf_model *m, const struct result_field *f, size_t *first, size_t *from, int most);

/* While this is held nothing of another rank is kept. */
void deal_lock(struct erf_run *r);
void deal_unlock(struct erf_run *r);

#endif
