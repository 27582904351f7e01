/* Relatives of Llama (llama_like.c) whose layers are recurrences, all or some. Defaults are the
 * library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#include <math.h>
#include <string.h>

static const struct recurrence_layout mamba2_recurrence = {.form = RECURRENCE_MAMBA,
                                                           .stem = "mixer",
                                                           .heads = "num_heads",
                                                           .key_heads = "n_groups",
                                                           .key_size = "state_size",
                                                           .value_size = "head_dim",
                                                           .reach = "conv_kernel",
                                                           .expand = "expand",
                                                           .biased = "use_bias",
                                                           .conv_biased = "use_conv_bias",
                                                           .limits = "time_step_limit"};

/* Qwen's: the delta rule in most layers, and between them attention whose output is gated. */
#define DELTA(packing) \
    .form = packing, .stem = "linear_attn", .heads = "linear_num_value_heads", \
    .key_heads = "linear_num_key_heads", .key_size = "linear_key_head_dim", \
    .value_size = "linear_value_head_dim", .reach = "linear_conv_kernel_dim", .typed = 1, \
    .interval = "full_attention_interval"
static const struct recurrence_layout packed_delta = {DELTA(RECURRENCE_DELTA_PACKED)};
static const struct recurrence_layout delta = {DELTA(RECURRENCE_DELTA)};
#define DELTA_DEFAULTS \
    "\"linear_num_value_heads\": 32, \"linear_num_key_heads\": 16, \"linear_key_head_dim\": 128, " \
    "\"linear_value_head_dim\": 128, \"linear_conv_kernel_dim\": 4"
#define QWEN_DELTA \
    LLAMA(1e-6), .names = {LLAMA_NAMES, QK_NORMS}, .head_norms = YES, .norm_offset = 1, \
                 .head_size_absent = 256, ACTIVATION("hidden_act", "silu"), \
                 BIASES(KEY("attention_bias"), KEY("attention_bias"), NO), .output_gated = 1, \
                 .finish = finish_delta
#define SHARED_EXPERT \
    .width = "moe_intermediate_size", .shared_width = "shared_expert_intermediate_size", \
    .shared = "mlp.shared_expert", .shared_gated = 1

void skip_mtp(struct decoder *d)
{
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        struct tensor *t = tensors_at(d->tensors, i);
        if (strncmp(t->name, "mtp.", 4) == 0 && !t->merged)
            t->used = 1;
    }
}

/* Gates that published files state and the library always has. */
static int finish_delta(struct decoder *d, struct error *e)
{
    const char *gate;
    if (family_only(d, "attn_output_gate", 1, 1, e) || family_only(d, "linear_use_gate", 1, 1, e) ||
        config_string_or(d->config, "output_gate_type", "swish", &gate, e))
        return -1;
    if (strcmp(gate, "swish") != 0 && strcmp(gate, "silu") != 0)
        return fail(e, "%s: output_gate_type '%s' is not supported (expected swish)",
                    config_path(d->config), gate);
    skip_mtp(d);
    return 0;
}

static const struct expert_layout qwen3_next_experts = {QWEN_EXPERTS, .count = "num_experts",
                                                        SHARED_EXPERT, .normalised = 1,
                                                        SOME_LAYERS};
static const struct expert_layout qwen3_5_experts = {QWEN_EXPERTS, .count = "num_experts",
                                                     SHARED_EXPERT, .normalised = -1};
static const struct layout qwen3_next = {QWEN_DELTA, .rope = {ROTARY_PART(0.25)},
                                         .recurrence = &packed_delta,
                                         .experts = &qwen3_next_experts,
                                         .defaults = "{\"num_key_value_heads\": 2, " DELTA_DEFAULTS
                                                     "}"};
static const struct layout qwen3_5_text = {QWEN_DELTA, .rope = {ROTARY_PART(0.25), .sections = 1},
                                           .recurrence = &delta,
                                           .defaults =
                                               "{\"num_key_value_heads\": 4, " DELTA_DEFAULTS "}"};
