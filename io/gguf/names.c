/* Tables of the architectures: source ggml-org/llama.cpp, gguf-py/gguf/constants.py and tensor_mapping.py, and its converters. */
#include "io/gguf/finish.h"
#include "io/gguf/read.h"

#include <string.h>

/* -- names of tensors -- */

/* What many of them share. `layout`: of norms. */
#define ENDS(layout) \
    {"token_embd", "model.embed_tokens", LAYOUT_SAME}, {"output_norm", "model.norm", layout}, \
    { \
        "output", "lm_head", LAYOUT_SAME \
    }
#define ATTENTION(query, key) \
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", query}, {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", key}, \
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
static const struct name_row gemma2_names[] = {ENDS(LAYOUT_PLUS_ONE),
                                               {"rope_freqs", "rope_freqs", LAYOUT_SAME},
                                               {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_PLUS_ONE},
                                               ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                               NORMS_BEHIND(LAYOUT_PLUS_ONE),
                                               {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", LAYOUT_PLUS_ONE},
                                               GATED,
                                               {0}};
static const struct name_row gpt2_names[] = {{"token_embd", "transformer.wte", LAYOUT_SAME},
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
static const struct name_row neox_names[] = {{"token_embd", "gpt_neox.embed_in", LAYOUT_SAME},
                                             {"output_norm", "gpt_neox.final_layer_norm", LAYOUT_SAME},
                                             {"output", "embed_out", LAYOUT_SAME},
                                             {"blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm", LAYOUT_SAME},
                                             {"blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value", LAYOUT_FUSED},
                                             {"blk.#.attn_output", "gpt_neox.layers.#.attention.dense", LAYOUT_SAME},
                                             {"blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm", LAYOUT_SAME},
                                             {"blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h", LAYOUT_SAME},
                                             {"blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h", LAYOUT_SAME},
                                             {0}};
static const struct name_row bloom_names[] = {{"token_embd", "transformer.word_embeddings", LAYOUT_SAME},
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
static const struct name_row falcon_names[] = {{"token_embd", "transformer.word_embeddings", LAYOUT_SAME},
                                               {"output_norm", "transformer.ln_f", LAYOUT_SAME},
                                               {"output", "lm_head", LAYOUT_SAME},
                                               {"blk.#.attn_norm", "transformer.h.#.input_layernorm", LAYOUT_SAME},
                                               {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", LAYOUT_FUSED},
                                               {"blk.#.attn_output", "transformer.h.#.self_attention.dense", LAYOUT_SAME},
                                               {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h", LAYOUT_SAME},
                                               {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h", LAYOUT_SAME},
                                               {0}};
static const struct name_row falcon_two_names[] = {{"token_embd", "transformer.word_embeddings", LAYOUT_SAME},
                                                   {"output_norm", "transformer.ln_f", LAYOUT_SAME},
                                                   {"output", "lm_head", LAYOUT_SAME},
                                                   {"blk.#.attn_norm", "transformer.h.#.ln_mlp", LAYOUT_SAME},
                                                   {"blk.#.attn_norm_2", "transformer.h.#.ln_attn", LAYOUT_SAME},
                                                   {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value",
                                                    LAYOUT_FUSED},
                                                   {"blk.#.attn_output", "transformer.h.#.self_attention.dense", LAYOUT_SAME},
                                                   {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h", LAYOUT_SAME},
                                                   {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h", LAYOUT_SAME},
                                                   {0}};
static const struct name_row mpt_names[] = {{"token_embd", "transformer.wte", LAYOUT_SAME},
                                            {"output_norm", "transformer.norm_f", LAYOUT_SAME},
                                            {"output", "lm_head", LAYOUT_SAME},
                                            {"blk.#.attn_norm", "transformer.blocks.#.norm_1", LAYOUT_SAME},
                                            {"blk.#.attn_qkv", "transformer.blocks.#.attn.Wqkv", LAYOUT_SAME},
                                            {"blk.#.attn_output", "transformer.blocks.#.attn.out_proj", LAYOUT_SAME},
                                            {"blk.#.ffn_norm", "transformer.blocks.#.norm_2", LAYOUT_SAME},
                                            {"blk.#.ffn_up", "transformer.blocks.#.ffn.up_proj", LAYOUT_SAME},
                                            {"blk.#.ffn_down", "transformer.blocks.#.ffn.down_proj", LAYOUT_SAME},
                                            {0}};
static const struct name_row phi_names[] = {{"token_embd", "model.embed_tokens", LAYOUT_SAME},
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

static const struct name_row gemma_names[] = {
    ENDS(LAYOUT_PLUS_ONE), NORMS_BEFORE(LAYOUT_PLUS_ONE), ATTENTION(LAYOUT_SAME, LAYOUT_SAME), GATED, {0}};
static const struct name_row gemma3_names[] = {ENDS(LAYOUT_PLUS_ONE),
                                               {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_PLUS_ONE},
                                               ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                               HEAD_NORMS(LAYOUT_PLUS_ONE),
                                               NORMS_BEHIND(LAYOUT_PLUS_ONE),
                                               {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", LAYOUT_PLUS_ONE},
                                               GATED,
                                               {0}};
static const struct name_row phi3_names[] = {ENDS(LAYOUT_SAME),
                                             NORMS_BEFORE(LAYOUT_SAME),
                                             {"blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj", LAYOUT_SAME},
                                             {"blk.#.attn_output", "model.layers.#.self_attn.o_proj", LAYOUT_SAME},
                                             {"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj", LAYOUT_SAME},
                                             {"blk.#.ffn_down", "model.layers.#.mlp.down_proj", LAYOUT_SAME},
                                             {0}};
static const struct name_row starcoder2_names[] = {ENDS(LAYOUT_SAME),
                                                   NORMS_BEFORE(LAYOUT_SAME),
                                                   ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                                   {"blk.#.ffn_up", "model.layers.#.mlp.c_fc", LAYOUT_SAME},
                                                   {"blk.#.ffn_down", "model.layers.#.mlp.c_proj", LAYOUT_SAME},
                                                   {0}};
static const struct name_row olmo2_names[] = {
    ENDS(LAYOUT_SAME), ATTENTION(LAYOUT_SAME, LAYOUT_SAME), HEAD_NORMS(LAYOUT_SAME), NORMS_BEHIND(LAYOUT_SAME), GATED, {0}};
static const struct name_row cohere_names[] = {ENDS(LAYOUT_SAME),
                                               {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
                                               ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
                                               HEAD_NORMS(LAYOUT_SAME),
                                               GATED,
                                               {0}};

/* -- keys -- */

#define SIZES \
    {"embedding_length", "hidden_size", KEY_NEEDED}, {"block_count", "num_hidden_layers", KEY_NEEDED}, \
        {"attention.head_count", "num_attention_heads", KEY_NEEDED}, {"vocab_size", "", KEY_HERE}, \
    { \
        "tensor_data_layout", "", KEY_HARMLESS \
    }
#define ROPE \
    {"rope.dimension_count", "", KEY_HERE}, {"rope.scaling.type", "", KEY_HERE}, {"rope.scaling.factor", "", KEY_HERE}, \
        {"rope.scale_linear", "", KEY_HERE}, {"rope.scaling.original_context_length", "", KEY_HERE}, \
        {"rope.scaling.yarn_beta_fast", "", KEY_HERE}, {"rope.scaling.yarn_beta_slow", "", KEY_HERE}, \
    { \
        "rope.scaling.finetuned", "", KEY_HARMLESS \
    }
#define LENGTHS \
    {"attention.key_length", "", KEY_HERE}, \
    { \
        "attention.value_length", "", KEY_HERE \
    }

/* Of a decoder with rotary positions. */
#define DECODER \
    SIZES, ROPE, LENGTHS, {"context_length", "max_position_embeddings", KEY_COPIED}, \
        {"feed_forward_length", "intermediate_size", KEY_NEEDED}, \
        {"attention.head_count_kv", "num_key_value_heads", KEY_COPIED}, \
    { \
        "rope.freq_base", "rope_theta", KEY_COPIED \
    }

static const struct key_row llama_keys[] = {DECODER, {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, {0}};
static const struct key_row gemma2_keys[] = {DECODER,
                                             {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
                                             {"attention.sliding_window", "sliding_window", KEY_COPIED},
                                             {"attn_logit_softcapping", "attn_logit_softcapping", KEY_COPIED},
                                             {"final_logit_softcapping", "final_logit_softcapping", KEY_COPIED},
                                             {0}};
static const struct key_row gpt2_keys[] = {SIZES,
                                           LENGTHS,
                                           {"context_length", "max_position_embeddings", KEY_NEEDED},
                                           {"feed_forward_length", "n_inner", KEY_COPIED},
                                           {"attention.head_count_kv", "", KEY_HERE},
                                           {"attention.layer_norm_epsilon", "layer_norm_epsilon", KEY_NEEDED},
                                           {0}};
static const struct key_row neox_keys[] = {SIZES,
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
                                            {"attention.layer_norm_epsilon", "layer_norm_epsilon", KEY_NEEDED},
                                            {0}};
static const struct key_row falcon_keys[] = {SIZES,
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
                                          {"attention.layer_norm_epsilon", "layer_norm_epsilon", KEY_NEEDED},
                                          {"attention.clamp_kqv", "", KEY_HERE},
                                          {"attention.max_alibi_bias", "", KEY_HERE},
                                          {0}};
static const struct key_row phi_keys[] = {DECODER, {"attention.layer_norm_epsilon", "layer_norm_eps", KEY_NEEDED}, {0}};

static const struct key_row gemma3_keys[] = {DECODER,
                                             {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
                                             {"attention.sliding_window", "sliding_window", KEY_NEEDED},
                                             {"attention.sliding_window_pattern", "sliding_window_pattern", KEY_COPIED},
                                             {"rope.freq_base_swa", "rope_local_base_freq", KEY_COPIED},
                                             {"final_logit_softcapping", "final_logit_softcapping", KEY_COPIED},
                                             {0}};
static const struct key_row phi3_keys[] = {DECODER,
                                           {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
                                           {"attention.sliding_window", "", KEY_HERE},
                                           {0}};
static const struct key_row starcoder2_keys[] = {DECODER,
                                                 {"attention.layer_norm_epsilon", "norm_epsilon", KEY_NEEDED},
                                                 {"attention.sliding_window", "", KEY_HERE},
                                                 {0}};
static const struct key_row olmo2_keys[] = {DECODER,
                                            {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
                                            {"attention.sliding_window", "", KEY_HERE},
                                            {0}};
static const struct key_row cohere_keys[] = {DECODER,
                                             {"attention.layer_norm_epsilon", "layer_norm_eps", KEY_NEEDED},
                                             {"logit_scale", "logit_scale", KEY_NEEDED},
                                             {"attention.sliding_window", "", KEY_HERE},
                                             {0}};
static const struct key_row cohere2_keys[] = {DECODER,
                                              {"attention.layer_norm_epsilon", "layer_norm_eps", KEY_NEEDED},
                                              {"logit_scale", "logit_scale", KEY_NEEDED},
                                              {"attention.sliding_window", "sliding_window", KEY_NEEDED},
                                              {0}};

const struct name_row *const gguf_falcon_two_names = falcon_two_names;

static const struct architecture architectures[] = {
    {"llama", "llama", llama_keys, llama_names, finish_llama},
    {"qwen2", "qwen2", llama_keys, qwen_names, finish_rotary},
    {"qwen3", "qwen3", llama_keys, qwen_names, finish_qwen3},
    {"gemma2", "gemma2", gemma2_keys, gemma2_names, finish_gemma2},
    {"gpt2", "gpt2", gpt2_keys, gpt2_names, finish_gpt2},
    {"gptneox", "gpt_neox", neox_keys, neox_names, finish_neox},
    {"bloom", "bloom", bloom_keys, bloom_names, finish_bloom},
    {"mpt", "mpt", mpt_keys, mpt_names, finish_mpt},
    {"falcon", "falcon", falcon_keys, falcon_names, finish_falcon},
    {"phi2", "phi", phi_keys, phi_names, finish_phi},
    {"gemma", "gemma", llama_keys, gemma_names, finish_rotary},
    {"gemma3", "gemma3_text", gemma3_keys, gemma3_names, finish_gemma3},
    {"phi3", "phi3", phi3_keys, phi3_names, finish_phi3},
    {"starcoder2", "starcoder2", starcoder2_keys, starcoder2_names, finish_starcoder2},
    {"olmo2", "olmo2", olmo2_keys, olmo2_names, finish_olmo2},
    {"command-r", "cohere", cohere_keys, cohere_names, finish_cohere},
    {"cohere2", "cohere2", cohere2_keys, cohere_names, finish_cohere2},
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const char *gguf_name_of(const char *model_type)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].model_type, model_type) == 0)
            return architectures[i].name;
    return "";
}

const struct architecture *architecture_find(struct gguf_text name, const char *path, struct error *e)
{
    char known[256] = "";
    for (int i = 0; i < ARCHITECTURES; i++) {
        if (gguf_is(name, architectures[i].name))
            return &architectures[i];
        strcat(strcat(known, i ? ", " : ""), architectures[i].name);
    }
    if (name.text)
        fail(e, "%s: general.architecture '%.*s' is not supported (supported: %s)", path, name.size < 60 ? (int)name.size : 60,
             name.text, known);
    else
        fail(e, "%s: general.architecture is missing (supported: %s)", path, known);
    return NULL;
}

/* 1 if the name without its suffix is the row's; *block is its number. Numbers have one spelling. */
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
    return text > digits && (*digits != '0' || text == digits + 1) && (size_t)(end - text) == strlen(mark + 1) &&
           memcmp(text, mark + 1, strlen(mark + 1)) == 0;
}

const struct name_row *architecture_name(const struct gguf_model *m, struct gguf_text name, long *block, struct gguf_text *suffix)
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
