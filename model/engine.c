/* The engine: allocates by the plan, runs batches of segments forward and in reverse. */
#include "model/engine_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make(struct engine *g, struct buffer **out, enum buffer_role role, size_t count, struct error *e)
{
    if (count == 0)
        return 0;
    *out = g->k->create(g->k, role, count, e);
    return *out ? 0 : -1;
}

static struct buffer **kept_member(struct kept *s, int member)
{
    struct buffer **members[KEPT_BUFFERS] = {&s->statistics_1,
                                             &s->q,
                                             &s->kv,
                                             &s->lse,
                                             &s->o,
                                             &s->mid,
                                             &s->statistics_2,
                                             &s->up,
                                             &s->gate,
                                             &s->raw_q,
                                             &s->raw_kv,
                                             &s->statistics_q,
                                             &s->statistics_k,
                                             &s->attention_sum,
                                             &s->mlp_sum,
                                             &s->statistics_3,
                                             &s->statistics_4};
    return members[member];
}

/* Buffers of the stored layers, and one set for all others, as large as the largest of them. */
static int make_kept(struct engine *g, int batch, struct error *e)
{
    const struct decoder *d = g->d;
    int first_stored = d->layers - g->plan.stored_layers;
    size_t largest[KEPT_BUFFERS] = {0}, elements[KEPT_BUFFERS];
    for (int l = 0; l < d->layers; l++) {
        plan_kept(elements, d, l, g->keys[l] + plan_carry(d, &g->options, l), g->queries[l], batch);
        for (int i = 0; i < KEPT_BUFFERS; i++) {
            if (l >= first_stored) {
                if (make(g, kept_member(&g->kept[l], i), plan_kept_role(i), elements[i], e))
                    return -1;
            } else {
                largest[i] = elements[i] > largest[i] ? elements[i] : largest[i];
            }
        }
    }
    for (int i = 0; i < KEPT_BUFFERS; i++)
        if (make(g, kept_member(&g->scratch, i), plan_kept_role(i), largest[i], e))
            return -1;
    for (int l = 0; l < first_stored; l++)
        g->kept[l] = g->scratch;
    return 0;
}

/* The rows of position_rows that the inputs of a segment add: its last ones. */
static int make_places(struct engine *g, int batch, struct error *e)
{
    size_t rows = (size_t)g->keys[0];
    if (make(g, &g->places, ROLE_INDEX, (size_t)batch * rows, e))
        return -1;
    int32_t *places = calloc(rows, sizeof *places);
    if (!places)
        return fail_memory(e, 4.0 * (double)rows, "positions");
    for (size_t i = 0; i < rows; i++)
        places[i] = (int32_t)((size_t)g->n - rows + i);
    for (int b = 0; b < batch; b++)
        g->k->write_index(g->k, g->places, (size_t)b * rows, places, rows);
    free(places);
    return 0;
}

