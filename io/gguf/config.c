/* GGUF's metadata as the config.json of the library. */
#include "io/gguf/finish.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KEY_MAX = 160 };

/* -- finding -- */

const struct gguf_tensor *model_tensor(const struct gguf_model *m, const char *name)
{
    for (size_t s = 0; s < m->count; s++)
        for (size_t i = 0; i < m->shards[s].tensor_count; i++)
            if (gguf_is(m->shards[s].tensors[i].name, name))
                return &m->shards[s].tensors[i];
    return NULL;
}

static const char *full_key(char out[KEY_MAX], const struct gguf_model *m, const char *key)
{
    snprintf(out, KEY_MAX, "%s.%s", m->architecture->name, key);
    return out;
}

const struct gguf_pair *model_pair(const struct gguf_model *m, const char *key)
{
    char full[KEY_MAX];
    return gguf_find(&m->shards[0], full_key(full, m, key));
}

static const char *path_of(const struct gguf_model *m)
{
    return m->shards[0].path;
}

/* -- values -- */

/* The value as JSON: number, boolean, text; or the number in an array of equal ones. NULL with
 * *e. */
static json_t *scalar(const struct gguf_model *m, const struct gguf_pair *p, struct error *e)
{
    double first, other;
    int64_t whole;
    struct gguf_text text;
    json_t *value = NULL;
    if (gguf_string(p, &text) == 0)
        value = json_stringn(text.text, text.size);
    else if (p->count && p->type != GGUF_STRING && gguf_real(p, 0, &first) == 0) {
        for (uint64_t i = 1; i < p->count; i++)
            if (gguf_real(p, i, &other) || other != first) {
                fail(e,
                     "%s: %.*s differs between layers, which is not supported (expected one value "
                     "for all)",
                     path_of(m), (int)p->key.size, p->key.text);
                return NULL;
            }
        if (p->type == GGUF_BOOL)
            value = json_boolean(first != 0);
        else
            value = gguf_integer(p, 0, &whole) == 0 ? json_integer(whole) : json_real(first);
    }
    if (!value)
        fail(e,
             "%s: %.*s is not a value that can be used (expected a finite number, true or false, "
             "or text in UTF-8)",
             path_of(m), (int)p->key.size, p->key.text);
    return value;
}

static int set(const struct gguf_model *m, json_t *config, const char *key, json_t *value,
               struct error *e)
{
    return json_object_set_new(config, key, value)
               ? fail(e, "%s: %s cannot be set (out of memory, or not a number)", path_of(m), key)
               : 0;
}

/* A number; *out = fallback if the key is absent. */
static int number(const struct gguf_model *m, const char *key, double fallback, double *out,
                  struct error *e)
{
    const struct gguf_pair *p = model_pair(m, key);
    json_t *value;
    *out = fallback;
    if (!p)
        return 0;
    if (!(value = scalar(m, p, e)))
        return -1;
    int is_number = json_is_number(value);
    *out = is_number ? json_number_value(value) : 0;
    json_decref(value);
    return is_number ? 0
                     : fail(e, "%s: %s.%s is not a number", path_of(m), m->architecture->name, key);
}

static int whole(const struct gguf_model *m, const char *key, int64_t fallback, int64_t *out,
                 struct error *e)
{
    double value;
    if (number(m, key, (double)fallback, &value, e))
        return -1;
    if (!(value >= 1 && value <= 1 << 24) || value != floor(value))
        return fail(e, "%s: %s.%s is %g (expected a whole number from 1 to %d)", path_of(m),
                    m->architecture->name, key, value, 1 << 24);
    *out = (int64_t)value;
    return 0;
}

/* A size that the library assumes. */
static int expect(const struct gguf_model *m, const char *key, int64_t expected, struct error *e)
{
    int64_t value = expected;
    if (whole(m, key, expected, &value, e))
        return -1;
    return value == expected
               ? 0
               : fail(e, "%s: %s.%s is %lld, which is not supported here (expected %lld)",
                      path_of(m), m->architecture->name, key, (long long)value,
                      (long long)expected);
}

