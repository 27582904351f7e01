/* What a question may cost. What has been computed is counted, not timed: a search that stops for
 * it stops at the same place on every machine. */
#ifndef REACH_ANALYZE_SERIES_PROOF_BUDGET_H
#define REACH_ANALYZE_SERIES_PROOF_BUDGET_H

#include "analyze/series/proof/numbers.h"

#include <math.h>

struct budget {
    double done; /* so far, in units of about 0.04 microseconds */
    double seconds; /* of processor time for a question; infinite: the count decides */
    double end; /* of the question: that time, or that count */
    const char *stopped; /* what was being done when it ended; NULL: it never did */
};

/* The work of an elementary function of a ball of `prec` bits. */
static inline double work_elementary(slong prec)
{
    return 8 + 20 * pow((double)prec / 512, 1.6);
}

#endif
