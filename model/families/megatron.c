/* GPT-NeoX training checkpoints (Megatron, DeepSpeed), with the position encodings of the KERPLE
 * fork.
 *
 * Sources: chijames/KERPLE, megatron/model and megatron/mpu/layers.py; EleutherAI/gpt-neox,
 * megatron/model. The two differ in their RMS norm (epsilon outside or inside the root), and are
 * distinguished by the names of the MLP. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 32, PARAMETERS_MOST = BUCKETS };

/* The state of the reader. */
struct reader {
    struct decoder *d;
    int newer; /* 1: gpt-neox of 2024 and later, with the MLP names linear1 and linear2 */
    enum norm_kind norm;
    double epsilon;
    const char *norm_scale, *norm_shift;
    const char *encoding; /* pos_emb */
    int by_layer; /* apply_query_key_layer_scaling: the bias of layer l counts max(1, l) times */
    double *values,
        *before; /* [PARAMETERS_MOST, heads]: position parameters of this layer, the last */
};

/* Options that change the model, and their supported values. */
static int refuse_options(struct decoder *d, struct error *e)
{
    static const char *const off[] = {"use_qk_layernorm", "use_mup",    "onnx_safe",
                                      "te_mha",           "te_fp8_mha", "te_layernorm_mlp"};
    static const char *const mlp_types[] = {"regular", NULL};
    static const char *const absent[] = {"sliding_window_width", "num_unique_layers"};
    long experts;
    int kind;
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        if (family_only(d, off[i], 0, 0, e))
            return -1;
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        if (config_has(d->config, absent[i]))
            return fail(e, "%s: %s is not supported (expected none)", config_path(d->config),
                        absent[i]);
    return config_choice_or(d->config, "mlp_type", mlp_types, 0, &kind, e) ||
                   config_int_or(d->config, "moe_num_experts", 1, 1, 1, &experts, e)
               ? -1
               : 0;
}

/* attention_config: nested lists with the kind of each layer; the supported ones are different code
 * for the same attention. */
static int check_attention(struct decoder *d, const json_t *value, struct error *e)
{
    size_t i;
    json_t *member;
    json_array_foreach(value, i, member) if (check_attention(d, member, e)) return -1;
    const char *kind = json_string_value(value);
    if (kind && strcmp(kind, "global") != 0 && strcmp(kind, "flash") != 0)
        return fail(e, "%s: attention_config '%s' is not supported (supported: global, flash)",
                    config_path(d->config), kind);
    return 0;
}

static int read_norm_kind(struct reader *r, struct error *e)
{
    static const char *const kinds[] = {"layernorm", "rmsnorm", "scalenorm",
                                        "non_parametric_layernorm", NULL};
    struct decoder *d = r->d;
    const char *epsilon = "layernorm_epsilon";
    double fallback = 1e-5;
    int kind, biased;
    if (config_choice_or(d->config, "norm", kinds, 0, &kind, e) ||
        config_bool_or(d->config, "use_bias_in_norms", 1, &biased, e))
        return -1;
    r->norm = NORM_LAYER;
    if (kind == 0)
        r->norm_scale = "weight", r->norm_shift = biased ? "bias" : NULL;
    else if (kind == 1)
        r->norm = r->newer ? NORM_RMS : NORM_RMS_OUTSIDE, r->norm_scale = "scale",
        epsilon = "rms_norm_epsilon", fallback = 1e-8;
    else if (kind == 2)
        r->norm = NORM_LENGTH, r->norm_scale = "g", epsilon = "scalenorm_epsilon", fallback = 1e-8;
    return config_real_or(d->config, epsilon, 0, 1000, fallback, &r->epsilon, e);
}

static int read_norm(struct norm_view *out, const struct reader *r, int index, const char *name,
                     struct error *e)
{
    size_t width = r->norm == NORM_LENGTH ? 1 : (size_t)r->d->hidden;
    struct norm_form form = {r->norm, r->epsilon, width, r->norm_scale, r->norm_shift};
    return family_norm_named(out, r->d, form, e, "sequential.%d.%s", index, name);
}

static int read_activation(enum activation *out, int *gated, struct decoder *d, struct error *e)
{
    static const char *const names[] = {"gelu",  "geglu", "relu",   "reglu",
                                        "swish", "silu",  "swiglu", NULL};
    static const struct {
        enum activation kind;
        int gated;
    } kinds[] = {{ACTIVATION_GELU, 0}, {ACTIVATION_GELU, 1}, {ACTIVATION_RELU, 0},
                 {ACTIVATION_RELU, 1}, {ACTIVATION_SILU, 0}, {ACTIVATION_SILU, 0},
                 {ACTIVATION_SILU, 1}};
    int name, fused;
    if (config_choice_or(d->config, "activation", names, 0, &name, e) ||
        config_bool_or(d->config, "bias_gelu_fusion", 0, &fused, e))
        return -1;
    *gated = kinds[name].gated;
    *out = name == 0 && fused ? ACTIVATION_GELU_BLOOM
                              : kinds[name].kind; /* the fused form: tanh, with 0.79788456 */
    return 0;
}

