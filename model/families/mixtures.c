/* Relatives of Llama (llama_like.c) with experts instead of the MLP, in all layers or some.
 * Defaults are the library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

#include <stdio.h>
#include <string.h>

int skip_next_layers(struct decoder *d, long absent, struct error *e)
{
    long count;
    if (config_int_or(d->config, family_either(d, "num_nextn_predict_layers", "num_mtp_layers"), 0,
                      64, absent, &count, e))
        return -1;
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        struct tensor *t = tensors_at(d->tensors, i);
        int layer, length = 0;
        if (sscanf(t->name, "model.layers.%d.%n", &layer, &length) == 1 && length &&
            layer >= d->layers && layer < d->layers + count && !t->merged)
            t->used = 1;
    }
    return 0;
}

/* Published files have layers for the next tokens after the model's own; these are skipped. */
static int finish_glm4_moe(struct decoder *d, struct error *e)
{
    return skip_next_layers(d, 1, e);
}

static int finish_sarvam_moe(struct decoder *d, struct error *e)
{
    return skip_next_layers(d, 0, e);
}

/* Windows are in every other layer if use_sliding_window is set and layer_types absent. */
static int finish_qwen2_moe(struct decoder *d, struct error *e)
{
    int on;
    if (config_bool_or(d->config, "use_sliding_window", 0, &on, e))
        return -1;
    return on && !config_get(d->config, "layer_types")
               ? fail(e,
                      "%s: use_sliding_window true without layer_types is not supported (expected "
                      "layer_types beside it)",
                      config_path(d->config))
               : 0;
}

/* Its experts have a fixed gating, whatever hidden_act says. */
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
            return fail(e, "%s: %s %g is not supported (expected %g)", config_path(d->config),
                        fixed[i].key, value, fixed[i].only);
    }
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].activation = ACTIVATION_CLAMPED;
    return 0;
}

/* Layers for the next tokens under another name, as above. */
static int finish_next_tokens(struct decoder *d, struct error *e)
{
    (void)e;
    for (size_t i = 0; i < tensors_count(d->tensors); i++) {
        struct tensor *t = tensors_at(d->tensors, i);
        if ((strncmp(t->name, "mtp.", 4) == 0 || strncmp(t->name, "model.mtp_", 10) == 0) &&
            !t->merged)
            t->used = 1;
    }
    return 0;
}

/* Sums of the chosen weights are from softmax, far above the smallest divisor. */
static int finish_ernie4_5_moe(struct decoder *d, struct error *e)
{
    double least;
    return config_real_or(d->config, "moe_norm_min", 0, 1e-6, 1e-12, &least, e) ||
                   family_only(d, "use_bias", 0, 0, e)
               ? -1
               : finish_next_tokens(d, e);
}

/* Without layer_types the library's rule differs from other families'. */
static int finish_flint(struct decoder *d, struct error *e)
{
    return config_get(d->config, "layer_types")
               ? 0
               : fail(e, "%s: layer_types is missing (expected the attention of each of %d layers)",
                      config_path(d->config), d->layers);
}

/* Its code makes angles for a part of a head, and rotates whole heads. */
static int finish_solar_open(struct decoder *d, struct error *e)
{
    return d->rotary[0].other_fraction ? fail(e,
                                              "%s: partial_rotary_factor is not supported in a "
                                              "solar_open model (expected 1)",
                                              config_path(d->config))
                                       : 0;
}

/* Its experts have a fixed gating, and the shared one that of hidden_act. */
static int finish_aria_text(struct decoder *d, struct error *e)
{
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].activation != ACTIVATION_SILU)
            return fail(e,
                        "%s: hidden_act other than silu is not supported in an aria_text model, "
                        "whose experts have silu in any case",
                        config_path(d->config));
    return 0;
}

/* Weights of the chosen are divided by their sum, or not; the library also has other norms of them.
 * The base of its positions is in attn_config, where published files and their code have it; the
 * library reads it elsewhere, and writes both. */
