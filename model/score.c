/* Forward-only runs: many outputs per segment, one stream in pieces with carried keys and values,
 * or a text with all of them, which another end can follow. */
#include "model/score.h"

#include "model/engine_parts.h"

#include <stdlib.h>

/* From g->tokens and g->targets to log p of the targets, in g->logprob. */
static int run(struct engine *g, int batch, struct error *e)
{
    struct rows rows = {batch, g->shape.keys[g->d->layers]};
    if (forward_blocks(g, batch, e))
        return -1;
    forward_last(g, rows);
    g->k->head_rows(g->k, g->logprob, g->last, g->targets, g->head, g->head_bias,
                    g->d->head_soft_cap, rows, g->d->embedding_width);
    return 0;
}

/* What a request to score is for. */
enum purpose { SEGMENTS, STREAM, TEXT };

/* Fails unless the engine was made for this. */
static int expects(const struct engine *g, enum purpose wanted, struct error *e)
{
    static const char *const names[] = {"segments", "a stream", "a text"};
    enum purpose made = g->shape.retain ? TEXT : g->shape.carry ? STREAM : SEGMENTS;
    if (engine_expects(g, REQUEST_SCORE, e))
        return -1;
    return made == wanted
               ? 0
               : fail(e, "the engine was made for %s, not for %s", names[made], names[wanted]);
}

int engine_score(struct engine *g, double *logprob, const int32_t *ids, int count, struct error *e)
{
    struct kernels *k = g->k;
    size_t n = (size_t)g->shape.n, inputs = (size_t)g->shape.keys[0],
           outputs = (size_t)g->shape.keys[g->d->layers];
    if (expects(g, SEGMENTS, e))
        return -1;
    if (count < 1 || count > g->plan.batch)
        return fail(e, "%d segments at once, planned for %d", count, g->plan.batch);
    if (engine_check_ids(g, ids, (size_t)count * (n + 1), e))
        return -1;
    for (size_t b = 0; b < (size_t)count; b++) {
        const int32_t *segment = ids + b * (n + 1);
        engine_write_tokens(g, b * inputs, segment + (n - inputs), inputs);
        k->write_index(k, g->targets, b * outputs, segment + (n + 1 - outputs), outputs);
    }
    if (run(g, count, e))
        return -1;
    k->read(k, logprob, g->logprob, 0, (size_t)count * outputs);
    return k->synchronize(k, e);
}

/* 1 if the formula's value depends on the length of the segment. */
static int uses_length(const struct formula *f)
{
    for (int i = 0; f && i < f->node_count; i++)
        if (f->nodes[i].kind == NODE_VARIABLE && f->nodes[i].slot == VARIABLE_LENGTH)
            return 1;
    return 0;
}

int score_carry_check(const struct decoder *d, struct error *e)
{
    if (d->position == POSITION_LEARNED)
        return fail(e,
                    "%s: has learned positions, %d of them, and a pass over a whole text needs one "
                    "for each of its tokens",
                    d->path, d->position_limit);
    if (decoder_depends_on_length(d))
        return fail(e,
                    "%s: its rotary frequencies depend on the length (dynamic scaling, or "
                    "longrope), which a pass in pieces does "
                    "not have",
                    d->path);
    for (int l = 0; l < d->layers; l++) {
        const struct score *s = &d->blocks[l].score;
        if (block_recurs(&d->blocks[l]))
            return fail(e,
                        "%s: layer %d of %d is a recurrence, whose state a pass in pieces does not "
                        "carry (expected attention with a window, or a convolution)",
                        d->path, l + 1, d->layers);
        if (!block_attends(&d->blocks[l])) /* its window is the convolution's */
            continue;
        if (s->window < 1)
            return fail(e,
                        "%s: layer %d of %d attends to %s (expected a window in every layer: "
                        "--window N)",
                        d->path, l + 1, d->layers,
                        s->chunk ? "chunks, which begin at fixed positions" : "all keys");
        if (s->query_growth != 0)
            return fail(e,
                        "%s: its queries are scaled by their positions from the beginning of the "
                        "text, which a pass in pieces "
                        "does not have",
                        d->path);
        if (s->keep || s->log_length)
            return fail(e,
                        "%s: %s from the beginning of the text, which a pass in pieces does not "
                        "have (expected no %s)",
                        d->path,
                        s->keep ? "its first keys stay visible, and they are counted"
                                : "its queries are scaled by their positions",
                        s->keep ? "--keep-first" : "--logn");
        if (s->key_bias)
            return fail(e,
                        "%s: its scores depend on the positions of the keys from the beginning of "
                        "the text, which a pass in "
                        "pieces does not have",
                        d->path);
        if (d->blocks[l].query_norm_last && d->blocks[l].query_norm.scale.data)
            return fail(e,
                        "%s: its queries and keys are scaled after the rotation by their positions "
                        "from the beginning of the text, which a pass in pieces does not have",
                        d->path);
        if (uses_length(s->bias) || uses_length(s->multiplier))
            return fail(e,
                        "%s: its position bias depends on the length L, which a pass in pieces "
                        "does not have",
                        d->path);
    }
    return 0;
}

