/* The engine: allocates by the plan, runs batches of segments forward and in reverse. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int engine_fill_places(struct engine *g, struct error *e)
{
    size_t rows = (size_t)g->shape.keys[0];
    int32_t *places = calloc(rows, sizeof *places);
    if (!places)
        return fail_memory(e, 4.0 * (double)rows, "positions");
    for (size_t i = 0; i < rows; i++)
        places[i] = (int32_t)((size_t)g->shape.n - rows + i);
    for (size_t b = 0; b < (size_t)g->shape.batch; b++)
        g->k->write_index(g->k, g->places, b * rows, places, rows);
    free(places);
    return 0;
}

static int create_activations(struct engine *g, struct error *e)
{
    size_t host = attribution_host(&g->shape);
    if (buffers_create(g, e) || slices_open(g, e) || aside_open(g, e) || experts_open(g, e) ||
        (g->places && engine_fill_places(g, e)) || (g->d->streams.count && streams_open(g, e)) ||
        (g->half[0] && detour_open(g, e)))
        return -1;
    if (host && !(g->host = calloc(host, sizeof *g->host)))
        return fail_memory(e, 8.0 * (double)host, "a segment's embeddings");
    return 0;
}

/* Everything that depends on the request, by its plan. */
static int create_planned(struct engine *g, struct error *e)
{
    const struct engine_request *request = &g->request;
    g->seed = request->kind == REQUEST_GRADIENT && request->gradient.seed != 0
                  ? request->gradient.seed
                  : 1;
    if (plan_make(&g->plan, &g->shape, g->k, g->d, request, e))
        return -1;
    if (g->shape.contrast) {
        size_t batch = (size_t)g->plan.batch;
        if (!(g->contrasts = calloc(batch, sizeof *g->contrasts)))
            return fail_memory(e, 4.0 * (double)batch, "contrasts");
        for (size_t b = 0; b < batch; b++)
            g->contrasts[b] = request->gradient.against;
        if (engine_check_ids(g, g->contrasts, 1, e))
            return -1;
    }
    return scores_create(g, e) || (!g->embedding && weights_load_shared(g, e)) ||
                   weights_load_planned(g, e) || create_activations(g, e) || measure_open(g, e)
               ? -1
               : 0;
}

/* Frees it; weights stay. */
static void close_planned(struct engine *g)
{
    size_t layers = (size_t)g->d->layers;
    measure_close(g);
    if (g->attention)
        scores_close(g);
    aside_close(g);
    if (g->shape.keys && g->shape.queries) { /* opened, after the memory below was there */
        buffers_destroy(g);
        slices_close(g);
        experts_close(g);
        memset(g->layers, 0, (layers + 1) * sizeof *g->layers);
    }
    shape_close(&g->shape);
    free(g->host), free(g->contrasts);
    g->host = NULL, g->contrasts = NULL, g->rounded_of = NULL;
}

struct engine *engine_create(struct kernels *k, const struct decoder *d,
                             const struct engine_request *request, struct error *e)
{
    struct engine *g = calloc(1, sizeof *g);
    size_t layers = (size_t)d->layers;
    if (!g) {
        fail_memory(e, sizeof *g, "engine");
        return NULL;
    }
    g->k = k, g->d = d, g->request = *request, g->input_scale = 1;
    g->blocks = calloc(layers, sizeof *g->blocks);
    g->attention = calloc(layers, sizeof *g->attention);
    g->layers = calloc(layers + 1, sizeof *g->layers);
    if (!g->blocks || !g->attention || !g->layers) {
        fail_memory(e, (double)layers * sizeof *g->blocks, "engine");
        goto failed;
    }
    if (create_planned(g, e))
        goto failed;
    return g;
failed:
    engine_close(g);
    return NULL;
}

int engine_reshape(struct engine *g, const struct engine_request *request, struct error *e)
{
    double budget = g->plan.budget; /* what is free now lacks the loaded weights */
    if (engine_expects(g, request->kind, e))
        return -1;
    close_planned(g);
    g->request = *request;
    if (!request->memory && budget < (double)SIZE_MAX)
        g->request.memory = (size_t)budget;
    return create_planned(g, e);
}

void engine_close(struct engine *g)
{
    if (!g)
        return;
    close_planned(g);
    if (g->blocks)
        weights_free_all(g);
    free(g->blocks), free(g->attention), free(g->layers);
    free(g);
}

void engine_watch(struct engine *g, void (*seen)(void *context, double part), void *context)
{
    g->seen = g->k->read_begin ? NULL : seen;
    g->seen_context = context;
}

/* In reverse a block takes about twice as long as forward, and once more if it is recomputed. */
void engine_seen(struct engine *g, int blocks)
{
    int layers = g->d->layers, all = layers;
    if (g->shape.kind == REQUEST_GRADIENT)
        all = (4 * layers - g->plan.stored_layers) *
              attribution_passes(g->request.gradient.attribution);
    if (g->seen)
        g->seen(g->seen_context, (double)blocks / all);
}

const struct memory_plan *engine_plan(const struct engine *g)
{
    return &g->plan;
}

