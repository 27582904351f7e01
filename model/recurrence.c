/* Blocks that mix their rows by a recurrence (decoder.h, struct recurrence_view). Of a row are
 * kept: what the convolution gives, before its activation; a and b of the gates; z; and the output
 * before it is gated. Reverse makes the rest of it again. Fixed decays are gates of a = 0 whose
 * step is clamped to 1. */
#include "model/engine_parts.h"

static struct recurrence recurrence_of(const struct engine *g, int l)
{
    const struct recurrence_view *v = &g->d->blocks[l].mixer.recurrence;
    return (struct recurrence){.heads = v->heads,
                               .key_heads = v->key_heads,
                               .key_size = v->key_size,
                               .value_size = v->value_size,
                               .delta = v->delta,
                               .by_channel = v->by_channel,
                               .scale = v->scale,
                               .skip = g->blocks[l].skip};
}

/* The layer's states: none where one row of output is needed, whatever buffer layers share. */
static struct buffer *states_of(const struct engine *g, int l)
{
    return g->shape.queries[l] > 1 ? g->layers[l].states : NULL;
}

static struct convolution convolution_of(const struct engine *g, int l)
{
    return (struct convolution){.reach = g->d->blocks[l].mixer.recurrence.reach,
                                .taps = g->blocks[l].recurrence_taps,
                                .bias = g->blocks[l].recurrence_taps_bias};
}

static struct gating gating_of(const struct engine *g, int l)
{
    const struct recurrence_view *v = &g->d->blocks[l].mixer.recurrence;
    return (struct gating){.rate = g->blocks[l].rate,
                           .bias = g->blocks[l].step_bias,
                           .low = v->low,
                           .high = v->high,
                           .write = v->write,
                           .floor = v->floor};
}

/* y = w (down x), or w x. Overwrites g->low. */
static void linear_by_few(struct engine *g, struct buffer *y, const struct buffer *x,
                          const struct linear_weights *down, const struct linear_weights *w,
                          struct rows rows)
{
    if (down->weight)
        g->k->linear(g->k, g->low, x, down->weight, NULL, rows, 0);
    g->k->linear(g->k, y, down->weight ? g->low : x, w->weight, w->bias, rows, 0);
}

void recurrence_project(struct engine *g, int l, int batch, int before)
{
    if (block_mixes_time(&g->d->blocks[l])) {
        time_project(g, l, batch);
        return;
    }
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    struct convolution convolution = convolution_of(g, l);
    int keys = g->shape.keys[l], width = block_recurrence_width(&g->d->blocks[l]);
    struct rows rows = {batch, keys};
    struct buffer *to = w->recurrence_taps ? g->mixed : s->convolved;
    if (before) {
        to = g->views[VIEW_MIXED];
        k->aim(k, to, g->mixed, (size_t)before * (size_t)width);
    }
    k->linear(k, to, g->y, w->recurrence_in.weight, w->recurrence_in.bias, rows, 0);
    if (w->recurrence_taps)
        k->convolve(k, s->convolved, g->mixed, &convolution, batch, keys, before + keys, width);
    if (block_scans(&g->d->blocks[l]))
        return;
    if (!block_decays_fixed(&g->d->blocks[l]))
        k->linear(k, s->steps, g->y, w->recurrence_steps.weight, w->recurrence_steps.bias, rows, 0);
    else
        k->scale(k, s->steps, 0, rows, g->d->blocks[l].mixer.recurrence.heads);
    if (g->d->blocks[l].mixer.recurrence.by_channel)
        linear_by_few(g, s->decays, g->y, &w->recurrence_decay_down, &w->recurrence_decay, rows);
}