static int finish_dbrx(struct decoder *d, struct error *e)
{
    static const char weights[] = "ffn_config.moe_normalize_expert_weights";
    static const char *const bases[] = {"attn_config.rope_theta", "rope_theta",
                                        "rope_parameters.rope_theta"};
    struct config *c = d->config;
    double clip, norm, base, used = d->rotary[0].base;
    if (config_real_or(c, "attn_config.clip_qkv", 1e-30, 1e30, 0, &clip, e) ||
        config_real_or(c, weights, 0, 1e9, 0, &norm, e) ||
        family_only(d, "ffn_config.uniform_expert_assignment", 0, 0, e) ||
        family_only(d, "tie_word_embeddings", 0, 0, e))
        return -1;
    if (config_has(c, weights) && norm != 1)
        return fail(e, "%s: %s %g is not supported (expected 1 or null)", config_path(c), weights,
                    norm);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (config_real_or(c, bases[i], 1e-6, 1e12, used, &base, e))
            return -1;
        if (base != used)
            return fail(e,
                        "%s: %s %g differs from the base %g that is given elsewhere or by default",
                        config_path(c), bases[i], base, used);
    }
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].clip = clip, d->blocks[l].experts.routing.normalised = norm == 1;
    return 0;
}

static const struct expert_layout mixtral_experts = {MIXTRAL_EXPERTS, .older_count = "num_experts",
                                                     .other_router = "mlp.gate"};
static const struct expert_layout qwen2_moe_experts = {QWEN_EXPERTS,
                                                       .count = "num_experts",
                                                       .width = "moe_intermediate_size",
                                                       .shared_width =
                                                           "shared_expert_intermediate_size",
                                                       .shared = "mlp.shared_expert",
                                                       .shared_gated = 1,
                                                       SOME_LAYERS};
static const struct expert_layout qwen3_moe_experts = {QWEN_EXPERTS, .count = "num_local_experts",
                                                       .older_count = "num_experts",
                                                       .width = "moe_intermediate_size",
                                                       SOME_LAYERS};
static const struct expert_layout olmoe_experts = {QWEN_EXPERTS, .count = "num_experts",
                                                   .older_count = "num_local_experts"};
static const struct expert_layout glm4_moe_experts = {QWEN_EXPERTS,
                                                      .count = "n_routed_experts",
                                                      .older_count = "num_local_experts",
                                                      .width = "moe_intermediate_size",
                                                      .shared_count = "n_shared_experts",
                                                      .first_dense = "first_k_dense_replace",
                                                      .dense_absent = 1,
                                                      BY_GROUPS,
                                                      .factor_absent = 1,
                                                      .correction =
                                                          "mlp.gate.e_score_correction_bias",
                                                      .shared_absent = 1,
                                                      .normalised = 1,
                                                      .shared = "mlp.shared_experts"};
static const struct expert_layout sarvam_moe_experts = {QWEN_EXPERTS,
                                                        .count = "n_routed_experts",
                                                        .width = "moe_intermediate_size",
                                                        .shared_count = "n_shared_experts",
                                                        .first_dense = "first_k_dense_replace",
                                                        .dense_absent = 1,
                                                        BY_GROUPS,
                                                        .factor_absent = 2.5,
                                                        .correction = "mlp.gate.expert_bias",
                                                        .other_correction =
                                                            "mlp.gate.e_score_correction_bias",
                                                        .shared_absent = 1,
                                                        .normalised = 1,
                                                        .shared = "mlp.shared_experts"};
static const struct expert_layout phimoe_experts = {MIXTRAL_EXPERTS, .scoring = SCORING_SPARSEMIXER,
                                                    .other_router = "mlp.router"};
static const struct expert_layout gpt_oss_experts = {.count = "num_local_experts",
                                                     .older_count = "num_experts",
                                                     .normalised = -1,
                                                     .biased = 1,
                                                     .turned = 1,
                                                     .alternating = 1,
                                                     .router = "mlp.router",
                                                     .gate_up = {"mlp.experts.gate_up_proj"},
                                                     .stacked_down = {"mlp.experts.down_proj"}};

