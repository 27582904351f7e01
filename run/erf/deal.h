/* One run by several ranks (run/ranks.h). Rank 0 does the whole run and all the writing; the others
 * measure segments, which it deals to them in chunks of its own batch. The results do not depend on
 * which rank measures a segment. Private to run/erf. */
#ifndef REACH_RUN_ERF_DEAL_H
#define REACH_RUN_ERF_DEAL_H

#include "run/erf/parts.h"

#include <stddef.h>

struct deal;

/* Rank 0, once r->journal is open: starts dealing on a separate thread. With a single rank r->deal
 * stays NULL, and all functions except deal_take do nothing. */
int deal_open(struct erf_run *r, struct error *e) MUST_USE;
/* Ends the other ranks' work; does not wait for them after a failure (`failed`). */
int deal_close(struct erf_run *r, int failed, struct error *e) MUST_USE;

/* deal_begin deals the missing segments of this target, in chunks of at most `most`; deal_end waits
 * until the results of all of them are stored. */
void deal_begin(struct erf_run *r, size_t index, size_t target, int most);
int deal_end(struct erf_run *r, struct error *e) MUST_USE;
/* The next chunk for this rank, as in batch_next; *first is the end of this rank's last chunk, and
 * moves to the end of this one. 0: nothing is left, or another rank failed. */
int deal_take(struct erf_run *r, const struct erf_model *m, const struct result_field *f,
              size_t *first, size_t *from, int most);

/* While the lock is held, nothing from another rank is stored. */
void deal_lock(struct erf_run *r);
void deal_unlock(struct erf_run *r);

#endif
