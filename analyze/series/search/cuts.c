/* Where to cut the distances, so that every comparison, min, max, abs and floor is decided on each piece. */
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
    ROUGH_BITS = 22, /* where none is found, distances are looked at one interval at a time up to 2^this */
    FALLS = 3, /* powers of 2 in a row where a bias falls: it has a peak */
    PEAK_DROP = 4000, /* of the bias, from the top of a peak to where it hardly counts */
    PEAK_NODES = 200, /* a longer formula takes too long at so many distances */
    NARROW_BITS = 6, /* such a peak is 2^this times narrower than it is far */
    PEAK_BITS = 2400, /* a peak is looked for up to 2^this */
    LONG_MOST = 1 << 14, /* a sum to t is looked at in double up to there, */
    LONG_STEPS = 100000, /* or up to so many nodes */
    CLOSE = 4 /* times in a row that values about it differ by less than 1: it is found */
};

/* The largest bias is looked for in double up to this distance, and up to this bias is known well enough. */
static const double NEAR_PEAK = 0x1p40, PRECISE = 0x1p40;

struct cutting {
    struct series_summand *f;
    struct formula_error *e;
    long budget; /* intervals */
    int most; /* pieces: what has more is not worth taking apart */
    double half; /* of the work there is: with less, what is not taken apart is summed as it is */
    int failed;
};

/* 1 where a piece begins however alike the one before it is. */
static int is_apart(const struct series_summand *f, const fmpz_t first)
{
    return !fmpz_is_zero(first) && (fmpz_equal(first, f->flank) || fmpz_equal(first, f->flank + 1));
}