static const struct layout qwen3_5_moe_text = {
    QWEN_DELTA, .rope = {ROTARY_PART(0.25), .sections = 1}, .recurrence = &delta,
    .experts = &qwen3_5_experts, /* in every layer: no file has an intermediate_size */
    .defaults = "{\"num_key_value_heads\": 2, \"intermediate_size\": 1, " DELTA_DEFAULTS "}"};

/* Lara's: the delta rule, and between them attention that is turned where it has a window; experts
 * in every layer. */
static const struct recurrence_layout lara_delta = {DELTA(RECURRENCE_DELTA), .windowed = 1};
static const struct expert_layout lara_experts = {QWEN_EXPERTS,
                                                  .count = "num_experts",
                                                  .width = "moe_intermediate_size",
                                                  .shared_width = "shared_expert_intermediate_size",
                                                  .shared_absent = 512,
                                                  .shared = "mlp.shared_expert",
                                                  .normalised = 1};

static int prepare_lara_mini(struct decoder *d, struct error *e)
{
    static const char *const kinds[] = {"linear_attention", "sliding_attention", "linear_attention",
                                        "full_attention", "sliding_attention"};
    const size_t period = sizeof kinds / sizeof *kinds;
    long layers;
    if (config_has(d->config, "layer_types"))
        return 0;
    if (config_int(d->config, "num_hidden_layers", 1, 10000, &layers, e))
        return -1;
    json_t *types = json_array();
    for (size_t l = 0; l < (size_t)layers; l++)
        json_array_append_new(types, json_string(kinds[l % period]));
    return json_object_set_new(config_root(d->config), "layer_types", types)
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

static const struct layout lara_mini = {
    LLAMA(1e-6),
    .names = {LLAMA_NAMES, QK_NORMS},
    .head_norms = YES,
    .head_size_absent = 128,
    .tied = 1,
    ACTIVATION("hidden_act", "silu"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {ROTARY_WHOLE},
    .turned = TURNED_WINDOWS,
    .windows = WINDOWS_NAMED,
    .window_absent = 512,
    .recurrence = &lara_delta,
    .experts = &lara_experts,
    .prepare = prepare_lara_mini,
    .defaults = "{\"vocab_size\": 151936, \"hidden_size\": 1024, \"num_hidden_layers\": 34, "
                "\"num_attention_heads\": 16, \"num_key_value_heads\": 4, "
                "\"intermediate_size\": 1, \"moe_intermediate_size\": 512, \"num_experts\": 128, "
                "\"num_experts_per_tok\": 4, \"max_position_embeddings\": 131072, "
                "\"linear_num_value_heads\": 16, \"linear_num_key_heads\": 8, "
                "\"linear_key_head_dim\": 128, \"linear_value_head_dim\": 128, "
                "\"linear_conv_kernel_dim\": 4}"};

/* OLMo's: the delta rule by matrices of its own for each part, in blocks as Llama's; attention in
 * blocks as OLMo 2's, turned or not. */
static const struct recurrence_layout olmo_delta = {.form = RECURRENCE_DELTA_APART,
                                                    .stem = "linear_attn",
                                                    .heads = "linear_num_value_heads",
                                                    .key_heads = "linear_num_key_heads",
                                                    .key_size = "linear_key_head_dim",
                                                    .value_size = "linear_value_head_dim",
                                                    .reach = "linear_conv_kernel_dim",
                                                    .doubled = "linear_allow_neg_eigval",
                                                    .typed = 1,
                                                    .epsilon = 1e-5};
static const struct layer_norms
    olmo_attending = {.attention_post_norm = {"post_attention_layernorm", "feedforward_layer_norm"},
                      .mlp_post_norm = {"post_feedforward_layernorm"}},
    olmo_recurring = {.attention_norm = {"input_layernorm", "attention_layer_norm"},
                      .mlp_norm = {"post_attention_layernorm", "feedforward_layer_norm"}};

/* What the library makes of absent sizes and kinds of layers. */
static int prepare_olmo_hybrid(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *root = config_root(c);
    long hidden, layers, heads, groups, size;
    if (config_int(c, "hidden_size", 1, 1 << 24, &hidden, e) ||
        config_int(c, "num_hidden_layers", 1, 10000, &layers, e) ||
        config_int(c, "num_attention_heads", 1, 1 << 16, &heads, e) ||
        config_int_or(c, "linear_num_key_heads", 1, 1 << 16, heads, &groups, e) ||
        config_int_or(c, "linear_key_head_dim", 1, RECURRENCE_SIZE_MOST, 3 * hidden / (4 * groups),
                      &size, e))
        return -1;
    const struct {
        const char *key;
        long value;
    } absent[] = {{"linear_num_key_heads", heads},
                  {"linear_num_value_heads", heads},
                  {"linear_key_head_dim", size},
                  {"linear_value_head_dim", 2 * size}};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (!config_has(c, absent[i].key) &&
            json_object_set_new(root, absent[i].key, json_integer(absent[i].value)))
            return fail_memory(e, 64, "a configuration");
    if (config_has(c, "layer_types"))
        return 0;
    json_t *types = json_array();
    for (long l = 0; l < layers; l++)
        json_array_append_new(types, json_string(l % 4 == 3 || (layers < 4 && l == layers - 1)
                                                     ? "full_attention"
                                                     : "linear_attention"));
    return json_object_set_new(root, "layer_types", types) ? fail_memory(e, 64, "a configuration")
                                                           : 0;
}

static const struct layout olmo_hybrid = {LLAMA(1e-6),
                                          .names = {FRAME_WITHOUT_NORM, SPLIT, OUTPUT, GATED,
                                                    QK_NORMS},
                                          .attending = &olmo_attending,
                                          .other_layers = &olmo_recurring,
                                          .head_norms = YES,
                                          .head_norms_of = HEADS_WHOLE,
                                          ACTIVATION("hidden_act", "silu"),
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                          .rope = {ROTARY_WHOLE, .optional = 1},
                                          .recurrence = &olmo_delta,
                                          .prepare = prepare_olmo_hybrid,
                                          .finish = finish_delta,
                                          .defaults = "{\"linear_conv_kernel_dim\": 4}"};

#define MAMBA2(table) \
    .norm = NORM_RMS, EPSILON("layer_norm_epsilon", 1e-5), ACTIVATION("hidden_act", "silu"), \
    .heads = "num_heads", .sized = 1, .recurrence = &mamba2_recurrence, \
    .names = {.prefix = "backbone.", \
              .embedding = table, \
              .layers = "layers", \
              .final_norm = "norm_f", \
              .head = "lm_head", \
              .attention_norm = "norm"}
static const struct layout mamba2 = {
    MAMBA2("embeddings"),
    .defaults = "{\"vocab_size\": 32768, \"hidden_size\": 4096, \"num_hidden_layers\": 64, "
                "\"num_heads\": 128, \"head_dim\": 64, \"state_size\": 128, \"expand\": 2, "
                "\"conv_kernel\": 4, \"n_groups\": 8}"};

/* The keys of the authors' package, mamba_ssm, whose defaults these are; the vocabulary is filled
 * up to a multiple. */
static int prepare_mamba_ssm(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *root = config_root(c);
    const char *layer;
    long vocabulary, multiple, hidden, expand, size, inner;
    if (config_string_or(c, "ssm_cfg.layer", "Mamba1", &layer, e))
        return -1;
    if (strcmp(layer, "Mamba2") != 0)
        return fail(e, "%s: ssm_cfg.layer '%s' is not supported (expected Mamba2)", config_path(c),
                    layer);
    if (config_int(c, "vocab_size", 1, 1 << 25, &vocabulary, e) ||
        config_int(c, "pad_vocab_size_multiple", 1, 1 << 20, &multiple, e) ||
        config_int(c, "hidden_size", 1, 1 << 20, &hidden, e) ||
        config_int(c, "expand", 1, 1024, &expand, e) ||
        config_int(c, "head_dim", 1, RECURRENCE_SIZE_MOST, &size, e) ||
        config_int_or(c, "d_intermediate", 0, 1 << 24, 0, &inner, e) ||
        family_only(d, "rms_norm", 1, 1, e) || family_only(d, "ssm_cfg.rmsnorm", 1, 1, e) ||
        family_only(d, "ssm_cfg.norm_before_gate", 0, 0, e) ||
        family_only(d, "ssm_cfg.D_has_hdim", 0, 0, e))
        return -1;
    if (inner || json_array_size(config_get(c, "attn_layer_idx")) || config_get(c, "ssm_cfg.d_ssm"))
        return fail(e,
                    "%s: d_intermediate, attn_layer_idx and ssm_cfg.d_ssm are not supported "
                    "(expected a Mamba-2 alone in all layers, of the whole width)",
                    config_path(c));
    return json_object_set_new(root, "vocab_size",
                               json_integer((vocabulary + multiple - 1) / multiple * multiple)) ||
                   json_object_set_new(root, "num_heads", json_integer(expand * hidden / size))
               ? fail_memory(e, 64, "a configuration")
               : 0;
}

static const struct alias of_mamba_ssm[] = {{"d_model", "hidden_size"},
                                            {"n_layer", "num_hidden_layers"},
                                            {"tie_embeddings", "tie_word_embeddings"},
                                            {"ssm_cfg.d_state", "state_size"},
                                            {"ssm_cfg.d_conv", "conv_kernel"},
                                            {"ssm_cfg.expand", "expand"},
                                            {"ssm_cfg.headdim", "head_dim"},
                                            {"ssm_cfg.ngroups", "n_groups"},
                                            {"ssm_cfg.bias", "use_bias"},
                                            {"ssm_cfg.conv_bias", "use_conv_bias"},
                                            {"ssm_cfg.dt_limit", "time_step_limit"},
                                            {NULL, NULL}};
static const struct layout mamba_ssm = {
    MAMBA2("embedding"), .aliases = of_mamba_ssm, .prepare = prepare_mamba_ssm, .tied = 1,
    .defaults = "{\"hidden_size\": 2560, \"num_hidden_layers\": 64, \"vocab_size\": 50277, "
                "\"pad_vocab_size_multiple\": 8, \"state_size\": 128, \"conv_kernel\": 4, "
                "\"expand\": 2, \"head_dim\": 64, \"n_groups\": 1}"};

/* Bamba's: a Mamba-2 in most layers, attention in those listed, and an MLP in all. */
#define BAMBA \
    .form = RECURRENCE_MAMBA, .stem = "mamba", .heads = "mamba_n_heads", \
    .key_heads = "mamba_n_groups", .key_size = "mamba_d_state", .value_size = "mamba_d_head", \
    .reach = "mamba_d_conv", .expand = "mamba_expand", .biased = "mamba_proj_bias", \
    .conv_biased = "mamba_conv_bias", .limits = "time_step_limit"
static const struct recurrence_layout bamba_recurrence = {BAMBA, .attending = "attn_layer_indices"};
#define MAMBA_DEFAULTS \
    "\"mamba_n_heads\": 128, \"mamba_n_groups\": 1, \"mamba_d_state\": 256, \"mamba_d_head\": " \
    "\"auto\", \"mamba_d_conv\": 4, \"mamba_expand\": 2"
/* Of Bamba and Falcon H1. */
#define HYBRID \
    LLAMA(1e-5), \
        .names = {.prefix = "model.", \
                  .embedding = "embed_tokens", \
                  .layers = "layers", \
                  .final_norm = "final_layernorm", \
                  .head = "lm_head", \
                  .attention_norm = "input_layernorm", \
                  .mlp_norm = "pre_ff_layernorm", \
                  SPLIT, \
                  OUTPUT, \
                  .gate = "feed_forward.gate_proj", \
                  .up = "feed_forward.up_proj", \
                  .down = "feed_forward.down_proj"}, \
        ACTIVATION("hidden_act", "silu"), \
        BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias"))
static const struct layout bamba = {
    HYBRID,
    .rope = {.theta = "rope_theta", .fraction_default = 0.5}, /* whatever the top level says */
    .recurrence = &bamba_recurrence,
    .defaults = "{\"vocab_size\": 128000, \"hidden_size\": 4096, \"intermediate_size\": 14336, "
                "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
                "\"num_key_value_heads\": 8, \"max_position_embeddings\": 262144, " MAMBA_DEFAULTS
                "}"};

/* Granite's: the same by layer_types, with an MLP in all layers and, if there are any, experts
 * beside it. */
static const struct recurrence_layout granite_recurrence = {BAMBA, .typed = 1};
static const struct expert_layout granite_experts = {
    .count = "num_local_experts",
    .normalised = -1,
    .router = "block_sparse_moe.router.layer",
    .other_router = "block_sparse_moe.router",
    .gate_up = {"block_sparse_moe.input_linear.weight", "block_sparse_moe.experts.gate_up_proj"},
    .stacked_down = {"block_sparse_moe.output_linear.weight", "block_sparse_moe.experts.down_proj"},
    .beside = 1};
static const struct alias of_granite[] = {{"layers_block_type", "layer_types"}, {NULL, NULL}};
static const struct layout granitemoehybrid = {
    LLAMA(1e-6),
    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, .gate_up = "shared_mlp.input_linear",
              .down = "shared_mlp.output_linear"},
    .inner = "shared_intermediate_size",
    ACTIVATION("hidden_act", "silu"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {ROTARY_WHOLE},
    .rope_if = "position_embedding_type",
    .recurrence = &granite_recurrence,
    .experts = &granite_experts,
    .experts_key = "num_local_experts",
    .aliases = of_granite,
    .defaults = "{\"vocab_size\": 32000, \"hidden_size\": 4096, \"intermediate_size\": 11008, "
                "\"shared_intermediate_size\": 1024, \"num_hidden_layers\": 32, "
                "\"num_attention_heads\": 32, \"num_local_experts\": 8, "
                "\"num_experts_per_tok\": 2, \"max_position_embeddings\": 2048, " MAMBA_DEFAULTS
                "}",
    .finish = finish_granite};

static const struct recurrence_layout falcon_h1_recurrence = {.form = RECURRENCE_MAMBA,
                                                              .stem = "mamba",
                                                              .heads = "mamba_n_heads",
                                                              .key_heads = "mamba_n_groups",
                                                              .key_size = "mamba_d_state",
                                                              .value_size = "mamba_d_head",
                                                              .reach = "mamba_d_conv",
                                                              .beside = 1,
                                                              .expand = "mamba_expand",
                                                              .inner = "mamba_d_ssm",
                                                              .biased = "mamba_proj_bias",
                                                              .conv_biased = "mamba_conv_bias",
                                                              .out_biased = "projectors_bias",
                                                              .normed = "mamba_rms_norm",
                                                              .norm_first =
                                                                  "mamba_norm_before_gate",
                                                              .limits = "time_step_limit"};

/* A list of factors; null: ones. */
static int read_factors(double *out, size_t count, struct config *c, const char *key,
                        struct error *e)
{
    const json_t *list = config_get(c, key);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        out[i] = list ? json_number_value(one) : 1;
        if (list && (json_array_size(list) != count || !json_is_number(one) || fabs(out[i]) > 1e6))
            return fail(e, "%s: %s is not a list of %zu numbers", config_path(c), key, count);
    }
    return 0;
}

/* Falcon H1's factors, on rows of matrices: of z, values, keys, queries and steps, in the order of
 * ssm_multipliers. */
static int finish_falcon_h1(struct decoder *d, struct error *e)
{
    static const char *const keys[] = {"embedding_multiplier",    "lm_head_multiplier",
                                       "attention_in_multiplier", "attention_out_multiplier",
                                       "key_multiplier",          "ssm_in_multiplier",
                                       "ssm_out_multiplier"};
    enum { EMBEDDING, HEAD, IN, OUT, KEYS, STATE_IN, STATE_OUT, COUNT };
    double by[COUNT], of[5], mlp[2];
    if (family_only(d, "mamba_use_mlp", 1, 1, e)) /* in published files */
        return -1;
    for (int i = 0; i < COUNT; i++)
        if (config_real_or(d->config, keys[i], -1e6, 1e6, 1, &by[i], e))
            return -1;
    if (read_factors(of, 5, d->config, "ssm_multipliers", e) ||
        read_factors(mlp, 2, d->config, "mlp_multipliers", e))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        struct recurrence_view *v = &b->mixer.recurrence;
        const struct {
            struct linear *of;
            double weight, bias;
        } rows[] = {{&b->query, by[IN], 1},
                    {&b->key, by[IN] * by[KEYS], by[KEYS]},
                    {&b->value, by[IN], 1},
                    {&b->output, by[OUT], by[OUT]},
                    {&v->gate, by[STATE_IN] * of[0], of[0]},
                    {&v->in[2], by[STATE_IN] * of[1], of[1]},
                    {&v->in[1], by[STATE_IN] * of[2], of[2]},
                    {&v->in[0], by[STATE_IN] * of[3], of[3]},
                    {&v->steps[0], by[STATE_IN] * of[4], of[4]},
                    {&v->out, by[STATE_OUT], by[STATE_OUT]},
                    {&b->gate, mlp[0], mlp[0]},
                    {&b->down, mlp[1], mlp[1]}};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (family_multiply(rows[i].of, d, rows[i].weight, rows[i].bias, e))
                return -1;
    }
    d->embedding_scale = by[EMBEDDING];
    return family_scale_logits(d, by[HEAD], e);
}