/* Adds to the list of assumptions. */
static void assume(struct gguf_model *m, const char *format, ...)
{
    size_t at = strlen(m->assumed);
    va_list arguments;
    if (at)
        at += (size_t)snprintf(m->assumed + at, sizeof m->assumed - at, ", ");
    va_start(arguments, format);
    if (at < sizeof m->assumed)
        vsnprintf(m->assumed + at, sizeof m->assumed - at, format, arguments);
    va_end(arguments);
}

/* -- keys -- */

/* Keys that make another model, unless they have their neutral value. */
static const struct {
    const char *key;
    double only;
} refused[] = {{"attention.causal", 1},
               {"attention.clamp_kqv", 0},
               {"attention.max_alibi_bias", 0},
               {"attention.output_scale", 0},
               {"attention.scale", 0},
               {"attention.sliding_window", 0},
               {"attention.temperature_length", 0},
               {"attention.temperature_scale", 0},
               {"attn_logit_softcapping", 0},
               {"embedding_scale", 0},
               {"expert_count", 0},
               {"expert_shared_feed_forward_length", 0},
               {"expert_used_count", 0},
               {"final_logit_softcapping", 0},
               {"leading_dense_block_count", 0},
               {"logit_scale", 0},
               {"nextn_predict_layers", 0},
               {"residual_scale", 0},
               {"rope.scaling.alpha", 0},
               {"rope.scaling.attn_factor", 1},
               {"rope.scaling.yarn_attn_factor", 1},
               {"rope.scaling.yarn_ext_factor", 1},
               {"rope.scaling.yarn_log_multiplier", 0}};
enum { REFUSED = sizeof refused / sizeof *refused };

/* A key of the architecture that has no row. */
static int take_other(const struct gguf_model *m, json_t *config, const struct gguf_pair *p,
                      const char *key, struct error *e)
{
    double value;
    char full[KEY_MAX];
    for (int i = 0; i < REFUSED; i++) {
        if (strcmp(key, refused[i].key))
            continue;
        json_t *found = scalar(m, p, e);
        if (!found)
            return -1;
        value = json_is_boolean(found)  ? json_is_true(found)
                : json_is_number(found) ? json_number_value(found)
                                        : NAN;
        json_decref(found);
        return value == refused[i].only
                   ? 0
                   : fail(e, "%s: %s is %g, which is not supported (expected %g)", path_of(m),
                          full_key(full, m, key), value, refused[i].only);
    }
    /* reported as not understood by the config's reader */
    return set(m, config, full_key(full, m, key), json_true(), e);
}

static int take_row(const struct gguf_model *m, json_t *config, const struct key_row *row,
                    struct error *e)
{
    const struct gguf_pair *p = model_pair(m, row->key);
    json_t *value;
    if (!p && row->use == KEY_NEEDED)
        return fail(e, "%s: %s.%s is missing", path_of(m), m->architecture->name, row->key);
    if (!p || (row->use != KEY_NEEDED && row->use != KEY_COPIED))
        return 0;
    return (value = scalar(m, p, e)) ? set(m, config, row->config, value, e) : -1;
}

/* Every pair of the metadata: the architecture's, the tokenizer's, the file's, or unknown. */
static int take_rest(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char *const others[] = {"general.", "tokenizer.", "split.", "quantize."};
    size_t length = strlen(m->architecture->name);
    for (size_t i = 0; i < m->shards[0].pair_count; i++) {
        const struct gguf_pair *p = &m->shards[0].pairs[i];
        char key[KEY_MAX];
        int known = 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            known |= p->key.size > strlen(others[k]) &&
                     memcmp(p->key.text, others[k], strlen(others[k])) == 0;
        if (known)
            continue;
        snprintf(key, sizeof key, "%.*s", p->key.size < KEY_MAX ? (int)p->key.size : KEY_MAX - 1,
                 p->key.text);
        if (strncmp(key, m->architecture->name, length) || key[length] != '.') {
            if (set(m, config, key, json_true(), e))
                return -1;
            continue;
        }
        const struct key_row *row = m->architecture->keys;
        while (row->key && strcmp(row->key, key + length + 1))
            row++;
        if (!row->key && take_other(m, config, p, key + length + 1, e))
            return -1;
    }
    return 0;
}

/* -- all architectures -- */

