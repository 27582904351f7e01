/* Relatives of Llama (llama_like.c) whose layers are scans, all or some. Defaults are the
 * library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#include <math.h>
#include <string.h>

#define MAMBA \
    .form = RECURRENCE_SCAN, .stem = "mixer", .key_size = "state_size", .reach = "conv_kernel", \
    .expand = "expand", .rank = "time_step_rank", .biased = "use_bias", \
    .conv_biased = "use_conv_bias"
static const struct recurrence_layout mamba_scan = {MAMBA, .inner = "intermediate_size"};
static const struct recurrence_layout mamba_ssm1_scan = {MAMBA};
static const struct recurrence_layout falcon_mamba_scan = {MAMBA, .inner = "intermediate_size",
                                                           .bare_epsilon = "mixer_rms_eps"};

/* A model without attention has no heads: one, of any size. */
static int prepare_mamba(struct decoder *d, struct error *e)
{
    json_t *root = config_root(d->config);
    return json_object_set_new(root, "num_attention_heads", json_integer(1)) ||
                   json_object_set_new(root, "head_dim", json_integer(1))
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

#define MAMBA_NAMES(table) \
    { \
        .prefix = "backbone.", .embedding = table, .layers = "layers", .final_norm = "norm_f", \
        .head = "lm_head", .attention_norm = "norm" \
    }
static const struct names older = MAMBA_NAMES("embedding");
#define MAMBA_MODEL(scan) \
    .norm = NORM_RMS, EPSILON("layer_norm_epsilon", 1e-5), ACTIVATION("hidden_act", "silu"), \
    .sized = 1, .tied = 1, .recurrence = &scan, .prepare = prepare_mamba, \
    .names = MAMBA_NAMES("embeddings"), .other_names = &older, \
    .defaults = "{\"vocab_size\": 50280, \"hidden_size\": 768, \"num_hidden_layers\": 32, " \
                "\"state_size\": 16, \"expand\": 2, \"conv_kernel\": 4}"
static const struct layout mamba = {MAMBA_MODEL(mamba_scan)};
static const struct layout falcon_mamba = {MAMBA_MODEL(falcon_mamba_scan)};

/* The keys of the authors' package, mamba_ssm, with its first layer, whose defaults these are; the
 * vocabulary is filled up to a multiple. */
static int prepare_mamba_ssm1(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const char *layer;
    long vocabulary, multiple, inner;
    if (config_string_or(c, "ssm_cfg.layer", "Mamba1", &layer, e))
        return -1;
    if (strcmp(layer, "Mamba1") != 0)
        return fail(e, "%s: ssm_cfg.layer '%s' is not supported (expected Mamba1 or Mamba2)",
                    config_path(c), layer);
    if (config_int(c, "vocab_size", 1, 1 << 25, &vocabulary, e) ||
        config_int(c, "pad_vocab_size_multiple", 1, 1 << 20, &multiple, e) ||
        config_int_or(c, "d_intermediate", 0, 1 << 24, 0, &inner, e) ||
        family_only(d, "rms_norm", 1, 1, e))
        return -1;
    if (inner || json_array_size(config_get(c, "attn_layer_idx")))
        return fail(e,
                    "%s: d_intermediate and attn_layer_idx are not supported (expected a Mamba "
                    "alone in all layers)",
                    config_path(c));
    return json_object_set_new(config_root(c), "vocab_size",
                               json_integer((vocabulary + multiple - 1) / multiple * multiple))
               ? fail_memory(e, 64, "a configuration")
               : prepare_mamba(d, e);
}

static const struct alias of_mamba_ssm1[] = {{"d_model", "hidden_size"},
                                             {"n_layer", "num_hidden_layers"},
                                             {"tie_embeddings", "tie_word_embeddings"},
                                             {"ssm_cfg.d_state", "state_size"},
                                             {"ssm_cfg.d_conv", "conv_kernel"},
                                             {"ssm_cfg.expand", "expand"},
                                             {"ssm_cfg.dt_rank", "time_step_rank"},
                                             {"ssm_cfg.bias", "use_bias"},
                                             {"ssm_cfg.conv_bias", "use_conv_bias"},
                                             {NULL, NULL}};
static const struct layout mamba_ssm1 = {
    .norm = NORM_RMS,
    EPSILON("layer_norm_epsilon", 1e-5),
    ACTIVATION("hidden_act", "silu"),
    .sized = 1,
    .tied = 1,
    .recurrence = &mamba_ssm1_scan,
    .aliases = of_mamba_ssm1,
    .prepare = prepare_mamba_ssm1,
    .names = MAMBA_NAMES("embedding"),
    .defaults = "{\"hidden_size\": 2560, \"num_hidden_layers\": 64, \"vocab_size\": 50277, "
                "\"pad_vocab_size_multiple\": 8, \"state_size\": 16, \"conv_kernel\": 4, "
                "\"expand\": 2}"};

/* Jamba's: scans in most layers, attention without positions in the others; experts in some. */
static const struct recurrence_layout jamba_scan = {.form = RECURRENCE_SCAN,
                                                    .stem = "mamba",
                                                    .key_size = "mamba_d_state",
                                                    .reach = "mamba_d_conv",
                                                    .expand = "mamba_expand",
                                                    .rank = "mamba_dt_rank",
                                                    .norms = {"dt_layernorm", "b_layernorm",
                                                              "c_layernorm"},
                                                    .biased = "mamba_proj_bias",
                                                    .conv_biased = "mamba_conv_bias",
                                                    .attending = "attending_layers"};
static const struct expert_layout jamba_experts = {.count = "num_experts",
                                                   .with = "layers_with_experts",
                                                   .normalised = -2,
                                                   .router = "feed_forward.router",
                                                   .parent = "feed_forward.experts",
                                                   .gate = "gate_proj",
                                                   .up = "up_proj",
                                                   .down = "down_proj",
                                                   .gate_up = {"feed_forward.experts.gate_up_proj"},
                                                   .stacked_down = {
                                                       "feed_forward.experts.down_proj"}};

/* A list, at `key`, of the layers l with l % period = offset, by two keys with defaults. */
static int list_layers(struct decoder *d, const char *key, const char *period_key,
                       const char *offset_key, long layers, struct error *e)
{
    struct config *c = d->config;
    json_t *list;
    long period, offset;
    if (config_int(c, period_key, 1, 10000, &period, e) ||
        config_int(c, offset_key, 0, 10000, &offset, e))
        return -1;
    if (offset >= period)
        return fail(e, "%s: %s %ld is not below %s %ld", config_path(c), offset_key, offset,
                    period_key, period);
    if (!(list = json_array()))
        return fail_memory(e, 64, "a configuration");
    for (long l = offset; l < layers; l += period)
        json_array_append_new(list, json_integer(l));
    return json_object_set_new(config_root(c), key, list) ? fail_memory(e, 64, "a configuration")
                                                          : 0;
}

static int prepare_jamba(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long layers, experts;
    if (config_int(c, "num_hidden_layers", 1, 10000, &layers, e) ||
        config_int(c, "num_experts", 1, EXPERTS_MOST, &experts, e) ||
        list_layers(d, "attending_layers", "attn_layer_period", "attn_layer_offset", layers, e) ||
        list_layers(d, "layers_with_experts", "expert_layer_period", "expert_layer_offset", layers,
                    e))
        return -1;
    if (experts == 1 && json_object_set_new(config_root(c), "num_experts", json_integer(0)))
        return fail_memory(e, 64, "a configuration");
    return 0;
}

static const struct alias of_jamba[] = {{"num_local_experts", "num_experts"}, {NULL, NULL}};
static const struct layout jamba = {
    LLAMA(1e-6),
    .names = {.prefix = "model.",
              .embedding = "embed_tokens",
              .layers = "layers",
              .final_norm = "final_layernorm",
              .head = "lm_head",
              .attention_norm = "input_layernorm",
              .mlp_norm = "pre_ff_layernorm",
              SPLIT,
              OUTPUT,
              .gate = "feed_forward.gate_proj",
              .up = "feed_forward.up_proj",
              .down = "feed_forward.down_proj"},
    ACTIVATION("hidden_act", "silu"),
    .recurrence = &jamba_scan,
    .experts = &jamba_experts,
    .experts_key = "num_experts",
    .aliases = of_jamba,
    .prepare = prepare_jamba,
    .defaults = "{\"vocab_size\": 65536, \"hidden_size\": 4096, \"intermediate_size\": 14336, "
                "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
                "\"num_key_value_heads\": 8, \"max_position_embeddings\": 262144, "
                "\"num_experts\": 16, \"num_experts_per_tok\": 2, \"expert_layer_period\": 2, "
                "\"expert_layer_offset\": 1, \"attn_layer_period\": 8, \"attn_layer_offset\": 4, "
                "\"mamba_d_state\": 16, \"mamba_d_conv\": 4, \"mamba_expand\": 2}"};

/* RecurrentGemma's: linear recurrent units in most layers, attention with a window in the others,
 * in one order again and again. */
static const struct recurrence_layout griffin = {.form = RECURRENCE_LRU,
                                                 .stem = "temporal_block",
                                                 .inner = "lru_width",
                                                 .reach = "conv1d_width",
                                                 .typed = 1,
                                                 .windowed = 1};

/* What the library makes of its keys: kinds of all layers, the window's usual key, and the width of
 * the MLP, half of what is stated. */
static int prepare_recurrent_gemma(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *root = config_root(c), *order = config_get(c, "block_types"), *kinds;
    long layers, inner, window;
    int bad = 0;
    if (config_int(c, "num_hidden_layers", 1, 10000, &layers, e) ||
        config_int(c, "intermediate_size", 2, 1 << 25, &inner, e) ||
        config_int(c, family_either(d, "sliding_window", "attention_window_size"), 1, 1 << 30,
                   &window, e))
        return -1;
    if (config_has(c, "layer_types") || config_has(c, "layers_block_type"))
        return fail(e,
                    "%s: layer_types and layers_block_type are not supported in a "
                    "recurrent_gemma model (expected block_types)",
                    config_path(c));
    if (!json_array_size(order))
        return fail(e, "%s: block_types is not a list of recurrent and attention", config_path(c));
    if (!(kinds = json_array()))
        return fail_memory(e, 64, "a configuration");
    for (size_t l = 0; l < (size_t)layers; l++) {
        size_t i = l % json_array_size(order);
        const char *name = json_string_value(json_array_get(order, i));
        if (!name || (strcmp(name, "recurrent") != 0 && strcmp(name, "attention") != 0)) {
            json_decref(kinds);
            return fail(e,
                        "%s: block_types, entry %zu: '%s' is not supported (supported: "
                        "recurrent, attention)",
                        config_path(c), i + 1, name ? name : "not a string");
        }
        bad |= json_array_append_new(kinds, json_string(strcmp(name, "recurrent") == 0
                                                            ? "linear_attention"
                                                            : "sliding_attention"));
    }
    bad |= json_object_set_new(root, "layer_types", kinds);
    bad |= json_object_set_new(root, "sliding_window", json_integer(window));
    bad |= json_object_set_new(root, "intermediate_size", json_integer(inner / 2));
    return bad ? fail_memory(e, 64, "a configuration") : 0;
}

/* Whatever the type of the model, the library rounds the factor of embeddings to bfloat16. */
static int finish_recurrent_gemma(struct decoder *d, struct error *e)
{
    d->embedding_scale = element_round(sqrt(d->hidden), ELEMENT_BF16);
    return family_only(d, "embeddings_scale_by_sqrt_dim", 1, 1, e) || /* in published files */
                   config_real_or(d->config, "logits_soft_cap", 1e-6, 1e6, 30, &d->head_soft_cap, e)
               ? -1
               : 0;
}

static const struct layout recurrent_gemma = {
    LLAMA(1e-6),
    .names = {.prefix = "model.",
              .embedding = "embed_tokens",
              .layers = "layers",
              .final_norm = "final_norm",
              .head = "lm_head",
              .attention_norm = "temporal_pre_norm",
              .mlp_norm = "channel_pre_norm",
              .query = "temporal_block.q_proj",
              .key = "temporal_block.k_proj",
              .value = "temporal_block.v_proj",
              .output = "temporal_block.o_proj",
              .gate = "mlp_block.gate_proj",
              .up = "mlp_block.up_proj",
              .down = "mlp_block.down_proj"},
    .norm_offset = 1,
    .tied = 1,
    ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    BIASES(KEY("attention_bias"), YES, YES),
    .rope = {.theta = "rope_theta",
             .fraction = "partial_rotary_factor",
             .fraction_default = 0.5,
             .unscaled = 1},
    .windows = WINDOWS_NAMED,
    .recurrence = &griffin,
    .prepare = prepare_recurrent_gemma,
    .finish = finish_recurrent_gemma,
    .defaults = "{\"num_hidden_layers\": 26, \"vocab_size\": 256000, \"hidden_size\": 2560, "
                "\"intermediate_size\": 7680, \"num_attention_heads\": 10, "
                "\"attention_window_size\": 2048, \"conv1d_width\": 4, "
                "\"block_types\": [\"recurrent\", \"recurrent\", \"attention\"]}"};

/* Keys of the initial weights and of how the library computes. */
static const char *const mamba_harmless[] = {"number_of_conv_states",
                                             "num_attention_heads",
                                             "rescale_prenorm_residual",
                                             "residual_in_fp32",
                                             "time_step_floor",
                                             "time_step_init_scheme",
                                             "time_step_max",
                                             "time_step_min",
                                             "time_step_scale",
                                             "use_associative_scan",
                                             "use_falcon_mambapy",
                                             "use_mambapy",
                                             NULL};
static const char *const mamba_ssm1_harmless[] = {"attn_cfg",
                                                  "fused_add_norm",
                                                  "num_attention_heads",
                                                  "residual_in_fp32",
                                                  "ssm_cfg.dt_init",
                                                  "ssm_cfg.dt_init_floor",
                                                  "ssm_cfg.dt_max",
                                                  "ssm_cfg.dt_min",
                                                  "ssm_cfg.dt_scale",
                                                  "ssm_cfg.use_fast_path",
                                                  NULL};
static const char *const jamba_harmless[] = {
    "max_position_embeddings", "num_experts_per_tok", /* this and the next, without experts */
    "layers_with_experts",     "output_router_logits",  "router_aux_loss_coef",
    "num_logits_to_keep",      "number_of_conv_states", "use_associative_scan",
    "use_mamba_kernels",       "use_mambapy",           NULL};
/* Without a scaling the library does not read these. */
#define SCALING(root) \
    root ".attention_factor", root ".beta_fast", root ".beta_slow", root ".factor", \
        root ".high_freq_factor", root ".low_freq_factor", root ".mscale", root ".mscale_all_dim", \
        root ".original_max_position_embeddings", root ".truncate"
static const char *const recurrent_gemma_harmless[] = {"_block_types",
                                                       "final_w_init_variance_scale",
                                                       "init_std",
                                                       "initializer_factor",
                                                       "number_of_conv_states",
                                                       "original_max_position_embeddings",
                                                       "text_encoder",
                                                       "w_init_variance_scale",
                                                       SCALING("rope_parameters"),
                                                       SCALING("rope_scaling"),
                                                       NULL};
static const char *const recurrent_gemma_null[] = {"num_key_value_heads", "lru_width", NULL};
static const char *const jamba_null[] = {"num_key_value_heads", NULL};

const struct family families_scans[] = {{ROW(mamba), .harmless = mamba_harmless},
                                        {ROW(falcon_mamba), .harmless = mamba_harmless},
                                        {ROW(mamba_ssm1), .harmless = mamba_ssm1_harmless},
                                        {ROW(jamba), .harmless = jamba_harmless,
                                         .nullable = jamba_null},
                                        {ROW(recurrent_gemma), .harmless = recurrent_gemma_harmless,
                                         .nullable = recurrent_gemma_null},
                                        {.name = NULL}};
