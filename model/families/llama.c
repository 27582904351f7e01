/* Llama and its close relatives: RMS norms, rotary positions, grouped heads, gated MLP. They differ in biases, windows and norms
 * of heads. Source: huggingface/transformers, models/llama, mistral, qwen2, qwen3. */
#include "model/family.h"

/* What stands in the places where the families differ. */
struct relative {
    int qkv_bias, output_bias, mlp_bias;
    int head_norms;
    long head_size; /* where the configuration does not have it; 0: hidden / heads */
    long window, first_windowed; /* window 0: none; layers from first_windowed on have it */
};

static int read_relative(struct decoder *d, const struct relative *r, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocab_size",
                                   .hidden = "hidden_size",
                                   .layers = "num_hidden_layers",
                                   .heads = "num_attention_heads",
                                   .kv_heads = "num_key_value_heads",
                                   .head_size = "head_dim",
                                   .head_size_default = r->head_size};
    const struct rope_keys rope = {.theta = "rope_theta",
                                   .fraction = "partial_rotary_factor",
                                   .fraction_default = 1,
                                   .whole_heads = 1};
    long inner;
    double epsilon;
    enum activation activation;
    if (family_sizes(d, &keys, e) || config_int(c, "intermediate_size", 1, 1 << 24, &inner, e) ||
        config_real_or(c, "rms_norm_eps", 0, 1, 1e-6, &epsilon, e) || config_bool_or(c, "tie_word_embeddings", 0, &d->tied, e) ||
        family_activation(&activation, d, "hidden_act", "silu", e) || family_rope(d, &rope, e) ||
        family_windows(d, r->window, r->first_windowed, 1, e) || family_bos(d, "bos_token_id", e))
        return -1;
    d->mlp = (int)inner;

    size_t width = (size_t)d->hidden, size = (size_t)d->head_size, q_size = (size_t)d->heads * size,
           kv_size = (size_t)d->kv_heads * size;
    const char *p = family_prefix(d, "model.", "embed_tokens.weight");
    if (family_matrix(&d->embedding, d, (size_t)d->vocabulary, width, e, "%sembed_tokens.weight", p))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (family_norm(&b->attention_norm, d, NORM_RMS, epsilon, 0, e, "%slayers.%d.input_layernorm", p, l) ||
            family_linear(&b->query, d, q_size, width, r->qkv_bias, e, "%slayers.%d.self_attn.q_proj", p, l) ||
            family_linear(&b->key, d, kv_size, width, r->qkv_bias, e, "%slayers.%d.self_attn.k_proj", p, l) ||
            family_linear(&b->value, d, kv_size, width, r->qkv_bias, e, "%slayers.%d.self_attn.v_proj", p, l) ||
            family_linear(&b->output, d, width, q_size, r->output_bias, e, "%slayers.%d.self_attn.o_proj", p, l) ||
            family_norm(&b->mlp_norm, d, NORM_RMS, epsilon, 0, e, "%slayers.%d.post_attention_layernorm", p, l) ||
            family_linear(&b->gate, d, (size_t)inner, width, r->mlp_bias, e, "%slayers.%d.mlp.gate_proj", p, l) ||
            family_linear(&b->up, d, (size_t)inner, width, r->mlp_bias, e, "%slayers.%d.mlp.up_proj", p, l) ||
            family_linear(&b->down, d, width, (size_t)inner, r->mlp_bias, e, "%slayers.%d.mlp.down_proj", p, l))
            return -1;
        if (r->head_norms && (family_norm_named(&b->query_norm, d, NORM_RMS, epsilon, size, "weight", NULL, e,
                                                "%slayers.%d.self_attn.q_norm", p, l) ||
                              family_norm_named(&b->key_norm, d, NORM_RMS, epsilon, size, "weight", NULL, e,
                                                "%slayers.%d.self_attn.k_norm", p, l)))
            return -1;
        b->activation = activation;
    }
    if (family_norm(&d->final_norm, d, NORM_RMS, epsilon, 0, e, "%snorm", p))
        return -1;
    return family_head(d, 0, e, "lm_head");
}

static int read_llama(struct decoder *d, struct error *e)
{
    struct relative r = {0};
    if (config_bool_or(d->config, "attention_bias", 0, &r.qkv_bias, e) ||
        config_bool_or(d->config, "mlp_bias", 0, &r.mlp_bias, e))
        return -1;
    r.output_bias = r.qkv_bias;
    return read_relative(d, &r, e);
}

/* A window that the configuration does not name is 4096 keys, as in the library whose format this is; null means none. */
static int read_window(struct relative *r, struct decoder *d, struct error *e)
{
    return config_int_or(d->config, "sliding_window", 1, 1 << 30, config_absent(d->config, "sliding_window") ? 4096 : 0,
                         &r->window, e);
}

static int read_mistral(struct decoder *d, struct error *e)
{
    struct relative r = {0};
    if (read_window(&r, d, e) || read_relative(d, &r, e))
        return -1;
    for (int l = 0; l < d->layers; l++)
        if (d->blocks[l].score.window != r.window)
            return fail(
                e, "%s: layer_types, entry %d: a mistral model has the same window in every layer (expected sliding_attention)",
                config_path(d->config), l + 1);
    return 0;
}

/* The window of Qwen configs, which is off unless use_sliding_window is set, whatever sliding_window says. */
static int read_qwen_window(struct relative *r, struct decoder *d, struct error *e)
{
    int on;
    if (config_bool_or(d->config, "use_sliding_window", 0, &on, e) || read_window(r, d, e) ||
        config_int_or(d->config, "max_window_layers", 0, 10000, 28, &r->first_windowed, e))
        return -1;
    r->window = on ? r->window : 0;
    return 0;
}

static int read_qwen2(struct decoder *d, struct error *e)
{
    struct relative r = {.qkv_bias = 1};
    return read_qwen_window(&r, d, e) ? -1 : read_relative(d, &r, e);
}

static int read_qwen3(struct decoder *d, struct error *e)
{
    struct relative r = {.head_norms = 1, .head_size = 128};
    if (config_bool_or(d->config, "attention_bias", 0, &r.qkv_bias, e) || read_qwen_window(&r, d, e))
        return -1;
    r.output_bias = r.qkv_bias;
    return read_relative(d, &r, e);
}

#define IGNORED \
    { \
        ".rotary_emb.inv_freq" \
    }
static const char *const harmless[] = {"pretraining_tp", NULL}; /* only of matrix products in parts */
static const char *const nullable[] = {"num_key_value_heads", "partial_rotary_factor", "head_dim", NULL};
static const char *const nullable_qwen3[] = {"num_key_value_heads", "partial_rotary_factor", NULL};
const struct family family_llama = {.name = "llama",
                                    .model_types = {"llama"},
                                    .read = read_llama,
                                    .ignored_suffixes = IGNORED,
                                    .harmless = harmless,
                                    .nullable = nullable};
const struct family family_mistral = {.name = "mistral",
                                      .model_types = {"mistral"},
                                      .read = read_mistral,
                                      .ignored_suffixes = IGNORED,
                                      .harmless = harmless,
                                      .nullable = nullable};
const struct family family_qwen2 = {.name = "qwen2",
                                    .model_types = {"qwen2"},
                                    .read = read_qwen2,
                                    .ignored_suffixes = IGNORED,
                                    .harmless = harmless,
                                    .nullable = nullable};
const struct family family_qwen3 = {.name = "qwen3",
                                    .model_types = {"qwen3"},
                                    .read = read_qwen3,
                                    .ignored_suffixes = IGNORED,
                                    .harmless = harmless,
                                    .nullable = nullable_qwen3};
