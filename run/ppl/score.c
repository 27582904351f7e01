/* From a protocol to runs of the engine, and back to the targets' places. */
#include "run/ppl/score.h"

#include "run/interrupt.h"
#include "model/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 2048, /* inputs of a piece of a cached pass: fixed, so that results do not depend on memory */
    CARRY_MAX = 1 << 30 /* positions; more than any window */
};

/* Windows that one engine can run: all have engine.positions inputs, and as many targets as engine.score.outputs or, at the end
 * of a stream, fewer. */
struct pass {
    struct engine_request engine;
    size_t first, per_stream; /* of each stream, windows first .. first + per_stream - 1; of last, all segments */
    size_t streams;
};

static size_t stream_count(const struct tokens *t)
{
    return t->columns ? t->rows : 1;
}

static size_t stream_length(const struct tokens *t)
{
    return t->columns ? t->columns : t->total;
}

size_t score_targets(const struct ppl_run *r, const struct ppl_model *m)
{
    return r->options->protocol == PROTOCOL_LAST ? m->segments.count : stream_count(m->tokens) * (stream_length(m->tokens) - 1);
}

static struct pass cached_pass(const struct ppl_run *r, const struct ppl_model *m)
{
    size_t inputs = stream_length(m->tokens) - 1, piece = inputs < PIECE ? inputs : PIECE, before = (inputs - 1) / piece * piece;
    struct engine_request o = {.kind = REQUEST_SCORE, .batch = 1, .memory = r->options->machine.memory};

    o.score.outputs = (int)piece;
    o.score.carry = before < 1 ? 1 : before < CARRY_MAX ? (int)before : CARRY_MAX;
    return (struct pass){o, 0, (inputs + piece - 1) / piece, stream_count(m->tokens)};
}

/* The passes of a protocol, at most 2; returns their number. */
static int passes_of(struct pass out[2], const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at)
{
    struct engine_request o = {.kind = REQUEST_SCORE,
                               .positions = (int)at->context,
                               .memory = r->options->machine.memory,
                               .score = {.outputs = (int)at->context}};
    size_t targets, rest;

    if (r->options->protocol == PROTOCOL_CACHED) {
        out[0] = cached_pass(r, m);
        return 1;
    }
    if (r->options->protocol == PROTOCOL_LAST) {
        o.score.outputs = 1;
        o.segments = m->segments.count;
        out[0] = (struct pass){o, 0, m->segments.count, 1};
        return 1;
    }
    targets = stream_length(m->tokens) - 1;
    out[0] = (struct pass){o, 0, at->stride ? 1 : targets / at->context, stream_count(m->tokens)};
    out[0].engine.segments = out[0].per_stream * out[0].streams;
    rest = window_count(targets + 1, at->context, at->stride) - out[0].per_stream;
    if (rest == 0)
        return 1;
    out[1] = (struct pass){o, out[0].per_stream, rest, stream_count(m->tokens)};
    if (at->stride)
        out[1].engine.score.outputs = (int)at->stride; /* only the new targets are computed to the end */
    else
        out[1].engine.positions = out[1].engine.score.outputs = (int)(targets % at->context); /* the shorter last block */
    out[1].engine.segments = out[1].per_stream * out[1].streams;
    return 2;
}

size_t score_steps(const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at)
{
    struct pass passes[2];
    size_t steps = 0;

    for (int i = passes_of(passes, r, m, at); i-- > 0;)
        steps += passes[i].per_stream * passes[i].streams;
    return steps;
}

int score_estimate(struct memory_plan *plan, const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at,
                   struct error *e)
{
    struct pass passes[2];

    *plan = (struct memory_plan){0};
    for (int i = passes_of(passes, r, m, at); i-- > 0;) {
        struct memory_plan one;

        if (engine_estimate(&one, r->kernels, m->decoder, &passes[i].engine, e) != 0)
            return -1;
        if (one.total > plan->total)
            *plan = one;
    }
    return 0;
}

/* Where a window's tokens lie, and where its targets belong. */
struct place {
    const int32_t *ids; /* [engine.positions + 1] */
    size_t output, scored; /* of the engine's outputs, the first that is a target's, and the number of them */
    size_t target; /* place of the first among all targets */
};

/* Window `index` of a pass. */
static struct place find_window(const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at,
                                const struct pass *p, size_t index)
{
    size_t length, stream = index / p->per_stream, outputs = (size_t)p->engine.score.outputs;
    struct window w;

    if (r->options->protocol == PROTOCOL_LAST)
        return (struct place){m->segments.ids + (index + 1) * m->segments.length - at->context - 1, 0, 1, index};
    length = stream_length(m->tokens);
    w = window_at(p->first + index % p->per_stream, length, at->context, at->stride);
    return (struct place){m->tokens->ids + stream * length + w.first, outputs - w.scored, w.scored,
                          stream * (length - 1) + w.first + w.inputs - w.scored};
}

