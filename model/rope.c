/* Frequencies of rotary and sinusoidal positions, and the published scalings of rotary ones. */
#include "model/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int family_rotary_plain(struct decoder *d, int size, double base, enum rotary_pairing pairing, struct error *e)
{
    size_t pairs = size < 2 ? 0 : (size_t)size / 2;
    d->position = pairs ? POSITION_ROTARY : POSITION_NONE;
    d->rotary.size = size;
    d->rotary.pairing = pairing;
    d->rotary.factor = 1;
    d->rotary.frequency = calloc(pairs ? pairs : 1, sizeof *d->rotary.frequency);
    if (!d->rotary.frequency)
        return fail_memory(e, (double)pairs * 8, "rotary frequencies");
    for (size_t i = 0; i < pairs; i++)
        d->rotary.frequency[i] = pow(base, -2.0 * (double)i / size);
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

/* The rotary settings of a config: where they stand, and what every scaling may need. */
struct rope {
    struct config *config;
    const char *root; /* "rope_parameters" or "rope_scaling" */
    const char *type;
    double base, limit; /* limit: max_position_embeddings, NAN when absent */
};

/* root.NAME, or `fallback` (NAN: absent) when it is not there. */
static int setting(double *out, const struct rope *r, const char *name, double low, double high, double fallback, struct error *e)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", r->root, name);
    return config_real_or(r->config, key, low, high, fallback, out, e);
}

/* The length that the model was trained for before it was scaled; NAN when nothing says it. */
static int original_length(double *out, const struct rope *r, struct error *e)
{
    return setting(out, r, "original_max_position_embeddings", 1, 1e9, r->limit, e) ||
           config_real_or(r->config, "original_max_position_embeddings", 1, 1e9, *out, out, e);
}

static int missing(const struct rope *r, const char *needs, struct error *e)
{
    return fail(e, "%s: %s of type %s needs %s", config_path(r->config), r->root, r->type, needs);
}

/* Positions count for 1 / factor. */
static int scale_linear(struct decoder *d, const struct rope *r, struct error *e)
{
    double factor;
    if (setting(&factor, r, "factor", 1e-6, 1e6, NAN, e))
        return -1;
    if (isnan(factor))
        return missing(r, "factor", e);
    for (int i = 0; i < d->rotary.size / 2; i++)
        d->rotary.frequency[i] /= factor;
    return 0;
}

/* A longer base beyond the trained length, by the length of the segment. */
static int scale_dynamic(struct decoder *d, const struct rope *r, struct error *e)
{
    double factor;
    if (setting(&factor, r, "factor", 1e-6, 1e6, NAN, e))
        return -1;
    if (isnan(factor) || isnan(r->limit) || d->rotary.size < 4)
        return missing(r, "factor, max_position_embeddings, and at least 4 rotated dimensions", e);
    d->rotary.base = r->base, d->rotary.stretch = factor, d->rotary.limit = (int)r->limit;
    return 0;
}

/* Llama 3's scaling by wavelength: long waves are slowed by `factor`, short ones kept, a linear blend of the two between. */
static int scale_llama3(struct decoder *d, const struct rope *r, struct error *e)
{
    double factor, low, high, original;
    if (setting(&factor, r, "factor", 1e-6, 1e6, NAN, e) || setting(&low, r, "low_freq_factor", 1e-6, 1e6, NAN, e) ||
        setting(&high, r, "high_freq_factor", 1e-6, 1e6, NAN, e) || original_length(&original, r, e))
        return -1;
    if (isnan(factor) || isnan(low) || isnan(high) || isnan(original) || low == high)
        return missing(
            r, "factor, low_freq_factor, high_freq_factor and original_max_position_embeddings (or max_position_embeddings)", e);
    for (int i = 0; i < d->rotary.size / 2; i++) {
        double f = d->rotary.frequency[i], wavelength = 2 * M_PI / f;
        if (wavelength > original / low)
            f /= factor;
        else if (!(wavelength < original / high)) {
            double m = (original / wavelength - low) / (high - low);
            f = (1 - m) * f / factor + m * f;
        }
        d->rotary.frequency[i] = f;
    }
    return 0;
}

/* YaRN (Peng et al. 2023): a blend by the number of turns within the original length, and a factor on cosine and sine. */
static int scale_yarn(struct decoder *d, const struct rope *r, struct error *e)
{
    double factor, original, attention, fast, slow, mscale, all_dim;
    int truncate, size = d->rotary.size;
    char key[96];
    snprintf(key, sizeof key, "%s.truncate", r->root);
    if (setting(&factor, r, "factor", 1e-6, 1e6, NAN, e) || original_length(&original, r, e) ||
        setting(&attention, r, "attention_factor", 1e-6, 1e6, NAN, e) || setting(&fast, r, "beta_fast", 1e-6, 1e6, 32, e) ||
        setting(&slow, r, "beta_slow", 1e-6, 1e6, 1, e) || setting(&mscale, r, "mscale", 0, 1e6, 0, e) ||
        setting(&all_dim, r, "mscale_all_dim", 0, 1e6, 0, e) || config_bool_or(r->config, key, 1, &truncate, e))
        return -1;
    if (isnan(factor))
        factor = r->limit / original;
    if (isnan(factor) || isnan(original) || size < 2)
        return missing(r, "factor and original_max_position_embeddings (or max_position_embeddings)", e);
    if (isnan(attention)) {
        double turn = factor > 1 ? 0.1 * log(factor) : 0;
        attention = mscale > 0 && all_dim > 0 ? (mscale * turn + 1) / (all_dim * turn + 1) : turn + 1;
    }
    double low = size * log(original / (fast * 2 * M_PI)) / (2 * log(r->base)),
           high = size * log(original / (slow * 2 * M_PI)) / (2 * log(r->base));
    if (truncate)
        low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, size - 1);
    if (low == high)
        high += 0.001;
    for (int i = 0; i < size / 2; i++) {
        double slowed = fmin(1, fmax(0, (i - low) / (high - low)));
        d->rotary.frequency[i] *= slowed / factor + (1 - slowed);
    }
    d->rotary.factor = attention;
    return 0;
}

