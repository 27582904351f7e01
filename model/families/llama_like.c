/* Llama and its relatives: RMS norms, rotary positions, grouped heads, mostly a gated MLP. They differ in names, biases, norms,
 * windows, pairs of rotated dimensions and defaults, which are the library's: huggingface/transformers, models/FAMILY. */
#include "model/layout.h"

#include <math.h>
#include <stdio.h>

#define LLAMA(epsilon) .norm = NORM_RMS, EPSILON("rms_norm_eps", epsilon), .grouped = 1, .sized = 1

/* Scores divided by sqrt(query_pre_attn_scalar), and capped, as the logits are. A cap that the configuration does not name is the
 * released models'; null turns it off. */
static int finish_gemma2(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double scalar, soft_cap, cap_absent = config_absent(c, "attn_logit_softcapping") ? 50 : 0,
                             head_cap_absent = config_absent(c, "final_logit_softcapping") ? 30 : 0;
    if (config_real_or(c, "query_pre_attn_scalar", 1e-6, 1e9, 256, &scalar, e) ||
        config_real_or(c, "attn_logit_softcapping", 0, 1e9, cap_absent, &soft_cap, e) ||
        config_real_or(c, "final_logit_softcapping", 0, 1e9, head_cap_absent, &d->head_soft_cap, e) ||
        family_only(d, "use_bidirectional_attention", 0, 0, e))
        return -1;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = 1 / sqrt(scalar), d->blocks[l].score.soft_cap = soft_cap;
    return 0;
}

/* An activation that is called gelu is its tanh form: what the released configurations mean, and the library does. */
static int finish_gemma(struct decoder *d, struct error *e)
{
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].activation == ACTIVATION_GELU)
            d->blocks[l].activation = ACTIVATION_GELU_TANH;
    return family_only(d, "use_bidirectional_attention", 0, 0, e);
}

/* The same without caps of scores, which its class takes and its code leaves. */
static int finish_gemma3(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double scalar;
    if (config_real_or(c, "query_pre_attn_scalar", 1e-6, 1e9, 256, &scalar, e) ||
        config_real_or(c, "final_logit_softcapping", 0, 1e9, 0, &d->head_soft_cap, e) ||
        family_only(d, "use_bidirectional_attention", 0, 0, e))
        return -1;
    if (config_get(c, "attn_logit_softcapping"))
        return fail(e, "%s: attn_logit_softcapping is not supported in a %s model (expected null)", config_path(c), d->family);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = 1 / sqrt(scalar);
    return 0;
}

/* Queries, keys and values may be clamped before rotation, behind their norms where they have some. */
static int finish_olmo(struct decoder *d, struct error *e)
{
    double clip;
    if (config_real_or(d->config, "clip_qkv", 1e-30, 1e30, 0, &clip, e))
        return -1;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].clip = clip;
    return 0;
}

static int finish_cohere(struct decoder *d, struct error *e)
{
    double scale;
    return config_real_or(d->config, "logit_scale", -1e6, 1e6, 0.0625, &scale, e) || family_scale_logits(d, scale, e) ? -1 : 0;
}

/* Queries grow with the logarithm of their position beyond the original length. */
static int finish_ministral3(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const char *root = json_object_size(config_get(c, "rope_scaling")) ? "rope_scaling" : "rope_parameters";
    char key[64];
    double growth, period;
    snprintf(key, sizeof key, "%s.llama_4_scaling_beta", root);
    if (!config_get(c, key))
        return fail(e, "%s: %s is missing (expected a number)", config_path(c), key);
    if (config_real_or(c, key, -1e6, 1e6, 0, &growth, e) ||
        (snprintf(key, sizeof key, "%s.original_max_position_embeddings", root), config_real_or(c, key, 1, 1e9, 0, &period, e)) ||
        config_real_or(c, "original_max_position_embeddings", 1, 1e9, period, &period, e))
        return -1;
    if (period == 0)
        return fail(e, "%s: %s is missing (expected a number of positions)", config_path(c), key);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.query_growth = growth, d->blocks[l].score.query_period = period;
    if (growth != 0)
        family_describe(d, "queries times 1 + %.10g ln(1 + floor(i / %.10g))", growth, period);
    return 0;
}

struct multipliers {
    double embedding, attention, residual, logits; /* logits: a divisor */
};

/* Branches times r: with the residual stream in units of r the embedding is divided by r, epsilon by r^2, and nothing else is
 * left of it. */
