/* Frequencies of rotary and sinusoidal positions, and the published scalings of rotary ones. */
#include "model/family.h"
#include "model/rope.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frequencies of a base, without scaling. */
static void set_plain(struct rotary *r, double base)
{
    r->base = base, r->factor = r->beyond_factor = r->score_factor = 1, r->stretch = 0;
    free(r->beyond);
    r->beyond = NULL;
    for (int i = 0; i < r->size / 2; i++)
        r->frequency[i] = i < r->size / 2 - r->still ? pow(base, -2.0 * i / r->size) : 0;
}

double rotary_frequency(const struct rotary *r, int i, double n)
{
    if (!(r->stretch > 0 && n > r->limit) || r->frequency[i] == 0)
        return r->beyond && n > r->limit ? r->beyond[i] : r->frequency[i];
    double base = r->base *
                  pow(r->stretch * n / r->limit - (r->stretch - 1), r->size / (r->size - 2.0));
    return pow(base, -2.0 * i / r->size);
}

/* d->rotary[which]: see family_rotary_plain. */
static int make_plain(struct decoder *d, int which, int size, double base,
                      enum rotary_pairing pairing, struct error *e)
{
    size_t pairs = size < 2 ? 0 : (size_t)size / 2;
    struct rotary *r = &d->rotary[which];
    d->position = pairs ? POSITION_ROTARY : POSITION_NONE;
    r->size = size;
    r->pairing = pairing;
    r->frequency = calloc(pairs ? pairs : 1, sizeof *r->frequency);
    if (!r->frequency)
        return fail_memory(e, (double)pairs * 8, "rotary frequencies");
    set_plain(r, base);
    return 0;
}

int family_rotary_plain(struct decoder *d, int size, double base, enum rotary_pairing pairing,
                        struct error *e)
{
    return make_plain(d, 0, size, base, pairing, e);
}

int family_sinusoidal(struct decoder *d, double base, double steps, int halves, int first,
                      struct error *e)
{
    size_t pairs = ((size_t)d->hidden + 1) / 2;
    d->position = POSITION_SINUSOIDAL;
    d->sinusoid = (struct sinusoid){.frequency = calloc(pairs, sizeof *d->sinusoid.frequency),
                                    .halves = halves,
                                    .first = first};
    if (!d->sinusoid.frequency)
        return fail_memory(e, 8.0 * (double)pairs, "sinusoidal frequencies");
    for (size_t i = 0; i < pairs; i++)
        d->sinusoid.frequency[i] = pow(base, -(double)i / steps);
    return 0;
}

const char *rope_root(struct config *c)
{
    return json_object_size(config_get(c, "rope_scaling")) ? "rope_scaling" : "rope_parameters";
}

void rope_divide_out(struct decoder *d)
{
    struct rotary *r = &d->rotary[0];
    double change = (r->divided > 0 ? r->divided : 1) / r->factor;
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].query_norm.epsilon *= change * change,
            d->blocks[l].key_norm.epsilon *= change * change;
    r->divided = r->factor, r->factor = r->beyond_factor = 1;
}

int rope_replace(char *out, size_t size, struct decoder *d, const struct rope_spec *asked,
                 struct error *e)
{
    char where[sizeof d->path + 16], text[ROPE_TEXT_MAX];
    if (d->position != POSITION_ROTARY)
        return fail(e, "%s: --rope: the model has no rotary positions (its positions: %s)", d->path,
                    d->position_text);
    if (d->rotary[0].other_fraction && asked->kind != ROPE_NONE)
        return fail(e,
                    "%s: --rope %s: the configuration turns a part of a head, which this family's "
                    "code follows for a scaling alone "
                    "(expected none, or base=NUMBER)",
                    d->path, rope_kind_name(asked->kind));
    *out = 0;
    for (int i = 0; i < ROTARIES && d->rotary[i].size; i++) {
        struct rope_spec s = *asked;
        size_t at = strlen(out);
        if (isnan(s.base))
            s.base = d->rotary[i].base;
        set_plain(&d->rotary[i], s.base);
        snprintf(where, sizeof where, "%s: --rope", d->path);
        if (rope_scale(d, &d->rotary[i], &s, where, e))
            return -1;
        for (int l = 0; l < d->layers; l++)
            if (d->blocks[l].query_norm_last) {
                rope_divide_out(d);
                break;
            }
        rope_text(text, &s);
        if (i == 0 || asked->base != s.base) /* the same for all layers is stated once */
            snprintf(out + at, size - at, "%sbase=%.10g,%s%s", i ? " and " : "", s.base, text,
                     i ? " in windows" : "");
    }
    return 0;
}

