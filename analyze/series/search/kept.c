/* Sums that are kept from one question to the next: they are the same for every epsilon. */
#include "analyze/series/search/search.h"

#include <math.h>

enum { SHARP_STEP = 32 /* bits: the precision of sharp ones is a multiple of that, of more where it is high */ };

static const double MORE = 1.5; /* sums that the work ended with are made again for so many times that work */

void kept_init(struct kept *kept)
{
    *kept = (struct kept){0};
    fmpz_init(kept->limit);
}

/* With what was made of them. */
static void drop(struct sums_kept *of)
{
    for (int i = 0; i < DEPTHS_KEPT; i++)
        depth_free(of->by_cells[i]);
    depth_free(of->by_distances);
    shares_free(of->shares);
    *of = (struct sums_kept){0};
}

static void drop_all(struct sums_kept *of)
{
    for (int i = 0; i < KEPT_COUNT; i++)
        drop(&of[i]);
}

void kept_clear(struct kept *kept)
{
    drop_all(kept->of_all);
    drop_all(kept->of_limit);
    fmpz_clear(kept->limit);
}

/* What other questions will need as well. */
static slong round_up(slong prec)
{
    slong step = SHARP_STEP;
    while (step < prec / 16)
        step *= 2;
    return prec <= SERIES_PREC ? SERIES_PREC : (prec + step - 1) / step * step;
}

struct sums_kept *kept_shares(struct kept *kept, struct series_summand *const *summand, int count, const fmpz *limit, slong prec,
                              slong most, int quick, struct formula_error *e)
{
    double left = search_left(summand[0]);
    if (limit && !fmpz_equal(kept->limit, limit)) {
        drop_all(kept->of_limit);
        fmpz_set(kept->limit, limit);
    }
    int which = prec > SERIES_PREC ? KEPT_SHARP : quick && limit ? KEPT_QUICK : KEPT_FIRST;
    struct sums_kept *k = (limit ? kept->of_limit : kept->of_all) + which;
    if (k->shares && prec <= k->prec && left <= MORE * k->left)
        return k;
    drop(k);
    k->prec = FLINT_MIN(round_up(prec), most);
    k->shares = search_shares(&k->exhausted, summand, count, limit, k->prec, quick, e);
    k->left = search_left(summand[0]) > 0 ? HUGE_VAL : left;
    return k->shares ? k : NULL;
}
