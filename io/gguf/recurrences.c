/* Architectures whose layers are Mamba-2's recurrences, all or some. */
#include "io/gguf/rows.h"
#include "io/gguf/states.h"

#include <stdio.h>

/* -- names of tensors -- */

/* Of a recurrence: `stem` is the library's. */
#define MAMBA(stem) \
    {"blk.#.ssm_in", stem ".in_proj", LAYOUT_SAME}, \
        {"blk.#.ssm_conv1d", stem ".conv1d", LAYOUT_TAPS}, \
        {"blk.#.ssm_dt", stem ".dt_bias", LAYOUT_BARE}, \
        {"blk.#.ssm_a", stem ".A_log", LAYOUT_DECAYS}, {"blk.#.ssm_d", stem ".D", LAYOUT_COLUMN}, \
        {"blk.#.ssm_norm", stem ".norm", LAYOUT_FLAT}, \
    { \
        "blk.#.ssm_out", stem ".out_proj", LAYOUT_SAME \
    }
static const struct name_row mamba2_names[] = {{"token_embd", "backbone.embeddings", LAYOUT_SAME},
                                               {"output_norm", "backbone.norm_f", LAYOUT_SAME},
                                               {"output", "lm_head", LAYOUT_SAME},
                                               {"blk.#.attn_norm", "backbone.layers.#.norm",
                                                LAYOUT_SAME},
                                               MAMBA("backbone.layers.#.mixer"),
                                               {0}};
/* The MLP stands for itself in models without experts, and is a shared expert in others. */
static const struct name_row granite_names[] = {ENDS(LAYOUT_SAME),
                                                NORMS_BEFORE(LAYOUT_SAME),
                                                MAMBA("model.layers.#.mamba"),
                                                ATTENTION(LAYOUT_QUERY, LAYOUT_KEY),
                                                SHARED_MLP(""),
                                                SHARED_MLP("_shexp"),
                                                EXPERTS("block_sparse_moe.router.layer"),
                                                {0}};
static const struct name_row falcon_names[] = {
    {"token_embd", "model.embed_tokens", LAYOUT_SAME},
    {"output_norm", "model.final_layernorm", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME},
    MAMBA("model.layers.#.mamba"),
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.ffn_norm", "model.layers.#.pre_ff_layernorm", LAYOUT_PLAIN},
    {"blk.#.ffn_gate", "model.layers.#.feed_forward.gate_proj", LAYOUT_SAME},
    {"blk.#.ffn_up", "model.layers.#.feed_forward.up_proj", LAYOUT_SAME},
    {"blk.#.ffn_down", "model.layers.#.feed_forward.down_proj", LAYOUT_SAME},
    {0}};
/* Each layer is one part. */
#define NEMOTRON(name) "backbone.layers.#." name
#define NEMOTRON_NAMES \
    {"token_embd", "backbone.embeddings", LAYOUT_SAME}, \
        {"output_norm", "backbone.norm_f", LAYOUT_SAME}, {"output", "lm_head", LAYOUT_SAME}, \
        {"blk.#.attn_norm", NEMOTRON("norm"), LAYOUT_SAME}, MAMBA(NEMOTRON("mixer")), \
        {"blk.#.attn_q", NEMOTRON("mixer.q_proj"), LAYOUT_QUERY}, \
        {"blk.#.attn_k", NEMOTRON("mixer.k_proj"), LAYOUT_KEY}, \
        {"blk.#.attn_v", NEMOTRON("mixer.v_proj"), LAYOUT_SAME}, \
        {"blk.#.attn_output", NEMOTRON("mixer.o_proj"), LAYOUT_SAME}, \
        {"blk.#.ffn_up", NEMOTRON("mixer.up_proj"), LAYOUT_SAME}, \
    { \
        "blk.#.ffn_down", NEMOTRON("mixer.down_proj"), LAYOUT_SAME \
    }
