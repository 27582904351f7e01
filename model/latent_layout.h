/* Latents of a layout (layout.h): the configuration keys of their sizes, and the names of their
 * tensors, which all families share. */
#ifndef REACH_MODEL_LATENT_LAYOUT_H
#define REACH_MODEL_LATENT_LAYOUT_H

#include "model/family.h"

/* Defaults of the keys: kv_lora_rank, q_lora_rank (null: queries have no latent), qk_nope_head_dim,
 * qk_rope_head_dim, v_head_dim (0: hidden / heads). */
struct latent_layout {
    long rank, query_rank, own, turned, value;
    enum { PAIRS_HALVES, PAIRS_NEIGHBOURS, PAIRS_BY_KEY } pairs; /* by key: rope_interleave */
    int whole_heads; /* 1: head_dim is that of a whole key, and partial_rotary_factor a part of it;
                        0: of its rotated part */
    int head_free; /* 1: head_dim may be anything */
};

struct latent_sizes {
    int rank, query_rank, own, turned, value; /* query_rank 0: none */
    int neighbours; /* 1: rotated in pairs of neighbours */
};

/* Reads the sizes, before family_sizes: the size of a key is own + turned. */
int latent_sizes_read(struct latent_sizes *out, const struct latent_layout *layout,
                      const struct decoder *d, struct error *e) MUST_USE;
/* The keys of rotary positions for them. */
struct rope_keys latent_rope(struct rope_keys keys, const struct latent_layout *layout,
                             const struct latent_sizes *sizes);
/* After reading them: an error unless they turn that part of a head. */
int latent_check_rope(const struct decoder *d, const struct latent_sizes *sizes,
                      struct error *e) MUST_USE;
/* Block b's queries, keys and values, from tensors below STEM; `biased`: biases of what reads the
 * residual stream. */
int latent_read(struct block *b, const struct decoder *d, const struct latent_sizes *sizes,
                int biased, const char *stem, struct error *e) MUST_USE;

#endif
