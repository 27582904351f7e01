/* What has been computed, counted and not timed: a search that stops for it stops at the same place
 * on every machine. */
#ifndef REACH_ANALYZE_SERIES_PROOF_WORK_H
#define REACH_ANALYZE_SERIES_PROOF_WORK_H

#include "analyze/series/proof/numbers.h"

/* About so many times 0.04 microseconds of this thread. */
extern _Thread_local double work_done;
/* Of an elementary function of a ball of so many bits. */
double work_elementary(slong prec);

#endif