static const struct expert_layout hunyuan_v1_moe_experts = {QWEN_EXPERTS_OF("mlp.gate.wg"),
                                                            .count = "num_experts",
                                                            .older_count = "num_local_experts",
                                                            .chosen = "moe_topk",
                                                            .older_chosen = "num_experts_per_tok",
                                                            .normalised = -1,
                                                            .shared_absent = 1,
                                                            .shared = "mlp.shared_mlp"};
#define GRANITE_EXPERTS \
    .count = "num_local_experts", .normalised = -1, .router = "block_sparse_moe.router.layer", \
    .other_router = "block_sparse_moe.router", \
    .gate_up = {"block_sparse_moe.input_linear.weight", "block_sparse_moe.experts.gate_up_proj"}, \
    .stacked_down = {"block_sparse_moe.output_linear.weight", \
                     "block_sparse_moe.experts.down_proj"}
static const struct expert_layout granitemoe_experts = {GRANITE_EXPERTS};
static const struct expert_layout granitemoeshared_experts = {
    GRANITE_EXPERTS, .shared_width = "shared_intermediate_size",
    .shared_gate_up = "shared_mlp.input_linear", .shared_down = "shared_mlp.output_linear"};
static const struct expert_layout dots1_experts = {QWEN_EXPERTS,
                                                   .count = "n_routed_experts",
                                                   .older_count = "num_local_experts",
                                                   .width = "moe_intermediate_size",
                                                   .first_dense = "first_k_dense_replace",
                                                   BY_GROUPS,
                                                   .factor_absent = 1,
                                                   .correction = "mlp.gate.e_score_correction_bias",
                                                   .shared_count = "n_shared_experts",
                                                   .shared = "mlp.shared_experts"};
static const struct expert_layout solar_open_experts = {QWEN_EXPERTS,
                                                        .count = "n_routed_experts",
                                                        .older_count = "num_local_experts",
                                                        .width = "moe_intermediate_size",
                                                        BY_GROUPS,
                                                        .factor_absent = 1,
                                                        .correction =
                                                            "mlp.gate.e_score_correction_bias",
                                                        .normalised = 1,
                                                        .shared_count = "n_shared_experts",
                                                        .shared_absent = 1,
                                                        .shared = "mlp.shared_experts"};
static const struct expert_layout exaone_moe_experts = {QWEN_EXPERTS,
                                                        .count = "num_experts",
                                                        .width = "moe_intermediate_size",
                                                        .first_dense = "first_k_dense_replace",
                                                        .dense_absent = 1,
                                                        .listed = 1,
                                                        BY_GROUPS,
                                                        .factor_absent = 2.5,
                                                        .correction = "mlp.e_score_correction_bias",
                                                        .other_correction =
                                                            "mlp.gate.e_score_correction_bias",
                                                        .normalised = 1,
                                                        .shared_count = "num_shared_experts",
                                                        .shared_absent = 1,
                                                        .shared = "mlp.shared_experts"};
static const struct expert_layout hy_v3_experts = {QWEN_EXPERTS_OF("mlp.router.gate"),
                                                   .other_router = "mlp.gate",
                                                   .count = "num_experts",
                                                   .older_count = "num_local_experts",
                                                   .width = "moe_intermediate_size",
                                                   .dense_absent = 1,
                                                   .listed = 1,
                                                   .scoring = SCORING_SIGMOID,
                                                   .factor = "router_scaling_factor",
                                                   .factor_absent = 2.826,
                                                   .correction = "mlp.expert_bias",
                                                   .other_correction =
                                                       "mlp.e_score_correction_bias",
                                                   .normalised = -1,
                                                   .shared_count = "num_shared_experts",
                                                   .shared_absent = 1,
                                                   .shared = "mlp.shared_mlp",
                                                   .other_shared = "mlp.shared_experts"};
