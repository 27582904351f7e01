#include "model/recurrence_layout.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number, also as {"__float__": "Infinity"} and the bare Infinity of Python. */
static int read_limit(double *out, const json_t *value)
{
    const char *name = json_not_finite(value);
    if (!name)
        name = json_string_value(json_object_get(value, "__float__"));
    if (!name && !json_is_number(value))
        return -1;
    if (!name)
        *out = json_number_value(value);
    else if (strcmp(name, "Infinity") == 0 || strcmp(name, "-Infinity") == 0)
        *out = *name == '-' ? -INFINITY : INFINITY;
    else
        return -1;
    return 0;
}

/* The least and the largest step. */
static int read_limits(struct recurrence_sizes *s, const char *key, struct config *c,
                       struct error *e)
{
    const json_t *list = config_get(c, key);
    s->low = 0, s->high = INFINITY;
    if (config_absent(c, key))
        return 0;
    if (json_array_size(list) != 2 || read_limit(&s->low, json_array_get(list, 0)) ||
        read_limit(&s->high, json_array_get(list, 1)) || !(s->low <= s->high))
        return fail(e, "%s: %s is not a list of the least and the largest step", config_path(c),
                    key);
    return 0;
}

/* The inner width over the heads, where a head's size is "auto". */
static int read_value_size(struct recurrence_sizes *s, long inner, const struct decoder *d,
                           struct error *e)
{
    const char *key = s->layout->value_size;
    const json_t *value = config_get(d->config, key);
    if (!inner || !json_is_string(value) || strcmp(json_string_value(value), "auto") != 0)
        return config_int(d->config, key, 1, RECURRENCE_SIZE_MOST, &s->value_size, e);
    s->value_size = inner / s->heads;
    return s->value_size >= 1 && s->value_size <= RECURRENCE_SIZE_MOST
               ? 0
               : fail(e, "%s: %s auto is %ld: a width of %ld over %s %ld (expected 1 to %d)",
                      config_path(d->config), key, s->value_size, inner, s->layout->heads, s->heads,
                      RECURRENCE_SIZE_MOST);
}

int recurrence_inner(long *inner, const struct recurrence_layout *o, const struct decoder *d,
                     struct error *e)
{
    long expand = 0;
    if (o->expand && config_int(d->config, o->expand, 1, 1024, &expand, e))
        return -1;
    *inner = expand * d->hidden;
    return o->inner ? config_int_or(d->config, o->inner, 1, 1 << 24, *inner, inner, e) : 0;
}

/* Whether there is a norm, and where. */
static int read_gated(enum gated_norm *out, const struct recurrence_layout *o, struct config *c,
                      struct error *e)
{
    int normed = 0, first = 1;
    *out = GATED_FIRST;
    if (!o->normed)
        return 0;
    if (config_bool_or(c, o->normed, 0, &normed, e) ||
        config_bool_or(c, o->norm_first, 1, &first, e))
        return -1;
    *out = !normed ? GATED_ALONE : first ? GATED_LAST : GATED_FIRST;
    return 0;
}

int recurrence_kinds(const struct recurrence_layout *o, struct decoder *d, struct error *e)
{
    static const struct layer_kind kinds[] = {{"mlp", 0}, /* these two if `unmixed` */
                                              {"moe", 0},
                                              {"linear_attention", MIXING_RECURRENCE},
                                              {"mamba", MIXING_RECURRENCE}, /* older names */
                                              {"full_attention", MIXING_ATTENTION},
                                              {"attention", MIXING_ATTENTION},
                                              {NULL, 0}};
    static const struct layer_kind windowed[] = {{"linear_attention", MIXING_RECURRENCE},
                                                 {"full_attention", MIXING_ATTENTION},
                                                 {"sliding_attention", MIXING_ATTENTION},
                                                 {NULL, 0}};
    long every = 0;
    if (o->attending)
        return family_attending(d, o->attending, MIXING_RECURRENCE, e);
    if (o->interval && config_int_or(d->config, o->interval, 1, 10000,
                                     o->interval_absent ? o->interval_absent : 4, &every, e))
        return -1;
    if (o->windowed && config_get(d->config, "layer_types"))
        return family_kinds(d, windowed, "linear_attention, full_attention, sliding_attention", e);
    if (o->typed && config_get(d->config, "layer_types"))
        return o->unmixed ? family_kinds(d, kinds, "linear_attention, full_attention, mlp, moe", e)
                          : family_kinds(d, kinds + 2, "linear_attention, full_attention", e);
    for (int l = 0; l < d->layers; l++)
        d->blocks[l].mixer.ways = o->beside ? MIXING_ATTENTION | MIXING_RECURRENCE
                                  : every && (l + 1) % every == 0 ? MIXING_ATTENTION
                                                                  : MIXING_RECURRENCE;
    return 0;
}

