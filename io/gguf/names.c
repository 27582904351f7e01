/* Tables of the architectures: source ggml-org/llama.cpp, gguf-py/gguf/constants.py and
 * tensor_mapping.py, and its converters. */
#include "io/gguf/finish.h"
#include "io/gguf/read.h"

#include <string.h>

/* -- names of tensors -- */

/* Names shared by many of them. `layout`: of norms. */
#define ENDS(layout) \
    {"token_embd", "model.embed_tokens", LAYOUT_SAME}, {"output_norm", "model.norm", layout}, \
    { \
        "output", "lm_head", LAYOUT_SAME \
    }
#define ATTENTION(query, key) \
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", query}, \
        {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", key}, \
        {"blk.#.attn_v", "model.layers.#.self_attn.v_proj", LAYOUT_SAME}, \
    { \
        "blk.#.attn_output", "model.layers.#.self_attn.o_proj", LAYOUT_SAME \
    }
#define HEAD_NORMS(layout) \
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", layout}, \
    { \
        "blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", layout \
    }
#define NORMS_BEFORE(layout) \
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", layout}, \
    { \
        "blk.#.ffn_norm", "model.layers.#.post_attention_layernorm", layout \
    }
#define NORMS_BEHIND(layout) \
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", layout}, \
    { \
        "blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm", layout \
    }
#define GATED \
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj", LAYOUT_SAME}, \
        {"blk.#.ffn_up", "model.layers.#.mlp.up_proj", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down", "model.layers.#.mlp.down_proj", LAYOUT_SAME \
    }

static const struct name_row llama_names[] = {ENDS(LAYOUT_SAME),
                                              {"rope_freqs", "rope_freqs", LAYOUT_SAME},
                                              NORMS_BEFORE(LAYOUT_SAME),
                                              ATTENTION(LAYOUT_QUERY, LAYOUT_KEY),
                                              GATED,
                                              {0}};
static const struct name_row qwen_names[] = {ENDS(LAYOUT_SAME),
                                             {"rope_freqs", "rope_freqs", LAYOUT_SAME},
                                             NORMS_BEFORE(LAYOUT_SAME),
                                             ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                             HEAD_NORMS(LAYOUT_SAME),
                                             GATED,
                                             {0}};
/* Experts of a layer, all in one tensor for each part: names as in model/expert_layout.c. */
#define EXPERTS(router) \
    {"blk.#.ffn_gate_inp", "model.layers.#." router, LAYOUT_SAME}, \
        {"blk.#.ffn_gate_exps", "model.layers.#.mlp.experts.gate_exps", LAYOUT_SAME}, \
        {"blk.#.ffn_up_exps", "model.layers.#.mlp.experts.up_exps", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down_exps", "model.layers.#.mlp.experts.down_exps", LAYOUT_SAME \
    }
#define SHARED_EXPERT(name) \
    {"blk.#.ffn_gate_shexp", "model.layers.#.mlp." name ".gate_proj", LAYOUT_SAME}, \
        {"blk.#.ffn_up_shexp", "model.layers.#.mlp." name ".up_proj", LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down_shexp", "model.layers.#.mlp." name ".down_proj", LAYOUT_SAME \
    }
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
static const struct name_row gpt_oss_names[] = {
    ENDS(LAYOUT_SAME),
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", LAYOUT_SAME},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.attn_sinks", "model.layers.#.self_attn.sinks", LAYOUT_BARE},
    EXPERTS("mlp.router"),
    {0}};
static const struct name_row gemma2_names[] = {
    ENDS(LAYOUT_PLUS_ONE),
    {"rope_freqs", "rope_freqs", LAYOUT_SAME},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_PLUS_ONE},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    NORMS_BEHIND(LAYOUT_PLUS_ONE),
    {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", LAYOUT_PLUS_ONE},
    GATED,
    {0}};
