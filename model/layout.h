/* A layout: the usual decoder with the names, settings and defaults of one family as a row of a
 * table (families/llama_like.c, families/gpt_like.c), and the reader of all such rows. Families
 * that need more have their own file. */
#ifndef REACH_MODEL_LAYOUT_H
#define REACH_MODEL_LAYOUT_H

#include "model/convolution_layout.h"
#include "model/expert_layout.h"
#include "model/latent_layout.h"
#include "model/recurrence_layout.h"

/* A boolean: `key` of config.json, and its default. key NULL: `absent` in every model. */
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

/* Names of tensors without .weight and .bias: of the model below `prefix`, of block l below PREFIX
 * LAYERS.l. A NULL name is absent. */
struct names {
    const char *prefix, *embedding, *positions, *layers, *final_norm;
    const char *head, *older_head; /* not below the prefix */
    const char *attention_norm, *mlp_norm, *attention_post_norm, *mlp_post_norm;
    const char *query, *key, *value; /* or all three in one */
    const char *fused;
    const char *query_norm, *key_norm, *output;
    const char *head_gate; /* [heads, hidden]: a sigmoid of it gates each head's output */
    const char *sinks, *other_sinks; /* the whole names: another score per head */
    const char *gate, *up, *down; /* down NULL, and no experts: there is no MLP */
    const char *gate_up; /* both in one, gate first */
    const char *other_gate, *other_up, *other_down; /* other names of them, where a layer has that
                                                       of `down` */
};

/* Names of the norms of a layer, below it, each with another that older or newer files have. */
struct layer_norms {
    const char *attention_norm[2], *mlp_norm[2], *attention_post_norm[2], *mlp_post_norm[2];
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
    WINDOWS_NAMED, /* in the layers named by layer_types; without it in none */
    WINDOWS_FROM, /* from max_window_layers on, or by layer_types */
    WINDOWS_LISTED, /* in every layer, or by layer_types */
    WINDOWS_ALTERNATE, /* in every other layer from the first on, or by layer_types */
    WINDOWS_BUT_EVERY, /* in all layers except every sliding_window_pattern-th, or by layer_types */
    WINDOWS_UNTURNED, /* in unrotated layers, with use_sliding_window, or by layer_types */
    WINDOWS_ALL_SWITCHED, /* with use_sliding_window, in every layer */
    WINDOWS_SWITCHED /* with use_sliding_window, from max_window_layers on, or by layer_types */
};

/* Layers with rotated queries and keys, if there are rotary positions. */
enum turned {
    TURNED_ALL,
    TURNED_LISTED, /* by no_rope_layers, or all except every no_rope_layer_interval-th */
    TURNED_WINDOWS, /* those with a window */
    TURNED_WINDOWS_OR_ALL, /* the same; all without a sliding_window */
    TURNED_BY_KIND /* all, those with a window by separate settings (rope.by_kind) */
};

/* The extent of a norm of queries and keys. */
enum head_norms {
    HEADS_ALIKE, /* each head separately, with the same weights */
    HEADS_EACH, /* each head separately, with its own weights, [heads, head_size] */
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
    const char *hidden, *layers,
        *heads; /* names of hidden_size, num_hidden_layers, num_attention_heads */
    const char *inner; /* NULL: intermediate_size */
    int inner_times; /* default width of the MLP in multiples of the model's; 0: required */
    const char *inner_factor; /* key of that multiple, else inner_times, instead of `inner` */
    const char *activation, *activation_absent; /* activation NULL: the other in every model */
    int xielu; /* 1: the activation may be xielu, whose numbers are tensors below mlp.act_fn */
    int grouped; /* 1: num_key_value_heads, or kv_heads */
    const char *kv_heads;
    int sized; /* 1: head_dim, and its default; 0: hidden / heads */
    long head_size_absent;
    struct setting qkv_bias, output_bias, mlp_bias, head_bias;
    int tied; /* default of tie_word_embeddings */

    /* norms */
    enum norm_kind norm;
    const char *epsilon; /* key; NULL: epsilon_absent in every model */
    double epsilon_absent;
    int norm_bias, norm_bare; /* bare: no parameters */
    const char *norm_bias_key; /* with norm_bias, whether they have one, by default 1; NULL: yes */
    int norm_offset; /* added to the stored weights */
    struct setting head_norms;
    enum head_norms head_norms_of;
    int head_norms_last; /* 1: after the rotation */
    const char
        *post_norms; /* key for norms after the branches, with default; NULL: those with a name */

