/* Expert choices decided by rounding: the last chosen expert and the first not chosen have scores
 * so close that another order of the same sums may swap them. Either choice, and what follows from
 * it, is equally valid.
 *
 * The rule: they differ by at most NEAR roundings of the row's largest logit, in the type of the
 * products (for sigma, and for corrected softmax, by the effect of that on them, and roundings of
 * the largest score). The sums of two groups, one kept and one not, by twice as much. If only the
 * experts near a chosen one count (SCORING_SPARSEMIXER), which of the two chosen is the first and
 * which are near are choices too. A row with a logit that is not finite is not counted. */
#include "model/engine_parts.h"

#include <math.h>
#include <string.h>

enum { NEAR = 64 };

/* The rounding error of 1. */
static double rounding(const char *dtype)
{
    return strcmp(dtype, "f64") == 0      ? 0x1p-53
           : strcmp(dtype, "f32") == 0    ? 0x1p-24
           : strcmp(dtype, "bf16x3") == 0 ? 0x1p-16 /* and of what a product leaves out */
           : strcmp(dtype, "tf32") == 0   ? 0x1p-11
                                          : 0x1p-8;
}

/* The sum of a group's two largest scores, or the largest. */
static double group_score(const double *scores, int size, int only)
{
    double most = -INFINITY, second = -INFINITY;
    for (int e = 0; e < size; e++) {
        second = fmax(second, fmin(most, scores[e]));
        most = fmax(most, scores[e]);
    }
    return only ? most : most + second;
}

/* Which groups are kept; returns how far the last is above the next one, infinite if all are. */
static double keep_groups(char *kept, const double *scores, const struct routing *g)
{
    double sums[EXPERTS_MOST], low = INFINITY, high = -INFINITY;
    int size = g->experts / g->groups;
    for (int i = 0; i < g->groups; i++)
        sums[i] = group_score(scores + i * size, size, g->group_largest);
    for (int i = 0; i < g->groups; i++) {
        int before = 0;
        for (int j = 0; j < g->groups; j++)
            before += sums[j] > sums[i] || (sums[j] == sums[i] && j < i);
        kept[i] = before < g->chosen_groups;
        if (kept[i])
            low = fmin(low, sums[i]);
        else
            high = fmax(high, sums[i]);
    }
    return low - high;
}

/* How close a sparsemixer's other choices are: the order of the two, and who is near them. */
static double sparsemixer_gap(const double *logits, const int32_t *choice, const struct routing *g)
{
    double gap = fabs(logits[choice[0]] - logits[choice[1]]);
    int first = logits[choice[1]] > logits[choice[0]];
    for (int j = 0; j < 2; j++)
        for (int e = 0; e < g->experts; e++) {
            double z = logits[e], chosen = logits[choice[j]];
            if (e != choice[j] && (j == first || e != choice[first]))
                gap = fmin(gap, fabs(chosen - z - g->tolerance * fmax(fabs(z), chosen)));
        }
    return gap;
}

int near_tie(const double *logits, const double *correction, const int32_t *choice,
             const struct routing *g, double unit)
{
    double scores[EXPERTS_MOST], size = 0, largest = 0, low = INFINITY, high = -INFINITY,
                                 gap = INFINITY;
    char kept[EXPERTS_MOST] = {1};
    int next = 0, sparse = g->scoring == SCORING_SPARSEMIXER,
        softmax = sparse || g->scoring == SCORING_SOFTMAX,
        plain = softmax && !correction && (g->groups == 1 || g->group_largest);
    double most = -INFINITY, sum = 0;
    for (int e = 0; e < g->experts; e++)
        most = fmax(most, logits[e]);
    for (int e = 0; e < g->experts; e++)
        sum += exp(logits[e] - most);
    for (int e = 0; e < g->experts; e++) {
        scores[e] = plain ? logits[e]
                          : (softmax ? exp(logits[e] - most) / sum : 1 / (1 + exp(-logits[e]))) +
                                (correction ? correction[e] : 0);
        if (!isfinite(logits[e]) || !isfinite(scores[e]))
            return 0;
        size = fmax(size, fabs(logits[e]));
        largest = fmax(largest, fabs(scores[e]));
    }
    /* the slope of sigma is at most 1/4, and softmax moves by at most half of what all logits move
     */
    double margin = NEAR * unit * (plain ? size : size / (softmax ? 2 : 4) + largest);
    if (g->groups > 1)
        gap = keep_groups(kept, scores, g);
    if (sparse)
        gap = sparsemixer_gap(logits, choice, g);
    for (int e = 0; e < g->experts; e++) {
        int chosen = next < g->chosen && choice[next] == e;
        next += chosen;
        if (chosen)
            low = fmin(low, scores[e]);
        else if (kept[e / (g->experts / g->groups)])
            high = fmax(high, scores[e]);
    }
    return low - high <= margin || gap <= 2 * margin;
}

void near_ties_count(struct engine *g, int l, int batch)
{
    const struct experts *x = &g->d->blocks[l].experts;
    const struct routing *routing = &x->routing;
    size_t queries = (size_t)g->shape.queries[l], total = (size_t)batch * queries,
           experts = (size_t)routing->experts, chosen = (size_t)routing->chosen;
    double unit = rounding(g->k->dtype), correction[EXPERTS_MOST];
    if (!g->ties || (chosen == experts && routing->scoring != SCORING_SPARSEMIXER))
        return;
    for (size_t e = 0; x->correction.data && e < experts; e++)
        correction[e] = element_read(x->correction.data, x->correction.type,
                                     x->correction.first + e * x->correction.row_stride);
    for (size_t first = 0; first < total; first += TIE_ROWS) {
        size_t rows = total - first < TIE_ROWS ? total - first : TIE_ROWS;
        memset(g->tie_logits, 0,
               rows * experts *
                   sizeof *g->tie_logits); /* if reading fails (the set keeps errors) */
        g->k->read(g->k, g->tie_logits, g->layers[l].logits, first * experts, rows * experts);
        for (size_t r = 0; r < rows; r++)
            g->ties[(first + r) / queries] +=
                (size_t)near_tie(g->tie_logits + r * experts,
                                 x->correction.data ? correction : NULL,
                                 g->expert_host + (first + r) * chosen, routing, unit);
    }
}
