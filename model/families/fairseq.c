/* fairseq's transformer_rpe_lm: separate projections with biases, norms before the branches, and a
 * bias on the scores named only in the arguments. Source: OpenNLPLab/fairseq-evo,
 * models/transformer.py, models/lm_x_attention/transformer_rpe_lm.py,
 * models/xformer/x_attention/transformer_rpe.py. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PADDING = 1 }; /* id of <pad> in every fairseq dictionary; positions start after it */

/* rpe_type n, with k the head's slope of ALiBi; the first two by the key's position, the others by
 * distance. */
static const char *const rpe_types[] = {
    "-k*t",
    "-ln(1+(k*t)^2)",
    "-k*t",
    "-ln(1+(k*t)^2)",
    "-(k*t)^2",
    "-(k*t)^0.5",
    "-ln(1+k*t)",
    "-(k*t)^1.25",
    "-0.5*(k*t)^0.75",
    "ln(1+ln(1+k*t))-2*ln(1+k*t)",
    "-ln(3+k*t)^2",
    "-(k*t)^4",
    "-(ln(3+k*t)+ln(ln(3+k*t)))",
};
enum { RPE_TYPES = sizeof rpe_types / sizeof rpe_types[0], RPE_TYPES_BY_KEY = 2 };

/* Gives parameter `name` of f the values of a tensor [heads, 1, 1], clamped as the forward pass
 * does. */
static int stored_parameter(struct decoder *d, struct formula *f, const char *name,
                            const char *tensor, double low, double high, struct error *e)
{
    double *values = calloc((size_t)d->heads, sizeof *values);
    if (!values)
        return fail_memory(e, 8.0 * d->heads, "position parameters");
    int result = family_values(values, d, (size_t)d->heads, e, "decoder.%s", tensor);
    for (int h = 0; h < d->heads; h++)
        values[h] = fmin(fmax(values[h], low), high);
    result = result || family_parameter(d, f, name, values, e);
    free(values);
    return result ? -1 : 0;
}

/* KERPLE's kernels; this code does not have their weighting of the scores. */
static const struct formula *kerple(struct decoder *d, const char *preset, double p_most,
                                    struct error *e)
{
    struct formula *f = family_formula(d, preset, e);
    if (!f || stored_parameter(d, f, "p", "bias_p", 0.01, p_most, e) ||
        stored_parameter(d, f, "a", "bias_a", 0.01, INFINITY, e))
        return NULL;
    return f;
}

/* Sandwich with the stored slopes and frequencies, in the order of the code: k (sum of cos(t f_m) -
 * (head_size + 1e-4)). */
static const struct formula *sandwich(struct decoder *d, struct error *e)
{
    size_t count = (size_t)d->head_size, at = 0, room = 64 + 40 * count;
    double *frequency = calloc(count, sizeof *frequency);
    char *text = malloc(room);
    struct formula *f = NULL;
    if (!frequency || !text) {
        fail_memory(e, (double)room, "sandwich's terms");
        goto end;
    }
    if (family_values(frequency, d, count, e, "decoder.emb"))
        goto end;
    at += (size_t)snprintf(text + at, room - at, "k*(");
    for (size_t m = 0; m < count; m++)
        at += (size_t)snprintf(text + at, room - at, "%scos(t*%.17g)", m ? "+" : "", frequency[m]);
    snprintf(text + at, room - at, "-(%zu+1e-4))", count);
    f = family_formula(d, text, e);
    if (f && stored_parameter(d, f, "k", "slopes", -INFINITY, INFINITY, e))
        f = NULL;
end:
    free(frequency), free(text);
    return f;
}

/* The encodings that the arguments can name: 0 if the key is absent or not above 0. */
struct encodings {
    long rpe_type, kerple_log, kerple_power, sandwich;
    int alibi;
};

static int read_bias(struct decoder *d, const struct encodings *g, struct error *e)
{
    const struct formula *bias = NULL, *key_bias = NULL;
    if (!(g->rpe_type || g->kerple_log || g->kerple_power || g->sandwich || g->alibi))
        return 0;
    if (g->rpe_type) {
        const struct formula *f = family_slope_formula(d, rpe_types[g->rpe_type - 1], 8,
                                                       ELEMENT_F64, e);
        if (g->rpe_type <= RPE_TYPES_BY_KEY)
            key_bias = f;
        else
            bias = f;
        family_describe(d, "rpe_type %ld: %s%s", g->rpe_type, rpe_types[g->rpe_type - 1],
                        g->rpe_type <= RPE_TYPES_BY_KEY ? " by key position" : "");
    } else if (g->kerple_log) {
        bias = kerple(d, "kerple_log", INFINITY, e);
        family_describe(d, "kerple_log");
    } else if (g->kerple_power) {
        bias = kerple(d, "kerple_power", 2, e);
        family_describe(d, "kerple_power");
    } else if (g->sandwich) {
        bias = sandwich(d, e);
        family_describe(d, "sandwich");
    } else {
        bias = family_formula(d, "alibi_press", e);
        family_describe(d, "ALiBi");
    }
    if (!bias && !key_bias)
        return -1;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.bias = bias, d->blocks[l].score.key_bias = key_bias,
        d->blocks[l].score.key_bias_scale = 1;
    return 0;
}

