/* A layout: the usual decoder with the names, settings and defaults of one family as a row of a table (families/llama_like.c,
 * families/gpt_like.c), and the reader of all such rows. Families that need more have a file of their own. */
#ifndef REACH_MODEL_LAYOUT_H
#define REACH_MODEL_LAYOUT_H

#include "model/expert_layout.h"

/* A yes or no: `key` of config.json, and what its absence means. key NULL: `absent` in every model. */
struct setting {
    const char *key;
    int absent;
    const char *older; /* the key's other name */
};

#define NO \
    { \
        .absent = 0 \
    }
#define YES \
    { \
        .absent = 1 \
    }
#define KEY(name) \
    { \
        .key = name \
    }
#define KEY_OR_OLDER(name, other) \
    { \
        .key = name, .older = other \
    }
#define KEY_OR_YES(name) \
    { \
        .key = name, .absent = 1 \
    }

/* Names of tensors without .weight and .bias: of the model below `prefix`, of block l below PREFIX LAYERS.l. A name that is NULL
 * is not there. */
struct names {
    const char *prefix, *embedding, *positions, *layers, *final_norm;
    const char *head, *older_head; /* not below the prefix */
    const char *attention_norm, *mlp_norm, *attention_post_norm, *mlp_post_norm;
    const char *query, *key, *value; /* or all three in one */
    const char *fused;
    const char *query_norm, *key_norm, *output;
    const char *sinks, *other_sinks; /* the whole names: a score of each head beside those of the keys */
    const char *gate, *up, *down;
    const char *gate_up; /* both in one, gate first */
};

/* Rows of a fused projection. */
enum fused {
    FUSED_PARTS, /* q, k, v */
    FUSED_HEADS, /* [H][q, k, v] */
    FUSED_GROUPS, /* [key heads][q of the heads that share k and v, k, v] */
    FUSED_QUARTERS /* [4][q, v, k], each of a quarter of the heads */
};

enum windows {
    WINDOWS_NONE,
    WINDOWS_FULL, /* none, and layer_types may name none */
    WINDOWS_ALL, /* sliding_window in every layer */
    WINDOWS_NAMED, /* in the layers that layer_types says; without it in none */
    WINDOWS_FROM, /* from max_window_layers on, or as layer_types says */
    WINDOWS_LISTED, /* in every layer, or as layer_types says */
    WINDOWS_ALTERNATE, /* in every other layer from the first on, or as layer_types says */
    WINDOWS_BUT_EVERY, /* in all layers but every sliding_window_pattern-th, or as layer_types says */
    WINDOWS_UNTURNED, /* in layers that are not turned, with use_sliding_window, or as layer_types says */
    WINDOWS_ALL_SWITCHED, /* with use_sliding_window, in every layer */
    WINDOWS_SWITCHED /* with use_sliding_window, from max_window_layers on, or as layer_types says */
};

/* Layers whose queries and keys are turned, where there are rotary positions. */
enum turned {
    TURNED_ALL,
    TURNED_LISTED, /* as no_rope_layers says, or all but every no_rope_layer_interval-th */
    TURNED_WINDOWS, /* those with a window */
    TURNED_WINDOWS_OR_ALL, /* the same; all without a sliding_window */
    TURNED_BY_KIND /* all, those with a window by settings of their own (rope.by_kind) */
};

/* What a norm of queries and keys is of. */
enum head_norms {
    HEADS_ALIKE, /* each head by itself, with the same weights */
    HEADS_EACH, /* each head by itself, with weights of its own, [heads, head_size] */
    HEADS_EACH_NAMED, /* the same; NAME.norms.h of head h */
    HEADS_WHOLE /* all heads as one */
};

/* Sinusoidal positions in halves, with the base 10000. */
enum sinusoidal {
    SINUSOIDAL_NONE,
    SINUSOIDAL_CLOSED, /* over hidden / 2 - 1 steps */
    SINUSOIDAL_OPEN /* over hidden / 2 */
};