static const struct expert_layout minimax_m2_experts = {
    MIXTRAL_EXPERTS,
    .older_count = "num_experts",
    .scoring = SCORING_SIGMOID,
    .correction = "block_sparse_moe.e_score_correction_bias",
    .other_correction = "mlp.e_score_correction_bias",
    .other_router = "mlp.gate"};
static const struct expert_layout flint_experts = {QWEN_EXPERTS,
                                                   .count = "num_experts",
                                                   .width = "moe_intermediate_size",
                                                   .dense_absent = 2,
                                                   SOME_LAYERS,
                                                   .scoring = SCORING_SIGMOID,
                                                   .normalised = 1,
                                                   .shared_width =
                                                       "shared_expert_intermediate_size",
                                                   .shared_absent = 1024,
                                                   .shared = "mlp.shared_expert"};
static const struct expert_layout mellum_experts = {QWEN_EXPERTS,
                                                    .count = "num_local_experts",
                                                    .older_count = "num_experts",
                                                    .width = "moe_intermediate_size",
                                                    .listed = 1,
                                                    .normalised = 1};
static const struct expert_layout ernie4_5_moe_experts = {
    QWEN_EXPERTS,
    .count = "moe_num_experts",
    .older_count = "num_experts",
    .chosen = "moe_k",
    .older_chosen = "num_experts_per_tok",
    .width = "moe_intermediate_size",
    .first_dense = "moe_layer_start_index",
    .dense_absent = 1,
    .step = "moe_layer_interval",
    .last = "moe_layer_end_index",
    .correction = "mlp.moe_statics.e_score_correction_bias",
    .other_correction = "mlp.gate.moe_statics.e_score_correction_bias",
    .normalised = -1,
    .shared_count = "moe_num_shared_experts",
    .shared_absent = 2,
    .shared = "mlp.shared_experts"};
static const struct expert_layout dbrx_experts = {.count = "ffn_config.moe_num_experts",
                                                  .chosen = "ffn_config.moe_top_k",
                                                  .width = "ffn_config.ffn_hidden_size",
                                                  .normalised = -1,
                                                  .router = "ffn.router.layer",
                                                  .parent = "ffn.experts.mlp",
                                                  .gate = "w1",
                                                  .up = "v1",
                                                  .down = "w2",
                                                  .below = 1};
static const struct expert_layout aria_text_experts = {.count = "moe_num_experts",
                                                       .chosen = "moe_topk",
                                                       .normalised = -1,
                                                       .turned = 1,
                                                       .router = "mlp.router",
                                                       .gate_up = {"mlp.experts.fc1.weight",
                                                                   "mlp.experts.gate_up_proj"},
                                                       .stacked_down = {"mlp.experts.fc2.weight",
                                                                        "mlp.experts.down_proj"},
                                                       .shared_count = "moe_num_shared_experts",
                                                       .shared_absent = 2,
                                                       .shared = "mlp.shared_experts"};

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
                                        .window_first_absent = 28,
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
/* Names as in published files, or as the library has them in memory. */
static const struct names sarvam_in_memory = {LLAMA_NAMES, QK_NORMS};
static const struct alias of_published_sarvam[] = {{"num_experts", "n_routed_experts"},
                                                   {"num_local_experts", "n_routed_experts"},
                                                   {"num_shared_experts", "n_shared_experts"},
                                                   {"use_qkv_bias", "attention_bias"},
                                                   {NULL, NULL}};
static const struct layout sarvam_moe = {LLAMA(1e-6),
                                         .names = {.prefix = "model.",
                                                   .embedding = "word_embeddings",
                                                   .layers = "layers",
                                                   .final_norm = "norm",
                                                   .head = "lm_head",
                                                   .attention_norm = "input_layernorm",
                                                   NORM_BEFORE_MLP,
                                                   .fused = "attention.query_key_value",
                                                   .output = "attention.dense",
                                                   .query_norm = "attention.query_layernorm",
                                                   .key_norm = "attention.key_layernorm",
                                                   GATED},
                                         .other_names = &sarvam_in_memory,
                                         .aliases = of_published_sarvam,
                                         .head_norms = KEY_OR_YES("use_qk_norm"),
                                         .head_size_absent = 64,
                                         ACTIVATION("hidden_act", "silu"),
                                         BIASES(KEY("attention_bias"), NO, NO),
                                         .rope = {ROTARY_PART(1), .theta_default = 8e6},
                                         .experts = &sarvam_moe_experts,
                                         .defaults = "{\"num_key_value_heads\": 4}",
                                         .finish = finish_sarvam_moe};