/* A whole even number from 2 to 1024 at *text, which moves past it; 0: none. */
static int read_size(const char **text)
{
    char *end;
    long value = isdigit((unsigned char)**text) ? strtol(*text, &end, 10) : 0;
    if (value < 2 || value > 1024 || value % 2)
        return 0;
    *text = end;
    return (int)value;
}

int rope_by_hand(struct rotary *out, int *head, char *described, size_t size, const char *text,
                 struct error *e)
{
    struct decoder d = {.rotary = {{0}}};
    struct rope_spec s;
    struct error problem;
    char spec[ROPE_TEXT_MAX], where[128];
    const char *rest = text;
    int turned = read_size(&rest);
    *head = turned && *rest == '/' ? (rest++, read_size(&rest)) : turned;
    if (!turned || *head < turned || (*rest && *rest != ','))
        return fail(e,
                    "rope:%.60s: is not valid (expected rope:SIZE[/HEAD][,SPEC]: even numbers of "
                    "dimensions that are turned and "
                    "of a head, up to 1024, and what --rope takes)",
                    text);
    if (rope_parse(&s, *rest ? rest + 1 : "none", &problem))
        return fail(e, "rope:%.60s: %s", text, problem.text + strlen("--rope: "));
    if (s.kind == ROPE_LONGROPE ||
        ((s.kind == ROPE_YARN || s.kind == ROPE_LLAMA3) && isnan(s.original)))
        return fail(e, "rope:%.60s: %s", text,
                    s.kind == ROPE_LONGROPE
                        ? "longrope has its factors from a checkpoint (expected one)"
                        : "expected original=NUMBER among the numbers of the scaling");
    if (isnan(s.base))
        s.base = 10000;
    snprintf(where, sizeof where, "rope:%.60s: a scaling", text);
    int rc = make_plain(&d, 0, turned, s.base, PAIRING_HALF, e) ||
                     rope_scale(&d, &d.rotary[0], &s, where, e)
                 ? -1
                 : 0;
    *out = d.rotary[0];
    rope_text(spec, &s);
    snprintf(described, size, "rotary, base %.10g%s%s", s.base, s.kind == ROPE_NONE ? "" : ", ",
             s.kind == ROPE_NONE ? "" : spec);
    return rc;
}

/* The scaling named by an object, in either of two ways. */
static int read_type(const char **type, struct config *c, const char *root, struct error *e)
{
    char key[64], older[64];
    snprintf(key, sizeof key, "%s.rope_type", root);
    snprintf(older, sizeof older, "%s.type", root);
    return config_string_or(c, older, "default", type, e) ||
           config_string_or(c, key, *type, type, e);
}

/* Finds the object with the settings (*root), and the scaling that it names. */
static int find_rope(const char **root, const char **type, struct config *c, int required,
                     struct error *e)
{
    static const char *const roots[] = {"rope_parameters", "rope_scaling"};
    const char *name;
    json_t *member;
    for (int i = 0; i < 2; i++) {
        const json_t *object = config_get(c, roots[i]);
        if (object && !json_is_object(object))
            return fail(e, "%s: %s is not an object (expected {...} with rope_type in it)",
                        config_path(c), roots[i]);
    }
    *root = rope_root(c);
    if (required && !json_object_size(config_get(c, *root)))
        return fail(e,
                    "%s: neither rope_parameters nor rope_scaling says how positions are turned "
                    "(expected one of them)",
                    config_path(c));
    json_object_foreach(config_get(c, *root), name, member) if (json_is_object(member)) return fail(
        e,
        "%s: %s.%s: settings by kind of layer are not supported (expected one set for all layers)",
        config_path(c), *root, name);
    return read_type(type, c, *root, e);
}

