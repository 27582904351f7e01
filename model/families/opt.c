/* OPT: learned positions from row 2 on, separate projections with biases; the 350m model has
 * narrower embeddings between two projections, and its norms after the sums. Source:
 * huggingface/transformers, models/opt. */
#include "model/family.h"

#include <stdio.h>

enum { FIRST_POSITION = 2 }; /* earlier rows belong to padding */

static struct norm_form form_of(size_t width, int affine)
{
    return (struct norm_form){NORM_LAYER, 1e-5, width, affine ? "weight" : NULL,
                              affine ? "bias" : NULL};
}

static int norm(struct norm_view *out, const struct decoder *d, int affine, struct error *e,
                const char *prefix, int layer, const char *name)
{
    return family_norm_named(out, d, form_of((size_t)d->hidden, affine), e, "%slayers.%d.%s",
                             prefix, layer, name);
}

static int read_opt(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads"};
    long inner, limit, narrow;
    int before, biased, affine, removed;
    enum activation activation;
    if (family_sizes(d, &keys, e) || config_int(c, "ffn_dim", 1, 1 << 24, &inner, e) ||
        config_int(c, "max_position_embeddings", 1, 1 << 30, &limit, e) ||
        config_int_or(c, "word_embed_proj_dim", 1, 1 << 20, d->hidden, &narrow, e) ||
        config_bool_or(c, "do_layer_norm_before", 1, &before, e) ||
        config_bool_or(c, "enable_bias", 1, &biased, e) ||
        config_bool_or(c, "layer_norm_elementwise_affine", 1, &affine, e) ||
        config_bool_or(c, "_remove_final_layer_norm", 0, &removed, e) ||
        config_bool_or(c, "tie_word_embeddings", 1, &d->tied, e) ||
        family_activation(&activation, d, "activation_function", "relu", e) ||
        family_bos(d, "bos_token_id", e))
        return -1;
    d->mlp = (int)inner, d->embedding_width = (int)narrow, d->position = POSITION_LEARNED,
    d->position_limit = (int)limit;
    snprintf(d->position_text, sizeof d->position_text, "learned, %ld positions", limit);

    size_t width = (size_t)d->hidden, embedding = (size_t)narrow;
    const char *p = family_prefix(d, "model.decoder.", "embed_tokens.weight");
    p = *p ? p : family_prefix(d, "decoder.", "embed_tokens.weight");
    if (family_embedding(d, embedding, e, "lm_head", "%sembed_tokens.weight", p) ||
        family_matrix(&d->position_rows, d, (size_t)limit + FIRST_POSITION, width, e,
                      "%sembed_positions.weight", p))
        return -1;
    d->position_rows = view_rows(d->position_rows, FIRST_POSITION, (size_t)limit);
    if (narrow != d->hidden &&
        (family_linear(&d->project_in, d, width, embedding, 0, e, "%sproject_in", p) ||
         family_linear(&d->project_out, d, embedding, width, 0, e, "%sproject_out", p)))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (norm(before ? &b->attention_norm : &b->attention_post_norm, d, affine, e, p, l,
                 "self_attn_layer_norm") ||
            family_linear(&b->query, d, width, width, biased, e, "%slayers.%d.self_attn.q_proj", p,
                          l) ||
            family_linear(&b->key, d, width, width, biased, e, "%slayers.%d.self_attn.k_proj", p,
                          l) ||
            family_linear(&b->value, d, width, width, biased, e, "%slayers.%d.self_attn.v_proj", p,
                          l) ||
            family_linear(&b->output, d, width, width, biased, e, "%slayers.%d.self_attn.out_proj",
                          p, l) ||
            norm(before ? &b->mlp_norm : &b->mlp_post_norm, d, affine, e, p, l,
                 "final_layer_norm") ||
            family_linear(&b->up, d, (size_t)inner, width, biased, e, "%slayers.%d.fc1", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, biased, e, "%slayers.%d.fc2", p, l))
            return -1;
        b->activation = activation;
        b->residual = before ? RESIDUAL_SEQUENTIAL : RESIDUAL_POST;
    }
    if (before && !removed &&
        family_norm_named(&d->final_norm, d, form_of(width, affine), e, "%sfinal_layer_norm", p))
        return -1;
    return family_head(d, 0, e, "lm_head");
}

static const char *const harmless[] = {"activation_dropout", "dropout", "init_std", "layerdrop",
                                       NULL};

const struct family family_opt = {.name = "opt",
                                  .model_types = {"opt"},
                                  .read = read_opt,
                                  .harmless = harmless,
                                  .positions = "learned",
                                  .about = "layer norms, MLP without a gate"};
