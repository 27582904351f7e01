/* The kinds of scaling: what each does to the frequencies, and what it needs. */
#include "model/family.h"
#include "model/rope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Reports what the scaling lacks; always -1. */
static int missing(const struct rope_spec *s, const char *needs, const char *where, struct error *e)
{
    return fail(e, "%s of type %s needs %s", where, rope_kind_name(s->kind), needs);
}

/* Positions are multiplied by 1 / factor. */
static int scale_linear(struct decoder *d, struct rotary *r, struct rope_spec *s, const char *where,
                        struct error *e)
{
    (void)d;
    if (isnan(s->factor))
        return missing(s, "factor", where, e);
    for (int i = 0; i < r->size / 2; i++)
        r->frequency[i] /= s->factor;
    return 0;
}

/* The same, by 1 unless factor says so; how many pairs turn is read elsewhere. */
static int scale_proportional(struct decoder *d, struct rotary *r, struct rope_spec *s,
                              const char *where, struct error *e)
{
    s->factor = isnan(s->factor) ? 1 : s->factor;
    return scale_linear(d, r, s, where, e);
}

/* A larger base beyond the trained length, depending on the segment's length. */
static int scale_dynamic(struct decoder *d, struct rotary *r, struct rope_spec *s,
                         const char *where, struct error *e)
{
    if (isnan(s->original) && d->declared_length)
        s->original = d->declared_length;
    if (isnan(s->factor) || isnan(s->original) || r->size < 4)
        return missing(s, "factor, max_position_embeddings, and at least 4 rotated dimensions",
                       where, e);
    r->stretch = s->factor, r->limit = (int)s->original;
    return 0;
}

/* s->original if not given: the configuration's own, else all positions that it declares. */
static int find_original(struct decoder *d, struct rope_spec *s, struct error *e)
{
    double fallback = d->declared_length ? d->declared_length : NAN;
    if (!isnan(s->original))
        return 0;
    return config_real_or(d->config, "original_max_position_embeddings", 1, 1e9, fallback,
                          &s->original, e);
}

/* Llama 3's scaling by wavelength: long waves are slowed by `factor`, short ones kept, a linear
 * blend of the two between. */
static int scale_llama3(struct decoder *d, struct rotary *r, struct rope_spec *s, const char *where,
                        struct error *e)
{
    if (find_original(d, s, e))
        return -1;
    if (isnan(s->factor) || isnan(s->low) || isnan(s->high) || isnan(s->original) ||
        s->low == s->high)
        return missing(s,
                       "factor, low_freq_factor, high_freq_factor and "
                       "original_max_position_embeddings (or max_position_embeddings)",
                       where, e);
    for (int i = 0; i < r->size / 2; i++) {
        double f = r->frequency[i], wavelength = 2 * M_PI / f;
        if (wavelength > s->original / s->low)
            f /= s->factor;
        else if (!(wavelength < s->original / s->high)) {
            double m = (s->original / wavelength - s->low) / (s->high - s->low);
            f = (1 - m) * f / s->factor + m * f;
        }
        r->frequency[i] = f;
    }
    return 0;
}

/* YaRN (Peng et al. 2023): a blend by the number of turns within the original length, and a factor
 * on cosine and sine. */
static int scale_yarn(struct decoder *d, struct rotary *r, struct rope_spec *s, const char *where,
                      struct error *e)
{
    int size = r->size;
    if (find_original(d, s, e))
        return -1;
    if (isnan(s->factor) && d->declared_length)
        s->factor = d->declared_length / s->original;
    if (isnan(s->factor) || isnan(s->original) || size < 2)
        return missing(s,
                       "factor and original_max_position_embeddings (or max_position_embeddings)",
                       where, e);
    if (isnan(s->attention)) {
        double turn = s->factor > 1 ? 0.1 * log(s->factor) : 0;
        s->attention = s->mscale > 0 && s->all_dim > 0
                           ? (s->mscale * turn + 1) / (s->all_dim * turn + 1)
                           : turn + 1;
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
        r->frequency[i] *= slowed / s->factor + (1 - slowed);
    }
    r->factor = s->attention;
    return 0;
}

