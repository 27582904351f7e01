/* Experts of a layout (layout.h): the keys of a configuration that say how many there are and how rows choose them, and the names
 * of their tensors. */
#ifndef REACH_MODEL_EXPERT_LAYOUT_H
#define REACH_MODEL_EXPERT_LAYOUT_H

#include "model/family.h"

/* Names are below PREFIX LAYERS.l; a name that is NULL is not there. Files have the experts apart, as PARENT.i.NAME.weight, or
 * stacked, [experts, rows, columns] in one tensor, by either of two names, or one below the other, or as GGUF files have them. */
struct expert_layout {
    /* keys of config.json */
    const char *count, *older_count;
    const char *chosen, *older_chosen; /* chosen NULL: num_experts_per_tok; that may be a list of one number for all layers */
    const char *width; /* NULL: intermediate_size */
    const char *shared_width; /* of the shared expert; NULL: as shared_count says */
    const char *shared_count; /* shared experts as wide as the others, side by side; NULL: shared_absent */
    long shared_absent; /* what the absence of either key means; 0: none, or with shared_gated that it must be there */
    int shared_gated; /* 1: the shared expert has a gate */
    /* Layers without experts: those before the first, unless a list names them. */
    const char *first_dense; /* NULL: dense_absent */
    long dense_absent;
    const char *dense, *step, *last; /* step: all but every so-manieth; last: with experts, -1 for that of the model */
    int listed; /* 1: mlp_layer_types */
    enum scoring scoring; /* SCORING_SPARSEMIXER: two are chosen, and router_jitter_noise says which are near them */
    int by_groups; /* 1: n_group and topk_group */
    const char *factor; /* of the weights; NULL: none */
    double factor_absent;
    int biased; /* 1: router and experts have biases, those of stacked ones as NAME_bias */
    int turned, alternating; /* turned: stacked matrices are [in, out]; alternating: rows of gate and up take turns */
    int normalised; /* what the absence of norm_topk_prob means; -1: there is no such key, and they are */
    /* tensors */
    const char *router, *other_router;
    const char *correction, *other_correction; /* the whole names; correction NULL: there is none */
    const char *parent, *gate, *up, *down; /* apart; parent NULL: never */
    const char *gate_up[2], *stacked_down[2];
    int below; /* 1: PARENT.GATE, PARENT.UP and PARENT.DOWN are [experts width, hidden] each, expert below expert */
    const char *shared, *other_shared; /* the parents of gate_proj, up_proj and down_proj */
    const char *shared_gate_up, *shared_down; /* or gate and up in one, gate first */
};

/* What a configuration says of them. */
struct mixture {
    const struct expert_layout *layout;
    struct routing routing;
    int width, shared_width, first_dense, step, last;
    int shared_biased; /* 1: the shared expert's matrices have biases */
    json_t *dense, *kinds; /* the list of layers without experts, or of what each has; NULL: none */
};

/* -1 for what the routing cannot be. After the sizes. */
int mixture_settings(struct mixture *m, const struct expert_layout *layout, struct decoder *d, struct error *e) MUST_USE;
/* 1 if layer l has experts. */
int mixture_in_layer(const struct mixture *m, int l);
/* The experts of layer l, whose tensors are below STEM, and the shared one in the place of its MLP. */
int mixture_read(struct block *b, const struct mixture *m, const struct decoder *d, const char *stem, struct error *e) MUST_USE;

#endif