static const struct layout falcon_h1 = {
    HYBRID, .rope = {ROTARY_WHOLE}, .recurrence = &falcon_h1_recurrence, .finish = finish_falcon_h1,
    .defaults = "{\"vocab_size\": 128000, \"hidden_size\": 4096, \"intermediate_size\": 14336, "
                "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
                "\"num_key_value_heads\": 8, \"mamba_d_ssm\": 1024, \"mamba_n_heads\": 128, "
                "\"mamba_d_head\": \"auto\", \"mamba_n_groups\": 1, \"mamba_d_state\": 256, "
                "\"mamba_d_conv\": 4, \"mamba_expand\": 2}"};

/* Keys of the initial weights, of how the library computes, and of published files alone, which
 * the library does not read: so in these lists. */
static const char *const mamba2_harmless[] = {"chunk_size",
                                              "intermediate_size",
                                              "norm_before_gate",
                                              "number_of_conv_states",
                                              "rescale_prenorm_residual",
                                              "residual_in_fp32",
                                              "rms_norm",
                                              "time_step_floor",
                                              "time_step_init_scheme",
                                              "time_step_max",
                                              "time_step_min",
                                              "time_step_rank",
                                              "time_step_scale",
                                              NULL};

static const char *const mamba_ssm_harmless[] = {"attn_cfg",
                                                 "fused_add_norm",
                                                 "residual_in_fp32",
                                                 "ssm_cfg.A_init_range",
                                                 "ssm_cfg.chunk_size",
                                                 "ssm_cfg.conv_init",
                                                 "ssm_cfg.dt_init_floor",
                                                 "ssm_cfg.dt_max",
                                                 "ssm_cfg.dt_min",
                                                 "ssm_cfg.use_mem_eff_path",
                                                 NULL};
