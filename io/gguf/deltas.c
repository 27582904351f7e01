/* Architectures whose layers recur by the delta rule, or attend with an output that is gated. */
#include "io/gguf/rows.h"
#include "io/gguf/states.h"

/* -- names of tensors -- */

#define BLOCK(name) "model.layers.#." name
#define NAMES \
    ENDS(LAYOUT_PLUS_ONE), {"blk.#.attn_norm", BLOCK("input_layernorm"), LAYOUT_PLUS_ONE}, \
        {"blk.#.post_attention_norm", BLOCK("post_attention_layernorm"), LAYOUT_PLUS_ONE}, \
        ATTENTION(LAYOUT_SAME, LAYOUT_SAME), HEAD_NORMS(LAYOUT_PLUS_ONE)
#define DELTA \
    {"blk.#.ssm_conv1d", BLOCK("linear_attn.conv1d"), LAYOUT_TAPS}, \
        {"blk.#.ssm_dt", BLOCK("linear_attn.dt_bias"), LAYOUT_BARE}, \
        {"blk.#.ssm_a", BLOCK("linear_attn.A_log"), LAYOUT_DECAYS}, \
        {"blk.#.ssm_norm", BLOCK("linear_attn.norm"), LAYOUT_SAME}, \
    { \
        "blk.#.ssm_out", BLOCK("linear_attn.out_proj"), LAYOUT_SAME \
    }
#define GATED_SHARED_EXPERT \
    EXPERTS("mlp.gate"), SHARED_EXPERT("shared_expert"), \
    { \
        "blk.#.ffn_gate_inp_shexp", BLOCK("mlp.shared_expert_gate"), LAYOUT_ROW \
    }

/* ssm_in: as files had it at first. */
static const struct name_row qwen3next_names[] = {
    NAMES,
    {"blk.#.attn_qkv", BLOCK("linear_attn.in_proj_qkvz"), LAYOUT_PACKED},
    {"blk.#.attn_gate", NULL, LAYOUT_HALF},
    {"blk.#.ssm_in", BLOCK("linear_attn.in_proj_qkvz"), LAYOUT_SAME},
    {"blk.#.ssm_ba", BLOCK("linear_attn.in_proj_ba"), LAYOUT_SAME},
    DELTA,
    GATED_SHARED_EXPERT,
    {0}};
#define QWEN35_NAMES \
    NAMES, {"blk.#.attn_qkv", BLOCK("linear_attn.in_proj_qkv"), LAYOUT_SAME}, \
        {"blk.#.attn_gate", BLOCK("linear_attn.in_proj_z"), LAYOUT_SAME}, \
        {"blk.#.ssm_alpha", BLOCK("linear_attn.in_proj_a"), LAYOUT_SAME}, \
        {"blk.#.ssm_beta", BLOCK("linear_attn.in_proj_b"), LAYOUT_SAME}, DELTA
static const struct name_row qwen35_names[] = {QWEN35_NAMES, GATED, {0}};
static const struct name_row qwen35moe_names[] = {QWEN35_NAMES, GATED_SHARED_EXPERT, {0}};

/* -- keys -- */

#define DELTA_KEYS \
    STATES("linear_conv_kernel_dim", "linear_key_head_dim", "linear_num_key_heads", \
           "linear_num_value_heads"), \
        {"full_attention_interval", "", KEY_HERE}, {"attention.recurrent_layers", "", KEY_HERE}, \
    { \
        "nextn_predict_layers", "", KEY_HERE \
    }
#define GATED_SHARED_EXPERT_KEYS \
    EXPERT_KEYS("num_experts"), NO_SCALE, OWN_WIDTH, \
    { \
        "expert_shared_feed_forward_length", "shared_expert_intermediate_size", KEY_NEEDED \
    }
static const struct key_row qwen3next_keys[] = {GATED_SHARED_EXPERT_KEYS, DELTA_KEYS, {0}};
/* The sections of positions are those of images: of text they are all one. */
#define SECTIONS \
    { \
        "rope.dimension_sections", "", KEY_HARMLESS \
    }
static const struct key_row qwen35_keys[] = {DECODER,
                                             {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                              KEY_NEEDED},
                                             SECTIONS,
                                             DELTA_KEYS,
                                             {0}};
/* Every layer has experts, so that there is no width of an MLP, or one without effect. */
static const struct key_row qwen35moe_keys[] = {
    SIZES,
    ROPE,
    LENGTHS,
    {"context_length", "max_position_embeddings", KEY_COPIED},
    {"feed_forward_length", "", KEY_HARMLESS},
    {"attention.head_count_kv", "num_key_value_heads", KEY_COPIED},
    {"rope.freq_base", "rope_theta", KEY_COPIED},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
    {"expert_count", "num_experts", KEY_NEEDED},
    {"expert_used_count", "num_experts_per_tok", KEY_NEEDED},
    {"expert_gating_func", "", KEY_HERE},
    {"expert_weights_norm", "", KEY_HERE},
    NO_SCALE,
    OWN_WIDTH,
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", KEY_NEEDED},
    SECTIONS,
    DELTA_KEYS,
    {0}};

static const struct assumption base_alone[] = {BASE("10000"), {0}};

/* -- what needs more than a copy -- */

/* layer_types: every n-th layer attends, by default the 4th, unless there is a list. */
static int take_kinds(const struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "attention.recurrent_layers");
    int64_t every, recurs;
    json_t *types = json_array();
    if (model_set(m, config, "layer_types", types, e) ||
        model_whole(m, "full_attention_interval", 4, &every, e))
        return -1;
    for (long l = 0; l < m->layers; l++) {
        recurs = (l + 1) % every != 0;
        if (p && (!p->is_array || (uint64_t)l >= p->count || gguf_integer(p, (uint64_t)l, &recurs)))
            return fail(e, "%s: %s.attention.recurrent_layers is not a list for %ld layers",
                        model_path(m), m->architecture->name, m->layers);
        if (json_array_append_new(types,
                                  json_string(recurs ? "linear_attention" : "full_attention")))
            return fail_memory(e, (double)m->layers, "layer_types");
    }
    return 0;
}

static int finish_delta(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_states(m, e) || model_take_layers(m, config, e) || take_kinds(m, config, e) ||
                   model_set(m, config, "linear_value_head_dim",
                             json_integer(m->states.inner / m->states.heads), e) ||
                   model_set(m, config, "attention_bias",
                             json_boolean(model_has_any(m, config, "attn_q.bias")), e) ||
                   model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   model_take_rotation(m, config, "partial_rotary_factor", e)
               ? -1
               : 0;
}

static int finish_qwen3next(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SOFTMAX, 1, "norm_topk_prob", e) ||
                   finish_delta(m, config, e)
               ? -1
               : 0;
}

static int finish_qwen35(struct gguf_model *m, json_t *config, struct error *e)
{
    m->states.by_turns = 1;
    return finish_delta(m, config, e);
}

static int finish_qwen35moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SOFTMAX, 1, NULL, e) || finish_qwen35(m, config, e)
               ? -1
               : 0;
}

const struct architecture gguf_deltas[] = {
    {"qwen3next", "qwen3_next", qwen3next_keys, qwen3next_names, finish_qwen3next, base_alone, NULL,
     NULL},
    {"qwen35", "qwen3_5_text", qwen35_keys, qwen35_names, finish_qwen35, base_alone, NULL, NULL},
    {"qwen35moe", "qwen3_5_moe_text", qwen35moe_keys, qwen35moe_names, finish_qwen35moe, base_alone,
     NULL, NULL},
    {0}};
