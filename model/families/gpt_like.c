/* GPT-2 and its relatives: layer norms, an MLP that is usually not gated, learned or rotary
 * positions. They differ in names, biases, fused projections and the start of the residual
 * branches. Defaults are the library's: huggingface/transformers, models/FAMILY. */
#include "model/layout.h"

#include <math.h>
#include <string.h>

/* names used by GPT-2's publishers, and later ones */
#define GPT2_FRAME \
    .prefix = "transformer.", .embedding = "wte", .layers = "h", .final_norm = "ln_f", \
    .head = "lm_head", .attention_norm = "ln_1"
#define GPT2_SIZES \
    .hidden = "n_embd", .layers = "n_layer", .heads = "n_head", .inner = "n_inner", .inner_times = 4
/* names of models from fairseq */
#define FAIRSEQ_NAMES \
    .embedding = "embed_tokens", .layers = "layers", .final_norm = "layer_norm", \
    .attention_norm = "self_attn_layer_norm", SPLIT, .output = "self_attn.out_proj", \
    .mlp_norm = "final_layer_norm", .up = "fc1", .down = "fc2"
#define LAYER_NORM(epsilon) .norm = NORM_LAYER, .norm_bias = 1, EPSILON(epsilon, 1e-5)

static int finish_gpt2(struct decoder *d, struct error *e)
{
    int scaled, by_layer;
    if (config_bool_or(d->config, "scale_attn_weights", 1, &scaled, e) ||
        config_bool_or(d->config, "scale_attn_by_inverse_layer_idx", 0, &by_layer, e))
        return -1;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = (scaled ? 1 / sqrt(d->head_size) : 1) / (by_layer ? l + 1 : 1);
    return 0;
}

/* nanoGPT trains on segments of as many inputs as it has positions. */
static int finish_nanogpt(struct decoder *d, struct error *e)
{
    (void)e;
    d->train_length = d->position_limit;
    return 0;
}

/* Scores without a factor, and windows in the layers that attention_types calls local. */
static int name_layer(struct decoder *d, int l, const json_t *kind, long window, struct error *e)
{
    const char *text = json_string_value(kind);
    int local = text && strcmp(text, "local") == 0;
    if (!local && !(text && strcmp(text, "global") == 0))
        return fail(e,
                    "%s: attention of layer %d: '%s' is not supported (supported: global, local)",
                    config_path(d->config), l + 1, text ? text : "not a string");
    if (l < d->layers)
        d->blocks[l].score.window = local ? (int)window : 0;
    return 0;
}

static int finish_gpt_neo(struct decoder *d, struct error *e)
{
    static const char *const usual = "[[[\"global\", \"local\"], 12]]";
    struct config *c = d->config;
    json_t *layers = config_get(c, "attention_layers"), *types = config_get(c, "attention_types"),
           *otherwise = json_loads(usual, 0, NULL);
    long window;
    int named = 0, bad = config_int_or(c, "window_size", 1, 1 << 30, 256, &window, e);
    const json_t *pairs = types ? types : otherwise;
    for (size_t i = 0; layers && !bad && i < json_array_size(layers); i++)
        bad = name_layer(d, named++, json_array_get(layers, i), window, e);
    for (size_t i = 0; !layers && !bad && i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i), *kinds = json_array_get(pair, 0);
        json_int_t times = json_integer_value(json_array_get(pair, 1));
        for (json_int_t t = 0; t < times && !bad && named <= d->layers; t++)
            for (size_t j = 0; !bad && j < json_array_size(kinds); j++)
                bad = name_layer(d, named++, json_array_get(kinds, j), window, e);
    }
    json_decref(otherwise);
    if (bad)
        return -1;
    if (named != d->layers)
        return fail(e, "%s: %s does not name the attention of %d layers", config_path(c),
                    layers ? "attention_layers" : "attention_types", d->layers);
    int local = 0;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.scale = 1, local += d->blocks[l].score.window > 0;
    if (local)
        family_describe(d, "window %ld%s", window, local < d->layers ? " in some layers" : "");
    return 0;
}

