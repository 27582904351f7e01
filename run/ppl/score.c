/* From a protocol to runs of the engine, and back to the targets' places. */
#include "run/ppl/score.h"

#include "run/interrupt.h"
#include "run/kernels.h"
#include "model/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CARRY_MAX = 1 << 30 /* positions; more than any window */ };

/* Windows for one engine: all have engine.positions inputs, and engine.score.outputs targets or, at
 * the end of a stream, fewer. */
struct pass {
    struct engine_request engine;
    size_t windows; /* of all streams, or segments; for cached, pieces */
    size_t number; /* from 1; 0: none yet */
    size_t rest; /* inputs, of passes over shorter windows; 0: of the others */
};

size_t score_longest(const struct ppl_model *m)
{
    size_t longest = 0;

    for (size_t i = 0; i < m->stream_count; i++)
        longest = m->streams[i].length > longest ? m->streams[i].length : longest;
    return longest;
}

size_t score_targets(const struct ppl_run *r, const struct ppl_model *m)
{
    return r->options->protocol == PROTOCOL_LAST ? m->segments.count : ppl_stream_targets(m);
}

/* The inputs of a stream's window that is shorter than the context, its last one or, where windows
 * slide, its only one; 0: it has none. */
static size_t rest_of(const struct ppl_stream *s, const struct ppl_result *at)
{
    size_t targets = s->length - 1;

    return at->stride && targets > at->context ? 0 : targets % at->context;
}

/* The windows of a stream in a pass: *first and this many after it. */
static size_t windows_of(size_t *first, const struct ppl_stream *s, const struct pass *p,
                         const struct ppl_result *at)
{
    size_t targets = s->length - 1,
           whole = at->stride ? targets >= at->context : targets / at->context;

    *first = p->number == 1 ? 0 : whole;
    if (p->rest)
        return rest_of(s, at) == p->rest;
    return p->number == 1 ? whole
           : whole        ? window_count(s->length, at->context, at->stride) - whole
                          : 0;
}

static size_t count_windows(const struct ppl_model *m, const struct pass *p,
                            const struct ppl_result *at)
{
    size_t count = 0, first;

    for (size_t i = 0; i < m->stream_count; i++)
        count += windows_of(&first, &m->streams[i], p, at);
    return count;
}

static struct pass cached_pass(const struct ppl_run *r, const struct ppl_model *m)
{
    size_t inputs = score_longest(m) - 1, piece = inputs < SCORE_PIECE ? inputs : SCORE_PIECE,
           before = (inputs - 1) / piece * piece;
    struct engine_request o = {.kind = REQUEST_SCORE,
                               .batch = 1,
                               .memory = r->options->machine.memory};

    o.score.outputs = (int)piece;
    o.score.carry = before < 1 ? 1 : before < CARRY_MAX ? (int)before : CARRY_MAX;
    struct pass p = {.engine = o, .number = 1};
    for (size_t i = 0; i < m->stream_count; i++)
        p.windows += (m->streams[i].length - 1 + piece - 1) / piece;
    return p;
}

/* The shorter windows of the streams: the smallest size above `rest`; 0: no more. */
static size_t next_rest(const struct ppl_model *m, const struct ppl_result *at, size_t rest)
{
    size_t next = 0;

    for (size_t i = 0; i < m->stream_count; i++) {
        size_t own = rest_of(&m->streams[i], at);

        if (own > rest && (!next || own < next))
            next = own;
    }
    return next;
}

/* The passes of a protocol in order, *p zeroed before the first; 0 after the last. */
static int next_pass(struct pass *p, const struct ppl_run *r, const struct ppl_model *m,
                     const struct ppl_result *at)
{
    struct engine_request o = {.kind = REQUEST_SCORE,
                               .positions = (int)at->context,
                               .memory = r->options->machine.memory,
                               .score = {.outputs = (int)at->context}};
    enum protocol protocol = r->options->protocol;

    if (p->number && (protocol == PROTOCOL_CACHED || protocol == PROTOCOL_LAST))
        return 0;
    if (protocol == PROTOCOL_CACHED) {
        *p = cached_pass(r, m);
        return 1;
    }
    if (protocol == PROTOCOL_LAST) {
        o.score.outputs = 1;
        o.segments = m->segments.count;
        *p = (struct pass){.engine = o, .windows = o.segments, .number = 1};
        return 1;
    }
    do {
        size_t number = p->number + 1, rest = 0;

        if (number == 2 && at->stride)
            o.score.outputs = (int)at->stride; /* only the new targets are needed */
        else if (number > 1) {
            if (!(rest = next_rest(m, at, p->rest)))
                return 0;
            o.positions = o.score.outputs = (int)rest;
        }
        *p = (struct pass){.engine = o, .number = number, .rest = rest};
        p->windows = p->engine.segments = count_windows(m, p, at);
    } while (!p->windows);
    return 1;
}

size_t score_steps(const struct ppl_run *r, const struct ppl_model *m, const struct ppl_result *at)
{
    struct pass p = {0};
    size_t steps = 0;

    while (next_pass(&p, r, m, at))
        steps += p.windows;
    return steps;
}

int score_estimate(struct memory_plan *plan, const struct ppl_run *r, const struct ppl_model *m,
                   const struct ppl_result *at, struct error *e)
{
    struct pass p = {0};

    *plan = (struct memory_plan){0};
    while (next_pass(&p, r, m, at)) {
        struct memory_plan one;

        if (engine_estimate(&one, r->kernels, m->decoder, &p.engine, e) != 0)
            return -1;
        if (one.total > plan->total)
            *plan = one;
    }
    return 0;
}