static int multiply(struct decoder *d, struct multipliers by, struct error *e)
{
    double squared = by.residual * by.residual;
    d->embedding_scale = by.embedding / by.residual;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        b->attention_norm.epsilon /= squared, b->mlp_norm.epsilon /= squared;
        b->score.scale = by.attention;
    }
    d->final_norm.epsilon /= squared;
    return family_scale_logits(d, 1 / by.logits, e);
}

static int finish_granite(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    struct multipliers by;
    if (config_real_or(c, "embedding_multiplier", -1e6, 1e6, 1, &by.embedding, e) ||
        config_real_or(c, "attention_multiplier", -1e6, 1e6, 1, &by.attention, e) ||
        config_real_or(c, "residual_multiplier", 1e-6, 1e6, 1, &by.residual, e) ||
        config_real_or(c, "logits_scaling", 1e-6, 1e6, 1, &by.logits, e))
        return -1;
    return multiply(d, by, e);
}

/* As granite's multipliers, by other names: of embeddings, of branches over the root of the number of layers, and of the width
 * that logits are made for. */
static int finish_minicpm(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double embedding, depth, width;
    if (config_real_or(c, "scale_emb", 1e-6, 1e6, 1, &embedding, e) ||
        config_real_or(c, "scale_depth", 1e-6, 1e6, 1, &depth, e) || config_real_or(c, "dim_model_base", 1e-6, 1e6, 1, &width, e))
        return -1;
    return multiply(d, (struct multipliers){embedding, 1 / sqrt(d->head_size), depth / sqrt(d->layers), d->hidden / width}, e);
}

#define FOUR_NORMS \
    .attention_post_norm = "post_attention_layernorm", .mlp_norm = "pre_feedforward_layernorm", \
    .mlp_post_norm = "post_feedforward_layernorm"
#define NORMS_BEHIND .attention_post_norm = "post_attention_layernorm", .mlp_post_norm = "post_feedforward_layernorm"
#define FRAME_WITHOUT_NORM \
    .prefix = "model.", .embedding = "embed_tokens", .layers = "layers", .final_norm = "norm", .head = "lm_head"
/* Windows in all layers but every so-manieth, of that size by default. */
#define BUT_EVERY(number, size) .windows = WINDOWS_BUT_EVERY, .window_absent = size, .pattern_absent = number
#define QK_NORMS .query_norm = "self_attn.q_norm", .key_norm = "self_attn.k_norm"

/* Layers of the next tokens stand behind the model's own in published files, and are no part of it. */
static int finish_glm4_moe(struct decoder *d, struct error *e)
{
    long count;
    if (config_int_or(d->config, family_either(d, "num_nextn_predict_layers", "num_mtp_layers"), 0, 64, 1, &count, e))
        return -1;
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        struct tensor *t = tensors_at(d->tensors, i);
        int layer, length = 0;
        if (sscanf(t->name, "model.layers.%d.%n", &layer, &length) == 1 && length && layer >= d->layers &&
            layer < d->layers + count && !t->merged)
            t->used = 1;
    }
    return 0;
}

/* The library has windows in every other layer where use_sliding_window says so and layer_types does not. */
static int finish_qwen2_moe(struct decoder *d, struct error *e)
{
    int on;
    if (config_bool_or(d->config, "use_sliding_window", 0, &on, e))
        return -1;
    return on && !config_get(d->config, "layer_types")
               ? fail(e, "%s: use_sliding_window true without layer_types is not supported (expected layer_types beside it)",
                      config_path(d->config))
               : 0;
}

/* Its experts are gated in one way, whatever hidden_act says. */
static int finish_gpt_oss(struct decoder *d, struct error *e)
{
    static const struct {
        const char *key;
        double only;
    } fixed[] = {{"swiglu_alpha", 1.702}, {"swiglu_limit", ACTIVATION_LIMIT}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        double value;
        if (config_real_or(d->config, fixed[i].key, -1e9, 1e9, fixed[i].only, &value, e))
            return -1;
        if (value != fixed[i].only)
            return fail(e, "%s: %s %g is not supported (expected %g)", config_path(d->config), fixed[i].key, value,
                        fixed[i].only);
    }
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].activation = ACTIVATION_CLAMPED;
    return 0;
}

