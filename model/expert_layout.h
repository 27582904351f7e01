/* Experts of a layout (layout.h): the configuration keys for their number and for how rows choose
 * them, and the names of their tensors. */
#ifndef REACH_MODEL_EXPERT_LAYOUT_H
#define REACH_MODEL_EXPERT_LAYOUT_H

#include "model/family.h"

/* Names are below PREFIX LAYERS.l; a NULL name is absent. Files have separate experts, as
 * PARENT.i.NAME.weight, or stacked ones, [experts, rows, columns] in one tensor, under either of
 * two names, or one below the other, or as in GGUF files. */
struct expert_layout {
    /* keys of config.json */
    const char *count, *older_count;
    const char *chosen, *older_chosen; /* chosen NULL: num_experts_per_tok; that may be a list of
                                          one number for all layers */
    const char *width; /* NULL: intermediate_size */
    const char *shared_width; /* of the shared expert; NULL: by shared_count */
    const char
        *shared_count; /* shared experts as wide as the others, side by side; NULL: shared_absent */
    long shared_absent; /* the default for either key; 0: none, or with shared_gated required */
    int shared_gated; /* 1: the shared expert has a gate */
    /* Layers without experts: those before the first, unless listed by name. */
    const char *first_dense; /* NULL: dense_absent */
    long dense_absent;
    const char *dense, *step,
        *last; /* step: all except every step-th; last with experts, -1: the last */
    int listed; /* 1: mlp_layer_types */
    const char *with; /* a list of the layers with experts, which wins over `step`; NULL: none */
    int scales_input; /* 1: weights of the chosen multiply their inputs */
    const char *latent; /* the width of the rows that experts read and write, if not the model's;
                           NULL: no such key */
    enum scoring scoring; /* SCORING_SPARSEMIXER: two, with router_jitter_noise for nearness */
    int by_groups; /* 1: n_group and topk_group */
    int groups_absent, chosen_groups_absent; /* their defaults; 0: 1 */
    int group_methods; /* 1: topk_method says whether there are groups, chosen by their largest */
    const char *factor; /* of the weights; NULL: none */
    double factor_absent;
    double floor; /* in the divisor of sigma's weights; 0: 1e-20 */
    int biased; /* 1: router and experts have biases, those of stacked ones as NAME_bias */
    int turned, alternating; /* turned: stacked matrices are [in, out], with -1 where they are not
                                [out, in]; alternating: gate, up */
    int normalised; /* default of norm_topk_prob; -1: no such key, they are normalised; -2: the key
                       has no effect, they are not */
    /* tensors */
    const char *router, *other_router;
    const char *in, *out; /* to and from rows of the width `latent`, with biases as the MLP's */
    const char *correction, *other_correction; /* the whole names; correction NULL: none */
    const char *corrected; /* key, by default 1: 0 leaves the correction out; NULL: none */
    int correction_optional; /* 1: it may be absent */
    const char *parent, *gate, *up, *down; /* separate; parent NULL: never */
    const char *gate_up[2], *stacked_down[2];
    int ungated; /* 1: no gates, nor of the shared one; gate_up is of `up` alone */
    int below; /* 1: PARENT.GATE, PARENT.UP and PARENT.DOWN are [experts width, hidden] each, expert
                  below expert */
    const char *shared, *other_shared; /* the parents of gate_proj, up_proj and down_proj */
    const char *shared_gate_up, *shared_down; /* or gate and up in one, gate first */
    int beside; /* 1: layers with experts have the layout's MLP too */
};

/* The experts described by a configuration. */
struct mixture {
    const struct expert_layout *layout;
    struct routing routing;
    int width, shared_width, first_dense, step, last;
    int latent, reads; /* 1: with `in` and `out`; the width of the rows that experts read */
    int uncorrected; /* 1: the correction is left out */
    int shared_biased; /* 1: the shared expert's matrices, in and out have biases */
    json_t *dense, *with,
        *kinds; /* layers without experts, layers with, or each layer's kind; NULL: none */
};

/* -1 for impossible routing. Call it after the sizes. */
int mixture_settings(struct mixture *m, const struct expert_layout *layout, struct decoder *d,
                     struct error *e) MUST_USE;
/* 1 if layer l has experts. */
int mixture_in_layer(const struct mixture *m, int l);
/* The experts of layer l, with tensors below STEM, and the shared one as its MLP. */
int mixture_read(struct block *b, const struct mixture *m, const struct decoder *d,
                 const char *stem, struct error *e) MUST_USE;

#endif