/* The place of a window's tokens, and of its targets. */
struct place {
    const int32_t *ids; /* [engine.positions + 1] */
    size_t output,
        scored; /* of the engine's outputs, the first that is a target's, and the number of them */
    size_t target; /* place of the first among all targets */
};

/* The next window of a pass: number `index` in `stream`, or for last number `index` of all. */
struct cursor {
    size_t stream, index;
};

static struct place next_window(struct cursor *c, const struct ppl_run *r,
                                const struct ppl_model *m, const struct ppl_result *at,
                                const struct pass *p)
{
    size_t outputs = (size_t)p->engine.score.outputs, first, index = c->index++;
    const struct ppl_stream *s;
    struct window w;

    if (r->options->protocol == PROTOCOL_LAST)
        return (struct place){m->segments.ids + (index + 1) * m->segments.length - at->context - 1,
                              0, 1, index};
    while (index >= windows_of(&first, s = &m->streams[c->stream], p, at)) {
        c->stream++;
        index = 0;
        c->index = 1;
    }
    w = window_at(first + index, s->length, at->context, p->rest ? 0 : at->stride);
    return (struct place){s->ids + w.first, outputs - w.scored, w.scored,
                          s->target + w.first + w.inputs - w.scored};
}

/* Runs all windows of a pass in batches. */
static int run_windows(double *nll, struct ppl_result *at, const struct ppl_run *r,
                       const struct ppl_model *m, const struct pass *p, struct engine *g,
                       struct error *e)
{
    size_t batch = (size_t)engine_plan(g)->batch, each = (size_t)p->engine.positions + 1,
           outputs = (size_t)p->engine.score.outputs, all = p->windows;
    int32_t *ids = reallocarray(NULL, batch * each, sizeof *ids); /* within the engine's capacity */
    double *logprob = reallocarray(NULL, batch * outputs, sizeof *logprob);
    struct place *places = calloc(batch, sizeof *places);
    struct cursor cursor = {0};
    int rc = -1;

    if (!ids || !logprob || !places) {
        fail_memory(e,
                    (double)batch *
                        ((double)each * sizeof *ids + (double)outputs * sizeof *logprob),
                    "windows of the text");
        goto end;
    }
    for (size_t i = 0; i < all; i += batch) {
        size_t count = all - i < batch ? all - i : batch;
        double started;

        if (interrupt_wanted()) {
            fail(e, "interrupted");
            goto end;
        }
        for (size_t b = 0; b < count; b++) {
            places[b] = next_window(&cursor, r, m, at, p);
            score_copy(ids + b * each, places[b].ids, each, &m->text);
        }
        started = progress_now();
        if (engine_score(g, logprob, ids, (int)count, e) != 0 ||
            tensors_unchanged(m->decoder->tensors, e) != 0)
            goto end;
        at->seconds += progress_now() - started;
        for (size_t b = 0; b < count; b++)
            for (size_t j = 0; j < places[b].scored; j++)
                nll[places[b].target + j] = -logprob[b * outputs + places[b].output + j];
        run_tell_products(r->kernels, r->progress);
        progress_step(r->progress, count, m->argument->name);
    }
    rc = 0;
end:
    free(ids);
    free(logprob);
    free(places);
    return rc;
}

/* One pass over each stream, in pieces. */
static int run_cached(double *nll, struct ppl_result *at, const struct ppl_run *r,
                      const struct ppl_model *m, const struct pass *p, struct engine *g,
                      struct error *e)
{
    size_t piece = (size_t)p->engine.score.outputs;

    for (size_t stream = 0; stream < m->stream_count; stream++) {
        const struct ppl_stream *s = &m->streams[stream];
        size_t inputs = s->length - 1;
        double *to = nll + s->target, started;

        engine_score_restart(g);
        for (size_t i = 0; i < inputs; i += piece) {
            size_t count = inputs - i < piece ? inputs - i : piece;

            if (interrupt_wanted())
                return fail(e, "interrupted");
            started = progress_now();
            if (engine_score_next(g, to + i, s->ids + i, (int)count, e) != 0 ||
                tensors_unchanged(m->decoder->tensors, e) != 0)
                return -1;
            at->seconds += progress_now() - started;
            for (size_t j = i; j < i + count; j++)
                to[j] = -to[j];
            run_tell_products(r->kernels, r->progress);
            progress_step(r->progress, 1, m->argument->name);
        }
    }
    return 0;
}

int score_run(double *nll, struct ppl_result *at, const struct ppl_run *r,
              const struct ppl_model *m, struct error *e)
{
    struct pass p = {0};
    size_t targets = score_targets(r, m);

    at->seconds = 0;
    while (next_pass(&p, r, m, at)) {
        struct engine *g = engine_create(r->kernels, m->decoder, &p.engine, e);
        int rc;

        if (!g)
            return -1;
        rc = p.engine.score.carry ? run_cached(nll, at, r, m, &p, g, e)
                                  : run_windows(nll, at, r, m, &p, g, e);
        engine_close(g);
        if (rc != 0)
            return -1;
    }
    for (size_t i = 0; i < targets; i++)
        if (!isfinite(nll[i]))
            return score_explain(nll, targets, at, r, m, e);
    return 0;
}
