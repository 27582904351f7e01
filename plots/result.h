/* The figures of a result of `reach erf`. All return as figure_draw (plots/figure.h). */
#ifndef REACH_PLOTS_RESULT_H
#define REACH_PLOTS_RESULT_H

#include "io/results/result.h"
#include "plots/style.h"

/* The main curves: see figure_erf. */
int figure_result(const struct figure_place *to, const struct result *r, struct error *e) MUST_USE;

/* The field by layer, two panels per model: a heat map over layer and distance of the gradient's
 * share by doubling of the distance, and 1 - c over the most recent tokens; the main ERF is marked
 * in both. */
int figure_layers(const struct figure_place *to, const struct result *r, struct error *e) MUST_USE;

/* The main ERF over the target's position, the models side by side, and the line of full use;
 * saturated ones have an arrow. */
int figure_targets(const struct figure_place *to, const struct result *r, struct error *e) MUST_USE;

/* The attention ERF of every head, one panel per model: by head, coloured by layer, with the heads'
 * TRF as bars. */
int figure_attention(const struct figure_place *to, const struct result *r,
                     struct error *e) MUST_USE;

/* The attention ERF of every head as a heat map of layers and heads, one panel per model. */
int figure_heads(const struct figure_place *to, const struct result *r, struct error *e) MUST_USE;
/* 1 if a head has a field to draw; no head of a model of convolutions alone has. */
int figure_has_attention(const struct result *r);

#endif
