/* What a layout says of positions: rotations, windows, tables, biases. */
#include "model/layout_parts.h"
#include "model/rope.h"

#include <stdio.h>
#include <string.h>

/* rotary_dim of heads turned with base 10000, neighbours together. */
static int read_rotary_dim(struct decoder *d, long absent, struct error *e)
{
    struct config *c = d->config;
    long rotated;
    if (config_int_or(c, "rotary_dim", 2, d->head_size, absent, &rotated, e))
        return -1;
    if (!config_has(c, "rotary_dim") && !config_absent(c, "rotary_dim"))
        return fail(e,
                    "%s: rotary_dim null is not supported (expected an even number up to the head "
                    "size, %d)",
                    config_path(c), d->head_size);
    if (rotated % 2 || rotated > d->head_size)
        return fail(
            e,
            "%s: rotary_dim %ld is not supported (expected an even number up to the head size, %d)",
            config_path(c), rotated, d->head_size);
    snprintf(d->position_text, sizeof d->position_text, "rotary, base 10000, interleaved");
    if (rotated < d->head_size)
        family_describe(d, "%ld of %d dimensions", rotated, d->head_size);
    return family_rotary_plain(d, (int)rotated, 10000, PAIRING_INTERLEAVED, e);
}

static int read_learned(struct reading *r)
{
    const struct layout *o = r->layout;
    struct decoder *d = r->d;
    size_t first = (size_t)o->first_row;
    long limit;
    if (config_int(d->config,
                   o->older_learned ? family_either(d, o->learned, o->older_learned) : o->learned,
                   1, 1 << 30, &limit, r->e) ||
        family_matrix(&d->position_rows, d, (size_t)limit + first, (size_t)d->hidden, r->e,
                      "%s%s.weight", r->prefix, o->names.positions))
        return -1;
    d->position_rows = view_rows(d->position_rows, first, (size_t)limit);
    d->position = POSITION_LEARNED, d->position_limit = (int)limit;
    snprintf(d->position_text, sizeof d->position_text, "learned, %ld positions", limit);
    return 0;
}

static int read_sinusoidal(struct decoder *d, enum sinusoidal kind, int first, struct error *e)
{
    int half = d->hidden / 2;
    if (d->hidden % 2 || half < 2)
        return fail(e,
                    "%s: sinusoidal positions of width %d are not supported (expected an even "
                    "number of at least 4)",
                    config_path(d->config), d->hidden);
    snprintf(d->position_text, sizeof d->position_text, "sinusoidal");
    return family_sinusoidal(d, 10000, kind == SINUSOIDAL_OPEN ? half : half - 1, 1, first, e);
}

/* All layers except every n-th have windows. */
static int read_pattern(long *but, struct reading *r, long window)
{
    const struct layout *o = r->layout;
    struct config *c = r->d->config;
    *but = o->pattern_absent;
    if (!o->pattern || config_get(c, "layer_types")) { /* they leave the key without effect */
        if (o->pattern)
            (void)config_get(c, o->pattern);
        return 0;
    }
    if (window && !config_absent(c, o->pattern) && !config_has(c, o->pattern))
        return fail(r->e, "%s: %s is null (expected a number, or layer_types)", config_path(c),
                    o->pattern);
    return window ? config_int_or(c, o->pattern, 1, 10000, o->pattern_absent, but, r->e) : 0;
}

/* Windows of unrotated layers: `otherwise` by that rule, `listed` if layer_types names them. */
static int read_unturned(struct reading *r, long otherwise, long listed)
{
    struct decoder *d = r->d;
    if (config_get(d->config, "layer_types"))
        return family_windows(d, (struct window_rule){.window = listed, .step = 1}, r->e);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].score.window = d->blocks[l].score.rotary == ROTARY_NONE ? (int)otherwise : 0;
    if (otherwise)
        family_describe(d, "window %ld in layers that are not turned", otherwise);
    return 0;
}

/* sliding_window: if absent the library's default, if null none. */
static int read_windows(struct reading *r)
{
    const struct layout *o = r->layout;
    struct decoder *d = r->d;
    struct config *c = d->config;
    struct window_rule rule = {.step = o->windows == WINDOWS_ALTERNATE ? 2 : 1,
                               .but_first = o->pattern_first,
                               .mixed = o->recurrence != NULL};
    int on = 1, switched = o->windows == WINDOWS_SWITCHED || o->windows == WINDOWS_ALL_SWITCHED ||
                           o->windows == WINDOWS_UNTURNED;
    if (o->windows == WINDOWS_NONE)
        return 0;
    if (o->windows == WINDOWS_FULL)
        return family_windows(d, rule, r->e);
    int from = o->windows == WINDOWS_SWITCHED || o->windows == WINDOWS_FROM;
    if ((from && config_int_or(c, "max_window_layers", 0, 10000, o->window_first_absent,
                               &rule.first, r->e)) ||
        (switched && config_bool_or(c, "use_sliding_window", 0, &on, r->e)) ||
        config_int_or(c, "sliding_window", on, 1 << 30,
                      config_absent(c, "sliding_window") ? o->window_absent : 0, &rule.window,
                      r->e) ||
        (o->windows == WINDOWS_BUT_EVERY && read_pattern(&rule.but, r, rule.window)))
        return -1;
    long window = rule.window;
    if (o->windows == WINDOWS_UNTURNED)
        return read_unturned(r, on ? window : 0, window);
    if (!on || (o->windows == WINDOWS_NAMED && !config_get(c, "layer_types")))
        rule.window = 0;
    if (o->windows == WINDOWS_BUT_EVERY && !window && o->turned != TURNED_WINDOWS_OR_ALL &&
        !config_get(c, "layer_types"))
        return fail(r->e,
                    "%s: sliding_window is null, but most layers of a %s model have a window "
                    "(expected a number, or layer_types)",
                    config_path(c), d->family);
    if (family_windows(d, rule, r->e))
        return -1;
    for (int l = 0;
         (o->windows == WINDOWS_ALL || o->windows == WINDOWS_ALL_SWITCHED) && l < d->layers; l++)
        if (d->blocks[l].score.window != rule.window)
            return fail(r->e,
                        "%s: layer_types, entry %d: a %s model has the same window in every layer "
                        "(expected %s_attention)",
                        config_path(c), l + 1, d->family, rule.window ? "sliding" : "full");
    return 0;
}