static const char *const mamba_ssm_null[] = {"ssm_cfg.d_ssm", NULL};

static const char *const bamba_harmless[] = {"mamba_chunk_size",      "num_logits_to_keep",
                                             "number_of_conv_states", "z_loss_coefficient",
                                             "partial_rotary_factor", "attn_rotary_emb",
                                             "use_mamba_kernels",     NULL};
static const char *const lists[] = {"attn_layer_indices", NULL};

static const char *const granite_harmless[] = {
    "intermediate_size", /* and the next, without experts */
    "num_experts_per_tok",   "init_method",
    "mamba_chunk_size",      "normalization_function",
    "number_of_conv_states", "output_router_logits",
    "router_aux_loss_coef",  NULL};
static const char *const kinds[] = {"layer_types", "position_embedding_type", NULL};

static const char *const of_qwen[] = {"output_router_logits",  "router_aux_loss_coef",
                                      "number_of_conv_states", "mamba_ssm_dtype",
                                      "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings",
                                      "use_sliding_window",    NULL};
static const char *const of_qwen_dense[] = {"number_of_conv_states",
                                            "mamba_ssm_dtype",
                                            "mlp_only_layers",
                                            "mtp_num_hidden_layers",
                                            "mtp_use_dedicated_embeddings",
                                            NULL};
