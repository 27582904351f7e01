/* What has been computed, counted and not timed: a search that stops for it stops at the same place on every machine. */
#ifndef REACH_ANALYZE_SERIES_PROOF_WORK_H
#define REACH_ANALYZE_SERIES_PROOF_WORK_H

/* About so many tenths of a microsecond of this thread. */
extern _Thread_local double work_done;

#endif
