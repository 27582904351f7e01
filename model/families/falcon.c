/* Falcon: fused projections in three layouts, rotary positions or ALiBi, parallel or sequential
 * residual. Source: huggingface/transformers, models/falcon. */
#include "model/family.h"

#include <stdio.h>

enum rows_order {
    ROWS_HEADS, /* [H][q, k, v] */
    ROWS_QUERIES, /* [H q][k][v]: one key and value for all */
    ROWS_GROUPS /* [KV][H/KV q, k, v] */
};

/* The parts of a fused projection, or of its bias. */
static void split(view *query, view *key, view *value, view fused, const struct decoder *d,
                  enum rows_order order)
{
    size_t size = (size_t)d->head_size, heads = (size_t)d->heads, kv = (size_t)d->kv_heads,
           each = heads / kv;
    if (!fused.data)
        return;
    if (order == ROWS_QUERIES) {
        *query = view_rows(fused, 0, heads * size);
        *key = view_rows(fused, heads * size, size);
        *value = view_rows(fused, (heads + 1) * size, size);
        return;
    }
    *query = view_groups(fused, kv, (each + 2) * size, 0, each * size);
    *key = view_groups(fused, kv, (each + 2) * size, each * size, size);
    *value = view_groups(fused, kv, (each + 2) * size, (each + 1) * size, size);
}

/* ALiBi as released: slope times the key's position, both and their product in bfloat16, added
 * before the scores are divided by sqrt(head size). */
static int read_alibi(struct decoder *d, struct error *e)
{
    const struct formula *f = family_slope_formula(d, "k*t", 8, ELEMENT_BF16, e);
    if (!f)
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct score *s = &d->blocks[l].score;
        s->key_bias = f, s->key_bias_type = ELEMENT_BF16, s->key_bias_scale = s->scale;
    }
    snprintf(d->position_text, sizeof d->position_text,
             "ALiBi over sqrt(head size), by key position in bfloat16");
    return 0;
}

static int read_falcon(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct rope_keys rope = {.theta = "rope_theta",
                                   .fraction = "partial_rotary_factor",
                                   .fraction_default = 1,
                                   .whole_heads = 1};
    struct size_keys keys = {.vocabulary = "vocab_size",
                             .hidden = family_either(d, "n_embed", "hidden_size"),
                             .layers = family_either(d, "num_hidden_layers", "n_layer"),
                             .heads = family_either(d, "num_attention_heads", "n_head")};
    int grouped, single, parallel, biased, alibi;
    long inner, norms;
    double epsilon;
    enum activation activation;
    if (config_bool_or(c, "new_decoder_architecture", 0, &grouped, e) ||
        config_bool_or(c, "multi_query", 1, &single, e) ||
        config_bool_or(c, "parallel_attn", 1, &parallel, e) ||
        config_bool_or(c, "bias", 0, &biased, e) || config_bool_or(c, "alibi", 0, &alibi, e) ||
        family_only(d, "apply_residual_connection_post_layernorm", 0, 0, e) ||
        family_only(d, "output_attentions", 0, 0,
                    e)) /* then the library's code omits the causal mask */
        return -1;
    const char *kv_heads = family_either(d, "num_kv_heads", "n_head_kv");
    keys.kv_heads = grouped ? kv_heads : NULL;
    if (family_sizes(d, &keys, e) ||
        config_int_or(c, "ffn_hidden_size", 1, 1 << 24, 4L * d->hidden, &inner, e) ||
        config_int_or(c, "num_ln_in_parallel_attn", 1, 2, grouped ? 2 : 1, &norms, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) ||
        family_activation(&activation, d, "activation", "gelu", e) ||
        family_bos(d, "bos_token_id", e))
        return -1;
    enum rows_order order = grouped ? ROWS_GROUPS : single ? ROWS_QUERIES : ROWS_HEADS;
    d->kv_heads = order == ROWS_QUERIES ? 1 : d->kv_heads;
    d->mlp = (int)inner;
    parallel |= grouped;
    if (alibi ? read_alibi(d, e) : family_rope(d, &rope, e))
        return -1;

    size_t width = (size_t)d->hidden,
           rows = (size_t)(d->heads + 2 * d->kv_heads) * (size_t)d->head_size;
    const char *p = family_prefix(d, "transformer.", "word_embeddings.weight");
    if (family_embedding(d, width, e, "lm_head", "%sword_embeddings.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct linear fused;
        int two = grouped && norms == 2;
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.%s", p, l,
                        two ? "ln_attn" : "input_layernorm") ||
            family_linear(&fused, d, rows, width, biased, e,
                          "%sh.%d.self_attention.query_key_value", p, l) ||
            family_linear(&b->output, d, width, width, biased, e, "%sh.%d.self_attention.dense", p,
                          l) ||
            family_linear(&b->up, d, (size_t)inner, width, biased, e, "%sh.%d.mlp.dense_h_to_4h", p,
                          l) ||
            family_linear(&b->down, d, width, (size_t)inner, biased, e, "%sh.%d.mlp.dense_4h_to_h",
                          p, l))
            return -1;
        b->mlp_norm = b->attention_norm; /* parallel blocks may share one */
        if ((two || !parallel) &&
            family_norm(&b->mlp_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.%s", p, l,
                        two ? "ln_mlp" : "post_attention_layernorm"))
            return -1;
        split(&b->query.weight, &b->key.weight, &b->value.weight, fused.weight, d, order);
        split(&b->query.bias, &b->key.bias, &b->value.bias, fused.bias, d, order);
        b->activation = activation;
        b->residual = parallel ? RESIDUAL_PARALLEL : RESIDUAL_SEQUENTIAL;
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sln_f", p))
        return -1;
    return family_head(d, 0, e, "lm_head");
}

/* with ALiBi no rotary settings are read */
static const char *const harmless[] = {"max_position_embeddings",
                                       "partial_rotary_factor",
                                       "rope_parameters",
                                       "rope_scaling",
                                       "rope_theta",
                                       NULL};
static const char *const nullable[] = {"ffn_hidden_size",       "n_head_kv",
                                       "num_kv_heads",          "num_ln_in_parallel_attn",
                                       "partial_rotary_factor", NULL};

const struct family family_falcon = {.name = "falcon",
                                     .model_types = {"falcon"},
                                     .read = read_falcon,
                                     .ignored_suffixes = {".rotary_emb.inv_freq"},
                                     .harmless = harmless,
                                     .nullable = nullable,
                                     .positions = "rotary, or ALiBi",
                                     .about = "fused q, k, v in three layouts, parallel branches"};
