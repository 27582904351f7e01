/* Llama and its relatives: RMS norms, rotary positions, grouped heads, usually a gated MLP. They
 * differ in names, biases, norms, windows, pairs of rotated dimensions and defaults, which are the
 * library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Scores divided by sqrt(query_pre_attn_scalar), and capped, like the logits. A cap missing from
 * the configuration is the released models'; null disables it. */
static int finish_gemma2(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double scalar, soft_cap, cap_absent = config_absent(c, "attn_logit_softcapping") ? 50 : 0,
                             head_cap_absent = config_absent(c, "final_logit_softcapping") ? 30 : 0;
    if (config_real_or(c, "query_pre_attn_scalar", 1e-6, 1e9, 256, &scalar, e) ||
        config_real_or(c, "attn_logit_softcapping", 0, 1e9, cap_absent, &soft_cap, e) ||
        config_real_or(c, "final_logit_softcapping", 0, 1e9, head_cap_absent, &d->head_soft_cap,
                       e) ||
        family_only(d, "use_bidirectional_attention", 0, 0, e))
        return -1;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = 1 / sqrt(scalar), d->blocks[l].score.soft_cap = soft_cap;
    return 0;
}

/* An activation called gelu is its tanh form, as in the released configurations and the library. */
static int finish_gemma(struct decoder *d, struct error *e)
{
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].activation == ACTIVATION_GELU)
            d->blocks[l].activation = ACTIVATION_GELU_TANH;
    return family_only(d, "use_bidirectional_attention", 0, 0, e);
}

/* The same without the score cap, which its code ignores. */
static int finish_gemma3(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double scalar;
    if (config_real_or(c, "query_pre_attn_scalar", 1e-6, 1e9, 256, &scalar, e) ||
        config_real_or(c, "final_logit_softcapping", 0, 1e9, 0, &d->head_soft_cap, e) ||
        family_only(d, "use_bidirectional_attention", 0, 0, e))
        return -1;
    if (config_get(c, "attn_logit_softcapping"))
        return fail(e, "%s: attn_logit_softcapping is not supported in a %s model (expected null)",
                    config_path(c), d->family);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = 1 / sqrt(scalar);
    return 0;
}

/* Queries, keys and values may be clamped before rotation, after their norms if any. */
int finish_olmo(struct decoder *d, struct error *e)
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
    return config_real_or(d->config, "logit_scale", -1e6, 1e6, 0.0625, &scale, e) ||
                   family_scale_logits(d, scale, e)
               ? -1
               : 0;
}

