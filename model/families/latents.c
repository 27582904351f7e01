/* Relatives of Llama with latents (latent_layout.h), with and without experts. Defaults are the
 * library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#include <stdio.h>
#include <string.h>

/* Keys that published files have and their code reads, and of which the library knows one value. */
struct fixed {
    const char *key, *text; /* text NULL: a number */
    long number;
};

static int read_fixed(struct decoder *d, const struct fixed *fixed, struct error *e)
{
    struct config *c = d->config;
    for (; fixed->key; fixed++) {
        const char *text = fixed->text;
        long number = fixed->number;
        if (fixed->text
                ? config_string_or(c, fixed->key, fixed->text, &text, e)
                : config_int_or(c, fixed->key, -1000000, 1000000, fixed->number, &number, e))
            return -1;
        if (text && strcmp(text, fixed->text) != 0)
            return fail(e, "%s: %s '%s' is not supported in a %s model (expected '%s')",
                        config_path(c), fixed->key, text, d->family, fixed->text);
        if (number != fixed->number)
            return fail(e, "%s: %s %ld is not supported in a %s model (expected %ld)",
                        config_path(c), fixed->key, number, d->family, fixed->number);
    }
    return 0;
}

static int finish_deepseek_v2(struct decoder *d, struct error *e)
{
    static const struct fixed fixed[] = {{"scoring_func", "softmax", 0},
                                         {"moe_layer_freq", NULL, 1},
                                         {NULL, NULL, 0}};
    return read_fixed(d, fixed, e);
}

/* Layers behind the model's own, for the next tokens, are skipped. */
static int finish_deepseek_v3(struct decoder *d, struct error *e)
{
    static const struct fixed fixed[] = {{"scoring_func", "sigmoid", 0},
                                         {"topk_method", "noaux_tc", 0},
                                         {"moe_layer_freq", NULL, 1},
                                         {NULL, NULL, 0}};
    return read_fixed(d, fixed, e) ? -1 : skip_next_layers(d, 1, e);
}

static int finish_glm4_moe_lite(struct decoder *d, struct error *e)
{
    static const struct fixed fixed[] = {{"first_k_dense_replace", NULL, 1},
                                         {"topk_method", "noaux_tc", 0},
                                         {NULL, NULL, 0}};
    return read_fixed(d, fixed, e) ? -1 : skip_next_layers(d, 1, e);
}

/* The library makes the embedding of padding zero as it loads a file. */
static int finish_youtu(struct decoder *d, struct error *e)
{
    long padding;
    if (config_int_or(d->config, "pad_token_id", 0, 1 << 30, d->vocabulary, &padding, e))
        return -1;
    if (padding < d->vocabulary)
        family_note(d,
                    "transformers makes the embedding of pad_token_id %ld zero as it loads such a "
                    "model; here it is what the file has",
                    padding);
    return 0;
}

/* With at most index_topk inputs a query sees all keys, whatever the indexer says. */
static int finish_indexed(struct decoder *d, struct error *e)
{
    long most;
    if (config_int_or(d->config, "index_topk", 1, 1 << 30, 2048, &most, e))
        return -1;
    d->key_limit = (int)most;
    return finish_deepseek_v3(d, e);
}

/* A norm after the MLP of layers with experts; files have one in the others too, without use. */
static int finish_axk1(struct decoder *d, struct error *e)
{
    static const struct fixed fixed[] = {{"scoring_func", "sigmoid", 0},
                                         {"moe_layer_freq", NULL, 1},
                                         {NULL, NULL, 0}};
    const char *prefix = family_prefix(d, "model.", "embed_tokens.weight");
    static const char *const names[] = {"post_mlp_layernorm", "mlp.post_mlp_layernorm"};
    if (read_fixed(d, fixed, e))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        int inside = family_has(d, "%slayers.%d.%s.weight", prefix, l, names[1]);
        if (!b->experts.routing.experts)
            family_ignore(d, "%slayers.%d.%s.weight", prefix, l, names[inside]);
        else if (family_norm(&b->mlp_post_norm, d, NORM_RMS, b->mlp_norm.epsilon, 0, e,
                             "%slayers.%d.%s", prefix, l, names[inside]))
            return -1;
    }
    return 0;
}

