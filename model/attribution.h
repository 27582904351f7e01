/* Attributions of log p of the target to the input embeddings, in addition to the plain gradient.
 * e_m is the row of the embedding table, g_m(x) the gradient of log p with respect to it at rows x:
 *
 * - ATTRIBUTION_INPUT: a_m = e_m * g_m(e), element by element
 * - ATTRIBUTION_INTEGRATED: a_m = e_m * integral over s in [0, 1] of g_m(s e): integrated gradients
 *   from a baseline of zero rows (Sundararajan, Taly, Yan 2017), by the Gauss-Legendre rule of
 *   INTEGRATED_STEPS points. Position rows are not scaled: they are not part of e_m
 * - ATTRIBUTION_SMOOTH: a_m = mean of g_m(e + noise) over SMOOTH_SAMPLES samples of normal noise
 *   (SmoothGrad; Smilkov et al. 2017)
 *
 * All are vectors, reduced by their norms as gradients are. */
#ifndef REACH_MODEL_ATTRIBUTION_H
#define REACH_MODEL_ATTRIBUTION_H

#include "model/engine.h"

enum { INTEGRATED_STEPS = 50, SMOOTH_SAMPLES = 50 };
/* SmoothGrad's standard deviation as a part of the root mean square of the embedding table's
 * elements. */
#define SMOOTH_NOISE 0.1

/* The check of integrated gradients: the sum of all elements of all a_m equals log p - baseline, up
 * to quadrature error (completeness). */
struct completeness {
    double sum, baseline; /* baseline: log p with all rows zero; with a contrast the difference */
};

/* Attributes `count` segments of ids [count, n + 1], the first of them number `first` of its text
 * (the noise depends on that number): norm [count, n] = ||a_m||_2, logprob [count] of the unchanged
 * segment. completeness [count] with ATTRIBUTION_INTEGRATED, else unused. */
int engine_attribute(struct engine *g, double *norm, double *logprob,
                     struct completeness *completeness, const int32_t *ids, size_t first, int count,
                     struct error *e) MUST_USE;

/* Root mean square of the embedding table's elements, over its finite rows; NaN: out of memory. */
double attribution_embedding_size(const struct decoder *d);

#endif
