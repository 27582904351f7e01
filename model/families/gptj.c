/* GPT-J: rotary positions on neighbouring pairs of the first dimensions, parallel residual with one norm, a head with a bias.
 * Source: huggingface/transformers, models/gptj. */
#include "model/family.h"

#include <stdio.h>

static int read_gptj(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = family_either(d, "hidden_size", "n_embd"),
                                   .layers = family_either(d, "num_hidden_layers", "n_layer"),
                                   .heads = family_either(d, "num_attention_heads", "n_head")};
    long inner, rotated;
    double epsilon;
    enum activation activation;
    if (family_sizes(d, &keys, e) || config_int_or(c, "n_inner", 1, 1 << 24, 4L * d->hidden, &inner, e) ||
        config_int_or(c, "rotary_dim", 2, d->head_size, 64, &rotated, e) ||
        config_real_or(c, "layer_norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_bool_or(c, "tie_word_embeddings", 0, &d->tied, e) ||
        family_activation(&activation, d, "activation_function", "gelu_new", e) || family_bos(d, "bos_token_id", e))
        return -1;
    if (!config_has(c, "rotary_dim") && !config_absent(c, "rotary_dim"))
        return fail(e, "%s: rotary_dim null is not supported (expected an even number up to the head size, %d)", config_path(c),
                    d->head_size);
    if (rotated % 2 || rotated > d->head_size)
        return fail(e, "%s: rotary_dim %ld is not supported (expected an even number up to the head size, %d)", config_path(c),
                    rotated, d->head_size);
    d->mlp = (int)inner;
    snprintf(d->position_text, sizeof d->position_text, "rotary, base 10000, interleaved");
    if (rotated < d->head_size)
        family_describe(d, "%ld of %d dimensions", rotated, d->head_size);

    size_t width = (size_t)d->hidden;
    const char *p = family_prefix(d, "transformer.", "wte.weight");
    if (family_rotary_plain(d, (int)rotated, 10000, PAIRING_INTERLEAVED, e) ||
        family_matrix(&d->embedding, d, (size_t)d->vocabulary, width, e, "%swte.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (family_norm(&b->attention_norm, d, NORM_LAYER, epsilon, 1, e, "%sh.%d.ln_1", p, l) ||
            family_linear(&b->query, d, width, width, 0, e, "%sh.%d.attn.q_proj", p, l) ||
            family_linear(&b->key, d, width, width, 0, e, "%sh.%d.attn.k_proj", p, l) ||
            family_linear(&b->value, d, width, width, 0, e, "%sh.%d.attn.v_proj", p, l) ||
            family_linear(&b->output, d, width, width, 0, e, "%sh.%d.attn.out_proj", p, l) ||
            family_linear(&b->up, d, (size_t)inner, width, 1, e, "%sh.%d.mlp.fc_in", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, 1, e, "%sh.%d.mlp.fc_out", p, l))
            return -1;
        b->mlp_norm = b->attention_norm;
        b->activation = activation;
        b->residual = RESIDUAL_PARALLEL;
    }
    if (family_norm(&d->final_norm, d, NORM_LAYER, epsilon, 1, e, "%sln_f", p))
        return -1;
    return family_head(d, 1, e, "lm_head");
}

/* rotary positions have no limit, and there are no others */
static const char *const harmless[] = {"max_position_embeddings",
                                       "n_ctx",
                                       "n_positions",
                                       "rotary",
                                       "scale_attn_weights",
                                       "summary_activation",
                                       "summary_first_dropout",
                                       "summary_proj_to_labels",
                                       "summary_type",
                                       "summary_use_proj",
                                       NULL};

const struct family family_gptj = {.name = "gptj",
                                   .model_types = {"gptj"},
                                   .read = read_gptj,
                                   .ignored_suffixes = {".attn.bias", ".attn.masked_bias", ".attn.embed_positions"},
                                   .harmless = harmless};