static int finish_gpt_bigcode(struct decoder *d, struct error *e)
{
    int scaled;
    if (config_bool_or(d->config, "scale_attn_weights", 1, &scaled, e))
        return -1;
    for (int l = 0; l < d->layers && !scaled; l++)
        d->blocks[l].score.scale = 1;
    return 0;
}

/* The row of positions at a padding token's id is zero, so no position may use it. */
static int finish_xglm(struct decoder *d, struct error *e)
{
    long padding;
    return config_int_or(d->config, "pad_token_id", 0, 1, 1, &padding, e);
}

/* An activation called gelu is its tanh form. */
static int finish_openai_gpt(struct decoder *d, struct error *e)
{
    (void)e;
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].activation == ACTIVATION_GELU)
            d->blocks[l].activation = ACTIVATION_GELU_TANH;
    return 0;
}

/* The key of epsilon is only for the last norm, and there is a table of this many positions. */
static int finish_ctrl(struct decoder *d, struct error *e)
{
    long limit;
    if (config_int_or(d->config, family_either(d, "max_position_embeddings", "n_positions"), 1,
                      1 << 30, 256, &limit, e))
        return -1;
    d->position_limit = (int)limit;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].attention_norm.epsilon = d->blocks[l].mlp_norm.epsilon = 1e-6;
    return 0;
}

/* The only bias of attention, in the last layer. */
static int finish_gpt_neox_japanese(struct decoder *d, struct error *e)
{
    const char *prefix = family_prefix(d, "gpt_neox_japanese.", "embed_in.weight");
    int last = d->layers - 1;
    return family_vector(&d->blocks[last].output.bias, d, (size_t)d->hidden, e,
                         "%slayers.%d.attention.dense_bias", prefix, last);
}

static const struct layout gpt2 = {GPT2_SIZES,
                                   LAYER_NORM("layer_norm_epsilon"),
                                   ACTIVATION("activation_function", "gelu_new"),
                                   BIASES(YES, YES, YES),
                                   .names = {GPT2_FRAME, .positions = "wpe", .fused = "attn.c_attn",
                                             .output = "attn.c_proj", .mlp_norm = "ln_2",
                                             .up = "mlp.c_fc", .down = "mlp.c_proj"},
                                   .learned = "max_position_embeddings",
                                   .older_learned = "n_positions",
                                   .transposed = 1,
                                   .tied = 1,
                                   .finish = finish_gpt2};
/* of nanoGPT: GPT-2 with matrices stored [out, in], and with or without biases */
static const struct layout nanogpt = {
    GPT2_SIZES,
    LAYER_NORM(NULL),
    .norm_bias_key = "bias",
    ACTIVATION(NULL, "gelu"),
    BIASES(KEY_OR_YES("bias"), KEY_OR_YES("bias"), KEY_OR_YES("bias")),
    .names = {GPT2_FRAME, .positions = "wpe", .fused = "attn.c_attn", .output = "attn.c_proj",
              .mlp_norm = "ln_2", .up = "mlp.c_fc", .down = "mlp.c_proj"},
    .learned = "block_size",
    .tied = 1,
    .finish = finish_nanogpt};
static const struct layout gpt_neox = {
    LAYER_NORM("layer_norm_eps"),
    ACTIVATION("hidden_act", "gelu"),
    BIASES(KEY_OR_YES("attention_bias"), KEY_OR_YES("attention_bias"), YES),
    .names = {.prefix = "gpt_neox.",
              .embedding = "embed_in",
              .layers = "layers",
              .final_norm = "final_layer_norm",
              .attention_norm = "input_layernorm",
              .fused = "attention.query_key_value",
              .output = "attention.dense",
              .mlp_norm = "post_attention_layernorm",
              .up = "mlp.dense_h_to_4h",
              .down = "mlp.dense_4h_to_h",
              .head = "lm_head",
              .older_head = "embed_out"}, /* the library renames the head on save */
    .rope = {.theta = "rotary_emb_base", .fraction = "rotary_pct", .fraction_default = 0.25},
    .fused = FUSED_HEADS,
    .parallel = KEY_OR_YES("use_parallel_residual")};
