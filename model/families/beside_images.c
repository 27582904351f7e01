/* The language models of checkpoints that also see or hear (model/outer.h), where they are types of
 * their own. Tokens of images have positions of three coordinates, tokens of text one. Defaults are
 * the library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

static int finish_glm4v_moe(struct decoder *d, struct error *e)
{
    return skip_next_layers(d, 1, e);
}

static const struct layout qwen2_vl_text = {.norm = NORM_RMS,
                                            EPSILON("rms_norm_eps", 1e-5),
                                            .grouped = 1,
                                            .names = {LLAMA_NAMES},
                                            ACTIVATION("hidden_act", "silu"),
                                            BIASES(YES, NO, NO),
                                            .rope = {ROTARY_WHOLE, .sections = 1,
                                                     .theta_default = 1e6},
                                            .windows = WINDOWS_SWITCHED,
                                            .window_first_absent = 80,
                                            .window_absent = 4096,
                                            .defaults = "{\"num_key_value_heads\": 8}"};
static const struct layout qwen3_vl_text = {LLAMA(1e-6),
                                            .names = {LLAMA_NAMES, QK_NORMS},
                                            .head_norms = YES,
                                            .head_size_absent = 128,
                                            ACTIVATION("hidden_act", "silu"),
                                            BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                   NO),
                                            .rope = {ROTARY_WHOLE, .sections = 1,
                                                     .theta_default = 5e5},
                                            .defaults = "{\"num_key_value_heads\": 32}"};
static const struct layout glm4v_text = {
    .norm = NORM_RMS,
    EPSILON("rms_norm_eps", 1e-5),
    .grouped = 1,
    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT, .gate_up = "mlp.gate_up_proj",
              .down = "mlp.down_proj", .attention_post_norm = "post_self_attn_layernorm",
              .mlp_post_norm = "post_mlp_layernorm"},
    ACTIVATION("hidden_act", "silu"),
    BIASES(YES, NO, NO),
    .rope = {ROTARY_PART(1), .sections = 1, .pairing = PAIRING_INTERLEAVED},
    .defaults = "{\"num_key_value_heads\": 2}"};

static const struct expert_layout qwen3_vl_moe_experts = {QWEN_EXPERTS,
                                                          .count = "num_experts",
                                                          .older_count = "num_local_experts",
                                                          .width = "moe_intermediate_size",
                                                          .normalised = -1,
                                                          .turned = -1,
                                                          SOME_LAYERS};
static const struct expert_layout qwen3_omni_moe_experts = {QWEN_EXPERTS,
                                                            .count = "num_experts",
                                                            .older_count = "num_local_experts",
                                                            .width = "moe_intermediate_size",
                                                            .normalised = 1,
                                                            SOME_LAYERS};
static const struct expert_layout glm4v_moe_experts = {QWEN_EXPERTS,
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
static const struct layout qwen3_vl_moe_text = {LLAMA(1e-6),
                                                .names = {LLAMA_NAMES, QK_NORMS},
                                                .head_norms = YES,
                                                ACTIVATION("hidden_act", "silu"),
                                                BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                                       NO),
                                                .rope = {ROTARY_WHOLE, .sections = 1,
                                                         .theta_default = 5e5},
                                                .tied = 1,
                                                .experts = &qwen3_vl_moe_experts,
                                                .defaults = "{\"num_key_value_heads\": 16}"};
static const struct layout qwen3_omni_moe_text = {LLAMA(1e-6),
                                                  .names = {LLAMA_NAMES, QK_NORMS},
                                                  .head_norms = YES,
                                                  ACTIVATION("hidden_act", "silu"),
                                                  BIASES(KEY("attention_bias"),
                                                         KEY("attention_bias"), NO),
                                                  .rope = {ROTARY_WHOLE, .sections = 1,
                                                           .theta_default = 1e6},
                                                  .experts = &qwen3_omni_moe_experts,
                                                  .defaults = "{\"num_key_value_heads\": 4}"};
static const struct layout glm4v_moe_text = {LLAMA(1e-5),
                                             .names = {LLAMA_NAMES},
                                             ACTIVATION("hidden_act", "silu"),
                                             BIASES(KEY_OR_YES("attention_bias"), NO, NO),
                                             .rope = {ROTARY_PART(0.5), .sections = 1},
                                             .experts = &glm4v_moe_experts,
                                             .defaults = "{\"num_key_value_heads\": 8}",
                                             .finish = finish_glm4v_moe};

static const char *const none[] = {NULL};
static const char *const of_routers[] = {"output_router_logits", "router_aux_loss_coef", NULL};
static const char *const kv_heads[] = {"num_key_value_heads", NULL};
static const char *const some_layers[] = {"head_dim", "mlp_only_layers", "num_key_value_heads",
                                          NULL};

const struct family families_beside_images[] = {
    {.name = "qwen2_vl_text",
     .model_types = {"qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text"},
     .layout = &qwen2_vl_text,
     .ignored_suffixes = {".rotary_emb.inv_freq"},
     .harmless = none,
     .nullable = kv_heads},
    {ROW(qwen3_vl_text), .harmless = none, .nullable = kv_heads},
    {ROW(qwen3_vl_moe_text), .harmless = of_routers, .nullable = some_layers},
    {ROW(qwen3_omni_moe_text), .harmless = of_routers, .nullable = some_layers},
    {ROW(glm4v_text), .harmless = none, .nullable = kv_heads},
    {ROW(glm4v_moe_text), .harmless = of_routers, .nullable = none},
    {.name = NULL}};
