/* Llama and Mistral: RMS norms, rotary positions, grouped heads, gated MLP; Mistral adds a window on all layers.
 * Source: huggingface/transformers, models/llama and models/mistral. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the two families share; the window is Mistral's. */
static int read_llama_like(struct decoder *d, int qkv_bias, int mlp_bias, long window, struct error *e)
{
    struct config *c = d->config;
    long vocabulary, hidden, layers, heads, kv_heads, inner, head_size;
    double epsilon;
    enum activation activation;
    if (config_int(c, "vocab_size", 1, 1 << 26, &vocabulary, e) || config_int(c, "hidden_size", 1, 1 << 20, &hidden, e) ||
        config_int(c, "num_hidden_layers", 1, 10000, &layers, e) || config_int(c, "num_attention_heads", 1, 1 << 16, &heads, e) ||
        config_int_or(c, "num_key_value_heads", 1, 1 << 16, heads, &kv_heads, e) || config_int(c, "intermediate_size", 1, 1 << 24, &inner, e) ||
        config_int_or(c, "head_dim", 1, 256, hidden / heads, &head_size, e) || config_real_or(c, "rms_norm_eps", 0, 1, 1e-6, &epsilon, e) ||
        config_bool_or(c, "tie_word_embeddings", 0, &d->tied, e) || family_activation(&activation, d, "hidden_act", "silu", e))
        return -1;
    if (heads % kv_heads)
        return fail(e, "%s: num_attention_heads %ld is not a multiple of num_key_value_heads %ld", config_path(c), heads, kv_heads);
    d->vocabulary = (int)vocabulary, d->hidden = (int)hidden, d->layers = (int)layers, d->heads = (int)heads, d->kv_heads = (int)kv_heads;
    d->head_size = (int)head_size, d->mlp = (int)inner;
    if (family_rope(d, "rope_theta", "partial_rotary_factor", 1, e))
        return -1;
    if (window) {
        size_t at = strlen(d->position_text);
        snprintf(d->position_text + at, sizeof d->position_text - at, ", window %ld", window);
    }

    if (family_bos(d, "bos_token_id", e))
        return -1;
    size_t width = (size_t)hidden, q_size = (size_t)(heads * head_size), kv_size = (size_t)(kv_heads * head_size);
    const char *p = family_prefix(d, "model.", "embed_tokens.weight");
    if (family_blocks(d, e) || family_matrix(&d->embedding, d, (size_t)vocabulary, width, e, "%sembed_tokens.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (family_norm(&b->attention_norm, d, NORM_RMS, epsilon, 0, e, "%slayers.%d.input_layernorm", p, l) ||
            family_linear(&b->query, d, q_size, width, qkv_bias, e, "%slayers.%d.self_attn.q_proj", p, l) ||
            family_linear(&b->key, d, kv_size, width, qkv_bias, e, "%slayers.%d.self_attn.k_proj", p, l) ||
            family_linear(&b->value, d, kv_size, width, qkv_bias, e, "%slayers.%d.self_attn.v_proj", p, l) ||
            family_linear(&b->output, d, width, q_size, qkv_bias, e, "%slayers.%d.self_attn.o_proj", p, l) ||
            family_norm(&b->mlp_norm, d, NORM_RMS, epsilon, 0, e, "%slayers.%d.post_attention_layernorm", p, l) ||
            family_linear(&b->gate, d, (size_t)inner, width, mlp_bias, e, "%slayers.%d.mlp.gate_proj", p, l) ||
            family_linear(&b->up, d, (size_t)inner, width, mlp_bias, e, "%slayers.%d.mlp.up_proj", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, mlp_bias, e, "%slayers.%d.mlp.down_proj", p, l))
            return -1;
        b->activation = activation;
        b->score = (struct score){.scale = 1 / sqrt(d->head_size), .window = (int)window};
    }
    if (family_norm(&d->final_norm, d, NORM_RMS, epsilon, 0, e, "%snorm", p))
        return -1;
    return d->tied ? 0 : family_linear(&d->head, d, (size_t)vocabulary, width, 0, e, "lm_head");
}

static int read_llama(struct decoder *d, struct error *e)
{
    int qkv_bias, mlp_bias;
    if (config_bool_or(d->config, "attention_bias", 0, &qkv_bias, e) || config_bool_or(d->config, "mlp_bias", 0, &mlp_bias, e))
        return -1;
    return read_llama_like(d, qkv_bias, mlp_bias, 0, e);
}

static int read_mistral(struct decoder *d, struct error *e)
{
    long window;
    if (config_int_or(d->config, "sliding_window", 1, 1 << 30, 0, &window, e))
        return -1;
    return read_llama_like(d, 0, 0, window, e);
}

const struct family family_llama = {
    .name = "llama", .model_types = {"llama"}, .read = read_llama, .ignored_suffixes = {".rotary_emb.inv_freq", "lm_head.weight"}};
const struct family family_mistral = {
    .name = "mistral", .model_types = {"mistral"}, .read = read_mistral, .ignored_suffixes = {".rotary_emb.inv_freq", "lm_head.weight"}};
