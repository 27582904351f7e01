/* GPT-NeoX and Pythia: fused head-major projections, partial rotary positions, parallel or sequential residual.
 * Source: huggingface/transformers, models/gpt_neox. */
#include "model/family.h"

static int read_gpt_neox(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads"};
    const struct rope_keys rope = {.theta = "rotary_emb_base", .fraction = "rotary_pct", .fraction_default = 0.25};
    long inner;
    double epsilon;
    int parallel, biased;
    enum activation activation;
    if (family_sizes(d, &keys, e) || config_int(c, "intermediate_size", 1, 1 << 24, &inner, e) ||
        config_real_or(c, "layer_norm_eps", 0, 1, 1e-5, &epsilon, e) ||
        config_bool_or(c, "use_parallel_residual", 1, &parallel, e) || config_bool_or(c, "attention_bias", 1, &biased, e) ||
        config_bool_or(c, "tie_word_embeddings", 0, &d->tied, e) || family_activation(&activation, d, "hidden_act", "gelu", e) ||
        family_rope(d, &rope, e) || family_bos(d, "bos_token_id", e))
        return -1;
    d->mlp = (int)inner;

    size_t width = (size_t)d->hidden, size = (size_t)d->head_size, heads = (size_t)d->heads;
    const char *p = family_prefix(d, "gpt_neox.", "embed_in.weight");
    if (family_matrix(&d->embedding, d, (size_t)d->vocabulary, width, e, "%sembed_in.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear fused;
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%slayers.%d.input_layernorm", p, l) ||
            family_linear(&fused, d, 3 * width, width, biased, e, "%slayers.%d.attention.query_key_value", p, l) ||
            family_linear(&b->output, d, width, width, biased, e, "%slayers.%d.attention.dense", p, l) ||
            family_norm(&b->mlp_norm, d, NORM_LAYER, epsilon, 1, e, "%slayers.%d.post_attention_layernorm", p, l) ||
            family_linear(&b->up, d, (size_t)inner, width, 1, e, "%slayers.%d.mlp.dense_h_to_4h", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, 1, e, "%slayers.%d.mlp.dense_4h_to_h", p, l))
            return -1;
        struct linear *qkv[3] = {&b->query, &b->key, &b->value};
        for (size_t i = 0; i < 3; i++) {
            qkv[i]->weight = view_interleaved(fused.weight, heads, 3, i, size);
            if (biased)
                qkv[i]->bias = view_interleaved(fused.bias, heads, 3, i, size);
        }
        b->activation = activation;
        b->residual = parallel ? RESIDUAL_PARALLEL : RESIDUAL_SEQUENTIAL;
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sfinal_layer_norm", p))
        return -1;
    /* transformers 5 renames the head on save */
    return family_head(d, 0, e, family_has(d, "embed_out.weight") ? "embed_out" : "lm_head");
}

/* its class takes the rotary settings by other names and leaves these */
static const char *const harmless[] = {"partial_rotary_factor", "rope_theta", NULL};

const struct family family_gpt_neox = {.name = "gpt_neox",
                                       .model_types = {"gpt_neox"},
                                       .read = read_gpt_neox,
                                       .ignored_suffixes = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
                                       .harmless = harmless};
