/* When the search stops. Without --effort work is counted, and answers are the same anywhere. */
#include "analyze/series/search/search.h"

#include <math.h>
#include <time.h>

/* For a verdict with its sum, and for each later question, for each head: some three seconds. */
static const double WORK_MOST = 7e7;
static const double WORK_A_SECOND = 2.5e7,
                    NO_END = 1e300; /* a number, so that parts of it are less */

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

void search_begin(struct summand *const *summand, int count)
{
    struct budget *b = &summand[0]->budget;
    for (int i = 0; i < count; i++)
        summand[i]->problem.pool->budget = b;
    b->end = isfinite(b->seconds) ? now() + b->seconds : b->done + count * WORK_MOST;
}

void search_end(struct summand *const *summand, int count)
{
    for (int i = 0; i < count; i++)
        summand[i]->problem.pool->budget = &summand[i]->budget;
}

double budget_left(const struct budget *b)
{
    return fmin(isfinite(b->seconds) ? (b->end - now()) * WORK_A_SECOND : b->end - b->done, NO_END);
}

void budget_stop(struct budget *b, const char *doing)
{
    if (!b->stopped)
        b->stopped = doing;
}

int budget_spent(struct budget *b, const char *doing)
{
    if (budget_left(b) > 0)
        return 0;
    budget_stop(b, doing);
    return 1;
}