static const struct name_row nemotron_names[] = {NEMOTRON_NAMES, {0}};
static const struct name_row nemotron_moe_names[] = {
    NEMOTRON_NAMES,
    {"blk.#.ffn_gate_inp", NEMOTRON("mixer.gate"), LAYOUT_SAME},
    {"blk.#.ffn_latent_down", NEMOTRON("mixer.fc1_latent_proj"), LAYOUT_SAME},
    {"blk.#.ffn_latent_up", NEMOTRON("mixer.fc2_latent_proj"), LAYOUT_SAME},
    {"blk.#.exp_probs_b", NEMOTRON("mixer.gate.e_score_correction_bias"), LAYOUT_BARE},
    {"blk.#.ffn_up_exps", NEMOTRON("mlp.experts.up_exps"), LAYOUT_SAME},
    {"blk.#.ffn_down_exps", NEMOTRON("mlp.experts.down_exps"), LAYOUT_SAME},
    {"blk.#.ffn_up_shexp", NEMOTRON("mixer.shared_experts.up_proj"), LAYOUT_SAME},
    {"blk.#.ffn_down_shexp", NEMOTRON("mixer.shared_experts.down_proj"), LAYOUT_SAME},
    {0}};

/* -- keys -- */

static const struct key_row mamba2_keys[] = {
    MAMBA_ALONE, STATES("conv_kernel", "state_size", "n_groups", "num_heads"), {0}};
/* Positions are not turned, so that their keys change nothing. */
static const struct key_row granite_keys[] = {
    SIZES,
    ROPE,
    LENGTHS,
    {"rope.freq_base", "", KEY_HARMLESS},
    {"context_length", "max_position_embeddings", KEY_COPIED},
    {"feed_forward_length", "intermediate_size", KEY_NEEDED},
    {"attention.head_count_kv", "", KEY_HERE},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
    {"attention.scale", "attention_multiplier", KEY_NEEDED},
    {"embedding_scale", "embedding_multiplier", KEY_COPIED},
    {"residual_scale", "residual_multiplier", KEY_COPIED},
    {"logit_scale", "logits_scaling", KEY_COPIED},
    {"expert_count", "num_local_experts", KEY_COPIED},
    {"expert_used_count", "num_experts_per_tok", KEY_COPIED},
    {"expert_shared_feed_forward_length", "shared_intermediate_size", KEY_NEEDED},
    {"expert_gating_func", "", KEY_HERE},
    {"expert_weights_norm", "", KEY_HERE},
    NO_SCALE,
    SAME_WIDTH,
    STATES("mamba_d_conv", "mamba_d_state", "mamba_n_groups", "mamba_n_heads"),
    {0}};
static const struct key_row falcon_keys[] = {DECODER,
                                             {"attention.layer_norm_rms_epsilon", "rms_norm_eps",
                                              KEY_NEEDED},
                                             STATES("mamba_d_conv", "mamba_d_state",
                                                    "mamba_n_groups", "mamba_n_heads"),
                                             {0}};
