/* Frequencies of rotary and sinusoidal positions, and the published scalings of rotary ones. */
#include "model/family.h"
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frequencies of a base, without scaling. */
static void set_plain(struct decoder *d, double base)
{
    struct rotary *r = &d->rotary;
    r->base = base, r->factor = 1, r->stretch = 0;
    for (int i = 0; i < r->size / 2; i++)
        r->frequency[i] = pow(base, -2.0 * i / r->size);
}

int family_rotary_plain(struct decoder *d, int size, double base, enum rotary_pairing pairing, struct error *e)
{
    size_t pairs = size < 2 ? 0 : (size_t)size / 2;
    d->position = pairs ? POSITION_ROTARY : POSITION_NONE;
    d->rotary.size = size;
    d->rotary.pairing = pairing;
    d->rotary.frequency = calloc(pairs ? pairs : 1, sizeof *d->rotary.frequency);
    if (!d->rotary.frequency)
        return fail_memory(e, (double)pairs * 8, "rotary frequencies");
    set_plain(d, base);
    return 0;
}

int family_sinusoidal(struct decoder *d, double base, double steps, int halves, int first, struct error *e)
{
    size_t pairs = ((size_t)d->hidden + 1) / 2;
    d->position = POSITION_SINUSOIDAL;
    d->sinusoid = (struct sinusoid){.frequency = calloc(pairs, sizeof *d->sinusoid.frequency), .halves = halves, .first = first};
    if (!d->sinusoid.frequency)
        return fail_memory(e, 8.0 * (double)pairs, "sinusoidal frequencies");
    for (size_t i = 0; i < pairs; i++)
        d->sinusoid.frequency[i] = pow(base, -(double)i / steps);
    return 0;
}

/* Says what the scaling lacks; always -1. */
static int missing(const struct rope_spec *s, const char *needs, const char *where, struct error *e)
{
    return fail(e, "%s of type %s needs %s", where, rope_kind_name(s->kind), needs);
}

/* Positions count for 1 / factor. */
static int scale_linear(struct decoder *d, struct rope_spec *s, const char *where, struct error *e)
{
    if (isnan(s->factor))
        return missing(s, "factor", where, e);
    for (int i = 0; i < d->rotary.size / 2; i++)
        d->rotary.frequency[i] /= s->factor;
    return 0;
}

/* A longer base beyond the trained length, by the length of the segment. */
static int scale_dynamic(struct decoder *d, struct rope_spec *s, const char *where, struct error *e)
{
    if (isnan(s->original) && d->declared_length)
        s->original = d->declared_length;
    if (isnan(s->factor) || isnan(s->original) || d->rotary.size < 4)
        return missing(s, "factor, max_position_embeddings, and at least 4 rotated dimensions", where, e);
    d->rotary.stretch = s->factor, d->rotary.limit = (int)s->original;
    return 0;
}

/* s->original where it is not said: the configuration's own, else all positions that it declares. */
static int find_original(struct decoder *d, struct rope_spec *s, struct error *e)
{
    double fallback = d->declared_length ? d->declared_length : NAN;
    if (!isnan(s->original))
        return 0;
    return config_real_or(d->config, "original_max_position_embeddings", 1, 1e9, fallback, &s->original, e);
}

/* Llama 3's scaling by wavelength: long waves are slowed by `factor`, short ones kept, a linear blend of the two between. */
static int scale_llama3(struct decoder *d, struct rope_spec *s, const char *where, struct error *e)
{
    if (find_original(d, s, e))
        return -1;
    if (isnan(s->factor) || isnan(s->low) || isnan(s->high) || isnan(s->original) || s->low == s->high)
        return missing(
            s, "factor, low_freq_factor, high_freq_factor and original_max_position_embeddings (or max_position_embeddings)",
            where, e);
    for (int i = 0; i < d->rotary.size / 2; i++) {
        double f = d->rotary.frequency[i], wavelength = 2 * M_PI / f;
        if (wavelength > s->original / s->low)
            f /= s->factor;
        else if (!(wavelength < s->original / s->high)) {
            double m = (s->original / wavelength - s->low) / (s->high - s->low);
            f = (1 - m) * f / s->factor + m * f;
        }
        d->rotary.frequency[i] = f;
    }
    return 0;
}