/* values[count] get the numbers of a stored buffer if they differ from the formula's by more than
 * the rounding of float: files in half precision keep their buffers in it, and the code uses what
 * it loads. 1 if taken, 0 if not, -1 on failure. */
static int take_stored(double *values, struct decoder *d, size_t count, const char *name,
                       struct error *e)
{
    int differ = 0;
    if (!family_has(d, "%s", name))
        return 0;
    double *stored = calloc(count, sizeof *stored);
    if (!stored)
        return fail_memory(e, 8.0 * (double)count, "position buffer");
    int result = family_values(stored, d, count, e, "%s", name);
    for (size_t i = 0; i < count; i++)
        differ |= !(fabs(stored[i] - values[i]) <= 1e-6 * fabs(values[i]));
    if (!result && differ)
        memcpy(values, stored, count * sizeof *values);
    free(stored);
    return result ? -1 : differ;
}

/* Positions other than on scores: none, rows added to the embeddings, or rotary. */
static int read_positions(struct reader *r, struct error *e)
{
    struct decoder *d = r->d;
    struct config *c = d->config;
    double fraction, base;
    long offset, limit;
    int taken;
    if (strcmp(r->encoding, "learned") == 0) {
        if (config_int(c, "max_position_embeddings", 1, 1 << 26, &limit, e) ||
            config_int_or(c, "opt_pos_emb_offset", 0, 1 << 20, 0, &offset, e))
            return -1;
        if (offset >= limit)
            return fail(e, "%s: opt_pos_emb_offset %ld leaves none of %ld positions",
                        config_path(c), offset, limit);
        d->position = POSITION_LEARNED, d->position_limit = (int)(limit - offset);
        family_describe(d, "learned, %d positions", d->position_limit);
        if (family_matrix(&d->position_rows, d, (size_t)limit, (size_t)d->hidden, e,
                          "sequential.0.position_embeddings.weight"))
            return -1;
        d->position_rows = view_rows(d->position_rows, (size_t)offset, (size_t)(limit - offset));
    } else if (strcmp(r->encoding, "sinusoidal") == 0) {
        if (d->hidden % 2)
            return fail(e, "%s: hidden_size %d with sinusoidal positions (expected an even number)",
                        config_path(c), d->hidden);
        if (family_sinusoidal(d, 10000, d->hidden / 2.0, 1, 0, e))
            return -1;
        taken = take_stored(d->sinusoid.frequency, d, (size_t)d->hidden / 2,
                            "sequential.0.position_embeddings.inv_freq", e);
        if (taken < 0)
            return -1;
        family_describe(d, "sinusoidal%s", taken ? ", stored frequencies" : "");
    } else if (strcmp(r->encoding, "rotary") == 0) {
        if (config_real_or(c, "rotary_pct", 0, 1, 1, &fraction, e) ||
            config_real_or(c, "rotary_emb_base", 1e-6, 1e12, 10000, &base, e))
            return -1;
        int size = (int)(d->head_size * fraction);
        if (size % 2)
            return fail(
                e, "%s: rotary_pct %g of a head of %d dimensions is %d (expected an even number)",
                config_path(c), fraction, d->head_size, size);
        if (family_rotary_plain(d, size, base, PAIRING_HALF, e))
            return -1;
        taken = take_stored(d->rotary[0].frequency, d, (size_t)size / 2,
                            "sequential.2.attention.rotary_emb.inv_freq", e);
        if (taken < 0)
            return -1;
        family_describe(d, "rotary, base %.10g%s", base, taken ? ", stored frequencies" : "");
        if (size < d->head_size)
            family_describe(d, "%d of %d dimensions", size, d->head_size);
    }
    return 0;
}

/* Reads row `at` of r->values, [heads], from a tensor of the layer, clamped to [low, high] as in
 * the forward pass; ones if an optional tensor is absent. */
