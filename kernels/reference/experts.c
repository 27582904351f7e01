/* Reference set: the choice of experts, its derivative, and the rows sent to them and back.
 *
 * The chosen ones are the first in an order: by s + correction, descending, then by number,
 * ascending. The order is walked step by step, so no list is kept; a NaN counts as -inf in it. */
#include "kernels/reference/reference.h"

#include <math.h>
#include <string.h>

/* The values that order the choice: the logits themselves if softmax has the same order, also of
 * groups. */
static void choice_scores(double *scores, const real *logits, const real *correction,
                          const struct routing *g)
{
    int sigma = g->scoring == SCORING_SIGMOID,
        softmax = !sigma && (correction || (g->groups > 1 && !g->group_largest));
    double largest = -INFINITY, sum = 0;
    for (int e = 0; e < g->experts && !sigma; e++)
        largest = fmax(largest, (double)logits[e]);
    for (int e = 0; e < g->experts && softmax; e++)
        sum += exp(logits[e] - largest);
    for (int e = 0; e < g->experts; e++) {
        double s = sigma     ? sigmoid(logits[e])
                   : softmax ? exp(logits[e] - largest) / sum
                             : (double)logits[e];
        if (correction)
            s += correction[e];
        scores[e] = isnan(s) ? -INFINITY : s;
    }
}

/* The one of `count` after number `last` in the order; last -1: the first. */
static int next_of(const double *scores, int count, int last)
{
    int best = -1;
    for (int e = 0; e < count; e++) {
        int behind = last < 0 || scores[e] < scores[last] ||
                     (scores[e] == scores[last] && e > last);
        if (behind && (best < 0 || scores[e] > scores[best]))
            best = e;
    }
    return best;
}

static int is_before(const double *scores, int a, int b)
{
    return scores[a] > scores[b] || (scores[a] == scores[b] && a <= b);
}

/* Scores outside the chosen groups become -inf. */
static void keep_groups(double *scores, const struct routing *g)
{
    double sums[EXPERTS_MOST];
    int size = g->experts / g->groups, last = -1;
    for (int i = 0; i < g->groups; i++) {
        const double *s = scores + i * size;
        int first = next_of(s, size, -1);
        double sum = s[first] + (g->group_largest ? 0 : s[next_of(s, size, first)]);
        sums[i] = isnan(sum) ? -INFINITY : sum;
    }
    for (int i = 0; i < g->chosen_groups; i++)
        last = next_of(sums, g->groups, last);
    for (int i = 0; i < g->groups; i++)
        for (int e = i * size; !is_before(sums, i, last) && e < (i + 1) * size; e++)
            scores[e] = -INFINITY;
}

static void choose(int32_t *choice, const real *logits, const real *correction,
                   const struct routing *g)
{
    double scores[EXPERTS_MOST];
    int last = -1, count = 0;
    choice_scores(scores, logits, correction, g);
    if (g->groups > 1)
        keep_groups(scores, g);
    for (int j = 0; j < g->chosen; j++)
        last = next_of(scores, g->experts, last);
    for (int e = 0; e < g->experts; e++)
        if (is_before(scores, e, last))
            choice[count++] = e;
}

/* Softmax over all experts, or the chosen if others cancel: largest logit, sum of exp(z - it). */
static double softmax_sum(double *largest, const real *logits, const int32_t *choice,
                          const struct routing *g)
{
    double sum = 0;
    int count = g->normalised ? g->chosen : g->experts;
    *largest = -INFINITY;
    for (int j = 0; j < count; j++)
        *largest = fmax(*largest, (double)logits[g->normalised ? choice[j] : j]);
    for (int j = 0; j < count; j++)
        sum += exp(logits[g->normalised ? choice[j] : j] - *largest);
    return sum;
}

static double sigmoid_sum(const real *logits, const int32_t *choice, const struct routing *g)
{
    double sum = g->floor;
    for (int j = 0; j < g->chosen; j++)
        sum += sigmoid(logits[choice[j]]);
    return sum;
}

/* Of SCORING_SPARSEMIXER: which of the two chosen is the first. */
static int first_of_two(const real *logits, const int32_t *choice)
{
    return logits[choice[1]] > logits[choice[0]];
}

