/* From which distance on a rule is tried. */
#include "analyze/series/search/search.h"

enum {
    VERDICT_BITS = 1 << 24, /* up to 2^this: ln ln ln X may have to reach e */
    DECREASE_BITS = 4096,
    WAVES = 4, /* slopes whose */
    ARCS = 32 /* parts of a turn are tried */
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

/* t times what a wave's argument moves on a step, if it is shift + slope t: the slope as a node, or -1. */
static int slope_of(struct expression_pool *p, int wave)
{
    struct scale g;
    int argument = p->node[wave].child[0], slope = -1;
    LOCAL(fmpz, X);
    fmpz_one_2exp(X, 10);
    if (scale_init(&g, p, argument, X, NULL))
        return -1;
    LOCAL_SCALED(&g, u);
    LOCAL_MONOMIAL(t);
    monomial_level(&t, 1);
    if (scaled_of(&u, &g, argument) && u.count && monomial_compare(&u.of[0], &t) == 0)
        slope = u.coefficient[0];
    scale_clear(&g);
    return slope;
}

/* Whether f is large enough wherever a wave is at some part of its turn. */
static void try_arcs(struct series_summand *f)
{
    const struct piece *last = &f->piece[f->pieces - 1];
    int slopes[WAVES], count = 0, nodes = last->root;
    LOCAL(fmpz, X);
    for (int n = 0; n <= nodes && count < WAVES; n++) {
        enum expression_kind kind = f->pool->node[n].kind;
        int slope = (kind == X_SIN || kind == X_COS) && f->pool->node[n].depends ? slope_of(f->pool, n) : -1, known = slope < 0;
        for (int i = 0; i < count; i++)
            known |= slopes[i] == slope;
        if (!known)
            slopes[count++] = slope;
    }
    for (int i = 0; i < count; i++)
        for (ulong bits = 8; bits <= 64; bits *= 2)
            for (int part = 0; part < ARCS; part++) {
                fmpz_one_2exp(X, bits);
                fmpz_add(X, X, last->first);
                if (verdict_by_arc(f, X, slopes[i], part, ARCS))
                    return;
            }
}

int search_verdict(struct series_summand *f, struct formula_error *e)
{
    int wanted = verdict_begin(f, e);
    if (wanted <= 0)
        return wanted;
    if (!first_start(f, verdict_by_rate, VERDICT_BITS))
        if (!first_start(f, verdict_by_growth, VERDICT_BITS))
            try_arcs(f);
    if (verdict_close(f, e))
        return -1;
    if (f->verdict == SERIES_CONVERGES)
        first_start(f, decreases_from, DECREASE_BITS);
    return 0;
}
