#include "io/gguf/finish.h"

#include <math.h>
#include <string.h>

/* -- what single architectures need -- */

/* The scaling of rotary positions; a factor without a type is linear. */
static int take_scaling(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char *const settings[][2] = {{"rope.scaling.original_context_length",
                                               "original_max_position_embeddings"},
                                              {"rope.scaling.yarn_beta_fast", "beta_fast"},
                                              {"rope.scaling.yarn_beta_slow", "beta_slow"}};
    const struct gguf_pair *p = model_pair(m, "rope.scaling.type");
    struct gguf_text type = {"linear", 6};
    double factor;
    if (model_number(m, "rope.scale_linear", 0, &factor, e) ||
        model_number(m, "rope.scaling.factor", factor, &factor, e))
        return -1;
    int freqs = model_tensor(m, "rope_freqs.weight") != NULL, yarn;
    if (p && gguf_string(p, &type))
        return fail(e, "%s: %s.rope.scaling.type is not a text", model_path(m),
                    m->architecture->name);
    yarn = gguf_is(type, "yarn");
    if (!yarn && !gguf_is(type, "linear") && !gguf_is(type, "none"))
        return fail(
            e, "%s: %s.rope.scaling.type '%.*s' is not supported (supported: none, linear, yarn)",
            model_path(m), m->architecture->name, type.size < 60 ? (int)type.size : 60, type.text);
    if (gguf_is(type, "none") || (!yarn && (factor == 0 || factor == 1)))
        return freqs ? model_set(m, config, "rope_scaling",
                                 json_pack("{s:s}", "rope_type", "rope_freqs"), e)
                     : 0;
    if (freqs)
        return fail(
            e, "%s: has rope_freqs.weight and %s.rope.scaling.factor %g (expected one of them)",
            model_path(m), m->architecture->name, factor);
    json_t *scaling = json_pack("{s:s, s:f}", "rope_type", yarn ? "yarn" : "linear", "factor",
                                factor);
    if (model_set(m, config, "rope_scaling", scaling, e))
        return -1;
    for (size_t i = 0; yarn && i < sizeof settings / sizeof *settings; i++) {
        double value;
        if (model_number(m, settings[i][0], NAN, &value, e) ||
            (!isnan(value) && model_set(m, scaling, settings[i][1], json_real(value), e)))
            return -1;
    }
    return 0;
}

/* Models that rotate a part of each head give it in `fraction`; NULL: they rotate whole heads. */
static int take_rotation(const struct gguf_model *m, json_t *config, const char *fraction,
                         struct error *e)
{
    int64_t turned;
    if (!fraction)
        return model_expect(m, "rope.dimension_count", m->head_size, e) ||
                       take_scaling(m, config, e)
                   ? -1
                   : 0;
    if (model_whole(m, "rope.dimension_count", m->head_size, &turned, e))
        return -1;
    double part = (double)turned / (double)m->head_size;
    if ((int64_t)((double)m->head_size * part) != turned) /* as multiplied by the family's reader */
        part = nextafter(part, 2);
    if (turned > m->head_size)
        return model_expect(m, "rope.dimension_count", m->head_size, e);
    return model_set(m, config, fraction, json_real(part), e) || take_scaling(m, config, e) ? -1
                                                                                            : 0;
}

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
                   take_rotation(m, config, NULL, e)
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
                   expect_plain_heads(m, e) || take_rotation(m, config, "rotary_pct", e)
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
                   take_rotation(m, config, NULL, e)
               ? -1
               : 0;
}

int finish_phi(struct gguf_model *m, json_t *config, struct error *e)
{
    return model_expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   take_rotation(m, config, "partial_rotary_factor", e)
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

/* A window of 0 means none. The factors of longrope are tensors, not handled here. */
int finish_phi3(struct gguf_model *m, json_t *config, struct error *e)
{
    static const char key[] = "attention.sliding_window";
    double window;
    int64_t size;
    if (model_number(m, key, 0, &window, e) ||
        model_expect(m, "attention.key_length", m->hidden / m->heads, e))
        return -1;
    /* the library's default padding token is missing from smaller vocabularies, and the library
     * then fails to load them */
    if (json_integer_value(json_object_get(config, "vocab_size")) <= 32000 &&
        model_set(m, config, "pad_token_id", json_null(), e))
        return -1;
    if (window != 0 && (model_whole(m, key, 0, &size, e) ||
                        model_set(m, config, "sliding_window", json_integer(size), e)))
        return -1;
    return take_rotation(m, config, "partial_rotary_factor", e);
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

/* With a window it is an OLMo 3, whose other layers have another scaling. */
int finish_olmo2(struct gguf_model *m, json_t *config, struct error *e)
{
    return set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   expect_no_window(m, e) || finish_rotary(m, config, e)
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
                   take_rotation(m, config, NULL, e)
               ? -1
               : 0;
}

/* -- architectures with experts -- */

enum { GATING_SOFTMAX = 1, GATING_SIGMOID = 2 };

/* Other settings of the weights of experts: `normalised` is the architecture's; `key`, if named, is
 * set to that, or to the file's value. */
static int take_routing(struct gguf_model *m, json_t *config, int gating, int normalised,
                        const char *key, struct error *e)
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
    return take_routing(m, config, GATING_SOFTMAX, 1, NULL, e) || expect_width(m, config, e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_qwen2_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return take_routing(m, config, GATING_SOFTMAX, 0, "norm_topk_prob", e) ||
                   set_flag(m, config, "qkv_bias", "blk.0.attn_q.bias", e) ||
                   finish_rotary(m, config, e)
               ? -1
               : 0;
}

int finish_qwen3_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    return take_routing(m, config, GATING_SOFTMAX, 1, "norm_topk_prob", e) ||
                   finish_qwen3(m, config, e)
               ? -1
               : 0;
}

int finish_olmoe(struct gguf_model *m, json_t *config, struct error *e)
{
    return take_routing(m, config, GATING_SOFTMAX, 0, "norm_topk_prob", e) ||
                   expect_width(m, config, e) || finish_qwen3(m, config, e)
               ? -1
               : 0;
}

int finish_granitemoe(struct gguf_model *m, json_t *config, struct error *e)
{
    return finish_mixtral(m, config, e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e)
               ? -1
               : 0;
}

/* Its blocks include the layers that predict further tokens. */
int finish_glm4_moe(struct gguf_model *m, json_t *config, struct error *e)
{
    json_int_t blocks = json_integer_value(json_object_get(config, "num_hidden_layers")),
               behind = json_integer_value(json_object_get(config, "num_nextn_predict_layers"));
    return take_routing(m, config, GATING_SIGMOID, 1, "norm_topk_prob", e) ||
                   model_set(m, config, "num_hidden_layers", json_integer(blocks - behind), e) ||
                   model_set(m, config, "num_nextn_predict_layers", json_integer(behind), e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   set_flag(m, config, "use_qk_norm", "blk.0.attn_q_norm.weight", e) ||
                   model_set(m, config, "head_dim", json_integer(m->head_size), e) ||
                   take_rotation(m, config, "partial_rotary_factor", e)
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
