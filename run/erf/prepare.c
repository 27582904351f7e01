/* The input of a run of `reach erf`: opens models, cuts segments, allocates measurements. */
#include "run/erf/parts.h"

#include "io/element.h"
#include "run/erf/measurements.h"
#include "run/erf/shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* *taken: set if the model takes --train-length. */
static int set_model(struct erf_model *m, const struct erf_options *o, int *taken, struct error *e)
{
    *taken |= model_take_length(m->decoder, o->train_length);
    if (run_override(m->decoder, &o->encoding, e) != 0)
        return -1;
    return model_text_open(&m->text, m->decoder, m->argument->path, o->text.count > 0, &o->reading,
                           e);
}

/* Keeps the segments of this shard. */
static int take_shard(struct erf_model *m, const struct erf_options *o, struct error *e)
{
    struct segments *s = &m->segments;
    size_t count;

    m->run_segments = s->count;
    if (!o->shards)
        return 0;
    count = erf_shard(&m->first, s->count, (size_t)o->shard, (size_t)o->shards);
    if (!count)
        return fail(e,
                    "%s: shard %ld/%ld would hold no segment, because there are only %zu (expected "
                    "at most that many shards)",
                    m->argument->path, o->shard, o->shards, s->count);
    memmove(s->ids, s->ids + m->first * s->length, count * s->length * sizeof *s->ids);
    memmove(s->start, s->start + m->first, count * sizeof *s->start);
    s->count = count;
    return 0;
}

static int verify_model(struct erf_model *m, struct progress *p, struct error *e)
{
    char *line;

    if (model_verify(&line, m->digest, m->decoder, e) != 0)
        return -1;
    progress_message(p, "%s: verified: %s", m->argument->name, line);
    free(line);
    return 0;
}

static int cut_segments(struct erf_model *m, const struct erf_options *o, struct run_text *text,
                        struct progress *p, struct error *e)
{
    const struct decoder *d = m->decoder;
    const struct tokens *tokens = model_text_tokens(&m->text, text, p, e);
    size_t n;

    if (!tokens)
        return -1;
    tokens_digest(m->tokens_digest, tokens);
    if (segments_cut(&m->segments, tokens, &o->cut, &m->text.bounds, (size_t)d->vocabulary, e) != 0)
        return -1;
    n = m->segments.length - 1;
    if (n < 1 || n > (1UL << 30))
        return fail(e, "segments of %zu tokens (expected 2 to %lu)", m->segments.length, 1UL << 30);
    char limit[DECODER_LIMIT_TEXT];
    if (decoder_limit(d) > 0 && n > (size_t)decoder_limit(d))
        return fail(e, "%s: %s, and a segment of %zu tokens has %zu (expected --length %d at most)",
                    m->argument->path, decoder_limit_text(limit, d), n + 1, n,
                    decoder_limit(d) + 1);
    model_tell_length(d, n, p);
    return take_shard(m, o, e);
}

/* Ids and texts, stored in the result so that `reach explain` needs neither text nor model. */
static int keep_tokens(struct erf_model *m, struct error *e)
{
    const struct segments *s = &m->segments;
    size_t count = s->count * s->length;

    if (!(m->out->tokens = malloc(count * sizeof *s->ids)))
        return fail_memory(e, (double)count * sizeof *s->ids, "the token ids");
    memcpy(m->out->tokens, s->ids, count * sizeof *s->ids);
    return model_text_pieces(&m->out->pieces, &m->text, m->argument->path, s->ids, count, e);
}

/* Layers to measure: the embeddings, then the requested ones. */
static int count_layers(struct erf_model *m, const struct erf_options *o, struct error *e)
{
    int layers = m->decoder->layers;

    if (o->layer >= layers)
        return fail(
            e, "%s: has %d layers, which are counted from 0 (expected --layer 0 to %d, or all)",
            m->argument->path, layers, layers - 1);
    m->layer_count = o->layer == LAYER_ALL ? (size_t)layers : o->layer > 0 ? 2 : 1;
    return 0;
}

/* Memory for the fields of a target. */
static int make_target(struct erf_model *m, const struct erf_options *o, size_t target,
                       size_t length, struct error *e)
{
    for (size_t k = 0; k < m->layer_count; k++) {
        struct result_field *f = &erf_fields(m, target)[k];

        f->target = length;
        f->layer = o->layer > 0 && k ? (size_t)o->layer : k;
        if (result_field_room(f, m->segments.count, o->attribution == ATTRIBUTION_INTEGRATED, e) !=
            0)
            return -1;
    }
    return 0;
}

/* Memory for all measurements of a model. */
static int make_model(struct erf_model *m, struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    struct result_model *out = m->out;
    size_t length = r->positions + 1, at = 0;

    out->segments = m->segments.count;
    out->wide = strcmp(o->machine.dtype, "f64") == 0;
    out->start = malloc(out->segments * sizeof *out->start);
    out->fields = calloc(r->target_count * m->layer_count, sizeof *out->fields);
    if (!out->start || !out->fields)
        return fail_memory(e, (double)(r->target_count * m->layer_count) * sizeof *out->fields,
                           "the targets");
    out->field_count = r->target_count * m->layer_count;
    memcpy(out->start, m->segments.start, out->segments * sizeof *out->start);
    if (make_target(m, o, at++, length, e) != 0)
        return -1;
    for (size_t i = 0; i < o->target_count; i++)
        if (o->targets[i] != length && make_target(m, o, at++, o->targets[i], e) != 0)
            return -1;
    return measurements_room(r, m, e);
}