static const struct layout gptj = {GPT2_SIZES,
                                   LAYER_NORM("layer_norm_epsilon"),
                                   ACTIVATION("activation_function", "gelu_new"),
                                   BIASES(NO, NO, YES),
                                   .names = {GPT2_FRAME, .query = "attn.q_proj",
                                             .key = "attn.k_proj", .value = "attn.v_proj",
                                             .output = "attn.out_proj", .up = "mlp.fc_in",
                                             .down = "mlp.fc_out"},
                                   .rotary_dim = 64,
                                   .parallel = YES,
                                   .one_norm = 1,
                                   .head_bias = YES};
static const struct layout phi = {.grouped = 1,
                                  LAYER_NORM("layer_norm_eps"),
                                  ACTIVATION("hidden_act", "gelu_new"),
                                  BIASES(YES, YES, YES),
                                  .names = {.prefix = "model.",
                                            .embedding = "embed_tokens",
                                            .layers = "layers",
                                            .final_norm = "final_layernorm",
                                            .head = "lm_head",
                                            .attention_norm = "input_layernorm",
                                            SPLIT,
                                            .output = "self_attn.dense",
                                            .query_norm = "self_attn.q_layernorm",
                                            .key_norm = "self_attn.k_layernorm",
                                            .up = "mlp.fc1",
                                            .down = "mlp.fc2"},
                                  .head_norms = KEY("qk_layernorm"),
                                  .rope = {ROTARY_PART(0.5)},
                                  .parallel = YES,
                                  .one_norm = 1,
                                  .head_bias = YES};
static const struct layout starcoder2 = {LAYER_NORM("norm_epsilon"),
                                         .grouped = 1,
                                         .sized = 1,
                                         .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                                   .up = "mlp.c_fc", .down = "mlp.c_proj"},
                                         ACTIVATION("hidden_act", "gelu_pytorch_tanh"),
                                         BIASES(KEY_OR_YES("use_bias"), KEY_OR_YES("use_bias"),
                                                KEY_OR_YES("use_bias")),
                                         .rope = {ROTARY_WHOLE},
                                         .windows = WINDOWS_ALL,
                                         .tied = 1};
static const struct layout gpt_neo = {
    .layers = "num_layers",
    .heads = "num_heads",
    .inner_times = 4,
    LAYER_NORM("layer_norm_epsilon"),
    ACTIVATION("activation_function", "gelu_new"),
    BIASES(NO, YES, YES),
    .names = {GPT2_FRAME, .positions = "wpe", .query = "attn.attention.q_proj",
              .key = "attn.attention.k_proj", .value = "attn.attention.v_proj",
              .output = "attn.attention.out_proj", .mlp_norm = "ln_2", .up = "mlp.c_fc",
              .down = "mlp.c_proj"},
    .learned = "max_position_embeddings",
    .tied = 1,
    .finish = finish_gpt_neo};
static const struct layout gpt_bigcode = {GPT2_SIZES,
                                          LAYER_NORM("layer_norm_epsilon"),
                                          ACTIVATION("activation_function", "gelu_pytorch_tanh"),
                                          BIASES(YES, YES, YES),
                                          .names = {GPT2_FRAME, .positions = "wpe",
                                                    .fused = "attn.c_attn", .output = "attn.c_proj",
                                                    .mlp_norm = "ln_2", .up = "mlp.c_fc",
                                                    .down = "mlp.c_proj"},
                                          .fused = FUSED_HEADS,
                                          .multi_query = KEY_OR_YES("multi_query"),
                                          .learned = "max_position_embeddings",
                                          .older_learned = "n_positions",
                                          .tied = 1,
                                          .finish = finish_gpt_bigcode};
static const struct layout codegen = {GPT2_SIZES,
                                      LAYER_NORM("layer_norm_epsilon"),
                                      ACTIVATION("activation_function", "gelu_new"),
                                      BIASES(NO, NO, YES),
                                      .names = {GPT2_FRAME, .fused = "attn.qkv_proj",
                                                .output = "attn.out_proj", .up = "mlp.fc_in",
                                                .down = "mlp.fc_out"},
                                      .fused = FUSED_QUARTERS,
                                      .rotary_dim = 64,
                                      .parallel = YES,
                                      .one_norm = 1,
                                      .head_bias = YES};