static int check_general(const struct gguf *g, struct error *e)
{
    struct gguf_text type;
    int64_t version;
    int quantised = 0;
    for (size_t i = 0; i < g->tensor_count; i++)
        quantised |= g->tensors[i].stored->kind == STORED_QUANTISED;
    if (gguf_string_or_none(g, "general.type", &type, e) ||
        gguf_integer_or(g, "general.quantization_version", 0, 1000, 2, &version, e))
        return -1;
    if (type.text && !gguf_is(type, "model"))
        return fail(e, "%s: general.type is '%.*s' (expected model)", g->path,
                    type.size < 60 ? (int)type.size : 60, type.text);
    if (quantised && version != 2)
        return fail(e, "%s: general.quantization_version is %lld (expected 2)", g->path,
                    (long long)version);
    return 0;
}

static int take_sizes(struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_tensor *embedding = model_tensor(m, "token_embd.weight");
    int64_t bos;
    if (!embedding || embedding->rank != 2)
        return fail(e, "%s: has no matrix token_embd.weight", path_of(m));
    if (whole(m, "embedding_length", 0, &m->hidden, e) ||
        whole(m, "attention.head_count", 0, &m->heads, e) ||
        whole(m, "attention.head_count_kv", m->heads, &m->kv_heads, e))
        return -1;
    if (m->heads % m->kv_heads || (!model_pair(m, "attention.key_length") && m->hidden % m->heads))
        return fail(e,
                    "%s: has %lld heads with %lld for keys and values, and a width of %lld "
                    "(expected multiples)",
                    path_of(m), (long long)m->heads, (long long)m->kv_heads, (long long)m->hidden);
    if (whole(m, "attention.key_length", m->hidden / m->heads, &m->head_size, e) ||
        expect(m, "attention.value_length", m->head_size, e) ||
        expect(m, "vocab_size", (int64_t)embedding->shape[0], e) ||
        gguf_integer_or(&m->shards[0], "tokenizer.ggml.bos_token_id", 0, UINT32_MAX, -1, &bos, e))
        return -1;
    if (bos >= 0 && bos < INT32_MAX && set(m, config, "bos_token_id", json_integer(bos), e))
        return -1;
    return set(m, config, "vocab_size", json_integer((json_int_t)embedding->shape[0]), e) ||
           set(m, config, "tie_word_embeddings", json_boolean(!model_tensor(m, "output.weight")),
               e);
}

json_t *gguf_config(struct gguf_model *m, struct error *e)
{
    struct gguf_text name;
    json_t *config = NULL;
    for (size_t s = 0; s < m->count; s++)
        if (check_general(&m->shards[s], e))
            return NULL;
    if (gguf_string_or_none(&m->shards[0], "general.architecture", &name, e) ||
        !(m->architecture = architecture_find(name, path_of(m), e)))
        return NULL;
    double experts;
    if (number(m, "expert_count", 0, &experts, e))
        return NULL;
    if (experts != 0 && m->architecture->with_experts)
        m->architecture = m->architecture->with_experts;
    m->names = m->architecture->names;
    if (!(config = json_object())) {
        fail_memory(e, 1000, path_of(m));
        return NULL;
    }
    int failed = set(m, config, "model_type", json_string(m->architecture->model_type), e);
    for (const struct key_row *row = m->architecture->keys; row->key && !failed; row++)
        failed = take_row(m, config, row, e);
    for (const struct assumption *a = m->architecture->assumed; a && a->key; a++)
        if (!model_pair(m, a->key))
            assume(m, "%s", a->text);
    if (failed || take_sizes(m, config, e) || take_rest(m, config, e) ||
        m->architecture->finish(m, config, e)) {
        json_decref(config);
        return NULL;
    }
    return config;
}

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
    if (number(m, "rope.scale_linear", 0, &factor, e) ||
        number(m, "rope.scaling.factor", factor, &factor, e))
        return -1;
    int freqs = model_tensor(m, "rope_freqs.weight") != NULL, yarn;
    if (p && gguf_string(p, &type))
        return fail(e, "%s: %s.rope.scaling.type is not a text", path_of(m), m->architecture->name);
    yarn = gguf_is(type, "yarn");
    if (!yarn && !gguf_is(type, "linear") && !gguf_is(type, "none"))
        return fail(
            e, "%s: %s.rope.scaling.type '%.*s' is not supported (supported: none, linear, yarn)",
            path_of(m), m->architecture->name, type.size < 60 ? (int)type.size : 60, type.text);
    if (gguf_is(type, "none") || (!yarn && (factor == 0 || factor == 1)))
        return freqs ? set(m, config, "rope_scaling", json_pack("{s:s}", "rope_type", "rope_freqs"),
                           e)
                     : 0;
    if (freqs)
        return fail(
            e, "%s: has rope_freqs.weight and %s.rope.scaling.factor %g (expected one of them)",
            path_of(m), m->architecture->name, factor);
    json_t *scaling = json_pack("{s:s, s:f}", "rope_type", yarn ? "yarn" : "linear", "factor",
                                factor);
    if (set(m, config, "rope_scaling", scaling, e))
        return -1;
    for (size_t i = 0; yarn && i < sizeof settings / sizeof *settings; i++) {
        double value;
        if (number(m, settings[i][0], NAN, &value, e) ||
            (!isnan(value) && set(m, scaling, settings[i][1], json_real(value), e)))
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
        return expect(m, "rope.dimension_count", m->head_size, e) || take_scaling(m, config, e) ? -1
                                                                                                : 0;
    if (whole(m, "rope.dimension_count", m->head_size, &turned, e))
        return -1;
    double part = (double)turned / (double)m->head_size;
    if ((int64_t)((double)m->head_size * part) != turned) /* as multiplied by the family's reader */
        part = nextafter(part, 2);
    if (turned > m->head_size)
        return expect(m, "rope.dimension_count", m->head_size, e);
    return set(m, config, fraction, json_real(part), e) || take_scaling(m, config, e) ? -1 : 0;
}

