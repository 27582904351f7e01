/* Scans of a layout (layout.h), among them linear recurrent units: their keys of config.json and
 * the names of their tensors. */
#include "model/recurrence_layout.h"

#include <math.h>
#include <string.h>

/* A number, or "auto": the model's width / 16. */
static int read_rank(struct recurrence_sizes *s, const struct decoder *d, struct error *e)
{
    const char *key = s->layout->rank;
    const json_t *value = config_get(d->config, key);
    s->rank = (d->hidden + 15) / 16;
    if (config_absent(d->config, key) ||
        (json_is_string(value) && strcmp(json_string_value(value), "auto") == 0))
        return 0;
    return config_int(d->config, key, 1, 1 << 24, &s->rank, e);
}

int scan_settings(struct recurrence_sizes *s, const struct recurrence_layout *o, struct decoder *d,
                  struct error *e)
{
    struct config *c = d->config;
    s->heads = s->groups = 1;
    if ((o->heads && config_int(c, o->heads, 1, 1 << 16, &s->groups, e)) ||
        config_int(c, o->key_size, 1, SCAN_SIZE_MOST, &s->key_size, e) ||
        config_int(c, o->reach, 1, CONVOLUTION_MOST, &s->reach, e) ||
        recurrence_inner(&s->value_size, o, d, e) || read_rank(s, d, e) ||
        (o->biased && config_bool_or(c, o->biased, 0, &s->biased, e)) ||
        (o->conv_biased && config_bool_or(c, o->conv_biased, 1, &s->conv_biased, e)) ||
        (o->bare_epsilon &&
         config_real_or(c, o->bare_epsilon, 0, 1e6, 1e-6, &s->bare_epsilon, e)) ||
        (o->activation && family_activation(&s->activation, d, o->activation, "silu", e)) ||
        recurrence_kinds(o, d, e))
        return -1;
    s->out_biased = s->biased;
    if (s->value_size % s->groups)
        return fail(e, "%s: a width of %ld is not a multiple of %s %ld", config_path(c),
                    s->value_size, o->heads, s->groups);
    recurrence_describe(d, "scans of %ld channels with %ld states each", s->value_size,
                        s->key_size);
    return 0;
}

/* e^A_log of `stored`, [channels, size] in groups of rows, as [size, channels]; 1 if there are no
 * numbers. */
static int read_rates(view *out, struct decoder *d, const view *stored, const char *stem,
                      struct error *e)
{
    const size_t channels = stored->groups * stored->rows, size = stored->columns;
    double *rates = family_own(d, size * channels, e);
    if (!rates)
        return -1;
    for (size_t i = 0; i < channels * size; i++) {
        size_t c = i / size, n = i % size,
               at = c / stored->rows * stored->group_stride +
                    c % stored->rows * stored->row_stride + n * stored->column_stride;
        double of = tensors_supposed(d->tensors) ? 0 : element_read(stored->data, stored->type, at);
        rates[n * channels + c] = exp(of);
        if (!isfinite(rates[n * channels + c]))
            return fail(e, "%s: tensor '%s.A_log' holds %g (expected logarithms of decays)",
                        d->path, stem, of);
    }
    *out = family_own_view(rates, size * channels);
    return 0;
}

/* The norms of what steps are made of, and of B and C, [2, size]. */
static int read_norms(struct scan_view *v, const struct recurrence_sizes *s, struct decoder *d,
                      const char *stem, struct error *e)
{
    const struct recurrence_layout *o = s->layout;
    const size_t size = (size_t)s->key_size;
    struct norm_form form = {NORM_RMS, s->epsilon, (size_t)s->rank, "weight", NULL};
    struct norm_view of[2];
    double *both;
    if (o->bare_epsilon)
        v->step_norm = v->factor_norm =
            (struct norm_view){.kind = NORM_RMS, .epsilon = s->bare_epsilon, .present = 1};
    if (!o->norms[0])
        return 0;
    if (family_norm_named(&v->step_norm, d, form, e, "%s.%s", stem, o->norms[0]))
        return -1;
    form.width = size;
    for (int i = 0; i < 2; i++)
        if (family_norm_named(&of[i], d, form, e, "%s.%s", stem, o->norms[1 + i]))
            return -1;
    if (!(both = family_own(d, 2 * size, e)))
        return -1;
    for (size_t i = 0; i < 2 * size; i++) {
        const view *scale = &of[i / size].scale;
        both[i] = tensors_supposed(d->tensors)
                      ? 1
                      : element_read(scale->data, scale->type, i % size * scale->row_stride);
    }
    v->factor_norm = of[0];
    v->factor_norm.scale = family_own_view(both, 2 * size);
    return 0;
}