static int make_buffers(struct engine *g, struct error *e)
{
    const struct decoder *d = g->d;
    int batch = g->plan.batch, gated = 0, forward = g->options.outputs > 0;
    size_t b = (size_t)batch, hidden = (size_t)d->hidden, embedding = (size_t)d->embedding_width, rows = b * (size_t)g->keys[0];
    size_t q_width = (size_t)d->heads * (size_t)d->head_size, kv_width = 2 * (size_t)d->kv_heads * (size_t)d->head_size;
    size_t inner = hidden > q_width ? hidden : q_width, widest = embedding > inner ? embedding : inner;
    size_t pruned = 0, queries_most = 0, outputs = b * (size_t)g->queries[d->layers - 1];
    for (int l = 0; l < d->layers; l++) {
        size_t queries = b * (size_t)g->queries[l];
        gated |= d->blocks[l].gate.weight.data != NULL;
        queries_most = queries > queries_most ? queries : queries_most;
        if (d->blocks[l].residual == RESIDUAL_PARALLEL && g->queries[l] < g->keys[l] && queries > pruned)
            pruned = queries;
        if (forward && l > 1)
            g->x[l] = g->x[l - 2]; /* two in turn: only reverse wants them all */
        else if (make(g, &g->x[l], ROLE_RESIDUAL, (forward ? rows : b * (size_t)g->keys[l]) * hidden, e))
            return -1;
    }
    if (forward && d->layers > 1)
        g->x[d->layers] = g->x[d->layers - 2];
    else if (make(g, &g->x[d->layers], ROLE_RESIDUAL, outputs * hidden, e))
        return -1;
    if (make(g, &g->tokens, ROLE_INDEX, rows, e) || make(g, &g->targets, ROLE_INDEX, outputs, e) ||
        make(g, &g->y, ROLE_ACTIVATION, rows * widest, e) || make(g, &g->t, ROLE_ACTIVATION, rows * inner, e) ||
        make(g, &g->r, ROLE_RESIDUAL, pruned * hidden, e) || make(g, &g->a, ROLE_ACTIVATION, queries_most * (size_t)d->mlp, e) ||
        make(g, &g->last, ROLE_ACTIVATION, outputs * embedding, e) ||
        make(g, &g->final_statistics, ROLE_STATISTIC, 2 * outputs, e) || make(g, &g->logprob, ROLE_STATISTIC, outputs, e))
        return -1;
    if (d->embedding_norm.present &&
        (make(g, &g->raw, ROLE_RESIDUAL, rows * hidden, e) || make(g, &g->raw_statistics, ROLE_STATISTIC, 2 * rows, e)))
        return -1;
    if (d->project_in.weight.data && (make(g, &g->narrow, ROLE_RESIDUAL, rows * embedding, e) || make_places(g, batch, e)))
        return -1;
    for (int l = 0; g->carry && l < d->layers; l++)
        if (make(g, &g->carry[l], ROLE_ACTIVATION, b * (size_t)plan_carry(d, &g->options, l) * kv_width, e))
            return -1;
    if (g->carry && make(g, &g->fresh, ROLE_ACTIVATION, rows * kv_width, e))
        return -1;
    if (g->options.attention && make(g, &g->mass, ROLE_STATISTIC, b * (size_t)d->heads * (size_t)g->keys[0], e))
        return -1;
    if (forward)
        return make_kept(g, batch, e);
    for (int l = 1; g->layer_norms && l < d->layers; l++)
        if (make(g, &g->layer_norms[l], ROLE_STATISTIC, b * (size_t)g->keys[l], e))
            return -1;
    if (g->options.attribution != ATTRIBUTION_GRAD) {
        size_t elements = (size_t)g->keys[0] * embedding;
        if (make(g, &g->mean, ROLE_RESIDUAL, b * elements, e))
            return -1;
        if (!(g->host = calloc(elements + embedding, sizeof *g->host)))
            return fail_memory(e, 8.0 * (double)elements, "a segment's embeddings");
    }
    if (make(g, &g->s, ROLE_RESIDUAL, pruned * hidden, e) ||
        (gated && make(g, &g->da_gate, ROLE_ACTIVATION, queries_most * (size_t)d->mlp, e)) ||
        make(g, &g->dq, ROLE_ACTIVATION, queries_most * q_width, e) || make(g, &g->dkv, ROLE_ACTIVATION, rows * kv_width, e) ||
        make(g, &g->g[0], ROLE_RESIDUAL, rows * hidden, e) || make(g, &g->g[1], ROLE_RESIDUAL, rows * hidden, e) ||
        make(g, &g->d_last, ROLE_ACTIVATION, b * embedding, e) || make(g, &g->norms, ROLE_STATISTIC, rows, e))
        return -1;
    return make_kept(g, batch, e);
}

struct engine *engine_create(struct kernels *k, const struct decoder *d, const struct engine_options *o, struct error *e)
{
    struct engine *g = calloc(1, sizeof *g);
    size_t layers = (size_t)d->layers;
    if (!g) {
        fail_memory(e, sizeof *g, "engine");
        return NULL;
    }
    g->k = k, g->d = d, g->options = *o, g->n = o->positions, g->input_scale = 1;
    if (o->positions < 1) {
        fail(e, "a segment needs at least 2 tokens: one input and the target");
        goto failed;
    }
    if (d->position_limit && o->positions > d->position_limit) {
        fail(e, "%s: has %d learned positions, a segment of %d tokens needs %d (the longest --length that works is %d)", d->path,
             d->position_limit, o->positions + 1, o->positions, d->position_limit + 1);
        goto failed;
    }
    if (engine_estimate(&g->plan, k, d, o, e))
        goto failed;
    g->keys = calloc(layers, sizeof *g->keys);
    g->queries = calloc(layers, sizeof *g->queries);
    g->blocks = calloc(layers, sizeof *g->blocks);
    g->attention = calloc(layers, sizeof *g->attention);
    g->x = calloc(layers + 1, sizeof *g->x);
    g->kept = calloc(layers, sizeof *g->kept);
    g->carry = o->carry ? calloc(layers, sizeof *g->carry) : NULL;
    g->layer_norms = o->by_layer ? calloc(layers, sizeof *g->layer_norms) : NULL;
    if ((o->carry && !g->carry) || (o->by_layer && !g->layer_norms) || !g->keys || !g->queries || !g->blocks || !g->attention ||
        !g->x || !g->kept) {
        fail_memory(e, (double)layers * sizeof *g->blocks, "engine");
        goto failed;
    }
    plan_rows(d, o, g->n, g->keys, g->queries);
    if (scores_create(g, e) || weights_load_shared(g, e) || make_buffers(g, e) || measure_open(g, e))
        goto failed;
    return g;
failed:
    engine_close(g);
    return NULL;
}

