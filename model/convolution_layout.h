/* Short convolutions of a layout (layout.h) instead of attention in some layers: their keys of
 * config.json and the names of their tensors. */
#ifndef REACH_MODEL_CONVOLUTION_LAYOUT_H
#define REACH_MODEL_CONVOLUTION_LAYOUT_H

#include "model/family.h"

struct convolution_layout {
    const char *reach, *biased; /* keys: inputs, 3 by default; biases, by default none */
    const char *attending; /* key of a list of the layers that attend, by default all, if there is
                              no layer_types; NULL: layer_types is required */
    int adjusted; /* 1: block_auto_adjust_ff_dim makes the MLP's width from intermediate_size */
    const char *in, *taps, *out; /* names of tensors */
};

/* After the sizes: which blocks convolve, and over how many inputs. */
int convolution_settings(int *biased, const struct convolution_layout *layout, struct decoder *d,
                         struct error *e) MUST_USE;
/* The MLP's width from that of the configuration: two thirds of it, times a factor, up to a
 * multiple. */
int convolution_inner(long *inner, const struct convolution_layout *layout, const struct decoder *d,
                      struct error *e) MUST_USE;
/* Block b's convolution and output, from tensors below STEM. */
int convolution_read(struct block *b, const struct convolution_layout *layout,
                     const struct decoder *d, int biased, const char *stem,
                     struct error *e) MUST_USE;

#endif