int scan_read(struct block *b, const struct recurrence_sizes *s, struct decoder *d,
              const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, channels = (size_t)s->value_size,
                 size = (size_t)s->key_size, rank = (size_t)s->rank;
    struct linear in, of_x;
    view logs;
    v->scan.size = v->key_size, v->scan.groups = 1;
    if (family_linear(&in, d, 2 * channels, hidden, s->biased, e, "%s.in_proj", stem) ||
        family_taps(&v->taps[0], d, channels, (size_t)s->reach, e, "%s.conv1d.weight", stem) ||
        (s->conv_biased && family_vector(&v->bias[0], d, channels, e, "%s.conv1d.bias", stem)) ||
        family_linear(&of_x, d, rank + 2 * size, channels, 0, e, "%s.x_proj", stem) ||
        family_linear(&v->scan.steps, d, channels, rank, 1, e, "%s.dt_proj", stem) ||
        family_vector(&v->skip, d, channels, e, "%s.D", stem) ||
        family_matrix(&logs, d, channels, size, e, "%s.A_log", stem) ||
        read_rates(&v->rate, d, &logs, stem, e) || read_norms(&v->scan, s, d, stem, e) ||
        family_linear(&v->out, d, hidden, channels, s->out_biased, e, "%s.out_proj", stem))
        return -1;
    v->in[0] = recurrence_rows(in, 0, channels);
    v->gate = recurrence_rows(in, channels, channels);
    v->scan.low = recurrence_rows(of_x, 0, rank);
    v->scan.factors = recurrence_rows(of_x, rank, 2 * size);
    v->gated = GATED_ALONE, v->groups = 1;
    return 0;
}

/* The rows of a matrix, one after the other, as a vector. */
static view as_vector(view v)
{
    v.groups = v.rows, v.rows = v.columns, v.columns = 1;
    v.group_stride = v.row_stride, v.row_stride = v.column_stride;
    return v;
}

int scan_heads_read(struct block *b, const struct recurrence_sizes *s, struct decoder *d,
                    const char *stem, struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, channels = (size_t)s->value_size,
                 size = (size_t)s->key_size, rank = (size_t)s->rank, groups = (size_t)s->groups,
                 each = channels / groups;
    struct linear in;
    view of_x, bias, skip, logs;
    v->scan.size = v->key_size, v->scan.groups = (int)groups;
    if (family_linear(&in, d, 2 * channels, hidden, s->biased, e, "%s.in_proj", stem) ||
        family_taps(&v->taps[0], d, channels, (size_t)s->reach, e, "%s.conv1d.weight", stem) ||
        (s->conv_biased && family_vector(&v->bias[0], d, channels, e, "%s.conv1d.bias", stem)) ||
        family_diagonal(&of_x, d, (struct stack){groups, rank + 2 * size, each, 0}, e,
                        "%s.x_proj_weight", stem) ||
        family_diagonal(&v->scan.steps.weight, d, (struct stack){groups, each, rank, 0}, e,
                        "%s.dt_proj_weight", stem) ||
        family_matrix(&bias, d, groups, each, e, "%s.dt_proj_bias", stem) ||
        family_matrix(&skip, d, groups, each, e, "%s.D", stem) ||
        family_diagonal(&logs, d, (struct stack){groups, each, size, 0}, e, "%s.A_log", stem) ||
        family_linear(&v->out, d, hidden, channels, s->out_biased, e, "%s.out_proj", stem))
        return -1;
    logs.columns = size, logs.diagonal = 0; /* as rows below each other */
    v->in[0].weight = view_every_second(in.weight, 0);
    v->gate.weight = view_every_second(in.weight, 1);
    if (in.bias.data) {
        v->in[0].bias = view_every_second(in.bias, 0);
        v->gate.bias = view_every_second(in.bias, 1);
    }
    v->scan.low.weight = view_rows(of_x, 0, rank);
    v->scan.factors.weight = view_rows(of_x, rank, 2 * size);
    v->scan.steps.bias = as_vector(bias);
    v->skip = as_vector(skip);
    v->gated = GATED_ALONE, v->groups = 1;
    return read_rates(&v->rate, d, &logs, stem, e);
}