int engine_expects(const struct engine *g, enum request_kind kind, struct error *e)
{
    static const char *const names[] = {"gradients", "log p of many targets", "attention"};
    return g->shape.kind == kind ? 0
                                 : fail(e, "the engine was made for %s, not for %s",
                                        names[g->shape.kind], names[kind]);
}

int engine_check_ids(const struct engine *g, const int32_t *ids, size_t count, struct error *e)
{
    const struct decoder *d = g->d;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= d->vocabulary)
            return fail(e, "%s: token id %d is outside the vocabulary of %d", d->path, (int)ids[i],
                        d->vocabulary);
        if (ids[i] == d->padding)
            return fail(e,
                        "%s: token id %d is padding, which the model's positions do not count "
                        "(expected segments without it)",
                        d->path, (int)ids[i]);
    }
    return 0;
}

int engine_contrast(struct engine *g, const int32_t *against, int count, struct error *e)
{
    if (!g->contrasts || count > g->plan.batch)
        return fail(e, "%d contrasts for an engine of %d segments%s", count, g->plan.batch,
                    g->contrasts ? "" : " without them");
    memcpy(g->contrasts, against, (size_t)count * sizeof *against);
    return engine_check_ids(g, against, (size_t)count, e);
}

void engine_write_tokens(struct engine *g, size_t at, const int32_t *ids, size_t count)
{
    int32_t some[256];
    g->k->write_index(g->k, g->tokens, at, ids, count);
    for (size_t i = 0, now; g->side_tokens && i < count; i += now) {
        now = count - i < 256 ? count - i : 256;
        for (size_t j = 0; j < now; j++)
            some[j] = ids[i + j] < g->d->side_rows ? ids[i + j] : 0;
        g->k->write_index(g->k, g->side_tokens, at + i, some, now);
    }
}

int engine_upload(struct engine *g, const int32_t *ids, int first, int count, struct error *e)
{
    struct kernels *k = g->k;
    size_t n = (size_t)g->shape.n, rows = (size_t)g->shape.keys[0],
           outputs = (size_t)g->shape.outputs;
    if (count < 1 || first + count > g->plan.batch)
        return fail(e, "%d segments at once, planned for %d", first + count, g->plan.batch);
    if (engine_check_ids(g, ids, (size_t)count * (n + 1), e))
        return -1;
    int32_t *inputs = malloc((size_t)count * (rows + outputs) * sizeof *inputs), *targets;
    if (!inputs)
        return fail_memory(e, 4.0 * count * ((double)rows + (double)outputs), "token ids");
    targets = inputs + (size_t)count * rows;
    for (size_t b = 0; b < (size_t)count; b++) {
        memcpy(inputs + b * rows, ids + b * (n + 1) + (n - rows), rows * sizeof *inputs);
        memcpy(targets + b * outputs, ids + b * (n + 1) + (n + 1 - outputs),
               outputs * sizeof *targets);
    }
    engine_write_tokens(g, 0, inputs, (size_t)count * rows); /* at once: each device write waits */
    k->write_index(k, g->targets, 0, targets, (size_t)count * outputs);
    if (g->against)
        k->write_index(k, g->against, 0, g->contrasts + first, (size_t)count);
    free(inputs);
    return 0;
}

/* *finite = 1 if the first `count` elements are; -1 on failure. */
static int all_finite(struct engine *g, const struct buffer *b, size_t count, int *finite,
                      struct error *e)
{
    double *values = malloc(count * sizeof *values);
    if (!values)
        return fail_memory(e, (double)count * sizeof *values, "layer output");
    g->k->read(g->k, values, b, 0, count);
    *finite = 1;
    for (size_t i = 0; i < count; i++)
        *finite &= isfinite(values[i]) != 0;
    free(values);
    return g->k->synchronize(g->k, e);
}

int engine_first_nonfinite(struct engine *g, const int32_t *ids, int *layer, struct error *e)
{
    int layers = g->d->layers, finite;
    size_t width = (size_t)stream_width(g->d);
    if (engine_expects(g, REQUEST_GRADIENT, e) || engine_upload(g, ids, 0, 1, e))
        return -1;
    forward_embed(g, 1);
    for (*layer = -1; *layer < layers; ++*layer) {
        size_t rows = (size_t)g->shape.keys[*layer + 1];
        if (all_finite(g, g->layers[*layer + 1].x, rows * width, &finite, e))
            return -1;
        if (!finite || *layer + 1 == layers)
            break;
        if (weights_need(g, *layer + 1, e) || forward_block(g, *layer + 1, 1, 0, e) ||
            g->k->synchronize(g->k, e))
            return -1;
        weights_done(g, *layer + 1);
    }
    if (!finite)
        return 0;
    double logprob;
    *layer = layers;
    reverse_head(g, g->g[0], 1);
    g->k->read(g->k, &logprob, g->logprob, 0, 1);
    if (g->k->synchronize(g->k, e))
        return -1;
    if (isfinite(logprob))
        *layer = layers + 1;
    return 0;
}
