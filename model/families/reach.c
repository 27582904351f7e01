/* Our own layout, specified in doc/checkpoint.md. Unknown keys and tensors are refused. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which linear maps and norms have a bias. */
struct biases {
    int norm, qkv, output, mlp, head;
};

static int read_biases(struct biases *out, struct config *c, struct error *e)
{
    json_t *value = config_get(c, "biases");
    *out = (struct biases){1, 1, 1, 1, 0};
    if (!value)
        return 0;
    if (json_is_boolean(value)) {
        int on = json_is_true(value);
        *out = (struct biases){on, on, on, on, 0};
        return 0;
    }
    if (!json_is_object(value))
        return fail(e, "%s: biases must be true, false or an object", config_path(c));
    const struct {
        const char *name;
        int *on;
    } places[] = {{"norm", &out->norm},
                  {"qkv", &out->qkv},
                  {"output", &out->output},
                  {"mlp", &out->mlp},
                  {"head", &out->head}};
    enum { PLACES = sizeof places / sizeof places[0] };
    *out = (struct biases){0};
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        size_t i = 0;
        while (i < PLACES && strcmp(places[i].name, key) != 0)
            i++;
        if (i == PLACES || !json_is_boolean(member))
            return fail(e,
                        "%s: biases.%s is not understood (expected true or false for norm, qkv, "
                        "output, mlp, head)",
                        config_path(c), key);
        *places[i].on = json_is_true(member);
    }
    return 0;
}

/* One value of a formula parameter: the number in the file, exactly as its double. */
static int number_of(double *out, const json_t *value)
{
    if (!json_is_number(value))
        return -1;
    *out = json_number_value(value);
    return 0;
}

static int set_parameter(struct formula *f, const struct decoder *d, const char *key,
                         const char *name, json_t *value, struct error *e)
{
    double one, *values = &one;
    size_t count = 1;
    int bad;
    if (json_is_array(value)) {
        count = json_array_size(value);
        if (count != (size_t)d->heads)
            return fail(e, "%s: %s.set.%s has %zu values (expected 1, or one for each of %d heads)",
                        config_path(d->config), key, name, count, d->heads);
        values = malloc(count * sizeof *values);
        if (!values)
            return fail_memory(e, (double)count * sizeof *values, "formula parameters");
        bad = 0;
        for (size_t i = 0; i < count; i++)
            bad |= number_of(&values[i], json_array_get(value, i));
    } else {
        bad = number_of(&one, value);
    }
    struct formula_error problem;
    int result = 0;
    if (bad)
        result = fail(e, "%s: %s.set.%s is not a number or a list of numbers",
                      config_path(d->config), key, name);
    else if (formula_set_values(f, name, values, (int)count, &problem))
        result = fail(e, "%s: %s.set.%s: %s", config_path(d->config), key, name, problem.message);
    if (values != &one)
        free(values);
    return result;
}

/* A formula given as a string, or as {"formula": ..., "set": {...}}; *out stays NULL when the key
 * is absent. */
static int read_formula(const struct formula **out, struct decoder *d, const char *key,
                        struct error *e)
{
    struct config *c = d->config;
    json_t *value = config_get(c, key);
    *out = NULL;
    if (!value)
        return 0;
    json_t *text = json_is_object(value) ? json_object_get(value, "formula") : value,
           *set = json_is_object(value) ? json_object_get(value, "set") : NULL;
    if (!json_is_string(text))
        return fail(e, "%s: %s must be a formula in quotes, or an object with formula and set",
                    config_path(c), key);
    const char *name;
    json_t *member;
    if (json_is_object(value))
        json_object_foreach(
            value, name,
            member) if (strcmp(name, "formula") != 0 &&
                        strcmp(name, "set") !=
                            0) return fail(e,
                                           "%s: %s.%s is not understood (expected formula and set)",
                                           config_path(c), key, name);
    struct formula *f = family_formula(d, json_string_value(text), e);
    if (!f)
        return -1;
    if (set && !json_is_object(set))
        return fail(e, "%s: %s.set must be an object", config_path(c), key);
    if (set)
        json_object_foreach(set, name,
                            member) if (set_parameter(f, d, key, name, member, e)) return -1;
    const char *missing = formula_missing(f);
    if (missing)
        return fail(e, "%s: %s: parameter '%s' of '%s' has no value (give it under set)",
                    config_path(c), key, missing, f->source);
    *out = f;
    return 0;
}