void recurrence_operands(struct engine *g, int l, int batch, int before)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct recurrence_view *v = &b->mixer.recurrence;
    const struct layer *s = &g->layers[l];
    const struct norm_weights *norm = &g->blocks[l].recurrence_key_norm;
    struct gating gating = gating_of(g, l);
    struct rows rows = {batch, g->shape.keys[l]};
    int width = block_recurrence_width(b);
    if (block_mixes_time(b))
        return;
    if (block_scans(b)) {
        scan_operands(g, l, batch, before);
        return;
    }
    struct buffer *active = norm->present ? g->mixed : g->qkv;
    k->activate(k, active, s->convolved, NULL, v->activation, rows, width);
    if (norm->present) {
        k->copy(k, g->qkv, active, rows, width); /* for the values */
        k->norm_heads(k, g->qkv, g->key_statistics, active, &norm->norm, rows, 2 * v->key_heads,
                      v->key_size, width);
    }
    if (v->by_channel)
        k->gate_channels(k, g->gates, s->decays, s->steps, &gating, rows, v->heads, v->key_size);
    else
        k->gate(k, g->gates, s->steps, &gating, rows, v->heads);
}

/* s->recurred of s->raw_recurred and s->recurrence_z. */
static void gate_output(struct engine *g, int l, struct rows rows)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct recurrence_view *v = &b->mixer.recurrence;
    const struct norm *norm = &g->blocks[l].recurrence_norm.norm;
    struct layer *s = &g->layers[l];
    int width = block_gate_width(b), slice = width / v->groups;
    if (v->gated == GATED_ALONE) {
        k->activate(k, s->recurred, s->raw_recurred, s->recurrence_z, v->gate_activation, rows,
                    width);
    } else if (v->gated == GATED_FIRST) {
        k->activate(k, g->mixed, s->raw_recurred, s->recurrence_z, v->gate_activation, rows, width);
        k->norm_heads(k, s->recurred, s->o_statistics, g->mixed, norm, rows, v->groups, slice,
                      width);
    } else {
        k->norm_heads(k, g->mixed, s->o_statistics, s->raw_recurred, norm, rows, v->groups, slice,
                      width);
        k->activate(k, s->recurred, g->mixed, s->recurrence_z, v->gate_activation, rows, width);
    }
}

void recurrence_recur(struct engine *g, int l, int batch)
{
    struct recurrence recurrence = recurrence_of(g, l);
    if (block_mixes_time(&g->d->blocks[l]))
        time_recur(g, l, batch);
    else if (block_scans(&g->d->blocks[l]))
        scan_recur(g, l, batch);
    else
        g->k->recur(g->k, g->layers[l].raw_recurred, states_of(g, l), g->qkv, g->gates, &recurrence,
                    batch, g->shape.queries[l], g->shape.keys[l]);
}

void recurrence_gate(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    const struct block_weights *w = &g->blocks[l];
    struct rows rows = {batch, g->shape.queries[l]};
    if (block_mixes_time(&g->d->blocks[l]))
        time_gate(g, l, batch);
    else
        linear_by_few(g, g->layers[l].recurrence_z, y_last, &w->recurrence_gate_down,
                      &w->recurrence_gate, rows);
    gate_output(g, l, rows);
}

void recurrence_forward(struct engine *g, int l, const struct buffer *y_last, int batch)
{
    recurrence_project(g, l, batch, 0);
    recurrence_operands(g, l, batch, 0);
    recurrence_recur(g, l, batch);
    recurrence_gate(g, l, y_last, batch);
}