static const struct layout phimoe = {.norm = NORM_LAYER,
                                     .norm_bias = 1,
                                     EPSILON("rms_norm_eps", 1e-5),
                                     .grouped = 1,
                                     .sized = 1,
                                     .names = {LLAMA_NAMES},
                                     ACTIVATION("hidden_act", "silu"),
                                     BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                     .head_bias = KEY("lm_head_bias"),
                                     .rope = {ROTARY_WHOLE, .mscales = 1, .theta_default = 1000000},
                                     .windows = WINDOWS_ALL,
                                     .experts = &phimoe_experts,
                                     .defaults = "{\"num_key_value_heads\": 8}"};
static const struct layout gpt_oss = {LLAMA(1e-5),
                                      .names = {LLAMA_NAMES, .sinks = "self_attn.sinks"},
                                      .head_size_absent = 64,
                                      ACTIVATION("hidden_act", "silu"),
                                      BIASES(KEY_OR_YES("attention_bias"),
                                             KEY_OR_YES("attention_bias"), NO),
                                      .rope = {ROTARY_WHOLE, .required = 1,
                                               .theta_default = 150000},
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

static const struct layout hunyuan_v1_moe = {LLAMA(1e-5),
                                             .names = {LLAMA_NAMES,
                                                       .query_norm = "self_attn.query_layernorm",
                                                       .key_norm = "self_attn.key_layernorm"},
                                             .head_norms = YES,
                                             .head_norms_last = 1,
                                             ACTIVATION("hidden_act", "silu"),
                                             BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                    NO),
                                             .rope = {ROTARY_WHOLE, .alpha = 1},
                                             .experts = &hunyuan_v1_moe_experts};
static const struct layout granitemoeshared = {LLAMA(1e-6),
                                               .names = {LLAMA_NAMES},
                                               ACTIVATION("hidden_act", "silu"),
                                               BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                      NO),
                                               .rope = {ROTARY_WHOLE},
                                               .experts = &granitemoeshared_experts,
                                               .finish = finish_granite};
static const struct layout granitemoe_swa = {LLAMA(1e-6),
                                             .names = {LLAMA_NAMES, .sinks = "self_attn.sinks"},
                                             ACTIVATION("hidden_act", "silu"),
                                             BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                    NO),
                                             .rope = {ROTARY_WHOLE, .bases = "layer_rope_theta"},
                                             BUT_EVERY(4, 128),
                                             .pattern_first = 1,
                                             .experts = &granitemoeshared_experts,
                                             .finish = finish_granite};
static const struct layout flex_olmo = {LLAMA(1e-6),
                                        .names = {FRAME_WITHOUT_NORM, NORMS_BEHIND, SPLIT, OUTPUT,
                                                  GATED, QK_NORMS},
                                        .head_norms = YES,
                                        .head_norms_of = HEADS_WHOLE,
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                        .rope = {ROTARY_WHOLE, .theta_default = 500000},
                                        .experts = &olmoe_experts};
static const struct layout dots1 = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES, QK_NORMS},
                                    .head_norms = YES,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .windows = WINDOWS_FROM,
                                    .window_absent = 4096,
                                    .window_first_absent = 62,
                                    .experts = &dots1_experts,
                                    .defaults = "{\"num_key_value_heads\": 32}"};