/* Positions are not turned. Both lists are 0 in layers of another kind. */
#define NEMOTRON_KEYS \
    SIZES, ROPE, LENGTHS, {"rope.freq_base", "", KEY_HARMLESS}, \
        {"context_length", "max_position_embeddings", KEY_COPIED}, \
        {"feed_forward_length", "", KEY_HERE}, {"attention.head_count_kv", "", KEY_HERE}, \
        {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", KEY_NEEDED}, \
        {"attention.layer_norm_epsilon", "", KEY_HARMLESS}, \
        STATES("conv_kernel", "ssm_state_size", "n_groups", "mamba_num_heads")
static const struct key_row nemotron_keys[] = {NEMOTRON_KEYS, {0}};
static const struct key_row nemotron_moe_keys[] = {
    NEMOTRON_KEYS,
    {"expert_count", "n_routed_experts", KEY_NEEDED},
    {"expert_used_count", "num_experts_per_tok", KEY_NEEDED},
    {"expert_feed_forward_length", "moe_intermediate_size", KEY_NEEDED},
    {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size", KEY_NEEDED},
    {"expert_shared_count", "n_shared_experts", KEY_COPIED},
    {"moe_latent_size", "moe_latent_size", KEY_COPIED},
    {"expert_weights_scale", "routed_scaling_factor", KEY_COPIED},
    {"expert_group_count", "n_group", KEY_COPIED},
    {"expert_group_used_count", "topk_group", KEY_COPIED},
    {"expert_gating_func", "", KEY_HERE},
    {"expert_weights_norm", "", KEY_HERE},
    {"nextn_predict_layers", "", KEY_HERE},
    {0}};
static const struct assumption base_alone[] = {BASE("10000"), {0}};

/* -- what needs more than a copy -- */

/* A head's size, and which biases there are, by the library's names; `expand`, if named, is the
 * width of all heads in multiples of the model's. */
struct mamba_settings {
    const char *head_size, *expand, *biased, *conv_biased;
};

static int take_mamba(struct gguf_model *m, json_t *config, const struct mamba_settings *of,
                      struct error *e)
{
    const struct gguf_states *s = &m->states;
    if (model_take_states(m, e))
        return -1;
    if (of->expand && s->inner % m->hidden)
        return fail(e, "%s: %s.ssm.inner_size is %lld (expected a multiple of the width, %lld)",
                    model_path(m), m->architecture->name, (long long)s->inner,
                    (long long)m->hidden);
    return (of->expand &&
            model_set(m, config, of->expand, json_integer(s->inner / m->hidden), e)) ||
                   model_set(m, config, of->head_size, json_integer(s->inner / s->heads), e) ||
                   model_set(m, config, of->biased,
                             json_boolean(model_has_any(m, config, "ssm_in.bias")), e) ||
                   model_set(m, config, of->conv_biased,
                             json_boolean(model_has_any(m, config, "ssm_conv1d.bias")), e)
               ? -1
               : 0;
}

static int finish_mamba2(struct gguf_model *m, json_t *config, struct error *e)
{
    static const struct mamba_settings of = {"head_dim", "expand", "use_bias", "use_conv_bias"};
    model_assume(m, "steps without limits");
    return take_mamba(m, config, &of, e);
}

/* Its rows of queries and keys are in pairs, though its positions are not turned. */
static int finish_granite(struct gguf_model *m, json_t *config, struct error *e)
{
    static const struct mamba_settings of = {"mamba_d_head", "mamba_expand", "mamba_proj_bias",
                                             "mamba_conv_bias"};
    const struct gguf_pair *p = model_pair(m, "rope.scaling.finetuned");
    double turned = 0;
    if (p && (gguf_real(p, 0, &turned) || turned != 0))
        return fail(e,
                    "%s: granitehybrid.rope.scaling.finetuned is not false, which is not supported "
                    "(expected a model without positions, unlike Bamba)",
                    model_path(m));
    model_assume(m, "steps without limits");
    if (take_mamba(m, config, &of, e) || model_take_types(m, config, "linear_attention", e) ||
        model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
        model_take_routing(m, config, GATING_SOFTMAX, 1, NULL, e) ||
        model_expect(m, "expert_feed_forward_length",
                     json_integer_value(json_object_get(config, "intermediate_size")), e) ||
        model_set(m, config, "num_key_value_heads", json_integer(m->kv_heads), e) ||
        model_set(m, config, "attention_bias",
                  json_boolean(model_has_any(m, config, "attn_q.bias")), e))
        return -1;
    return json_object_get(config, "num_local_experts")
               ? 0
               : model_set(m, config, "num_local_experts", json_integer(0), e);
}

/* Its factors are in the weights; that of the rows of tokens would be in a tied head too. */
static int finish_falcon_h1(struct gguf_model *m, json_t *config, struct error *e)
{
    static const struct mamba_settings of = {"mamba_d_head", NULL, "mamba_proj_bias",
                                             "mamba_conv_bias"};
    static const char *const flags[][2] = {{"projectors_bias", "ssm_out.bias"},
                                           {"attention_bias", "attn_q.bias"},
                                           {"mlp_bias", "ffn_up.bias"},
                                           {"mamba_rms_norm", "ssm_norm.weight"}};
    if (!model_tensor(m, "output.weight"))
        return fail(e,
                    "%s: has no output.weight, which is not supported in the architecture "
                    "falcon-h1 (the factor of its logits is in that tensor)",
                    model_path(m));
    model_assume(m, "steps without limits");
    if (take_mamba(m, config, &of, e) ||
        model_set(m, config, "mamba_d_ssm", json_integer(m->states.inner), e) ||
        model_set(m, config, "mamba_norm_before_gate", json_false(), e) ||
        finish_rotary(m, config, e))
        return -1;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (model_set(m, config, flags[i][0], json_boolean(model_has_any(m, config, flags[i][1])),
                      e))
            return -1;
    if (model_has_any(m, config, "ssm_norm.weight"))
        model_assume(m, "norms after the gate");
    return 0;
}

/* Number `layer` of a list for all blocks. */
static int take_entry(const struct gguf_model *m, const char *key, json_int_t blocks, long layer,
                      int64_t *out, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, key);
    return p && p->is_array && p->count == (uint64_t)blocks &&
                   gguf_integer(p, (uint64_t)layer, out) == 0 && *out >= 0 && *out <= 1 << 24
               ? 0
               : fail(e, "%s: %s.%s is not a list of whole numbers for %lld blocks", model_path(m),
                      m->architecture->name, key, (long long)blocks);
}

/* The kinds of layers, and the one width of MLPs or experts. */
static int take_parts(struct gguf_model *m, json_t *config, struct error *e)
{
    const json_int_t blocks = json_integer_value(json_object_get(config, "num_hidden_layers"));
    int64_t heads, width, all = 0;
    json_t *kinds = json_array();
    if (model_set(m, config, "layers_block_type", kinds, e) || model_take_layers(m, config, e))
        return -1;
    for (long l = 0; l < m->layers; l++) {
        char router[64];
        snprintf(router, sizeof router, "blk.%ld.ffn_gate_inp.weight", l);
        if (take_entry(m, "attention.head_count_kv", blocks, l, &heads, e) ||
            take_entry(m, "feed_forward_length", blocks, l, &width, e))
            return -1;
        if ((heads && width) || (width && all && width != all))
            return fail(e,
                        "%s: %s.feed_forward_length, entry %ld is %lld (expected 0 in layers with "
                        "attention, and one width in all others)",
                        model_path(m), m->architecture->name, l + 1, (long long)width);
        all = width ? width : all;
        if (json_array_append_new(kinds, json_string(heads                     ? "full_attention"
                                                     : !width                  ? "linear_attention"
                                                     : model_tensor(m, router) ? "moe"
                                                                               : "mlp")))
            return fail_memory(e, (double)m->layers, "layers_block_type");
    }
    return all ? model_set(m, config, "intermediate_size", json_integer(all), e) : 0;
}

/* Its layers are one part each: a recurrence, attention without positions, an MLP or experts. */
static int finish_nemotron(struct gguf_model *m, json_t *config, struct error *e)
{
    static const struct mamba_settings of = {"mamba_head_dim", NULL, "use_bias", "use_conv_bias"};
    model_assume(m, "steps of at least 0.001");
    return take_mamba(m, config, &of, e) || take_parts(m, config, e) ||
                   model_set(m, config, "num_key_value_heads", json_integer(m->kv_heads), e) ||
                   model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   model_set(m, config, "mlp_bias",
                             json_boolean(model_has_any(m, config, "ffn_up.bias")), e)
               ? -1
               : 0;
}

static int finish_nemotron_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SIGMOID, 1, "norm_topk_prob", e) ||
                   finish_nemotron(m, config, e)
               ? -1
               : 0;
}

const struct architecture gguf_recurrences[] = {
    {"granitehybrid", "granitemoehybrid", granite_keys, granite_names, finish_granite, NULL, NULL,
     NULL},
    {"falcon-h1", "falcon_h1", falcon_keys, falcon_names, finish_falcon_h1, base_alone, NULL, NULL},
    {"nemotron_h", "nemotron_h", nemotron_keys, nemotron_names, finish_nemotron, NULL, NULL, NULL},
    {"nemotron_h_moe", "nemotron_h", nemotron_moe_keys, nemotron_moe_names, finish_nemotron_moe,
     NULL, NULL, NULL},
    {"mamba2", "mamba2", mamba2_keys, mamba2_names, finish_mamba2, NULL, NULL, NULL},
    {0}};
