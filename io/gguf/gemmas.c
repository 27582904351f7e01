/* Gemma 3n and Gemma 4: inputs by layer, shared keys and values, sizes that differ between layers.
 */
#include "io/gguf/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- names of tensors -- */

/* Inputs by layer, and norms as in the library. */
#define GEMMA_NAMES \
    ENDS(LAYOUT_SAME), ATTENTION(LAYOUT_SAME, LAYOUT_SAME), HEAD_NORMS(LAYOUT_SAME), GATED, \
        NORMS_BEHIND(LAYOUT_SAME), \
        {"blk.#.attn_norm", "model.layers.#.input_layernorm", LAYOUT_SAME}, \
        {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", LAYOUT_SAME}, \
        {"per_layer_token_embd", "model.embed_tokens_per_layer", LAYOUT_SAME}, \
        {"per_layer_model_proj", "model.per_layer_model_projection", LAYOUT_SAME}, \
        {"per_layer_proj_norm", "model.per_layer_projection_norm", LAYOUT_SAME}, \
        {"blk.#.inp_gate", "model.layers.#.per_layer_input_gate", LAYOUT_SAME}, \
        {"blk.#.proj", "model.layers.#.per_layer_projection", LAYOUT_SAME}, \
    { \
        "blk.#.post_norm", "model.layers.#.post_per_layer_input_norm", LAYOUT_SAME \
    }
static const struct name_row gemma3n_names[] = {
    GEMMA_NAMES,
    {"altup_proj", "model.altup_projections", LAYOUT_NAMED_PARTS},
    {"altup_unembd_proj", "model.altup_unembed_projections", LAYOUT_NAMED_PARTS},
    {"blk.#.altup_correct_coef", "model.layers.#.altup.correction_coefs", LAYOUT_SAME},
    {"blk.#.altup_correct_scale", "model.layers.#.altup.correct_output_scale", LAYOUT_BARE},
    {"blk.#.altup_predict_coef", "model.layers.#.altup.prediction_coefs", LAYOUT_SAME},
    {"blk.#.altup_router", "model.layers.#.altup.modality_router", LAYOUT_SAME},
    {"blk.#.altup_router_norm", "model.layers.#.altup.router_norm", LAYOUT_SAME},
    {"blk.#.laurel_l", "model.layers.#.laurel.linear_left", LAYOUT_SAME},
    {"blk.#.laurel_r", "model.layers.#.laurel.linear_right", LAYOUT_SAME},
    {"blk.#.laurel_post_norm", "model.layers.#.laurel.post_laurel_norm", LAYOUT_SAME},
    {0}};
static const struct name_row gemma4_names[] = {
    GEMMA_NAMES,
    {"rope_freqs", NULL, LAYOUT_SAME},
    {"blk.#.layer_output_scale", "model.layers.#.layer_scalar", LAYOUT_BARE},
    {"blk.#.ffn_gate_inp", "model.layers.#.router.proj", LAYOUT_SAME},
    {"blk.#.ffn_gate_inp.scale", "model.layers.#.router.scale", LAYOUT_BARE},
    {"blk.#.ffn_gate_up_exps", "model.layers.#.experts.gate_up_proj", LAYOUT_BARE},
    {"blk.#.ffn_down_exps", "model.layers.#.experts.down_proj", LAYOUT_BARE},
    {"blk.#.ffn_down_exps.scale", "model.layers.#.router.per_expert_scale", LAYOUT_BARE},
    {"blk.#.pre_ffw_norm_2", "model.layers.#.pre_feedforward_layernorm_2", LAYOUT_SAME},
    {"blk.#.post_ffw_norm_1", "model.layers.#.post_feedforward_layernorm_1", LAYOUT_SAME},
    {"blk.#.post_ffw_norm_2", "model.layers.#.post_feedforward_layernorm_2", LAYOUT_SAME},
    {0}};

/* -- keys -- */

#define GEMMA_KEYS \
    SIZES, ROPE, LENGTHS, {"context_length", "max_position_embeddings", KEY_COPIED}, \
        {"feed_forward_length", "", KEY_HERE}, {"rope.freq_base", "", KEY_HERE}, \
        {"rope.freq_base_swa", "", KEY_HERE}, \
        {"attention.layer_norm_rms_epsilon", "rms_norm_eps", KEY_NEEDED}, \
        {"attention.sliding_window", "", KEY_HERE}, \
        {"attention.sliding_window_pattern", "", KEY_HERE}, \
        {"attention.shared_kv_layers", "num_kv_shared_layers", KEY_NEEDED}, \
    { \
        "final_logit_softcapping", "final_logit_softcapping", KEY_COPIED \
    }
static const struct key_row gemma3n_keys[] = {GEMMA_KEYS,
                                              {"attention.head_count_kv", "num_key_value_heads",
                                               KEY_NEEDED},
                                              {"embedding_length_per_layer_input",
                                               "hidden_size_per_layer_input", KEY_NEEDED},
                                              {"altup.active_idx", "altup_active_idx", KEY_NEEDED},
                                              {"altup.num_inputs", "altup_num_inputs", KEY_NEEDED},
                                              {"activation_sparsity_scale", "", KEY_HERE},
                                              {0}};
static const struct key_row gemma4_keys[] = {GEMMA_KEYS,
                                             {"attention.head_count_kv", "", KEY_HERE},
                                             {"attention.key_length_swa", "", KEY_HERE},
                                             {"attention.value_length_swa", "", KEY_HERE},
                                             {"rope.dimension_count_swa", "", KEY_HERE},
                                             {"embedding_length_per_layer_input", "", KEY_HERE},
                                             {"expert_count", "", KEY_HERE},
                                             {"expert_used_count", "top_k_experts", KEY_COPIED},
                                             {"expert_feed_forward_length", "moe_intermediate_size",
                                              KEY_COPIED},
                                             {"expert_gating_func", "", KEY_HERE},
                                             {"expert_weights_norm", "", KEY_HERE},
                                             {"expert_weights_scale", "", KEY_HERE},
                                             {0}};

/* -- what files do not say -- */

#define BASES(base, local) \
    {"rope.freq_base", "rotary base " base}, \
    { \
        "rope.freq_base_swa", "rotary base " local " in windows" \
    }
static const struct assumption of_gemma3n[] = {BASES("1000000", "10000"),
                                               {"final_logit_softcapping", "logits capped at 30"},
                                               {"activation_sparsity_scale",
                                                "5 % of gates left in the first 10 layers"},
                                               {0}};
static const struct assumption of_gemma4[] = {BASES("1000000", "10000"), {0}};

/* -- what both have -- */

/* Rows of the table of inputs by layer, which are not of the vocabulary's number. */
static int take_side_rows(const struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_tensor *t = model_tensor(m, "per_layer_token_embd.weight");
    return t && t->rank == 2 ? model_set(m, config, "vocab_size_per_layer_input",
                                         json_integer((json_int_t)t->shape[0]), e)
                             : 0;
}

static int take_bases(const struct gguf_model *m, json_t *config, double *full, double *local,
                      struct error *e)
{
    if (model_number(m, "rope.freq_base", 1e6, full, e) ||
        model_number(m, "rope.freq_base_swa", 1e4, local, e) || model_take_scaling(m, config, e))
        return -1;
    /* the divisors of Gemma 4 are no scaling: take_turned */
    const char *type = json_string_value(
        json_object_get(json_object_get(config, "rope_scaling"), "rope_type"));
    if (type && strcmp(type, "rope_freqs") != 0)
        return fail(e, "%s: %s.rope.scaling.type %s is not supported here (expected none)",
                    model_path(m), m->architecture->name, type);
    (void)json_object_del(config, "rope_scaling");
    return 0;
}

/* Entry l of a list of a number for each layer, or the one number. */
static int by_layer(const struct gguf_model *m, const char *key, json_int_t layers, json_int_t l,
                    int64_t *out, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, key);
    if (!p || (p->is_array && p->count != (uint64_t)layers) ||
        gguf_integer(p, p->is_array ? (uint64_t)l : 0, out) || *out < 1 || *out > 1 << 24)
        return fail(e,
                    "%s: %s.%s is not a whole number from 1 to %d, or a list of one for each of "
                    "%lld layers",
                    model_path(m), m->architecture->name, key, 1 << 24, (long long)layers);
    return 0;
}