/* Queries grow with the logarithm of their position beyond the original length. */
int finish_ministral3(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const char *root = json_object_size(config_get(c, "rope_scaling")) ? "rope_scaling"
                                                                       : "rope_parameters";
    char key[64];
    double growth, period;
    snprintf(key, sizeof key, "%s.llama_4_scaling_beta", root);
    if (!config_get(c, key))
        return fail(e, "%s: %s is missing (expected a number)", config_path(c), key);
    if (config_real_or(c, key, -1e6, 1e6, 0, &growth, e) ||
        (snprintf(key, sizeof key, "%s.original_max_position_embeddings", root),
         config_real_or(c, key, 1, 1e9, 0, &period, e)) ||
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

/* Branches times r: with the residual stream in units of r the embedding is divided by r, epsilon
 * by r^2, and no other factor remains. */
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

int finish_granite(struct decoder *d, struct error *e)
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

/* Like granite's multipliers, under other names: of embeddings, of branches over the root of the
 * number of layers, and of the width for logits. */
struct minicpm {
    double embedding, depth, width; /* defaults */
    enum element type; /* of the factor on embeddings */
};

static int multiply_minicpm(struct decoder *d, struct minicpm absent, struct error *e)
{
    struct config *c = d->config;
    double embedding, depth, width;
    if (config_real_or(c, "scale_emb", 1e-6, 1e6, absent.embedding, &embedding, e) ||
        config_real_or(c, "scale_depth", 1e-6, 1e6, absent.depth, &depth, e) ||
        config_real_or(c, "dim_model_base", 1e-6, 1e6, absent.width, &width, e))
        return -1;
    embedding = element_round(embedding, absent.type);
    return multiply(d,
                    (struct multipliers){embedding, 1 / sqrt(d->head_size), depth / sqrt(d->layers),
                                         d->hidden / width},
                    e);
}

static int finish_minicpm(struct decoder *d, struct error *e)
{
    return multiply_minicpm(d, (struct minicpm){1, 1, 1, ELEMENT_F64}, e);
}

/* null leaves branches and logits as they are. The factor on embeddings has their type, if that is
 * short. */
int finish_minicpm3(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    int rounds = d->embedding.type == ELEMENT_F16 || d->embedding.type == ELEMENT_BF16;
    const struct minicpm absent = {12, config_absent(c, "scale_depth") ? 1.4 : sqrt(d->layers),
                                   config_absent(c, "dim_model_base") ? 256 : d->hidden,
                                   rounds ? d->embedding.type : ELEMENT_F64};
    return multiply_minicpm(d, absent, e);
}

/* Like granite's, but with a factor on logits instead of a divisor. */
static int finish_hyperclovax(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    struct multipliers by;
    double logits;
    if (config_real_or(c, "embedding_multiplier", -1e6, 1e6, 1, &by.embedding, e) ||
        config_real_or(c, "attention_multiplier", -1e6, 1e6, 1 / sqrt(d->head_size), &by.attention,
                       e) ||
        config_real_or(c, "residual_multiplier", 1e-6, 1e6, 1, &by.residual, e) ||
        config_real_or(c, "logits_scaling", 1e-6, 1e6, 1, &logits, e))
        return -1;
    by.logits = 1 / logits;
    return multiply(d, by, e);
}

/* A norm on embeddings, with the last norm's epsilon, and a cap on logits. */
static int finish_nanochat(struct decoder *d, struct error *e)
{
    double absent = config_absent(d->config, "final_logit_softcapping") ? 15 : 0;
    d->embedding_norm = d->final_norm;
    return config_real_or(d->config, "final_logit_softcapping", 0, 1e9, absent, &d->head_soft_cap,
                          e);
}

/* Two options that its code does not support. */
static int finish_iquestcoder(struct decoder *d, struct error *e)
{
    if (config_get(d->config, "clip_qkv"))
        return fail(e, "%s: clip_qkv is not supported in an iquestcoder model (expected null)",
                    config_path(d->config));
    return family_only(d, "use_sliding_window", 0, 0, e);
}

/* Settings of published files that its code does not read. With output_vocab_size the head has rows
 * for the first tokens alone, those of text; the rest are of images and sound. */
static int finish_apertus(struct decoder *d, struct error *e)
{
    long head;
    if (family_only(d, "qk_norm", 1, 1, e) || family_only(d, "post_norm", 0, 0, e) ||
        family_only(d, "mlp_bias", 0, 0, e) ||
        config_int_or(d->config, "output_vocab_size", 1, d->vocabulary, d->vocabulary, &head, e))
        return -1;
    if (head < d->vocabulary && d->tied)
        return fail(e, "%s: output_vocab_size %ld with a tied head (expected one or the other)",
                    config_path(d->config), head);
    d->vocabulary = (int)head;
    d->embedding = view_rows(d->embedding, 0, (size_t)head);
    return 0;
}

static const struct layout llama = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES},
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                           KEY("mlp_bias")),
                                    .windows = WINDOWS_FULL,
                                    .rope = {ROTARY_WHOLE}};
static const struct layout mistral = {LLAMA(1e-6),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      .rope = {ROTARY_WHOLE},
                                      .windows = WINDOWS_ALL,
                                      .window_absent = 4096};
static const struct layout qwen2 = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES},
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(YES, NO, NO),
                                    .rope = {ROTARY_WHOLE},
                                    .windows = WINDOWS_SWITCHED,
                                    .window_first_absent = 28,
                                    .window_absent = 4096};
static const struct layout qwen3 = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES, QK_NORMS},
                                    .head_norms = YES,
                                    .head_size_absent = 128,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .windows = WINDOWS_SWITCHED,
                                    .window_first_absent = 28,
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
static const struct layout phi3 = {
    LLAMA(1e-5),
    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, OUTPUT, .fused = "self_attn.qkv_proj",
              .gate_up = "mlp.gate_up_proj", .down = "mlp.down_proj"},
    ACTIVATION("hidden_act", "silu"),
    .rope = {ROTARY_PART(1), .only_longrope = 1, .original_default = 4096}, .windows = WINDOWS_ALL};
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
static const struct layout arcee = {LLAMA(1e-5),
                                    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                              .up = "mlp.up_proj", .down = "mlp.down_proj"},
                                    ACTIVATION("hidden_act", "relu2"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                           KEY("mlp_bias")),
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
                                       BIASES(KEY_OR_YES("attention_bias"),
                                              KEY("attention_out_bias"), KEY("mlp_bias")),
                                       .rope = {ROTARY_WHOLE}};