/* Log decays by channel below `bound`, if they have one. */
static int read_bound(double *floor, const struct recurrence_layout *o, struct config *c,
                      struct error *e)
{
    int bounded = 0;
    *floor = 0;
    if (!o->bounded)
        return 0;
    if (config_bool_or(c, o->bounded, 1, &bounded, e))
        return -1;
    if (bounded)
        return config_real_or(c, o->bound, -1e6, -1e-6, -5, floor, e);
    config_get(c, o->bound); /* of no effect */
    return 0;
}

/* Those of fixed decays are the attention's. */
static int read_fixed_sizes(struct recurrence_sizes *s, const struct decoder *d, struct error *e)
{
    s->heads = s->key_heads = d->heads, s->key_size = s->value_size = d->head_size, s->reach = 1;
    return d->head_size <= RECURRENCE_SIZE_MOST
               ? 0
               : fail(e,
                      "%s: heads of %d are not supported in layers with fixed decays (expected 1 "
                      "to %d)",
                      config_path(d->config), d->head_size, RECURRENCE_SIZE_MOST);
}

static int read_sizes(struct recurrence_sizes *s, const struct recurrence_layout *o,
                      struct decoder *d, struct error *e)
{
    struct config *c = d->config;
    long inner;
    if (config_int(c, o->heads, 1, 1 << 16, &s->heads, e) ||
        config_int(c, o->key_heads, 1, 1 << 16, &s->key_heads, e) ||
        config_int(c, o->key_size, 1, RECURRENCE_SIZE_MOST, &s->key_size, e) ||
        config_int(c, o->reach, 1, CONVOLUTION_MOST, &s->reach, e) ||
        recurrence_inner(&inner, o, d, e) || read_value_size(s, inner, d, e) ||
        read_gated(&s->gated, o, c, e) ||
        (o->biased && config_bool_or(c, o->biased, 0, &s->biased, e)) ||
        (o->conv_biased && config_bool_or(c, o->conv_biased, 1, &s->conv_biased, e)) ||
        (s->out_biased = s->biased,
         o->out_biased && config_bool_or(c, o->out_biased, 0, &s->out_biased, e)) ||
        (o->doubled && config_bool_or(c, o->doubled, 1, &s->doubled, e)) ||
        read_bound(&s->floor, o, c, e) || (o->limits && read_limits(s, o->limits, c, e)) ||
        (o->least && config_real_or(c, o->least, -1e6, 1e6, 0.001, &s->low, e)) ||
        (o->activation && family_activation(&s->activation, d, o->activation, "silu", e)))
        return -1;
    if (s->heads % s->key_heads)
        return fail(e, "%s: %s %ld is not a multiple of %s %ld", config_path(c), o->heads, s->heads,
                    o->key_heads, s->key_heads);
    if (inner && inner != s->heads * s->value_size && o->inner && config_has(c, o->inner))
        return fail(e, "%s: %s %ld is not %s %ld times %s %ld", config_path(c), o->inner, inner,
                    o->heads, s->heads, o->value_size, s->value_size);
    if (inner && inner != s->heads * s->value_size)
        return fail(e, "%s: %s %ld times the width %d is not %s %ld times %s %ld", config_path(c),
                    o->expand, inner / d->hidden, d->hidden, o->heads, s->heads, o->value_size,
                    s->value_size);
    return 0;
}

int recurrence_settings(struct recurrence_sizes *s, const struct recurrence_layout *o,
                        struct decoder *d, struct error *e)
{
    *s = (struct recurrence_sizes){.layout = o, .high = INFINITY};
    if (o->form == RECURRENCE_SCAN || o->form == RECURRENCE_SCAN_HEADS)
        return scan_settings(s, o, d, e);
    if (o->form == RECURRENCE_LRU)
        return lru_settings(s, o, d, e);
    if ((o->form == RECURRENCE_FIXED ? read_fixed_sizes(s, d, e) : read_sizes(s, o, d, e)) ||
        recurrence_kinds(o, d, e))
        return -1;
    recurrence_describe(d, "recurrences with states of %ld x %ld%s", s->key_size, s->value_size,
                        o->form == RECURRENCE_FIXED ? " and fixed decays" : "");
    return 0;
}

