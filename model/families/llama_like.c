/* Llama and its relatives: RMS norms, rotary positions, grouped heads, mostly a gated MLP. They differ in names, biases, norms,
 * windows, pairs of rotated dimensions and defaults, which are the library's: huggingface/transformers, models/FAMILY. */
#include "model/layout.h"

#include <math.h>
#include <stdlib.h>

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

static int finish_olmo(struct decoder *d, struct error *e)
{
    if (config_get(d->config, "clip_qkv"))
        return fail(e, "%s: clip_qkv is not supported (expected null)", config_path(d->config));
    return 0;
}

/* Branches times residual_multiplier r: with the residual stream in units of r the embedding is divided by r, epsilon by r^2, and
 * nothing else is left of it. Logits over logits_scaling: the last norm's weights are divided by it. */
static int finish_granite(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    double embedding, attention, residual, logits;
    size_t width = (size_t)d->hidden;
    if (config_real_or(c, "embedding_multiplier", -1e6, 1e6, 1, &embedding, e) ||
        config_real_or(c, "attention_multiplier", -1e6, 1e6, 1, &attention, e) ||
        config_real_or(c, "residual_multiplier", 1e-6, 1e6, 1, &residual, e) ||
        config_real_or(c, "logits_scaling", 1e-6, 1e6, 1, &logits, e))
        return -1;
    d->embedding_scale = embedding / residual;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        b->attention_norm.epsilon /= residual * residual, b->mlp_norm.epsilon /= residual * residual;
        b->score.scale = attention;
    }
    d->final_norm.epsilon /= residual * residual;
    if (logits == 1)
        return 0;
    d->final_weights = calloc(width, sizeof *d->final_weights);
    if (!d->final_weights)
        return fail_memory(e, 8.0 * d->hidden, "weights of the last norm");
    for (size_t i = 0; i < width; i++)
        d->final_weights[i] =
            element_read(d->final_norm.scale.data, d->final_norm.scale.type, i * d->final_norm.scale.row_stride) / logits;
    d->final_norm.scale = (view){.data = d->final_weights,
                                 .type = ELEMENT_F64,
                                 .groups = 1,
                                 .rows = width,
                                 .columns = 1,
                                 .row_stride = 1,
                                 .column_stride = 1};
    return 0;
}

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
                                    .names = {LLAMA_NAMES, .query_norm = "self_attn.q_norm", .key_norm = "self_attn.k_norm"},
                                    .head_norms = YES,
                                    .head_size_absent = 128,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .windows = WINDOWS_SWITCHED,
                                    .window_absent = 4096};
static const struct layout gemma2 = {LLAMA(1e-6),
                                     .names = {LLAMA_FRAME, .attention_post_norm = "post_attention_layernorm", SPLIT, OUTPUT,
                                               .mlp_norm = "pre_feedforward_layernorm", GATED,
                                               .mlp_post_norm = "post_feedforward_layernorm"},
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
                                   ACTIVATION("hidden_act", "silu"), .rope = {ROTARY_PART(1), .unscaled = 1},
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
static const char *const of_seed_oss[] = {"pretraining_tp", "residual_dropout", NULL};

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
                                             {.name = NULL}};