/* YaRN (Peng et al. 2023): a blend by the number of turns within the original length, and a factor on cosine and sine. */
static int scale_yarn(struct decoder *d, struct rope_spec *s, const char *where, struct error *e)
{
    int size = d->rotary.size;
    if (find_original(d, s, e))
        return -1;
    if (isnan(s->factor) && d->declared_length)
        s->factor = d->declared_length / s->original;
    if (isnan(s->factor) || isnan(s->original) || size < 2)
        return missing(s, "factor and original_max_position_embeddings (or max_position_embeddings)", where, e);
    if (isnan(s->attention)) {
        double turn = s->factor > 1 ? 0.1 * log(s->factor) : 0;
        s->attention = s->mscale > 0 && s->all_dim > 0 ? (s->mscale * turn + 1) / (s->all_dim * turn + 1) : turn + 1;
    }
    double low = size * log(s->original / (s->fast * 2 * M_PI)) / (2 * log(s->base)),
           high = size * log(s->original / (s->slow * 2 * M_PI)) / (2 * log(s->base));
    if (s->truncate != 0)
        low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, size - 1);
    if (low == high)
        high += 0.001;
    for (int i = 0; i < size / 2; i++) {
        double slowed = fmin(1, fmax(0, (i - low) / (high - low)));
        d->rotary.frequency[i] *= slowed / s->factor + (1 - slowed);
    }
    d->rotary.factor = s->attention;
    return 0;
}

/* Each frequency over a number that is stored: GGUF's form of Llama 3's scaling. */
static int scale_stored(struct decoder *d, struct rope_spec *s, const char *where, struct error *e)
{
    double divisor[128];
    (void)s, (void)where;
    if (family_values(divisor, d, (size_t)d->rotary.size / 2, e, "rope_freqs.weight"))
        return -1;
    for (int i = 0; i < d->rotary.size / 2; i++) {
        if (!(divisor[i] > 0))
            return fail(e, "%s: tensor 'rope_freqs.weight' holds %g (expected numbers above 0)", d->path, divisor[i]);
        d->rotary.frequency[i] /= divisor[i];
    }
    return 0;
}

int rope_scale(struct decoder *d, struct rope_spec *s, const char *where, struct error *e)
{
    static int (*const scalings[])(struct decoder *, struct rope_spec *, const char *, struct error *) = {
        [ROPE_LINEAR] = scale_linear, [ROPE_DYNAMIC] = scale_dynamic, [ROPE_LLAMA3] = scale_llama3,
        [ROPE_YARN] = scale_yarn,     [ROPE_STORED] = scale_stored,
    };
    return scalings[s->kind] ? scalings[s->kind](d, s, where, e) : 0;
}

int rope_replace(struct decoder *d, struct rope_spec *s, struct error *e)
{
    char where[sizeof d->path + 16];
    if (d->position != POSITION_ROTARY)
        return fail(e, "%s: --rope: the model has no rotary positions (its positions: %s)", d->path, d->position_text);
    if (d->rotary.other_fraction && s->kind != ROPE_NONE)
        return fail(
            e,
            "%s: --rope %s: the configuration turns a part of a head, which this family's code follows for a scaling alone "
            "(expected none, or base=NUMBER)",
            d->path, rope_kind_name(s->kind));
    if (isnan(s->base))
        s->base = d->rotary.base;
    set_plain(d, s->base);
    snprintf(where, sizeof where, "%s: --rope", d->path);
    return rope_scale(d, s, where, e);
}

/* Which of the two objects of a config holds the settings (*root), and which scaling it names: rope_scaling, unless it is empty.
 */