#define LATENT(epsilon) .norm = NORM_RMS, EPSILON("rms_norm_eps", epsilon)
#define LATENT_NAMES LLAMA_FRAME, NORM_BEFORE_MLP, OUTPUT, GATED
#define ROUTED \
    .count = "n_routed_experts", .width = "moe_intermediate_size", \
    .shared_count = "n_shared_experts", .factor = "routed_scaling_factor", .router = "mlp.gate", \
    .parent = "mlp.experts", .gate = "gate_proj", .up = "up_proj", .down = "down_proj", \
    .gate_up = {"mlp.experts.gate_up_proj"}, .stacked_down = {"mlp.experts.down_proj"}, \
    .shared = "mlp.shared_experts"
#define BY_SIGMA \
    .older_count = "num_local_experts", .scoring = SCORING_SIGMOID, .by_groups = 1, \
    .normalised = 1, .shared_absent = 1, .correction = "mlp.gate.e_score_correction_bias"

static const struct latent_layout deepseek_latent = {512, 1536, 128, 64, 128, PAIRS_BY_KEY, 0, 0};
static const struct latent_layout deepseek_v2_latent = {512, 1536, 128, 64, 128, PAIRS_NEIGHBOURS,
                                                        0,   0};
static const struct latent_layout glm4_moe_lite_latent = {512, 768,          192, 64,
                                                          256, PAIRS_BY_KEY, 0,   0};
static const struct latent_layout glm_moe_dsa_latent = {512, 2048, 192, 64, 256, PAIRS_NEIGHBOURS,
                                                        0,   0};
static const struct latent_layout minicpm3_latent = {256, 768, 64, 32, 0, PAIRS_HALVES, 0, 0};
static const struct latent_layout mistral4_latent = {256, 1024, 64, 64, 128, PAIRS_BY_KEY, 1, 0};
static const struct latent_layout sarvam_mla_latent = {512, 0, 128, 64, 128, PAIRS_BY_KEY, 0, 1};

static const struct expert_layout deepseek_v2_experts = {ROUTED,
                                                         .older_count = "num_experts",
                                                         .first_dense = "first_k_dense_replace",
                                                         .shared_absent = 2,
                                                         .factor_absent = 1,
                                                         .group_methods = 1,
                                                         .normalised = -2};
static const struct expert_layout deepseek_v3_experts = {ROUTED,
                                                         BY_SIGMA,
                                                         .first_dense = "first_k_dense_replace",
                                                         .dense_absent = 3,
                                                         .groups_absent = 8,
                                                         .chosen_groups_absent = 4,
                                                         .factor_absent = 2.5};
static const struct expert_layout glm4_moe_lite_experts = {ROUTED, BY_SIGMA, .dense_absent = 1,
                                                           .listed = 1, .factor_absent = 1.8};
static const struct expert_layout axk1_experts = {ROUTED,
                                                  BY_SIGMA,
                                                  .first_dense = "first_k_dense_replace",
                                                  .dense_absent = 1,
                                                  .listed = 1,
                                                  .groups_absent = 8,
                                                  .chosen_groups_absent = 4,
                                                  .factor_absent = 2.5,
                                                  .correction_optional = 1};
static const struct expert_layout deepseek_v32_experts = {ROUTED,
                                                          BY_SIGMA,
                                                          .first_dense = "first_k_dense_replace",
                                                          .dense_absent = 3,
                                                          .listed = 1,
                                                          .groups_absent = 8,
                                                          .chosen_groups_absent = 4,
                                                          .factor_absent = 2.5};
static const struct expert_layout glm_moe_dsa_experts = {ROUTED,
                                                         BY_SIGMA,
                                                         .first_dense = "first_k_dense_replace",
                                                         .dense_absent = 3,
                                                         .listed = 1,
                                                         .factor_absent = 2.5};
