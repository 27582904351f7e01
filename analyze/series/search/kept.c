/* Sums that are kept from one question to the next: they are the same for every epsilon. */
#include "analyze/series/search/search.h"

void kept_init(struct kept *kept)
{
    *kept = (struct kept){0};
    fmpz_init(kept->limit);
}

void kept_clear(struct kept *kept)
{
    for (int i = 0; i < 2; i++)
        shares_free(kept->sums[i].shares);
    fmpz_clear(kept->limit);
}

struct sums_kept *kept_shares(struct kept *kept, struct summand *const *summand, int count,
                              const fmpz *limit, slong prec, int quick, struct formula_error *e)
{
    struct sums_kept *k = &kept->sums[limit != NULL];
    int same = !limit || fmpz_equal(kept->limit, limit);
    if (k->shares && same && prec <= k->prec && !k->cut_short && (quick || !k->quick))
        return k;
    shares_free(k->shares);
    if (limit)
        fmpz_set(kept->limit, limit);
    *k = (struct sums_kept){.prec = FLINT_MAX(prec, SERIES_PREC), .quick = quick};
    k->shares = search_shares(&k->exhausted, summand, count, limit, k->prec, quick, e);
    k->cut_short = budget_left(summand[0]->problem.pool->budget) <= 0;
    return k->shares ? k : NULL;
}
