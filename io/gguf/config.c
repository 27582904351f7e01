/* GGUF's metadata as the config.json of the library. */
#include "io/gguf/finish.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
               {"rope.scaling.yarn_ext_factor", 1}};
enum { REFUSED = sizeof refused / sizeof *refused };

/* A key of the architecture that has no row. */
static int take_other(const struct gguf_model *m, json_t *config, const struct gguf_pair *p,
                      const char *key, struct error *e)
{
    double value;
    char full[GGUF_KEY_MAX];
    for (int i = 0; i < REFUSED; i++) {
        if (strcmp(key, refused[i].key))
            continue;
        json_t *found = model_scalar(m, p, e);
        if (!found)
            return -1;
        value = json_is_boolean(found)  ? json_is_true(found)
                : json_is_number(found) ? json_number_value(found)
                                        : NAN;
        json_decref(found);
        return value == refused[i].only
                   ? 0
                   : fail(e, "%s: %s is %g, which is not supported (expected %g)", model_path(m),
                          model_key(full, m, key), value, refused[i].only);
    }
    /* reported as not understood by the config's reader */
    return model_set(m, config, model_key(full, m, key), json_true(), e);
}

static int take_row(const struct gguf_model *m, json_t *config, const struct key_row *row,
                    struct error *e)
{
    const struct gguf_pair *p = model_pair(m, row->key);
    json_t *value;
    if (!p && row->use == KEY_NEEDED)
        return fail(e, "%s: %s.%s is missing", model_path(m), m->architecture->name, row->key);
    if (!p || (row->use != KEY_NEEDED && row->use != KEY_COPIED))
        return 0;
    return (value = model_scalar(m, p, e)) ? model_set(m, config, row->config, value, e) : -1;
}

