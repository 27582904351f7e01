/* From which distance on a rule is tried. */
#include "analyze/series/search/search.h"

enum {
    VERDICT_BITS = 1 << 24, /* up to 2^this: ln ln ln X may have to reach e */
    DECREASE_BITS = 4096
};

/* Tries the last piece's first distance, then powers of 2, until a rule holds. */
static int first_start(struct series_summand *f, int (*holds_from)(struct series_summand *, const fmpz_t), slong most)
{
    const fmpz *first = f->piece[f->pieces - 1].first;
    LOCAL(fmpz, X);
    fmpz_set(X, first);
    if (fmpz_is_zero(X))
        fmpz_one(X);
    for (slong bits = 0; bits <= most;) {
        if (holds_from(f, X))
            return 1;
        do {
            bits = bits < 16 ? bits + 1 : bits * 3 / 2;
            fmpz_one_2exp(X, (ulong)bits);
        } while (bits <= most && fmpz_cmp(X, first) <= 0);
    }
    return 0;
}

int search_verdict(struct series_summand *f, struct formula_error *e)
{
    int wanted = verdict_begin(f, e);
    if (wanted <= 0)
        return wanted;
    if (!first_start(f, verdict_by_rate, VERDICT_BITS))
        first_start(f, verdict_by_growth, VERDICT_BITS);
    if (verdict_close(f, e))
        return -1;
    if (f->verdict == SERIES_CONVERGES)
        first_start(f, decreases_from, DECREASE_BITS);
    return 0;
}