static const struct layout solar_open = {LLAMA(1e-5),
                                         .inner = "moe_intermediate_size",
                                         .names = {LLAMA_NAMES},
                                         .head_size_absent = 128,
                                         ACTIVATION("hidden_act", "silu"),
                                         BIASES(KEY("attention_bias"), NO, NO),
                                         .rope = {ROTARY_WHOLE, .theta_default = 1000000},
                                         .experts = &solar_open_experts,
                                         .defaults = "{\"num_key_value_heads\": 8}",
                                         .finish = finish_solar_open};
static const struct layout exaone_moe = {LLAMA(1e-5),
                                         .names = {LLAMA_NAMES, QK_NORMS},
                                         .head_norms = YES,
                                         ACTIVATION("hidden_act", "silu"),
                                         .rope = {ROTARY_WHOLE},
                                         .turned = TURNED_WINDOWS_OR_ALL,
                                         BUT_EVERY(4, 4096),
                                         .pattern = "sliding_window_pattern",
                                         .experts = &exaone_moe_experts,
                                         .defaults = "{\"num_key_value_heads\": 32}",
                                         .finish = finish_next_tokens};
static const struct layout hy_v3 = {LLAMA(1e-5),
                                    .names = {LLAMA_NAMES, QK_NORMS},
                                    .head_norms = YES,
                                    .head_size_absent = 128,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                           KEY("mlp_bias")),
                                    .rope = {ROTARY_WHOLE, .theta_default = 11158840},
                                    .experts = &hy_v3_experts,
                                    .defaults = "{\"num_key_value_heads\": 8}",
                                    .finish = finish_glm4_moe};
static const struct layout minimax_m2 = {LLAMA(1e-6),
                                         .names = {LLAMA_NAMES, QK_NORMS},
                                         .head_norms = YES,
                                         .head_norms_of = HEADS_WHOLE,
                                         .head_size_absent = 128,
                                         ACTIVATION("hidden_act", "silu"),
                                         .rope = {ROTARY_PART(1), .rotated = "rotary_dim",
                                                  .theta_default = 5000000},
                                         .experts = &minimax_m2_experts,
                                         .defaults = "{\"num_key_value_heads\": 8}"};
static const struct layout flint = {LLAMA(1e-6),
                                    .names = {LLAMA_NAMES, QK_NORMS,
                                              .sinks = "self_attn.softmax_offset",
                                              .other_sinks = "self_attn.sinks"},
                                    .head_norms = YES,
                                    .head_size_absent = 128,
                                    ACTIVATION("hidden_act", "silu"),
                                    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
                                    .rope = {ROTARY_WHOLE},
                                    .turned = TURNED_WINDOWS,
                                    .windows = WINDOWS_NAMED,
                                    .window_absent = 513,
                                    .experts = &flint_experts,
                                    .defaults = "{\"num_key_value_heads\": 4}",
                                    .finish = finish_flint};
static const struct layout mellum = {
    LLAMA(1e-6),
    .names = {LLAMA_NAMES, QK_NORMS},
    .head_norms = YES,
    .head_size_absent = 128,
    ACTIVATION("hidden_act", "silu"),
    BIASES(KEY("attention_bias"), KEY("attention_bias"), NO),
    .rope = {.theta = "rope_parameters.full_attention.rope_theta",
             .fraction = "rope_parameters.full_attention.partial_rotary_factor",
             .fraction_default = 1,
             .by_kind = 1,
             .theta_default = 500000,
             .local_theta_default = 10000},
    .turned = TURNED_BY_KIND,
    .windows = WINDOWS_NAMED,
    .window_absent = 1024,
    .experts = &mellum_experts,
    .defaults = "{\"num_key_value_heads\": 4}",
    .finish = finish_next_tokens};
static const struct layout ernie4_5_moe = {LLAMA(1e-5),
                                           .names = {LLAMA_NAMES},
                                           ACTIVATION("hidden_act", "silu"),
                                           .rope = {ROTARY_WHOLE, .pairing = PAIRING_INTERLEAVED,
                                                    .theta_default = 500000},
                                           .tied = 1,
                                           .experts = &ernie4_5_moe_experts,
                                           .defaults = "{\"num_key_value_heads\": 4}",
                                           .finish = finish_ernie4_5_moe};
