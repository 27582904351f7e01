/* When the search stops for its time. Without a limit every answer is the same wherever and whenever it is asked for. */
#include "analyze/series/search/search.h"

#include <math.h>
#include <time.h>

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

void search_begin(struct series_summand *const *summand, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(summand[i]->effort))
            summand[i]->deadline = now() + summand[i]->effort;
}

int search_spent(struct series_summand *f, const char *doing)
{
    if (isinf(f->deadline) || now() <= f->deadline)
        return 0;
    if (!f->spent)
        f->spent = doing;
    return 1;
}