int score_retains(const struct decoder *d)
{
    for (int l = 0; l < d->layers; l++) {
        const struct score *s = &d->blocks[l].score;
        if (block_recurs(&d->blocks[l]) || uses_length(s->bias) || uses_length(s->multiplier) ||
            uses_length(s->key_bias))
            return 0;
    }
    return !decoder_depends_on_length(d);
}

int score_join(struct engine *g, int l, int batch)
{
    struct kernels *k = g->k;
    int most = shape_carry(&g->shape, l), before = g->carried < most ? (int)g->carried : most,
        fresh = g->shape.keys[l], all = before + fresh;
    int width = block_kept_width(g->d, &g->d->blocks[l]), kept = all < most ? all : most;
    k->join(k, g->layers[l].kv, g->layers[l].carry, g->fresh, batch, before, fresh, width);
    if (kept > 0)
        k->tail(k, g->layers[l].carry, g->layers[l].kv, batch, kept, all, width);
    return all;
}

int engine_score_next(struct engine *g, double *logprob, const int32_t *ids, int count,
                      struct error *e)
{
    struct kernels *k = g->k;
    int outputs = g->shape.keys[g->d->layers];
    if (expects(g, STREAM, e))
        return -1;
    if (count < 1 || count > outputs)
        return fail(e, "%d tokens at once, planned for %d", count, outputs);
    if (engine_check_ids(g, ids, (size_t)count + 1, e))
        return -1;
    if (g->d->position == POSITION_SINUSOIDAL &&
        weights_load_positions(g, g->carried + outputs - g->shape.n, e))
        return -1;
    engine_write_tokens(g, 0, ids, (size_t)count);
    k->write_index(k, g->targets, 0, ids + 1, (size_t)count);
    for (int i = count; i < outputs;
         i++) { /* the end of the stream: what follows a token does not change it */
        engine_write_tokens(g, (size_t)i, ids + count, 1);
        k->write_index(k, g->targets, (size_t)i, ids + count, 1);
    }
    if (run(g, 1, e))
        return -1;
    g->carried += outputs;
    k->read(k, logprob, g->logprob, 0, (size_t)count);
    return k->synchronize(k, e);
}

void engine_score_restart(struct engine *g)
{
    g->carried = 0;
}

/* The shape of a call with this many inputs after the carried ones, and everything made by the
 * positions of its rows. */
static int fit(struct engine *g, int count, int outputs, struct error *e)
{
    int n = (int)g->carried + count, grown = n != g->shape.n;
    g->shape.inputs = count;
    g->shape.outputs = outputs;
    shape_rows(&g->shape, n);
    if (grown)
        scores_close(g);
    return (grown && scores_create(g, e)) || (g->places && engine_fill_places(g, e)) ? -1 : 0;
}

int engine_score_on(struct engine *g, double *logprob, const int32_t *ids, int count, int outputs,
                    struct error *e)
{
    struct kernels *k = g->k;
    if (expects(g, TEXT, e))
        return -1;
    if (count < 1 || count > g->request.score.outputs || g->carried + count > g->request.positions)
        return fail(e, "%d inputs after %ld, planned for %d at once and %d in all", count,
                    g->carried, g->request.score.outputs, g->request.positions);
    if (outputs < 1 || outputs > count)
        return fail(e, "%d outputs of %d inputs (expected 1 to %d)", outputs, count, count);
    if (engine_check_ids(g, ids, (size_t)count + 1, e) || fit(g, count, outputs, e))
        return -1;
    engine_write_tokens(g, 0, ids, (size_t)count);
    k->write_index(k, g->targets, 0, ids + 1 + count - outputs, (size_t)outputs);
    if (run(g, 1, e))
        return -1;
    g->carried += count;
    k->read(k, logprob, g->logprob, 0, (size_t)outputs);
    return k->synchronize(k, e);
}

void engine_score_rewind(struct engine *g, int inputs)
{
    if (inputs < g->carried)
        g->carried = inputs;
}
