/* Ranks other than 0 measure what rank 0 deals, and send it back. */
#include "run/erf/batch.h"
#include "run/erf/deal_parts.h"
#include "run/ranks.h"

#include <stdlib.h>
#include <string.h>

/* The engine of the last measured target. */
struct served {
    struct engine *engine;
    struct batch batch;
    uint64_t model, target;
};

static void served_close(struct served *s)
{
    if (!s->engine)
        return;
    engine_close(s->engine);
    batch_close(&s->batch);
    *s = (struct served){0};
}

static int served_open(struct served *s, struct erf_run *r, const struct deal_chunk *c,
                       struct error *e)
{
    struct erf_model *m = &r->models[c->model];
    size_t length = erf_fields(m, c->target)->target;

    if (s->engine && s->model == c->model && s->target == c->target)
        return 0;
    served_close(s);
    *s = (struct served){.engine = erf_engine_open(r, m, length, e),
                         .model = c->model,
                         .target = c->target};
    if (!s->engine)
        return -1;
    return batch_open(&s->batch, r, m, length, (size_t)engine_plan(s->engine)->batch, e);
}

/* A message under construction. */
static unsigned char *put(unsigned char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

/* Measures a chunk, in as many batches as this rank's plan needs, and sends it. */
static int serve_chunk(struct erf_run *r, struct served *s, const struct deal_chunk *c,
                       struct error *e)
{
    struct erf_model *m = &r->models[c->model];
    struct batch *b = &s->batch;
    size_t count = (size_t)c->count, each = b->layers * (b->length - 1) * sizeof(double), bytes;
    unsigned char *data, *at, *norm, *logprob, *completeness, *ties;
    int rc = 0;

    if (size_multiply(&bytes, count,
                      each + sizeof *b->logprob + sizeof *b->completeness + sizeof *b->near_ties) !=
            0 ||
        !(data = malloc(sizeof *c + bytes)))
        return fail_memory(e, (double)count * (double)each, "a chunk of segments");
    norm = put(data, c, sizeof *c);
    logprob = norm + count * each;
    completeness = logprob + count * sizeof *b->logprob;
    ties = completeness + count * sizeof *b->completeness;
    at = ties + count * sizeof *b->near_ties;
    for (size_t done = 0; done < count && rc == 0;) {
        size_t left = count - done, most = (size_t)engine_plan(s->engine)->batch,
               now = left < most ? left : most;

        batch_cut(b, r, m, (size_t)c->first + done, (int)now);
        rc = batch_measure(b, r, m, s->engine, (size_t)c->first + done, (int)now, e);
        if (rc == 0)
            rc = erf_unchanged(r, e);
        norm = put(norm, b->norm, now * each);
        logprob = put(logprob, b->logprob, now * sizeof *b->logprob);
        completeness = put(completeness, b->completeness, now * sizeof *b->completeness);
        ties = put(ties, b->near_ties, now * sizeof *b->near_ties);
        done += now;
    }
    if (rc == 0)
        rc = ranks_send(0, DEAL_MEASURED, data, (size_t)(at - data), e);
    free(data);
    return rc;
}

/* Runs until rank 0 says that there is no more. */
static int serve_all(struct erf_run *r, struct served *s, struct error *e)
{
    for (;;) {
        struct ranks_message m;
        struct deal_chunk c;
        int chunk, end;

        if (ranks_wait(&m, e) != 0)
            return -1;
        chunk = m.kind == DEAL_CHUNK && m.bytes == sizeof c;
        end = m.kind == DEAL_END;
        if (chunk)
            memcpy(&c, m.data, sizeof c);
        free(m.data);
        if (end)
            return 0;
        if (!chunk || c.model >= r->count || c.target >= r->target_count ||
            c.first >= r->models[c.model].segments.count ||
            c.count > r->models[c.model].segments.count - c.first)
            return fail(e, "rank 0 asked for what this rank does not have");
        if (served_open(s, r, &c, e) != 0 || serve_chunk(r, s, &c, e) != 0)
            return -1;
    }
}

/* Rank 0 reports the reason; this rank is ended with the others. */
static void tell_failure(const struct error *why)
{
    struct ranks_message m;
    struct error e;

    if (ranks_send(0, DEAL_FAILED, why->text, strlen(why->text), &e) != 0)
        return;
    do {
        if (ranks_wait(&m, &e) != 0)
            return;
        free(m.data);
    } while (m.kind != DEAL_END);
}

int erf_serve(struct erf_run *r, struct error *e)
{
    struct served s = {0};
    char *settings = NULL;
    int rc = -1;

    if (erf_prepare(r, e) == 0 && erf_open_kernels(r, e) == 0) {
        if (!(settings = erf_settings_text(r)))
            fail(e, "out of memory for the settings");
        else if (ranks_send(0, DEAL_READY, settings, strlen(settings), e) == 0)
            rc = serve_all(r, &s, e);
    }
    if (rc != 0)
        tell_failure(e);
    free(settings);
    served_close(&s);
    return rc;
}
