/* Architectures whose layers are Mamba's scans, all or some. */
#include "io/gguf/rows.h"
#include "io/gguf/states.h"

#include <stdio.h>
#include <string.h>

/* -- names of tensors -- */

/* Of a scan: `stem` is the library's. */
#define SCAN(stem) \
    {"blk.#.ssm_in", stem ".in_proj", LAYOUT_SAME}, \
        {"blk.#.ssm_conv1d", stem ".conv1d", LAYOUT_TAPS}, \
        {"blk.#.ssm_x", stem ".x_proj", LAYOUT_SAME}, \
        {"blk.#.ssm_dt", stem ".dt_proj", LAYOUT_SAME}, \
        {"blk.#.ssm_a", stem ".A_log", LAYOUT_STATE_DECAYS}, \
        {"blk.#.ssm_d", stem ".D", LAYOUT_COLUMN}, \
    { \
        "blk.#.ssm_out", stem ".out_proj", LAYOUT_SAME \
    }
static const struct name_row mamba_names[] = {{"token_embd", "backbone.embeddings", LAYOUT_SAME},
                                              {"output_norm", "backbone.norm_f", LAYOUT_SAME},
                                              {"output", "lm_head", LAYOUT_SAME},
                                              {"blk.#.attn_norm", "backbone.layers.#.norm",
                                               LAYOUT_SAME},
                                              SCAN("backbone.layers.#.mixer"),
                                              {0}};
#define BLOCK(name) "model.layers.#." name
static const struct name_row jamba_names[] = {
    {"token_embd", "model.embed_tokens", LAYOUT_SAME},
    {"output_norm", "model.final_layernorm", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", BLOCK("input_layernorm"), LAYOUT_SAME},
    {"blk.#.ffn_norm", BLOCK("pre_ff_layernorm"), LAYOUT_SAME},
    SCAN("model.layers.#.mamba"),
    {"blk.#.ssm_dt_norm", BLOCK("mamba.dt_layernorm"), LAYOUT_SAME},
    {"blk.#.ssm_b_norm", BLOCK("mamba.b_layernorm"), LAYOUT_SAME},
    {"blk.#.ssm_c_norm", BLOCK("mamba.c_layernorm"), LAYOUT_SAME},
    ATTENTION(LAYOUT_SAME, LAYOUT_SAME),
    {"blk.#.ffn_gate", BLOCK("feed_forward.gate_proj"), LAYOUT_SAME},
    {"blk.#.ffn_up", BLOCK("feed_forward.up_proj"), LAYOUT_SAME},
    {"blk.#.ffn_down", BLOCK("feed_forward.down_proj"), LAYOUT_SAME},
    EXPERTS("feed_forward.router"),
    {0}};

/* -- keys -- */

#define SCAN_KEYS(reach, size, rank) \
    {"ssm.conv_kernel", reach, KEY_NEEDED}, {"ssm.state_size", size, KEY_NEEDED}, \
        {"ssm.time_step_rank", rank, KEY_NEEDED}, \
    { \
        "ssm.inner_size", "", KEY_HERE \
    }
static const struct key_row mamba_keys[] = {MAMBA_ALONE,
                                            SCAN_KEYS("conv_kernel", "state_size",
                                                      "time_step_rank"),
                                            {"ssm.dt_b_c_rms", "", KEY_HERE},
                                            {0}};
static const struct key_row jamba_keys[] = {
    SIZES,
    LENGTHS,
    {"context_length", "max_position_embeddings", KEY_COPIED},
    {"feed_forward_length", "intermediate_size", KEY_NEEDED},
    {"attention.head_count_kv", "", KEY_HERE},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED},
    {"expert_count", "num_experts", KEY_NEEDED},
    {"expert_used_count", "num_experts_per_tok", KEY_NEEDED},
    {"expert_gating_func", "", KEY_HERE},
    {"expert_weights_norm", "", KEY_HERE},
    NO_SCALE,
    SAME_WIDTH,
    SCAN_KEYS("mamba_d_conv", "mamba_d_state", "mamba_dt_rank"),
    {0}};

/* -- what needs more than a copy -- */

