/* Relatives of Llama (llama_like.c) whose layers are recurrences, all or some. Defaults are the
 * library's: huggingface/transformers, models/FAMILY. */
#include "model/families/rows.h"

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

static const struct layout mamba2 = {
    .norm = NORM_RMS,
    EPSILON("layer_norm_epsilon", 1e-5),
    ACTIVATION("hidden_act", "silu"),
    .heads = "num_heads",
    .sized = 1,
    .recurrence = &mamba2_recurrence,
    .names = {.prefix = "backbone.",
              .embedding = "embeddings",
              .layers = "layers",
              .final_norm = "norm_f",
              .head = "lm_head",
              .attention_norm = "norm"},
    .defaults = "{\"vocab_size\": 32768, \"hidden_size\": 4096, \"num_hidden_layers\": 64, "
                "\"num_heads\": 128, \"head_dim\": 64, \"state_size\": 128, \"expand\": 2, "
                "\"conv_kernel\": 4, \"n_groups\": 8}"};

/* Keys of the initial weights, and of how the library computes. */
static const char *const mamba2_harmless[] = {
    "chunk_size",       "number_of_conv_states", "rescale_prenorm_residual",
    "residual_in_fp32", "time_step_floor",       "time_step_max",
    "time_step_min",    "time_step_rank",        NULL};

const struct family families_recurrences[] = {{ROW(mamba2), .harmless = mamba2_harmless},
                                              {.name = NULL}};