struct layout {
    /* keys of config.json */
    const char *hidden, *layers, *heads; /* the family's own names of hidden_size, num_hidden_layers, num_attention_heads */
    const char *inner; /* NULL: intermediate_size */
    int inner_times; /* without it the MLP is so many times as wide as the model; 0: it must be there */
    const char
        *inner_factor; /* key of how many times as wide, inner_times by default, in place of `inner`; NULL: there is none */
    const char *activation, *activation_absent; /* activation NULL: the other in every model */
    int grouped; /* 1: num_key_value_heads, or kv_heads */
    const char *kv_heads;
    int sized; /* 1: head_dim, and what its absence means; 0: hidden / heads */
    long head_size_absent;
    struct setting qkv_bias, output_bias, mlp_bias, head_bias;
    int tied; /* what the absence of tie_word_embeddings means */

    /* norms */
    enum norm_kind norm;
    const char *epsilon; /* key; NULL: epsilon_absent in every model */
    double epsilon_absent;
    int norm_bias, norm_bare; /* bare: no parameters */
    int norm_offset; /* added to the stored weights */
    struct setting head_norms;
    enum head_norms head_norms_of;
    int head_norms_last; /* 1: behind the rotation */
    const char
        *post_norms; /* key that says whether norms behind the branches are there, by default; NULL: those with a name are */

    /* positions: rotary ones by the general keys (rope.theta), or by rotary_dim alone; learned ones; sinusoidal ones */
    struct rope_keys rope;
    long rotary_dim; /* what the absence of that key means */
    const char *learned, *older_learned; /* key of the number of positions */
    int alibi; /* 1: the slopes of released code */
    enum sinusoidal sinusoidal;
    int first_row; /* of either: rows before belong to padding */
    enum windows windows;
    long window_absent, window_first_absent; /* the latter of max_window_layers */
    const char *pattern; /* key of WINDOWS_BUT_EVERY; NULL: none */
    long pattern_absent;
    int pattern_first; /* 1: the layer without a window is the first of them */
    enum turned turned;

    struct setting scale_embedding; /* times sqrt(hidden) */
    int scale_rounded; /* to the type of the stored embedding */
    struct setting parallel;
    int head_normalised; /* 1: logits are made by the head's rows of length 1 */
    int norms_after; /* 1: the norms behind the branches are those of the sums (RESIDUAL_POST) */
    int one_norm; /* where the residual is parallel both branches have the attention's */
    struct setting multi_query; /* one key and value for all heads; then the fused rows are FUSED_PARTS */
    enum fused fused;
    int transposed; /* matrices of the blocks are stored [in, out] */
    const struct expert_layout *experts; /* in place of the MLP, in all layers or some; NULL: none */

    struct names names;
    const struct names *other_names; /* in their place where no tensor has names[prefix] and some have these; NULL: none */
    const struct alias {
        const char *alias, *key;
    } * aliases; /* other names of keys, which win where both are there; ends with NULL; NULL: none */
    const char *defaults; /* keys in JSON that configurations of the family may lack, where the library has a value; NULL: none */

    /* What is peculiar to the family, once all else is read; NULL: nothing. */
    int (*finish)(struct decoder *d, struct error *e);
};

/* parts of a row */
#define ACTIVATION(name, otherwise) .activation = name, .activation_absent = otherwise
#define EPSILON(name, otherwise) .epsilon = name, .epsilon_absent = otherwise
#define BIASES(qkv, output, mlp) .qkv_bias = qkv, .output_bias = output, .mlp_bias = mlp
#define LLAMA_FRAME \
    .prefix = "model.", .embedding = "embed_tokens", .layers = "layers", .final_norm = "norm", .head = "lm_head", \
    .attention_norm = "input_layernorm"
#define NORM_BEFORE_MLP .mlp_norm = "post_attention_layernorm"
#define OUTPUT .output = "self_attn.o_proj"
#define GATED .gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj"
#define LLAMA_NAMES LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, GATED
#define SPLIT .query = "self_attn.q_proj", .key = "self_attn.k_proj", .value = "self_attn.v_proj"
#define ROTARY_PART(part) .theta = "rope_theta", .fraction = "partial_rotary_factor", .fraction_default = part
#define ROTARY_WHOLE ROTARY_PART(1), .whole_heads = 1

int layout_read(struct decoder *d, const struct layout *layout, struct error *e) MUST_USE;

#endif
