/* Measuring batches of segments, one or, if the kernel set is asynchronous, two at a time: then the
 * second is enqueued while the first is computed, so the device never pauses between them. One set
 * of buffers serves both, since the device works in order. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of layers with norms for a segment. */
static int layers_measured(const struct engine *g)
{
    return g->shape.by_layer ? g->d->layers : 1;
}

/* The values read from a batch, `count` in all: norms of each layer, log p, range.c's points. */
static int readings_count(const struct engine *g)
{
    return layers_measured(g) + 1 + range_points(g);
}

/* The i-th of them, and its values per segment. */
static const struct buffer *reading_of(const struct engine *g, int i, size_t *each)
{
    int layers = layers_measured(g);
    /* log p, and the first of range.c's points, are of every target */
    *each = i < layers ? (size_t)g->shape.keys[i] : i < layers + 2 ? (size_t)g->shape.outputs : 1;
    if (i < layers)
        return i ? g->layers[i].norms : g->norms;
    return i == layers ? g->logprob : range_point(g, i - layers - 1);
}

int measure_open(struct engine *g, struct error *e)
{
    size_t each = (size_t)readings_count(g),
           ids = (size_t)g->shape.batch * ((size_t)g->shape.n + 1);
    if (g->shape.kind != REQUEST_GRADIENT)
        return 0;
    for (int i = 0; i < ENGINE_AHEAD; i++) {
        struct begun *b = &g->begun[i];
        if (!(b->ids = calloc(ids, sizeof *b->ids)))
            return fail_memory(e, (double)ids * sizeof *b->ids, "token ids");
        if (g->k->read_begin && !(b->readings = calloc(each, sizeof *b->readings)))
            return fail_memory(e, (double)each * sizeof *b->readings, "readings");
    }
    return 0;
}

/* Ends the remaining readings of a batch, and discards their values. */
static void drop(struct engine *g, struct begun *b)
{
    struct error unused;
    for (int i = 0; b->readings && i < readings_count(g); i++)
        if (b->readings[i]) {
            g->k->read_end(g->k, NULL, b->readings[i],
                           &unused); /* only after a failure already reported */
            b->readings[i] = NULL;
        }
}

void measure_close(struct engine *g)
{
    g->begun_count = 0;
    g->ties_measured = NULL;
    for (int i = 0; i < ENGINE_AHEAD; i++) {
        drop(g, &g->begun[i]);
        free(g->begun[i].readings);
        free(g->begun[i].ids);
        g->begun[i] = (struct begun){0};
    }
}

int engine_ahead(const struct engine *g)
{
    return g->k->read_begin ? ENGINE_AHEAD : 1;
}

/* engine_begin, with all of the pass or what follows forward_blocks. */
static int begin(struct engine *g, const int32_t *ids, int count,
                 int pass(struct engine *, struct buffer **, int, struct error *), struct error *e)
{
    struct kernels *k = g->k;
    struct buffer *gradient;
    size_t each;
    if (g->begun_count == engine_ahead(g))
        return fail(e, "%d batches are begun and none is ended", g->begun_count);
    int slot = (g->begun_first + g->begun_count) % ENGINE_AHEAD;
    struct begun *b = &g->begun[slot];
    if (g->tie_counts) {
        g->ties = g->tie_counts + (size_t)slot * (size_t)g->shape.batch;
        memset(g->ties, 0, (size_t)count * sizeof *g->ties);
    }
    int rc = engine_expects(g, REQUEST_GRADIENT, e) || engine_upload(g, ids, 0, count, e) ||
             pass(g, &gradient, count, e);
    g->ties = NULL;
    if (rc)
        return -1;
    reverse_norms(g, gradient, count);
    b->count = count;
    memcpy(b->ids, ids, (size_t)count * ((size_t)g->shape.n + 1) * sizeof *ids);
    for (int i = 0; b->readings && i < readings_count(g); i++) {
        const struct buffer *from = reading_of(g, i, &each);
        if (!(b->readings[i] = k->read_begin(k, from, 0, (size_t)count * each, e))) {
            drop(g, b);
            return -1;
        }
    }
    g->begun_count++;
    return 0;
}

int engine_begin(struct engine *g, const int32_t *ids, int count, struct error *e)
{
    return begin(g, ids, count, reverse_pass, e);
}

/* Reading i of the batch, from its buffer if the set is synchronous. */
static int take(struct engine *g, double *values, struct begun *b, int i, struct error *e)
{
    size_t each;
    const struct buffer *from = reading_of(g, i, &each);
    if (!b->readings) {
        g->k->read(g->k, values, from, 0, (size_t)b->count * each);
        return 0;
    }
    struct reading *r = b->readings[i];
    b->readings[i] = NULL;
    return g->k->read_end(g->k, values, r, e);
}

