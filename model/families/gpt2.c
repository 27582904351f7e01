/* GPT-2: learned positions, Conv1D matrices (stored [in, out]), tied head. Source: huggingface/transformers, models/gpt2. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>

static int conv1d(struct linear *out, const struct decoder *d, size_t rows, size_t columns, const char *prefix, int layer,
                  const char *name, struct error *e)
{
    return family_transposed(&out->weight, d, rows, columns, e, "%sh.%d.%s.weight", prefix, layer, name) ||
                   family_vector(&out->bias, d, rows, e, "%sh.%d.%s.bias", prefix, layer, name)
               ? -1
               : 0;
}

static int read_gpt2(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = family_either(d, "hidden_size", "n_embd"),
                                   .layers = family_either(d, "num_hidden_layers", "n_layer"),
                                   .heads = family_either(d, "num_attention_heads", "n_head")};
    long inner, limit;
    double epsilon;
    int scaled, by_layer;
    enum activation activation;
    if (family_sizes(d, &keys, e) || config_int_or(c, "n_inner", 1, 1 << 24, 4L * d->hidden, &inner, e) ||
        config_int(c, family_either(d, "max_position_embeddings", "n_positions"), 1, 1 << 30, &limit, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_bool_or(c, "scale_attn_weights", 1, &scaled, e) ||
        config_bool_or(c, "scale_attn_by_inverse_layer_idx", 0, &by_layer, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) ||
        family_activation(&activation, d, "activation_function", "gelu_new", e) || family_bos(d, "bos_token_id", e))
        return -1;
    d->mlp = (int)inner, d->position = POSITION_LEARNED, d->position_limit = (int)limit;
    snprintf(d->position_text, sizeof d->position_text, "learned, %ld positions", limit);

    size_t width = (size_t)d->hidden;
    const char *p = family_prefix(d, "transformer.", "wte.weight");
    if (family_matrix(&d->embedding, d, (size_t)d->vocabulary, width, e, "%swte.weight", p) ||
        family_matrix(&d->position_rows, d, (size_t)limit, width, e, "%swpe.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear fused;
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.ln_1", p, l) ||
            conv1d(&fused, d, 3 * width, width, p, l, "attn.c_attn", e) ||
            conv1d(&b->output, d, width, width, p, l, "attn.c_proj", e) ||
            family_norm(&b->mlp_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.ln_2", p, l) ||
            conv1d(&b->up, d, (size_t)inner, width, p, l, "mlp.c_fc", e) ||
            conv1d(&b->down, d, width, (size_t)inner, p, l, "mlp.c_proj", e))
            return -1;
        struct linear *qkv[3] = {&b->query, &b->key, &b->value};
        for (size_t i = 0; i < 3; i++) {
            qkv[i]->weight = view_rows(fused.weight, i * width, width);
            qkv[i]->bias = view_rows(fused.bias, i * width, width);
        }
        b->activation = activation;
        b->score.scale = (scaled ? 1 / sqrt(d->head_size) : 1) / (by_layer ? l + 1 : 1);
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sln_f", p))
        return -1;
    return family_head(d, 0, e, "lm_head");
}

static const char *const harmless[] = {"n_ctx",
                                       "output_past",
                                       "predict_special_tokens",
                                       "reorder_and_upcast_attn",
                                       "summary_activation",
                                       "summary_first_dropout",
                                       "summary_proj_to_labels",
                                       "summary_type",
                                       "summary_use_proj",
                                       NULL};

static const char *const transposed[] = {"c_attn", "c_proj", "c_fc", NULL};

const struct family family_gpt2 = {.name = "gpt2",
                                   .model_types = {"gpt2"},
                                   .read = read_gpt2,
                                   .ignored_suffixes = {".attn.bias", ".attn.masked_bias"},
                                   .transposed = transposed,
                                   .harmless = harmless};