/* Runs all windows of a pass in batches. */
static int run_windows(double *nll, struct ppl_result *at, const struct ppl_run *r, const struct ppl_model *m,
                       const struct pass *p, struct engine *g, struct error *e)
{
    size_t batch = (size_t)engine_plan(g)->batch, each = (size_t)p->engine.positions + 1,
           outputs = (size_t)p->engine.score.outputs, all = p->per_stream * p->streams;
    int32_t *ids = reallocarray(NULL, batch * each, sizeof *ids); /* no more than the engine has made room for */
    double *logprob = reallocarray(NULL, batch * outputs, sizeof *logprob);
    int rc = -1;

    if (!ids || !logprob) {
        fail_memory(e, (double)batch * ((double)each * sizeof *ids + (double)outputs * sizeof *logprob), "windows of the text");
        goto end;
    }
    for (size_t i = 0; i < all; i += batch) {
        size_t count = all - i < batch ? all - i : batch;
        double started;

        if (interrupt_wanted()) {
            fail(e, "interrupted");
            goto end;
        }
        for (size_t b = 0; b < count; b++)
            memcpy(ids + b * each, find_window(r, m, at, p, i + b).ids, each * sizeof *ids);
        started = progress_now();
        if (engine_score(g, logprob, ids, (int)count, e) != 0 || tensors_unchanged(m->decoder->tensors, e) != 0)
            goto end;
        at->seconds += progress_now() - started;
        for (size_t b = 0; b < count; b++) {
            struct place w = find_window(r, m, at, p, i + b);

            for (size_t j = 0; j < w.scored; j++)
                nll[w.target + j] = -logprob[b * outputs + w.output + j];
        }
        progress_step(r->progress, count, m->argument->name);
    }
    rc = 0;
end:
    free(ids);
    free(logprob);
    return rc;
}

/* One pass over each stream, in pieces. */
static int run_cached(double *nll, struct ppl_result *at, const struct ppl_run *r, const struct ppl_model *m,
                      const struct pass *p, struct engine *g, struct error *e)
{
    size_t length = stream_length(m->tokens), inputs = length - 1, piece = (size_t)p->engine.score.outputs;

    for (size_t stream = 0; stream < p->streams; stream++) {
        double *to = nll + stream * inputs, started;

        engine_score_restart(g);
        for (size_t i = 0; i < inputs; i += piece) {
            size_t count = inputs - i < piece ? inputs - i : piece;

            if (interrupt_wanted())
                return fail(e, "interrupted");
            started = progress_now();
            if (engine_score_next(g, to + i, m->tokens->ids + stream * length + i, (int)count, e) != 0 ||
                tensors_unchanged(m->decoder->tensors, e) != 0)
                return -1;
            at->seconds += progress_now() - started;
            for (size_t j = i; j < i + count; j++)
                to[j] = -to[j];
            progress_step(r->progress, 1, m->argument->name);
        }
    }
    return 0;
}

/* Says which target has no finite log p, and which layer's output is the first that is not finite, as the segment that ends there
 * shows. Always -1. */
static int explain_nonfinite(const double *nll, size_t count, const struct ppl_result *at, const struct ppl_run *r,
                             const struct ppl_model *m, struct error *e)
{
    size_t first = 0, bad = 0, length, stream, target, inputs;
    char where[96], layer[96] = "no layer's output is so in the tokens before it";
    struct engine_request o = {.kind = REQUEST_GRADIENT, .batch = 1, .memory = r->options->machine.memory};
    struct engine *g;
    const int32_t *ids;
    int at_layer;

    for (size_t i = count; i-- > 0;)
        if (!isfinite(nll[i]))
            bad++, first = i;
    if (r->options->protocol == PROTOCOL_LAST) {
        inputs = at->context;
        ids = m->segments.ids + (first + 1) * m->segments.length - inputs - 1;
        snprintf(where, sizeof where, "of segment %zu", first + 1);
    } else {
        length = stream_length(m->tokens), stream = first / (length - 1), target = first % (length - 1) + 1;
        inputs = r->options->protocol == PROTOCOL_CACHED ? PIECE : at->context;
        inputs = target < inputs ? target : inputs;
        ids = m->tokens->ids + stream * length + target - inputs;
        if (m->tokens->columns)
            snprintf(where, sizeof where, "token %zu of row %zu", target + 1, stream + 1);
        else
            snprintf(where, sizeof where, "token %zu", target + 1);
    }
    o.positions = (int)inputs;
    g = engine_create(r->kernels, m->decoder, &o, e);
    if (g && engine_first_nonfinite(g, ids, &at_layer, e) == 0 && at_layer <= m->decoder->layers) {
        if (at_layer < 0)
            snprintf(layer, sizeof layer, "the output of the embedding is the first that is not finite");
        else if (at_layer == m->decoder->layers)
            snprintf(layer, sizeof layer, "the output of the head is not finite, all layers before it are");
        else
            snprintf(layer, sizeof layer, "the output of layer %d of %d is the first that is not finite", at_layer + 1,
                     m->decoder->layers);
    }
    engine_close(g);
    return fail(e, "%s: log p of %zu of %zu targets is not finite, the first that %s: %s (expected finite numbers)",
                m->argument->path, bad, count, where, layer);
}

int score_run(double *nll, struct ppl_result *at, const struct ppl_run *r, const struct ppl_model *m, struct error *e)
{
    struct pass passes[2];
    int count = passes_of(passes, r, m, at);
    size_t targets = score_targets(r, m);

    at->seconds = 0;
    for (int i = 0; i < count; i++) {
        struct engine *g = engine_create(r->kernels, m->decoder, &passes[i].engine, e);
        int rc;

        if (!g)
            return -1;
        rc = passes[i].engine.score.carry ? run_cached(nll, at, r, m, &passes[i], g, e)
                                          : run_windows(nll, at, r, m, &passes[i], g, e);
        engine_close(g);
        if (rc != 0)
            return -1;
    }
    for (size_t i = 0; i < targets; i++)
        if (!isfinite(nll[i]))
            return explain_nonfinite(nll, targets, at, r, m, e);
    return 0;
}
