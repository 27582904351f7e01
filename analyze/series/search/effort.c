/* When the search stops. Without --effort the work is counted, and every answer is the same wherever it is asked for. */
#include "analyze/series/search/search.h"

#include <math.h>
#include <time.h>

/* Of a verdict with its sum, and of each question behind it, for each of its heads: some four seconds and three; of all heads
 * that share it, and a question of one of them at least. */
static const double WORK_MOST = 1e8, WORK_BEHIND = 6e7, WORK_SHARED = 2.2e8, WORK_LEAST = 2e6;
static const double WORK_A_SECOND = 2.5e7, NO_END = 1e300; /* a number, so that parts of it are less */

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

void search_begin(struct series_summand *const *summand, int count, int behind)
{
    struct series_share *share = summand[0]->share;
    double work = count * (behind ? WORK_BEHIND : WORK_MOST);
    if (share && !share->end)
        share->end = work_done + WORK_SHARED;
    if (share) /* a head's part, or half of what is left of it */
        work = fmin(work, fmax((share->end - work_done) / ((1 + behind) * (share->heads + behind)), WORK_LEAST));
    for (int i = 0; i < count; i++)
        summand[i]->end = isfinite(summand[i]->effort) ? now() + summand[i]->effort : work_done + work;
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
