/* Experts of a layout (layout.h): the keys of a configuration that say how many there are and how rows choose them, and the names
 * of their tensors. */
#ifndef REACH_MODEL_EXPERT_LAYOUT_H
#define REACH_MODEL_EXPERT_LAYOUT_H

#include "model/family.h"

/* Names are below PREFIX LAYERS.l; a name that is NULL is not there. Files have the experts apart, as PARENT.i.NAME.weight, or
 * stacked, [experts, rows, columns] in one tensor, by either of two names, or as GGUF files have them. */
struct expert_layout {
    /* keys of config.json */
    const char *count, *older_count;
    const char *width; /* NULL: intermediate_size */
    const char *shared_width; /* of the shared expert, which has a gate; NULL: none */
    const char *shared_count; /* shared experts as wide as the others, side by side, without a gate; NULL: none */
    const char *first_dense; /* layers before the first with experts, 1 by default; NULL: none */
    int some; /* 1: mlp_only_layers and decoder_sparse_step name the layers without */
    int by_groups; /* 1: sigma of the logits, a correction of the choice, n_group, topk_group, routed_scaling_factor */
    int biased; /* 1: router and experts have biases, those of stacked ones as NAME_bias */
    int turned; /* 1: stacked matrices are [in, out], and rows of gate and up take turns */
    int normalised; /* what the absence of norm_topk_prob means; -1: there is no such key, and they are */
    /* tensors */
    const char *router, *other_router;
    const char *parent, *gate, *up, *down; /* apart; parent NULL: never */
    const char *gate_up[2], *stacked_down[2];
    const char *shared; /* the parent of gate_proj, up_proj and down_proj */
};

/* What a configuration says of them. */
struct mixture {
    const struct expert_layout *layout;
    struct routing routing;
    int width, shared_width, first_dense, step;
    json_t *dense; /* the list of layers without experts, or NULL */
};

/* -1 for what the routing cannot be. After the sizes. */
int mixture_settings(struct mixture *m, const struct expert_layout *layout, struct decoder *d, struct error *e) MUST_USE;
/* 1 if layer l has experts. */
int mixture_in_layer(const struct mixture *m, int l);
/* The experts of layer l, whose tensors are below STEM, and the shared one in the place of its MLP. */
int mixture_read(struct block *b, const struct mixture *m, const struct decoder *d, const char *stem, struct error *e) MUST_USE;

#endif