static const struct expert_layout mixtral_experts = {
    .count = "num_local_experts",
    .older_count = "num_experts",
    .normalised = -1,
    .router = "block_sparse_moe.gate",
    .other_router = "mlp.gate",
    .parent = "block_sparse_moe.experts",
    .gate = "w1",
    .up = "w3",
    .down = "w2",
    .gate_up = {"mlp.experts.gate_up_proj"},
    .stacked_down = {"mlp.experts.down_proj"},
};
#define QWEN_EXPERTS \
    .router = "mlp.gate", .parent = "mlp.experts", .gate = "gate_proj", .up = "up_proj", .down = "down_proj", \
    .gate_up = {"mlp.experts.gate_up_proj"}, .stacked_down = {"mlp.experts.down_proj"}
static const struct expert_layout qwen2_moe_experts = {QWEN_EXPERTS,
                                                       .count = "num_experts",
                                                       .width = "moe_intermediate_size",
                                                       .shared_width = "shared_expert_intermediate_size",
                                                       .shared = "mlp.shared_expert",
                                                       .some = 1};
static const struct expert_layout qwen3_moe_experts = {QWEN_EXPERTS, .count = "num_local_experts", .older_count = "num_experts",
                                                       .width = "moe_intermediate_size", .some = 1};
static const struct expert_layout olmoe_experts = {QWEN_EXPERTS, .count = "num_experts", .older_count = "num_local_experts"};
static const struct expert_layout glm4_moe_experts = {QWEN_EXPERTS,
                                                      .count = "n_routed_experts",
                                                      .older_count = "num_local_experts",
                                                      .width = "moe_intermediate_size",
                                                      .shared_count = "n_shared_experts",
                                                      .first_dense = "first_k_dense_replace",
                                                      .by_groups = 1,
                                                      .normalised = 1,
                                                      .shared = "mlp.shared_experts"};
static const struct expert_layout granitemoe_experts = {
    .count = "num_local_experts",
    .normalised = -1,
    .router = "block_sparse_moe.router.layer",
    .other_router = "block_sparse_moe.router",
    .gate_up = {"block_sparse_moe.input_linear.weight", "block_sparse_moe.experts.gate_up_proj"},
    .stacked_down = {"block_sparse_moe.output_linear.weight", "block_sparse_moe.experts.down_proj"},
};

static const struct expert_layout gpt_oss_experts = {.count = "num_local_experts",
                                                     .older_count = "num_experts",
                                                     .normalised = -1,
                                                     .biased = 1,
                                                     .turned = 1,
                                                     .router = "mlp.router",
                                                     .gate_up = {"mlp.experts.gate_up_proj"},
                                                     .stacked_down = {"mlp.experts.down_proj"}};

static const struct layout llama = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES},
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias")),
                                    .windows = WINDOWS_FULL,
                                    .rope = {ROTARY_WHOLE}};
static const struct layout mistral = {LLAMA(1e-6),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      .rope = {ROTARY_WHOLE},
                                      .windows = WINDOWS_ALL,
                                      .window_absent = 4096};
static const struct layout qwen2 = {LLAMA(1e-6),          .names = {LLAMA_NAMES}, ACTIVATION("hidden_act", "silu"),
                                    BIASES(YES, NO, NO),  .rope = {ROTARY_WHOLE}, .windows = WINDOWS_SWITCHED,
                                    .window_absent = 4096};
static const struct layout qwen3 = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES, QK_NORMS},
                                    .head_norms = YES,
                                    .head_size_absent = 128,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .windows = WINDOWS_SWITCHED,
                                    .window_absent = 4096};
static const struct layout gemma2 = {LLAMA(1e-6),
                                     .names = {LLAMA_FRAME, FOUR_NORMS, SPLIT, OUTPUT, GATED},
                                     .norm_offset = 1,
                                     .head_size_absent = 256,
                                     ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
                                     BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                     .rope = {ROTARY_WHOLE},
                                     .windows = WINDOWS_ALTERNATE,
                                     .window_absent = 4096,
                                     .scale_embedding = YES,
                                     .scale_rounded = 1,
                                     .tied = 1,
                                     .finish = finish_gemma2};
static const struct layout gemma = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES},
                                    .norm_offset = 1,
                                    .head_size_absent = 256,
                                    ACTIVATION("hidden_act", "gelu_pytorch_tanh"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .scale_embedding = YES,
                                    .scale_rounded = 1,
                                    .tied = 1,
                                    .finish = finish_gemma};
