/* Between the files that read a layout. */
#ifndef REACH_MODEL_LAYOUT_PARTS_H
#define REACH_MODEL_LAYOUT_PARTS_H

#include "model/layout.h"

/* A layout, and a configuration's settings for it. */
struct reading {
    struct decoder *d;
    const struct layout *layout;
    const char *prefix;
    double epsilon;
    enum activation activation;
    int xielu; /* 1: instead of it */
    int conv_bias, norm_bias, qkv_bias, output_bias, mlp_bias, head_bias, head_norms, post_norms,
        parallel, scaled, single;
    enum fused fused;
    int full_size, full_kv_heads; /* of layers without windows; 0: as of the others */
    int keys_are_values, wide_sharers;
    struct latent_sizes latent; /* of layouts with latents */
    struct recurrence_sizes recurrence; /* of layouts with recurrences */
    struct mixture mixture; /* of layouts with experts */
    int block; /* the names of its tensors */
    struct error *e;
};

/* The positions of a layout, with the windows of its layers. */
int layout_positions(struct reading *r) MUST_USE;

#endif
