/* MPT: ALiBi, no biases anywhere, queries, keys and values clamped in some models, tied head.
 * Sources: huggingface/transformers, models/mpt; mosaicml/llm-foundry, the only one to apply
 * alibi_bias_max. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An option with one or two supported values; `also` may be "". */
static int only_text(struct decoder *d, const char *key, const char *expected, const char *also,
                     struct error *e)
{
    const char *value;
    if (config_string_or(d->config, key, expected, &value, e))
        return -1;
    if (strcmp(value, expected) == 0 || strcmp(value, also) == 0)
        return 0;
    return fail(e, "%s: %s '%s' is not supported (supported: %s%s%s)", config_path(d->config), key,
                value, expected, *also ? ", " : "", also);
}

static int read_mpt(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = family_either(d, "hidden_size", "d_model"),
                                   .layers = family_either(d, "num_hidden_layers", "n_layers"),
                                   .heads = family_either(d, "num_attention_heads", "n_heads")};
    long ratio, window;
    double epsilon, clip, scale, most;
    if (family_sizes(d, &keys, e) ||
        config_int_or(c, "expansion_ratio", 1, 1 << 10, 4, &ratio, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_real_or(c, "attn_config.clip_qkv", 0, 1e9, 0, &clip, e) ||
        config_real_or(c, "attn_config.softmax_scale", -1e6, 1e6, 1 / sqrt(d->head_size), &scale,
                       e) ||
        config_real_or(c, "attn_config.alibi_bias_max", 1e-3, 1e3, 8, &most, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) ||
        family_only(d, "no_bias", 1, 1, e) || family_only(d, "attn_config.alibi", 1, 1, e) ||
        family_only(d, "attn_config.qk_ln", 0, 0, e) ||
        family_only(d, "attn_config.prefix_lm", 0, 0, e) ||
        family_only(d, "attn_config.rope", 0, 0, e) ||
        config_int_or(c, "attn_config.sliding_window_size", -1, -1, -1, &window, e) ||
        only_text(d, "attn_config.attn_type", "multihead_attention", "", e) ||
        only_text(d, "ffn_config.ffn_type", "mptmlp", "", e) ||
        only_text(d, "norm_type", "low_precision_layernorm", "layernorm", e) ||
        family_bos(d, "bos_token_id", e))
        return -1;
    if (config_get(c, "logit_scale"))
        return fail(e, "%s: logit_scale is not supported (expected null)", config_path(c));
    d->mlp = (int)ratio * d->hidden;
    const struct formula *bias = most == 8 ? family_formula(d, "alibi_press", e)
                                           : family_slope_formula(d, "-k*t", most, ELEMENT_F64, e);
    if (!bias)
        return -1;
    snprintf(d->position_text, sizeof d->position_text, "ALiBi");
    if (most != 8)
        family_describe(d, "alibi_bias_max %g", most);

    size_t width = (size_t)d->hidden, inner = (size_t)d->mlp;
    const char *p = family_prefix(d, "transformer.", "wte.weight");
    if (family_embedding(d, width, e, "lm_head", "%swte.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        view fused;
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 0, e, "%sblocks.%d.norm_1", p,
                        l) ||
            family_matrix(&fused, d, 3 * width, width, e, "%sblocks.%d.attn.Wqkv.weight", p, l) ||
            family_linear(&b->output, d, width, width, 0, e, "%sblocks.%d.attn.out_proj", p, l) ||
            family_norm(&b->mlp_norm, d, NORM_LAYER, epsilon, 0, e, "%sblocks.%d.norm_2", p, l) ||
            family_linear(&b->up, d, inner, width, 0, e, "%sblocks.%d.ffn.up_proj", p, l) ||
            family_linear(&b->down, d, width, inner, 0, e, "%sblocks.%d.ffn.down_proj", p, l))
            return -1;
        b->query.weight = view_rows(fused, 0, width);
        b->key.weight = view_rows(fused, width, width);
        b->value.weight = view_rows(fused, 2 * width, width);
        b->clip = clip;
        b->activation = ACTIVATION_GELU;
        b->score.scale = scale, b->score.bias = bias;
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 0, e, "%snorm_f", p))
        return -1;
    return family_head(d, 0, e, "lm_head");
}

static const char *const harmless[] = {"attn_config.attn_impl",
                                       "attn_config.attn_pdrop",
                                       "attn_config.attn_uses_sequence_id",
                                       "attn_config.is_encoder_decoder",
                                       "emb_pdrop",
                                       "embedding_fraction",
                                       "fc_type",
                                       "ffn_config.fc_type",
                                       "init_config",
                                       "init_device",
                                       "learned_pos_emb",
                                       "max_seq_len",
                                       "tokenizer_name",
                                       "use_pad_tok_in_ffn",
                                       "verbose",
                                       NULL};
static const char *const nullable[] = {
    "attn_config", "attn_config.clip_qkv", "attn_config.softmax_scale",
    "ffn_config",  "logit_scale",          NULL};

const struct family family_mpt = {.name = "mpt",
                                  .model_types = {"mpt"},
                                  .read = read_mpt,
                                  .harmless = harmless,
                                  .nullable = nullable,
                                  .positions = "ALiBi",
                                  .about = "norms without bias, fused q, k, v"};