static const struct layout phi3 = {LLAMA(1e-5),
                                   .names = {LLAMA_FRAME, NORM_BEFORE_MLP, OUTPUT, .fused = "self_attn.qkv_proj",
                                             .gate_up = "mlp.gate_up_proj", .down = "mlp.down_proj"},
                                   ACTIVATION("hidden_act", "silu"),
                                   .rope = {ROTARY_PART(1), .only_longrope = 1, .original_default = 4096},
                                   .windows = WINDOWS_ALL};
/* norms without parameters */
static const struct layout olmo = {.norm = NORM_LAYER,
                                   .norm_bare = 1,
                                   EPSILON(NULL, 1e-5),
                                   .grouped = 1,
                                   .sized = 1,
                                   .names = {LLAMA_NAMES},
                                   ACTIVATION("hidden_act", "silu"),
                                   BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                   .rope = {ROTARY_WHOLE},
                                   .finish = finish_olmo};
static const struct layout arcee = {
    LLAMA(1e-5), .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, .up = "mlp.up_proj", .down = "mlp.down_proj"},
    ACTIVATION("hidden_act", "relu2"), BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias")),
    .rope = {ROTARY_WHOLE}};
static const struct layout ministral = {LLAMA(1e-6),
                                        .names = {LLAMA_NAMES},
                                        ACTIVATION("hidden_act", "silu"),
                                        .rope = {ROTARY_WHOLE},
                                        .windows = WINDOWS_LISTED,
                                        .window_absent = 4096};
static const struct layout seed_oss = {LLAMA(1e-6),
                                       .names = {LLAMA_NAMES},
                                       .head_size_absent = 128,
                                       ACTIVATION("hidden_act", "silu"),
                                       BIASES(KEY_OR_YES("attention_bias"), KEY("attention_out_bias"), KEY("mlp_bias")),
                                       .rope = {ROTARY_WHOLE}};
static const struct layout internlm3 = {LLAMA(1e-5),
                                        .names = {LLAMA_NAMES},
                                        .head_size_absent = 128,
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY_OR_OLDER("attention_bias", "qkv_bias"),
                                               KEY_OR_OLDER("attention_bias", "qkv_bias"), KEY_OR_OLDER("mlp_bias", "bias")),
                                        .rope = {ROTARY_WHOLE}};
static const struct layout glm = {LLAMA(1.5625e-7),
                                  .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, .gate_up = "mlp.gate_up_proj",
                                            .down = "mlp.down_proj"},
                                  .head_size_absent = 128,
                                  ACTIVATION("hidden_act", "silu"),
                                  BIASES(KEY_OR_YES("attention_bias"), NO, NO),
                                  .rope = {ROTARY_PART(0.5), .pairing = PAIRING_INTERLEAVED}};
static const struct layout glm4 = {LLAMA(1.5625e-7),
                                   .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, .gate_up = "mlp.gate_up_proj",
                                             .down = "mlp.down_proj", .attention_post_norm = "post_self_attn_layernorm",
                                             .mlp_post_norm = "post_mlp_layernorm"},
                                   .head_size_absent = 128,
                                   ACTIVATION("hidden_act", "silu"),
                                   BIASES(KEY_OR_YES("attention_bias"), NO, NO),
                                   .rope = {ROTARY_PART(0.5), .pairing = PAIRING_INTERLEAVED}};
static const struct layout ernie4_5 = {LLAMA(1e-5),
                                       .names = {LLAMA_NAMES},
                                       .head_size_absent = 128,
                                       ACTIVATION("hidden_act", "silu"),
                                       BIASES(KEY("use_bias"), KEY("use_bias"), KEY("use_bias")),
                                       .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED, .theta_default = 500000},
                                       .tied = 1};
static const struct layout helium = {LLAMA(1e-8),
                                     .names = {LLAMA_NAMES},
                                     .head_size_absent = 128,
                                     ACTIVATION("hidden_act", "silu"),
                                     BIASES(KEY("attention_bias"), NO, KEY("mlp_bias")),
                                     .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED, .theta_default = 100000}};
static const struct layout granite = {LLAMA(1e-6),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias")),
                                      .rope = {ROTARY_WHOLE},
                                      .finish = finish_granite};
static const struct layout mixtral = {LLAMA(1e-5),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      .rope = {ROTARY_WHOLE, .theta_default = 1000000},
                                      .windows = WINDOWS_ALL,
                                      .experts = &mixtral_experts};
