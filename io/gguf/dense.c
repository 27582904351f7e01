/* Tables of the architectures without experts. */
#include "io/gguf/rows.h"

/* -- names of tensors -- */

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
    {"rope_factors_long", NULL, LAYOUT_SAME},
    {"rope_factors_short", NULL, LAYOUT_SAME},
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
                                              {"rope_freqs", "rope_freqs", LAYOUT_SAME},
                                              ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                              HEAD_NORMS(LAYOUT_SAME),
                                              NORMS_BEHIND(LAYOUT_SAME),
                                              GATED,
                                              {0}};
static const struct name_row arcee_names[] = {ENDS(LAYOUT_SAME),
                                              {"rope_freqs", "rope_freqs", LAYOUT_SAME},
                                              NORMS_BEFORE(LAYOUT_SAME),
                                              ATTENTION(LAYOUT_QUERY, LAYOUT_KEY),
                                              UNGATED("mlp.up_proj", "mlp.down_proj"),
                                              {0}};
static const struct name_row olmo_names[] = {{"token_embd", "model.embed_tokens", LAYOUT_SAME},
                                             {"output", "lm_head", LAYOUT_SAME},
                                             ATTENTION(LAYOUT_QUERY, LAYOUT_KEY),
                                             GATED,
                                             {0}};
static const struct name_row seed_oss_names[] = {
    ENDS(LAYOUT_SAME),
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", LAYOUT_SAME},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    GATED,
    {0}};
static const struct name_row stablelm_names[] = {
    ENDS(LAYOUT_SAME),
    NORMS_BEFORE(LAYOUT_SAME),
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_layernorm.norms", LAYOUT_NAMED_HEADS},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_layernorm.norms", LAYOUT_NAMED_HEADS},
    GATED,
    {0}};
static const struct name_row glm4_names[] = {
    ENDS(LAYOUT_SAME),
    NORMS_BEFORE(LAYOUT_SAME),
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.post_attention_norm", "model.layers.#.post_self_attn_layernorm", LAYOUT_SAME},
    {"blk.#.post_ffw_norm", "model.layers.#.post_mlp_layernorm", LAYOUT_SAME},
    UNGATED("mlp.gate_up_proj", "mlp.down_proj"),
    {0}};
static const struct name_row hunyuan_names[] = {
    ENDS(LAYOUT_SAME),
    NORMS_BEFORE(LAYOUT_SAME),
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.query_layernorm", LAYOUT_SAME},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.key_layernorm", LAYOUT_SAME},
    GATED,
    {0}};
static const struct name_row starcoder_names[] = {
    {"token_embd", "transformer.wte", LAYOUT_SAME},
    {"position_embd", "transformer.wpe", LAYOUT_SAME},
    {"output_norm", "transformer.ln_f", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "transformer.h.#.ln_1", LAYOUT_SAME},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", LAYOUT_SAME},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", LAYOUT_SAME},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2", LAYOUT_SAME},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", LAYOUT_SAME},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", LAYOUT_SAME},
    {0}};
static const struct name_row jais2_names[] = {ENDS(LAYOUT_SAME),
                                              NORMS_BEFORE(LAYOUT_SAME),
                                              ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                              UNGATED("mlp.up_proj", "mlp.down_proj"),
                                              {0}};
static const struct name_row cohere_names[] = {ENDS(LAYOUT_SAME),
                                               {"blk.#.attn_norm", "model.layers.#.input_layernorm",
                                                LAYOUT_SAME},
                                               ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                               HEAD_NORMS(LAYOUT_SAME),
                                               GATED,
                                               {0}};

/* -- keys -- */

static const struct key_row llama_keys[] = {
    DECODER, {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, {0}};
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
                                            {"attention.sliding_window_pattern", "", KEY_HERE},
                                            {"rope.freq_base_swa", "", KEY_HERE},
                                            {0}};