/* The settings of the layers without windows (which 0) and of those with (1). */
static int find_rope_of_kind(const char **root, const char **type, struct config *c, int which,
                             struct error *e)
{
    static const char *const roots[] = {"rope_parameters.full_attention",
                                        "rope_parameters.sliding_attention"};
    const char *name;
    json_t *member, *all = config_get(c, "rope_parameters"),
                    *older = which ? NULL : config_get(c, "rope_scaling");
    if ((all && !json_is_object(all)) || (older && !json_is_object(older)))
        return fail(e, "%s: rope_%s is not an object (expected {...})", config_path(c),
                    older ? "scaling" : "parameters");
    json_object_foreach(all, name, member) if (
        !json_is_object(member) &&
        !json_is_null(
            member)) return fail(e,
                                 "%s: rope_parameters.%s is given besides the kinds of layers "
                                 "(expected only full_attention and sliding_attention)",
                                 config_path(c), name);
    *root = roots[which];
    if (json_object_size(older) && json_object_size(config_get(c, *root)))
        return fail(e, "%s: both rope_scaling and %s have settings (expected one of the two)",
                    config_path(c), *root);
    if (json_object_size(older))
        *root = "rope_scaling";
    if (json_object_size(older) && !json_object_get(older, "rope_type"))
        return fail(e, "%s: rope_scaling does not say its rope_type, which this family needs",
                    config_path(c));
    return read_type(type, c, *root, e);
}

/* The factors on cosine and sine with longrope's lists: for short and for longer segments. */
static int read_mscales(struct rotary *r, struct config *c, const char *root, const char *where,
                        struct error *e)
{
    static const char *const names[] = {"short_mscale", "long_mscale"};
    double *const factors[] = {&r->factor, &r->beyond_factor};
    for (int i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", root, names[i]);
        if (config_real_or(c, key, 1e-6, 1e6, NAN, factors[i], e))
            return -1;
        if (isnan(*factors[i]))
            return fail(e, "%s of type longrope needs %s in this family", where, names[i]);
    }
    return 0;
}