static json_int_t layers_of(const json_t *config)
{
    return json_integer_value(json_object_get(config, "num_hidden_layers"));
}

/* -- Gemma 3n -- */

/* The file holds quantiles of the normal distribution, the library the shares below them. */
static int take_cuts(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char key[] = "activation_sparsity_scale";
    const struct gguf_pair *p = model_pair(m, key);
    json_int_t layers = layers_of(config);
    json_t *shares = json_array();
    if (model_set(m, config, "activation_sparsity_pattern", shares, e))
        return -1;
    for (json_int_t l = 0; l < layers; l++) {
        double quantile, share = l < 10 && layers > 10 ? 0.95 : 0;
        if (p) {
            if (!p->is_array || p->count != (uint64_t)layers ||
                gguf_real(p, (uint64_t)l, &quantile) || !(quantile < 8))
                return fail(e, "%s: gemma3n.%s is not a list of a number below 8 for %lld layers",
                            model_path(m), key, (long long)layers);
            share = 0.5 * erfc(-quantile * M_SQRT1_2);
        }
        if (json_array_append_new(shares, json_real(share)))
            return fail_memory(e, (double)layers, key);
    }
    return 0;
}

static int take_widths(const struct gguf_model *m, json_t *config, struct error *e)
{
    json_int_t layers = layers_of(config);
    json_t *widths = json_array();
    int64_t width;
    if (model_set(m, config, "intermediate_size", widths, e))
        return -1;
    for (json_int_t l = 0; l < layers; l++)
        if (by_layer(m, "feed_forward_length", layers, l, &width, e) ||
            (json_array_append_new(widths, json_integer(width)) &&
             fail_memory(e, (double)layers, "intermediate_size")))
            return -1;
    return 0;
}