void recurrence_describe(struct decoder *d, const char *format, ...)
{
    char text[128];
    int count = 0, attends = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (int l = 0; l < d->layers; l++) {
        count += block_recurs(&d->blocks[l]);
        attends |= block_attends(&d->blocks[l]);
    }
    if (!attends && d->position == POSITION_ROTARY)
        *d->position_text = 0;
    if (count)
        family_describe(d, "%s in %d of %d layers", text, count, d->layers);
}

view recurrence_taps(view v, size_t first, size_t count)
{
    v = view_shift(v, first * v.group_stride);
    v.groups = count;
    return v;
}

struct linear recurrence_rows(struct linear v, size_t first, size_t count)
{
    v.weight = view_rows(v.weight, first, count);
    if (v.bias.data)
        v.bias = view_rows(v.bias, first, count);
    return v;
}

/* e^A_log; 1 if there are no numbers. */
static int read_rate(view *out, struct decoder *d, size_t heads, const char *stem, struct error *e)
{
    double *rate = family_own(d, heads, e);
    view stored;
    if (!rate || family_head_vector(&stored, d, heads, e, "%s.A_log", stem))
        return -1;
    for (size_t h = 0; h < heads; h++) {
        double of = tensors_supposed(d->tensors)
                        ? 0
                        : element_read(stored.data, stored.type, h * stored.row_stride);
        rate[h] = exp(of);
        if (!isfinite(rate[h]))
            return fail(e, "%s: tensor '%s.A_log' holds %g (expected logarithms of decays)",
                        d->path, stem, of);
    }
    *out = family_own_view(rate, heads);
    return 0;
}

static int read_mamba(struct block *b, const struct recurrence_sizes *s, struct decoder *d,
                      const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, heads = (size_t)s->heads,
                 inner = heads * (size_t)s->value_size,
                 keys = (size_t)s->key_heads * (size_t)s->key_size, width = inner + 2 * keys;
    /* the stored order is values, keys, queries */
    const size_t first[3] = {inner + keys, inner, 0}, count[3] = {keys, keys, inner};
    struct linear in;
    view taps, bias = {0};
    if (family_linear(&in, d, inner + width + heads, hidden, s->biased, e, "%s.in_proj", stem) ||
        family_taps(&taps, d, width, (size_t)s->reach, e, "%s.conv1d.weight", stem) ||
        (s->conv_biased && family_vector(&bias, d, width, e, "%s.conv1d.bias", stem)) ||
        family_vector(&v->step_bias, d, heads, e, "%s.dt_bias", stem) ||
        family_vector(&v->skip, d, heads, e, "%s.D", stem) ||
        read_rate(&v->rate, d, heads, stem, e))
        return -1;
    for (int i = 0; i < 3; i++) {
        v->in[i] = recurrence_rows(in, inner + first[i], count[i]);
        v->taps[i] = recurrence_taps(taps, first[i], count[i]);
        if (bias.data)
            v->bias[i] = view_rows(bias, first[i], count[i]);
    }
    v->gate = recurrence_rows(in, 0, inner);
    v->steps[0] = recurrence_rows(in, inner + width, heads);
    v->scale = 1, v->low = s->low, v->high = s->high;
    v->gated = s->gated, v->groups = v->key_heads;
    const struct norm_form form = {NORM_RMS, s->epsilon, inner, "weight", NULL};
    return (v->gated != GATED_ALONE && family_norm_named(&v->norm, d, form, e, "%s.norm", stem)) ||
                   family_linear(&v->out, d, hidden, inner, s->out_biased, e, "%s.out_proj", stem)
               ? -1
               : 0;
}

/* NAME_proj, or NAME_b_proj NAME_a_proj. */
static int read_by_few(struct linear *out, struct linear *down, const struct recurrence_sizes *s,
                       const struct decoder *d, size_t rows, const char *stem, const char *name,
                       struct error *e)
{
    size_t hidden = (size_t)d->hidden, few = (size_t)s->key_size;
    if (!s->layout->by_few)
        return family_linear(out, d, rows, hidden, 0, e, "%s.%s_proj", stem, name);
    return family_linear(out, d, rows, few, 0, e, "%s.%s_b_proj", stem, name) ||
                   family_linear(down, d, few, hidden, 0, e, "%s.%s_a_proj", stem, name)
               ? -1
               : 0;
}

