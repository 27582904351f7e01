/* Figures of what `reach erf` measures beside the embeddings of whole segments: by layer, by target position, by head. */
#ifndef REACH_PLOTS_LAYERS_H
#define REACH_PLOTS_LAYERS_H

#include "io/error.h"

#include <stddef.h>

/* One layer's reduced norms. */
struct layer_curve {
    int layer;
    const double *s, *c; /* [positions] */
    size_t erf;
};

struct layer_figure {
    const char *label;
    const struct layer_curve *layers; /* [count], ascending */
    size_t count, positions;
    int train_length; /* 0: unmarked */
};

/* The field growing layer by layer, a pair of panels a model: a heat map of s over layer and distance, and 1 - c over the most
 * recent tokens; ERF(threshold) marked in both. Returns as figure_draw (plots/figure.h) does, like all below. */
int figure_layers(const char *folder, const char *stem, const struct layer_figure *models, size_t count, double threshold,
                  const char *const *comments, const char *formats, struct error *e) MUST_USE;

struct target_point {
    double target; /* position of the target, from 1 */
    double erf, lo, hi; /* tokens, and the interval; equal ends: none */
    int saturated;
};

struct target_line {
    const char *label;
    const struct target_point *points; /* [count], ascending */
    size_t count;
    int train_length;
};

/* ERF(threshold) over the position of the target, beside the line on which all tokens are needed; saturated points are hollow. */
int figure_targets(const char *folder, const char *stem, const struct target_line *lines, size_t count, double threshold,
                   const char *const *comments, const char *formats, struct error *e) MUST_USE;

/* Attention fields of a model: [layers, heads]; trf 0 where there is none. */
struct attention_figure {
    const char *label;
    int layers, heads;
    const double *erf, *trf;
    size_t positions;
};

/* The attention ERF of every head, a panel a model: by head, coloured by layer, with the heads' TRF as bars. */
int figure_attention(const char *folder, const char *stem, const struct attention_figure *models, size_t count,
                     const char *epsilon, const char *const *comments, const char *formats, struct error *e) MUST_USE;

#endif
