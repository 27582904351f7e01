/* Tables of the architectures with experts. */
#include "io/gguf/rows.h"

/* -- names of tensors -- */

static const struct name_row mixtral_names[] = {ENDS(LAYOUT_SAME),
                                                {"rope_freqs", "rope_freqs", LAYOUT_SAME},
                                                NORMS_BEFORE(LAYOUT_SAME),
                                                ATTENTION(LAYOUT_QUERY, LAYOUT_KEY),
                                                EXPERTS("block_sparse_moe.gate"),
                                                {0}};
static const struct name_row granitemoe_names[] = {ENDS(LAYOUT_SAME),
                                                   NORMS_BEFORE(LAYOUT_SAME),
                                                   ATTENTION(LAYOUT_QUERY, LAYOUT_KEY),
                                                   EXPERTS("block_sparse_moe.router.layer"),
                                                   SHARED_MLP("_shexp"),
                                                   {0}};
static const struct name_row qwen_moe_names[] = {ENDS(LAYOUT_SAME),
                                                 NORMS_BEFORE(LAYOUT_SAME),
                                                 ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                                 HEAD_NORMS(LAYOUT_SAME),
                                                 EXPERTS("mlp.gate"),
                                                 SHARED_EXPERT("shared_expert"),
                                                 {"blk.#.ffn_gate_inp_shexp",
                                                  "model.layers.#.mlp.shared_expert_gate",
                                                  LAYOUT_ROW},
                                                 {0}};
static const struct name_row glm4_moe_names[] = {
    ENDS(LAYOUT_SAME),
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", LAYOUT_SAME},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    HEAD_NORMS(LAYOUT_SAME),
    GATED,
    EXPERTS("mlp.gate"),
    SHARED_EXPERT("shared_experts"),
    {"blk.#.exp_probs_b", "model.layers.#.mlp.gate.e_score_correction_bias", LAYOUT_BARE},
    {"blk.#.nextn.eh_proj", "model.layers.#.eh_proj", LAYOUT_SAME},
    {"blk.#.nextn.embed_tokens", "model.layers.#.embed_tokens", LAYOUT_SAME},
    {"blk.#.nextn.enorm", "model.layers.#.enorm", LAYOUT_SAME},
    {"blk.#.nextn.hnorm", "model.layers.#.hnorm", LAYOUT_SAME},
    {"blk.#.nextn.shared_head_head", "model.layers.#.shared_head.head", LAYOUT_SAME},
    {"blk.#.nextn.shared_head_norm", "model.layers.#.shared_head.norm", LAYOUT_SAME},
    {0}};
static const struct name_row dots1_names[] = {ENDS(LAYOUT_SAME),
                                              NORMS_BEFORE(LAYOUT_SAME),
                                              ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                              HEAD_NORMS(LAYOUT_SAME),
                                              GATED,
                                              EXPERTS("mlp.gate"),
                                              SHARED_EXPERT("shared_experts"),
                                              {"blk.#.exp_probs_b",
                                               "model.layers.#.mlp.gate.e_score_correction_bias",
                                               LAYOUT_BARE},
                                              {0}};
static const struct name_row gpt_oss_names[] = {
    ENDS(LAYOUT_SAME),
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", LAYOUT_SAME},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.attn_sinks", "model.layers.#.self_attn.sinks", LAYOUT_BARE},
    EXPERTS("mlp.router"),
    {0}};