static const struct layout qwen2_moe = {LLAMA(1e-6),
                                        .names = {LLAMA_NAMES},
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY_OR_YES("qkv_bias"), NO, NO),
                                        .rope = {ROTARY_WHOLE},
                                        .windows = WINDOWS_SWITCHED,
                                        .window_absent = 4096,
                                        .experts = &qwen2_moe_experts,
                                        .finish = finish_qwen2_moe};
static const struct layout qwen3_moe = {LLAMA(1e-6),
                                        .names = {LLAMA_NAMES, QK_NORMS},
                                        .head_norms = YES,
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                        .rope = {ROTARY_WHOLE},
                                        .windows = WINDOWS_ALL_SWITCHED,
                                        .window_absent = 4096,
                                        .experts = &qwen3_moe_experts};
static const struct layout olmoe = {LLAMA(1e-5),
                                    .names = {LLAMA_NAMES, QK_NORMS},
                                    .head_norms = YES,
                                    .head_norms_of = HEADS_WHOLE,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .experts = &olmoe_experts,
                                    .finish = finish_olmo};
static const struct layout glm4_moe = {LLAMA(1e-5),
                                       .names = {LLAMA_NAMES, QK_NORMS},
                                       .head_norms = KEY("use_qk_norm"),
                                       ACTIVATION("hidden_act", "silu"),
                                       BIASES(KEY("attention_bias"), NO, NO),
                                       .rope = {ROTARY_PART(0.5)},
                                       .experts = &glm4_moe_experts,
                                       .finish = finish_glm4_moe};
static const struct layout gpt_oss = {LLAMA(1e-5),
                                      .names = {LLAMA_NAMES, .sinks = "self_attn.sinks"},
                                      .head_size_absent = 64,
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY_OR_YES("attention_bias"), KEY_OR_YES("attention_bias"), NO),
                                      .rope = {ROTARY_WHOLE, .required = 1, .theta_default = 150000},
                                      .windows = WINDOWS_ALTERNATE,
                                      .window_absent = 128,
                                      .experts = &gpt_oss_experts,
                                      .finish = finish_gpt_oss};
static const struct layout granitemoe = {LLAMA(1e-6),
                                         .names = {LLAMA_NAMES},
                                         ACTIVATION("hidden_act", "silu"),
                                         BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                         .rope = {ROTARY_WHOLE},
                                         .experts = &granitemoe_experts,
                                         .finish = finish_granite};

static const struct layout gemma3_text = {
    LLAMA(1e-6),
    .names = {LLAMA_FRAME, FOUR_NORMS, SPLIT, OUTPUT, GATED, QK_NORMS},
    .norm_offset = 1,
    .head_norms = YES,
    .head_size_absent = 256,
    ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {ROTARY_WHOLE, .by_kind = 1, .theta_default = 1e6, .local_theta = "rope_local_base_freq", .local_theta_default = 1e4},
    .turned = TURNED_BY_KIND,
    BUT_EVERY(6, 4096),
    .pattern = "sliding_window_pattern",
    .scale_embedding = YES,
    .scale_rounded = 1,
    .tied = 1,
    .defaults = "{\"vocab_size\": 262208, \"hidden_size\": 2304, \"intermediate_size\": 9216, \"num_hidden_layers\": 26, "
                "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"max_position_embeddings\": 131072}",
    .finish = finish_gemma3};
static const struct layout smollm3 = {LLAMA(1e-6),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias")),
                                      .rope = {ROTARY_WHOLE, .theta_default = 2e6},
                                      .turned = TURNED_LISTED,
                                      .windows = WINDOWS_UNTURNED,
                                      .tied = 1};
static const struct layout cohere = {.norm = NORM_LAYER,
                                     EPSILON("layer_norm_eps", 1e-5),
                                     .grouped = 1,
                                     .sized = 1,
                                     .names = {LLAMA_FRAME, SPLIT, OUTPUT, GATED, QK_NORMS},
                                     .head_norms = KEY("use_qk_norm"),
                                     .head_norms_of = HEADS_EACH,
                                     ACTIVATION("hidden_act", "silu"),
                                     BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                     .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED, .theta_default = 5e5},
                                     .parallel = YES,
                                     .one_norm = 1,
                                     .tied = 1,
                                     .finish = finish_cohere};