static const char *const some_layers[] = {"mlp_only_layers", "layer_types", "output_gate_type",
                                          NULL};
static const char *const listed[] = {"layer_types", "output_gate_type", NULL};
static const char *const of_lara[] = {"output_router_logits", "router_aux_loss_coef",
                                      "number_of_conv_states", "intermediate_size", NULL};
static const char *const kinds_of_lara[] = {"layer_types", NULL};

/* Of the initial weights, and what may be null. */
static const char *const of_olmo[] = {"linear_a_log_max",
                                      "linear_a_log_min",
                                      "linear_dt_min",
                                      "linear_dt_init_floor",
                                      "linear_dt_max",
                                      "number_of_conv_states",
                                      NULL};
static const char *const computed[] = {"num_key_value_heads",
                                       "head_dim",
                                       "layer_types",
                                       "linear_key_head_dim",
                                       "linear_num_key_heads",
                                       "linear_num_value_heads",
                                       "linear_value_head_dim",
                                       "rope_theta",
                                       "rope_parameters.rope_theta",
                                       "rope_scaling.rope_theta",
                                       NULL};

static const char *const falcon_h1_harmless[] = {"mamba_chunk_size", "mlp_expansion_factor",
                                                 "num_logits_to_keep", "number_of_conv_states",
                                                 NULL};
static const char *const falcon_h1_null[] = {"num_key_value_heads", "head_dim",
                                             "mamba_d_ssm",         "mlp_multipliers",
                                             "ssm_multipliers",     NULL};

const struct family families_recurrences[] = {
    {ROW(mamba2), .harmless = mamba2_harmless},
    {ROW(mamba_ssm), .harmless = mamba_ssm_harmless, .nullable = mamba_ssm_null},
    {ROW(qwen3_next), .harmless = of_qwen, .nullable = some_layers},
    {ROW(qwen3_5_text), .harmless = of_qwen_dense, .nullable = listed},
    {ROW(qwen3_5_moe_text), .harmless = of_qwen, .nullable = listed},
    {ROW(lara_mini), .harmless = of_lara, .nullable = kinds_of_lara},
    {ROW(bamba), .harmless = bamba_harmless, .nullable = lists},
    {ROW(olmo_hybrid), .harmless = of_olmo, .nullable = computed},
    {ROW(granitemoehybrid), .harmless = granite_harmless, .nullable = kinds},
    {ROW(falcon_h1), .harmless = falcon_h1_harmless, .nullable = falcon_h1_null},
    {.name = NULL}};
