/* Helpers shared by family files: what configurations say. */
#include "model/family.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *family_either(const struct decoder *d, const char *key, const char *older)
{
    (void)config_get(d->config, older); /* read, so that it counts as understood */
    return config_get(d->config, key) ? key : older;
}

int family_defaults(struct decoder *d, const char *defaults, struct error *e)
{
    json_t *values = json_loads(defaults, 0, NULL);
    int bad = !values || json_object_update_recursive(values, config_root(d->config)) ||
              json_object_update(config_root(d->config), values);
    json_decref(values);
    return bad ? fail_memory(e, 1024, "a configuration") : 0;
}

int family_sizes(struct decoder *d, const struct size_keys *keys, struct error *e)
{
    struct config *c = d->config;
    long vocabulary, hidden, layers, heads, kv_heads, head_size = 0;
    vocabulary = d->vocabulary;
    if ((keys->vocabulary && config_int(c, keys->vocabulary, 1, 1 << 26, &vocabulary, e)) ||
        config_int(c, keys->hidden, 1, 1 << 20, &hidden, e) ||
        config_int(c, keys->layers, 1, 10000, &layers, e) ||
        config_int(c, keys->heads, 1, 1 << 16, &heads, e))
        return -1;
    kv_heads = heads;
    if ((keys->kv_heads && config_int_or(c, keys->kv_heads, 1, 1 << 16, heads, &kv_heads, e)) ||
        (keys->head_size &&
         config_int_or(c, keys->head_size, 1, 256, keys->head_size_default, &head_size, e)))
        return -1;
    if (keys->head_size_given)
        head_size = keys->head_size_given;
    if (!keys->head_size && !head_size &&
        config_int_or(c, "head_dim", 1, 256, 0, &head_size, e)) /* only with the default value */
        return -1;
    if (!keys->head_size && !keys->head_size_given && head_size &&
        (hidden % heads || head_size != hidden / heads))
        return fail(e, "%s: head_dim %ld is not supported (expected %s %ld over %s %ld)",
                    config_path(c), head_size, keys->hidden, hidden, keys->heads, heads);
    if (!head_size) {
        head_size = hidden / heads;
        if (hidden % heads || head_size > 256)
            return fail(e, "%s: %s %ld over %s %ld is not a head size from 1 to 256%s%s",
                        config_path(c), keys->hidden, hidden, keys->heads, heads,
                        keys->head_size ? ": give " : "", keys->head_size ? keys->head_size : "");
    }
    if (heads % kv_heads)
        return fail(e, "%s: %s %ld is not a multiple of %s %ld", config_path(c), keys->heads, heads,
                    keys->kv_heads, kv_heads);
    d->vocabulary = (int)vocabulary, d->hidden = (int)hidden, d->layers = (int)layers,
    d->heads = (int)heads, d->kv_heads = (int)kv_heads;
    d->head_size = d->value_size = (int)head_size;
    d->blocks = calloc((size_t)layers, sizeof *d->blocks);
    if (!d->blocks)
        return fail_memory(e, (double)layers * sizeof *d->blocks, "layer table");
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].mixer.ways = MIXING_ATTENTION,
        d->blocks[l].score.scale = 1 / sqrt(d->head_size);
    return 0;
}

int family_only(struct decoder *d, const char *key, int only, int absent, struct error *e)
{
    int value;
    if (config_bool_or(d->config, key, absent, &value, e))
        return -1;
    if (value == only)
        return 0;
    return fail(e, "%s: %s %s is not supported (expected %s)", config_path(d->config), key,
                value ? "true" : "false", only ? "true" : "false");
}

int family_attending(struct decoder *d, const char *key, enum mixing other, struct error *e)
{
    const json_t *list = config_get(d->config, key);
    if (list && !json_is_array(list))
        return fail(e, "%s: %s is not a list of layers", config_path(d->config), key);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].mixer.ways = other;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (!json_is_integer(one) || json_integer_value(one) < 0)
            return fail(e, "%s: %s, entry %zu is not a layer", config_path(d->config), key, i + 1);
        if (json_integer_value(one) < d->layers)
            d->blocks[json_integer_value(one)].mixer.ways = MIXING_ATTENTION;
    }
    return 0;
}

int family_kinds(struct decoder *d, const struct layer_kind *kinds, const char *supported,
                 struct error *e)
{
    const char *path = config_path(d->config);
    const json_t *types = config_get(d->config, "layer_types");
    if (!json_is_array(types) || json_array_size(types) != (size_t)d->layers)
        return fail(e, "%s: layer_types is not a list of one kind for each of %d layers", path,
                    d->layers);
    for (int l = 0; l < d->layers; l++) {
        const char *type = json_string_value(json_array_get(types, (size_t)l));
        const struct layer_kind *kind = kinds;
        while (kind->name && (!type || strcmp(kind->name, type) != 0))
            kind++;
        if (!kind->name)
            return fail(e, "%s: layer_types, entry %d: '%s' is not supported (supported: %s)", path,
                        l + 1, type ? type : "not a string", supported);
        d->blocks[l].mixer.ways = kind->ways;
    }
    return 0;
}

/* Appends as much as fits to a text of `size` bytes, with a separator unless it is empty. */
static void append(char *text, size_t size, const char *separator, const char *format,
                   va_list arguments)
{
    size_t at = strlen(text);
    if (at && at + strlen(separator) < size)
        at += (size_t)snprintf(text + at, size - at, "%s", separator);
    vsnprintf(text + at, size - at, format, arguments);
}

