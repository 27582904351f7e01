/* Where to cut the distances, so that each piece decides every comparison, abs and floor. */
#include "analyze/formula_private.h"
#include "analyze/series/proof/evaluate.h"
#include "analyze/series/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 60000, /* nodes times intervals that are looked at */
    TAIL_BITS = 33500, /* a last piece may begin at 2^this, some 10^10000 */
    PIECES = 200, /* besides those between breaks that can be read off */
    SHIFT_BITS = 1 << 16, /* a bias beyond double, up to 2^this, is taken off */
    ROUGH_BITS =
        22, /* where none is found, distances are looked at one interval at a time up to 2^this */
    SUM_MOST = 512 /* a sum to t is looked at in double up to there */
};

/* The largest bias is looked for in double up to this distance. */
static const double NEAR_PEAK = 0x1p40;

struct cutting {
    struct summand *f;
    struct formula_error *e;
    long budget; /* intervals */
    int most; /* pieces: what has more is not worth taking apart */
    double half; /* of the work: with less than this left, what is whole is summed as it is */
    int failed;
};

/* Distances lo <= t < end, a part of `within`. */
static void cut(struct cutting *c, const struct stretch *within, const fmpz_t lo, const fmpz_t end)
{
    struct summand *f = c->f;
    struct stretch found;
    if (c->failed || f->problem.pool->failed || fmpz_cmp(lo, end) >= 0)
        return;
    LOCAL(fmpz, hi, middle);
    fmpz_sub_ui(hi, end, 1);
    int enough = c->budget-- <= 0 || f->proof.pieces > c->most ||
                 budget_left(f->problem.pool->budget) < c->half;
    stretch_resolve(&found, &f->problem, within, lo, hi);
    if (enough || found.settled || fmpz_equal(lo, hi) ||
        !f->problem.pool->node[found.root].depends) {
        c->failed = pieces_extend(&f->proof, &found, c->e);
    } else {
        middle_of(middle, lo, end, 9);
        cut(c, &found, lo, middle);
        cut(c, &found, middle, end);
    }
    stretch_clear(&found);
}

/* ---- breaks that can be read off: where a test or abs compares q + w t with 0 ---- */

struct breaks {
    fmpz *at;
    int count;
};

static int by_size(const void *a, const void *b)
{
    return fmpz_cmp(a, b);
}