/* Which layers are rotated, from a list of ones and zeros or all except every n-th. */
static int read_listed(struct reading *r)
{
    struct decoder *d = r->d;
    struct config *c = d->config;
    const json_t *list = config_get(c, "no_rope_layers");
    long interval;
    if (config_int_or(c, "no_rope_layer_interval", 1, 10000, 4, &interval, r->e))
        return -1;
    if (list && (!json_is_array(list) || json_array_size(list) < (size_t)d->layers))
        return fail(r->e, "%s: no_rope_layers is not a list of 1 or 0 for each of %d layers",
                    config_path(c), d->layers);
    for (int l = 0; l < d->layers; l++) {
        const json_t *one = list ? json_array_get(list, (size_t)l) : NULL;
        if (one &&
            !(json_is_integer(one) && json_integer_value(one) >= 0 && json_integer_value(one) <= 1))
            return fail(r->e, "%s: no_rope_layers, entry %d is neither 1 nor 0", config_path(c),
                        l + 1);
        int turned = one ? json_integer_value(one) == 1 : (l + 1) % interval != 0;
        d->blocks[l].score.rotary = turned ? 0 : ROTARY_NONE;
    }
    return 0;
}

/* After the windows. */
static void turn_layers(struct decoder *d, enum turned turned)
{
    int count = 0;
    for (int l = 0; l < d->layers; l++) {
        struct score *s = &d->blocks[l].score;
        if (turned == TURNED_BY_KIND)
            s->rotary = s->window > 0;
        else if (turned == TURNED_WINDOWS || turned == TURNED_WINDOWS_OR_ALL)
            s->rotary = s->window > 0 ? 0 : ROTARY_NONE;
    }
    for (int l = 0; l < d->layers; l++) {
        if (turned == TURNED_WINDOWS_OR_ALL && !config_has(d->config, "sliding_window") &&
            !config_absent(d->config, "sliding_window"))
            d->blocks[l].score.rotary = 0;
        count += d->blocks[l].score.rotary != ROTARY_NONE;
    }
    if (count < d->layers)
        family_describe(d, "turned in %d of %d layers", count, d->layers);
}

static int read_alibi(struct decoder *d, struct error *e)
{
    const struct formula *bias = family_formula(d, "alibi_press", e);
    for (int l = 0; bias && l < d->layers; l++)
        d->blocks[l].score.bias = bias;
    snprintf(d->position_text, sizeof d->position_text, "ALiBi");
    return bias ? 0 : -1;
}

/* Rotary positions, unless `rope_if` says that there are none. */
static int read_rope(struct reading *r, const struct rope_keys *rope)
{
    const char *kind = "rope", *key = r->layout->rope_if;
    if (!rope->theta || (key && config_string_or(r->d->config, key, "", &kind, r->e)))
        return rope->theta ? -1 : 0;
    if (strcmp(kind, "rope") == 0)
        return family_rope(r->d, rope, r->e);
    snprintf(r->d->position_text, sizeof r->d->position_text, "none");
    static const char *const unused[] = {"rope_parameters", "rope_scaling",
                                         "max_position_embeddings"};
    (void)config_get(r->d->config, rope->theta);
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        (void)config_get(r->d->config, unused[i]);
    return 0;
}

int layout_positions(struct reading *r)
{
    const struct layout *o = r->layout;
    struct rope_keys rope = o->latent ? latent_rope(o->rope, o->latent, &r->latent) : o->rope;
    rope.full_size = r->full_size;
    if (read_rope(r, &rope) || (o->rotary_dim && read_rotary_dim(r->d, o->rotary_dim, r->e)) ||
        (o->alibi && read_alibi(r->d, r->e)) || (o->learned && read_learned(r)) ||
        (o->sinusoidal && read_sinusoidal(r->d, o->sinusoidal, o->first_row, r->e)) ||
        (o->turned == TURNED_LISTED && read_listed(r)) || read_windows(r))
        return -1;
    for (int l = 0; r->full_size && l < r->d->layers; l++)
        if (!r->d->blocks[l].score.window)
            r->d->blocks[l].head_size = r->full_size, r->d->blocks[l].kv_heads = r->full_kv_heads;
    turn_layers(r->d, o->turned);
    if (o->convolution && convolution_settings(&r->conv_bias, o->convolution, r->d, r->e))
        return -1;
    if (o->recurrence && recurrence_settings(&r->recurrence, o->recurrence, r->d, r->e))
        return -1;
    if (o->recurrence && !o->recurrence->activation)
        r->recurrence.activation = r->activation;
    r->recurrence.epsilon = r->epsilon;
    return o->latent && o->rope.theta ? latent_check_rope(r->d, &r->latent, r->e) : 0;
}