static int read_encodings(struct encodings *g, struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct {
        const char *key;
        long *out, most;
    } numbers[] = {{"rpe_type", &g->rpe_type, RPE_TYPES},
                   {"kerple_log", &g->kerple_log, 1},
                   {"kerple_power", &g->kerple_power, 1},
                   {"sandwich", &g->sandwich, 1}};
    int count = 0;
    *g = (struct encodings){0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (config_int_or(c, numbers[i].key, -1, numbers[i].most, -1, numbers[i].out, e))
            return -1;
        if (*numbers[i].out < 0) /* -1: not used */
            *numbers[i].out = 0;
        count += *numbers[i].out > 0;
    }
    if (config_bool_or(c, "use_alibi", 0, &g->alibi, e) || family_only(d, "use_toep", 0, 0, e))
        return -1;
    return count + g->alibi > 1 ? fail(e,
                                       "%s: more than one of rpe_type, kerple_log, kerple_power, "
                                       "sandwich and use_alibi is set",
                                       config_path(c))
                                : 0;
}

static int read_positions(struct decoder *d, struct error *e)
{
    int none, none_too, learned;
    struct config *c = d->config;
    if (config_bool_or(c, "no_token_positional_embeddings", 0, &none, e) ||
        config_bool_or(c, "no_decoder_token_positional_embeddings", none, &none_too, e) ||
        config_bool_or(c, "decoder_learned_pos", 0, &learned, e))
        return -1;
    if (none || none_too)
        return 0;
    d->padding = PADDING;
    if (learned) {
        size_t rows = family_rows(d, "decoder.embed_positions.weight"), width = (size_t)d->hidden;
        if (rows <= PADDING + 1)
            return fail(e,
                        "%s: decoder.embed_positions.weight has %zu rows (expected a matrix with "
                        "more than %d)",
                        d->path, rows, PADDING + 1);
        d->position = POSITION_LEARNED, d->position_limit = (int)rows - PADDING - 1;
        snprintf(d->position_text, sizeof d->position_text, "learned, %d positions",
                 d->position_limit);
        if (family_matrix(&d->position_rows, d, rows, width, e, "decoder.embed_positions.weight"))
            return -1;
        d->position_rows = view_rows(d->position_rows, PADDING + 1, rows - PADDING - 1);
        return 0;
    }
    if (d->hidden % 2 || d->hidden < 4)
        return fail(e,
                    "%s: decoder_embed_dim %d with sinusoidal positions (expected an even number, "
                    "at least 4)",
                    config_path(c), d->hidden);
    snprintf(d->position_text, sizeof d->position_text, "sinusoidal");
    return family_sinusoidal(d, 10000, d->hidden / 2 - 1, 1, PADDING + 1, e);
}

/* The norm named by a key: LayerNorm, or "simplermsnorm", x / (rms + 1e-8) without parameters. */
static int read_norm(struct norm_view *out, struct decoder *d, const char *key, const char *stem,
                     struct error *e)
{
    static const char *const kinds[] = {"layernorm", "simplermsnorm", NULL};
    int kind;
    if (config_choice_or(d->config, key, kinds, 0, &kind, e))
        return -1;
    struct norm_form bare = {NORM_RMS_OUTSIDE, 1e-8, (size_t)d->hidden, NULL, NULL};
    return kind ? family_norm_named(out, d, bare, e, "%s", stem)
                : family_norm(out, d, NORM_LAYER, 1e-5, 1, e, "%s", stem);
}

/* Files of versions up to 2 had no norm after the last block. */
static int wants_final_norm(int *wanted, struct decoder *d, struct error *e)
{
    double version;
    int none;
    if (config_bool_or(d->config, "no_decoder_final_norm", 0, &none, e))
        return -1;
    *wanted = !none;
    if (!family_has(d, "decoder.version"))
        return 0;
    if (family_values(&version, d, 1, e, "decoder.version"))
        return -1;
    *wanted &= version > 2;
    return 0;
}

/* Options that change the model and are not supported. */
static int refuse_options(struct decoder *d, struct error *e)
{
    static const char *const absent[] = {"adaptive_softmax_cutoff", "decoder_layers_to_keep"};
    static const char *const off[] = {"adaptive_input", "character_embeddings",
                                      "tie_adaptive_weights", "cross_self_attention"};
    static const char *const zero[] = {"base_layers", "quant_noise_pq"};
    double value;
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (config_has(d->config, absent[i]))
            return fail(e, "%s: %s is not supported (expected none)", config_path(d->config),
                        absent[i]);
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        if (family_only(d, off[i], 0, 0, e))
            return -1;
    for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++) {
        if (config_real_or(d->config, zero[i], -1e9, 1e9, 0, &value, e))
            return -1;
        if (value != 0)
            return fail(e, "%s: %s %g is not supported (expected 0)", config_path(d->config),
                        zero[i], value);
    }
    return family_only(d, "decoder_normalize_before", 1, 1, e);
}