/* In these the library has no separate heads for keys and values, and no other head size. */
static int expect_plain_heads(const struct gguf_model *m, struct error *e)
{
    return expect(m, "attention.head_count_kv", m->heads, e) ||
                   expect(m, "attention.key_length", m->hidden / m->heads, e)
               ? -1
               : 0;
}

static int set_flag(const struct gguf_model *m, json_t *config, const char *key, const char *tensor,
                    struct error *e)
{
    return set(m, config, key, json_boolean(model_tensor(m, tensor) != NULL), e);
}

int finish_rotary(struct gguf_model *m, json_t *config, struct error *e)
{
    return set(m, config, "head_dim", json_integer(m->head_size), e) ||
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
    assume(m, "scores over the root of %lld", (long long)scalar_of);
    return set(m, config, "query_pre_attn_scalar", json_integer(scalar_of), e) ||
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
    return expect_plain_heads(m, e) || expect(m, "feed_forward_length", 4 * m->hidden, e) ? -1 : 0;
}

int finish_mpt(struct gguf_model *m, json_t *config, struct error *e)
{
    double clamp, alibi;
    int64_t inner;
    if (expect_plain_heads(m, e) || number(m, "attention.clamp_kqv", 0, &clamp, e) ||
        number(m, "attention.max_alibi_bias", 0, &alibi, e) ||
        whole(m, "feed_forward_length", 4 * m->hidden, &inner, e))
        return -1;
    if (inner % m->hidden)
        return fail(e,
                    "%s: mpt.feed_forward_length is %lld (expected a multiple of the width, %lld)",
                    path_of(m), (long long)inner, (long long)m->hidden);
    json_t *attention = json_pack("{s:b}", "alibi", alibi != 0);
    if (set(m, config, "attn_config", attention, e) ||
        set(m, config, "expansion_ratio", json_integer(inner / m->hidden), e) ||
        (clamp != 0 && set(m, attention, "clip_qkv", json_real(clamp), e)))
        return -1;
    /* the library accepts only a whole number */
    return alibi != 0 ? set(m, attention, "alibi_bias_max",
                            alibi == floor(alibi) && alibi < 1e9 ? json_integer((json_int_t)alibi)
                                                                 : json_real(alibi),
                            e)
                      : 0;
}

/* The two published forms: one head for all keys and values, and groups of heads with one or two
 * norms. */