/* Also the size of the journal's records: for a segment the norms of all layers, two numbers for
 * integrated gradients, and one for models with experts. */
static int lay_out(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    size_t length = r->positions + 1;

    r->sizes.models = r->count;
    r->target_count = 1;
    for (size_t i = 0; i < o->target_count; i++) {
        if (o->targets[i] > length)
            return fail(e, "--target-position %zu: segments have %zu tokens (expected 2 to %zu)",
                        o->targets[i], length, length);
        r->target_count += o->targets[i] != length;
    }
    for (size_t i = 0; i < r->count; i++) {
        size_t values;

        if (count_layers(&r->models[i], o, e) != 0)
            return -1;
        if (size_multiply(&values, r->models[i].layer_count, r->positions) != 0 ||
            size_add(&values, values, 2) != 0)
            return fail_memory(e, INFINITY, "the norms of all layers");
        values -= o->attribution == ATTRIBUTION_INTEGRATED ? 0 : 2;
        values += decoder_has_experts(r->models[i].decoder);
        r->sizes.values = values > r->sizes.values ? values : r->sizes.values;
        if (make_model(&r->models[i], r, e) != 0)
            return -1;
    }
    return 0;
}

/* Opens the models. One of several that cannot be read, such as a checkpoint that is still being
 * written, is left out, which is told; if none can be, the first one's message is the error. */
static int open_models(struct erf_run *r, int *taken, struct error *e)
{
    size_t given = r->count;

    r->count = 0;
    for (size_t i = 0; i < given; i++) {
        struct erf_model *m = &r->models[r->count];

        m->argument = &r->arguments[i];
        m->out = &r->result.models[r->count];
        m->decoder = model_open(m->argument->path, &m->argument->adapted, r->options->strict,
                                r->progress, e);
        if (m->decoder && (!r->options->verify || verify_model(m, r->progress, e) == 0)) {
            r->count++;
            if (set_model(m, r->options, taken, e) != 0)
                return -1;
            continue;
        }
        decoder_close(m->decoder);
        *m = (struct erf_model){0};
        if (given == 1 || access(r->arguments[i].path, F_OK) != 0) /* a wrong name */
            return -1;
        progress_message(r->progress, "%s (it is left out)", e->text);
        if (!r->unread_count)
            r->unread_first = *e;
        r->unread[r->unread_count++] = &r->arguments[i];
    }
    r->result.model_count = r->count;
    if (!r->count)
        *e = r->unread_first;
    return r->count ? 0 : -1;
}

int erf_fail_unread(const struct erf_run *r, struct error *e)
{
    char names[sizeof e->text] = "";
    size_t used = 0;

    if (!r->unread_count)
        return 0;
    for (size_t i = 0; i < r->unread_count && used < sizeof names - 1; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 r->unread[i]->path);
    if (r->unread_count == 1)
        return fail(e, "1 of %zu models could not be read and was left out: %s", 1 + r->count,
                    r->unread_first.text);
    return fail(e, "%zu of %zu models could not be read and were left out: %s; the first: %s",
                r->unread_count, r->unread_count + r->count, names, r->unread_first.text);
}

int erf_prepare(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    struct run_text text = {0};
    int rc = -1, taken = 0;

    r->models = calloc(r->count, sizeof *r->models);
    r->result.models = calloc(r->count, sizeof *r->result.models);
    r->unread = calloc(r->count, sizeof *r->unread);
    if (!r->models || !r->result.models || !r->unread) {
        fail(e, "out of memory for the run");
        goto end;
    }
    if (open_models(r, &taken, e) != 0)
        goto end;
    if (!taken) {
        models_refuse_length(e);
        goto end;
    }
    if (run_text_read(&text, &o->text, &o->tokens, o->reading.tokens_dtype, &o->reading.records,
                      e) != 0)
        goto end;
    for (size_t i = 0; i < r->count; i++) {
        if (cut_segments(&r->models[i], o, &text, r->progress, e) != 0 ||
            keep_tokens(&r->models[i], e) != 0)
            goto end;
        model_text_tell(&r->models[i].text, r->models[i].argument->name, r->progress);
        model_text_close(&r->models[i].text); /* only its segments are needed */
    }
    r->positions = r->models[0].segments.length - 1;
    rc = lay_out(r, e);
    for (size_t i = 0; i < r->count && rc == 0 && o->attribution == ATTRIBUTION_SMOOTH; i++) {
        const struct erf_model *m = &r->models[i];

        if (!isfinite(m->out->noise = SMOOTH_NOISE * attribution_embedding_size(m->decoder)))
            rc = fail_memory(e, (double)m->decoder->embedding_width * 8, "a row of the embedding");
    }
end:
    run_text_free(&text);
    return rc;
}