static int find_rope(const char **root, const char **type, struct config *c, struct error *e)
{
    static const char *const roots[] = {"rope_parameters", "rope_scaling"};
    char key[64], older[64];
    const char *name;
    json_t *member;
    *root = roots[0];
    for (int i = 0; i < 2; i++) {
        const json_t *object = config_get(c, roots[i]);
        if (object && !json_is_object(object))
            return fail(e, "%s: %s is no object (expected {...} with rope_type in it)", config_path(c), roots[i]);
        if (json_object_size(object))
            *root = roots[i];
    }
    json_object_foreach(config_get(c, *root), name, member) if (json_is_object(member)) return fail(
        e, "%s: %s.%s: settings by kind of layer are not supported (expected one set for all layers)", config_path(c), *root,
        name);
    snprintf(key, sizeof key, "%s.rope_type", *root);
    snprintf(older, sizeof older, "%s.type", *root);
    return config_string_or(c, older, "default", type, e) || config_string_or(c, key, *type, type, e);
}

int family_rope(struct decoder *d, const struct rope_keys *keys, struct error *e)
{
    struct config *c = d->config;
    struct rope_spec s;
    const char *root, *type;
    char key[64], where[sizeof d->path + 64], text[ROPE_TEXT_MAX];
    double fraction, limit;
    if (find_rope(&root, &type, c, e) || config_real_or(c, "max_position_embeddings", 1, 1e9, 0, &limit, e) ||
        config_real_or(c, keys->theta, 1e-6, 1e12, keys->theta_default ? keys->theta_default : 10000, &s.base, e) ||
        (snprintf(key, sizeof key, "%s.rope_theta", root), config_real_or(c, key, 1e-6, 1e12, s.base, &s.base, e)) ||
        config_real_or(c, keys->fraction, 0, 1, keys->fraction_default, &fraction, e) ||
        (snprintf(key, sizeof key, "%s.partial_rotary_factor", root), config_real_or(c, key, 0, 1, fraction, &fraction, e)))
        return -1;
    s.kind = rope_kind_named(type);
    if (keys->unscaled && strcmp(type, "default") != 0)
        return fail(e, "%s: rotary scaling '%s' is not supported in a %s model (supported: default)", config_path(c), type,
                    d->family);
    if (s.kind == ROPE_KINDS)
        return fail(e, "%s: rotary scaling '%s' is not supported (supported: default, linear, dynamic, llama3, yarn, rope_freqs)",
                    config_path(c), type);
    if (keys->whole_heads && fraction != 1) {
        if (s.kind != ROPE_NONE)
            return fail(e, "%s: %s %g with %s scaling is not supported in a %s model (expected 1)", config_path(c),
                        keys->fraction, fraction, type, d->family);
        family_note(d, "%s %g has no effect in a %s model, which turns whole heads", keys->fraction, fraction, d->family);
        fraction = 1, d->rotary.other_fraction = 1;
    }
    int size = (int)(d->head_size * fraction);
    if (size % 2)
        return fail(e, "%s: %s %g turns %d of the %d dimensions of a head (expected an even number)", config_path(c),
                    keys->fraction, fraction, size, d->head_size);
    /* of the two that a file may have, the one at the top wins */
    if (rope_read(&s, c, root, e) || ((s.kind == ROPE_LLAMA3 || s.kind == ROPE_YARN) &&
                                      config_real_or(c, "original_max_position_embeddings", 1, 1e9, s.original, &s.original, e)))
        return -1;
    snprintf(where, sizeof where, "%s: %s", config_path(c), root);
    if (family_rotary_plain(d, size, s.base, keys->pairing, e) || rope_scale(d, &s, where, e))
        return -1;
    snprintf(d->position_text, sizeof d->position_text, "rotary, base %.10g", s.base);
    if (keys->pairing == PAIRING_INTERLEAVED)
        family_describe(d, "interleaved");
    if (size < d->head_size)
        family_describe(d, "%d of %d dimensions", size, d->head_size);
    rope_text(text, &s);
    if (s.kind != ROPE_NONE)
        family_describe(d, "%s", text);
    return 0;
}