static const struct name_row gpt2_names[] = {
    {"token_embd", "transformer.wte", LAYOUT_SAME},
    {"position_embd", "transformer.wpe", LAYOUT_SAME},
    {"output_norm", "transformer.ln_f", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "transformer.h.#.ln_1", LAYOUT_SAME},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", LAYOUT_TRANSPOSED},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", LAYOUT_TRANSPOSED},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2", LAYOUT_SAME},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", LAYOUT_TRANSPOSED},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", LAYOUT_TRANSPOSED},
    {0}};
static const struct name_row neox_names[] = {
    {"token_embd", "gpt_neox.embed_in", LAYOUT_SAME},
    {"output_norm", "gpt_neox.final_layer_norm", LAYOUT_SAME},
    {"output", "embed_out", LAYOUT_SAME},
    {"blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value", LAYOUT_FUSED},
    {"blk.#.attn_output", "gpt_neox.layers.#.attention.dense", LAYOUT_SAME},
    {"blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm", LAYOUT_SAME},
    {"blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h", LAYOUT_SAME},
    {"blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h", LAYOUT_SAME},
    {0}};
static const struct name_row bloom_names[] = {
    {"token_embd", "transformer.word_embeddings", LAYOUT_SAME},
    {"token_embd_norm", "transformer.word_embeddings_layernorm", LAYOUT_SAME},
    {"output_norm", "transformer.ln_f", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "transformer.h.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", LAYOUT_FUSED},
    {"blk.#.attn_output", "transformer.h.#.self_attention.dense", LAYOUT_SAME},
    {"blk.#.ffn_norm", "transformer.h.#.post_attention_layernorm", LAYOUT_SAME},
    {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h", LAYOUT_SAME},
    {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h", LAYOUT_SAME},
    {0}};
static const struct name_row falcon_names[] = {
    {"token_embd", "transformer.word_embeddings", LAYOUT_SAME},
    {"output_norm", "transformer.ln_f", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "transformer.h.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", LAYOUT_FUSED},
    {"blk.#.attn_output", "transformer.h.#.self_attention.dense", LAYOUT_SAME},
    {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h", LAYOUT_SAME},
    {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h", LAYOUT_SAME},
    {0}};
static const struct name_row mpt_names[] = {
    {"token_embd", "transformer.wte", LAYOUT_SAME},
    {"output_norm", "transformer.norm_f", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "transformer.blocks.#.norm_1", LAYOUT_SAME},
    {"blk.#.attn_qkv", "transformer.blocks.#.attn.Wqkv", LAYOUT_SAME},
    {"blk.#.attn_output", "transformer.blocks.#.attn.out_proj", LAYOUT_SAME},
    {"blk.#.ffn_norm", "transformer.blocks.#.norm_2", LAYOUT_SAME},
    {"blk.#.ffn_up", "transformer.blocks.#.ffn.up_proj", LAYOUT_SAME},
    {"blk.#.ffn_down", "transformer.blocks.#.ffn.down_proj", LAYOUT_SAME},
    {0}};
static const struct name_row phi_names[] = {
    {"token_embd", "model.embed_tokens", LAYOUT_SAME},
    {"output_norm", "model.final_layernorm", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", LAYOUT_SAME},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", LAYOUT_SAME},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj", LAYOUT_SAME},
    {"blk.#.attn_output", "model.layers.#.self_attn.dense", LAYOUT_SAME},
    {"blk.#.ffn_up", "model.layers.#.mlp.fc1", LAYOUT_SAME},
    {"blk.#.ffn_down", "model.layers.#.mlp.fc2", LAYOUT_SAME},
    {0}};

static const struct name_row gemma_names[] = {ENDS(LAYOUT_PLUS_ONE),
                                              NORMS_BEFORE(LAYOUT_PLUS_ONE),
                                              ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                              GATED,
                                              {0}};
static const struct name_row gemma3_names[] = {
    ENDS(LAYOUT_PLUS_ONE),
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_PLUS_ONE},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    HEAD_NORMS(LAYOUT_PLUS_ONE),
    NORMS_BEHIND(LAYOUT_PLUS_ONE),
    {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", LAYOUT_PLUS_ONE},
    GATED,
    {0}};
static const struct name_row phi3_names[] = {
    ENDS(LAYOUT_SAME),
    NORMS_BEFORE(LAYOUT_SAME),
    {"blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj", LAYOUT_SAME},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj", LAYOUT_SAME},
    {"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj", LAYOUT_SAME},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj", LAYOUT_SAME},
    {0}};
static const struct name_row starcoder2_names[] = {ENDS(LAYOUT_SAME),
                                                   NORMS_BEFORE(LAYOUT_SAME),
                                                   ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                                   {"blk.#.ffn_up", "model.layers.#.mlp.c_fc",
                                                    LAYOUT_SAME},
                                                   {"blk.#.ffn_down", "model.layers.#.mlp.c_proj",
                                                    LAYOUT_SAME},
                                                   {0}};
static const struct name_row olmo2_names[] = {ENDS(LAYOUT_SAME),
                                              ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                              HEAD_NORMS(LAYOUT_SAME),
                                              NORMS_BEHIND(LAYOUT_SAME),
                                              GATED,
                                              {0}};
static const struct name_row cohere_names[] = {ENDS(LAYOUT_SAME),
                                               {"blk.#.attn_norm", "model.layers.#.input_layernorm",
                                                LAYOUT_SAME},
                                               ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                               HEAD_NORMS(LAYOUT_SAME),
                                               GATED,
                                               {0}};

/* -- keys -- */

#define SIZES \
    {"embedding_length", "hidden_size", KEY_NEEDED}, \
        {"block_count", "num_hidden_layers", KEY_NEEDED}, \
        {"attention.head_count", "num_attention_heads", KEY_NEEDED}, {"vocab_size", "", KEY_HERE}, \
    { \
        "tensor_data_layout", "", KEY_HARMLESS \
    }
#define ROPE \
    {"rope.dimension_count", "", KEY_HERE}, {"rope.scaling.type", "", KEY_HERE}, \
        {"rope.scaling.factor", "", KEY_HERE}, {"rope.scale_linear", "", KEY_HERE}, \
        {"rope.scaling.original_context_length", "", KEY_HERE}, \
        {"rope.scaling.yarn_beta_fast", "", KEY_HERE}, \
        {"rope.scaling.yarn_beta_slow", "", KEY_HERE}, \
    { \
        "rope.scaling.finetuned", "", KEY_HARMLESS \
    }
#define LENGTHS \
    {"attention.key_length", "", KEY_HERE}, \
    { \
        "attention.value_length", "", KEY_HERE \
    }

/* For a decoder with rotary positions. */
#define DECODER \
    SIZES, ROPE, LENGTHS, {"context_length", "max_position_embeddings", KEY_COPIED}, \
        {"feed_forward_length", "intermediate_size", KEY_NEEDED}, \
        {"attention.head_count_kv", "num_key_value_heads", KEY_COPIED}, \
    { \
        "rope.freq_base", "rope_theta", KEY_COPIED \
    }

static const struct key_row llama_keys[] = {
    DECODER, {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, {0}};
/* For a decoder with experts. take_routing reads their other keys. */
#define EXPERT_KEYS(count) \
    DECODER, {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, \
        {"expert_count", count, KEY_NEEDED}, \
        {"expert_used_count", "num_experts_per_tok", KEY_NEEDED}, \
        {"expert_gating_func", "", KEY_HERE}, \
    { \
        "expert_weights_norm", "", KEY_HERE \
    }
#define NO_SCALE \
    { \
        "expert_weights_scale", "", KEY_HERE \
    }
#define SAME_WIDTH \
    { \
        "expert_feed_forward_length", "", KEY_HERE \
    }
#define OWN_WIDTH \
    { \
        "expert_feed_forward_length", "moe_intermediate_size", KEY_NEEDED \
    }
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
    EXPERT_KEYS("num_local_experts"),
    NO_SCALE,
    SAME_WIDTH,
    {"attention.scale", "attention_multiplier", KEY_NEEDED},
    {"embedding_scale", "embedding_multiplier", KEY_COPIED},
    {"residual_scale", "residual_multiplier", KEY_COPIED},
    {"logit_scale", "logits_scaling", KEY_COPIED},
    {0}};
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
static const struct key_row gpt_oss_keys[] = {EXPERT_KEYS("num_local_experts"),
                                              NO_SCALE,
                                              SAME_WIDTH,
                                              {"attention.sliding_window", "sliding_window",
                                               KEY_NEEDED},
                                              {0}};
static const struct key_row gemma2_keys[] = {
    DECODER,
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
    {"attention.sliding_window", "sliding_window", KEY_COPIED},
    {"attn_logit_softcapping", "attn_logit_softcapping", KEY_COPIED},
    {"final_logit_softcapping", "final_logit_softcapping", KEY_COPIED},
    {0}};
static const struct key_row gpt2_keys[] = {SIZES,
                                           LENGTHS,
                                           {"context_length", "max_position_embeddings",
                                            KEY_NEEDED},
                                           {"feed_forward_length", "n_inner", KEY_COPIED},
                                           {"attention.head_count_kv", "", KEY_HERE},
                                           {"attention.layer_norm_epsilon", "layer_norm_epsilon",
                                            KEY_NEEDED},
                                           {0}};
static const struct key_row neox_keys[] = {
    SIZES,
    ROPE,
    LENGTHS,
    {"context_length", "max_position_embeddings", KEY_COPIED},
    {"feed_forward_length", "intermediate_size", KEY_NEEDED},
    {"attention.head_count_kv", "", KEY_HERE},
    {"attention.layer_norm_epsilon", "layer_norm_eps", KEY_NEEDED},
    {"use_parallel_residual", "use_parallel_residual", KEY_COPIED},
    {"rope.freq_base", "rotary_emb_base", KEY_COPIED},
    {0}};
static const struct key_row bloom_keys[] = {SIZES,
                                            LENGTHS,
                                            {"context_length", "", KEY_HARMLESS},
                                            {"feed_forward_length", "", KEY_HERE},
                                            {"attention.head_count_kv", "", KEY_HERE},
                                            {"attention.layer_norm_epsilon", "layer_norm_epsilon",
                                             KEY_NEEDED},
                                            {0}};
static const struct key_row falcon_keys[] = {
    SIZES,
    ROPE,
    LENGTHS,
    {"context_length", "max_position_embeddings", KEY_COPIED},
    {"feed_forward_length", "ffn_hidden_size", KEY_COPIED},
    {"attention.head_count_kv", "num_kv_heads", KEY_NEEDED},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon", KEY_NEEDED},
    {"rope.freq_base", "rope_theta", KEY_COPIED},
    {0}};
static const struct key_row mpt_keys[] = {SIZES,
                                          LENGTHS,
                                          {"context_length", "max_seq_len", KEY_COPIED},
                                          {"feed_forward_length", "", KEY_HERE},
                                          {"attention.head_count_kv", "", KEY_HERE},
                                          {"attention.layer_norm_epsilon", "layer_norm_epsilon",
                                           KEY_NEEDED},
                                          {"attention.clamp_kqv", "", KEY_HERE},
                                          {"attention.max_alibi_bias", "", KEY_HERE},
                                          {0}};
static const struct key_row phi_keys[] = {
    DECODER, {"attention.layer_norm_epsilon", "layer_norm_eps", KEY_NEEDED}, {0}};

static const struct key_row gemma3_keys[] = {
    DECODER,
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
    {"attention.sliding_window", "sliding_window", KEY_NEEDED},
    {"attention.sliding_window_pattern", "sliding_window_pattern", KEY_COPIED},
    {"rope.freq_base_swa", "rope_local_base_freq", KEY_COPIED},
    {"final_logit_softcapping", "final_logit_softcapping", KEY_COPIED},
    {0}};
static const struct key_row phi3_keys[] = {DECODER,
                                           {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                            KEY_NEEDED},
                                           {"attention.sliding_window", "", KEY_HERE},
                                           {0}};
static const struct key_row starcoder2_keys[] = {DECODER,
                                                 {"attention.layer_norm_epsilon", "norm_epsilon",
                                                  KEY_NEEDED},
                                                 {"attention.sliding_window", "", KEY_HERE},
                                                 {0}};
static const struct key_row olmo2_keys[] = {DECODER,
                                            {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                             KEY_NEEDED},
                                            {"attention.sliding_window", "", KEY_HERE},
                                            {0}};
static const struct key_row cohere_keys[] = {DECODER,
                                             {"attention.layer_norm_epsilon", "layer_norm_eps",
                                              KEY_NEEDED},
                                             {"logit_scale", "logit_scale", KEY_NEEDED},
                                             {"attention.sliding_window", "", KEY_HERE},
                                             {0}};
static const struct key_row cohere2_keys[] = {DECODER,
                                              {"attention.layer_norm_epsilon", "layer_norm_eps",
                                               KEY_NEEDED},
                                              {"logit_scale", "logit_scale", KEY_NEEDED},
                                              {"attention.sliding_window", "sliding_window",
                                               KEY_NEEDED},
                                              {0}};

/* -- what files do not say, as the families' readers then assume -- */

#define BASE(base) \
    { \
        "rope.freq_base", "rotary base " base \
    }
#define WINDOWS(windows) \
    { \
        "attention.sliding_window", windows \
    }
#define PATTERN(windows) \
    { \
        "attention.sliding_window_pattern", windows \
    }
static const struct assumption base_alone[] = {BASE("10000"), {0}};
static const struct assumption of_cohere[] = {BASE("500000"), {0}};
static const struct assumption no_windows[] = {BASE("10000"), WINDOWS("no windows"), {0}};
static const struct assumption of_mixtral[] = {BASE("1000000"), WINDOWS("no windows"), {0}};
static const struct assumption of_gemma2[] = {BASE("10000"),
                                              WINDOWS("windows of 4096"),
                                              PATTERN("windows in every other layer"),
                                              {0}};
static const struct assumption of_gemma3[] = {BASE("1000000"),
                                              {"rope.freq_base_swa",
                                               "rotary base 10000 in windows"},
                                              PATTERN("windows in all layers but every 6th"),
                                              {0}};
static const struct assumption of_cohere2[] = {BASE("10000"),
                                               PATTERN("windows in all layers but every 4th"),
                                               {0}};
static const struct assumption of_gpt_oss[] = {BASE("150000"),
                                               PATTERN("windows in every other layer"),
                                               {0}};

static const struct architecture mixtral = {"llama",        "mixtral",  mixtral_keys, mixtral_names,
                                            finish_mixtral, of_mixtral, NULL};
static const struct architecture architectures[] = {
    {"llama", "llama", llama_keys, llama_names, finish_llama, no_windows, &mixtral},
    {"qwen2", "qwen2", llama_keys, qwen_names, finish_rotary, no_windows, NULL},
    {"qwen3", "qwen3", llama_keys, qwen_names, finish_qwen3, no_windows, NULL},
    {"gemma2", "gemma2", gemma2_keys, gemma2_names, finish_gemma2, of_gemma2, NULL},
    {"gpt2", "gpt2", gpt2_keys, gpt2_names, finish_gpt2, NULL, NULL},
    {"gptneox", "gpt_neox", neox_keys, neox_names, finish_neox, base_alone, NULL},
    {"bloom", "bloom", bloom_keys, bloom_names, finish_bloom, NULL, NULL},
    {"mpt", "mpt", mpt_keys, mpt_names, finish_mpt, NULL, NULL},
    {"falcon", "falcon", falcon_keys, falcon_names, finish_falcon, base_alone, NULL},
    {"phi2", "phi", phi_keys, phi_names, finish_phi, base_alone, NULL},
    {"gemma", "gemma", llama_keys, gemma_names, finish_rotary, base_alone, NULL},
    {"gemma3", "gemma3_text", gemma3_keys, gemma3_names, finish_gemma3, of_gemma3, NULL},
    {"phi3", "phi3", phi3_keys, phi3_names, finish_phi3, no_windows, NULL},
    {"starcoder2", "starcoder2", starcoder2_keys, starcoder2_names, finish_starcoder2, no_windows,
     NULL},
    {"olmo2", "olmo2", olmo2_keys, olmo2_names, finish_olmo2, base_alone, NULL},
    {"command-r", "cohere", cohere_keys, cohere_names, finish_cohere, of_cohere, NULL},
    {"cohere2", "cohere2", cohere2_keys, cohere_names, finish_cohere2, of_cohere2, NULL},
    {"qwen2moe", "qwen2_moe", qwen2_moe_keys, qwen_moe_names, finish_qwen2_moe, no_windows, NULL},
    {"qwen3moe", "qwen3_moe", qwen3_moe_keys, qwen_moe_names, finish_qwen3_moe, no_windows, NULL},
    {"olmoe", "olmoe", olmoe_keys, qwen_moe_names, finish_olmoe, base_alone, NULL},
    {"granitemoe", "granitemoe", granitemoe_keys, granitemoe_names, finish_granitemoe, base_alone,
     NULL},
    {"glm4moe", "glm4_moe", glm4_moe_keys, glm4_moe_names, finish_glm4_moe, base_alone, NULL},
    {"gpt-oss", "gpt_oss", gpt_oss_keys, gpt_oss_names, finish_gpt_oss, of_gpt_oss, NULL},
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const char *gguf_name_of(const char *model_type)
{
    for (int i = 0; i < ARCHITECTURES; i++) {
        const struct architecture *a = &architectures[i], *mixed = a->with_experts;
        if (strcmp(a->model_type, model_type) == 0 ||
            (mixed && strcmp(mixed->model_type, model_type) == 0))
            return a->name;
    }
    return "";
}

const struct architecture *architecture_find(struct gguf_text name, const char *path,
                                             struct error *e)
{
    char known[512] = "";
    for (int i = 0; i < ARCHITECTURES; i++) {
        if (gguf_is(name, architectures[i].name))
            return &architectures[i];
        strcat(strcat(known, i ? ", " : ""), architectures[i].name);
    }
    if (name.text)
        fail(e, "%s: general.architecture '%.*s' is not supported (supported: %s)", path,
             name.size < 60 ? (int)name.size : 60, name.text, known);
    else
        fail(e, "%s: general.architecture is missing (supported: %s)", path, known);
    return NULL;
}

/* 1 if the name without suffix is the row's; *block is its number, in its only spelling. */
static int matches(const char *pattern, const char *text, size_t size, long *block)
{
    const char *mark = strchr(pattern, '#'), *end = text + size;
    size_t before = mark ? (size_t)(mark - pattern) : strlen(pattern);
    *block = -1;
    if (size < before || memcmp(text, pattern, before))
        return 0;
    text += before;
    if (!mark)
        return text == end;
    const char *digits = text;
    for (*block = 0; text < end && *text >= '0' && *text <= '9' && text - digits < 6; text++)
        *block = 10 * *block + (*text - '0');
    return text > digits && (*digits != '0' || text == digits + 1) &&
           (size_t)(end - text) == strlen(mark + 1) &&
           memcmp(text, mark + 1, strlen(mark + 1)) == 0;
}

const struct name_row *architecture_name(const struct gguf_model *m, struct gguf_text name,
                                         long *block, struct gguf_text *suffix)
{
    const char *dot = memrchr(name.text, '.', name.size);
    if (!dot)
        return NULL;
    *suffix = (struct gguf_text){dot + 1, (size_t)(name.text + name.size - dot - 1)};
    if (!gguf_is(*suffix, "weight") && !gguf_is(*suffix, "bias"))
        return NULL;
    for (const struct name_row *row = m->names; row->gguf; row++)
        if (matches(row->gguf, name.text, (size_t)(dot - name.text), block))
            return row;
    return NULL;
}