static const struct layout aria_text = {LLAMA(1e-6),
                                        .names = {LLAMA_NAMES},
                                        ACTIVATION("hidden_act", "silu"),
                                        BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                               KEY("mlp_bias")),
                                        .rope = {ROTARY_WHOLE},
                                        .experts = &aria_text_experts,
                                        .defaults = "{\"moe_num_experts\": 8, \"moe_topk\": 2}",
                                        .finish = finish_aria_text};

static const struct layout dbrx = {
    .hidden = "d_model",
    .layers = "n_layers",
    .heads = "n_heads",
    .inner = "ffn_config.ffn_hidden_size",
    .grouped = 1,
    .kv_heads = "attn_config.kv_n_heads",
    .norm = NORM_LAYER,
    EPSILON(NULL, 1e-5),
    .names = {.prefix = "transformer.",
              .embedding = "wte",
              .layers = "blocks",
              .final_norm = "norm_f",
              .head = "lm_head",
              .attention_norm = "norm_attn_norm.norm_1",
              .mlp_norm = "norm_attn_norm.norm_2",
              .fused = "norm_attn_norm.attn.Wqkv",
              .output = "norm_attn_norm.attn.out_proj"},
    ACTIVATION("ffn_config.ffn_act_fn.name", "silu"),
    .rope = {.theta = "attn_config.rope_theta",
             .fraction = "partial_rotary_factor",
             .fraction_default = 1,
             .whole_heads = 1},
    .experts = &dbrx_experts,
    .defaults = "{\"attn_config\": {\"kv_n_heads\": 1}, \"ffn_config\": {\"moe_num_experts\": 4, "
                "\"moe_top_k\": 1, "
                "\"ffn_hidden_size\": 3584, \"moe_normalize_expert_weights\": 1}}",
    .finish = finish_dbrx};

static const char *const of_routers[] = {"output_router_logits", "router_aux_loss_coef",
                                         "router_jitter_noise", NULL};
static const char *const of_gpt_oss[] = {"experts_per_token", "initial_context_length",
                                         "output_router_logits", "router_aux_loss_coef", NULL};
static const char *const of_phimoe[] = {"input_jitter_noise", "original_max_position_embeddings",
                                        "output_router_logits", "router_aux_loss_coef", NULL};
static const char *const of_qwen3_moe[] = {"max_window_layers", "output_router_logits",
                                           "router_aux_loss_coef", NULL};
static const char *const some_layers[] = {"mlp_only_layers", "num_key_value_heads",
                                          "partial_rotary_factor", NULL};
static const char *const of_hunyuan[] = {"eod_token_id", "output_router_logits", "pretraining_tp",
                                         "router_aux_loss_coef", NULL};
static const char *const of_dots1[] = {"n_routed_experts",
                                       "n_shared_experts",
                                       "num_experts_per_tok",
                                       "num_key_value_heads",
                                       "partial_rotary_factor",
                                       "head_dim",
                                       NULL};
static const char *const listed_of_size[] = {"mlp_layer_types", "num_key_value_heads",
                                             "partial_rotary_factor", NULL};
static const char *const of_aria_text[] = {"output_router_logits", "pretraining_tp",
                                           "router_aux_loss_coef", NULL};
/* A part of the configuration has the library's general form, with keys for any model. */
static const char *const of_dbrx[] = {"attn_config.add_cross_attention",
                                      "attn_config.bos_token_id",
                                      "attn_config.cross_attention_hidden_size",
                                      "attn_config.is_encoder_decoder",
                                      "attn_config.pruned_heads",
                                      "attn_config.tie_word_embeddings",
                                      "emb_pdrop",
                                      "ffn_config.add_cross_attention",
                                      "ffn_config.bos_token_id",
                                      "ffn_config.cross_attention_hidden_size",
                                      "ffn_config.hidden_size",
                                      "ffn_config.is_encoder_decoder",
                                      "ffn_config.moe_jitter_eps",
                                      "ffn_config.moe_loss_weight",
                                      "ffn_config.pruned_heads",
                                      "ffn_config.tie_word_embeddings",
                                      "max_seq_len",
                                      "num_key_value_heads",
                                      "output_router_logits",
                                      "router_aux_loss_coef",
                                      NULL};