static const struct layout stablelm = {LAYER_NORM("layer_norm_eps"),
                                       .grouped = 1,
                                       .names = {LLAMA_NAMES, .query_norm = "self_attn.q_layernorm",
                                                 .key_norm = "self_attn.k_layernorm"},
                                       .head_norms = KEY("qk_layernorm"),
                                       .head_norms_of = HEADS_EACH_NAMED,
                                       ACTIVATION("hidden_act", "silu"),
                                       BIASES(KEY("use_qkv_bias"), NO, NO),
                                       .rope = {ROTARY_PART(0.25)},
                                       .parallel = KEY("use_parallel_residual"),
                                       .one_norm = 1};
static const struct layout nemotron = {LAYER_NORM("norm_eps"),
                                       .norm_offset = 1,
                                       .grouped = 1,
                                       .sized = 1,
                                       .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                                 .up = "mlp.up_proj", .down = "mlp.down_proj"},
                                       ACTIVATION("hidden_act", "relu2"),
                                       BIASES(KEY("attention_bias"), KEY("attention_bias"),
                                              KEY("mlp_bias")),
                                       .rope = {ROTARY_PART(0.5)}};
static const struct layout xglm = {.hidden = "d_model",
                                   .layers = "num_layers",
                                   .heads = "attention_heads",
                                   .inner = "ffn_dim",
                                   LAYER_NORM(NULL),
                                   ACTIVATION("activation_function", "gelu"),
                                   BIASES(YES, YES, YES),
                                   .names = {.prefix = "model.", .head = "lm_head", FAIRSEQ_NAMES},
                                   .scale_embedding = KEY_OR_YES("scale_embedding"),
                                   .sinusoidal = SINUSOIDAL_CLOSED,
                                   .first_row = 2,
                                   .tied = 1,
                                   .finish = finish_xglm};
static const struct layout biogpt = {LAYER_NORM(NULL),
                                     ACTIVATION("hidden_act", "gelu"),
                                     BIASES(YES, YES, YES),
                                     .names = {.prefix = "biogpt.",
                                               .head = "output_projection",
                                               .positions = "embed_positions",
                                               FAIRSEQ_NAMES},
                                     .scale_embedding = KEY_OR_YES("scale_embedding"),
                                     .learned = "max_position_embeddings",
                                     .first_row = 2,
                                     .tied = 1};

static const struct layout openai_gpt = {.hidden = "n_embd",
                                         .layers = "n_layer",
                                         .heads = "n_head",
                                         .inner_times = 4,
                                         LAYER_NORM("layer_norm_epsilon"),
                                         ACTIVATION("afn", "gelu"),
                                         BIASES(YES, YES, YES),
                                         .names = {.prefix = "transformer.",
                                                   .embedding = "tokens_embed",
                                                   .positions = "positions_embed",
                                                   .layers = "h",
                                                   .head = "lm_head",
                                                   .fused = "attn.c_attn",
                                                   .output = "attn.c_proj",
                                                   .attention_post_norm = "ln_1",
                                                   .up = "mlp.c_fc",
                                                   .down = "mlp.c_proj",
                                                   .mlp_post_norm = "ln_2"},
                                         .norms_after = 1,
                                         .learned = "max_position_embeddings",
                                         .older_learned = "n_positions",
                                         .transposed = 1,
                                         .tied = 1,
                                         .finish = finish_openai_gpt};
static const struct layout ctrl = {.hidden = "n_embd",
                                   .layers = "n_layer",
                                   .heads = "n_head",
                                   .inner = "dff",
                                   .norm = NORM_LAYER,
                                   .norm_bias = 1,
                                   EPSILON("layer_norm_epsilon", 1e-6),
                                   ACTIVATION(NULL, "relu"),
                                   BIASES(YES, YES, YES),
                                   .names = {.prefix = "transformer.",
                                             .embedding = "w",
                                             .layers = "h",
                                             .final_norm = "layernorm",
                                             .head = "lm_head",
                                             .attention_norm = "layernorm1",
                                             .query = "multi_head_attention.Wq",
                                             .key = "multi_head_attention.Wk",
                                             .value = "multi_head_attention.Wv",
                                             .output = "multi_head_attention.dense",
                                             .mlp_norm = "layernorm2",
                                             .up = "ffn.0",
                                             .down = "ffn.2"},
                                   .scale_embedding = YES,
                                   .sinusoidal = SINUSOIDAL_OPEN,
                                   .tied = 1,
                                   .head_bias = YES,
                                   .finish = finish_ctrl};
