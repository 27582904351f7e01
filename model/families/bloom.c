/* BLOOM: ALiBi with the slopes of the released code, a norm on the embeddings, fused head-major projections, tied head.
 * Source: huggingface/transformers, models/bloom. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>

static int read_bloom(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long vocabulary, hidden, layers, heads;
    double epsilon;
    int from_norm, slow;
    if (config_int(c, "vocab_size", 1, 1 << 26, &vocabulary, e) ||
        config_int(c, config_has(c, "hidden_size") ? "hidden_size" : "n_embed", 1, 1 << 20, &hidden, e) ||
        config_int(c, config_has(c, "n_layer") ? "n_layer" : "num_hidden_layers", 1, 10000, &layers, e) ||
        config_int(c, config_has(c, "n_head") ? "n_head" : "num_attention_heads", 1, 1 << 16, &heads, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_bool_or(c, "apply_residual_connection_post_layernorm", 0, &from_norm, e) || config_bool_or(c, "slow_but_exact", 0, &slow, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e))
        return -1;
    if (hidden % heads)
        return fail(e, "%s: hidden_size %ld is not a multiple of n_head %ld", config_path(c), hidden, heads);
    d->vocabulary = (int)vocabulary, d->hidden = (int)hidden, d->layers = (int)layers, d->heads = d->kv_heads = (int)heads;
    d->head_size = (int)(hidden / heads), d->mlp = (int)(4 * hidden);
    snprintf(d->position_text, sizeof d->position_text, "ALiBi");
    const struct formula *bias = family_formula(d, "alibi_press", e);
    if (!bias)
        return -1;

    if (family_bos(d, "bos_token_id", e))
        return -1;
    size_t width = (size_t)hidden, size = (size_t)d->head_size;
    const char *p = family_prefix(d, "transformer.", "word_embeddings.weight");
    if (family_blocks(d, e) || family_matrix(&d->embedding, d, (size_t)vocabulary, width, e, "%sword_embeddings.weight", p) ||
        family_norm(&d->embedding_norm, d, NORM_LAYER, epsilon, 1, e, "%sword_embeddings_layernorm", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear fused;
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.input_layernorm", p, l) ||
            family_linear(&fused, d, 3 * width, width, 1, e, "%sh.%d.self_attention.query_key_value", p, l) ||
            family_linear(&b->output, d, width, width, 1, e, "%sh.%d.self_attention.dense", p, l) ||
            family_norm(&b->mlp_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.post_attention_layernorm", p, l) ||
            family_linear(&b->up, d, 4 * width, width, 1, e, "%sh.%d.mlp.dense_h_to_4h", p, l) ||
            family_linear(&b->down, d, width, 4 * width, 1, e, "%sh.%d.mlp.dense_4h_to_h", p, l))
            return -1;
        struct linear *qkv[3] = {&b->query, &b->key, &b->value};
        for (size_t i = 0; i < 3; i++) {
            qkv[i]->weight = view_interleaved(fused.weight, (size_t)heads, 3, i, size);
            qkv[i]->bias = view_interleaved(fused.bias, (size_t)heads, 3, i, size);
        }
        b->activation = ACTIVATION_GELU_BLOOM;
        b->residual_from_norm = from_norm;
        b->score = (struct score){.scale = 1 / sqrt(d->head_size), .bias = bias};
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sln_f", p))
        return -1;
    return d->tied ? 0 : family_linear(&d->head, d, (size_t)vocabulary, width, 0, e, "lm_head");
}

const struct family family_bloom = {.name = "bloom", .model_types = {"bloom"}, .read = read_bloom, .ignored_suffixes = {"lm_head.weight"}};