static const struct name_row deepseek2_names[] = {
    ENDS(LAYOUT_SAME),
    NORMS_BEFORE(LAYOUT_SAME),
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", LAYOUT_SAME},
    {"blk.#.attn_q_a", "model.layers.#.self_attn.q_a_proj", LAYOUT_SAME},
    {"blk.#.attn_q_a_norm", "model.layers.#.self_attn.q_a_layernorm", LAYOUT_SAME},
    {"blk.#.attn_q_b", "model.layers.#.self_attn.q_b_proj", LAYOUT_SAME},
    {"blk.#.attn_kv_a_mqa", "model.layers.#.self_attn.kv_a_proj_with_mqa", LAYOUT_SAME},
    {"blk.#.attn_kv_a_norm", "model.layers.#.self_attn.kv_a_layernorm", LAYOUT_SAME},
    {"blk.#.attn_kv_b", "model.layers.#.self_attn.kv_b_proj", LAYOUT_SAME},
    {"blk.#.attn_k_b", "model.layers.#.self_attn.kv_b_proj", LAYOUT_LATENT_KEYS},
    {"blk.#.attn_v_b", NULL, LAYOUT_SAME},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj", LAYOUT_SAME},
    GATED,
    EXPERTS("mlp.gate"),
    SHARED_EXPERT("shared_experts"),
    {"blk.#.exp_probs_b", "model.layers.#.mlp.gate.e_score_correction_bias", LAYOUT_BARE},
    {0}};

static const struct name_row llama4_names[] = {
    ENDS(LAYOUT_SAME),
    {"rope_freqs", "rope_freqs", LAYOUT_SAME},
    NORMS_BEFORE(LAYOUT_SAME),
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.ffn_gate", "model.layers.#.feed_forward.gate_proj", LAYOUT_SAME},
    {"blk.#.ffn_up", "model.layers.#.feed_forward.up_proj", LAYOUT_SAME},
    {"blk.#.ffn_down", "model.layers.#.feed_forward.down_proj", LAYOUT_SAME},
    EXPERTS("feed_forward.router"),
    {"blk.#.ffn_gate_shexp", "model.layers.#.feed_forward.shared_expert.gate_proj", LAYOUT_SAME},
    {"blk.#.ffn_up_shexp", "model.layers.#.feed_forward.shared_expert.up_proj", LAYOUT_SAME},
    {"blk.#.ffn_down_shexp", "model.layers.#.feed_forward.shared_expert.down_proj", LAYOUT_SAME},
    {0}};

/* -- keys -- */

static const struct key_row mixtral_keys[] = {EXPERT_KEYS("num_local_experts"),
                                              NO_SCALE,
                                              SAME_WIDTH,
                                              {0}};
static const struct key_row olmoe_keys[] = {EXPERT_KEYS("num_experts"), NO_SCALE, SAME_WIDTH, {0}};
static const struct key_row qwen2_moe_keys[] = {EXPERT_KEYS("num_experts"),
                                                NO_SCALE,
                                                OWN_WIDTH,
                                                {"expert_shared_feed_forward_length",
                                                 "shared_expert_intermediate_size", KEY_NEEDED},
                                                {0}};
static const struct key_row qwen3_moe_keys[] = {EXPERT_KEYS("num_local_experts"),
                                                NO_SCALE,
                                                OWN_WIDTH,
                                                {0}};
static const struct key_row granitemoe_keys[] = {
    EXPERT_KEYS("num_local_experts"), NO_SCALE, SAME_WIDTH, GRANITE, {0}};
static const struct key_row glm4_moe_keys[] = {
    EXPERT_KEYS("n_routed_experts"),
    OWN_WIDTH,
    {"expert_weights_scale", "routed_scaling_factor", KEY_COPIED},
    {"expert_shared_count", "n_shared_experts", KEY_NEEDED},
    {"expert_group_count", "n_group", KEY_COPIED},
    {"expert_group_used_count", "topk_group", KEY_COPIED},
    {"leading_dense_block_count", "first_k_dense_replace", KEY_NEEDED},
    {"nextn_predict_layers", "num_nextn_predict_layers", KEY_COPIED},
    {0}};
#define GROUPED \
    OWN_WIDTH, {"expert_weights_scale", "routed_scaling_factor", KEY_COPIED}, \
        {"expert_shared_count", "n_shared_experts", KEY_NEEDED}, \
        {"expert_group_count", "n_group", KEY_COPIED}, \
        {"expert_group_used_count", "topk_group", KEY_COPIED}, \
    { \
        "leading_dense_block_count", "first_k_dense_replace", KEY_NEEDED \
    }