/* The first whole t at which q + w t has another sign, and the one before. 0 or -1. */
static int find_breaks(struct breaks *breaks, struct summand *f)
{
    struct expression_pool *p = f->problem.pool;
    int nodes = p->count;
    *breaks = (struct breaks){0};
    breaks->at = calloc(2 * (size_t)nodes, sizeof *breaks->at);
    if (!breaks->at)
        return -1;
    LOCAL(fmpq, root, w, q);
    LOCAL(fmpz, floor);
    for (int n = 0; n < nodes; n++) {
        const struct expression *x = &p->node[n];
        if ((x->kind != X_ABS && x->kind != X_NONNEGATIVE) ||
            !expression_in_t(w, q, p, x->child[0]))
            continue;
        fmpq_div(root, q, w);
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

/* The whole part of the first bias, if it is too large for double: exp(1000). */
static void shift_in_balls(fmpz_t shift, const struct formula *f, const struct formula_point *at)
{
    struct budget budget = {0};
    struct expression_pool *p = expression_pool_new(&budget);
    struct formula_error ignored;
    LOCAL(fmpz, t);
    LOCAL(arb, b);
    int n = p ? expression_build(p, f, at, t, &ignored) : -1;
    for (slong prec = 64; n >= 0 && prec <= SHIFT_BITS; prec *= 2) {
        evaluate_constant(b, p, n, prec);
        if (!arb_is_finite(b) || arf_cmpabs_2exp_si(arb_midref(b), SHIFT_BITS) >= 0)
            break;
        arf_get_fmpz(shift, arb_midref(b), ARF_RND_FLOOR);
    }
    expression_pool_free(p);
}

void search_shift(fmpz_t shift, const struct formula *f, const struct formula_point *at)
{
    struct formula_point near = *at, far = *at;
    near.t = 2048;
    far.t = 4096;
    long steps = formula_steps(f, &far);
    int sums = steps >= FORMULA_STEPS_MAX || steps - formula_steps(f, &near) > 1024;
    double largest = -INFINITY, first = NAN, last = -INFINITY, most = sums ? SUM_MOST : NEAR_PEAK;
    for (double t = 0; t <= most; t = t < 8 ? t + 1 : 2 * t) {
        struct formula_point point = *at;
        point.t = t;
        last = formula_evaluate(f, &point);
        if (isnan(first) && isfinite(last))
            first = last;
        if (isfinite(last) && last > largest)
            largest = last;
    }
    int peaked = last < largest;
    fmpz_zero(shift);
    double b = peaked ? largest : first;
    if (isfinite(b) && fabs(b) < 1e300)
        fmpz_set_d(shift, floor(b));
    else if (isnan(first))
        shift_in_balls(shift, f, at);
}

int search_pieces(struct summand *f, struct formula_error *e)
{
    struct cutting c = {.f = f, .e = e, .half = budget_left(f->problem.pool->budget) / 2};
    struct breaks breaks;
    struct stretch all, tail;
    LOCAL(fmpz, lo, from, last);
    int opaque = f->problem.pool->node[f->problem.root].opaque;
    if (find_breaks(&breaks, f))
        return formula_refuse(e, 0, "out of memory");
    c.budget = STEPS / (f->problem.root + 1);
    c.budget = opaque ? 0 : c.budget < 50 ? 50 : c.budget > 4000 ? 4000 : c.budget;
    c.most = PIECES + breaks.count;
    if (breaks.count)
        fmpz_set(last, &breaks.at[breaks.count - 1]);
    stretch_init(&all, &f->problem, NULL, lo, NULL);
    stretch_init(&tail, &f->problem, NULL, lo, NULL);
    /* a last piece [X, inf): X after the last break, then powers of 2, ever farther */
    for (slong bits = -1; bits <= TAIL_BITS && !tail.settled && !opaque &&
                          budget_left(f->problem.pool->budget) > 1.5 * c.half;
         bits = bits < 4 ? bits + 1 : bits * 3 / 2) {
        fmpz_one_2exp(from, bits < 0 ? 0 : (ulong)bits);
        if (bits < 0 || fmpz_cmp(from, last) < 0)
            fmpz_set(from, last);
        stretch_clear(&tail);
        stretch_resolve(&tail, &f->problem, &all, from, NULL);
        if (!f->problem.pool->node[tail.root].depends)
            break;
    }
    if (!tail.settled && f->problem.pool->node[tail.root].depends) {
        fmpz_one_2exp(from, ROUGH_BITS);
        if (fmpz_cmp(from, last) < 0)
            fmpz_set(from, last);
        if (opaque)
            fmpz_zero(from); /* all of it, as it is */
        else if (search_period(f->problem.pool, f->problem.root) >
                 1) /* it comes back: from the last break on all is alike */
            fmpz_set(from, last);
        stretch_clear(&tail);
        stretch_resolve(&tail, &f->problem, &all, from, NULL);
    }
    for (int i = 0; i <= breaks.count; i++) { /* up to each break, then to the last piece */
        const fmpz *end = i < breaks.count && fmpz_cmp(&breaks.at[i], from) < 0 &&
                                  budget_left(f->problem.pool->budget) > c.half
                              ? &breaks.at[i]
                              : from;
        cut(&c, &all, lo, end);
        fmpz_set(lo, end);
    }
    if (!c.failed && f->problem.pool->failed)
        c.failed = formula_refuse(e, 0, "the formula is too large to analyse (or out of memory)");
    if (!c.failed)
        c.failed = pieces_extend(&f->proof, &tail, e);
    stretch_clear(&all);
    stretch_clear(&tail);
    for (int i = 0; i < breaks.count; i++)
        fmpz_clear(&breaks.at[i]);
    free(breaks.at);
    return c.failed ? -1 : 0;
}
