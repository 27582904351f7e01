/* Relatives of Llama whose layers are the delta rule with decays by channel of the key ("KDA", Kimi
 * Team 2025), and between them attention by way of latents, with experts in most layers. Defaults
 * are the library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#include <string.h>

static int set_integer(struct decoder *d, const char *key, long value, struct error *e)
{
    return json_object_set_new(config_root(d->config), key, json_integer(value))
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

/* Marks the layers that a list has, from 1, in `types`. */
static int name_layers(json_t *types, struct config *c, const char *key, const char *type,
                       struct error *e)
{
    const json_t *list = config_get(c, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t layer = json_integer_value(json_array_get(list, i));
        if (layer < 1 || (size_t)layer > json_array_size(types))
            return fail(e, "%s: %s, entry %zu is not a layer (expected 1 to %zu)", config_path(c),
                        key, i + 1, json_array_size(types));
        json_array_set_new(types, (size_t)layer - 1, json_string(type));
    }
    return 0;
}

/* layer_types where the file has none: by linear_attn_config, which numbers layers from 1, or every
 * fourth but the first attends. */
static int name_types(struct decoder *d, long layers, struct error *e)
{
    static const char attending[] = "linear_attn_config.full_attn_layers",
                      recurring[] = "linear_attn_config.kda_layers";
    struct config *c = d->config;
    int listed = config_has(c, attending) && config_has(c, recurring);
    json_t *types = json_array();
    for (long l = 0; l < layers; l++)
        json_array_append_new(types, listed ? json_null()
                                            : json_string(l && l % 4 == 0 ? "full_attention"
                                                                          : "linear_attention"));
    if (listed && (name_layers(types, c, attending, "full_attention", e) ||
                   name_layers(types, c, recurring, "linear_attention", e))) {
        json_decref(types);
        return -1;
    }
    for (long l = 0; l < layers; l++)
        if (!json_string_value(json_array_get(types, (size_t)l))) {
            json_decref(types);
            return fail(e,
                        "%s: linear_attn_config does not say what layer %ld is (expected it in "
                        "kda_layers or full_attn_layers)",
                        config_path(c), l + 1);
        }
    return json_object_set_new(config_root(c), "layer_types", types)
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

/* What released files say in linear_attn_config. */
static int prepare_kimi_linear(struct decoder *d, struct error *e)
{
    static const struct {
        const char *inner, *key;
        long absent;
    } sizes[] = {{"linear_attn_config.head_dim", "linear_head_dim", 128},
                 {"linear_attn_config.num_heads", "linear_num_heads", 32},
                 {"linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim", 4}};
    long layers, value;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (config_int_or(d->config, sizes[i].key, 1, 1 << 16, sizes[i].absent, &value, e) ||
            config_int_or(d->config, sizes[i].inner, 1, 1 << 16, value, &value, e) ||
            set_integer(d, sizes[i].key, value, e))
            return -1;
    if (config_int(d->config, "num_hidden_layers", 1, 10000, &layers, e))
        return -1;
    return config_has(d->config, "layer_types") ? 0 : name_types(d, layers, e);
}

/* Keys that published files have and their code reads, and of which the library knows one value. */
static int only_text(struct decoder *d, const char *key, const char *only, struct error *e)
{
    const char *text;
    if (config_string_or(d->config, key, only, &text, e))
        return -1;
    return strcmp(text, only) == 0 ? 0
                                   : fail(e, "%s: %s '%s' is not supported (expected '%s')",
                                          config_path(d->config), key, text, only);
}

static int finish_kimi_linear(struct decoder *d, struct error *e)
{
    long frequency;
    if (family_only(d, "mla_use_nope", 1, 1, e) || family_only(d, "use_grouped_topk", 1, 1, e) ||
        only_text(d, "moe_router_activation_func", "sigmoid", e) ||
        config_int_or(d->config, "moe_layer_freq", 1, 1, 1, &frequency, e))
        return -1;
    return skip_next_layers(d, 0, e);
}

/* Sizes that the library takes from those of attention. */
static int prepare_bailing_hybrid(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long heads, size, reach;
    if (config_int(c, "num_attention_heads", 1, 1 << 16, &heads, e) ||
        config_int_or(c, "head_dim", 1, RECURRENCE_SIZE_MOST, 128, &size, e) ||
        config_int_or(c, "short_conv_kernel_size", 1, CONVOLUTION_MOST, 4, &reach, e))
        return -1;
    const struct {
        const char *key;
        long value;
    } absent[] = {{"linear_num_heads", heads},
                  {"linear_head_dim", size},
                  {"linear_conv_kernel_dim", reach}};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (!config_has(c, absent[i].key) && set_integer(d, absent[i].key, absent[i].value, e))
            return -1;
    return 0;
}

static int finish_bailing_hybrid(struct decoder *d, struct error *e)
{
    if (family_only(d, "rope_interleave", 1, 1, e) || family_only(d, "no_kda_lora", 1, 1, e) ||
        family_only(d, "moe_router_enable_expert_bias", 1, 1, e) ||
        family_only(d, "moe_router_enable_routed_scaling", 1, 1, e) ||
        only_text(d, "score_function", "sigmoid", e) ||
        only_text(d, "gated_attention_proj_granularity_type", "head_wise", e))
        return -1;
    return skip_next_layers(d, 1, e);
}

#define CHANNELS(room) \
    .form = RECURRENCE_DELTA_CHANNELS, .stem = room, .heads = "linear_num_heads", \
    .key_heads = "linear_num_heads", .key_size = "linear_head_dim", \
    .value_size = "linear_head_dim", .reach = "linear_conv_kernel_dim", .typed = 1
static const struct recurrence_layout kimi_channels = {CHANNELS("self_attn"), .by_few = 1};
static const struct recurrence_layout bailing_channels = {CHANNELS("attention"),
                                                          .interval = "layer_group_size",
                                                          .interval_absent = 6,
                                                          .bounded = "kda_safe_gate",
                                                          .bound = "kda_lower_bound"};

#define CHOSEN_BY_SIGMA \
    .count = "num_experts", .older_count = "num_local_experts", .width = "moe_intermediate_size", \
    .scoring = SCORING_SIGMOID, .by_groups = 1, .normalised = 1, \
    .shared_count = "n_shared_experts", .shared_absent = 1, .factor = "routed_scaling_factor", \
    .first_dense = "first_k_dense_replace", .listed = 1
static const struct expert_layout kimi_experts = {
    CHOSEN_BY_SIGMA,
    .dense_absent = 1,
    .factor_absent = 2.446,
    .router = "block_sparse_moe.gate",
    .correction = "block_sparse_moe.gate.e_score_correction_bias",
    .parent = "block_sparse_moe.experts",
    .gate = "w1",
    .up = "w3",
    .down = "w2",
    .shared = "block_sparse_moe.shared_experts"};
static const struct expert_layout bailing_experts = {CHOSEN_BY_SIGMA,
                                                     .dense_absent = 2,
                                                     .factor_absent = 2.5,
                                                     .groups_absent = 8,
                                                     .chosen_groups_absent = 4,
                                                     .router = "mlp.gate",
                                                     .correction = "mlp.gate.expert_bias",
                                                     .parent = "mlp.experts",
                                                     .gate = "gate_proj",
                                                     .up = "up_proj",
                                                     .down = "down_proj",
                                                     .shared = "mlp.shared_experts"};

static const struct latent_layout kimi_latent = {512, 0, 128, 64, 128, PAIRS_HALVES, 0, 1};
static const struct latent_layout bailing_latent = {512, 0, 128, 64, 128, PAIRS_NEIGHBOURS, 0, 1};

static const struct alias released[] = {{"model_max_length", "max_position_embeddings"},
                                        {"moe_renormalize", "norm_topk_prob"},
                                        {"num_expert_group", "n_group"},
                                        {"num_experts_per_token", "num_experts_per_tok"},
                                        {"num_shared_experts", "n_shared_experts"},
                                        {NULL, NULL}};

#define HYBRID(epsilon) \
    .norm = NORM_RMS, EPSILON("rms_norm_eps", epsilon), ACTIVATION("hidden_act", "silu"), \
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO), .aliases = released
static const struct layout kimi_linear = {
    HYBRID(1e-5),
    /* the library saves the MLP of layers without experts by the experts' name */
    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, OUTPUT, GATED,
              .other_gate = "block_sparse_moe.gate_proj", .other_up = "block_sparse_moe.up_proj",
              .other_down = "block_sparse_moe.down_proj"},
    .latent = &kimi_latent, .recurrence = &kimi_channels, .experts = &kimi_experts,
    .prepare = prepare_kimi_linear, .finish = finish_kimi_linear};