static void destroy_kept(struct engine *g, struct kept *s)
{
    for (int i = 0; i < KEPT_BUFFERS; i++)
        g->k->destroy(g->k, *kept_member(s, i));
}

void engine_close(struct engine *g)
{
    if (!g)
        return;
    struct kernels *k = g->k;
    int layers = g->d->layers;
    measure_close(g);
    if (g->blocks)
        weights_free_all(g);
    for (int l = 0; g->attention && l < layers; l++) {
        int shared = 0;
        for (int before = 0; before < l; before++)
            shared |= g->attention[before] == g->attention[l];
        if (g->attention[l] && !shared)
            k->attention_free(k, g->attention[l]);
    }
    for (int l = 0; g->x && l <= (g->options.outputs && layers > 1 ? 1 : layers); l++)
        k->destroy(k, g->x[l]);
    for (int l = 0; g->carry && l < layers; l++)
        k->destroy(k, g->carry[l]);
    for (int l = 0; g->layer_norms && l < layers; l++)
        k->destroy(k, g->layer_norms[l]);
    for (int l = 0; g->kept && l < layers; l++)
        if (l >= layers - g->plan.stored_layers)
            destroy_kept(g, &g->kept[l]);
    destroy_kept(g, &g->scratch);
    struct buffer *all[] = {g->tokens,
                            g->targets,
                            g->raw,
                            g->raw_statistics,
                            g->narrow,
                            g->places,
                            g->y,
                            g->t,
                            g->r,
                            g->s,
                            g->a,
                            g->da_gate,
                            g->dq,
                            g->dkv,
                            g->g[0],
                            g->g[1],
                            g->last,
                            g->d_last,
                            g->final_statistics,
                            g->logprob,
                            g->norms,
                            g->fresh,
                            g->mean,
                            g->mass};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        k->destroy(k, all[i]);
    free(g->keys), free(g->queries), free(g->blocks), free(g->attention), free(g->x), free(g->kept), free(g->carry);
    free(g->layer_norms), free(g->host);
    free(g);
}

const struct memory_plan *engine_plan(const struct engine *g)
{
    return &g->plan;
}

int engine_check_ids(const struct engine *g, const int32_t *ids, size_t count, struct error *e)
{
    const struct decoder *d = g->d;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= d->vocabulary)
            return fail(e, "%s: token id %d is outside the vocabulary of %d", d->path, (int)ids[i], d->vocabulary);
        if (ids[i] == d->padding)
            return fail(e, "%s: token id %d is padding, which the model's positions do not count (expected segments without it)",
                        d->path, (int)ids[i]);
    }
    return 0;
}

int engine_upload(struct engine *g, const int32_t *ids, int count, struct error *e)
{
    struct kernels *k = g->k;
    size_t n = (size_t)g->n, rows = (size_t)g->keys[0];
    if (count < 1 || count > g->plan.batch)
        return fail(e, "%d segments at once, planned for %d", count, g->plan.batch);
    if (engine_check_ids(g, ids, (size_t)count * (n + 1), e))
        return -1;
    int32_t *inputs = malloc((size_t)count * (rows + 1) * sizeof *inputs), *targets;
    if (!inputs)
        return fail_memory(e, 4.0 * count * ((double)rows + 1), "token ids");
    targets = inputs + (size_t)count * rows;
    for (size_t b = 0; b < (size_t)count; b++) {
        memcpy(inputs + b * rows, ids + b * (n + 1) + (n - rows), rows * sizeof *inputs);
        targets[b] = ids[b * (n + 1) + n];
    }
    k->write_index(k, g->tokens, 0, inputs, (size_t)count * rows); /* at once: on a device each write waits */
    k->write_index(k, g->targets, 0, targets, (size_t)count);
    free(inputs);
    return 0;
}

/* *finite = 1 if the first `count` elements are; -1 on failure. */
static int all_finite(struct engine *g, const struct buffer *b, size_t count, int *finite, struct error *e)
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
    size_t hidden = (size_t)g->d->hidden;
    if (engine_upload(g, ids, 1, e))
        return -1;
    forward_embed(g, 1);
    for (*layer = -1; *layer < layers; ++*layer) {
        size_t rows = *layer + 1 < layers ? (size_t)g->keys[*layer + 1] : 1;
        if (all_finite(g, g->x[*layer + 1], rows * hidden, &finite, e))
            return -1;
        if (!finite || *layer + 1 == layers)
            break;
        if (weights_need(g, *layer + 1, e))
            return -1;
        forward_block(g, *layer + 1, 1, 0);
        if (g->k->synchronize(g->k, e))
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