static int finish_gemma3n(struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_tensor *down = model_tensor(m, "blk.0.laurel_l.weight");
    double full, local, window;
    if (!down || down->rank != 2)
        return fail(e, "%s: has no matrix blk.0.laurel_l.weight", model_path(m));
    return take_bases(m, config, &full, &local, e) ||
                   model_expect(m, "rope.dimension_count", m->head_size, e) ||
                   model_set(m, config, "rope_theta", json_real(full), e) ||
                   model_set(m, config, "rope_local_base_freq", json_real(local), e) ||
                   model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   model_set(m, config, "laurel_rank", json_integer((json_int_t)down->shape[0]),
                             e) ||
                   take_side_rows(m, config, e) || take_widths(m, config, e) ||
                   take_cuts(m, config, e) || model_take_windows(m, config, 5, &window, e)
               ? -1
               : 0;
}

/* -- Gemma 4 -- */

/* Pairs that are turned in layers without windows: those that the file divides by 1. Others are
 * divided by what stands for infinity. */
static int take_turned(const struct gguf_model *m, json_t *config, double base, double local,
                       struct error *e)
{
    size_t half = (size_t)m->head_size / 2, turned = 0;
    json_t *divisors = model_list(m, "rope_freqs.weight", half, e);
    int odd = !divisors;
    for (size_t i = 0; i < half && !odd; i++) {
        double divisor = json_number_value(json_array_get(divisors, i));
        odd = !((divisor == 1 && turned == i) || divisor >= 1e20);
        turned += divisor == 1;
    }
    if (divisors && odd)
        fail(e,
             "%s: rope_freqs.weight is not supported in gemma4 (expected numbers of 1, then of "
             "1e30)",
             model_path(m));
    json_decref(divisors);
    if (odd)
        return -1;
    double part = (double)turned / (double)half;
    if (floor(part * (double)m->head_size / 2) != (double)turned) /* as the family's reader does */
        part = nextafter(part, 2);
    return model_set(m, config, "rope_parameters",
                     json_pack("{s:{s:s, s:f, s:f}, s:{s:s, s:f}}", "full_attention", "rope_type",
                               "proportional", "partial_rotary_factor", part, "rope_theta", base,
                               "sliding_attention", "rope_type", "default", "rope_theta", local),
                     e);
}

/* Heads for keys and values of layers with windows and without. */
static int take_kv_heads(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char key[] = "attention.head_count_kv";
    const json_t *types = json_object_get(config, "layer_types");
    json_int_t layers = layers_of(config);
    int64_t heads, of[2] = {0, 0};
    for (json_int_t l = 0; l < layers; l++) {
        const char *type = json_string_value(json_array_get(types, (size_t)l));
        int full = type && strcmp(type, "full_attention") == 0;
        if (by_layer(m, key, layers, l, &heads, e))
            return -1;
        if (of[full] && of[full] != heads)
            return fail(e, "%s: gemma4.%s differs between layers of one kind", model_path(m), key);
        of[full] = heads;
    }
    of[0] = of[0] ? of[0] : of[1];
    return model_set(m, config, "num_key_value_heads", json_integer(of[0]), e) ||
                   model_set(m, config, "num_global_key_value_heads",
                             json_integer(of[1] ? of[1] : of[0]), e)
               ? -1
               : 0;
}