static const struct layout cohere2 = {.norm = NORM_LAYER,
                                      EPSILON("layer_norm_eps", 1e-5),
                                      .grouped = 1,
                                      .names = {LLAMA_FRAME, SPLIT, OUTPUT, GATED},
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                      .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED},
                                      .turned = TURNED_WINDOWS,
                                      BUT_EVERY(4, 4096),
                                      .pattern = "sliding_window_pattern",
                                      .parallel = YES,
                                      .one_norm = 1,
                                      .tied = 1,
                                      .finish = finish_cohere};
static const struct layout olmo2 = {LLAMA(1e-5),
                                    .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT, GATED, QK_NORMS},
                                    .head_norms = YES,
                                    .head_norms_of = HEADS_WHOLE,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE}};
static const struct layout olmo3 = {LLAMA(1e-5),
                                    .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT, GATED, QK_NORMS},
                                    .head_norms = YES,
                                    .head_norms_of = HEADS_WHOLE,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE, .by_kind = 1, .theta_default = 5e5, .local_theta_default = 5e5},
                                    .turned = TURNED_BY_KIND,
                                    BUT_EVERY(4, 4096)};
static const struct layout exaone4 = {LLAMA(1e-5),
                                      .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT, GATED, QK_NORMS},
                                      .head_norms = YES,
                                      ACTIVATION("hidden_act", "silu"),
                                      .rope = {ROTARY_WHOLE},
                                      .turned = TURNED_WINDOWS_OR_ALL,
                                      BUT_EVERY(4, 4096),
                                      .pattern = "sliding_window_pattern"};
static const struct layout hunyuan_v1_dense = {LLAMA(1e-5),
                                               .names = {LLAMA_NAMES, .query_norm = "self_attn.query_layernorm",
                                                         .key_norm = "self_attn.key_layernorm"},
                                               .head_norms = YES,
                                               .head_norms_last = 1,
                                               ACTIVATION("hidden_act", "silu"),
                                               BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                               .rope = {ROTARY_WHOLE, .alpha = 1}};
static const struct layout ministral3 = {LLAMA(1e-5),
                                         .names = {LLAMA_NAMES},
                                         .head_size_absent = 128,
                                         ACTIVATION("hidden_act", "silu"),
                                         .rope = {ROTARY_WHOLE, .required = 1},
                                         .windows = WINDOWS_ALL,
                                         .finish = finish_ministral3};
static const struct layout granite_swa = {LLAMA(1e-5),
                                          .names = {LLAMA_NAMES, .sinks = "self_attn.sinks"},
                                          ACTIVATION("hidden_act", "silu"),
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias")),
                                          .rope = {ROTARY_WHOLE, .bases = "layer_rope_theta"},
                                          BUT_EVERY(4, 128),
                                          .pattern_first = 1,
                                          .tied = 1,
                                          .finish = finish_granite};
static const struct layout cwm = {LLAMA(1e-5),
                                  .names = {LLAMA_NAMES},
                                  .head_size_absent = 128,
                                  ACTIVATION("hidden_act", "silu"),
                                  BIASES(NO, NO, KEY("mlp_bias")),
                                  .rope = {ROTARY_WHOLE, .required = 1, .theta_default = 1e6},
                                  BUT_EVERY(4, 8192),
                                  .pattern_first = 1};
static const struct layout minicpm = {LLAMA(1e-5),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                      .rope = {ROTARY_WHOLE},
                                      .tied = 1,
                                      .finish = finish_minicpm};

