/* Gradients near the ends of a float's range.
 *
 * Reverse is linear in its seed, and a power of two as seed changes no digit of a float, unless one
 * underflows or overflows. So a segment with gradients near either end is measured again with a
 * seed that moves them to the middle, and its norms are divided by that seed in double: they are
 * what a set with a wider range would have given. Whether and by how much depends only on the
 * segment's own gradients, and so not on batch, shard or plan. */
#include "model/engine_parts.h"

#include <float.h>
#include <math.h>

enum { TRIES = 3 }; /* seeds after the first */

/* Powers of two. Gradients are checked where they are large: the largest row of the embeddings, and
 * the last row elsewhere. The margin below is for smaller ones, down to a share of 2^-40 of the
 * norms, and their elements' digits. */
struct range {
    int least, most; /* of the gradients checked */
    int step; /* of the seed, if nothing is known about them */
    int seed; /* the largest seed, and one by the smallest */
};

static struct range range_of(const struct kernels *k)
{
    return k->role_size[ROLE_RESIDUAL] > sizeof(float) ? (struct range){-480, 480, 400, 900}
                                                       /* squares are summed */
                                                       : (struct range){-62, 100, 100, 120};
}

int range_passes(const struct block *b)
{
    return b->residual != RESIDUAL_POST && !b->residual_from_norm && b->factor == 0 &&
           !b->predictor.router.weight.data && !b->laurel.down.weight.data;
}

void range_peak(struct engine *g, int l, const struct buffer *dx, int batch)
{
    int rows = g->shape.keys[l], width = stream_width(g->d);
    struct rows last = {batch, 1};
    if (!g->layers[l].peak)
        return;
    if (rows > 1) {
        g->k->tail(g->k, g->t, dx, batch, 1, rows, width);
        dx = g->t;
    }
    g->k->row_norms(g->k, g->layers[l].peak, dx, 1, last, width);
}

int range_points(const struct engine *g)
{
    int points = 1;
    for (int l = 0; l <= g->d->layers; l++)
        points += g->layers[l].peak != NULL;
    return points;
}

const struct buffer *range_point(const struct engine *g, int point)
{
    for (int l = 0; point > 0 && l <= g->d->layers; l++)
        if (g->layers[l].peak && --point == 0)
            return g->layers[l].peak;
    return g->head_peak;
}

void extent_add(struct extent *x, double peak)
{
    if (!(peak <= DBL_MAX)) /* a NaN comes from infinities */
        peak = INFINITY;
    x->least = peak < x->least ? peak : x->least;
    x->most = peak > x->most ? peak : x->most;
}

void extent_add_rows(struct extent *x, const double *norm, size_t n)
{
    double peak = 0;
    for (size_t m = 0; m < n; m++)
        if (!(norm[m] <= peak))
            peak = norm[m] <= DBL_MAX ? norm[m] : INFINITY;
    extent_add(x, peak);
}

int extent_fits(const struct engine *g, const struct extent *x)
{
    struct range r = range_of(g->k);
    return x->least >= ldexp(1, r.least) && x->most <= ldexp(1, r.most);
}

int range_next(int *exponent, int *tries, const struct engine *g, const struct extent *found)
{
    struct range r = range_of(g->k);
    int before = *exponent;
    if (extent_fits(g, found) || (*tries)++ == TRIES)
        return 0;
    if (found->most > DBL_MAX)
        *exponent -= r.step;
    else if (found->most == 0)
        *exponent += r.step;
    else if (found->least == 0)
        *exponent += r.most - 1 - ilogb(found->most);
    else
        *exponent += (r.least + r.most - ilogb(found->least) - ilogb(found->most)) / 2;
    *exponent = *exponent > r.seed ? r.seed : *exponent < -r.seed ? -r.seed : *exponent;
    return *exponent != before;
}

void range_end(double *norm, size_t n, int exponent, const struct engine *g,
               const struct extent *found)
{
    double all = 0;
    for (size_t m = 0; m < n; m++)
        all += norm[m];
    int known = extent_fits(g, found) ||
                all == 0; /* all zeros: there is no gradient, whatever the seed */
    for (size_t m = 0; m < n; m++)
        norm[m] = known ? ldexp(norm[m], -exponent) : NAN;
}