static int read_position(struct decoder *d, struct error *e)
{
    static const char *const kinds[] = {"none", "sinusoidal", "learned", "rotary", NULL};
    static const char *const pairings[] = {"half", "interleaved", NULL};
    static const char *const members[][4] = {{"kind"},
                                             {"kind"},
                                             {"kind", "length"},
                                             {"kind", "base", "fraction", "pairing"}};
    struct config *c = d->config;
    json_t *position = config_get(c, "position");
    if (!position)
        return 0;
    if (!json_is_object(position))
        return fail(e, "%s: position must be an object", config_path(c));
    int kind, pairing;
    long length;
    double base, fraction;
    if (config_choice_or(c, "position.kind", kinds, -1, &kind, e))
        return -1;
    if (kind < 0)
        return fail(e,
                    "%s: position.kind is missing (expected none, sinusoidal, learned or rotary)",
                    config_path(c));
    const char *key;
    json_t *member;
    json_object_foreach(position, key, member)
    {
        int known = 0;
        for (int i = 0; i < 4 && members[kind][i]; i++)
            known |= strcmp(members[kind][i], key) == 0;
        if (!known)
            return fail(e, "%s: position.%s is not understood for kind %s", config_path(c), key,
                        kinds[kind]);
    }
    d->position = (enum position_kind)kind;
    switch (d->position) {
    case POSITION_NONE: return 0;
    case POSITION_SINUSOIDAL:
        snprintf(d->position_text, sizeof d->position_text, "sinusoidal");
        return family_sinusoidal(d, 10000, d->hidden / 2.0, 0, 0, e);
    case POSITION_LEARNED:
        if (config_int(c, "position.length", 1, 1 << 30, &length, e))
            return -1;
        d->position_limit = (int)length;
        snprintf(d->position_text, sizeof d->position_text, "learned, %ld positions", length);
        return family_matrix(&d->position_rows, d, (size_t)length, (size_t)d->hidden, e,
                             "position.weight");
    case POSITION_ROTARY:
        if (config_real_or(c, "position.base", 1e-6, 1e12, 10000, &base, e) ||
            config_real_or(c, "position.fraction", 0, 1, 1, &fraction, e) ||
            config_choice_or(c, "position.pairing", pairings, 0, &pairing, e))
            return -1;
        int size = (int)(d->head_size * fraction);
        snprintf(d->position_text, sizeof d->position_text, "rotary, base %.10g", base);
        return family_rotary_plain(d, size - size % 2, base, (enum rotary_pairing)pairing, e);
    }
    return 0;
}

/* Fills window[layers]; a number for all layers or a list. */
static int read_windows(struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    json_t *value = config_get(c, "window");
    if (!value)
        return 0;
    if (json_is_array(value) && json_array_size(value) != (size_t)d->layers)
        return fail(
            e, "%s: window has %zu entries (expected a number, or one entry for each of %d layers)",
            config_path(c), json_array_size(value), d->layers);
    for (int l = 0; l < d->layers; l++) {
        const json_t *one = json_is_array(value) ? json_array_get(value, (size_t)l) : value;
        json_int_t w = json_is_null(one) ? 0 : json_integer_value(one);
        int bad = !(json_is_null(one) || json_is_integer(one)) || w < 0 || w > 1 << 30;
        if (bad && json_is_array(value))
            return fail(e, "%s: window, entry %d is not a whole number of keys (0: none)",
                        config_path(c), l + 1);
        if (bad)
            return fail(e, "%s: window is not a whole number of keys, nor a list of them (0: none)",
                        config_path(c));
        d->blocks[l].score.window = (int)w;
    }
    return 0;
}

/* "alibi(delta=0) + window 32" and similar. */
static void describe(struct decoder *d, const struct formula *bias,
                     const struct formula *multiplier, const struct formula *key_bias)
{
    const struct {
        const char *before;
        const struct formula *f;
    } parts[] = {{"bias ", bias}, {"multiplier ", multiplier}, {"key bias ", key_bias}};
    size_t at = strlen(d->position_text), room = sizeof d->position_text;
    for (int i = 0; i < 3; i++)
        if (parts[i].f && at < room)
            at += (size_t)snprintf(d->position_text + at, room - at, "%s%s%s", at ? " + " : "",
                                   parts[i].before, parts[i].f->source);
    int least = 0, most = 0;
    for (int l = 0; l < d->layers; l++) {
        int w = d->blocks[l].score.window;
        least = l == 0 || w < least ? w : least;
        most = w > most ? w : most;
    }
    if (most && at < room) {
        if (least == most)
            at += (size_t)snprintf(d->position_text + at, room - at, "%swindow %d", at ? " + " : "",
                                   most);
        else
            at += (size_t)snprintf(d->position_text + at, room - at, "%swindows by layer",
                                   at ? " + " : "");
    }
    if (!at)
        snprintf(d->position_text, room, "none");
}

