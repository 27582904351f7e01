/* The figures of a result of `reach erf`: FOLDER/STEM.gp, and its pictures as `style` asks. All return as figure_draw
 * (plots/figure.h) does. */
#ifndef REACH_PLOTS_RESULT_H
#define REACH_PLOTS_RESULT_H

#include "io/results/result.h"
#include "plots/style.h"

/* The main curves: see figure_erf. */
int figure_result(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                  struct error *e) MUST_USE;

/* The field growing layer by layer, a pair of panels a model: a heat map of s over layer and distance, and 1 - c over the most
 * recent tokens; the main ERF marked in both. */
int figure_layers(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                  struct error *e) MUST_USE;

/* The main ERF over the position of the target, beside the line on which all tokens are needed; saturated points are hollow. */
int figure_targets(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                   struct error *e) MUST_USE;

/* The attention ERF of every head, a panel a model: by head, coloured by layer, with the heads' TRF as bars. */
int figure_attention(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                     struct error *e) MUST_USE;

/* The attention ERF of every head as a heat map of layers and heads, a panel a model. */
int figure_heads(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                 struct error *e) MUST_USE;

#endif