int finish_falcon(struct gguf_model *m, json_t *config, struct error *e)
{
    int two = model_tensor(m, "blk.0.attn_norm_2.weight") != NULL, grouped = two || m->kv_heads > 1;
    if (two)
        m->names = gguf_falcon_two_names;
    if (grouped && set(m, config, "num_ln_in_parallel_attn", json_integer(two ? 2 : 1), e))
        return -1;
    return set(m, config, "new_decoder_architecture", json_boolean(grouped), e) ||
                   set(m, config, "multi_query", json_boolean(!grouped), e) ||
                   set(m, config, "parallel_attn", json_true(), e) ||
                   set(m, config, "alibi", json_false(), e) ||
                   set_flag(m, config, "bias", "blk.0.attn_qkv.bias", e) ||
                   expect(m, "attention.key_length", m->hidden / m->heads, e) ||
                   take_rotation(m, config, NULL, e)
               ? -1
               : 0;
}

int finish_phi(struct gguf_model *m, json_t *config, struct error *e)
{
    return expect(m, "attention.key_length", m->hidden / m->heads, e) ||
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
    assume(m, "scores over the root of %lld", (long long)scalar_of);
    if (set(m, config, "query_pre_attn_scalar", json_integer(scalar_of), e) ||
        (!json_object_get(config, "rope_theta") && set(m, config, "rope_theta", json_real(1e6), e)))
        return -1;
    return finish_rotary(m, config, e);
}

/* A window of 0 means none. The factors of longrope are tensors, not handled here. */
int finish_phi3(struct gguf_model *m, json_t *config, struct error *e)
{
    static const char key[] = "attention.sliding_window";
    double window;
    int64_t size;
    if (number(m, key, 0, &window, e) || expect(m, "attention.key_length", m->hidden / m->heads, e))
        return -1;
    /* the library's default padding token is missing from smaller vocabularies, and the library
     * then fails to load them */
    if (json_integer_value(json_object_get(config, "vocab_size")) <= 32000 &&
        set(m, config, "pad_token_id", json_null(), e))
        return -1;
    if (window != 0 &&
        (whole(m, key, 0, &size, e) || set(m, config, "sliding_window", json_integer(size), e)))
        return -1;
    return take_rotation(m, config, "partial_rotary_factor", e);
}

static int expect_no_window(const struct gguf_model *m, struct error *e)
{
    double window;
    if (number(m, "attention.sliding_window", 0, &window, e))
        return -1;
    return window == 0
               ? 0
               : fail(e, "%s: %s.attention.sliding_window %g is not supported here (expected 0)",
                      path_of(m), m->architecture->name, window);
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
                   expect(m, "attention.key_length", m->hidden / m->heads, e) ||
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
    if (expect(m, "expert_gating_func", gating, e) ||
        number(m, "expert_weights_scale", 1, &factor, e))
        return -1;
    if (p && gguf_real(p, 0, &said))
        return fail(e, "%s: %s.expert_weights_norm is neither true nor false", path_of(m),
                    m->architecture->name);
    if (!key && (said != 0) != normalised)
        return fail(e, "%s: %s.expert_weights_norm is %s, which is not supported (expected %s)",
                    path_of(m), m->architecture->name, said != 0 ? "true" : "false",
                    normalised ? "true" : "false");
    if (gating == GATING_SOFTMAX && factor != 1 && factor != 0) /* 0: none */
        return fail(e, "%s: %s.expert_weights_scale is %g, which is not supported (expected 1)",
                    path_of(m), m->architecture->name, factor);
    if (key && !p)
        assume(m, "weights of the chosen experts %snormalised", normalised ? "" : "not ");
    return key ? set(m, config, key, json_boolean(said != 0), e) : 0;
}

/* For families whose experts are as wide as an MLP. */
static int expect_width(const struct gguf_model *m, const json_t *config, struct error *e)
{
    return expect(m, "expert_feed_forward_length",
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
                   set(m, config, "num_hidden_layers", json_integer(blocks - behind), e) ||
                   set(m, config, "num_nextn_predict_layers", json_integer(behind), e) ||
                   set_flag(m, config, "attention_bias", "blk.0.attn_q.bias", e) ||
                   set_flag(m, config, "use_qk_norm", "blk.0.attn_q_norm.weight", e) ||
                   set(m, config, "head_dim", json_integer(m->head_size), e) ||
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
    return scaling ? set(m, scaling, "truncate", json_false(), e)
                   : set(m, config, "rope_scaling", json_pack("{s:s}", "rope_type", "default"), e);
}