/* Norms of layer l [count, keys] into norm [count, layers, n], 0 outside the cone. */
static int take_norms(struct engine *g, double *norm, struct begun *b, int l, struct error *e)
{
    size_t n = (size_t)g->shape.n, rows = (size_t)g->shape.keys[l], count = (size_t)b->count,
           layers = (size_t)layers_measured(g);
    double *values = malloc(count * rows * sizeof *values);
    if (!values)
        return fail_memory(e, 8.0 * (double)count * (double)rows, "norms");
    int rc = take(g, values, b, l, e);
    for (size_t s = 0; rc == 0 && s < count; s++) {
        double *to = norm + (s * layers + (size_t)l) * n;
        memset(to, 0, (n - rows) * sizeof *to);
        memcpy(to + (n - rows), values + s * rows, rows * sizeof *to);
    }
    free(values);
    return rc;
}

/* Everything read from a batch: norm [count, layers, n], logprob [count, outputs], and the extent
 * [count] of its gradients. */
static int take_all(struct engine *g, double *norm, double *logprob, struct extent *extent,
                    struct begun *b, struct error *e)
{
    size_t n = (size_t)g->shape.n, count = (size_t)b->count, layers = (size_t)layers_measured(g),
           outputs = (size_t)g->shape.outputs;
    double *peak = calloc(count * outputs, sizeof *peak);
    int rc = peak ? 0 : fail_memory(e, 8.0 * (double)count * (double)outputs, "norms");
    for (int l = 0; rc == 0 && l < (int)layers; l++)
        rc = take_norms(g, norm, b, l, e);
    if (rc == 0)
        rc = take(g, logprob, b, (int)layers, e);
    for (size_t s = 0; s < count; s++)
        extent[s] = EXTENT_NONE;
    for (int point = 0; rc == 0 && point < range_points(g); point++) {
        size_t each = point == 0 ? outputs : 1;
        rc = take(g, peak, b, (int)layers + 1 + point, e);
        for (size_t s = 0; rc == 0 && s < count * each; s++)
            extent_add(&extent[s / each], peak[s]);
    }
    free(peak);
    if (rc == 0 && !b->readings)
        rc = g->k->synchronize(g->k, e);
    /* what the recurrence of a block that rejoins reads may be without effect */
    for (size_t i = 0; rc == 0 && i < count * layers; i++)
        if (g->d->blocks[i % layers].residual != RESIDUAL_REJOIN)
            extent_add_rows(&extent[i / layers], norm + i * n, n);
    return rc;
}

/* Norms [layers, n] of segment s of a batch, with gradients of that extent, measured with seeds
 * that fit them; NaN if none does. A batch in progress keeps its numbers, whose readings are
 * already enqueued. */
static int measure_again(struct engine *g, double *norm, const int32_t *ids, int s,
                         struct extent extent, struct error *e)
{
    struct begun one = {.count = 1};
    struct buffer *gradient;
    double own = g->seed, *logprob = calloc((size_t)g->shape.outputs, sizeof *logprob);
    int exponent = 0, tries = 0, rc = logprob ? 0 : fail_memory(e, 8.0 * g->shape.outputs, "log p");
    while (rc == 0 && range_next(&exponent, &tries, g, &extent)) {
        g->seed = ldexp(own, exponent);
        rc = engine_upload(g, ids, s, 1, e) || reverse_pass(g, &gradient, 1, e) ? -1 : 0;
        g->seed = own;
        if (rc)
            break;
        reverse_norms(g, gradient, 1);
        rc = take_all(g, norm, logprob, &extent, &one, e);
    }
    free(logprob);
    if (rc)
        return -1;
    range_end(norm, (size_t)g->shape.n * (size_t)layers_measured(g), exponent, g, &extent);
    return rc;
}

static int all_finite(const double *value, int count)
{
    int finite = 1;
    for (int i = 0; i < count; i++)
        finite &= isfinite(value[i]) != 0;
    return finite;
}

int engine_end(struct engine *g, double *norm, double *logprob, struct error *e)
{
    struct begun *b = &g->begun[g->begun_first];
    size_t n = (size_t)g->shape.n, layers = (size_t)layers_measured(g);
    if (g->begun_count == 0)
        return fail(e, "no batch is begun");
    struct extent *extent = calloc((size_t)b->count, sizeof *extent);
    int rc = extent ? take_all(g, norm, logprob, extent, b, e)
                    : fail_memory(e, (double)b->count * sizeof *extent, "norms");
    drop(g, b);
    for (size_t s = 0; rc == 0 && s < (size_t)b->count; s++)
        if (all_finite(logprob + s * (size_t)g->shape.outputs, g->shape.outputs) &&
            !extent_fits(g, &extent[s]))
            rc = measure_again(g, norm + s * layers * n, b->ids + s * (n + 1), (int)s, extent[s],
                               e);
    free(extent);
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

int engine_measure(struct engine *g, double *norm, double *logprob, const int32_t *ids, int count,
                   struct error *e)
{
    return engine_begin(g, ids, count, e) || engine_end(g, norm, logprob, e) ? -1 : 0;
}

int engine_reverse(struct engine *g, double *norm, double *logprob, const int32_t *ids, int count,
                   struct error *e)
{
    return begin(g, ids, count, reverse_blocks, e) || engine_end(g, norm, logprob, e) ? -1 : 0;
}
