/* Blocks of RWKV-4 (decoder.h): time mixing, what recurrence.c does otherwise where the recurrence
 * is a mean by channel, and channel mixing. Matrices read shifted rows, which reverse does not need
 * again. Of a row of time mixing are kept values, keys, z, the output before z gates it and the
 * logarithm of its denominators; of channel mixing the key before its activation, the value and z.
 */
#include "model/engine_parts.h"

static struct convolution shift_of(const struct weight *taps)
{
    return (struct convolution){.reach = SHIFT_REACH, .taps = taps};
}

/* y [B to, out] = the last `to` shifted rows of g->y [B keys, d] times a matrix. Overwrites
 * g->mixed. */
static void shift_linear(struct engine *g, struct buffer *y, const struct weight *matrix,
                         const struct weight *taps, int batch, int to, int keys)
{
    struct convolution shift = shift_of(taps);
    g->k->convolve(g->k, g->mixed, g->y, &shift, batch, to, keys, g->d->hidden);
    g->k->linear(g->k, y, g->mixed, matrix, NULL, (struct rows){batch, to}, 0);
}

/* g->y (+)= what that passes back of dy [B to, out]. Overwrites g->mixed and, to add, g->t. */
static void shift_linear_reverse(struct engine *g, const struct buffer *dy,
                                 const struct weight *matrix, const struct weight *taps, int batch,
                                 int to, int keys, int accumulate)
{
    struct kernels *k = g->k;
    struct convolution shift = shift_of(taps);
    k->linear_reverse(k, g->mixed, dy, matrix, (struct rows){batch, to}, 0);
    k->convolve_reverse(k, accumulate ? g->t : g->y, g->mixed, NULL, &shift, batch, to, keys,
                        g->d->hidden);
    if (accumulate)
        k->add(k, g->y, g->t, (struct rows){batch, keys}, g->d->hidden);
}

/* -- time mixing -- */

static struct wkv wkv_of(const struct engine *g, int l)
{
    return (struct wkv){.channels = g->d->blocks[l].mixer.recurrence.value_size,
                        .rate = g->blocks[l].rate,
                        .first = g->blocks[l].wkv_first};
}

void time_project(struct engine *g, int l, int batch)
{
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l];
    shift_linear(g, s->steps, w->wkv_key.of.weight, w->wkv_key.taps, batch, keys, keys);
    shift_linear(g, s->convolved, w->wkv_value.of.weight, w->wkv_value.taps, batch, keys, keys);
}

void time_recur(struct engine *g, int l, int batch)
{
    const struct layer *s = &g->layers[l];
    struct wkv wkv = wkv_of(g, l);
    g->k->wkv(g->k, s->raw_recurred, g->shape.kind == REQUEST_GRADIENT ? s->states : NULL, s->steps,
              s->convolved, &wkv, batch, g->shape.queries[l], g->shape.keys[l]);
}

void time_gate(struct engine *g, int l, int batch)
{
    const struct block_weights *w = &g->blocks[l];
    shift_linear(g, g->layers[l].recurrence_z, w->recurrence_gate.weight, w->wkv_gate_taps, batch,
                 g->shape.queries[l], g->shape.keys[l]);
}

void time_recur_reverse(struct engine *g, int l, const struct buffer *d_o, int batch)
{
    const struct layer *s = &g->layers[l];
    struct wkv wkv = wkv_of(g, l);
    g->k->wkv_reverse(g->k, g->d_steps, g->dkv, d_o, s->raw_recurred, s->states, s->steps,
                      s->convolved, &wkv, batch, g->shape.queries[l], g->shape.keys[l]);
}

void time_project_reverse(struct engine *g, int l, int batch)
{
    const struct block_weights *w = &g->blocks[l];
    int keys = g->shape.keys[l];
    shift_linear_reverse(g, g->dkv, w->wkv_value.of.weight, w->wkv_value.taps, batch, keys, keys,
                         0);
    shift_linear_reverse(g, g->d_steps, w->wkv_key.of.weight, w->wkv_key.taps, batch, keys, keys,
                         1);
    shift_linear_reverse(g, g->dz, w->recurrence_gate.weight, w->wkv_gate_taps, batch,
                         g->shape.queries[l], keys, 1);
}

/* -- channel mixing -- */

int channel_width(const struct block *b)
{
    return block_mixes_channels(b) ? (int)b->mixer.channels.key.of.weight.rows : 0;
}

void channels_forward(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l];
    struct rows rows = {batch, queries};
    shift_linear(g, s->up, w->channel_key.of.weight, w->channel_key.taps, batch, queries, keys);
    shift_linear(g, s->z, w->channel_receptance.of.weight, w->channel_receptance.taps, batch,
                 queries, keys);
    k->activate(k, g->a, s->up, NULL, ACTIVATION_RELU_SQUARED, rows,
                channel_width(&g->d->blocks[l]));
    k->linear(k, s->o, g->a, w->channel_value.weight, NULL, rows, 0);
    k->activate(k, g->t, s->o, s->z, ACTIVATION_SIGMOID, rows, g->d->hidden);
}

void channels_reverse(struct engine *g, int l, const struct buffer *dy, int batch)
{
    struct kernels *k = g->k;
    const struct block_weights *w = &g->blocks[l];
    const struct layer *s = &g->layers[l];
    int keys = g->shape.keys[l], queries = g->shape.queries[l], hidden = g->d->hidden;
    struct rows rows = {batch, queries};
    k->copy(k, g->t, dy, rows, hidden);
    k->activate_reverse(k, g->t, g->dz, g->t, s->o, s->z, ACTIVATION_SIGMOID, rows, hidden);
    k->linear_reverse(k, g->a, g->t, w->channel_value.weight, rows, 0);
    k->activate_reverse(k, g->a, NULL, g->a, s->up, NULL, ACTIVATION_RELU_SQUARED, rows,
                        channel_width(&g->d->blocks[l]));
    shift_linear_reverse(g, g->a, w->channel_key.of.weight, w->channel_key.taps, batch, queries,
                         keys, 0);
    shift_linear_reverse(g, g->dz, w->channel_receptance.of.weight, w->channel_receptance.taps,
                         batch, queries, keys, 1);
}