static const struct layout persimmon = {LAYER_NORM("layer_norm_eps"),
                                        ACTIVATION("hidden_act", "relu2"),
                                        BIASES(YES, YES, YES),
                                        .names = {.prefix = "model.",
                                                  .embedding = "embed_tokens",
                                                  .layers = "layers",
                                                  .final_norm = "final_layernorm",
                                                  .head = "lm_head",
                                                  .attention_norm = "input_layernorm",
                                                  .fused = "self_attn.query_key_value",
                                                  .output = "self_attn.dense",
                                                  .query_norm = "self_attn.q_layernorm",
                                                  .key_norm = "self_attn.k_layernorm",
                                                  .mlp_norm = "post_attention_layernorm",
                                                  .up = "mlp.dense_h_to_4h",
                                                  .down = "mlp.dense_4h_to_h"},
                                        .fused = FUSED_HEADS,
                                        .head_norms = KEY_OR_YES("qk_layernorm"),
                                        .rope = {ROTARY_PART(0.5)}};
static const struct layout gpt_neox_japanese = {LAYER_NORM("layer_norm_eps"),
                                                .inner_factor = "intermediate_multiple_size",
                                                .inner_times = 4,
                                                ACTIVATION("hidden_act", "gelu"),
                                                .names = {.prefix = "gpt_neox_japanese.",
                                                          .embedding = "embed_in",
                                                          .layers = "layers",
                                                          .final_norm = "final_layer_norm",
                                                          .head = "embed_out",
                                                          .attention_norm = "input_layernorm",
                                                          .fused = "attention.query_key_value",
                                                          .output = "attention.dense",
                                                          .mlp_norm = "post_attention_layernorm",
                                                          .up = "mlp.dense_h_to_4h",
                                                          .down = "mlp.dense_4h_to_h"},
                                                .rope = {.theta = "rotary_emb_base",
                                                         .fraction = "rotary_pct",
                                                         .fraction_default = 1},
                                                .fused = FUSED_HEADS,
                                                .tied = 1,
                                                .finish = finish_gpt_neox_japanese};
static const struct layout jais2 = {LAYER_NORM("layer_norm_eps"),
                                    .grouped = 1,
                                    .sized = 1,
                                    .names = {LLAMA_FRAME, NORM_BEFORE_MLP, SPLIT, OUTPUT,
                                              .up = "mlp.up_proj", .down = "mlp.down_proj"},
                                    ACTIVATION("hidden_act", "relu2"),
                                    BIASES(KEY_OR_YES("attention_bias"),
                                           KEY_OR_YES("attention_bias"), KEY_OR_YES("mlp_bias")),
                                    .rope = {ROTARY_WHOLE}};

#define ROW(row, ...) \
    .name = #row, .model_types = {#row}, .layout = &row, .ignored_suffixes = {__VA_ARGS__}
#define MASKS ".attn.bias", ".attn.masked_bias"
#define SUMMARIES \
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", \
        "summary_use_proj"
static const char *const none[] = {NULL}, *const heads[] = {"num_key_value_heads", NULL};
static const char *const of_nanogpt[] = {"dropout", NULL};
static const char *const of_gpt2[] = {
    "n_ctx", "output_past", "predict_special_tokens", "reorder_and_upcast_attn", SUMMARIES, NULL};
/* its class reads the rotary settings under other names and ignores these */
static const char *const of_gpt_neox[] = {"partial_rotary_factor", "rope_theta", NULL};
/* rotary positions have no limit, and there are no other positions */
static const char *const of_gptj[] = {"max_position_embeddings", "n_ctx",   "n_positions", "rotary",
                                      "scale_attn_weights",      SUMMARIES, NULL};