/* d->rotary[which] from the settings of `root`, except for a separate base (0: none). */
static int read_rotary(struct decoder *d, const struct rope_keys *keys, int which, const char *root,
                       const char *type, double other_base, struct error *e)
{
    struct config *c = d->config;
    struct rope_spec s;
    char key[64], where[sizeof d->path + 64], text[ROPE_TEXT_MAX];
    const char *theta = which ? keys->local_theta : keys->theta;
    long rotated = 0;
    const int head = keys->part                      ? keys->part
                     : which == 0 && keys->full_size ? keys->full_size
                                                     : d->head_size;
    double alpha, part = keys->fraction_default, fraction,
                  base = which ? keys->local_theta_default : keys->theta_default;
    s.base = base != 0 ? base : 10000;
    if (keys->rotated && config_int_or(c, keys->rotated, 0, head, 0, &rotated, e))
        return -1;
    if (rotated)
        part = (double)rotated / head;
    fraction = part;
    if ((theta && config_real_or(c, theta, 1e-6, 1e12, s.base, &s.base, e)) ||
        (snprintf(key, sizeof key, "%s.rope_theta", root),
         config_real_or(c, key, 1e-6, 1e12, s.base, &s.base, e)) ||
        (keys->fraction && config_real_or(c, keys->fraction, 0, 1, part, &fraction, e)) ||
        (snprintf(key, sizeof key, "%s.partial_rotary_factor", root),
         config_real_or(c, key, 0, 1, fraction, &fraction, e)))
        return -1;
    s.base = other_base != 0 ? other_base : s.base;
    s.kind = keys->sections && strcmp(type, "mrope") == 0 ? ROPE_NONE : rope_kind_named(type);
    if (keys->only_longrope &&
        (strcmp(type, "su") == 0 || strcmp(type, "yarn") == 0)) /* older names of it */
        s.kind = ROPE_LONGROPE;
    if (keys->yarn && strcmp(type, keys->yarn) == 0)
        s.kind = ROPE_YARN;
    if ((keys->only_longrope || keys->mscales) && s.kind != ROPE_LONGROPE && s.kind != ROPE_NONE)
        return fail(
            e,
            "%s: rotary scaling '%s' is not supported in a %s model (supported: default, longrope)",
            config_path(c), type, d->family);
    if (keys->unscaled && s.kind != ROPE_NONE)
        return fail(e,
                    "%s: rotary scaling '%s' is not supported in a %s model (supported: default)",
                    config_path(c), type, d->family);
    if (s.kind == ROPE_KINDS || (s.kind == ROPE_PROPORTIONAL && !keys->proportional))
        return fail(e,
                    "%s: rotary scaling '%s' is not supported (supported: default, linear, "
                    "dynamic, llama3, yarn, longrope, rope_freqs)",
                    config_path(c), type);
    if (keys->alpha && s.kind == ROPE_DYNAMIC && d->head_size > 2) {
        snprintf(key, sizeof key, "%s.alpha", root);
        if (config_real_or(c, key, 0, 1e6, 0, &alpha, e))
            return -1;
        if (alpha > 0)
            s.base *= pow(alpha, d->head_size / (d->head_size - 2.0)), s.kind = ROPE_NONE;
    }
    const int turned = s.kind == ROPE_PROPORTIONAL ? (int)floor(fraction * head / 2) : head / 2;
    if (keys->whole_heads && !rotated && fraction != 1 && s.kind != ROPE_PROPORTIONAL) {
        if (s.kind != ROPE_NONE)
            return fail(e, "%s: %s %g with %s scaling is not supported in a %s model (expected 1)",
                        config_path(c), keys->fraction, fraction, type, d->family);
        if (which == 0)
            family_note(d, "%s %g has no effect in a %s model, which turns whole heads",
                        keys->fraction, fraction, d->family);
        fraction = 1, d->rotary[which].other_fraction = 1;
    }
    int size = s.kind == ROPE_PROPORTIONAL ? head : (int)(head * fraction);
    if (size % 2)
        return fail(e,
                    "%s: %s %g turns %d of the %d dimensions of a head (expected an even number)",
                    config_path(c), keys->fraction ? keys->fraction : "partial_rotary_factor",
                    fraction, size, head);
    snprintf(key, sizeof key, "%s.mscale_all_dim", root);
    if (rope_read(&s, c, root, e) ||
        (keys->scores && s.kind != ROPE_YARN && config_real_or(c, key, 0, 1e6, 0, &s.all_dim, e)))
        return -1;
    /* if a file has two, the top-level one wins, except for settings by kind of layer and those
     * with their own factors, which are complete */
    double original = keys->original_default != 0 ? keys->original_default : s.original;
    int complete = keys->by_kind || keys->mscales;
    if (complete && isnan(original) && d->declared_length)
        original = d->declared_length;
    if ((s.kind == ROPE_LLAMA3 || s.kind == ROPE_YARN || s.kind == ROPE_LONGROPE) &&
        (complete ? s.original = original, 0
                  : config_real_or(c, "original_max_position_embeddings", 1, 1e9, original,
                                   &s.original, e)))
        return -1;
    snprintf(where, sizeof where, "%s: %s", config_path(c), root);
    d->rotary[which].first = keys->part ? d->head_size - size : 0;
    d->rotary[which].scores = keys->scores;
    d->rotary[which].still = head / 2 - turned;
    if (make_plain(d, which, size, s.base, keys->pairing, e) ||
        rope_scale(d, &d->rotary[which], &s, where, e))
        return -1;
    d->rotary[which].backwards = keys->backwards;
    if (keys->mscales && s.kind == ROPE_LONGROPE) {
        if (read_mscales(&d->rotary[which], c, root, where, e))
            return -1;
        s.attention = NAN; /* it is not used */
    }
    rope_text(text, &s);
    if (which == 0) {
        snprintf(d->position_text, sizeof d->position_text, "rotary, base %.10g", s.base);
        if (keys->pairing == PAIRING_INTERLEAVED)
            family_describe(d, "interleaved");
        if (keys->backwards)
            family_describe(d, "turned backwards");
        if (size < head || turned < head / 2)
            family_describe(d, "%d of %d dimensions", turned < head / 2 ? 2 * turned : size, head);
        if (s.kind != ROPE_NONE)
            family_describe(d, "%s", text);
        if (keys->sections)
            family_describe(d, "mrope of text");
        if (keys->mscales && s.kind == ROPE_LONGROPE)
            family_describe(d, "short_mscale %.10g, long_mscale %.10g", d->rotary[0].factor,
                            d->rotary[0].beyond_factor);
    } else
        family_describe(d, "base %.10g%s%s %s", s.base, s.kind != ROPE_NONE ? ", " : "",
                        s.kind != ROPE_NONE ? text : "", keys->by_kind ? "in windows" : "by layer");
    return 0;
}