/* Divides each frequency by a stored number: GGUF's form of Llama 3's scaling. */
static int scale_stored(struct decoder *d, struct rotary *r, struct rope_spec *s, const char *where,
                        struct error *e)
{
    double divisor[HEAD_SIZE_MOST / 2];
    (void)s, (void)where;
    if (family_values(divisor, d, (size_t)r->size / 2, e, "rope_freqs.weight"))
        return -1;
    for (int i = 0; i < r->size / 2; i++) {
        if (!(divisor[i] > 0))
            return fail(e, "%s: tensor 'rope_freqs.weight' holds %g (expected numbers above 0)",
                        d->path, divisor[i]);
        r->frequency[i] /= divisor[i];
    }
    return 0;
}

/* One of the two lists of longrope: a divisor for each frequency. */
static int read_divisors(double *out, const struct rotary *r, struct config *c, const char *root,
                         const char *name, const char *where, struct error *e)
{
    char key[96];
    size_t pairs = (size_t)r->size / 2;
    snprintf(key, sizeof key, "%s.%s", root, name);
    const json_t *list = config_get(c, key);
    if (!json_is_array(list) || json_array_size(list) != pairs)
        return fail(e,
                    "%s of type longrope needs %s, a list of %zu numbers (one for each pair of "
                    "rotated dimensions) in %s",
                    where, name, pairs, config_path(c));
    for (size_t i = 0; i < pairs; i++) {
        out[i] = json_number_value(json_array_get(list, i));
        if (!(out[i] > 0) || !isfinite(out[i]))
            return fail(e, "%s: %s, entry %zu is not a number above 0", config_path(c), key, i + 1);
    }
    return 0;
}

/* LongRoPE (Ding et al. 2024): divides each frequency by its own number, with other numbers for
 * segments beyond the original length; a factor on cosine and sine. */
static int scale_longrope(struct decoder *d, struct rotary *r, struct rope_spec *s,
                          const char *where, struct error *e)
{
    const char *root = rope_root(d->config);
    double divisor[HEAD_SIZE_MOST / 2];
    if (find_original(d, s, e))
        return -1;
    if (isnan(s->original) || r->size < 2)
        return missing(s, "original_max_position_embeddings (or max_position_embeddings)", where,
                       e);
    if (isnan(s->factor) && isnan(s->attention) && !d->declared_length)
        return missing(s, "factor, attention_factor or max_position_embeddings", where, e);
    if (isnan(s->factor) && d->declared_length)
        s->factor = d->declared_length / s->original;
    if (isnan(s->attention))
        s->attention = s->factor > 1 ? sqrt(1 + log(s->factor) / log(s->original)) : 1;
    r->beyond = calloc((size_t)r->size / 2, sizeof *r->beyond);
    if (!r->beyond)
        return fail_memory(e, 4.0 * r->size, "rotary frequencies");
    if (read_divisors(divisor, r, d->config, root, "long_factor", where, e))
        return -1;
    for (int i = 0; i < r->size / 2; i++)
        r->beyond[i] = r->frequency[i] / divisor[i];
    if (read_divisors(divisor, r, d->config, root, "short_factor", where, e))
        return -1;
    for (int i = 0; i < r->size / 2; i++)
        r->frequency[i] /= divisor[i];
    r->limit = (int)s->original, r->factor = r->beyond_factor = s->attention;
    return 0;
}

int rope_scale(struct decoder *d, struct rotary *r, struct rope_spec *s, const char *where,
               struct error *e)
{
    static int (*const scalings[])(struct decoder *, struct rotary *, struct rope_spec *,
                                   const char *, struct error *) = {
        [ROPE_LINEAR] = scale_linear,
        [ROPE_DYNAMIC] = scale_dynamic,
        [ROPE_LLAMA3] = scale_llama3,
        [ROPE_YARN] = scale_yarn,
        [ROPE_STORED] = scale_stored,
        [ROPE_LONGROPE] = scale_longrope,
        [ROPE_PROPORTIONAL] = scale_proportional,
    };
    r->scaled = s->kind != ROPE_NONE;
    if (scalings[s->kind] && scalings[s->kind](d, r, s, where, e))
        return -1;
    if (r->scores && r->scaled && s->all_dim > 0 && s->factor > 1)
        r->score_factor = pow(0.1 * s->all_dim * log(s->factor) + 1, 2);
    return 0;
}