/* in published files; its class uses other names, or ignores them */
static const char *const of_starcoder2[] = {"activation_function",
                                            "attention_softmax_in_fp32",
                                            "embedding_dropout",
                                            "layer_norm_epsilon",
                                            "mlp_type",
                                            "norm_type",
                                            "residual_dropout",
                                            "scale_attention_softmax_in_fp32",
                                            "scale_attn_weights",
                                            NULL};
static const char *const sized_heads[] = {"num_key_value_heads", "head_dim", NULL};
static const char *const part_heads[] = {"num_key_value_heads", "partial_rotary_factor", "head_dim",
                                         NULL};
static const char *const of_gpt_neo[] = {"embed_dropout", "resid_dropout", SUMMARIES, NULL};
static const char *const gpt_neo_null[] = {"attention_layers", "attention_types",
                                           "intermediate_size", NULL};
static const char *const of_gpt_bigcode[] = {"attention_softmax_in_fp32",
                                             "inference_runner",
                                             "max_batch_size",
                                             "max_sequence_length",
                                             "num_key_value_heads",
                                             "pad_key_length",
                                             "pre_allocate_kv_cache",
                                             "scale_attention_softmax_in_fp32",
                                             "validate_runner_input",
                                             SUMMARIES,
                                             NULL};
static const char *const of_xglm[] = {"activation_dropout",      "dropout", "init_std", "layerdrop",
                                      "max_position_embeddings", NULL};
static const char *const of_biogpt[] = {"activation_dropout",  "attention_probs_dropout_prob",
                                        "hidden_dropout_prob", "layer_norm_eps",
                                        "layerdrop",           NULL};

static const char *const of_openai_gpt[] = {"n_ctx", "n_special", "predict_special_tokens",
                                            SUMMARIES, NULL};
static const char *const of_ctrl[] = {"n_ctx", "from_tf", "torchscript", SUMMARIES, NULL};

static const char *const transposed_gpt2[] = {"c_attn", "c_proj", "c_fc", NULL};

const struct family families_gpt_like[] = {
    {.name = "gpt2",
     .model_types = {"gpt2", "gpt-sw3"},
     .layout = &gpt2,
     .ignored_suffixes = {MASKS},
     .transposed = transposed_gpt2,
     .harmless = of_gpt2},
    {ROW(nanogpt, ".attn.bias"), .harmless = of_nanogpt},
    {ROW(gpt_neox, ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"),
     .harmless = of_gpt_neox},
    {ROW(gptj, MASKS, ".attn.embed_positions"), .harmless = of_gptj},
    {ROW(phi, ".rotary_emb.inv_freq"), .harmless = none, .nullable = heads},
    {ROW(starcoder2, ".rotary_emb.inv_freq"), .harmless = of_starcoder2, .nullable = part_heads},
    {ROW(gpt_neo, ".attn.attention.bias", ".attn.attention.masked_bias"), .harmless = of_gpt_neo,
     .nullable = gpt_neo_null},
    {ROW(gpt_bigcode, ".attn.bias", ".attn.masked_bias"), .harmless = of_gpt_bigcode},
    {ROW(codegen, ".attn.bias", ".attn.masked_bias", ".attn.causal_mask"), .harmless = of_gptj},
    {ROW(stablelm, ".rotary_emb.inv_freq"), .harmless = none, .nullable = heads},
    {ROW(nemotron, ".rotary_emb.inv_freq"), .harmless = none, .nullable = sized_heads},
    {ROW(xglm, ".embed_positions.weights"), .harmless = of_xglm},
    {ROW(biogpt), .harmless = of_biogpt},
    {.name = "openai-gpt",
     .model_types = {"openai-gpt"},
     .layout = &openai_gpt,
     .ignored_suffixes = {MASKS},
     .transposed = transposed_gpt2,
     .harmless = of_openai_gpt},
    {ROW(ctrl), .harmless = of_ctrl},
    {ROW(persimmon, ".rotary_emb.inv_freq"), .harmless = none},
    {ROW(gpt_neox_japanese, ".rotary_emb.inv_freq", ".attention.bias", ".attention.masked_bias"),
     .harmless = of_gpt_neox},
    {ROW(jais2, ".rotary_emb.inv_freq"), .harmless = none, .nullable = part_heads},
    {.name = NULL}};