static int read_activation(enum activation *out, struct decoder *d, struct error *e)
{
    static const char *const names[] = {"relu", "gelu", "gelu_accurate", "gelu_fast", "silu", NULL};
    static const enum activation kinds[] = {ACTIVATION_RELU, ACTIVATION_GELU, ACTIVATION_GELU_TANH,
                                            ACTIVATION_GELU_TANH, ACTIVATION_SILU};
    int kind;
    if (config_choice_or(d->config, "activation_fn", names, 0, &kind, e))
        return -1;
    *out = kinds[kind];
    return 0;
}

static int read_fairseq(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.hidden = "decoder_embed_dim",
                                   .layers = "decoder_layers",
                                   .heads = "decoder_attention_heads"};
    struct encodings encodings;
    long inner, in, out;
    int unscaled, normed, final;
    enum activation activation;
    if (family_sizes(d, &keys, e) ||
        config_int(c, "decoder_ffn_embed_dim", 1, 1 << 24, &inner, e) ||
        config_int_or(c, "decoder_input_dim", 1, 1 << 20, d->hidden, &in, e) ||
        config_int_or(c, "decoder_output_dim", 1, 1 << 20, d->hidden, &out, e) ||
        config_bool_or(c, "no_scale_embedding", 0, &unscaled, e) ||
        config_bool_or(c, "layernorm_embedding", 0, &normed, e) ||
        config_bool_or(c, "share_decoder_input_output_embed", 0, &d->tied, e) ||
        refuse_options(d, e) || read_activation(&activation, d, e) ||
        wants_final_norm(&final, d, e) || read_encodings(&encodings, d, e) ||
        read_positions(d, e) || read_bias(d, &encodings, e))
        return -1;
    if (in != out)
        return fail(
            e, "%s: decoder_input_dim %ld is not decoder_output_dim %ld, which is not supported",
            config_path(c), in, out);
    if (!*d->position_text)
        snprintf(d->position_text, sizeof d->position_text, "none");
    const int shared = d->tied;
    d->mlp = (int)inner, d->embedding_width = (int)in,
    d->vocabulary = (int)family_rows(d, "decoder.embed_tokens.weight");
    d->embedding_scale = unscaled ? 1 : sqrt(d->hidden);

    size_t width = (size_t)d->hidden, embedding = (size_t)in;
    if (family_matrix(&d->embedding, d, (size_t)d->vocabulary, embedding, e,
                      "decoder.embed_tokens.weight") ||
        (in != d->hidden &&
         (family_linear(&d->project_in, d, width, embedding, 0, e, "decoder.project_in_dim") ||
          family_linear(&d->project_out, d, embedding, width, 0, e, "decoder.project_out_dim"))) ||
        (normed &&
         read_norm(&d->embedding_norm, d, "embdding_layernorm", "decoder.layernorm_embedding", e)))
        return -1;
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (family_norm(&b->attention_norm, d, NORM_LAYER, 1e-5, 1, e,
                        "decoder.layers.%d.self_attn_layer_norm", l) ||
            family_linear(&b->query, d, width, width, 1, e, "decoder.layers.%d.self_attn.q_proj",
                          l) ||
            family_linear(&b->key, d, width, width, 1, e, "decoder.layers.%d.self_attn.k_proj",
                          l) ||
            family_linear(&b->value, d, width, width, 1, e, "decoder.layers.%d.self_attn.v_proj",
                          l) ||
            family_linear(&b->output, d, width, width, 1, e, "decoder.layers.%d.self_attn.out_proj",
                          l) ||
            family_norm(&b->mlp_norm, d, NORM_LAYER, 1e-5, 1, e,
                        "decoder.layers.%d.final_layer_norm", l) ||
            family_linear(&b->up, d, (size_t)inner, width, 1, e, "decoder.layers.%d.fc1", l) ||
            family_linear(&b->down, d, width, (size_t)inner, 1, e, "decoder.layers.%d.fc2", l))
            return -1;
        b->activation = activation;
    }
    if (final && read_norm(&d->final_norm, d, "final_layernorm", "decoder.layer_norm", e))
        return -1;
    if (family_head(d, 0, e, "decoder.output_projection"))
        return -1;
    if (shared && !d->tied) /* the code would load one over the other */
        return fail(e,
                    "%s: decoder.output_projection.weight differs from the embedding, and "
                    "share_decoder_input_output_embed is "
                    "true (expected the same numbers)",
                    d->path);
    return 0;
}

const struct family family_fairseq = {.name = "fairseq",
                                      .model_types = {"fairseq_transformer_lm"},
                                      .read = read_fairseq,
                                      .ignored_suffixes = {".version", ".cache_matrix",
                                                           ".causal_mask",
                                                           ".embed_positions._float_tensor",
                                                           ".embed_positions.weights"},
                                      .positions = "KERPLE, ALiBi, Sandwich, learned, sinusoidal",
                                      .about = "checkpoints of fairseq"};