/* The layers, the width of their scans in multiples of the model's, and which biases there are. */
static int take_scan(struct gguf_model *m, json_t *config, const char *expand, const char *biased,
                     const char *conv_biased, struct error *e)
{
    enum { BLOCKS_MOST = 10000 };
    int64_t inner, blocks;
    if (model_whole(m, "ssm.inner_size", 0, &inner, e) ||
        model_whole(m, "block_count", 0, &blocks, e))
        return -1;
    if (blocks > BLOCKS_MOST)
        return fail(e, "%s: %s.block_count is %lld (expected at most %d)", model_path(m),
                    m->architecture->name, (long long)blocks, BLOCKS_MOST);
    if (inner % m->hidden)
        return fail(e, "%s: %s.ssm.inner_size is %lld (expected a multiple of the width, %lld)",
                    model_path(m), m->architecture->name, (long long)inner, (long long)m->hidden);
    return model_take_layers(m, config, e) ||
                   model_set(m, config, expand, json_integer(inner / m->hidden), e) ||
                   model_set(m, config, biased,
                             json_boolean(model_has_any(m, config, "ssm_in.bias")), e) ||
                   model_set(m, config, conv_biased,
                             json_boolean(model_has_any(m, config, "ssm_conv1d.bias")), e)
               ? -1
               : 0;
}

/* With norms of what steps, B and C are made of it is a Falcon-Mamba, whose library has an epsilon
 * of their own, which the file has not. */
static int finish_mamba(struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "ssm.dt_b_c_rms");
    double normed = 0;
    if (p && (p->is_array || gguf_real(p, 0, &normed) || (normed != 0 && normed != 1)))
        return fail(e, "%s: mamba.ssm.dt_b_c_rms is neither true nor false", model_path(m));
    if (take_scan(m, config, "expand", "use_bias", "use_conv_bias", e))
        return -1;
    if (normed == 0)
        return 0;
    model_assume(m, "norms of steps, B and C with an epsilon of 1e-06");
    return model_set(m, config, "model_type", json_string("falcon_mamba"), e);
}

/* 1 if a layer attends, by the list of heads for keys and values. */
static int layer_attends(const struct gguf_model *m, long layer)
{
    int64_t heads = 0;
    return gguf_integer(model_pair(m, "attention.head_count_kv"), (uint64_t)layer, &heads) == 0 &&
           heads > 0;
}

static int layer_has_router(const struct gguf_model *m, long layer)
{
    char router[64];
    snprintf(router, sizeof router, "blk.%ld.ffn_gate_inp.weight", layer);
    return model_tensor(m, router) != NULL;
}

/* The layers of a kind as the library says them: those l with l % period = offset. */
static int take_period(struct gguf_model *m, json_t *config, const char *what,
                       int (*is)(const struct gguf_model *m, long layer), const char *period_key,
                       const char *offset_key, struct error *e)
{
    long offset = 0, next;
    while (offset < m->layers && !is(m, offset))
        offset++;
    for (next = offset + 1; next < m->layers && !is(m, next);)
        next++;
    /* without a second one, as if that came after all layers */
    const long period = next < m->layers ? next - offset : m->layers + 1;
    for (long l = 0; l < m->layers; l++)
        if (is(m, l) != (l % period == offset))
            return fail(e,
                        "%s: layer %ld %s %s, which is not supported (expected those from layer "
                        "%ld on, every %ld)",
                        model_path(m), l + 1, is(m, l) ? "has" : "lacks", what, offset + 1, period);
    return model_set(m, config, period_key, json_integer(period), e) ||
                   model_set(m, config, offset_key, json_integer(offset), e)
               ? -1
               : 0;
}

/* Attention without positions in some layers, experts in some; their weights are not normalised. */
static int finish_jamba(struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "attention.head_count_kv");
    if (take_scan(m, config, "mamba_expand", "mamba_proj_bias", "mamba_conv_bias", e))
        return -1;
    if (!p || !p->is_array || p->count != (uint64_t)m->layers)
        return fail(e, "%s: jamba.attention.head_count_kv is not a list for %ld layers",
                    model_path(m), m->layers);
    return model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   take_period(m, config, "attention", layer_attends, "attn_layer_period",
                               "attn_layer_offset", e) ||
                   take_period(m, config, "experts", layer_has_router, "expert_layer_period",
                               "expert_layer_offset", e) ||
                   model_take_routing(m, config, GATING_SOFTMAX, 0, NULL, e) ||
                   model_expect(m, "expert_feed_forward_length",
                                json_integer_value(json_object_get(config, "intermediate_size")),
                                e) ||
                   model_set(m, config, "num_key_value_heads", json_integer(m->kv_heads), e)
               ? -1
               : 0;
}

const struct architecture gguf_scans[] = {{"mamba", "mamba", mamba_keys, mamba_names, finish_mamba,
                                           NULL, NULL, "falcon_mamba"},
                                          {"jamba", "jamba", jamba_keys, jamba_names, finish_jamba,
                                           NULL, NULL, NULL},
                                          {0}};