static const struct key_row dots1_keys[] = {EXPERT_KEYS("n_routed_experts"), GROUPED, {0}};
static const struct key_row deepseek2_keys[] = {EXPERT_KEYS("n_routed_experts"),
                                                GROUPED,
                                                {"attention.kv_lora_rank", "kv_lora_rank",
                                                 KEY_NEEDED},
                                                {"attention.q_lora_rank", "q_lora_rank",
                                                 KEY_COPIED},
                                                {"attention.key_length_mla", "", KEY_HERE},
                                                {"attention.value_length_mla", "", KEY_HERE},
                                                {0}};
static const struct key_row gpt_oss_keys[] = {EXPERT_KEYS("num_local_experts"),
                                              NO_SCALE,
                                              SAME_WIDTH,
                                              {"attention.sliding_window", "sliding_window",
                                               KEY_NEEDED},
                                              {0}};

/* Here feed_forward_length is of layers without experts. */
static const struct key_row llama4_keys[] = {
    SIZES,
    ROPE,
    LENGTHS,
    {"context_length", "max_position_embeddings", KEY_COPIED},
    {"feed_forward_length", "intermediate_size_mlp", KEY_NEEDED},
    {"expert_feed_forward_length", "intermediate_size", KEY_NEEDED},
    {"attention.head_count_kv", "num_key_value_heads", KEY_COPIED},
    {"rope.freq_base", "rope_theta", KEY_COPIED},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
    {"expert_count", "num_local_experts", KEY_NEEDED},
    {"expert_used_count", "num_experts_per_tok", KEY_NEEDED},
    {"expert_gating_func", "", KEY_HERE},
    {"expert_weights_norm", "", KEY_HERE},
    {"expert_weights_scale", "", KEY_HERE},
    {"interleave_moe_layer_step", "interleave_moe_layer_step", KEY_NEEDED},
    {0}};

/* -- what files do not say -- */

static const struct assumption base_alone[] = {BASE("10000"), {0}};
static const struct assumption no_windows[] = {BASE("10000"), WINDOWS("no windows"), {0}};
static const struct assumption of_mixtral[] = {BASE("1000000"), WINDOWS("no windows"), {0}};
static const struct assumption of_llama4[] = {BASE("500000"), {0}};
static const struct assumption of_gpt_oss[] = {BASE("150000"),
                                               PATTERN("windows in every other layer"),
                                               {0}};

const struct architecture gguf_mixtral = {"llama",        "mixtral",  mixtral_keys, mixtral_names,
                                          finish_mixtral, of_mixtral, NULL,         NULL};
const struct architecture gguf_mixtures[] = {
    {"qwen2moe", "qwen2_moe", qwen2_moe_keys, qwen_moe_names, finish_qwen2_moe, no_windows, NULL,
     NULL},
    {"qwen3moe", "qwen3_moe", qwen3_moe_keys, qwen_moe_names, finish_qwen3_moe, no_windows, NULL,
     NULL},
    {"olmoe", "olmoe", olmoe_keys, qwen_moe_names, finish_olmoe, base_alone, NULL, NULL},
    {"granitemoe", "granitemoe", granitemoe_keys, granitemoe_names, finish_granitemoe, base_alone,
     NULL, "granitemoeshared"},
    {"glm4moe", "glm4_moe", glm4_moe_keys, glm4_moe_names, finish_glm4_moe, base_alone, NULL, NULL},
    {"gpt-oss", "gpt_oss", gpt_oss_keys, gpt_oss_names, finish_gpt_oss, of_gpt_oss, NULL, NULL},
    {"dots1", "dots1", dots1_keys, dots1_names, finish_dots1, no_windows, NULL, NULL},
    {"deepseek2", "deepseek_v2", deepseek2_keys, deepseek2_names, finish_deepseek2, base_alone,
     NULL, "deepseek_v3"},
    {"llama4", "llama4_text", llama4_keys, llama4_names, finish_llama4, of_llama4, NULL, NULL},
    {0}};
