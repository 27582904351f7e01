/* Scans of a layout (layout.h): their keys of config.json and the names of their tensors. */
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
    int count = 0;
    s->heads = 1;
    if (config_int(c, o->key_size, 1, SCAN_SIZE_MOST, &s->key_size, e) ||
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
    for (int l = 0; l < d->layers; l++)
        count += block_recurs(&d->blocks[l]);
    if (count)
        family_describe(d, "scans of %ld channels with %ld states each in %d of %d layers",
                        s->value_size, s->key_size, count, d->layers);
    return 0;
}

/* e^A_log, stored as [channels, size], as [size, channels]; 1 if there are no numbers. */
static int read_rates(view *out, struct decoder *d, size_t channels, size_t size, const char *stem,
                      struct error *e)
{
    double *rates = family_own(d, size * channels, e);
    view stored;
    if (!rates || family_matrix(&stored, d, channels, size, e, "%s.A_log", stem))
        return -1;
    for (size_t i = 0; i < channels * size; i++) {
        size_t c = i / size, n = i % size;
        double of = tensors_supposed(d->tensors)
                        ? 0
                        : element_read(stored.data, stored.type,
                                       c * stored.row_stride + n * stored.column_stride);
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
    v->scan.size = v->key_size;
    if (family_linear(&in, d, 2 * channels, hidden, s->biased, e, "%s.in_proj", stem) ||
        family_taps(&v->taps[0], d, channels, (size_t)s->reach, e, "%s.conv1d.weight", stem) ||
        (s->conv_biased && family_vector(&v->bias[0], d, channels, e, "%s.conv1d.bias", stem)) ||
        family_linear(&of_x, d, rank + 2 * size, channels, 0, e, "%s.x_proj", stem) ||
        family_linear(&v->scan.steps, d, channels, rank, 1, e, "%s.dt_proj", stem) ||
        family_vector(&v->skip, d, channels, e, "%s.D", stem) ||
        read_rates(&v->rate, d, channels, size, stem, e) || read_norms(&v->scan, s, d, stem, e) ||
        family_linear(&v->out, d, hidden, channels, s->out_biased, e, "%s.out_proj", stem))
        return -1;
    v->in[0] = recurrence_rows(in, 0, channels);
    v->gate = recurrence_rows(in, channels, channels);
    v->scan.low = recurrence_rows(of_x, 0, rank);
    v->scan.factors = recurrence_rows(of_x, rank, 2 * size);
    v->gated = GATED_ALONE, v->groups = 1;
    return 0;
}