static const struct layout internlm3 = {LLAMA(1e-5),
                                        .names = {LLAMA_NAMES},
                                        .head_size_absent = 128,
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY_OR_OLDER("attention_bias", "qkv_bias"),
                                               KEY_OR_OLDER("attention_bias", "qkv_bias"),
                                               KEY_OR_OLDER("mlp_bias", "bias")),
                                        .rope = {ROTARY_WHOLE}};
static const struct layout glm = {LLAMA(1.5625e-7),
                                  .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                            .gate_up = "mlp.gate_up_proj", .down = "mlp.down_proj"},
                                  .head_size_absent = 128,
                                  ACTIVATION("hidden_act", "silu"),
                                  BIASES(KEY_OR_YES("attention_bias"), NO, NO),
                                  .rope = {ROTARY_PART(0.5), .pairing = PAIRING_INTERLEAVED}};
static const struct layout glm4 = {LLAMA(1.5625e-7),
                                   .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                             .gate_up = "mlp.gate_up_proj", .down = "mlp.down_proj",
                                             .attention_post_norm = "post_self_attn_layernorm",
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
                                       .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED,
                                                .theta_default = 500000},
                                       .tied = 1};
static const struct layout helium = {LLAMA(1e-8),
                                     .names = {LLAMA_NAMES},
                                     .head_size_absent = 128,
                                     ACTIVATION("hidden_act", "silu"),
                                     BIASES(KEY("attention_bias"), NO, KEY("mlp_bias")),
                                     .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED,
                                              .theta_default = 100000}};
static const struct layout granite = {LLAMA(1e-6),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                             KEY("mlp_bias")),
                                      .rope = {ROTARY_WHOLE},
                                      .finish = finish_granite};
static const struct layout apertus = {LLAMA(1e-5),
                                      .names = {FRAME_WITHOUT_NORM, SPLIT, OUTPUT, QK_NORMS,
                                                .attention_norm = "attention_layernorm",
                                                .mlp_norm = "feedforward_layernorm",
                                                .up = "mlp.up_proj", .down = "mlp.down_proj"},
                                      .head_norms = YES,
                                      ACTIVATION("hidden_act", "xielu"),
                                      .xielu = 1,
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                      .rope = {ROTARY_WHOLE, .required = 1, .theta_default = 12e6},
                                      .finish = finish_apertus};
static const struct layout gemma3_text = {
    LLAMA(1e-6),
    .names = {LLAMA_FRAME, FOUR_NORMS, SPLIT, OUTPUT, GATED, QK_NORMS},
    .norm_offset = 1,
    .head_norms = YES,
    .head_size_absent = 256,
    ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {ROTARY_WHOLE, .by_kind = 1, .theta_default = 1e6,
             .local_theta = "rope_local_base_freq", .local_theta_default = 1e4},
    .turned = TURNED_BY_KIND,
    BUT_EVERY(6, 4096),
    .pattern = "sliding_window_pattern",
    .scale_embedding = YES,
    .scale_rounded = 1,
    .tied = 1,
    .defaults = "{\"vocab_size\": 262208, \"hidden_size\": 2304, \"intermediate_size\": 9216, "
                "\"num_hidden_layers\": 26, "
                "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, "
                "\"max_position_embeddings\": 131072}",
    .finish = finish_gemma3};
static const struct layout smollm3 = {LLAMA(1e-6),
                                      .names = {LLAMA_NAMES},
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                             KEY("mlp_bias")),
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
                                     .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED,
                                              .theta_default = 5e5},
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
                                    .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT,
                                              GATED, QK_NORMS},
                                    .head_norms = YES,
                                    .head_norms_of = HEADS_WHOLE,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE}};
static const struct layout olmo3 = {LLAMA(1e-5),
                                    .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT,
                                              GATED, QK_NORMS},
                                    .head_norms = YES,
                                    .head_norms_of = HEADS_WHOLE,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE, .by_kind = 1, .theta_default = 5e5,
                                             .local_theta_default = 5e5},
                                    .turned = TURNED_BY_KIND,
                                    BUT_EVERY(4, 4096)};
