/* Architectures whose layers attend or convolve: the heads for keys and values are a list, with 0
 * for layers that convolve. */
#include "io/gguf/rows.h"

#define NAMES \
    {"token_embd", "model.embed_tokens", LAYOUT_SAME}, \
        {"token_embd_norm", "model.embedding_norm", LAYOUT_SAME}, \
        {"output", "lm_head", LAYOUT_SAME}, \
        {"blk.#.attn_norm", "model.layers.#.operator_norm", LAYOUT_SAME}, \
        {"blk.#.ffn_norm", "model.layers.#.ffn_norm", LAYOUT_SAME}, \
        {"blk.#.shortconv.in_proj", "model.layers.#.conv.in_proj", LAYOUT_SAME}, \
        {"blk.#.shortconv.conv", "model.layers.#.conv.conv", LAYOUT_TAPS}, \
        {"blk.#.shortconv.out_proj", "model.layers.#.conv.out_proj", LAYOUT_SAME}, \
        {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", LAYOUT_SAME}, \
        {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", LAYOUT_SAME}, \
        {"blk.#.attn_v", "model.layers.#.self_attn.v_proj", LAYOUT_SAME}, \
        {"blk.#.attn_output", "model.layers.#.self_attn.out_proj", LAYOUT_SAME}, \
        {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_layernorm", LAYOUT_SAME}, \
        {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_layernorm", LAYOUT_SAME}, \
        {"blk.#.ffn_gate", "model.layers.#.feed_forward.w1", LAYOUT_SAME}, \
        {"blk.#.ffn_up", "model.layers.#.feed_forward.w3", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down", "model.layers.#.feed_forward.w2", LAYOUT_SAME \
    }
static const struct name_row lfm2_names[] = {NAMES, {0}};
static const struct name_row lfm2_moe_names[] = {NAMES,
                                                 EXPERTS("feed_forward.gate"),
                                                 {"blk.#.exp_probs_b",
                                                  "model.layers.#.feed_forward.expert_bias",
                                                  LAYOUT_BARE},
                                                 {0}};

#define KEYS \
    SIZES, ROPE, LENGTHS, {"context_length", "max_position_embeddings", KEY_COPIED}, \
        {"feed_forward_length", "intermediate_size", KEY_NEEDED}, \
        {"attention.head_count_kv", "", KEY_HERE}, {"rope.freq_base", "rope_theta", KEY_COPIED}, \
        {"attention.layer_norm_rms_epsilon", "norm_eps", KEY_NEEDED}, \
    { \
        "shortconv.l_cache", "conv_L_cache", KEY_NEEDED \
    }
static const struct key_row lfm2_keys[] = {KEYS, {0}};
static const struct key_row lfm2_moe_keys[] = {
    KEYS,
    {"expert_count", "num_experts", KEY_NEEDED},
    {"expert_used_count", "num_experts_per_tok", KEY_NEEDED},
    {"expert_feed_forward_length", "moe_intermediate_size", KEY_NEEDED},
    {"leading_dense_block_count", "num_dense_layers", KEY_NEEDED},
    {"expert_weights_scale", "routed_scaling_factor", KEY_COPIED},
    {"expert_gating_func", "", KEY_HERE},
    {"expert_weights_norm", "", KEY_HERE},
    {0}};
static const struct assumption base_alone[] = {BASE("1000000"), {0}};

static int finish_lfm2(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_types(m, config, "conv", e) ||
                   model_set(m, config, "num_key_value_heads", json_integer(m->kv_heads), e) ||
                   model_set(m, config, "conv_bias",
                             json_boolean(model_has_any(m, config, "shortconv.conv.bias")), e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

/* The width of the MLP is the final one. */
static int finish_lfm2_dense(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_set(m, config, "block_auto_adjust_ff_dim", json_false(), e) ||
                   finish_lfm2(m, config, e)
               ? -1
               : 0;
}

static int finish_lfm2_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SIGMOID, 1, "norm_topk_prob", e) ||
                   finish_lfm2(m, config, e) ||
                   model_set(m, config, "use_expert_bias",
                             json_boolean(model_has_any(m, config, "exp_probs_b.bias")), e)
               ? -1
               : 0;
}

const struct architecture gguf_convolutions[] = {
    {"lfm2", "lfm2", lfm2_keys, lfm2_names, finish_lfm2_dense, base_alone, NULL, NULL},
    {"lfm2moe", "lfm2_moe", lfm2_moe_keys, lfm2_moe_names, finish_lfm2_moe, base_alone, NULL, NULL},
    {0}};
