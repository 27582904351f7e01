/* Nemotron-H (NVIDIA 2025): each layer is one part, a Mamba-2, attention without positions, an MLP
 * or experts, with one norm. Defaults are the library's: huggingface/transformers,
 * models/nemotron_h. */
#include "model/families/rows.h"

#include <string.h>

/* The kinds of layers that a pattern such as "M*-E" names; NULL on failure. */
static json_t *kinds_of_pattern(const char *pattern, const struct decoder *d, struct error *e)
{
    static const struct kind {
        char letter;
        const char *name;
    } kinds[] = {
        {'M', "linear_attention"}, {'*', "full_attention"}, {'-', "mlp"}, {'E', "moe"}, {0, NULL}};
    json_t *list = json_array();
    if (!list)
        fail_memory(e, 64, "a configuration");
    for (const char *at = pattern; list && *at; at++) {
        const struct kind *kind = kinds;
        while (kind->letter && kind->letter != *at)
            kind++;
        if (kind->letter && json_array_append_new(list, json_string(kind->name)) == 0)
            continue;
        fail(e, "%s: hybrid_override_pattern, layer %d is '%c' (expected M, *, - or E)",
             config_path(d->config), (int)(at - pattern) + 1, *at);
        json_decref(list);
        return NULL;
    }
    return list;
}

/* mlp_layer_types of layer_types, and no experts if no layer has any. */
static int state_experts(struct decoder *d, const json_t *kinds, struct error *e)
{
    json_t *root = config_root(d->config), *sparse = json_array();
    int experts = 0, bad = 0;
    for (size_t l = 0; l < json_array_size(kinds); l++) {
        const char *kind = json_string_value(json_array_get(kinds, l));
        int here = kind && strcmp(kind, "moe") == 0;
        experts |= here;
        bad |= json_array_append_new(sparse, json_string(here ? "sparse" : "dense"));
    }
    bad |= json_object_set_new(root, "mlp_layer_types", sparse);
    if (!experts)
        bad |= json_object_set_new(root, "n_routed_experts", json_integer(0));
    return bad ? fail_memory(e, 64, "a configuration") : 0;
}

/* The number of layers and their kinds, from layer_types or else a pattern. */
static int prepare_nemotron_h(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *root = config_root(c), *kinds = config_get(c, "layer_types");
    const char *pattern;
    long stated;
    if (config_string_or(c, "hybrid_override_pattern", "ME*-", &pattern, e))
        return -1;
    if (!kinds) {
        if (!(kinds = kinds_of_pattern(pattern, d, e)))
            return -1;
        if (json_object_set_new(root, "layer_types", kinds))
            return fail_memory(e, 64, "a configuration");
    }
    long count = (long)json_array_size(kinds);
    if (config_int_or(c, "num_hidden_layers", 0, 1 << 24, count, &stated, e))
        return -1;
    if (stated != count)
        return fail(e,
                    "%s: num_hidden_layers is %ld (expected %ld, as many as layers_block_type or "
                    "hybrid_override_pattern has)",
                    config_path(c), stated, count);
    return json_object_set_new(root, "num_hidden_layers", json_integer(count))
               ? fail_memory(e, 64, "a configuration")
               : state_experts(d, kinds, e);
}

/* The library leaves out two kinds of biases, whatever the file says; without a width of the shared
 * expert it takes that of MLPs. Its least step is time_step_min, that of the models' own code
 * time_step_limit's. */
static int finish_nemotron_h(struct decoder *d, struct error *e)
{
    double least = 0;
    long shared;
    for (int l = 0; l < d->layers; l++)
        if (block_recurs(&d->blocks[l]))
            least = d->blocks[l].mixer.recurrence.low;
    if (least > 0)
        family_note(d,
                    "steps of recurrences are at least time_step_min %g, as in transformers (the "
                    "models' own code goes by time_step_limit)",
                    least);
    if (family_only(d, "attention_bias", 0, 0, e) || family_only(d, "mamba_proj_bias", 0, 0, e) ||
        config_int_or(d->config, "moe_shared_expert_intermediate_size", 1, 1 << 24, 7688, &shared,
                      e))
        return -1;
    skip_mtp(d);
    return 0;
}

static const struct recurrence_layout recurrence = {.form = RECURRENCE_MAMBA,
                                                    .stem = "mixer",
                                                    .heads = "mamba_num_heads",
                                                    .key_heads = "n_groups",
                                                    .key_size = "ssm_state_size",
                                                    .value_size = "mamba_head_dim",
                                                    .reach = "conv_kernel",
                                                    .biased = "use_bias",
                                                    .conv_biased = "use_conv_bias",
                                                    .least = "time_step_min",
                                                    .activation = "mamba_hidden_act",
                                                    .typed = 1,
                                                    .unmixed = 1};