/* The score of expert e relative to chosen j as exp(z - the chosen's z); 0 if it does not count. */
static double near_score(const real *logits, const int32_t *choice, const struct routing *g, int j,
                         int e)
{
    int first = first_of_two(logits, choice);
    double chosen = logits[choice[j]], z = logits[e];
    if ((j != first && e == choice[first]) || (chosen - z) / fmax(fabs(z), chosen) > g->tolerance)
        return 0;
    return exp(z - chosen);
}

static double near_sum(const real *logits, const int32_t *choice, const struct routing *g, int j)
{
    double sum = 0;
    for (int e = 0; e < g->experts; e++)
        sum += near_score(logits, choice, g, j, e);
    return sum;
}

/* With p = a chosen one's softmax, u its d_weight: dz = factor u p (delta - p), for both
 * together. */
static void unweigh_sparsemixer(real *d_logits, const real *d_weights, const real *logits,
                                const int32_t *choice, const struct routing *g)
{
    double scale[2], sum[2];
    for (int j = 0; j < 2; j++) {
        sum[j] = near_sum(logits, choice, g, j);
        scale[j] = g->factor * d_weights[j] / sum[j];
    }
    for (int e = 0; e < g->experts; e++) {
        double d = 0;
        for (int j = 0; j < 2; j++)
            d += scale[j] * ((e == choice[j]) - near_score(logits, choice, g, j, e) / sum[j]);
        d_logits[e] = (real)d;
    }
}

static void weigh(real *weights, const real *logits, const int32_t *choice, const struct routing *g)
{
    double largest, sum;
    int bad = 0;
    for (int e = 0; e < g->experts; e++)
        bad |= isnan(logits[e]) != 0;
    if (g->scoring == SCORING_SPARSEMIXER) {
        for (int j = 0; j < 2; j++)
            weights[j] = bad ? (real)NAN : (real)(g->factor / near_sum(logits, choice, g, j));
        return;
    }
    sum = g->scoring == SCORING_SOFTMAX ? softmax_sum(&largest, logits, choice, g)
          : g->normalised               ? sigmoid_sum(logits, choice, g)
                                        : 1;
    for (int j = 0; j < g->chosen; j++) {
        double z = logits[choice[j]],
               s = g->scoring == SCORING_SOFTMAX ? exp(z - largest) : sigmoid(z);
        weights[j] = bad ? (real)NAN : (real)(g->factor * s / sum);
    }
}

static void route(struct kernels *k, struct buffer *choice, struct buffer *weights,
                  const struct buffer *logits, const struct weight *correction,
                  const struct routing *g, struct rows rows)
{
    static const int32_t first = 0;
    size_t total = (size_t)rows.segments * (size_t)rows.count;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++) {
        const real *z = (const real *)logits->data + r * (size_t)g->experts; /* [experts] */
        int32_t *chosen = choice ? (int32_t *)choice->data + r * (size_t)g->chosen
                                 : NULL; /* [chosen] */
        if (chosen)
            choose(chosen, z, correction ? correction->data : NULL, g);
        weigh((real *)weights->data + r * (size_t)g->chosen, z, chosen ? chosen : &first, g);
    }
}

/* With p = softmax and u_j = d_weight_j: dz = factor p (u - sum p u), u being 0 where not chosen.
 * With s = sigma: dz = s (1 - s) ds, ds = factor u, or factor (u - sum u s / sum) / sum where
 * normalised. */
static void unweigh(real *d_logits, const real *d_weights, const real *logits,
                    const int32_t *choice, const struct routing *g)
{
    if (g->scoring == SCORING_SPARSEMIXER) {
        unweigh_sparsemixer(d_logits, d_weights, logits, choice, g);
        return;
    }
    int softmax = g->scoring == SCORING_SOFTMAX, dense = softmax && !g->normalised;
    double largest = 0, mean = 0,
           sum = softmax         ? softmax_sum(&largest, logits, choice, g)
                 : g->normalised ? sigmoid_sum(logits, choice, g)
                                 : 1;
    for (int j = 0; j < g->chosen && (softmax || g->normalised); j++) {
        double z = logits[choice[j]];
        mean += d_weights[j] * (softmax ? exp(z - largest) : sigmoid(z)) / sum;
    }
    for (int e = 0; e < g->experts; e++)
        d_logits[e] = dense ? (real)(-g->factor * mean * exp(logits[e] - largest) / sum) : 0;
    for (int j = 0; j < g->chosen; j++) {
        double z = logits[choice[j]], u = g->factor * (d_weights[j] - mean) / sum;
        d_logits[choice[j]] = (real)(u * (softmax ? exp(z - largest) : sigmoid(z) * sigmoid(-z)));
    }
}