    /* positions: rotary ones by the general keys (rope.theta), or by rotary_dim alone; learned
     * ones; sinusoidal ones */
    struct rope_keys rope;
    const char *rope_if; /* key without "rope" in which there are none of these; NULL: always */
    long rotary_dim; /* default of that key */
    const char *learned, *older_learned; /* key of the number of positions */
    int alibi; /* 1: the slopes of released code */
    enum sinusoidal sinusoidal;
    int first_row; /* of either: earlier rows belong to padding */
    enum windows windows;
    long window_absent, window_first_absent; /* the latter of max_window_layers */
    const char *pattern; /* key of WINDOWS_BUT_EVERY; NULL: none */
    long pattern_absent;
    int pattern_first; /* 1: the layer without a window is the first of them */
    enum turned turned;

    /* What has to be done to the configuration before it is read; NULL: nothing. */
    int (*prepare)(struct decoder *d, struct error *e);
    /* Sizes of heads in layers without windows, if they have others: before positions are read;
     * NULL: as in the others. And what blocks share, after that, before tensors are read. */
    int (*full_heads)(int *size, int *kv_heads, struct decoder *d, struct error *e);
    int (*share)(struct decoder *d, struct error *e);
    struct setting keys_are_values; /* in layers without windows the keys before their norm */
    int values_normed; /* 1: values have the norm of keys without its weights */
    struct setting wide_sharers; /* MLPs of blocks that read another's keys are twice as wide */

    struct setting scale_embedding; /* times sqrt(hidden) */
    int scale_rounded; /* to the type of the stored embedding */
    struct setting parallel;
    int head_normalised; /* 1: logits use the head's rows normalised to length 1 */
    int output_gated; /* 1: rows of a query's matrix are of each head its query, then its z, which
                         gates the output */
    int one_part; /* 1: a layer is one part, with one norm: a mixer, or an MLP or experts */
    int norms_after; /* 1: the norms after the branches are those of the sums (RESIDUAL_POST) */
    int one_norm; /* with parallel residual: both branches use the attention's */
    struct setting
        multi_query; /* one key and value for all heads; then the fused rows are FUSED_PARTS */
    enum fused fused;
    int transposed; /* matrices of the blocks are stored [in, out] */
    const struct latent_layout *latent; /* instead of names of queries, keys, values; NULL: none */
    const char *latent_stem; /* of the names of its tensors, below the layer's; NULL: self_attn */
    const struct convolution_layout
        *convolution; /* in some layers instead of attention; NULL: none */
    const struct recurrence_layout *recurrence; /* instead of attention; NULL: none */
    const struct expert_layout *experts; /* instead of the MLP, in all layers or some; NULL: none */
    const char *experts_key; /* key without which, or false or 0, there are none; NULL: always */

    struct names names;
    const struct layer_norms *attending, *other_layers; /* of layers with attention, and of others,
                                                           instead of those of `names`; NULL */
    const struct names *other_names; /* if no tensor has the prefix or the embedding's name of
                                        `names`, but some those of these; NULL: none */
    const struct alias {
        const char *alias, *key;
    } * aliases; /* other names of keys, which win if both exist; ends with NULL; NULL: none */
    const char *defaults; /* default values of absent keys, in JSON; NULL: none */

    /* The family's own additions, after everything else is read; NULL: none. */
    int (*finish)(struct decoder *d, struct error *e);
};

/* parts of a row */
#define ACTIVATION(name, otherwise) .activation = name, .activation_absent = otherwise
#define EPSILON(name, otherwise) .epsilon = name, .epsilon_absent = otherwise
#define BIASES(qkv, output, mlp) .qkv_bias = qkv, .output_bias = output, .mlp_bias = mlp
#define LLAMA_FRAME \
    .prefix = "model.", .embedding = "embed_tokens", .layers = "layers", .final_norm = "norm", \
    .head = "lm_head", .attention_norm = "input_layernorm"
#define NORM_BEFORE_MLP .mlp_norm = "post_attention_layernorm"
#define OUTPUT .output = "self_attn.o_proj"
#define GATED .gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj"
#define LLAMA_NAMES LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, GATED
#define SPLIT .query = "self_attn.q_proj", .key = "self_attn.k_proj", .value = "self_attn.v_proj"
#define ROTARY_PART(part) \
    .theta = "rope_theta", .fraction = "partial_rotary_factor", .fraction_default = part
#define ROTARY_WHOLE ROTARY_PART(1), .whole_heads = 1

int layout_read(struct decoder *d, const struct layout *layout, struct error *e) MUST_USE;

#endif