static int read_channel_projections(struct block *b, const struct recurrence_sizes *s,
                                    const struct decoder *d, const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, heads = (size_t)s->heads,
                 keys = heads * (size_t)s->key_size, inner = heads * (size_t)s->value_size;
    v->by_channel = 1, v->floor = s->floor, v->gate_activation = ACTIVATION_SIGMOID;
    return family_linear(&v->in[0], d, keys, hidden, 0, e, "%s.q_proj", stem) ||
                   family_linear(&v->in[1], d, keys, hidden, 0, e, "%s.k_proj", stem) ||
                   family_linear(&v->in[2], d, inner, hidden, 0, e, "%s.v_proj", stem) ||
                   family_linear(&v->steps[0], d, heads, hidden, 0, e, "%s.b_proj", stem) ||
                   read_by_few(&v->decay, &v->decay_down, s, d, keys, stem, "f", e) ||
                   read_by_few(&v->gate, &v->gate_down, s, d, inner, stem, "g", e)
               ? -1
               : 0;
}

/* The weights of both of a form with the delta rule. */
static int read_delta_projections(struct block *b, const struct recurrence_sizes *s,
                                  const struct decoder *d, const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, heads = (size_t)s->heads,
                 groups = (size_t)s->key_heads, dk = (size_t)s->key_size, keys = groups * dk,
                 inner = heads * (size_t)s->value_size, each = inner / groups,
                 shared = heads / groups, group = 2 * (dk + each);
    struct linear in, gates;
    if (s->layout->form == RECURRENCE_DELTA_CHANNELS)
        return read_channel_projections(b, s, d, stem, e);
    if (s->layout->form == RECURRENCE_DELTA_APART)
        return family_linear(&v->in[0], d, keys, hidden, 0, e, "%s.q_proj", stem) ||
                       family_linear(&v->in[1], d, keys, hidden, 0, e, "%s.k_proj", stem) ||
                       family_linear(&v->in[2], d, inner, hidden, 0, e, "%s.v_proj", stem) ||
                       family_linear(&v->gate, d, inner, hidden, 0, e, "%s.g_proj", stem) ||
                       family_linear(&v->steps[0], d, heads, hidden, 0, e, "%s.a_proj", stem) ||
                       family_linear(&v->steps[1], d, heads, hidden, 0, e, "%s.b_proj", stem)
                   ? -1
                   : 0;
    if (s->layout->form == RECURRENCE_DELTA && family_has(d, "%s.in_proj.weight", stem)) {
        const size_t width = 2 * keys + inner;
        if (family_linear(&in, d, width + inner + 2 * heads, hidden, 0, e, "%s.in_proj", stem))
            return -1;
        v->in[0] = recurrence_rows(in, 0, keys), v->in[1] = recurrence_rows(in, keys, keys);
        v->in[2] = recurrence_rows(in, 2 * keys, inner);
        v->gate = recurrence_rows(in, width, inner);
        v->steps[1] = recurrence_rows(in, width + inner, heads);
        v->steps[0] = recurrence_rows(in, width + inner + heads, heads);
        return 0;
    }
    if (s->layout->form == RECURRENCE_DELTA) {
        if (family_linear(&in, d, 2 * keys + inner, hidden, 0, e, "%s.in_proj_qkv", stem) ||
            family_linear(&v->gate, d, inner, hidden, 0, e, "%s.in_proj_z", stem) ||
            family_linear(&v->steps[0], d, heads, hidden, 0, e, "%s.in_proj_a", stem) ||
            family_linear(&v->steps[1], d, heads, hidden, 0, e, "%s.in_proj_b", stem))
            return -1;
        v->in[0] = recurrence_rows(in, 0, keys), v->in[1] = recurrence_rows(in, keys, keys);
        v->in[2] = recurrence_rows(in, 2 * keys, inner);
        return 0;
    }
    if (family_linear(&in, d, 2 * (keys + inner), hidden, 0, e, "%s.in_proj_qkvz", stem) ||
        family_linear(&gates, d, 2 * heads, hidden, 0, e, "%s.in_proj_ba", stem))
        return -1;
    v->in[0].weight = view_groups(in.weight, groups, group, 0, dk);
    v->in[1].weight = view_groups(in.weight, groups, group, dk, dk);
    v->in[2].weight = view_groups(in.weight, groups, group, 2 * dk, each);
    v->gate.weight = view_groups(in.weight, groups, group, 2 * dk + each, each);
    v->steps[0].weight = view_groups(gates.weight, groups, 2 * shared, shared, shared);
    v->steps[1].weight = view_groups(gates.weight, groups, 2 * shared, 0, shared);
    return 0;
}