static const struct key_row granite_keys[] = {
    DECODER, {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, GRANITE, {0}};
static const struct key_row olmo_keys[] = {DECODER,
                                           {"attention.layer_norm_epsilon", "", KEY_HERE},
                                           {"attention.clamp_kqv", "", KEY_HERE},
                                           {0}};
/* Whether residuals are parallel is seen from the tensors. */
static const struct key_row stablelm_keys[] = {DECODER,
                                               {"attention.layer_norm_epsilon", "layer_norm_eps",
                                                KEY_NEEDED},
                                               {"use_parallel_residual", "", KEY_HARMLESS},
                                               {0}};
static const struct key_row exaone4_keys[] = {DECODER,
                                              {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                               KEY_NEEDED},
                                              {"attention.sliding_window", "", KEY_HERE},
                                              {"attention.sliding_window_pattern", "", KEY_HERE},
                                              {0}};
static const struct key_row glm4_keys[] = {DECODER,
                                           {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                            KEY_NEEDED},
                                           {"rope.dimension_sections", "", KEY_HERE},
                                           {0}};
static const struct key_row mistral3_keys[] = {DECODER,
                                               {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                                KEY_NEEDED},
                                               {"attention.temperature_scale", "", KEY_HERE},
                                               {"attention.temperature_length", "", KEY_HERE},
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

static const struct assumption base_alone[] = {BASE("10000"), {0}};
static const struct assumption of_cohere[] = {BASE("500000"), {0}};
static const struct assumption no_windows[] = {BASE("10000"), WINDOWS("no windows"), {0}};
static const struct assumption of_gemma2[] = {BASE("10000"),
                                              WINDOWS("windows of 4096"),
                                              PATTERN("windows in every other layer"),
                                              {0}};
static const struct assumption of_gemma3[] = {BASE("1000000"),
                                              {"rope.freq_base_swa",
                                               "rotary base 10000 in windows"},
                                              PATTERN("windows in all layers but every 6th"),
                                              {0}};
static const struct assumption of_smollm3[] = {
    BASE("2000000"), {"no_rope_layer_step", "no rotation in every 4th layer"}, {0}};
static const struct assumption of_cohere2[] = {BASE("10000"),
                                               PATTERN("windows in all layers but every 4th"),
                                               {0}};

const struct architecture gguf_dense[] = {
    {"llama", "llama", llama_keys, llama_names, finish_llama, no_windows, &gguf_mixtral, NULL},
    {"qwen2", "qwen2", llama_keys, qwen_names, finish_rotary, no_windows, NULL, NULL},
    {"qwen3", "qwen3", llama_keys, qwen_names, finish_qwen3, no_windows, NULL, NULL},
    {"gemma2", "gemma2", gemma2_keys, gemma2_names, finish_gemma2, of_gemma2, NULL, NULL},
    {"gpt2", "gpt2", gpt2_keys, gpt2_names, finish_gpt2, NULL, NULL, NULL},
    {"gptneox", "gpt_neox", neox_keys, neox_names, finish_neox, base_alone, NULL, NULL},
    {"bloom", "bloom", bloom_keys, bloom_names, finish_bloom, NULL, NULL, NULL},
    {"mpt", "mpt", mpt_keys, mpt_names, finish_mpt, NULL, NULL, NULL},
    {"falcon", "falcon", falcon_keys, falcon_names, finish_falcon, base_alone, NULL, NULL},
    {"phi2", "phi", phi_keys, phi_names, finish_phi, base_alone, NULL, NULL},
    {"gemma", "gemma", llama_keys, gemma_names, finish_rotary, base_alone, NULL, NULL},
    {"gemma3", "gemma3_text", gemma3_keys, gemma3_names, finish_gemma3, of_gemma3, NULL, NULL},
    {"phi3", "phi3", phi3_keys, phi3_names, finish_phi3, no_windows, NULL, NULL},
    {"starcoder2", "starcoder2", starcoder2_keys, starcoder2_names, finish_starcoder2, no_windows,
     NULL, NULL},
    {"olmo2", "olmo2", olmo2_keys, olmo2_names, finish_olmo2, base_alone, NULL, "olmo3"},
    {"command-r", "cohere", cohere_keys, cohere_names, finish_cohere, of_cohere, NULL, NULL},
    {"cohere2", "cohere2", cohere2_keys, cohere_names, finish_cohere2, of_cohere2, NULL, NULL},
    {"granite", "granite", granite_keys, llama_names, finish_granite_dense, base_alone, NULL, NULL},
    {"smollm3", "smollm3", llama_keys, llama_names, finish_smollm3, of_smollm3, NULL, NULL},
    {"arcee", "arcee", llama_keys, arcee_names, finish_llama, base_alone, NULL, NULL},
    {"olmo", "olmo", olmo_keys, olmo_names, finish_olmo1, base_alone, NULL, NULL},
    {"seed_oss", "seed_oss", llama_keys, seed_oss_names, finish_seed_oss, base_alone, NULL, NULL},
    {"stablelm", "stablelm", stablelm_keys, stablelm_names, finish_stablelm, base_alone, NULL,
     NULL},
    {"exaone4", "exaone4", exaone4_keys, olmo2_names, finish_exaone4, base_alone, NULL, NULL},
    {"glm4", "glm4", glm4_keys, glm4_names, finish_glm4, base_alone, NULL, NULL},
    {"hunyuan-dense", "hunyuan_v1_dense", llama_keys, hunyuan_names, finish_qwen3, base_alone, NULL,
     NULL},
    {"mistral3", "mistral", mistral3_keys, llama_names, finish_mistral3, base_alone, NULL,
     "ministral3"},
    {"starcoder", "gpt_bigcode", gpt2_keys, starcoder_names, finish_starcoder, NULL, NULL, NULL},
    {"jais2", "jais2", phi_keys, jais2_names, finish_llama, base_alone, NULL, NULL},
    {0}};