/* Each frequency over a number that is stored: GGUF's form of Llama 3's scaling. */
static int scale_stored(struct decoder *d, const struct rope *r, struct error *e)
{
    double divisor[128];
    (void)r;
    if (family_values(divisor, d, (size_t)d->rotary.size / 2, e, "rope_freqs.weight"))
        return -1;
    for (int i = 0; i < d->rotary.size / 2; i++) {
        if (!(divisor[i] > 0))
            return fail(e, "%s: tensor 'rope_freqs.weight' holds %g (expected numbers above 0)", d->path, divisor[i]);
        d->rotary.frequency[i] /= divisor[i];
    }
    return 0;
}

static const struct {
    const char *type;
    int (*scale)(struct decoder *d, const struct rope *r, struct error *e);
} scalings[] = {{"default", NULL},        {"linear", scale_linear}, {"dynamic", scale_dynamic},
                {"llama3", scale_llama3}, {"yarn", scale_yarn},     {"rope_freqs", scale_stored}};
enum { SCALINGS = sizeof scalings / sizeof scalings[0] };

/* Which of the two objects holds the settings, and which scaling it names: rope_scaling, unless it is empty. */
static int find_rope(struct rope *r, struct config *c, struct error *e)
{
    static const char *const roots[] = {"rope_parameters", "rope_scaling"};
    char key[64], older[64];
    const char *name;
    json_t *member;
    *r = (struct rope){.config = c, .root = roots[0]};
    for (int i = 0; i < 2; i++) {
        const json_t *object = config_get(c, roots[i]);
        if (object && !json_is_object(object))
            return fail(e, "%s: %s is no object (expected {...} with rope_type in it)", config_path(c), roots[i]);
        if (json_object_size(object))
            r->root = roots[i];
    }
    json_object_foreach(config_get(c, r->root), name, member) if (json_is_object(member)) return fail(
        e, "%s: %s.%s: settings by kind of layer are not supported (expected one set for all layers)", config_path(c), r->root,
        name);
    snprintf(key, sizeof key, "%s.rope_type", r->root);
    snprintf(older, sizeof older, "%s.type", r->root);
    return config_string_or(c, older, "default", &r->type, e) || config_string_or(c, key, r->type, &r->type, e) ||
           config_real_or(c, "max_position_embeddings", 1, 1e9, NAN, &r->limit, e);
}

int family_rope(struct decoder *d, const struct rope_keys *keys, struct error *e)
{
    struct config *c = d->config;
    struct rope r;
    double fraction;
    if (find_rope(&r, c, e) || config_real_or(c, keys->theta, 1e-6, 1e12, 10000, &r.base, e) ||
        setting(&r.base, &r, "rope_theta", 1e-6, 1e12, r.base, e) ||
        config_real_or(c, keys->fraction, 0, 1, keys->fraction_default, &fraction, e) ||
        setting(&fraction, &r, "partial_rotary_factor", 0, 1, fraction, e))
        return -1;
    int i = 0;
    while (i < SCALINGS && strcmp(scalings[i].type, r.type) != 0)
        i++;
    if (i == SCALINGS)
        return fail(e, "%s: rotary scaling '%s' is not supported (supported: default, linear, dynamic, llama3, yarn, rope_freqs)",
                    config_path(c), r.type);
    if (keys->whole_heads && fraction != 1) {
        if (scalings[i].scale)
            return fail(e, "%s: %s %g with %s scaling is not supported in a %s model (expected 1)", config_path(c),
                        keys->fraction, fraction, r.type, d->family);
        family_note(d, "%s %g has no effect in a %s model, which turns whole heads", keys->fraction, fraction, d->family);
        fraction = 1;
    }
    int size = (int)(d->head_size * fraction);
    if (size % 2)
        return fail(e, "%s: %s %g turns %d of the %d dimensions of a head (expected an even number)", config_path(c),
                    keys->fraction, fraction, size, d->head_size);
    if (family_rotary_plain(d, size, r.base, PAIRING_HALF, e) || (scalings[i].scale && scalings[i].scale(d, &r, e)))
        return -1;
    snprintf(d->position_text, sizeof d->position_text, "rotary, base %.10g", r.base);
    if (size < d->head_size)
        family_describe(d, "%d of %d dimensions", size, d->head_size);
    if (scalings[i].scale)
        family_describe(d, "%s scaling", r.type);
    return 0;
}