static const struct layout bailing_hybrid = {HYBRID(1e-6),
                                             .names = {.prefix = "model.",
                                                       .embedding = "word_embeddings",
                                                       .layers = "layers",
                                                       .final_norm = "norm",
                                                       .head = "lm_head",
                                                       .attention_norm = "input_layernorm",
                                                       NORM_BEFORE_MLP,
                                                       .head_gate = "attention.g_proj",
                                                       .output = "attention.dense",
                                                       GATED},
                                             .rope = {ROTARY_WHOLE, .theta_default = 6e6},
                                             .latent = &bailing_latent,
                                             .latent_stem = "attention",
                                             .recurrence = &bailing_channels,
                                             .experts = &bailing_experts,
                                             .prepare = prepare_bailing_hybrid,
                                             .finish = finish_bailing_hybrid};

static const char *const kimi_harmless[] = {"max_position_embeddings",
                                            "number_of_conv_states",
                                            "output_router_logits",
                                            "pretraining_tp",
                                            "rope_parameters", /* and the next: nothing turns */
                                            "rope_scaling",
                                            "rope_theta",
                                            NULL};
static const char *const bailing_harmless[] = {"mtp_loss_scaling_factor", "number_of_conv_states",
                                               "output_router_logits", "pretraining_tp", NULL};
static const char *const may_be_null[] = {"layer_types",         "mlp_layer_types",
                                          "num_key_value_heads", "partial_rotary_factor",
                                          "q_lora_rank",         "rope_scaling",
                                          "rope_parameters",     NULL};

const struct family families_kimi_linear[] = {{ROW(kimi_linear), .harmless = kimi_harmless,
                                               .nullable = may_be_null},
                                              {ROW(bailing_hybrid), .harmless = bailing_harmless,
                                               .nullable = may_be_null},
                                              {.name = NULL}};