static const struct layout exaone4 = {LLAMA(1e-5),
                                      .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT,
                                                GATED, QK_NORMS},
                                      .head_norms = YES,
                                      ACTIVATION("hidden_act", "silu"),
                                      .rope = {ROTARY_WHOLE},
                                      .turned = TURNED_WINDOWS_OR_ALL,
                                      BUT_EVERY(4, 4096),
                                      .pattern = "sliding_window_pattern"};
static const struct layout hunyuan_v1_dense = {LLAMA(1e-5),
                                               .names = {LLAMA_NAMES,
                                                         .query_norm = "self_attn.query_layernorm",
                                                         .key_norm = "self_attn.key_layernorm"},
                                               .head_norms = YES,
                                               .head_norms_last = 1,
                                               ACTIVATION("hidden_act", "silu"),
                                               BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                      NO),
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
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                 KEY("mlp_bias")),
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

static const struct layout iquestcoder = {LLAMA(1e-5),
                                          .names = {LLAMA_NAMES},
                                          .head_size_absent = 128,
                                          ACTIVATION("hidden_act", "silu"),
                                          BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                 KEY("mlp_bias")),
                                          .windows = WINDOWS_FULL,
                                          .rope = {ROTARY_WHOLE},
                                          .defaults = "{\"num_key_value_heads\": 8}",
                                          .finish = finish_iquestcoder};
static const struct layout vaultgemma = {LLAMA(1e-6),
                                         .names = {LLAMA_FRAME,
                                                   .mlp_norm = "pre_feedforward_layernorm", SPLIT,
                                                   OUTPUT, GATED},
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
static const struct layout hyperclovax = {
    LLAMA(1e-6),
    .names = {LLAMA_NAMES, .attention_post_norm = "post_norm1", .mlp_post_norm = "post_norm2"},
    .post_norms = "use_post_norm",
    ACTIVATION("hidden_act", "silu"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), KEY("mlp_bias")),
    .rope = {ROTARY_WHOLE},
    .finish = finish_hyperclovax};
static const struct layout nanochat = {LLAMA(1e-6),
                                       .norm_bare = 1,
                                       .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                                 QK_NORMS, .up = "mlp.fc1", .down = "mlp.fc2"},
                                       .head_norms = YES,
                                       .head_norms_last = 1,
                                       ACTIVATION("hidden_act", "relu2"),
                                       BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                       .rope = {ROTARY_WHOLE, .backwards = 1},
                                       .finish = finish_nanochat};

static const struct layout internlm2 = {LLAMA(1e-6),
                                        .names = {.prefix = "model.",
                                                  .embedding = "tok_embeddings",
                                                  .layers = "layers",
                                                  .final_norm = "norm",
                                                  .head = "output",
                                                  .attention_norm = "attention_norm",
                                                  .mlp_norm = "ffn_norm",
                                                  .fused = "attention.wqkv",
                                                  .output = "attention.wo",
                                                  .gate = "feed_forward.w1",
                                                  .up = "feed_forward.w3",
                                                  .down = "feed_forward.w2"},
                                        .fused = FUSED_GROUPS,
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY_OR_YES("bias"), KEY_OR_YES("bias"), NO),
                                        .rope = {ROTARY_WHOLE}};
/* As in transformers since 5.24, which treats the keys of older files as aliases, and writes names
 * of either kind. */
static const struct alias of_older_exaone[] = {{"num_layers", "num_hidden_layers"},
                                               {"layer_norm_epsilon", "rms_norm_eps"},
                                               {"activation_function", "hidden_act"},
                                               {NULL, NULL}};
static const struct names llama_names = {LLAMA_NAMES};
static const struct layout exaone = {LLAMA(1e-5),
                                     .inner_times = 4,
                                     .names = {.prefix = "transformer.",
                                               .embedding = "wte",
                                               .layers = "h",
                                               .final_norm = "ln_f",
                                               .head = "lm_head",
                                               .attention_norm = "ln_1",
                                               .mlp_norm = "ln_2",
                                               .query = "attn.attention.q_proj",
                                               .key = "attn.attention.k_proj",
                                               .value = "attn.attention.v_proj",
                                               .output = "attn.attention.out_proj",
                                               .gate = "mlp.c_fc_0",
                                               .up = "mlp.c_fc_1",
                                               .down = "mlp.c_proj"},
                                     .other_names = &llama_names,
                                     .aliases = of_older_exaone,
                                     ACTIVATION("hidden_act", "silu"),
                                     BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                            KEY("mlp_bias")),
                                     .windows = WINDOWS_FULL,
                                     .rope = {ROTARY_WHOLE, .theta_default = 5e5},
                                     .tied = 1};