static const char *const dbrx_null[] = {"attn_config",
                                        "attn_config.clip_qkv",
                                        "ffn_config",
                                        "ffn_config.ffn_act_fn",
                                        "ffn_config.moe_normalize_expert_weights",
                                        "partial_rotary_factor",
                                        "head_dim",
                                        NULL};
static const char *const of_solar_open[] = {"intermediate_size", "output_router_logits",
                                            "router_aux_loss_coef", NULL};
static const char *const of_hy_v3[] = {"enable_moe_fp32_combine", "output_router_logits",
                                       "router_aux_loss_coef", NULL};
static const char *const of_mellum[] = {"mtp_layer_types",      "mtp_mlp_layer_types",
                                        "num_mtp_layers",       "num_nextn_predict_layers",
                                        "output_router_logits", "router_aux_loss_coef",
                                        "rope_theta",           NULL};
static const char *const bases[] = {"layer_rope_theta", "num_key_value_heads",
                                    "partial_rotary_factor", "head_dim", NULL};
static const char *const listed[] = {"mlp_layer_types",
                                     "sliding_window_pattern",
                                     "num_key_value_heads",
                                     "partial_rotary_factor",
                                     "head_dim",
                                     NULL};
static const char *const heads[] = {"num_key_value_heads", "partial_rotary_factor", "head_dim",
                                    NULL};
static const char *const heads_of_size[] = {"num_key_value_heads", "partial_rotary_factor", NULL};
static const char *const kv_heads[] = {"num_key_value_heads",
                                       NULL}; /* null means a whole head, absence half */
static const char *const clip[] = {"clip_qkv", "num_key_value_heads", "partial_rotary_factor",
                                   "head_dim", NULL};

const struct family families_mixtures[] = {
    {ROW(mixtral), .harmless = of_routers, .nullable = heads},
    {ROW(qwen2_moe), .harmless = of_routers, .nullable = some_layers},
    {ROW(qwen3_moe), .harmless = of_qwen3_moe, .nullable = some_layers},
    {ROW(olmoe), .harmless = of_routers, .nullable = clip},
    {ROW(glm4_moe), .harmless = of_routers, .nullable = kv_heads},
    {ROW(sarvam_moe), .harmless = of_routers, .nullable = kv_heads},
    {ROW(gpt_oss), .harmless = of_gpt_oss, .nullable = heads_of_size},
    {ROW(phimoe), .harmless = of_phimoe, .nullable = heads},
    {ROW(granitemoe), .harmless = of_routers, .nullable = heads},
    {ROW(hunyuan_v1_moe), .harmless = of_hunyuan, .nullable = heads},
    {ROW(granitemoeshared), .harmless = of_routers, .nullable = heads},
    {ROW(granitemoe_swa), .harmless = of_routers, .nullable = bases},
    {ROW(flex_olmo), .harmless = of_routers, .nullable = heads},
    {ROW(dots1), .harmless = of_routers, .nullable = of_dots1},
    {ROW(solar_open), .harmless = of_solar_open, .nullable = kv_heads},
    {ROW(exaone_moe), .harmless = of_routers, .nullable = listed},
    {ROW(hy_v3), .harmless = of_hy_v3, .nullable = listed_of_size},
    {ROW(minimax_m2), .harmless = of_routers, .nullable = kv_heads},
    {ROW(flint), .harmless = of_routers, .nullable = some_layers},
    {ROW(mellum), .harmless = of_mellum, .nullable = listed_of_size},
    {ROW(ernie4_5_moe), .harmless = of_routers, .nullable = heads},
    {ROW(aria_text), .harmless = of_aria_text, .nullable = heads},
    {ROW(dbrx), .harmless = of_dbrx, .nullable = dbrx_null},
    {.name = NULL}};