void family_describe(struct decoder *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(d->position_text, sizeof d->position_text, ", ", format, arguments);
    va_end(arguments);
}

void family_note(struct decoder *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(d->notes, sizeof d->notes, "\n", format, arguments);
    va_end(arguments);
}

int family_activation(enum activation *out, const struct decoder *d, const char *key,
                      const char *fallback, struct error *e)
{
    /* gelu_fast is gelu_new with sqrt(2/pi) to ten digits, a relative difference of 4e-12. */
    static const struct {
        const char *name;
        enum activation kind;
    } known[] = {{"gelu", ACTIVATION_GELU},
                 {"gelu_new", ACTIVATION_GELU_TANH},
                 {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
                 {"gelu_fast", ACTIVATION_GELU_TANH},
                 {"quick_gelu", ACTIVATION_QUICK_GELU},
                 {"relu", ACTIVATION_RELU},
                 {"relu2", ACTIVATION_RELU_SQUARED},
                 {"silu", ACTIVATION_SILU},
                 {"swish", ACTIVATION_SILU}};
    const char *name = fallback;
    if (key && config_string_or(d->config, key, fallback, &name, e))
        return -1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = known[i].kind;
            return 0;
        }
    return fail(e,
                "%s: %s '%s' is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh, "
                "gelu_fast, quick_gelu, relu, relu2, silu)",
                config_path(d->config), key, name);
}

int family_bos(struct decoder *d, const char *key, struct error *e)
{
    long bos;
    if (config_int_or(d->config, key, 0, 1 << 30, -1, &bos, e))
        return -1;
    d->bos = bos < d->vocabulary ? (int)bos : -1;
    return 0;
}

struct formula *family_formula(struct decoder *d, const char *text, struct error *e)
{
    struct formula_error problem;
    struct formula *f = formula_parse(text, &problem);
    if (!f) {
        fail(e, "%s: formula '%s', character %zu: %s", d->path, text, problem.at + 1,
             problem.message);
        return NULL;
    }
    struct formula **grown = realloc(d->formulas, (size_t)(d->formula_count + 1) * sizeof *grown);
    if (!grown) {
        formula_free(f);
        fail_memory(e, sizeof *grown, "formula table");
        return NULL;
    }
    d->formulas = grown;
    d->formulas[d->formula_count++] = f;
    return f;
}

int family_parameter(struct decoder *d, struct formula *f, const char *name, const double *values,
                     struct error *e)
{
    struct formula_error problem;
    if (formula_set_values(f, name, values, d->heads, &problem))
        return fail(e, "%s: formula '%s', parameter %s: %s", config_path(d->config), f->source,
                    name, problem.message);
    return 0;
}

struct formula *family_slope_formula(struct decoder *d, const char *text, double most,
                                     enum element type, struct error *e)
{
    struct formula *f = family_formula(d, text, e);
    double *slopes = calloc((size_t)d->heads, sizeof *slopes);
    int power = 1;
    if (!f || !slopes) {
        free(slopes);
        if (f)
            fail_memory(e, 8.0 * d->heads, "slopes");
        return NULL;
    }
    while (2 * power <= d->heads)
        power *= 2;
    for (int h = 1; h <= d->heads; h++)
        slopes[h - 1] = element_round(h <= power
                                          ? exp2(-most * h / power)
                                          : exp2(-most * (2 * (h - power) - 1) / (2.0 * power)),
                                      type);
    if (family_parameter(d, f, "k", slopes, e))
        f = NULL; /* the decoder owns it */
    free(slopes);
    return f;
}

int family_windows(struct decoder *d, struct window_rule rule, struct error *e)
{
    struct config *c = d->config;
    json_t *types = config_get(c, "layer_types");
    long window = rule.window, most = 0, least = window;
    if (types && (!json_is_array(types) || json_array_size(types) != (size_t)d->layers))
        return fail(e, "%s: layer_types is not a list of one kind for each of %d layers",
                    config_path(c), d->layers);
    for (int l = 0; l < d->layers; l++) {
        int sliding = window && (rule.but ? (l + !rule.but_first) % rule.but != 0
                                          : l >= rule.first && (l - rule.first) % rule.step == 0);
        if (types) {
            const char *type = json_string_value(json_array_get(types, (size_t)l));
            sliding = type && strcmp(type, "sliding_attention") == 0;
            if (!type || !(sliding || strcmp(type, "full_attention") == 0 ||
                           (rule.mixed && strcmp(type, "linear_attention") == 0)))
                return fail(e,
                            "%s: layer_types, entry %d: '%s' is not supported (supported: "
                            "full_attention, sliding_attention)",
                            config_path(c), l + 1, type ? type : "not a string");
            if (sliding && !window)
                return fail(
                    e,
                    "%s: layer_types, entry %d is sliding_attention, but no sliding_window is set",
                    config_path(c), l + 1);
        }
        long w = sliding ? window : 0;
        d->blocks[l].score.window = (int)w;
        most = w > most ? w : most;
        least = w < least ? w : least;
    }
    if (most && least == most)
        family_describe(d, "window %ld", most);
    else if (most)
        family_describe(d, "window %ld in some layers", most);
    return 0;
}
