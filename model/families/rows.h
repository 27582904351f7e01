/* Parts of rows shared by the tables of Llama's relatives (llama_like.c, mixtures.c). */
#ifndef REACH_MODEL_FAMILIES_ROWS_H
#define REACH_MODEL_FAMILIES_ROWS_H

#include "model/layout.h"

#define LLAMA(epsilon) .norm = NORM_RMS, EPSILON("rms_norm_eps", epsilon), .grouped = 1, .sized = 1
#define FOUR_NORMS \
    .attention_post_norm = "post_attention_layernorm", .mlp_norm = "pre_feedforward_layernorm", \
    .mlp_post_norm = "post_feedforward_layernorm"
#define NORMS_BEHIND \
    .attention_post_norm = "post_attention_layernorm", .mlp_post_norm = "post_feedforward_" \
                                                                        "layernorm"
#define FRAME_WITHOUT_NORM \
    .prefix = "model.", .embedding = "embed_tokens", .layers = "layers", .final_norm = "norm", \
    .head = "lm_head"
/* Windows in all layers except every n-th, of that size by default. */
#define BUT_EVERY(number, size) \
    .windows = WINDOWS_BUT_EVERY, .window_absent = size, .pattern_absent = number
#define QK_NORMS .query_norm = "self_attn.q_norm", .key_norm = "self_attn.k_norm"

/* Experts as in Qwen's models with them, which layers have them, and how they are chosen. */
#define QWEN_EXPERTS_OF(chooser) \
    .router = chooser, .parent = "mlp.experts", .gate = "gate_proj", .up = "up_proj", \
    .down = "down_proj", .gate_up = {"mlp.experts.gate_up_proj"}, \
    .stacked_down = {"mlp.experts.down_proj"}
#define QWEN_EXPERTS QWEN_EXPERTS_OF("mlp.gate")
/* The same of Mixtral's. */
#define MIXTRAL_EXPERTS \
    .count = "num_local_experts", .normalised = -1, .router = "block_sparse_moe.gate", \
    .parent = "block_sparse_moe.experts", .gate = "w1", .up = "w3", .down = "w2", \
    .gate_up = {"mlp.experts.gate_up_proj"}, .stacked_down = {"mlp.experts.down_proj"}
#define SOME_LAYERS .dense = "mlp_only_layers", .step = "decoder_sparse_step"
#define BY_GROUPS .scoring = SCORING_SIGMOID, .by_groups = 1, .factor = "routed_scaling_factor"

#define ROW(row) \
    .name = #row, .model_types = {#row}, .layout = &row, \
    .ignored_suffixes = {".rotary_emb.inv_freq"}

/* Of olmo: queries, keys and values may be clamped before rotation, after their norms if any. */
int finish_olmo(struct decoder *d, struct error *e) MUST_USE;
/* Of granite: multipliers of embeddings, scores, branches and logits. */
int finish_granite(struct decoder *d, struct error *e) MUST_USE;
/* Of minicpm3: those of minicpm. Of ministral3: queries that grow with their position. */
int finish_minicpm3(struct decoder *d, struct error *e) MUST_USE;
int finish_ministral3(struct decoder *d, struct error *e) MUST_USE;
/* Of Gemma 3n and 4: the last num_kv_shared_layers, by default `absent`, read the keys and values
 * of the last layer of their kind before them. */
int share_keys(struct decoder *d, long absent, struct error *e) MUST_USE;
/* Of both: inputs of layers beside the residual stream, of `width` numbers, from a table with so
 * many rows. p is half the sum of two parts times sqrt 2, and read only by a product with a norm
 * behind it: so twice that norm's epsilon gives the same without the factor. */
int read_sides(struct decoder *d, const char *prefix, double epsilon, int width, long vocabulary,
               struct error *e) MUST_USE;
/* Marks as used what files have of layers for the next tokens behind the model's own: as many as
 * num_nextn_predict_layers says, by default `absent`. */
int skip_next_layers(struct decoder *d, long absent, struct error *e) MUST_USE;
/* Of those with the delta rule and Nemotron-H: files have layers for the next tokens behind the
 * model's own, below mtp., which the library leaves out. */
void skip_mtp(struct decoder *d);
/* The reader of a family that no row can describe: baichuan.c. */
int read_baichuan(struct decoder *d, struct error *e) MUST_USE;

#endif