static int stored_row(struct reader *r, int index, const char *name, int optional, int at,
                      double low, double high, struct error *e)
{
    size_t heads = (size_t)r->d->heads;
    double *row = r->values + (size_t)at * heads;
    int there = !optional || family_has(r->d, "sequential.%d.attention.rpe.%s", index, name);
    if (there && family_values(row, r->d, heads, e, "sequential.%d.attention.rpe.%s", index, name))
        return -1;
    for (size_t h = 0; h < heads; h++)
        row[h] = there ? fmin(fmax(row[h], low), high) : 1;
    return 0;
}

/* A formula, times the layer's factor, with parameters names[count] from r->values from row
 * `at`. */
static const struct formula *stored_formula(struct reader *r, int l, const char *text,
                                            const char *const *names, int count, int at,
                                            struct error *e)
{
    struct decoder *d = r->d;
    char scaled[128];
    snprintf(scaled, sizeof scaled, "%d*(%s)", l, text);
    struct formula *f = family_formula(d, r->by_layer && l > 1 ? scaled : text, e);
    for (int i = 0; f && i < count; i++)
        if (family_parameter(d, f, names[i], r->values + (size_t)(at + i) * (size_t)d->heads, e))
            f = NULL; /* the decoder owns it */
    return f;
}

/* T5's buckets: values[bucket, head] = sqrt(head_size) w[bucket, head]. */
static int read_buckets(struct reader *r, int l, int index, struct error *e)
{
    char names[BUCKETS][16];
    const char *pointers[BUCKETS];
    struct decoder *d = r->d;
    size_t count = (size_t)BUCKETS * (size_t)d->heads;
    if (family_values(r->values, d, count, e, "sequential.%d.attention.rpe.weight", index))
        return -1;
    for (size_t i = 0; i < count; i++)
        r->values[i] *= sqrt(d->head_size);
    for (int i = 0; i < BUCKETS; i++) {
        snprintf(names[i], sizeof names[i], "w%d", i);
        pointers[i] = names[i];
    }
    if (l && memcmp(r->values, r->before, count * sizeof *r->values) == 0 && !r->by_layer)
        d->blocks[l].score.bias = d->blocks[l - 1].score.bias;
    else
        d->blocks[l].score.bias = stored_formula(r, l, "t5", pointers, BUCKETS, 0, e);
    return d->blocks[l].score.bias ? 0 : -1;
}

/* KERPLE: kerple_log: -p ln(1 + a t). kerple_power_B_W: scores exp(-wa t^wp) - a t^p; a letter
 * missing from B or W means 1, an empty group no such term; kerple_power_original: p is 1. */
static int read_kerple(struct reader *r, int l, int index, struct error *e)
{
    static const char *const bias_names[] = {"p", "a"}, *const weight_names[] = {"q", "b"};
    struct score *s = &r->d->blocks[l].score, *before = l ? &r->d->blocks[l - 1].score : NULL;
    int power = strcmp(r->encoding, "kerple_log") != 0, bias = 1, weighted = 0;
    size_t bytes = 4 * (size_t)r->d->heads * sizeof *r->values;
    if (power) {
        bias = family_has(r->d, "sequential.%d.attention.rpe.bias_p", index) ||
               family_has(r->d, "sequential.%d.attention.rpe.bias_a", index);
        weighted = family_has(r->d, "sequential.%d.attention.rpe.wei_p", index) ||
                   family_has(r->d, "sequential.%d.attention.rpe.wei_a", index);
    }
    if (stored_row(r, index, "bias_p", power, 0, 0.01, power ? 2 : INFINITY, e) ||
        stored_row(r, index, "bias_a", power, 1, 0.01, INFINITY, e) ||
        stored_row(r, index, "wei_p", 1, 2, 0.01, 2, e) ||
        stored_row(r, index, "wei_a", 1, 3, 0.01, INFINITY, e))
        return -1;
    if (before && memcmp(r->values, r->before, bytes) == 0 && !r->by_layer) {
        s->bias = before->bias, s->multiplier = before->multiplier;
        return 0;
    }
    if (bias && !(s->bias = stored_formula(r, l, power ? "kerple_power" : "kerple_log", bias_names,
                                           2, 0, e)))
        return -1;
    if (weighted) {
        struct formula *f = family_formula(r->d, "exp(-b*t^q)", e);
        if (!f ||
            family_parameter(r->d, f, weight_names[0], r->values + 2 * (size_t)r->d->heads, e) ||
            family_parameter(r->d, f, weight_names[1], r->values + 3 * (size_t)r->d->heads, e))
            return -1;
        s->multiplier = f;
    }
    return 0;
}

