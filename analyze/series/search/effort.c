/* When the search stops. Without --effort the work is counted, and every answer is the same
 * wherever it is asked for. */
#include "analyze/series/search/search.h"

#include <math.h>
#include <time.h>

/* Of a verdict with its sum, and of each question behind it, for each of its heads: some four
 * seconds. */
static const double WORK_MOST = 1e8;
static const double WORK_A_SECOND = 2.5e7,
                    NO_END = 1e300; /* a number, so that parts of it are less */

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

void search_begin(struct series_summand *const *summand, int count)
{
    for (int i = 0; i < count; i++)
        summand[i]->end = isfinite(summand[i]->effort) ? now() + summand[i]->effort
                                                       : work_done + count * WORK_MOST;
}

double search_left(const struct series_summand *f)
{
    return fmin(isfinite(f->effort) ? (f->end - now()) * WORK_A_SECOND : f->end - work_done,
                NO_END);
}

void search_stopped(struct series_summand *f, const char *doing)
{
    if (!f->spent)
        f->spent = doing;
}

int search_spent(struct series_summand *f, const char *doing)
{
    if (search_left(f) > 0)
        return 0;
    search_stopped(f, doing);
    return 1;
}
