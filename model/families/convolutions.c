/* Relatives of Llama (llama_like.c) whose layers attend or convolve. Defaults are the library's:
 * huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#define LFM2 \
    .norm = NORM_RMS, EPSILON("norm_eps", 1e-5), .grouped = 1, .sized = 1, \
    .names = {.prefix = "model.", \
              .embedding = "embed_tokens", \
              .layers = "layers", \
              .final_norm = "embedding_norm", \
              .head = "lm_head", \
              .attention_norm = "operator_norm", \
              .mlp_norm = "ffn_norm", \
              SPLIT, \
              .output = "self_attn.out_proj", \
              .query_norm = "self_attn.q_layernorm", \
              .key_norm = "self_attn.k_layernorm", \
              .gate = "feed_forward.w1", \
              .up = "feed_forward.w3", \
              .down = "feed_forward.w2"}, \
    .head_norms = YES, .activation_absent = "silu", .tied = 1, \
    .rope = {.theta = "rope_theta", \
             .whole_heads = 1, \
             .fraction = "partial_rotary_factor", \
             .fraction_default = 1, \
             .theta_default = 1e6}, \
    .defaults = "{\"num_key_value_heads\": 8}"
#define CONVOLUTION \
    .reach = "conv_L_cache", .biased = "conv_bias", .in = "conv.in_proj", .taps = "conv.conv", \
    .out = "conv.out_proj"

static const struct convolution_layout lfm2_convolution = {CONVOLUTION,
                                                           .attending = "full_attn_idxs",
                                                           .adjusted = 1};
static const struct convolution_layout lfm2_moe_convolution = {CONVOLUTION};
static const struct expert_layout lfm2_moe_experts = {
    .count = "num_experts",
    .width = "moe_intermediate_size",
    .first_dense = "num_dense_layers",
    .dense_absent = 2,
    .scoring = SCORING_SIGMOID,
    .floor = 1e-6,
    .factor = "routed_scaling_factor",
    .factor_absent = 1,
    .normalised = 1,
    .router = "feed_forward.gate",
    .correction = "feed_forward.expert_bias",
    .corrected = "use_expert_bias",
    .parent = "feed_forward.experts",
    .gate = "w1",
    .up = "w3",
    .down = "w2",
    .gate_up = {"feed_forward.experts.gate_up_proj"},
    .stacked_down = {"feed_forward.experts.down_proj"}};

/* Other names of keys in published files, which win. */
static const struct alias of_lfm2[] = {{"tie_embedding", "tie_word_embeddings"},
                                       {"block_ff_dim", "intermediate_size"},
                                       {NULL, NULL}};
static const struct alias of_lfm2_moe[] = {{"tie_embedding", "tie_word_embeddings"}, {NULL, NULL}};

static const struct layout lfm2 = {LFM2, .convolution = &lfm2_convolution, .aliases = of_lfm2};
static const struct layout lfm2_moe = {LFM2, .convolution = &lfm2_moe_convolution,
                                       .experts = &lfm2_moe_experts, .aliases = of_lfm2_moe};

/* Keys that published files have and the library's code does not read. */
static const char *const published[] = {"block_dim",
                                        "block_mlp_init_scale",
                                        "block_norm_eps",
                                        "block_out_init_scale",
                                        "block_use_swiglu",
                                        "block_use_xavier_init",
                                        "conv_dim",
                                        "conv_dim_out",
                                        "conv_use_xavier_init",
                                        "number_of_conv_states",
                                        "output_router_logits",
                                        "theta",
                                        "use_pos_enc",
                                        NULL};
static const char *const adjusted[] = {"full_attn_idxs", "partial_rotary_factor", NULL};
static const char *const heads[] = {"partial_rotary_factor", NULL};

const struct family families_convolutions[] = {{ROW(lfm2), .harmless = published,
                                                .nullable = adjusted},
                                               {ROW(lfm2_moe), .harmless = published,
                                                .nullable = heads},
                                               {.name = NULL}};