static int read_alibi(struct reader *r, int l, int index, struct error *e)
{
    static const char *const names[] = {"k"};
    struct decoder *d = r->d;
    char name[96];
    const struct formula *f = family_slope_formula(d, "-k*t", 8, ELEMENT_F64, e);
    if (!f)
        return -1;
    memcpy(r->values, f->parameters[0].value, (size_t)d->heads * sizeof *r->values);
    snprintf(name, sizeof name, "sequential.%d.attention.alibi_embed.slopes", index);
    int taken = take_stored(r->values, d, (size_t)d->heads, name, e);
    if (taken < 0)
        return -1;
    if (l && memcmp(r->values, r->before, (size_t)d->heads * sizeof *r->values) == 0 &&
        !r->by_layer)
        d->blocks[l].score.bias = d->blocks[l - 1].score.bias;
    else
        d->blocks[l].score.bias = stored_formula(r, l, taken ? "-k*t" : "alibi_press", names, taken,
                                                 0, e);
    return d->blocks[l].score.bias ? 0 : -1;
}

/* The encoding's addition to the scores of layer l. */
static int read_bias(struct reader *r, int l, int index, struct error *e)
{
    int result = 0;
    if (strcmp(r->encoding, "rpe") == 0)
        result = read_buckets(r, l, index, e);
    else if (strncmp(r->encoding, "kerple", 6) == 0)
        result = read_kerple(r, l, index, e);
    else if (strcmp(r->encoding, "alibi") == 0)
        result = read_alibi(r, l, index, e);
    double *swap = r->before;
    r->before = r->values, r->values = swap;
    return result;
}

static int read_encoding(struct reader *r, struct error *e)
{
    static const char *const known[] = {"learned", "rotary", "sinusoidal", "rpe",
                                        "alibi",   "none",   "kerple_log"};
    struct decoder *d = r->d;
    long buckets, distance;
    int found = 0;
    if (config_string_or(d->config, "pos_emb", "learned", &r->encoding, e) ||
        config_bool_or(d->config, "apply_query_key_layer_scaling", 0, &r->by_layer, e) ||
        config_int_or(d->config, "rpe_num_buckets", BUCKETS, BUCKETS, BUCKETS, &buckets, e) ||
        config_int_or(d->config, "rpe_max_distance", 128, 128, 128, &distance, e))
        return -1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= strcmp(r->encoding, known[i]) == 0;
    if (!found && strncmp(r->encoding, "kerple_power_", 13) != 0)
        return fail(e,
                    "%s: pos_emb '%s' is not supported (supported: learned, rotary, sinusoidal, "
                    "rpe, alibi, none, kerple_log, "
                    "kerple_power_*)",
                    config_path(d->config), r->encoding);
    if (read_positions(r, e))
        return -1;
    if (strcmp(r->encoding, "rpe") == 0)
        family_describe(d, "T5 buckets");
    else if (strcmp(r->encoding, "alibi") == 0)
        family_describe(d, "ALiBi");
    else if (!*d->position_text)
        family_describe(d, "%s", r->encoding);
    return 0;
}

/* Query, key and value: head-major [H][q, k, v], or, with fewer key-value heads, [Q | K | V]. */
static void split_fused(struct block *b, const struct linear *fused, const struct decoder *d)
{
    size_t size = (size_t)d->head_size, heads = (size_t)d->heads, kv = (size_t)d->kv_heads;
    struct linear *out[3] = {&b->query, &b->key, &b->value};
    const size_t first[4] = {0, heads * size, (heads + kv) * size, (heads + 2 * kv) * size};
    for (size_t i = 0; i < 3; i++) {
        out[i]->weight = kv == heads ? view_interleaved(fused->weight, heads, 3, i, size)
                                     : view_rows(fused->weight, first[i], first[i + 1] - first[i]);
        if (fused->bias.data)
            out[i]->bias = kv == heads ? view_interleaved(fused->bias, heads, 3, i, size)
                                       : view_rows(fused->bias, first[i], first[i + 1] - first[i]);
    }
}