/* The taps of three convolutions one after the other. The library cuts one into thirds when it
 * saves a model, whatever the parts' sizes. */
static double *join_taps(struct decoder *d, size_t channels, size_t reach, const char *stem,
                         struct error *e)
{
    static const char parts[] = "qkv";
    double *all = family_own(d, channels * reach, e);
    size_t first = 0;
    for (size_t i = 0; all && i < 3; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s.%c_conv1d.weight", stem, parts[i]);
        const struct tensor *t = tensors_find(d->tensors, name);
        size_t left = channels - first, count = t && t->rank && i < 2 ? t->shape[0] : left;
        view part;
        if (family_taps(&part, d, count < left ? count : left, reach, e, "%s", name))
            return NULL;
        for (size_t c = 0; c < part.groups; c++)
            for (size_t j = 0; j < reach; j++)
                all[(first + c) * reach + j] =
                    element_read(part.data, part.type, c * part.group_stride + j * part.row_stride);
        first += part.groups;
    }
    return all;
}

/* 1 if each part has a matrix of its own. */
static int form_is_apart(enum recurrence_form form)
{
    return form == RECURRENCE_DELTA_APART || form == RECURRENCE_DELTA_CHANNELS;
}

/* The taps of queries, keys and values. */
static int read_delta_taps(view taps[3], const struct recurrence_sizes *s, struct decoder *d,
                           const char *stem, struct error *e)
{
    const size_t reach = (size_t)s->reach, keys = (size_t)s->key_heads * (size_t)s->key_size,
                 inner = (size_t)s->heads * (size_t)s->value_size, count[3] = {keys, keys, inner};
    int joined = form_is_apart(s->layout->form) && family_has(d, "%s.q_conv1d.weight", stem);
    double *values = joined ? join_taps(d, 2 * keys + inner, reach, stem, e) : NULL;
    view all;
    if (joined ? !values
               : family_taps(&all, d, 2 * keys + inner, reach, e, "%s.conv1d.weight", stem))
        return -1;
    for (size_t i = 0, first = 0; i < 3; first += count[i++])
        taps[i] = joined ? family_own_view(values + first * reach, count[i] * reach)
                         : recurrence_taps(all, first, count[i]);
    return 0;
}

static int read_delta(struct block *b, const struct recurrence_sizes *s, struct decoder *d,
                      const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, heads = (size_t)s->heads, dk = (size_t)s->key_size,
                 inner = heads * (size_t)s->value_size;
    const int apart = form_is_apart(s->layout->form),
              channels = s->layout->form == RECURRENCE_DELTA_CHANNELS;
    double *lengths = family_own(d, dk, e);
    if (!lengths || read_delta_projections(b, s, d, stem, e) ||
        read_delta_taps(v->taps, s, d, stem, e) ||
        family_vector(&v->step_bias, d, channels ? heads * dk : heads, e, "%s.dt_bias", stem) ||
        read_rate(&v->rate, d, heads, stem, e))
        return -1;
    /* x / sqrt(sum x^2 + 1e-6) of queries and keys */
    for (size_t i = 0; i < dk; i++)
        lengths[i] = 1 / sqrt((double)dk);
    v->key_norm = (struct norm_view){.kind = NORM_RMS,
                                     .epsilon = 1e-6 / (double)dk,
                                     .present = 1,
                                     .scale = family_own_view(lengths, dk)};
    v->scale = 1 / sqrt((double)dk);
    v->delta = 1, v->write = s->doubled ? 2 : 1, v->high = INFINITY;
    v->gated = GATED_LAST, v->groups = v->heads;
    const struct norm_form form = {NORM_RMS,
                                   s->layout->epsilon != 0 ? s->layout->epsilon : s->epsilon,
                                   (size_t)s->value_size, "weight", NULL};
    const char *norm = apart                                       ? "o_norm"
                       : family_has(d, "%s.out_norm.weight", stem) ? "out_norm"
                                                                   : "norm";
    return family_norm_named(&v->norm, d, form, e, "%s.%s", stem, norm) ||
                   family_linear(&v->out, d, hidden, inner, 0, e, "%s.%s", stem,
                                 !apart                                   ? "out_proj"
                                 : family_has(d, "%s.dense.weight", stem) ? "dense"
                                                                          : "o_proj")
               ? -1
               : 0;
}

/* The decays of a run of rows, which files state too, must be those of each row; rounded ones are
 * within this. */