static const struct expert_layout experts = {BY_GROUPS,
                                             .factor_absent = 1,
                                             .count = "n_routed_experts",
                                             .width = "moe_intermediate_size",
                                             .shared_width = "moe_shared_expert_intermediate_size",
                                             .shared_absent = 7688,
                                             .shared = "mixer.shared_experts",
                                             .latent = "moe_latent_size",
                                             .in = "mixer.fc1_latent_proj",
                                             .out = "mixer.fc2_latent_proj",
                                             .listed = 1,
                                             .normalised = 1,
                                             .router = "mixer.gate",
                                             .correction = "mixer.gate.e_score_correction_bias",
                                             .parent = "mixer.experts",
                                             .up = "up_proj",
                                             .down = "down_proj",
                                             .gate_up = {"mixer.experts.up_proj"},
                                             .stacked_down = {"mixer.experts.down_proj"},
                                             .ungated = 1};

#define NAMES \
    .embedding = "embeddings", .layers = "layers", .final_norm = "norm_f", .head = "lm_head", \
    .attention_norm = "norm", .mlp_norm = "norm", .query = "mixer.q_proj", .key = "mixer.k_proj", \
    .value = "mixer.v_proj", .output = "mixer.o_proj", .up = "mixer.up_proj", \
    .down = "mixer.down_proj"
static const struct names in_memory = {.prefix = "model.", NAMES};

/* The other names of keys, most of them in older files. */
static const struct alias aliases[] = {{"layers_block_type", "layer_types"},
                                       {"num_local_experts", "n_routed_experts"},
                                       {"mamba_n_groups", "n_groups"},
                                       {"mamba_d_conv", "conv_kernel"},
                                       {"mamba_dt_min", "time_step_min"},
                                       {"mamba_conv_bias", "use_conv_bias"},
                                       {NULL, NULL}};
static const struct layout nemotron_h = {
    .norm = NORM_RMS,
    EPSILON("layer_norm_epsilon", 1e-5),
    .grouped = 1,
    .sized = 1,
    .head_size_absent = 128,
    .one_part = 1,
    .names = {.prefix = "backbone.", NAMES},
    .other_names = &in_memory,
    ACTIVATION("mlp_hidden_act", "relu2"),
    BIASES(NO, NO, KEY("mlp_bias")),
    .recurrence = &recurrence,
    .experts = &experts,
    .experts_key = "n_routed_experts",
    .aliases = aliases,
    .prepare = prepare_nemotron_h,
    .defaults = "{\"vocab_size\": 131072, \"hidden_size\": 4096, \"intermediate_size\": 21504, "
                "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
                "\"mamba_num_heads\": 128, \"mamba_head_dim\": 64, \"ssm_state_size\": 128, "
                "\"n_groups\": 8, \"conv_kernel\": 4, \"n_routed_experts\": 8, "
                "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 7688, "
                "\"max_position_embeddings\": 4096}",
    .finish = finish_nemotron_h};

/* Keys of the initial weights, of how the library computes, of layers for next tokens, of experts
 * where no layer has any, and of published files alone. */
static const char *const harmless[] = {"attention_head_dim",
                                       "chunk_size",
                                       "expand",
                                       "mamba_chunk_size",
                                       "mamba_dt_init_floor",
                                       "mamba_dt_limit",
                                       "mamba_dt_max",
                                       "mamba_expand",
                                       "mamba_ssm_cache_dtype",
                                       "max_position_embeddings",
                                       "moe_intermediate_size",
                                       "moe_latent_size",
                                       "moe_shared_expert_overlap",
                                       "mtp_hybrid_override_pattern",
                                       "mtp_layers_block_type",
                                       "n_group",
                                       "n_shared_experts",
                                       "norm_eps",
                                       "norm_topk_prob",
                                       "num_experts_per_tok",
                                       "num_logits_to_keep",
                                       "num_nextn_predict_layers",
                                       "num_query_groups",
                                       "number_of_conv_states",
                                       "output_router_logits",
                                       "partial_rotary_factor",
                                       "rescale_prenorm_residual",
                                       "residual_in_fp32",
                                       "rms_norm_eps",
                                       "rope_theta",
                                       "routed_scaling_factor",
                                       "time_step_floor",
                                       "time_step_limit",
                                       "time_step_max",
                                       "time_step_rank",
                                       "topk_group",
                                       "use_mamba_kernels",
                                       NULL};
static const char *const nullable[] = {"hybrid_override_pattern", "layers_block_type",
                                       "moe_latent_size", NULL};

const struct family families_nemotron_h[] = {{ROW(nemotron_h), .harmless = harmless,
                                              .nullable = nullable},
                                             {.name = NULL}};
