#include "io/gguf/finish.h"

#include <math.h>
#include <string.h>

/* -- what single architectures need -- */

/* In these the library has no separate heads for keys and values, and no other head size. */
static int expect_plain_heads(const struct gguf_model *m, struct error *e)
{
    return model_expect(m, "attention.head_count_kv", m->heads, e) ||
                   model_expect(m, "attention.key_length", m->hidden / m->heads, e)
               ? -1
               : 0;
}

static int set_flag(const struct gguf_model *m, json_t *config, const char *key, const char *tensor,
                    struct error *e)
{
    return model_set(m, config, key, json_boolean(model_tensor(m, tensor) != NULL), e);
}

int finish_rotary(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   model_take_rotation(m, config, NULL, e)
               ? -1
               : 0;
}

int finish_llama(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   set_flag(m, config, "mlp_bias", "blk.0.ffn_up.bias", e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_qwen3(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

/* The factor on scores is not in the file. As in llama.cpp it is from the head size, but in the
 * largest of these models, recognized by its 46 layers, from the width over the heads. */
int finish_gemma2(struct gguf_model *m, json_t *config, struct error *e)
{
    int largest = json_integer_value(json_object_get(config, "num_hidden_layers")) == 46;
    int64_t scalar_of = largest ? m->hidden / m->heads : m->head_size;
    model_assume(m, "scores over the root of %lld", (long long)scalar_of);
    return model_set(m, config, "query_pre_attn_scalar", json_integer(scalar_of), e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_gpt2(struct gguf_model *m, json_t *config, struct error *e)
{
    (void)config;
    return expect_plain_heads(m, e);
}

int finish_neox(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "attention_bias", "blk.0.attn_qkv.bias", e) ||
                   expect_plain_heads(m, e) || model_take_rotation(m, config, "rotary_pct", e)
               ? -1
               : 0;
}

int finish_bloom(struct gguf_model *m, json_t *config, struct error *e)
{
    (void)config;
    return expect_plain_heads(m, e) || model_expect(m, "feed_forward_length", 4 * m->hidden, e) ? -1
                                                                                                : 0;
}

int finish_mpt(struct gguf_model *m, json_t *config, struct error *e)
{
    double clamp, alibi;
    int64_t inner;
    if (expect_plain_heads(m, e) || model_number(m, "attention.clamp_kqv", 0, &clamp, e) ||
        model_number(m, "attention.max_alibi_bias", 0, &alibi, e) ||
        model_whole(m, "feed_forward_length", 4 * m->hidden, &inner, e))
        return -1;
    if (inner % m->hidden)
        return fail(e,
                    "%s: mpt.feed_forward_length is %lld (expected a multiple of the width, %lld)",
                    model_path(m), (long long)inner, (long long)m->hidden);
    json_t *attention = json_pack("{s:b}", "alibi", alibi != 0);
    if (model_set(m, config, "attn_config", attention, e) ||
        model_set(m, config, "expansion_ratio", json_integer(inner / m->hidden), e) ||
        (clamp != 0 && model_set(m, attention, "clip_qkv", json_real(clamp), e)))
        return -1;
    /* the library accepts only a whole number */
    return alibi != 0
               ? model_set(m, attention, "alibi_bias_max",
                           alibi == floor(alibi) && alibi < 1e9 ? json_integer((json_int_t)alibi)
                                                                : json_real(alibi),
                           e)
               : 0;
}

/* Names of a Falcon with two norms in each layer. */
static const struct name_row falcon_two_names[] = {
    {"token_embd", "transformer.word_embeddings", LAYOUT_SAME},
    {"output_norm", "transformer.ln_f", LAYOUT_SAME},
    {"output", "lm_head", LAYOUT_SAME},
    {"blk.#.attn_norm", "transformer.h.#.ln_mlp", LAYOUT_SAME},
    {"blk.#.attn_norm_2", "transformer.h.#.ln_attn", LAYOUT_SAME},
    {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", LAYOUT_FUSED},
    {"blk.#.attn_output", "transformer.h.#.self_attention.dense", LAYOUT_SAME},
    {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h", LAYOUT_SAME},
    {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h", LAYOUT_SAME},
    {0}};

/* The two published forms: one head for all keys and values, and groups of heads with one or two
 * norms. */
int finish_falcon(struct gguf_model *m, json_t *config, struct error *e)
{
    int two = model_tensor(m, "blk.0.attn_norm_2.weight") != NULL, grouped = two || m->kv_heads > 1;
    if (two)
        m->names = falcon_two_names;
    if (grouped && model_set(m, config, "num_ln_in_parallel_attn", json_integer(two ? 2 : 1), e))
        return -1;
    return model_set(m, config, "new_decoder_architecture", json_boolean(grouped), e) ||
                   model_set(m, config, "multi_query", json_boolean(!grouped), e) ||
                   model_set(m, config, "parallel_attn", json_true(), e) ||
                   model_set(m, config, "alibi", json_false(), e) ||
                   set_flag(m, config, "bias", "blk.0.attn_qkv.bias", e) ||
                   model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   model_take_rotation(m, config, NULL, e)
               ? -1
               : 0;
}

int finish_phi(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   model_take_rotation(m, config, "partial_rotary_factor", e)
               ? -1
               : 0;
}

/* The same factor on scores; in the largest of these models, recognized by its 62 layers, from the
 * width over the heads. Only layers without windows are scaled. */
int finish_gemma3(struct gguf_model *m, json_t *config, struct error *e)
{
    int largest = json_integer_value(json_object_get(config, "num_hidden_layers")) == 62;
    int64_t scalar_of = largest ? m->hidden / m->heads : m->head_size;
    model_assume(m, "scores over the root of %lld", (long long)scalar_of);
    if (model_set(m, config, "query_pre_attn_scalar", json_integer(scalar_of), e) ||
        (!json_object_get(config, "rope_theta") &&
         model_set(m, config, "rope_theta", json_real(1e6), e)))
        return -1;
    return finish_rotary(m, config, e);
}

/* The library's default padding token is missing from smaller vocabularies, and the library then
 * fails to load them. */
static int leave_padding(const struct gguf_model *m, json_t *config, int padding, struct error *e)
{
    return json_integer_value(json_object_get(config, "vocab_size")) <= padding
               ? model_set(m, config, "pad_token_id", json_null(), e)
               : 0;
}

/* A window of 0 means none. */
int finish_phi3(struct gguf_model *m, json_t *config, struct error *e)
{
    static const char key[] = "attention.sliding_window";
    double window;
    int64_t size;
    if (model_number(m, key, 0, &window, e) ||
        model_expect(m, "attention.key_length", m->hidden / m->heads, e))
        return -1;
    if (leave_padding(m, config, 32000, e))
        return -1;
    if (window != 0 && (model_whole(m, key, 0, &size, e) ||
                        model_set(m, config, "sliding_window", json_integer(size), e)))
        return -1;
    int longrope = model_tensor(m, "rope_factors_long.weight") != NULL;
    return model_take_part(m, config, "partial_rotary_factor", e) ||
                   (longrope ? model_take_longrope(m, config, e) : model_take_scaling(m, config, e))
               ? -1
               : 0;
}

static int expect_no_window(const struct gguf_model *m, struct error *e)
{
    double window;
    if (model_number(m, "attention.sliding_window", 0, &window, e))
        return -1;
    return window == 0
               ? 0
               : fail(e, "%s: %s.attention.sliding_window %g is not supported here (expected 0)",
                      model_path(m), m->architecture->name, window);
}

int finish_starcoder2(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "use_bias", "blk.0.attn_q.bias", e) || expect_no_window(m, e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int model_take_windows(struct gguf_model *m, json_t *config, int absent, double *window,
                       struct error *e)
{
    static const char key[] = "attention.sliding_window_pattern";
    json_int_t layers = json_integer_value(json_object_get(config, "num_hidden_layers"));
    const struct gguf_pair *p = model_pair(m, key);
    int64_t every = absent, windowed;
    json_t *types = json_array();
    if (model_set(m, config, "layer_types", types, e) ||
        model_number(m, "attention.sliding_window", 0, window, e) ||
        model_set(m, config, "sliding_window",
                  *window == 0 ? json_null() : json_integer((json_int_t)*window), e))
        return -1;
    if (*window == 0)
        model_assume(m, "no windows");
    else if (*window != floor(*window) || *window < 1 || *window > 1 << 24)
        return fail(e, "%s: %s.attention.sliding_window is %g (expected a whole number)",
                    model_path(m), m->architecture->name, *window);
    else if (!p)
        model_assume(m, "windows in all layers but every %dth", absent);
    else if (p->is_array ? p->count != (uint64_t)layers
                         : gguf_integer(p, 0, &every) || every < 1 || every > 1 << 24)
        return fail(e, "%s: %s.%s is neither a list for %lld layers nor a number above 0",
                    model_path(m), m->architecture->name, key, (long long)layers);
    for (json_int_t l = 0; l < layers; l++) {
        windowed = l % every < every - 1;
        if (p && p->is_array && gguf_integer(p, (uint64_t)l, &windowed))
            return fail(e, "%s: %s.%s is not a list of true and false", model_path(m),
                        m->architecture->name, key);
        if (json_array_append_new(types, json_string(*window != 0 && windowed ? "sliding_attention"
                                                                              : "full_attention")))
            return fail_memory(e, (double)layers, "layer_types");
    }
    return 0;
}

/* With windows it is an OLMo 3, whose windowed layers have no scaling. */
int finish_olmo2(struct gguf_model *m, json_t *config, struct error *e)
{
    double window, base;
    if (set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
        finish_rotary(m, config, e) || model_number(m, "attention.sliding_window", 0, &window, e))
        return -1;
    if (window == 0)
        return 0;
    json_t *theta = json_object_get(config, "rope_theta"),
           *full = json_object_get(config, "rope_scaling");
    base = theta ? json_number_value(theta) : 10000;
    full = full ? json_incref(full) : json_pack("{s:s}", "rope_type", "default");
    json_t *ropes = json_pack("{s:o}", "full_attention", full);
    if (model_set(m, config, "rope_parameters", ropes, e) ||
        model_set(m, full, "rope_theta", json_real(base), e) ||
        model_number(m, "rope.freq_base_swa", base, &base, e) ||
        model_set(m, ropes, "sliding_attention",
                  json_pack("{s:s, s:f}", "rope_type", "default", "rope_theta", base), e))
        return -1;
    json_object_del(config, "rope_theta");
    json_object_del(config, "rope_scaling");
    return model_set(m, config, "model_type", json_string("olmo3"), e) ||
                   model_take_windows(m, config, 4, &window, e)
               ? -1
               : 0;
}

int finish_exaone4(struct gguf_model *m, json_t *config, struct error *e)
{
    double window;
    return model_take_windows(m, config, 4, &window, e) || finish_rotary(m, config, e) ? -1 : 0;
}

int finish_smollm3(struct gguf_model *m, json_t *config, struct error *e)
{
    return leave_padding(m, config, 128004, e) ||
                   model_set(m, config, "no_rope_layer_interval", json_integer(4), e) ||
                   model_set(m, config, "use_sliding_window", json_false(), e) ||
                   finish_llama(m, config, e)
               ? -1
               : 0;
}

/* Its norms have no weights, and one epsilon. Rows of biases would be in the library's order. */
int finish_olmo1(struct gguf_model *m, json_t *config, struct error *e)
{
    double epsilon, clip;
    if (model_number(m, "attention.layer_norm_epsilon", 1e-5, &epsilon, e) ||
        model_number(m, "attention.clamp_kqv", 0, &clip, e))
        return -1;
    if ((float)epsilon != 1e-5f)
        return fail(e,
                    "%s: olmo.attention.layer_norm_epsilon is %g, which is not supported (expected "
                    "1e-05)",
                    model_path(m), epsilon);
    if (model_tensor(m, "blk.0.attn_q.bias"))
        return fail(e, "%s: has biases, which are not supported in the architecture olmo",
                    model_path(m));
    return (clip != 0 && model_set(m, config, "clip_qkv", json_real(clip), e)) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_seed_oss(struct gguf_model *m, json_t *config, struct error *e)
{
    return finish_llama(m, config, e) ||
                   set_flag(m, config, "attention_out_bias", "blk.0.attn_output.bias", e)
               ? -1
               : 0;
}

/* Parallel residuals are those of models without a second norm. */
int finish_stablelm(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "use_qkv_bias", "blk.0.attn_q.bias", e) ||
                   set_flag(m, config, "qk_layernorm", "blk.0.attn_q_norm.weight", e) ||
                   model_set(m, config, "use_parallel_residual",
                             json_boolean(!model_tensor(m, "blk.0.ffn_norm.weight")), e) ||
                   model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   model_take_rotation(m, config, "partial_rotary_factor", e)
               ? -1
               : 0;
}

/* Files with sections of positions, of models that see, hold queries and keys in another order. */
int finish_glm4(struct gguf_model *m, json_t *config, struct error *e)
{
    if (model_pair(m, "rope.dimension_sections"))
        return fail(e, "%s: has glm4.rope.dimension_sections, which is not supported",
                    model_path(m));
    return leave_padding(m, config, 151329, e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   model_take_rotation(m, config, "partial_rotary_factor", e)
               ? -1
               : 0;
}

/* With queries that grow with their position it is a Ministral 3, else a Mistral. */
int finish_mistral3(struct gguf_model *m, json_t *config, struct error *e)
{
    double growth;
    int64_t period;
    if (model_number(m, "attention.temperature_scale", 0, &growth, e) ||
        finish_rotary(m, config, e) || model_set(m, config, "sliding_window", json_null(), e))
        return -1;
    if (growth == 0)
        return 0;
    json_t *scaling = json_object_get(config, "rope_scaling");
    if (!scaling && model_set(m, config, "rope_scaling",
                              scaling = json_pack("{s:s}", "rope_type", "default"), e))
        return -1;
    json_t *base = json_object_get(config, "rope_theta");
    return model_whole(m, "rope.scaling.original_context_length", 0, &period, e) ||
                   model_expect(m, "attention.temperature_length", period, e) ||
                   model_set(m, config, "model_type", json_string("ministral3"), e) ||
                   model_set(m, scaling, "llama_4_scaling_beta", json_real(growth), e) ||
                   model_set(m, scaling, "original_max_position_embeddings", json_integer(period),
                             e) ||
                   model_set(m, scaling, "rope_theta", base ? json_incref(base) : json_real(10000),
                             e)
               ? -1
               : 0;
}

/* All heads share one for keys and values. */
int finish_starcoder(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_expect(m, "attention.head_count_kv", 1, e) ||
                   model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   model_set(m, config, "multi_query", json_true(), e)
               ? -1
               : 0;
}

int finish_cohere(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   set_flag(m, config, "use_qk_norm", "blk.0.attn_q_norm.weight", e) ||
                   expect_no_window(m, e) || finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_cohere2(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   model_take_rotation(m, config, NULL, e)
               ? -1
               : 0;
}

/* -- architectures with experts -- */

int model_take_routing(struct gguf_model *m, json_t *config, enum gguf_gating gating,
                       int normalised, const char *key, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "expert_weights_norm");
    double said = normalised, factor;
    if (model_expect(m, "expert_gating_func", gating, e) ||
        model_number(m, "expert_weights_scale", 1, &factor, e))
        return -1;
    if (p && gguf_real(p, 0, &said))
        return fail(e, "%s: %s.expert_weights_norm is neither true nor false", model_path(m),
                    m->architecture->name);
    if (!key && (said != 0) != normalised)
        return fail(e, "%s: %s.expert_weights_norm is %s, which is not supported (expected %s)",
                    model_path(m), m->architecture->name, said != 0 ? "true" : "false",
                    normalised ? "true" : "false");
    if (gating == GATING_SOFTMAX && factor != 1 && factor != 0) /* 0: none */
        return fail(e, "%s: %s.expert_weights_scale is %g, which is not supported (expected 1)",
                    model_path(m), m->architecture->name, factor);
    if (key && !p)
        model_assume(m, "weights of the chosen experts %snormalised", normalised ? "" : "not ");
    return key ? model_set(m, config, key, json_boolean(said != 0), e) : 0;
}

/* For families whose experts are as wide as an MLP. */
static int expect_width(const struct gguf_model *m, const json_t *config, struct error *e)
{
    return model_expect(m, "expert_feed_forward_length",
                        json_integer_value(json_object_get(config, "intermediate_size")), e);
}

int finish_mixtral(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SOFTMAX, 1, NULL, e) ||
                   expect_width(m, config, e) || finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_qwen2_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SOFTMAX, 0, "norm_topk_prob", e) ||
                   set_flag(m, config, "qkv_bias", "blk.0.attn_q.bias", e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_qwen3_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SOFTMAX, 1, "norm_topk_prob", e) ||
                   finish_qwen3(m, config, e)
               ? -1
               : 0;
}

int finish_olmoe(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SOFTMAX, 0, "norm_topk_prob", e) ||
                   expect_width(m, config, e) || finish_qwen3(m, config, e)
               ? -1
               : 0;
}

/* For llama.cpp this key says whether a Granite's positions are turned. */
static int expect_turned(const struct gguf_model *m, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "rope.scaling.finetuned");
    double turned = 1;
    if (p && (gguf_real(p, 0, &turned) || turned != 1))
        return fail(e,
                    "%s: %s.rope.scaling.finetuned is not true, which is not supported (expected a "
                    "model with rotary positions)",
                    model_path(m), m->architecture->name);
    return 0;
}

/* The MLP of a hybrid without recurrences and experts has the shared expert's name and width. */
int finish_granite_dense(struct gguf_model *m, json_t *config, struct error *e)
{
    json_int_t inner = json_integer_value(json_object_get(config, "intermediate_size"));
    return expect_turned(m, e) || model_expect(m, "expert_shared_feed_forward_length", inner, e) ||
                   finish_llama(m, config, e)
               ? -1
               : 0;
}

int finish_granitemoe(struct gguf_model *m, json_t *config, struct error *e)
{
    int64_t shared = 0;
    if (model_pair(m, "expert_shared_feed_forward_length") &&
        (model_whole(m, "expert_shared_feed_forward_length", 0, &shared, e) ||
         model_set(m, config, "shared_intermediate_size", json_integer(shared), e) ||
         model_set(m, config, "model_type", json_string("granitemoeshared"), e)))
        return -1;
    return expect_turned(m, e) || finish_mixtral(m, config, e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e)
               ? -1
               : 0;
}

/* Its blocks include the layers that predict further tokens. */
int finish_glm4_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    json_int_t blocks = json_integer_value(json_object_get(config, "num_hidden_layers")),
               behind = json_integer_value(json_object_get(config, "num_nextn_predict_layers"));
    return model_take_routing(m, config, GATING_SIGMOID, 1, "norm_topk_prob", e) ||
                   model_set(m, config, "num_hidden_layers", json_integer(blocks - behind), e) ||
                   model_set(m, config, "num_nextn_predict_layers", json_integer(behind), e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   set_flag(m, config, "use_qk_norm", "blk.0.attn_q_norm.weight", e) ||
                   model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   model_take_rotation(m, config, "partial_rotary_factor", e)
               ? -1
               : 0;
}

int finish_dots1(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_take_routing(m, config, GATING_SIGMOID, 1, "norm_topk_prob", e) ||
                   model_set(m, config, "sliding_window", json_null(), e) ||
                   finish_qwen3(m, config, e)
               ? -1
               : 0;
}

/* The file does not say whether yarn's ranges are truncated; those of released models are not. */
int finish_gpt_oss(struct gguf_model *m, json_t *config, struct error *e)
{
    if (finish_mixtral(m, config, e) ||
        set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e))
        return -1;
    json_t *scaling = json_object_get(config, "rope_scaling");
    return scaling ? model_set(m, scaling, "truncate", json_false(), e)
                   : model_set(m, config, "rope_scaling",
                               json_pack("{s:s}", "rope_type", "default"), e);
}

/* Files of Llama 4 have no keys for what its released models share: chunks, which layers are
 * turned, and how queries of others grow. Only models with 128 experts have no norms of queries and
 * keys. */
int finish_llama4(struct gguf_model *m, json_t *config, struct error *e)
{
    double factor;
    const int normed = json_integer_value(json_object_get(config, "num_local_experts")) != 128;
    if (model_pair(m, "attention.sliding_window"))
        return fail(e,
                    "%s: has llama4.attention.sliding_window, which is not supported (such a file "
                    "does not say which layers are turned)",
                    model_path(m));
    model_assume(m, "chunks of 8192 in turned layers, every 4th not turned, its queries growing");
    model_assume(m, "%snorms of queries and keys", normed ? "" : "no ");
    if (model_number(m, "expert_weights_scale", 1, &factor, e) ||
        model_take_routing(m, config, GATING_SIGMOID, 0, NULL, e))
        return -1;
    if (factor != 1 && factor != 0) /* 0: none */
        return fail(e, "%s: llama4.expert_weights_scale is %g, which is not supported (expected 1)",
                    model_path(m), factor);
    return model_set(m, config, "attention_chunk_size", json_integer(8192), e) ||
                   model_set(m, config, "attn_temperature_tuning", json_true(), e) ||
                   model_set(m, config, "attn_scale", json_real(0.1), e) ||
                   model_set(m, config, "floor_scale", json_integer(8192), e) ||
                   model_set(m, config, "no_rope_layer_interval", json_integer(4), e) ||
                   model_set(m, config, "use_qk_norm", json_boolean(normed), e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}