/* Every pair of the metadata: the architecture's, the tokenizer's, the file's, or unknown. */
static int take_rest(const struct gguf_model *m, json_t *config, struct error *e)
{
    static const char *const others[] = {"general.", "tokenizer.", "split.", "quantize."};
    size_t length = strlen(m->architecture->name);
    for (size_t i = 0; i < m->shards[0].pair_count; i++) {
        const struct gguf_pair *p = &m->shards[0].pairs[i];
        char key[GGUF_KEY_MAX];
        int known = 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            known |= p->key.size > strlen(others[k]) &&
                     memcmp(p->key.text, others[k], strlen(others[k])) == 0;
        if (known)
            continue;
        snprintf(key, sizeof key, "%.*s",
                 p->key.size < GGUF_KEY_MAX ? (int)p->key.size : GGUF_KEY_MAX - 1, p->key.text);
        if (strncmp(key, m->architecture->name, length) || key[length] != '.') {
            if (model_set(m, config, key, json_true(), e))
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

static int has_key(const struct gguf_model *m, const char *key)
{
    const struct key_row *row = m->architecture->keys;
    while (row->key && strcmp(row->key, key))
        row++;
    return row->key != NULL;
}

/* The heads for keys and values, which may be a list of one number and, for layers without
 * attention, 0; or, if heads differ between layers with windows and others, of two, which `finish`
 * reads. */
static int take_kv_heads(struct gguf_model *m, struct error *e)
{
    const struct gguf_pair *p = model_pair(m, "attention.head_count_kv");
    if (!p || !p->is_array ||
        !(has_key(m, "shortconv.l_cache") || has_key(m, "ssm.inner_size") ||
          has_key(m, "attention.key_length_swa")))
        return model_whole(m, "attention.head_count_kv", m->heads, &m->kv_heads, e);
    m->kv_heads = 0;
    if (has_key(m, "attention.key_length_swa")) {
        int whole = p->count && gguf_integer(p, 0, &m->kv_heads) == 0;
        return whole && m->kv_heads >= 1 && m->kv_heads <= m->heads
                   ? 0
                   : fail(e,
                          "%s: %s.attention.head_count_kv is not a list of whole numbers from 1 to "
                          "%lld",
                          model_path(m), m->architecture->name, (long long)m->heads);
    }
    for (uint64_t i = 0; i < p->count; i++) {
        int64_t heads = 0;
        if (p->type == GGUF_STRING || gguf_integer(p, i, &heads) || heads < 0 || heads > m->heads ||
            (heads && m->kv_heads && heads != m->kv_heads))
            return fail(e,
                        "%s: %s.attention.head_count_kv, entry %llu is not supported (expected one "
                        "number from 1 to %lld in layers with attention, and 0 in others)",
                        model_path(m), m->architecture->name, (unsigned long long)i + 1,
                        (long long)m->heads);
        m->kv_heads = heads ? heads : m->kv_heads;
    }
    m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    return 0;
}

static int take_heads(struct gguf_model *m, struct error *e)
{
    if (model_whole(m, "attention.head_count", 0, &m->heads, e) || take_kv_heads(m, e))
        return -1;
    if (m->heads % m->kv_heads || (!model_pair(m, "attention.key_length") && m->hidden % m->heads))
        return fail(e,
                    "%s: has %lld heads with %lld for keys and values, and a width of %lld "
                    "(expected multiples)",
                    model_path(m), (long long)m->heads, (long long)m->kv_heads,
                    (long long)m->hidden);
    return model_whole(m, "attention.key_length", m->hidden / m->heads, &m->head_size, e) ||
                   /* only values of a latent may have another size than keys: `finish` reads it */
                   (!has_key(m, "attention.kv_lora_rank") &&
                    model_expect(m, "attention.value_length", m->head_size, e))
               ? -1
               : 0;
}

static int take_sizes(struct gguf_model *m, json_t *config, struct error *e)
{
    const struct gguf_tensor *embedding = model_tensor(m, "token_embd.weight");
    const int attends = has_key(m, "attention.head_count_kv") || !has_key(m, "ssm.inner_size");
    int64_t bos;
    if (!embedding || embedding->rank != 2)
        return fail(e, "%s: has no matrix token_embd.weight", model_path(m));
    m->kv_heads = m->head_size = 1;
    if (model_whole(m, "embedding_length", 0, &m->hidden, e) || (attends && take_heads(m, e)) ||
        model_expect(m, "vocab_size", (int64_t)embedding->shape[0], e) ||
        gguf_integer_or(&m->shards[0], "tokenizer.ggml.bos_token_id", 0, UINT32_MAX, -1, &bos, e))
        return -1;
    if (bos >= 0 && bos < INT32_MAX && model_set(m, config, "bos_token_id", json_integer(bos), e))
        return -1;
    return model_set(m, config, "vocab_size", json_integer((json_int_t)embedding->shape[0]), e) ||
           model_set(m, config, "tie_word_embeddings",
                     json_boolean(!model_tensor(m, "output.weight")), e);
}

json_t *gguf_config(struct gguf_model *m, struct error *e)
{
    struct gguf_text name;
    json_t *config = NULL;
    for (size_t s = 0; s < m->count; s++)
        if (check_general(&m->shards[s], e))
            return NULL;
    if (gguf_string_or_none(&m->shards[0], "general.architecture", &name, e) ||
        !(m->architecture = architecture_find(name, model_path(m), e)))
        return NULL;
    double experts;
    if (model_number(m, "expert_count", 0, &experts, e))
        return NULL;
    if (experts != 0 && m->architecture->with_experts)
        m->architecture = m->architecture->with_experts;
    m->names = m->architecture->names;
    if (!(config = json_object())) {
        fail_memory(e, 1000, model_path(m));
        return NULL;
    }
    int failed = model_set(m, config, "model_type", json_string(m->architecture->model_type), e);
    for (const struct key_row *row = m->architecture->keys; row->key && !failed; row++)
        failed = take_row(m, config, row, e);
    for (const struct assumption *a = m->architecture->assumed; a && a->key; a++)
        if (!model_pair(m, a->key))
            model_assume(m, "%s", a->text);
    if (failed || take_sizes(m, config, e) || take_rest(m, config, e) ||
        m->architecture->finish(m, config, e)) {
        json_decref(config);
        return NULL;
    }
    return config;
}
