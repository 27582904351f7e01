/* Gemma 2: four RMS norms a layer with weights stored as w - 1, soft caps on scores and logits, a window on every other layer,
 * embeddings times sqrt(d). A cap or a window that the configuration does not name is the released models', as in the library
 * whose format this is; null turns it off. Source: huggingface/transformers, models/gemma2. */
#include "model/family.h"

#include <math.h>

/* y = x / rms(x) (1 + w) */
static int norm(struct norm_view *out, const struct decoder *d, double epsilon, const char *prefix, int layer, const char *name,
                struct error *e)
{
    if (family_norm(out, d, NORM_RMS, epsilon, 0, e, "%slayers.%d.%s", prefix, layer, name))
        return -1;
    out->scale.offset = 1;
    return 0;
}

static int read_gemma2(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads",
                                   .kv_heads = "num_key_value_heads",
                                   .head_size = "head_dim",
                                   .head_size_default = 256};
    const struct rope_keys rope = {.theta = "rope_theta",
                                   .fraction = "partial_rotary_factor",
                                   .fraction_default = 1,
                                   .whole_heads = 1};
    long inner, window;
    double epsilon, scalar, soft_cap;
    int biased;
    enum activation activation;
    double default_cap = config_absent(c, "attn_logit_softcapping") ? 50 : 0,
           default_head_cap = config_absent(c, "final_logit_softcapping") ? 30 : 0;
    long default_window = config_absent(c, "sliding_window") ? 4096 : 0;
    if (family_sizes(d, &keys, e) || config_int(c, "intermediate_size", 1, 1 << 24, &inner, e) ||
        config_real_or(c, "rms_norm_eps", 0, 1, 1e-6, &epsilon, e) || config_bool_or(c, "attention_bias", 0, &biased, e) ||
        config_real_or(c, "query_pre_attn_scalar", 1e-6, 1e9, 256, &scalar, e) ||
        config_real_or(c, "attn_logit_softcapping", 0, 1e9, default_cap, &soft_cap, e) ||
        config_real_or(c, "final_logit_softcapping", 0, 1e9, default_head_cap, &d->head_soft_cap, e) ||
        config_int_or(c, "sliding_window", 1, 1 << 30, default_window, &window, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) || family_only(d, "use_bidirectional_attention", 0, 0, e) ||
        family_activation(&activation, d, "hidden_activation", "gelu_pytorch_tanh", e) || family_rope(d, &rope, e) ||
        family_windows(d, window, 0, 2, e) || family_bos(d, "bos_token_id", e))
        return -1;
    d->mlp = (int)inner;

    size_t width = (size_t)d->hidden, q_size = (size_t)d->heads * (size_t)d->head_size,
           kv_size = (size_t)d->kv_heads * (size_t)d->head_size;
    const char *p = family_prefix(d, "model.", "embed_tokens.weight");
    if (family_matrix(&d->embedding, d, (size_t)d->vocabulary, width, e, "%sembed_tokens.weight", p))
        return -1;
    /* the model rounds the factor to its own type, if that is a short one */
    int rounds = d->embedding.type == ELEMENT_F16 || d->embedding.type == ELEMENT_BF16;
    d->embedding_scale = element_round(sqrt(d->hidden), rounds ? d->embedding.type : ELEMENT_F64);
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (norm(&b->attention_norm, d, epsilon, p, l, "input_layernorm", e) ||
            family_linear(&b->query, d, q_size, width, biased, e, "%slayers.%d.self_attn.q_proj", p, l) ||
            family_linear(&b->key, d, kv_size, width, biased, e, "%slayers.%d.self_attn.k_proj", p, l) ||
            family_linear(&b->value, d, kv_size, width, biased, e, "%slayers.%d.self_attn.v_proj", p, l) ||
            family_linear(&b->output, d, width, q_size, biased, e, "%slayers.%d.self_attn.o_proj", p, l) ||
            norm(&b->attention_post_norm, d, epsilon, p, l, "post_attention_layernorm", e) ||
            norm(&b->mlp_norm, d, epsilon, p, l, "pre_feedforward_layernorm", e) ||
            family_linear(&b->gate, d, (size_t)inner, width, 0, e, "%slayers.%d.mlp.gate_proj", p, l) ||
            family_linear(&b->up, d, (size_t)inner, width, 0, e, "%slayers.%d.mlp.up_proj", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, 0, e, "%slayers.%d.mlp.down_proj", p, l) ||
            norm(&b->mlp_post_norm, d, epsilon, p, l, "post_feedforward_layernorm", e))
            return -1;
        b->activation = activation;
        b->score.scale = 1 / sqrt(scalar), b->score.soft_cap = soft_cap;
    }
    if (family_norm(&d->final_norm, d, NORM_RMS, epsilon, 0, e, "%snorm", p))
        return -1;
    d->final_norm.scale.offset = 1;
    return family_head(d, 0, e, "lm_head");
}

static const char *const harmless[] = {"cache_implementation", "hidden_act", NULL}; /* its activation is hidden_activation */
static const char *const nullable[] = {"partial_rotary_factor", "use_bidirectional_attention", NULL};

const struct family family_gemma2 = {.name = "gemma2",
                                     .model_types = {"gemma2"},
                                     .read = read_gemma2,
                                     .ignored_suffixes = {".rotary_emb.inv_freq"},
                                     .harmless = harmless,
                                     .nullable = nullable};