static const char *const training[] = {"pretraining_tp",
                                       NULL}; /* only for matrix products in parts */
/* of Gemma 1 and 2: each reads its activation from one of two names, and ignores the other */
static const char *const other_name[] = {"hidden_activation", NULL};
static const char *const other_activation[] = {"cache_implementation", "hidden_act", NULL};
static const char *const heads[] = {"num_key_value_heads", "partial_rotary_factor", "head_dim",
                                    NULL};
static const char *const heads_of_size[] = {"num_key_value_heads", "partial_rotary_factor", NULL};
static const char *const kv_heads[] = {"num_key_value_heads",
                                       NULL}; /* null means a whole head, absence half */
static const char *const either_way[] = {"partial_rotary_factor", "use_bidirectional_attention",
                                         NULL};
static const char *const of_phi3[] = {"attention_bias",
                                      NULL}; /* in published files; its class ignores it */
static const char *const olmo_null[] = {"clip_qkv", "num_key_value_heads", "partial_rotary_factor",
                                        "head_dim", NULL};
static const char *const of_gemma3[] = {"_sliding_window_pattern", "cache_implementation",
                                        "hidden_act", NULL};
static const char *const of_size[] = {"partial_rotary_factor", NULL};
static const char *const listed[] = {"no_rope_layers", "num_key_value_heads",
                                     "partial_rotary_factor", "head_dim", NULL};
static const char *const pattern[] = {"sliding_window_pattern", "num_key_value_heads",
                                      "partial_rotary_factor", "head_dim", NULL};
static const char *const bases[] = {"layer_rope_theta", "num_key_value_heads",
                                    "partial_rotary_factor", "head_dim", NULL};
static const char *const of_hunyuan[] = {"eod_token_id", "pretraining_tp", NULL};
static const char *const none[] = {NULL};
static const char *const of_apertus[] = {"output_vocab_size", "num_key_value_heads",
                                         "partial_rotary_factor", "head_dim", NULL};
static const char *const of_iquestcoder[] = {
    "clip_qkv", "use_sliding_window", "num_key_value_heads", "partial_rotary_factor", "head_dim",
    NULL};
static const char *const of_hyperclovax[] = {"attention_multiplier", "num_key_value_heads",
                                             "partial_rotary_factor", "head_dim", NULL};
static const char *const of_seed_oss[] = {"pretraining_tp", "residual_dropout", NULL};
static const char *const of_exaone[] = {"embed_dropout", "resid_dropout", NULL};
static const char *const of_baichuan[] = {"model_max_length", "z_loss_weight", NULL};
static const char *const inner_or_heads[] = {"intermediate_size", "num_key_value_heads",
                                             "partial_rotary_factor", "head_dim", NULL};

const struct family families_llama_like[] = {
    {ROW(llama), .harmless = training, .nullable = heads},
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
    {ROW(apertus), .harmless = training, .nullable = heads},
    {.name = "apertus1p5_text",
     .model_types = {"apertus1p5_text"},
     .layout = &apertus,
     .ignored_suffixes = {".rotary_emb.inv_freq"},
     .harmless = training,
     .nullable = of_apertus},
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
    {ROW(iquestcoder), .harmless = none, .nullable = of_iquestcoder},
    {ROW(vaultgemma), .harmless = other_activation, .nullable = either_way},
    {ROW(hyperclovax), .harmless = training, .nullable = of_hyperclovax},
    {ROW(nanochat), .harmless = training, .nullable = heads},
    {ROW(internlm2), .harmless = training, .nullable = heads},
    {ROW(exaone), .harmless = of_exaone, .nullable = inner_or_heads},
    {.name = "baichuan",
     .model_types = {"baichuan"},
     .read = read_baichuan,
     .ignored_suffixes = {".rotary_emb.inv_freq"},
     .harmless = of_baichuan,
     .nullable = heads,
     .positions = "rotary, or ALiBi",
     .about = "fused q, k, v"},
    {.name = NULL}};