static int read_layer(struct decoder *d, int l, const struct biases *with, enum norm_kind norm,
                      double epsilon, int gated, struct error *e)
{
    struct block *b = &d->blocks[l];
    size_t hidden = (size_t)d->hidden, mlp = (size_t)d->mlp;
    size_t q = (size_t)d->heads * (size_t)d->head_size,
           kv = (size_t)d->kv_heads * (size_t)d->head_size;
    if (family_norm(&b->attention_norm, d, norm, epsilon, with->norm, e, "layers.%d.attention_norm",
                    l) ||
        family_linear(&b->query, d, q, hidden, with->qkv, e, "layers.%d.attention.query", l) ||
        family_linear(&b->key, d, kv, hidden, with->qkv, e, "layers.%d.attention.key", l) ||
        family_linear(&b->value, d, kv, hidden, with->qkv, e, "layers.%d.attention.value", l) ||
        family_linear(&b->output, d, hidden, q, with->output, e, "layers.%d.attention.output", l) ||
        family_norm(&b->mlp_norm, d, norm, epsilon, with->norm, e, "layers.%d.mlp_norm", l) ||
        family_linear(&b->up, d, mlp, hidden, with->mlp, e, "layers.%d.mlp.up", l) ||
        (gated && family_linear(&b->gate, d, mlp, hidden, with->mlp, e, "layers.%d.mlp.gate", l)) ||
        family_linear(&b->down, d, hidden, mlp, with->mlp, e, "layers.%d.mlp.down", l))
        return -1;
    return 0;
}

static int read_reach(struct decoder *d, struct error *e)
{
    static const char *const activations[] = {"gelu", "gelu_tanh", "quick_gelu",
                                              "relu", "silu",      NULL};
    static const char *const norms[] = {"layernorm", "rmsnorm", NULL};
    static const char *const residuals[] = {"sequential", "parallel", NULL};
    struct config *c = d->config;
    const struct size_keys keys = {.vocabulary = "vocabulary",
                                   .hidden = "hidden",
                                   .layers = "layers",
                                   .heads = "heads",
                                   .kv_heads = "kv_heads",
                                   .head_size = "head_size"};
    long mlp, train_length;
    int activation, gated, norm, residual;
    double epsilon, scale, soft_cap;
    struct biases with;
    const char *format;
    if (config_string_or(c, "format", "", &format, e))
        return -1;
    if (strcmp(format, "reach-checkpoint/1") != 0)
        return fail(e, "%s: format '%s' is not known (expected reach-checkpoint/1)", config_path(c),
                    format);
    if (family_sizes(d, &keys, e) || config_int(c, "mlp", 1, 1 << 24, &mlp, e) ||
        config_choice_or(c, "activation", activations, 0, &activation, e) ||
        config_bool_or(c, "gated", 0, &gated, e) ||
        config_choice_or(c, "norm", norms, 0, &norm, e) ||
        config_real_or(c, "norm_epsilon", 0, 1, 1e-5, &epsilon, e) ||
        config_choice_or(c, "residual", residuals, 0, &residual, e) || read_biases(&with, c, e) ||
        config_bool_or(c, "tied_head", 1, &d->tied, e) ||
        config_real_or(c, "embedding_scale", -1e6, 1e6, 1, &d->embedding_scale, e) ||
        config_real_or(c, "attention_scale", -1e6, 1e6, 1 / sqrt(d->head_size), &scale, e) ||
        config_real_or(c, "soft_cap", 0, 1e6, 0, &soft_cap, e) ||
        config_int_or(c, "train_length", 1, 1 << 30, 0, &train_length, e))
        return -1;
    d->mlp = (int)mlp, d->train_length = (int)train_length;

    const struct formula *bias, *multiplier, *key_bias;
    if (family_bos(d, "bos", e) ||
        family_matrix(&d->embedding, d, (size_t)d->vocabulary, (size_t)d->hidden, e,
                      "embedding.weight") ||
        read_position(d, e) || read_formula(&bias, d, "position_bias", e) ||
        read_formula(&multiplier, d, "position_multiplier", e) ||
        read_formula(&key_bias, d, "key_bias", e) || read_windows(d, e))
        return -1;
    describe(d, bias, multiplier, key_bias);
    for (int l = 0; l < d->layers; l++) {
        struct block *b = &d->blocks[l];
        if (read_layer(d, l, &with, (enum norm_kind)norm, epsilon, gated, e))
            return -1;
        b->activation = (enum activation)activation;
        b->residual = (enum residual_wiring)residual;
        b->score.scale = scale, b->score.soft_cap = soft_cap;
        b->score.bias = bias, b->score.multiplier = multiplier, b->score.key_bias = key_bias,
        b->score.key_bias_scale = 1;
    }
    if (family_norm(&d->final_norm, d, (enum norm_kind)norm, epsilon, with.norm, e, "final_norm"))
        return -1;
    if (!d->tied && family_matrix(&d->head.weight, d, (size_t)d->vocabulary, (size_t)d->hidden, e,
                                  "head.weight"))
        return -1;
    if (with.head && family_vector(&d->head.bias, d, (size_t)d->vocabulary, e, "head.bias"))
        return -1;
    const char *unread = config_first_unread(c);
    return unread ? fail(e, "%s: key '%s' is not understood (doc/checkpoint.md lists the keys)",
                         config_path(c), unread)
                  : 0;
}

const struct family family_reach = {.name = "reach",
                                    .read = read_reach,
                                    .positions = "any formula, rotary, learned, sinusoidal",
                                    .about = "doc/checkpoint.md"};