static int read_layer(struct reader *r, int l, int gated, int tied_norms, struct error *e)
{
    struct decoder *d = r->d;
    struct block *b = &d->blocks[l];
    int index = l + 2, attention_bias, mlp_bias;
    const char *up = r->newer ? "linear1" : "dense_h_to_4h",
               *down = r->newer ? "linear2" : "dense_4h_to_h";
    size_t width = (size_t)d->hidden,
           rows = (size_t)(d->heads + 2 * d->kv_heads) * (size_t)d->head_size, mlp = (size_t)d->mlp;
    struct linear fused, wide;
    if (config_bool_or(d->config, "use_bias_in_attn_linear", 1, &attention_bias, e) ||
        config_bool_or(d->config, "use_bias_in_mlp", 1, &mlp_bias, e) ||
        read_norm(&b->attention_norm, r, index, "input_layernorm", e) ||
        family_linear(&fused, d, rows, width, attention_bias, e,
                      "sequential.%d.attention.query_key_value", index) ||
        family_linear(&b->output, d, width, width, attention_bias, e,
                      "sequential.%d.attention.dense", index) ||
        family_linear(&wide, d, gated ? 2 * mlp : mlp, width, mlp_bias, e, "sequential.%d.mlp.%s",
                      index, up) ||
        family_linear(&b->down, d, width, mlp, mlp_bias, e, "sequential.%d.mlp.%s", index, down) ||
        read_bias(r, l, index, e))
        return -1;
    if (tied_norms) {
        b->mlp_norm = b->attention_norm;
        const char *const parts[] = {"weight", "bias", "scale", "g"};
        for (size_t i = 0; i < 4; i++) /* stored, but unused */
            family_ignore(d, "sequential.%d.post_attention_layernorm.%s", index, parts[i]);
    } else if (read_norm(&b->mlp_norm, r, index, "post_attention_layernorm", e)) {
        return -1;
    }
    split_fused(b, &fused, d);
    b->up = wide;
    if (gated) { /* the first half times the activation of the second */
        b->gate.weight = view_rows(wide.weight, mlp, mlp),
        b->up.weight = view_rows(wide.weight, 0, mlp);
        if (mlp_bias)
            b->gate.bias = view_rows(wide.bias, mlp, mlp),
            b->up.bias = view_rows(wide.bias, 0, mlp);
    }
    return 0;
}

static int read_layers(struct reader *r, struct error *e)
{
    struct decoder *d = r->d;
    int parallel, tied_norms, gated;
    enum activation activation;
    if (config_bool_or(d->config, "gpt_j_residual", 0, &parallel, e) ||
        config_bool_or(d->config, "gpt_j_tied", 0, &tied_norms, e) ||
        read_activation(&activation, &gated, d, e))
        return -1;
    d->mlp = (int)family_columns(d, "sequential.2.mlp.%s.weight",
                                 r->newer ? "linear2" : "dense_4h_to_h");
    for (int l = 0; l < d->layers; l++) {
        if (read_layer(r, l, gated, parallel && tied_norms, e))
            return -1;
        d->blocks[l].activation = activation;
        d->blocks[l].residual = parallel ? RESIDUAL_PARALLEL : RESIDUAL_SEQUENTIAL;
    }
    return 0;
}

static int read_megatron(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    const struct size_keys keys = {.hidden = "hidden_size",
                                   .layers = "num_layers",
                                   .heads = "num_attention_heads",
                                   .kv_heads = "num_kv_heads"};
    struct reader r = {.d = d, .newer = family_has(d, "sequential.2.mlp.linear1.weight")};
    int untied, result = -1;
    if (family_sizes(d, &keys, e) || refuse_options(d, e) ||
        check_attention(d, config_get(c, "attention_config"), e) || read_norm_kind(&r, e) ||
        config_bool_or(c, "no_weight_tying", 0, &untied, e))
        return -1;
    d->tied = !untied, d->vocabulary = (int)family_rows(d, "sequential.0.word_embeddings.weight");
    size_t count = (size_t)PARAMETERS_MOST * (size_t)d->heads;
    r.values = calloc(count, sizeof *r.values);
    r.before = calloc(count, sizeof *r.before);
    if (!r.values || !r.before)
        fail_memory(e, 16.0 * (double)count, "position parameters");
    else if (!family_matrix(&d->embedding, d, (size_t)d->vocabulary, (size_t)d->hidden, e,
                            "sequential.0.word_embeddings.weight") &&
             !read_encoding(&r, e) && !read_layers(&r, e) &&
             !read_norm(&d->final_norm, &r, d->layers + 3, "norm", e) &&
             (d->tied ||
              !family_matrix(&d->head.weight, d, (size_t)d->vocabulary, (size_t)d->hidden, e,
                             "sequential.%d.final_linear.weight", d->layers + 4)))
        result = 0;
    free(r.values), free(r.before);
    return result;
}

const struct family family_megatron = {
    .name = "gpt_neox_megatron",
    .model_types = {"gpt_neox_megatron"},
    .read = read_megatron,
    .ignored_suffixes = {".rotary_emb.inv_freq", ".alibi_embed.slopes",
                         ".position_embeddings.inv_freq", ".masked_bias"},
    .positions = "KERPLE, T5, ALiBi, rotary, learned, sinusoidal",
    .about = "checkpoints of GPT-NeoX"};