/* The MLPs of the layers that share keys and values are as wide as others or twice so. */
static int take_double(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char key[] = "feed_forward_length";
    json_int_t layers = layers_of(config),
               shared = json_integer_value(json_object_get(config, "num_kv_shared_layers"));
    int64_t first, width;
    int twice = 0;
    if (by_layer(m, key, layers, 0, &first, e))
        return -1;
    for (json_int_t l = 0; l < layers; l++) {
        if (by_layer(m, key, layers, l, &width, e))
            return -1;
        if (l == layers - shared)
            twice = width == 2 * first;
        if (width != first * (l >= layers - shared && twice ? 2 : 1))
            return fail(e,
                        "%s: gemma4.%s, entry %lld is %lld (expected the same in all layers, or "
                        "twice that in those that share keys and values)",
                        model_path(m), key, (long long)l + 1, (long long)width);
    }
    return model_set(m, config, "intermediate_size", json_integer(first), e) ||
                   model_set(m, config, "use_double_wide_mlp", json_boolean(twice), e)
               ? -1
               : 0;
}

/* 1 if layers without windows that have keys of their own use them as values. */
static int keys_are_values(const struct gguf_model *m, const json_t *config)
{
    const json_t *types = json_object_get(config, "layer_types");
    for (json_int_t l = 0; l < layers_of(config); l++) {
        const char *type = json_string_value(json_array_get(types, (size_t)l));
        char key[64], value[64];
        snprintf(key, sizeof key, "blk.%lld.attn_k.weight", (long long)l);
        snprintf(value, sizeof value, "blk.%lld.attn_v.weight", (long long)l);
        if (type && strcmp(type, "full_attention") == 0 && model_tensor(m, key) &&
            !model_tensor(m, value))
            return 1;
    }
    return 0;
}

/* Inputs by layer and experts, which a model may lack. */
static int take_parts(struct gguf_model *m, json_t *config, struct error *e)
{
    double width, experts;
    if (model_number(m, "embedding_length_per_layer_input", 0, &width, e) ||
        model_number(m, "expert_count", 0, &experts, e) ||
        model_take_routing(m, config, GATING_SOFTMAX, 1, NULL, e) || take_side_rows(m, config, e) ||
        model_set(m, config, "enable_moe_block", json_boolean(experts != 0), e))
        return -1;
    if (!(width >= 0 && width <= 1 << 16 && experts >= 0 && experts <= 1 << 16))
        return fail(e,
                    "%s: gemma4 has %g experts and inputs by layer of a width of %g (expected "
                    "numbers from 0 to %d)",
                    model_path(m), experts, width, 1 << 16);
    return model_set(m, config, "hidden_size_per_layer_input", json_integer((json_int_t)width),
                     e) ||
                   (experts != 0 &&
                    model_set(m, config, "num_experts", json_integer((json_int_t)experts), e))
               ? -1
               : 0;
}

static int finish_gemma4(struct gguf_model *m, json_t *config, struct error *e)
{
    double full, local, window;
    int64_t small;
    if (model_whole(m, "attention.key_length_swa", 0, &small, e) ||
        model_expect(m, "attention.value_length_swa", small, e) ||
        model_expect(m, "rope.dimension_count", m->head_size, e) ||
        model_expect(m, "rope.dimension_count_swa", small, e) ||
        take_bases(m, config, &full, &local, e) || model_take_windows(m, config, 6, &window, e) ||
        take_turned(m, config, full, local, e) || take_kv_heads(m, config, e) ||
        take_double(m, config, e) || take_parts(m, config, e))
        return -1;
    return model_set(m, config, "head_dim", json_integer(small), e) ||
                   model_set(m, config, "global_head_dim", json_integer(m->head_size), e) ||
                   model_set(m, config, "attention_k_eq_v",
                             json_boolean(keys_are_values(m, config)), e) ||
                   model_set(m, config, "attention_bias",
                             json_boolean(model_tensor(m, "blk.0.attn_q.bias") != NULL), e)
               ? -1
               : 0;
}

const struct architecture gguf_gemmas[] = {{"gemma3n", "gemma3n_text", gemma3n_keys, gemma3n_names,
                                            finish_gemma3n, of_gemma3n, NULL, NULL},
                                           {"gemma4", "gemma4_text", gemma4_keys, gemma4_names,
                                            finish_gemma4, of_gemma4, NULL, NULL},
                                           {0}};
