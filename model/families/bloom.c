/* BLOOM: ALiBi with the slopes of the released code, a norm on the embeddings, fused head-major
 * projections, tied head. Source: huggingface/transformers, models/bloom. */
#include "model/family.h"

#include <stdio.h>

static int read_bloom(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = family_either(d, "n_embed", "hidden_size"),
                                   .layers = family_either(d, "num_hidden_layers", "n_layer"),
                                   .heads = family_either(d, "num_attention_heads", "n_head")};
    double epsilon;
    long parts;
    int from_norm, slow;
    if (family_sizes(d, &keys, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_bool_or(c, "apply_residual_connection_post_layernorm", 0, &from_norm, e) ||
        config_bool_or(c, "slow_but_exact", 0, &slow, e) ||
        config_int_or(c, "pretraining_tp", 1, 1 << 20, 1, &parts, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) ||
        family_bos(d, "bos_token_id", e))
        return -1;
    if (slow && parts > 1)
        return fail(e,
                    "%s: slow_but_exact with pretraining_tp %ld, which adds biases in another "
                    "place, is not supported (expected "
                    "pretraining_tp 1)",
                    config_path(c), parts);
    d->mlp = 4 * d->hidden;
    snprintf(d->position_text, sizeof d->position_text, "ALiBi");
    const struct formula *bias = family_formula(d, "alibi_press", e);
    if (!bias)
        return -1;

    size_t width = (size_t)d->hidden, size = (size_t)d->head_size, heads = (size_t)d->heads;
    const char *p = family_prefix(d, "transformer.", "word_embeddings.weight");
    if (family_embedding(d, width, e, "lm_head", "%sword_embeddings.weight", p) ||
        family_norm(&d->embedding_norm, d, NORM_LAYER, epsilon, 1, e, "%sword_embeddings_layernorm",
                    p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear fused;
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.input_layernorm",
                        p, l) ||
            family_linear(&fused, d, 3 * width, width, 1, e,
                          "%sh.%d.self_attention.query_key_value", p, l) ||
            family_linear(&b->output, d, width, width, 1, e, "%sh.%d.self_attention.dense", p, l) ||
            family_norm(&b->mlp_norm, d, NORM_LAYER, epsilon, 1, e,
                        "%sh.%d.post_attention_layernorm", p, l) ||
            family_linear(&b->up, d, 4 * width, width, 1, e, "%sh.%d.mlp.dense_h_to_4h", p, l) ||
            family_linear(&b->down, d, width, 4 * width, 1, e, "%sh.%d.mlp.dense_4h_to_h", p, l))
            return -1;
        struct linear *qkv[3] = {&b->query, &b->key, &b->value};
        for (size_t i = 0; i < 3; i++) {
            qkv[i]->weight = view_interleaved(fused.weight, heads, 3, i, size);
            qkv[i]->bias = view_interleaved(fused.bias, heads, 3, i, size);
        }
        b->activation = ACTIVATION_GELU_BLOOM;
        b->residual_from_norm = from_norm;
        b->score.bias = bias;
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sln_f", p))
        return -1;
    return family_head(d, 0, e, "lm_head");
}

static const char *const harmless[] = {"attention_softmax_in_fp32",
                                       "bias_dropout_fusion",
                                       "masked_softmax_fusion",
                                       "offset_alibi",
                                       "seq_length",
                                       "skip_bias_add",
                                       "skip_bias_add_qkv",
                                       NULL};

const struct family family_bloom = {.name = "bloom",
                                    .model_types = {"bloom"},
                                    .read = read_bloom,
                                    .harmless = harmless,
                                    .positions = "ALiBi",
                                    .about = "layer norms, a norm on embeddings"};
