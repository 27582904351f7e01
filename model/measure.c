/* Measuring batches of segments, one or, where the kernel set computes behind the host's back, two at a time: then the second is
 * enqueued while the first is computed, and the device has no pause between them. One set of buffers serves both, since the
 * device does all in order. */
#include "model/engine_parts.h"

#include <stdlib.h>
#include <string.h>

/* Layers whose norms a segment has. */
static int layers_measured(const struct engine *g)
{
    return g->shape.by_layer ? g->d->layers : 1;
}

int measure_open(struct engine *g, struct error *e)
{
    size_t each = (size_t)layers_measured(g) + 1;
    if (!g->k->read_begin || g->shape.kind != REQUEST_GRADIENT)
        return 0;
    for (int i = 0; i < ENGINE_AHEAD; i++)
        if (!(g->begun[i].readings = calloc(each, sizeof *g->begun[i].readings)))
            return fail_memory(e, (double)each * sizeof *g->begun[i].readings, "readings");
    return 0;
}

/* Ends what is left of a batch's readings; nobody wants the values. */
static void drop(struct engine *g, struct begun *b)
{
    struct error unused;
    for (int i = 0; b->readings && i <= layers_measured(g); i++)
        if (b->readings[i]) {
            g->k->read_end(g->k, NULL, b->readings[i], &unused); /* only after a failure, which has been told */
            b->readings[i] = NULL;
        }
}

void measure_close(struct engine *g)
{
    for (int i = 0; i < ENGINE_AHEAD; i++) {
        drop(g, &g->begun[i]);
        free(g->begun[i].readings);
    }
}

int engine_ahead(const struct engine *g)
{
    return g->k->read_begin ? ENGINE_AHEAD : 1;
}

int engine_begin(struct engine *g, const int32_t *ids, int count, struct error *e)
{
    struct kernels *k = g->k;
    struct buffer *gradient;
    int layers = layers_measured(g);
    if (g->begun_count == engine_ahead(g))
        return fail(e, "%d batches are begun and none is ended", g->begun_count);
    int slot = (g->begun_first + g->begun_count) % ENGINE_AHEAD;
    struct begun *b = &g->begun[slot];
    if (g->tie_counts) {
        g->ties = g->tie_counts + (size_t)slot * (size_t)g->shape.batch;
        memset(g->ties, 0, (size_t)count * sizeof *g->ties);
    }
    int rc = engine_expects(g, REQUEST_GRADIENT, e) || engine_upload(g, ids, count, e) || reverse_pass(g, &gradient, count, e);
    g->ties = NULL;
    if (rc)
        return -1;
    reverse_norms(g, gradient, count);
    b->count = count;
    for (int l = 0; b->readings && l <= layers; l++) {
        const struct buffer *from = l == layers ? g->logprob : l ? g->layers[l].norms : g->norms;
        b->readings[l] = k->read_begin(k, from, 0, (size_t)count * (l == layers ? 1 : (size_t)g->shape.keys[l]), e);
        if (!b->readings[l]) {
            drop(g, b);
            return -1;
        }
    }
    g->begun_count++;
    return 0;
}

/* Reading i of the batch, or, without readings, `count` values of a buffer. */
static int take(struct engine *g, double *values, struct begun *b, int i, const struct buffer *from, size_t count,
                struct error *e)
{
    if (!b->readings) {
        g->k->read(g->k, values, from, 0, count);
        return 0;
    }
    struct reading *r = b->readings[i];
    b->readings[i] = NULL;
    return g->k->read_end(g->k, values, r, e);
}

/* Norms of layer l [count, keys] into norm [count, layers, n], 0 outside the cone. */
static int take_norms(struct engine *g, double *norm, struct begun *b, int l, struct error *e)
{
    size_t n = (size_t)g->shape.n, rows = (size_t)g->shape.keys[l], count = (size_t)b->count, layers = (size_t)layers_measured(g);
    double *values = malloc(count * rows * sizeof *values);
    if (!values)
        return fail_memory(e, 8.0 * (double)count * (double)rows, "norms");
    int rc = take(g, values, b, l, l ? g->layers[l].norms : g->norms, count * rows, e);
    for (size_t s = 0; rc == 0 && s < count; s++) {
        double *to = norm + (s * layers + (size_t)l) * n;
        memset(to, 0, (n - rows) * sizeof *to);
        memcpy(to + (n - rows), values + s * rows, rows * sizeof *to);
    }
    free(values);
    return rc;
}

int engine_end(struct engine *g, double *norm, double *logprob, struct error *e)
{
    struct begun *b = &g->begun[g->begun_first];
    int layers = layers_measured(g), rc = 0;
    if (g->begun_count == 0)
        return fail(e, "no batch is begun");
    for (int l = 0; rc == 0 && l < layers; l++)
        rc = take_norms(g, norm, b, l, e);
    if (rc == 0)
        rc = take(g, logprob, b, layers, g->logprob, (size_t)b->count, e);
    if (rc == 0 && !b->readings)
        rc = g->k->synchronize(g->k, e);
    drop(g, b);
    if (g->tie_counts)
        g->ties_measured = g->tie_counts + (size_t)g->begun_first * (size_t)g->shape.batch;
    g->begun_first = (g->begun_first + 1) % ENGINE_AHEAD;
    g->begun_count--;
    return rc;
}

size_t engine_near_ties(const struct engine *g, int segment)
{
    return g->ties_measured ? g->ties_measured[segment] : 0;
}

int engine_measure(struct engine *g, double *norm, double *logprob, const int32_t *ids, int count, struct error *e)
{
    return engine_begin(g, ids, count, e) || engine_end(g, norm, logprob, e) ? -1 : 0;
}
