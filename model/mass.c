/* The mass of attention by distance, and log decays: forward alone, reading each layer during the
 * pass. */
#include "model/mass.h"

#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Copies one layer's mass (all heads, segments) of g->mass to mass [count, layers, heads, n]. */
static void take_layer(struct engine *g, double *mass, int l, int kv_rows, int counted, int count)
{
    size_t n = (size_t)g->shape.n, heads = (size_t)g->d->heads, layers = (size_t)g->d->layers,
           keys = (size_t)kv_rows;
    for (size_t b = 0; b < (size_t)count; b++)
        for (size_t h = 0; h < heads; h++) {
            double *to = mass + ((b * layers + (size_t)l) * heads + h) * n; /* [n] */
            g->k->read(g->k, to, g->mass, (b * heads + h) * keys, keys);
            for (size_t t = 0; t < keys; t++)
                to[t] /= counted;
            memset(to + keys, 0, (n - keys) * sizeof *to);
        }
}

enum { DECAY_ROWS = 512 }; /* rows of gates read at once */

/* The most numbers of a row of gates in any layer. */
static size_t widest_gates(const struct decoder *d)
{
    size_t most = 0;
    for (int l = 0; l < d->layers; l++)
        if (block_recurs(&d->blocks[l]) && (size_t)block_steps_width(&d->blocks[l]) > most)
            most = (size_t)block_steps_width(&d->blocks[l]);
    return most;
}

/* The sum of the rates of channel c's states, of a scan. */
static double channel_rates(const struct recurrence_view *r, size_t c)
{
    double sum = 0;
    for (size_t n = 0; n < (size_t)r->scan.size; n++)
        sum += element_read(r->rate.data, r->rate.type,
                            (n * (size_t)r->value_size + c) * r->rate.row_stride);
    return sum;
}

/* The mean rate of the channels of time mixing, which counts as one head. */
static double mean_rate(const struct recurrence_view *r)
{
    double sum = 0;
    for (size_t c = 0; c < (size_t)r->value_size; c++)
        sum += element_read(r->rate.data, r->rate.type, c * r->rate.row_stride);
    return sum / r->value_size;
}

/* Adds minus the log decays of `count` rows to those of the layer's heads, by channel their means
 * over the channels; of a scan, which counts as one head, their means over all its states. */
static void add_decays(double *to, const double *rows, const struct block *b, size_t count)
{
    const struct recurrence_view *r = &b->mixer.recurrence;
    size_t heads = (size_t)r->heads, channels = (size_t)r->value_size;
    if (!block_scans(b)) {
        size_t each = (size_t)block_decays(b), width = (size_t)block_steps_width(b);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < heads * each; j++)
                to[j / each] -= rows[i * width + j] / (double)each;
        return;
    }
    for (size_t c = 0; c < channels; c++) {
        double sum = 0, mean = channel_rates(r, c) / (double)(channels * (size_t)r->scan.size);
        for (size_t i = 0; i < count; i++) {
            double step = rows[i * channels + c];
            sum += block_is_lru(b) ? step : (step > 0 ? step : 0) + log1p(exp(-fabs(step)));
        }
        *to += mean * sum;
    }
}

/* The mean of minus the log decays of layer l, whose gates g->gates still holds, to decay [count,
 * layers, most heads]; `rows` is a temporary of DECAY_ROWS rows. */
static void take_decays(struct engine *g, double *decay, double *rows, int l, int count)
{
    const struct block *b = &g->d->blocks[l];
    size_t layers = (size_t)g->d->layers, most = (size_t)decoder_recurrence_heads(g->d),
           heads = (size_t)b->mixer.recurrence.heads, n = (size_t)g->shape.keys[l],
           width = (size_t)block_steps_width(b);
    for (size_t s = 0; s < (size_t)count; s++) {
        double *to = decay + (s * layers + (size_t)l) * most; /* [heads] */
        if (block_mixes_time(b)) {
            *to = mean_rate(&b->mixer.recurrence);
            continue;
        }
        for (size_t first = 0; first < n; first += DECAY_ROWS) {
            size_t now = n - first < DECAY_ROWS ? n - first : DECAY_ROWS;
            g->k->read(g->k, rows, g->gates, (s * n + first) * width, now * width);
            add_decays(to, rows, b, now);
        }
        for (size_t h = 0; h < heads; h++)
            to[h] /= (double)n;
    }
}

static int take_all(struct engine *g, double *mass, double *decay, double *rows, int count,
                    struct error *e)
{
    struct kernels *k = g->k;
    int layers = g->d->layers, counted = g->shape.keys[layers];
    forward_embed(g, count);
    for (int l = 0; l < layers; l++) {
        if (weights_need(g, l, e) || forward_block(g, l, count, l + 1 == layers, e))
            return -1;
        if (block_recurs(&g->d->blocks[l]))
            take_decays(g, decay, rows, l, count);
        if (block_attends(&g->d->blocks[l])) {
            int keys = shape_span(&g->shape, l);
            k->attention_mass(k, g->mass, g->layers[l].q, g->layers[block_source(g->d, l)].kv,
                              g->layers[l].lse, g->attention[l], g->blocks[l].sinks, count,
                              g->shape.queries[l], keys, counted);
            take_layer(g, mass, l, keys, counted, count);
        }
        if (k->synchronize(k, e))
            return -1;
        weights_done(g, l);
    }
    return 0;
}

int engine_attention(struct engine *g, double *mass, double *decay, const int32_t *ids, int count,
                     struct error *e)
{
    size_t each = (size_t)g->d->layers * (size_t)g->d->heads * (size_t)g->shape.n,
           heads = (size_t)decoder_recurrence_heads(g->d),
           row_bytes = DECAY_ROWS * widest_gates(g->d) * sizeof(double);
    double *rows = heads ? malloc(row_bytes) : NULL;
    int rc = -1;
    if (heads && !rows)
        return fail_memory(e, (double)row_bytes, "the decays of recurrences");
    if (!engine_expects(g, REQUEST_ATTENTION, e) && !engine_upload(g, ids, 0, count, e)) {
        memset(mass, 0, (size_t)count * each * sizeof *mass); /* of layers that do not attend */
        if (heads)
            memset(decay, 0, (size_t)(count * g->d->layers) * heads * sizeof *decay);
        rc = take_all(g, mass, decay, rows, count, e);
    }
    free(rows);
    return rc;
}