void recurrence_gate_reverse(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct recurrence_view *v = &b->mixer.recurrence;
    const struct norm *norm = &g->blocks[l].recurrence_norm.norm;
    const struct layer *s = &g->layers[l];
    const struct buffer *gated = s->raw_recurred;
    struct rows rows = {batch, g->shape.queries[l]};
    int width = block_gate_width(b), slice = width / v->groups;
    if (v->gated == GATED_FIRST) {
        k->activate(k, g->mixed, s->raw_recurred, s->recurrence_z, v->gate_activation, rows, width);
        k->norm_heads_reverse(k, g->t, g->t, g->mixed, s->o_statistics, norm, rows, v->groups,
                              slice, width);
    } else if (v->gated == GATED_LAST) {
        k->norm_heads(k, g->mixed, s->o_statistics, s->raw_recurred, norm, rows, v->groups, slice,
                      width);
        gated = g->mixed;
    }
    k->activate_reverse(k, g->t, g->dz, g->t, gated, s->recurrence_z, v->gate_activation, rows,
                        width);
    if (v->gated == GATED_LAST)
        k->norm_heads_reverse(k, g->t, g->t, s->raw_recurred, s->o_statistics, norm, rows,
                              v->groups, slice, width);
}

void recurrence_recur_reverse(struct engine *g, int l, const struct buffer *d_o, int batch)
{
    struct recurrence recurrence = recurrence_of(g, l);
    if (block_mixes_time(&g->d->blocks[l]))
        time_recur_reverse(g, l, d_o, batch);
    else if (block_scans(&g->d->blocks[l]))
        scan_recur_reverse(g, l, d_o, batch);
    else
        g->k->recur_reverse(g->k, g->dkv, g->d_gates, d_o, states_of(g, l), g->qkv, g->gates,
                            &recurrence, batch, g->shape.queries[l], g->shape.keys[l]);
}

void recurrence_project_reverse(struct engine *g, int l, int batch, int before, int after,
                                int accumulate)
{
    struct kernels *k = g->k;
    const struct block *b = &g->d->blocks[l];
    const struct recurrence_view *v = &b->mixer.recurrence;
    const struct block_weights *w = &g->blocks[l];
    struct layer *s = &g->layers[l];
    struct convolution convolution = convolution_of(g, l);
    struct gating gating = gating_of(g, l);
    int keys = g->shape.keys[l], width = block_recurrence_width(b);
    struct rows rows = {batch, keys};
    if (block_mixes_time(b)) {
        time_project_reverse(g, l, batch);
        return;
    }
    if (block_scans(b))
        scan_operands_reverse(g, l, batch, before);
    if (w->recurrence_key_norm.present)
        k->norm_heads_reverse(k, g->dkv, g->dkv, g->mixed, g->key_statistics,
                              &w->recurrence_key_norm.norm, rows, 2 * v->key_heads, v->key_size,
                              width);
    if (!block_is_lru(b))
        k->activate_reverse(k, g->dkv, NULL, g->dkv, s->convolved, NULL, v->activation, rows,
                            width);
    if (w->recurrence_taps)
        k->convolve_reverse(k, g->mixed, g->dkv, NULL, &convolution, batch, keys + after,
                            keys + after, width);
    k->linear_reverse(k, g->y, w->recurrence_taps ? g->mixed : g->dkv, w->recurrence_in.weight,
                      rows, accumulate);
    if (v->fixed || block_scans(b))
        return;
    if (v->by_channel) {
        const struct weight *down = w->recurrence_decay_down.weight;
        k->gate_channels_reverse(k, g->d_decays, g->d_steps, g->d_gates, s->decays, s->steps,
                                 &gating, rows, v->heads, v->key_size);
        k->linear_reverse(k, down ? g->low : g->y, g->d_decays, w->recurrence_decay.weight, rows,
                          !down);
        if (down)
            k->linear_reverse(k, g->y, g->low, down, rows, 1);
    } else {
        k->gate_reverse(k, g->d_steps, g->d_gates, s->steps, &gating, rows, v->heads);
    }
    k->linear_reverse(k, g->y, g->d_steps, w->recurrence_steps.weight, rows, 1);
}

void recurrence_reverse(struct engine *g, int l, int batch, int accumulate)
{
    recurrence_gate_reverse(g, l, batch);
    recurrence_operands(g, l, batch, 0);
    recurrence_recur_reverse(g, l, g->t, batch);
    recurrence_project_reverse(g, l, batch, 0, 0, accumulate);
}