static const struct expert_layout mistral4_experts = {ROUTED,
                                                      .older_count = "num_local_experts",
                                                      .first_dense = "first_k_dense_replace",
                                                      .shared_absent = 1,
                                                      .factor_absent = 1,
                                                      .by_groups = 1,
                                                      .normalised = 1};
static const struct expert_layout sarvam_mla_experts = {ROUTED, BY_SIGMA,
                                                        .first_dense = "first_k_dense_replace",
                                                        .dense_absent = 1, .factor_absent = 2.5};

static const struct layout deepseek_v2 = {LATENT(1e-6),
                                          .names = {LATENT_NAMES},
                                          ACTIVATION("hidden_act", "silu"),
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                 KEY("mlp_bias")),
                                          .rope = {ROTARY_WHOLE},
                                          .latent = &deepseek_v2_latent,
                                          .experts = &deepseek_v2_experts,
                                          .finish = finish_deepseek_v2};
static const struct layout deepseek_v3 = {LATENT(1e-6),
                                          .names = {LATENT_NAMES},
                                          ACTIVATION("hidden_act", "silu"),
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                          .rope = {ROTARY_WHOLE},
                                          .latent = &deepseek_latent,
                                          .experts = &deepseek_v3_experts,
                                          .finish = finish_deepseek_v3};
static const struct layout glm4_moe_lite = {LATENT(1e-5),
                                            .names = {LATENT_NAMES},
                                            ACTIVATION("hidden_act", "silu"),
                                            BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                   NO),
                                            .rope = {ROTARY_WHOLE},
                                            .latent = &glm4_moe_lite_latent,
                                            .experts = &glm4_moe_lite_experts,
                                            .finish = finish_glm4_moe_lite};
static const struct layout minicpm3 = {LATENT(1e-5),
                                       .names = {LATENT_NAMES},
                                       ACTIVATION("hidden_act", "silu"),
                                       BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                              KEY("mlp_bias")),
                                       .rope = {ROTARY_WHOLE},
                                       .tied = 1,
                                       .latent = &minicpm3_latent,
                                       .finish = finish_minicpm3};
static const struct layout mistral4 = {LATENT(1e-6),
                                       .names = {LATENT_NAMES},
                                       ACTIVATION("hidden_act", "silu"),
                                       BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                       .rope = {ROTARY_PART(1), .required = 1},
                                       .latent = &mistral4_latent,
                                       .experts = &mistral4_experts,
                                       .finish = finish_ministral3};
static const struct alias of_sarvam[] = {{"num_experts", "n_routed_experts"},
                                         {"num_shared_experts", "n_shared_experts"},
                                         {NULL, NULL}};
static const struct layout sarvam_mla = {LATENT(1e-6),
                                         .names = {LATENT_NAMES},
                                         ACTIVATION("hidden_act", "silu"),
                                         BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                         .rope = {ROTARY_WHOLE, .yarn = "deepseek_yarn"},
                                         .aliases = of_sarvam,
                                         .latent = &sarvam_mla_latent,
                                         .experts = &sarvam_mla_experts,
                                         .finish = finish_deepseek_v3};
static const struct layout youtu = {LATENT(1e-6),
                                    .names = {LATENT_NAMES},
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .tied = 1,
                                    .latent = &deepseek_latent,
                                    .finish = finish_youtu};

static const struct layout axk1 = {LATENT(1e-6),
                                   .names = {LATENT_NAMES},
                                   ACTIVATION("hidden_act", "silu"),
                                   BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                   .rope = {ROTARY_WHOLE},
                                   .latent = &deepseek_latent,
                                   .experts = &axk1_experts,
                                   .finish = finish_axk1};
static const struct alias of_indexed[] = {{"num_experts", "n_routed_experts"}, {NULL, NULL}};
static const struct layout deepseek_v32 = {LATENT(1e-6),
                                           .names = {LATENT_NAMES},
                                           ACTIVATION("hidden_act", "silu"),
                                           BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                           .rope = {ROTARY_WHOLE},
                                           .aliases = of_indexed,
                                           .latent = &deepseek_v2_latent,
                                           .experts = &deepseek_v32_experts,
                                           .finish = finish_indexed};