/* Distances lo <= t < end, a part of `within`. */
static void cut(struct cutting *c, const struct stretch *within, const fmpz_t lo, const fmpz_t end)
{
    struct series_summand *f = c->f;
    struct stretch found;
    if (c->failed || f->pool->failed || fmpz_cmp(lo, end) >= 0)
        return;
    LOCAL(fmpz, hi, middle);
    fmpz_sub_ui(hi, end, 1);
    int enough = c->budget-- <= 0 || f->pieces > c->most || search_left(f) < c->half;
    stretch_resolve(&found, f, within, lo, hi);
    found.apart = is_apart(f, lo);
    if (enough || found.settled || fmpz_equal(lo, hi) || !f->pool->node[found.root].depends) {
        c->failed = pieces_extend(f, &found, c->e);
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

/* The first whole t at which q + w t has another sign, and the one before it, for every such node. 0 or -1. */
static int find_breaks(struct breaks *breaks, struct series_summand *f)
{
    struct expression_pool *p = f->pool;
    int nodes = p->count;
    *breaks = (struct breaks){0};
    breaks->at = calloc(2 * (size_t)nodes, sizeof *breaks->at);
    if (!breaks->at)
        return -1;
    LOCAL(fmpq, root, w, q);
    LOCAL(fmpz, floor);
    for (int n = 0; n < nodes; n++) {
        const struct expression *x = &p->node[n];
        if ((x->kind != X_ABS && x->kind != X_NONNEGATIVE) || !expression_in_t(w, q, p, x->child[0]))
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

/* The whole part of the first bias, where that is beyond double: exp(1000). */
static void shift_beyond(fmpz_t shift, const struct formula *f, const struct formula_point *at)
{
    struct expression_pool *p = expression_pool_new();
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

/* b(t), known to less than 1; 1, or 0 where that is not to be had. */
static int bias_at(arb_t out, const struct expression_pool *p, int root, const fmpz_t t)
{
    struct expression_pool *to = expression_pool_new();
    int n = to ? expression_substitute(to, p, root, t) : -1, known = 0;
    for (slong prec = 64 + 2 * (slong)fmpz_bits(t); n >= 0 && !to->failed && !known && prec <= 4 * PEAK_BITS; prec *= 2) {
        work_done += n * work_elementary(prec) / 16;
        evaluate_constant(out, to, n, prec);
        known = arb_is_finite(out) && mag_cmp_2exp_si(arb_radref(out), 0) < 0;
    }
    expression_pool_free(to);
    return known;
}

/* The whole part of about the largest bias where it is far beyond what double can tell: 50 t - t ln(1 + t). 1, or 0: there is
 * none to be found. */
static int far_peak(fmpz_t shift, fmpz_t peak, const struct formula *f, const struct formula_point *at)
{
    struct expression_pool *p = expression_pool_new();
    struct formula_error ignored;
    int root = p ? expression_build(p, f, at, NULL, &ignored) : -1, falls = 0;
    int known = root >= 0 && root <= PEAK_NODES && !p->node[root].opaque;
    LOCAL(fmpz, lo, hi, t, third);
    LOCAL(arb, left, right, best);
    for (ulong bits = 1; known && falls < FALLS; bits += bits < 32 ? 1 : bits / 16) {
        fmpz_one_2exp(third, bits);
        known = bits <= PEAK_BITS && bias_at(right, p, root, third);
        falls = known && bits > 1 && arb_lt(right, best) ? falls + 1 : 0;
        if (falls == 1)
            fmpz_set(hi, third);
        if (falls == 0) {
            arb_set(best, right);
            fmpz_swap(lo, t); /* one before the best */
            fmpz_set(t, third);
        }
    }
    for (int close = 0; known && close < CLOSE && fmpz_cmp_ui(hi, 4) > 0;) {
        fmpz_sub(third, hi, lo);
        fmpz_fdiv_q_ui(third, third, 3);
        if (fmpz_cmp_ui(third, 1) <= 0)
            break;
        fmpz_add(t, lo, third);
        known = bias_at(left, p, root, t);
        fmpz_sub(t, hi, third);
        known = known && bias_at(right, p, root, t);
        if (arb_lt(left, right)) {
            fmpz_add(lo, lo, third);
            arb_set(best, right);
        } else {
            fmpz_set(hi, t);
            arb_set(best, left);
        }
        arb_sub(left, left, right, 64);
        close = arf_cmpabs_2exp_si(arb_midref(left), 0) < 0 ? close + 1 : 0;
    }
    if (known) {
        arf_get_fmpz(shift, arb_midref(best), ARF_RND_FLOOR);
        fmpz_set(peak, lo);
    }
    expression_pool_free(p);
    return known;
}

/* How far out the formula is looked at in double: not as far if it has a sum to t, and less if that has sums to t too. */
static double far_enough(const struct formula *f, const struct formula_point *at)
{
    struct formula_point near = *at, far = *at;
    near.t = LONG_MOST / 8;
    far.t = LONG_MOST / 4;
    long most = formula_steps(f, &far);
    if (most < FORMULA_STEPS_MAX && most - formula_steps(f, &near) <= LONG_MOST / 16)
        return NEAR_PEAK;
    near.t = 64;
    while (near.t < LONG_MOST && formula_steps(f, &near) < LONG_STEPS)
        near.t *= 2;
    return near.t;
}

void search_shift(fmpz_t shift, fmpz_t peak, const struct formula *f, const struct formula_point *at)
{
    double largest = -INFINITY, first = NAN, last = -INFINITY, top = 0, most = far_enough(f, at);
    for (double t = 0; t <= most; t = t < 8 ? t + 1 : 2 * t) {
        struct formula_point point = *at;
        point.t = t;
        last = formula_evaluate(f, &point);
        if (isnan(first) && isfinite(last))
            first = last;
        if (isfinite(last) && last > largest) {
            largest = last;
            top = t;
        }
    }
    int peaked = last < largest;
    fmpz_zero(shift);
    fmpz_zero(peak);
    if ((fabs(largest) > PRECISE || top >= most) && far_peak(shift, peak, f, at))
        return;
    for (double lo = top / 2, hi = 2 * top;
         hi - lo > 2 + lo * 0x1p-40 && isfinite(largest);) { /* between these it may be larger still */
        struct formula_point point = *at;
        double third = floor((hi - lo) / 3 + 0.5), left, right;
        point.t = floor(lo) + third;
        left = formula_evaluate(f, &point);
        point.t += third;
        right = formula_evaluate(f, &point);
        if (!isfinite(left) || !isfinite(right))
            break;
        largest = fmax(largest, fmax(left, right));
        lo = left < right ? floor(lo) + third : lo;
        hi = left < right ? hi : floor(lo) + 2 * third;
    }
    double b = peaked ? largest : first;
    if (isfinite(b) && fabs(b) < 1e300)
        fmpz_set_d(shift, floor(b));
    else if (isnan(first))
        shift_beyond(shift, f, at);
}

/* Breaks where the bias has fallen by a few thousand to both sides of a narrow peak: what is beyond hardly counts. */
static int break_at_peak(struct breaks *breaks, struct series_summand *f, const fmpz_t peak)
{
    fmpz *grown = realloc(breaks->at, ((size_t)breaks->count + 2) * sizeof *grown);
    if (!grown)
        return -1;
    breaks->at = grown;
    LOCAL(fmpz, near, far, middle, flank, width);
    LOCAL(arb, b);
    for (int side = 0; side < 2; side++) {
        fmpz_set(near, peak);
        fmpz_mul_ui(far, peak, side ? 4 : 0);
        for (fmpz_sub(middle, near, far); fmpz_cmpabs(middle, (const fmpz[]){1}) > 0; fmpz_sub(middle, near, far)) {
            fmpz_add(middle, near, far);
            fmpz_fdiv_q_2exp(middle, middle, 1);
            if (!bias_at(b, f->pool, f->root, middle))
                break;
            fmpz_set(arf_cmp_si(arb_midref(b), -PEAK_DROP) < 0 ? far : near, middle);
        }
        if (!side)
            fmpz_set(flank, far);
    }
    fmpz_sub(width, far, flank);
    fmpz_mul_2exp(width, width, NARROW_BITS);
    if (fmpz_cmp(width, peak) > 0)
        return 0;
    fmpz_set(f->flank, flank);
    fmpz_set(f->flank + 1, far);
    fmpz_init_set(&breaks->at[breaks->count++], flank);
    fmpz_init_set(&breaks->at[breaks->count++], far);
    qsort(breaks->at, (size_t)breaks->count, sizeof *breaks->at, by_size);
    return 0;
}

int search_pieces(struct series_summand *f, const fmpz_t peak, struct formula_error *e)
{
    struct cutting c = {.f = f, .e = e, .half = search_left(f) / 2};
    struct breaks breaks;
    struct stretch all, tail;
    LOCAL(fmpz, lo, from, last);
    int opaque = f->pool->node[f->root].opaque;
    if (find_breaks(&breaks, f) || (!fmpz_is_zero(peak) && break_at_peak(&breaks, f, peak))) {
        free(breaks.at);
        return formula_refuse(e, 0, "out of memory");
    }
    c.budget = STEPS / (f->root + 1);
    c.budget = opaque ? 0 : c.budget < 50 ? 50 : c.budget > 4000 ? 4000 : c.budget;
    c.most = PIECES + breaks.count;
    if (breaks.count)
        fmpz_set(last, &breaks.at[breaks.count - 1]);
    stretch_init(&all, f, NULL, lo, NULL);
    stretch_init(&tail, f, NULL, lo, NULL);
    /* a last piece [X, inf): X after the last break, then powers of 2, ever farther */
    for (slong bits = -1; bits <= TAIL_BITS && !tail.settled && !opaque && search_left(f) > 1.5 * c.half;
         bits = bits < 4 ? bits + 1 : bits * 3 / 2) {
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
            fmpz_zero(from); /* all of it, as it is */
        else if (search_period(f->pool, f->root) > 1) /* it comes back: from the last break on all is alike */
            fmpz_set(from, last);
        stretch_clear(&tail);
        stretch_resolve(&tail, f, &all, from, NULL);
    }
    for (int i = 0; i <= breaks.count; i++) { /* up to each break, then to the last piece */
        const fmpz *end = i < breaks.count && fmpz_cmp(&breaks.at[i], from) < 0 && search_left(f) > c.half ? &breaks.at[i] : from;
        cut(&c, &all, lo, end);
        fmpz_set(lo, end);
    }
    if (!c.failed && f->pool->failed)
        c.failed = formula_refuse(e, 0, "the formula is too large to analyse (or out of memory)");
    tail.apart = is_apart(f, tail.first);
    if (!c.failed)
        c.failed = pieces_extend(f, &tail, e);
    stretch_clear(&all);
    stretch_clear(&tail);
    for (int i = 0; i < breaks.count; i++)
        fmpz_clear(&breaks.at[i]);
    free(breaks.at);
    return c.failed ? -1 : 0;
}