int lru_settings(struct recurrence_sizes *s, const struct recurrence_layout *o, struct decoder *d,
                 struct error *e)
{
    struct config *c = d->config;
    s->heads = s->key_size = 1;
    if (config_int_or(c, o->inner, 1, 1 << 24, d->hidden, &s->value_size, e) ||
        config_int(c, o->reach, 1, CONVOLUTION_MOST, &s->reach, e) || recurrence_kinds(o, d, e))
        return -1;
    if (s->value_size % d->heads)
        return fail(e, "%s: %s %ld is not a multiple of the %d blocks of its gates, one for a head",
                    config_path(c), o->inner, s->value_size, d->heads);
    recurrence_describe(d, "linear recurrent units of %ld channels", s->value_size);
    return 0;
}

/* One of its gates, by blocks stored as [in, out]. */
static int read_unit(struct linear *out, const struct decoder *d, size_t channels, const char *stem,
                     const char *name, struct error *e)
{
    const size_t blocks = (size_t)d->heads, each = channels / blocks;
    const struct stack stack = {blocks, each, each, 1};
    view *bias = &out->bias;
    if (family_diagonal(&out->weight, d, stack, e, "%s.rg_lru.%s_weight", stem, name) ||
        family_matrix(bias, d, blocks, each, e, "%s.rg_lru.%s_bias", stem, name))
        return -1;
    *bias = as_vector(*bias);
    return 0;
}

/* ln(1 + e^parameter) of each channel; that of 0 if there are no numbers. */
static int read_lru_rates(view *out, struct decoder *d, size_t channels, const char *stem,
                          struct error *e)
{
    double *rates = family_own(d, channels, e);
    view stored;
    if (!rates || family_vector(&stored, d, channels, e, "%s.rg_lru.recurrent_param", stem))
        return -1;
    for (size_t c = 0; c < channels; c++) {
        double of = tensors_supposed(d->tensors)
                        ? 0
                        : element_read(stored.data, stored.type, c * stored.row_stride);
        rates[c] = fmax(of, 0) + log1p(exp(-fabs(of)));
        if (!isfinite(rates[c]))
            return fail(e, "%s: tensor '%s.rg_lru.recurrent_param' holds %g (expected numbers)",
                        d->path, stem, of);
    }
    *out = family_own_view(rates, channels);
    return 0;
}

int lru_read(struct block *b, const struct recurrence_sizes *s, struct decoder *d, const char *stem,
             struct error *e)
{
    struct recurrence_view *v = &b->mixer.recurrence;
    const size_t hidden = (size_t)d->hidden, channels = (size_t)s->value_size;
    v->scan.size = v->key_size, v->scan.groups = 1;
    v->gated = GATED_ALONE, v->groups = 1, v->gate_activation = v->activation;
    return family_linear(&v->in[0], d, channels, hidden, 1, e, "%s.linear_x", stem) ||
                   family_linear(&v->gate, d, channels, hidden, 1, e, "%s.linear_y", stem) ||
                   family_linear(&v->out, d, hidden, channels, 1, e, "%s.linear_out", stem) ||
                   family_taps(&v->taps[0], d, channels, (size_t)s->reach, e, "%s.conv_1d.weight",
                               stem) ||
                   family_vector(&v->bias[0], d, channels, e, "%s.conv_1d.bias", stem) ||
                   read_unit(&v->scan.unit[0], d, channels, stem, "recurrent_gate", e) ||
                   read_unit(&v->scan.unit[1], d, channels, stem, "input_gate", e) ||
                   read_lru_rates(&v->rate, d, channels, stem, e)
               ? -1
               : 0;
}