static const struct layout glm_moe_dsa = {LATENT(1e-5),
                                          .names = {LATENT_NAMES},
                                          ACTIVATION("hidden_act", "silu"),
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                          .rope = {ROTARY_WHOLE},
                                          .aliases = of_indexed,
                                          .latent = &glm_moe_dsa_latent,
                                          .experts = &glm_moe_dsa_experts,
                                          .finish = finish_indexed};

/* about training, and about where experts run */
#define OF_TRAINING "aux_loss_alpha", "ep_size", "output_router_logits", "pretraining_tp", "seq_aux"
static const char *const training[] = {OF_TRAINING, NULL};
static const char *const of_sarvam_mla[] = {OF_TRAINING, "q_head_dim", NULL};
static const char *const of_youtu[] = {"embedding_initializer_range", "pretraining_tp", NULL};
/* of the indexer, which is not run */
static const char *const of_indexers[] = {OF_TRAINING,
                                          "index_head_dim",
                                          "index_n_heads",
                                          "index_skip_topk_offset",
                                          "index_topk_freq",
                                          "index_topk_pattern",
                                          "indexer_types",
                                          "mlp_bias",
                                          NULL};
static const char *const with_query[] = {"mlp_layer_types", "num_key_value_heads",
                                         "partial_rotary_factor", "head_dim", NULL};
static const char *const sized[] = {"mlp_layer_types", "num_key_value_heads",
                                    "partial_rotary_factor", NULL};
static const char *const no_query[] = {"q_lora_rank", "num_key_value_heads",
                                       "partial_rotary_factor", "head_dim", NULL};
static const char *const of_methods[] = {
    "n_group",  "topk_group", "q_lora_rank", "num_key_value_heads", "partial_rotary_factor",
    "head_dim", NULL};
static const char *const listed[] = {"mlp_layer_types", "q_lora_rank", "num_key_value_heads",
                                     "partial_rotary_factor", NULL};
static const char *const of_minicpm3[] = {
    "q_lora_rank",           "v_head_dim", "scale_depth", "dim_model_base", "num_key_value_heads",
    "partial_rotary_factor", "head_dim",   NULL};

static const char *const padded[] = {"pad_token_id",          "q_lora_rank", "num_key_value_heads",
                                     "partial_rotary_factor", "head_dim",    NULL};

#define ROW_INDEXED(row) \
    .name = #row, .model_types = {#row}, .layout = &row, \
    .ignored_suffixes = {".rotary_emb.inv_freq", ".indexer.wq_b.weight", \
                         ".indexer.wk.weight",   ".indexer.k_norm.weight", \
                         ".indexer.k_norm.bias", ".indexer.weights_proj.weight"}, \
    .harmless = of_indexers, .nullable = sized

const struct family families_latents[] = {
    {ROW(deepseek_v2), .harmless = training, .nullable = of_methods},
    {.name = "deepseek_v3",
     .model_types = {"deepseek_v3", "kimi_k2"},
     .layout = &deepseek_v3,
     .ignored_suffixes = {".rotary_emb.inv_freq"},
     .harmless = training,
     .nullable = no_query},
    {ROW(glm4_moe_lite), .harmless = training, .nullable = listed},
    {ROW(minicpm3), .harmless = training, .nullable = of_minicpm3},
    {ROW(mistral4), .harmless = training, .nullable = no_query},
    {ROW(sarvam_mla), .harmless = of_sarvam_mla, .nullable = no_query},
    {ROW(axk1), .harmless = training, .nullable = with_query},
    {ROW_INDEXED(deepseek_v32)},
    {ROW_INDEXED(glm_moe_dsa)},
    {ROW(youtu), .harmless = of_youtu, .nullable = padded},
    {.name = NULL}};
