/* What a series is made of, for series.c and its tests. */
#ifndef REACH_ANALYZE_SERIES_SERIES_H
#define REACH_ANALYZE_SERIES_SERIES_H

#include "analyze/series/search/search.h"

struct series {
    struct summand **summand; /* [count] shared between series, counted */
    int count;
    int mean; /* made by series_open_mean */
    enum series_verdict verdict;
    char *proof; /* mean only */
    double sum_lo, sum_hi;
    struct kept *kept;
};

#endif
