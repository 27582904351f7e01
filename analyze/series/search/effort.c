/* When the search stops. Without --effort the work is counted, and every answer is the same wherever it is asked for. */
#include "analyze/series/search/search.h"

#include <math.h>
#include <time.h>

/* Of a verdict with its sum, and of each question behind it, for each of its heads: some four seconds and three. */
static const double WORK_MOST = 1e8, WORK_BEHIND = 6e7;
static const double WORK_A_SECOND = 2.5e7, NO_END = 1e300; /* a number, so that parts of it are less */

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

void search_begin(struct series_summand *const *summand, int count, int behind)
{
    for (int i = 0; i < count; i++)
        summand[i]->end = isfinite(summand[i]->effort) ? now() + summand[i]->effort
                                                       : work_done + count * (behind ? WORK_BEHIND : WORK_MOST);
}

double search_left(const struct series_summand *f)
{
    return fmin(isfinite(f->effort) ? (f->end - now()) * WORK_A_SECOND : f->end - work_done, NO_END);
}

int search_spent(struct series_summand *f, const char *doing)
{
    if (search_left(f) > 0)
        return 0;
    if (!f->spent)
        f->spent = doing;
    return 1;
}