static void route_reverse(struct kernels *k, struct buffer *d_logits,
                          const struct buffer *d_weights, const struct buffer *logits,
                          const struct buffer *choice, const struct routing *g, struct rows rows)
{
    static const int32_t first = 0;
    size_t total = (size_t)rows.segments * (size_t)rows.count, experts = (size_t)g->experts,
           chosen = (size_t)g->chosen;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++)
        unweigh((real *)d_logits->data + r * experts, (const real *)d_weights->data + r * chosen,
                (const real *)logits->data + r * experts,
                choice ? (const int32_t *)choice->data + r * chosen : &first, g);
}

static void gather(struct kernels *k, struct buffer *y, const struct buffer *x,
                   const struct buffer *index, size_t count, int each, int width)
{
    const int32_t *from = index->data; /* [count] */
    size_t size = sizeof(real) * (size_t)width;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        memcpy((char *)y->data + i * size, (const char *)x->data + (size_t)(from[i] / each) * size,
               size);
}

static void combine(struct kernels *k, struct buffer *y, const struct buffer *x,
                    const struct buffer *index, const struct buffer *weights, struct rows rows,
                    int each, int width, int accumulate)
{
    const int32_t *from = index ? index->data : NULL; /* [R, each] */
    const real *weight = weights ? weights->data : NULL; /* [R, each] */
    size_t total = (size_t)rows.segments * (size_t)rows.count, w = (size_t)width, n = (size_t)each;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < total; r++) {
        real *out = (real *)y->data + r * w; /* [width] */
        for (size_t c = 0; c < w; c++) {
            double sum = accumulate ? (double)out[c] : 0.0;
            for (size_t i = r * n; i < (r + 1) * n; i++)
                sum += (weight ? (double)weight[i] : 1.0) *
                       ((const real *)x->data)[(from ? (size_t)from[i] : i) * w + c];
            out[c] = (real)sum;
        }
    }
}

static void combine_reverse(struct kernels *k, struct buffer *d_weights, const struct buffer *dy,
                            const struct buffer *x, const struct buffer *index, struct rows rows,
                            int each, int width)
{
    const int32_t *from = index ? index->data : NULL; /* [R, each] */
    size_t total = (size_t)rows.segments * (size_t)rows.count * (size_t)each, w = (size_t)width;
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < total; i++) {
        const real *gradient = (const real *)dy->data + i / (size_t)each * w,
                   *in = (const real *)x->data + (from ? (size_t)from[i] : i) * w;
        double sum = 0;
        for (size_t c = 0; c < w; c++)
            sum += (double)gradient[c] * in[c];
        ((real *)d_weights->data)[i] = (real)sum;
    }
}

static void weigh_reverse(struct kernels *k, struct buffer *d_weights, struct buffer *dx,
                          const struct buffer *x, const struct buffer *index,
                          const struct buffer *weights, size_t count, int width)
{
    const int32_t *to = index ? index->data : NULL; /* [count] */
    (void)k;
#pragma omp parallel for schedule(static)
    for (size_t s = 0; s < count; s++) {
        size_t i = to ? (size_t)to[s] : s;
        const real *in = (const real *)x->data + s * (size_t)width; /* [width] */
        real *gradient = (real *)dx->data + s * (size_t)width; /* [width] */
        double sum = 0, weight = ((const real *)weights->data)[i];
        for (int c = 0; c < width; c++) {
            sum += (double)in[c] * gradient[c];
            gradient[c] = (real)(weight * gradient[c]);
        }
        ((real *)d_weights->data)[i] = (real)sum;
    }
}

void fill_experts(struct kernels *k)
{
    k->route = route;
    k->route_reverse = route_reverse;
    k->gather = gather;
    k->combine = combine;
    k->combine_reverse = combine_reverse;
    k->weigh_reverse = weigh_reverse;
}