#define ROW(row) .name = #row, .model_types = {#row}, .layout = &row, .ignored_suffixes = {".rotary_emb.inv_freq"}
static const char *const training[] = {"pretraining_tp", NULL}; /* only of matrix products in parts */
/* of Gemma 1 and 2: each has its activation by one of two names, and leaves the other */
static const char *const other_name[] = {"hidden_activation", NULL};
static const char *const other_activation[] = {"cache_implementation", "hidden_act", NULL};
static const char *const heads[] = {"num_key_value_heads", "partial_rotary_factor", "head_dim", NULL};
static const char *const heads_of_size[] = {"num_key_value_heads", "partial_rotary_factor", NULL};
static const char *const kv_heads[] = {"num_key_value_heads", NULL}; /* a null fraction is the whole head, absence half of it */
static const char *const either_way[] = {"partial_rotary_factor", "use_bidirectional_attention", NULL};
static const char *const of_phi3[] = {"attention_bias", NULL}; /* in published files; its class leaves it */
static const char *const olmo_null[] = {"clip_qkv", "num_key_value_heads", "partial_rotary_factor", "head_dim", NULL};
static const char *const of_gemma3[] = {"_sliding_window_pattern", "cache_implementation", "hidden_act", NULL};
static const char *const of_size[] = {"partial_rotary_factor", NULL};
static const char *const listed[] = {"no_rope_layers", "num_key_value_heads", "partial_rotary_factor", "head_dim", NULL};
static const char *const pattern[] = {"sliding_window_pattern", "num_key_value_heads", "partial_rotary_factor", "head_dim", NULL};
static const char *const bases[] = {"layer_rope_theta", "num_key_value_heads", "partial_rotary_factor", "head_dim", NULL};
static const char *const of_hunyuan[] = {"eod_token_id", "pretraining_tp", NULL};
static const char *const of_seed_oss[] = {"pretraining_tp", "residual_dropout", NULL};
static const char *const of_routers[] = {"output_router_logits", "router_aux_loss_coef", "router_jitter_noise", NULL};
static const char *const of_gpt_oss[] = {"experts_per_token", "initial_context_length", "output_router_logits",
                                         "router_aux_loss_coef", NULL};
static const char *const of_qwen3_moe[] = {"max_window_layers", "output_router_logits", "router_aux_loss_coef", NULL};
static const char *const some_layers[] = {"mlp_only_layers", "num_key_value_heads", "partial_rotary_factor", NULL};

const struct family families_llama_like[] = {{ROW(llama), .harmless = training, .nullable = heads},
                                             {ROW(mistral), .harmless = training, .nullable = heads},
                                             {ROW(qwen2), .harmless = training, .nullable = heads},
                                             {ROW(qwen3), .harmless = training, .nullable = heads_of_size},
                                             {ROW(gemma2), .harmless = other_activation, .nullable = either_way},
                                             {ROW(gemma), .harmless = other_name, .nullable = either_way},
                                             {ROW(phi3), .harmless = of_phi3, .nullable = heads},
                                             {ROW(olmo), .harmless = training, .nullable = olmo_null},
                                             {ROW(arcee), .harmless = training, .nullable = heads},
                                             {ROW(ministral), .harmless = training, .nullable = heads},
                                             {ROW(seed_oss), .harmless = of_seed_oss, .nullable = heads},
                                             {ROW(internlm3), .harmless = training, .nullable = heads},
                                             {ROW(glm), .harmless = training, .nullable = kv_heads},
                                             {ROW(glm4), .harmless = training, .nullable = kv_heads},
                                             {ROW(ernie4_5), .harmless = training, .nullable = heads},
                                             {ROW(helium), .harmless = training, .nullable = heads_of_size},
                                             {ROW(granite), .harmless = training, .nullable = heads},
                                             {ROW(gemma3_text), .harmless = of_gemma3, .nullable = of_size},
                                             {ROW(smollm3), .harmless = training, .nullable = listed},
                                             {ROW(cohere), .harmless = training, .nullable = heads},
                                             {ROW(cohere2), .harmless = training, .nullable = kv_heads},
                                             {ROW(olmo2), .harmless = training, .nullable = heads},
                                             {ROW(olmo3), .harmless = training, .nullable = heads},
                                             {ROW(exaone4), .harmless = training, .nullable = pattern},
                                             {ROW(hunyuan_v1_dense), .harmless = of_hunyuan, .nullable = heads},
                                             {ROW(ministral3), .harmless = training, .nullable = heads_of_size},
                                             {ROW(granite_swa), .harmless = training, .nullable = bases},
                                             {ROW(cwm), .harmless = training, .nullable = heads_of_size},
                                             {ROW(minicpm), .harmless = training, .nullable = heads},
                                             {ROW(mixtral), .harmless = of_routers, .nullable = heads},
                                             {ROW(qwen2_moe), .harmless = of_routers, .nullable = some_layers},
                                             {ROW(qwen3_moe), .harmless = of_qwen3_moe, .nullable = some_layers},
                                             {ROW(olmoe), .harmless = of_routers, .nullable = olmo_null},
                                             {ROW(glm4_moe), .harmless = of_routers, .nullable = kv_heads},
                                             {ROW(gpt_oss), .harmless = of_gpt_oss, .nullable = heads_of_size},
                                             {ROW(granitemoe), .harmless = of_routers, .nullable = heads},
                                             {.name = NULL}};