static int check_powers(const double *rate, const struct recurrence_sizes *s,
                        const struct decoder *d, const char *name, int backwards, struct error *e)
{
    const struct tensor *t = tensors_find(d->tensors, name);
    const size_t heads = (size_t)s->heads, rows = t ? t->count / heads : 0;
    const double rounded = 0.01;
    double *powers = t ? malloc((rows * heads + 1) * sizeof *powers) : NULL;
    if (!t)
        return 0;
    if (!powers)
        return fail_memory(e, (double)rows * (double)heads * sizeof *powers, "decays");
    int rc = family_values(powers, d, heads * rows, e, "%s", name);
    for (size_t i = 0; i < heads * rows && rc == 0; i++) {
        double power = (double)(backwards ? rows - 1 - i % rows : i % rows + 1);
        if (fabs(powers[i] - exp(-rate[i / rows] * power)) > rounded)
            rc = fail(e, "%s: tensor '%s' holds %g (expected about %g by slope_rate)", d->path,
                      name, powers[i], exp(-rate[i / rows] * power));
    }
    free(powers);
    return rc;
}

static int read_fixed_decays(struct recurrence_view *v, const struct recurrence_sizes *s,
                             struct decoder *d, int layer, const char *stem, struct error *e)
{
    const size_t heads = (size_t)s->heads;
    double *rate = family_own(d, heads, e);
    char name[256];
    if (!rate)
        return -1;
    for (size_t h = 0; h < heads; h++)
        rate[h] = s->layout->decay((int)h, (int)s->heads, layer, d->layers);
    if (family_has(d, "%s.slope_rate", stem) &&
        family_values(rate, d, heads, e, "%s.slope_rate", stem))
        return -1;
    for (size_t h = 0; h < heads; h++)
        if (!(rate[h] >= 0))
            return fail(e,
                        "%s: tensor '%s.slope_rate' holds %g (expected rates of decay from 0 on)",
                        d->path, stem, rate[h]);
    snprintf(name, sizeof name, "%s.query_decay", stem);
    if (check_powers(rate, s, d, name, 0, e))
        return -1;
    snprintf(name, sizeof name, "%s.key_decay", stem);
    if (check_powers(rate, s, d, name, 1, e))
        return -1;
    family_ignore(d, "%s.diagonal_decay", stem);
    v->rate = family_own_view(rate, heads);
    return 0;
}

static int read_fixed(struct block *b, const struct recurrence_sizes *s, struct decoder *d,
                      const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, heads = (size_t)s->heads, size = (size_t)s->key_size,
                 inner = heads * size;
    const struct norm_form form = {NORM_RMS, s->layout->epsilon, inner, "weight", NULL};
    struct linear in;
    if (family_linear(&in, d, 3 * inner, hidden, 0, e, "%s.qkv_proj", stem) ||
        family_linear(&v->gate, d, inner, hidden, 0, e, "%s.output_gate", stem) ||
        family_norm_named(&v->norm, d, form, e, "%s.norm", stem) ||
        family_linear(&v->out, d, hidden, inner, 0, e, "%s.out_proj", stem) ||
        read_fixed_decays(v, s, d, (int)(b - d->blocks), stem, e))
        return -1;
    for (size_t i = 0; i < 3; i++)
        v->in[i].weight = view_groups(in.weight, heads, 3 * size, i * size, size);
    v->scale = v->low = v->high = 1, v->fixed = 1;
    v->gated = GATED_LAST, v->gate_activation = ACTIVATION_SIGMOID, v->groups = 1;
    return 0;
}

int recurrence_read(struct block *b, const struct recurrence_sizes *s, struct decoder *d,
                    const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    char full[192];
    v->heads = (int)s->heads, v->key_heads = (int)s->key_heads;
    v->key_size = (int)s->key_size, v->value_size = (int)s->value_size;
    v->reach = (int)s->reach, v->activation = s->activation;
    v->gate_activation = ACTIVATION_SILU;
    snprintf(full, sizeof full, "%s.%s", stem, s->layout->stem);
    switch (s->layout->form) {
    case RECURRENCE_MAMBA: return read_mamba(b, s, d, full, e);
    case RECURRENCE_FIXED: return read_fixed(b, s, d, full, e);
    case RECURRENCE_SCAN: return scan_read(b, s, d, full, e);
    case RECURRENCE_SCAN_HEADS: return scan_heads_read(b, s, d, full, e);
    case RECURRENCE_LRU: return lru_read(b, s, d, full, e);
    default: return read_delta(b, s, d, full, e);
    }
}
