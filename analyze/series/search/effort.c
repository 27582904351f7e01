/* When the search stops. Without --effort the work is counted, and every answer is the same wherever it is asked for. */
#include "analyze/series/search/search.h"

#include <math.h>
#include <time.h>

/* Of a verdict with its sum, and of each question behind it, for each of its heads: some four seconds and three; of all heads
 * that share it. */
static const double WORK_MOST = 1e8, WORK_BEHIND = 6e7, WORK_SHARED = 2e8;
/* Of each question at least, and of all of them. */
static const double WORK_LEAST = 2e6, WORK_LEAST_ALL = 1e7;
/* Beyond the end of the shared work, nothing is looked at any more: each head and question would still take what it is to begin
 * with one. */
static const double WORK_OVERDRAWN = 1e7;
/* Of any question, however little is done for it. */
static const double WORK_OF_QUESTION = 1500;
static const double WORK_A_SECOND = 2.5e7, NO_END = 1e300; /* a number, so that parts of it are less */

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* What of the shared work is for this: a head has as much as any other, its verdict two thirds of that, a question half of what
 * is left to it, for those behind it find much of what they need; the last one has it all. */
static double part_of(struct series_share *share, enum search_phase phase)
{
    if (!share->end) {
        share->end = work_done + WORK_SHARED;
        share->least = fmin(WORK_LEAST, WORK_LEAST_ALL / ((double)share->heads * share->questions));
    }
    if (phase == SEARCH_VERDICT) {
        share->heads--;
        share->asked = 0;
    }
    share->asked += phase == SEARCH_QUESTION;
    double head = (share->end - work_done) / (share->heads + 1), part = phase == SEARCH_VERDICT ? 2. / 3 : 1. / 2;
    return fmax(share->asked == share->questions ? head : head * part, share->least);
}

void search_begin(struct series_summand *const *summand, int count, enum search_phase phase)
{
    struct series_share *share = summand[0]->share;
    work_done += WORK_OF_QUESTION;
    double work = count * (share || phase == SEARCH_VERDICT ? WORK_MOST : WORK_BEHIND);
    if (share)
        work = fmin(work, part_of(share, phase));
    for (int i = 0; i < count; i++)
        summand[i]->end = isfinite(summand[i]->effort) ? now() + summand[i]->effort : work_done + work;
}

int search_is_late(const struct series_share *share)
{
    return share && share->end && work_done > share->end + WORK_OVERDRAWN;
}

double search_left(const struct series_summand *f)
{
    return fmin(isfinite(f->effort) ? (f->end - now()) * WORK_A_SECOND : f->end - work_done, NO_END);
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
