/* Where to cut the distances, so that every comparison, min, max, abs and floor is decided on each piece. */
#include "analyze/formula_private.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>

enum {
    STEPS = 60000, /* nodes times intervals that are looked at */
    TAIL_BITS = 33500, /* a last piece may begin at 2^this, some 10^10000 */
    PIECES = 200, /* besides those between breaks that can be read off */
    ROUGH_BITS = 22 /* where none is found, distances are looked at one interval at a time up to 2^this */
};

struct cutting {
    struct series_summand *f;
    struct formula_error *e;
    long budget; /* intervals */
    int most; /* pieces: what has more is not worth taking apart */
    int failed;
};

/* Distances lo <= t < end, a part of `within`. */
static void cut(struct cutting *c, const struct stretch *within, const fmpz_t lo, const fmpz_t end)
{
    struct series_summand *f = c->f;
    struct stretch found;
    if (c->failed || f->pool->failed || fmpz_cmp(lo, end) >= 0)
        return;
    LOCAL(fmpz, hi, middle);
    fmpz_sub_ui(hi, end, 1);
    int enough = c->budget-- <= 0 || f->pieces > c->most;
    if (enough)
        stretch_init(&found, f, lo, hi);
    else
        stretch_resolve(&found, f, within, lo, hi);
    if (enough || found.settled || fmpz_equal(lo, hi) || !f->pool->node[found.root].depends) {
        c->failed = pieces_extend(f, &found, c->e);
    } else {
        middle_of(middle, lo, end, 9);
        cut(c, &found, lo, middle);
        cut(c, &found, middle, end);
    }
    stretch_clear(&found);
}

/* ---- breaks that can be read off: where a test, abs, min or max compares q + w t with 0 ---- */

struct breaks {
    fmpz *at;
    int count;
};

static int by_size(const void *a, const void *b)
{
    return fmpz_cmp(a, b);
}

/* The first whole t at which q + w t has another sign, and the one before it, for every such node. 0 or -1. */
static int find_breaks(struct breaks *breaks, const struct expression_pool *p)
{
    breaks->count = 0;
    breaks->at = calloc(2 * (size_t)p->count, sizeof *breaks->at);
    if (!breaks->at)
        return -1;
    LOCAL(fmpq, root);
    LOCAL(fmpz, floor);
    for (int n = 0; n < p->count; n++) {
        const struct expression *x = &p->node[n];
        int decided = x->kind == X_MIN || x->kind == X_MAX ? 2 : 0;
        if (x->kind < X_ABS || x->kind == X_FRACTION || x->kind == X_CHOOSE || x->kind == X_OPAQUE)
            continue;
        const struct expression *inside = &p->node[x->child[decided]];
        if (x->child[decided] == NODE_T_ITSELF)
            fmpq_zero(root);
        else if (inside->kind == X_LINEAR && inside->count == 1 && inside->child[0] == NODE_T_ITSELF &&
                 !fmpq_is_zero(&inside->weight[0]))
            fmpq_div(root, inside->q, &inside->weight[0]);
        else
            continue;
        fmpq_neg(root, root);
        fmpz_fdiv_q(floor, fmpq_numref(root), fmpq_denref(root));
        if (fmpz_sgn(floor) < 0)
            continue;
        fmpz_set(&breaks->at[breaks->count++], floor);
        fmpz_add_ui(&breaks->at[breaks->count++], floor, 1);
    }
    qsort(breaks->at, (size_t)breaks->count, sizeof *breaks->at, by_size);
    return 0;
}

void search_shift(fmpz_t shift, const struct formula *f, const struct formula_point *at)
{
    double largest = -INFINITY, first = NAN, last = -INFINITY;
    for (double t = 0; t <= 0x1p40; t = t < 8 ? t + 1 : 2 * t) {
        struct formula_point point = *at;
        point.t = t;
        double b = formula_evaluate(f, &point);
        last = b;
        if (isnan(first) && isfinite(b))
            first = b;
        if (isfinite(b) && b > largest)
            largest = b;
    }
    double b = last < largest || (isinf(last) && last < 0) ? largest : first;
    fmpz_zero(shift);
    if (isfinite(b) && fabs(b) < 1e300)
        fmpz_set_d(shift, floor(b));
}

int search_pieces(struct series_summand *f, struct formula_error *e)
{
    struct cutting c = {.f = f, .e = e};
    struct breaks breaks;
    struct stretch all, tail;
    LOCAL(fmpz, lo, from, last);
    int opaque = f->pool->node[f->root].opaque;
    if (find_breaks(&breaks, f->pool))
        return formula_refuse(e, 0, "out of memory");
    c.budget = STEPS / (f->root + 1);
    c.budget = c.budget < 50 ? 50 : c.budget > 4000 ? 4000 : c.budget;
    c.most = PIECES + breaks.count;
    if (breaks.count)
        fmpz_set(last, &breaks.at[breaks.count - 1]);
    stretch_init(&all, f, lo, NULL);
    stretch_init(&tail, f, lo, NULL);
    /* a last piece [X, inf): X after the last break, then powers of 2, ever farther */
    for (slong bits = -1; bits <= TAIL_BITS && !tail.settled && !opaque; bits = bits < 4 ? bits + 1 : bits * 3 / 2) {
        fmpz_one_2exp(from, bits < 0 ? 0 : (ulong)bits);
        if (bits < 0 || fmpz_cmp(from, last) < 0)
            fmpz_set(from, last);
        stretch_clear(&tail);
        stretch_resolve(&tail, f, &all, from, NULL);
        if (!f->pool->node[tail.root].depends)
            break;
    }
    if (!tail.settled && f->pool->node[tail.root].depends) {
        fmpz_one_2exp(from, ROUGH_BITS);
        if (fmpz_cmp(from, last) < 0)
            fmpz_set(from, last);
        if (opaque)
            fmpz_zero(from);
        else if (search_period(f->pool, f->root) > 1) /* it comes back: from the last break on all is alike */
            fmpz_set(from, last);
        stretch_clear(&tail);
        stretch_init(&tail, f, from, NULL);
    }
    for (int i = 0; i <= breaks.count; i++) { /* up to each break, then to the last piece */
        const fmpz *end = i < breaks.count && fmpz_cmp(&breaks.at[i], from) < 0 ? &breaks.at[i] : from;
        cut(&c, &all, lo, end);
        fmpz_set(lo, end);
    }
    if (!c.failed && f->pool->failed)
        c.failed = formula_refuse(e, 0, "the formula is too large to analyse (or out of memory)");
    if (!c.failed)
        c.failed = pieces_extend(f, &tail, e);
    stretch_clear(&all);
    stretch_clear(&tail);
    for (int i = 0; i < breaks.count; i++)
        fmpz_clear(&breaks.at[i]);
    free(breaks.at);
    return c.failed ? -1 : 0;
}