/* Bases by layer, 0 for no rotation: at most two. */
static int read_bases(double bases[ROTARIES], int *count, struct decoder *d, const char *key,
                      const json_t *list, struct error *e)
{
    const char *path = config_path(d->config);
    *count = 0;
    if (!json_is_array(list) || json_array_size(list) != (size_t)d->layers)
        return fail(e, "%s: %s is not a list of a base, or 0, for each of %d layers", path, key,
                    d->layers);
    for (int l = 0; l < d->layers; l++) {
        double base = json_number_value(json_array_get(list, (size_t)l));
        int i = 0;
        if (!json_is_number(json_array_get(list, (size_t)l)) ||
            !(base == 0 || (base >= 1e-6 && base <= 1e12)))
            return fail(e,
                        "%s: %s, entry %d is not a rotary base (expected a number from 1e-06 to "
                        "1e+12, or 0)",
                        path, key, l + 1);
        while (base != 0 && i < *count && bases[i] != base)
            i++;
        if (base != 0 && i == ROTARIES)
            return fail(e, "%s: %s has more than %d bases (expected at most that many)", path, key,
                        ROTARIES);
        if (base != 0 && i == *count)
            bases[(*count)++] = base;
        d->blocks[l].score.rotary = base != 0 ? i : ROTARY_NONE;
    }
    return 0;
}

/* 1 if the base is null, where it is given. */
static int is_off(struct config *c, const char *theta)
{
    const json_t *inner = json_object_get(config_get(c, rope_root(c)), "rope_theta");
    (void)config_get(c, theta);
    return json_is_null(inner ? inner : json_object_get(config_root(c), theta));
}

int family_rope(struct decoder *d, const struct rope_keys *keys, struct error *e)
{
    const char *root = NULL, *type = NULL;
    const json_t *list = keys->bases ? config_get(d->config, keys->bases) : NULL;
    double limit, bases[ROTARIES] = {0};
    int count = keys->by_kind ? ROTARIES : 1;
    if (config_real_or(d->config, "max_position_embeddings", 1, 1e9, 0, &limit, e) ||
        (list && read_bases(bases, &count, d, keys->bases, list, e)))
        return -1;
    if (keys->optional && is_off(d->config, keys->theta))
        count = 0;
    if (count == 0)
        snprintf(d->position_text, sizeof d->position_text, "no positions");
    if (keys->sections)
        family_note(d, "positions are those of text, whose three coordinates (mrope) are alike");
    for (int which = 0; which < count; which++)
        if ((keys->by_kind ? find_rope_of_kind(&root, &type, d->config, which, e)
                           : find_rope(&root, &type, d->config, keys->required, e)) ||
            read_rotary(d, keys, which, root, type, bases[which], e))
            return -1;
    return 0;
}
