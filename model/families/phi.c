/* Phi: partial rotary positions, parallel residual with one norm, biases everywhere, a head with a bias, norms of heads in some
 * models. Source: huggingface/transformers, models/phi. */
#include "model/family.h"

static int read_phi(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads",
                                   .kv_heads = "num_key_value_heads"};
    const struct rope_keys rope = {.theta = "rope_theta", .fraction = "partial_rotary_factor", .fraction_default = 0.5};
    long inner;
    double epsilon;
    int head_norms;
    enum activation activation;
    if (family_sizes(d, &keys, e) || config_int(c, "intermediate_size", 1, 1 << 24, &inner, e) ||
        config_real_or(c, "layer_norm_eps", 0, 1, 1e-5, &epsilon, e) || config_bool_or(c, "qk_layernorm", 0, &head_norms, e) ||
        config_bool_or(c, "tie_word_embeddings", 0, &d->tied, e) ||
        family_activation(&activation, d, "hidden_act", "gelu_new", e) || family_rope(d, &rope, e) ||
        family_bos(d, "bos_token_id", e))
        return -1;
    d->mlp = (int)inner;

    size_t width = (size_t)d->hidden, size = (size_t)d->head_size, kv_size = (size_t)d->kv_heads * size;
    const char *p = family_prefix(d, "model.", "embed_tokens.weight");
    if (family_matrix(&d->embedding, d, (size_t)d->vocabulary, width, e, "%sembed_tokens.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%slayers.%d.input_layernorm", p, l) ||
            family_linear(&b->query, d, width, width, 1, e, "%slayers.%d.self_attn.q_proj", p, l) ||
            family_linear(&b->key, d, kv_size, width, 1, e, "%slayers.%d.self_attn.k_proj", p, l) ||
            family_linear(&b->value, d, kv_size, width, 1, e, "%slayers.%d.self_attn.v_proj", p, l) ||
            family_linear(&b->output, d, width, width, 1, e, "%slayers.%d.self_attn.dense", p, l) ||
            family_linear(&b->up, d, (size_t)inner, width, 1, e, "%slayers.%d.mlp.fc1", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, 1, e, "%slayers.%d.mlp.fc2", p, l))
            return -1;
        if (head_norms && (family_norm_named(&b->query_norm, d, NORM_LAYER, epsilon, size, "weight", "bias", e,
                                             "%slayers.%d.self_attn.q_layernorm", p, l) ||
                           family_norm_named(&b->key_norm, d, NORM_LAYER, epsilon, size, "weight", "bias", e,
                                             "%slayers.%d.self_attn.k_layernorm", p, l)))
            return -1;
        b->mlp_norm = b->attention_norm;
        b->activation = activation;
        b->residual = RESIDUAL_PARALLEL;
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sfinal_layernorm", p))
        return -1;
    return family_head(d, 1, e, "lm_head");
}

static const char *const none[] = {NULL}, *const nullable[] = {"num_key_value_heads", NULL};

const struct family family_phi = {.name = "phi",
                                  .model_types = {"phi"},
                                  .read = read_phi,
                                  .ignored_suffixes = {".rotary_emb.inv_freq"},
                                  .harmless = none,
                                  .nullable = nullable};
