/* The measuring of `reach erf`: engines over segments, with a journal. */
#include "io/journal.h"
#include "model/engine.h"
#include "run/attention/attention.h"
#include "run/erf/parts.h"
#include "run/erf/reduce.h"
#include "run/interrupt.h"
#include "run/validate/validate.h"

#include <stdlib.h>
#include <string.h>

/* A segment is usable when curve_share takes its norms; what the journal and the results call its status. */
static uint8_t status_of(double *scratch, const double *norm, size_t n)
{
    return curve_share(scratch, norm, n) == 0 ? SEGMENT_DONE : SEGMENT_EXCLUDED;
}

/* Says which layer spoils every segment. Always -1. */
static int explain_unusable(const struct erf_model *m, struct engine *g, struct error *e)
{
    int layer, layers = m->decoder->layers;
    const char *path = m->argument->path;

    if (engine_first_nonfinite(g, m->segments.ids, &layer, e) != 0)
        return -1;
    if (layer > layers)
        return fail(e,
                    "%s: none of %zu segments is usable: no gradient reaches the input embeddings (expected norms with a "
                    "positive, finite sum)",
                    path, m->segments.count);
    if (layer == layers)
        return fail(e,
                    "%s: none of %zu segments is usable: the output of the head is not finite, all layers before it are "
                    "(expected finite numbers)",
                    path, m->segments.count);
    if (layer < 0)
        return fail(e, "%s: none of %zu segments is usable: the output of the embedding is not finite (expected finite numbers)",
                    path, m->segments.count);
    return fail(e,
                "%s: none of %zu segments is usable: the output of layer %d of %d is not finite, the first to be so (expected "
                "finite numbers)",
                path, m->segments.count, layer + 1, layers);
}

/* The next segments that are not done, at most `most`, as a run without gaps: *first and the number of them; 0 at the end. */
static int next_batch(const struct erf_model *m, const struct result_field *f, size_t *first, int most)
{
    int count = 0;

    while (*first < m->segments.count && f->status[*first])
        ++*first;
    while (*first + (size_t)count < m->segments.count && !f->status[*first + (size_t)count] && count < most)
        count++;
    return count;
}

/* Room for a batch: what the engine takes and gives. */
struct batch {
    size_t positions, layers; /* of each segment's norms */
    int32_t *ids; /* [most, positions + 1] */
    double *norm; /* [most, layers, positions] */
    double *logprob; /* [most] */
    struct completeness *completeness; /* [most] */
    size_t *near_ties; /* [most] */
    double *record; /* [record_values] */
    double *scratch; /* [positions] */
};

static int batch_open(struct batch *b, const struct erf_run *r, const struct erf_model *m, size_t length, size_t most,
                      struct error *e)
{
    size_t layers = m->layer_count > 1 ? (size_t)m->decoder->layers : 1, each = layers * (length - 1);

    *b = (struct batch){.positions = length - 1,
                        .layers = layers,
                        .ids = calloc(most * length, sizeof *b->ids),
                        .norm = calloc(most * each, sizeof *b->norm),
                        .logprob = calloc(most, sizeof *b->logprob),
                        .completeness = calloc(most, sizeof *b->completeness),
                        .near_ties = calloc(most, sizeof *b->near_ties),
                        .record = calloc(r->record_values, sizeof *b->record),
                        .scratch = calloc(length, sizeof *b->scratch)};
    return b->ids && b->norm && b->logprob && b->completeness && b->near_ties && b->record && b->scratch
               ? 0
               : fail_memory(e, (double)(most * each) * sizeof *b->norm, "a batch");
}

static void batch_close(struct batch *b)
{
    free(b->ids);
    free(b->norm);
    free(b->logprob);
    free(b->completeness);
    free(b->near_ties);
    free(b->record);
    free(b->scratch);
}

/* What the engine gave of segment i of the batch goes to its places, and to the record. */
static void take_measured(struct batch *b, const struct erf_model *m, struct result_field *fields, size_t segment, size_t i)
{
    size_t n = b->positions;
    uint8_t status = status_of(b->scratch, b->norm + i * b->layers * n, n); /* of the embeddings */

    for (size_t k = 0; k < m->layer_count; k++) {
        struct result_field *f = &fields[k];

        memcpy(f->norm + segment * n, b->norm + (i * b->layers + f->layer) * n, n * sizeof *f->norm);
        memcpy(b->record + k * n, f->norm + segment * n, n * sizeof *f->norm);
        f->logprob[segment] = b->logprob[i];
        f->near_ties += b->near_ties[i];
        f->status[segment] = status;
    }
    if (fields->completeness) {
        const double both[2] = {b->completeness[i].sum, b->completeness[i].baseline};

        memcpy(fields->completeness + 2 * segment, both, sizeof both);
        memcpy(b->record + n, both, sizeof both);
    }
    if (decoder_has_experts(m->decoder))
        b->record[m->layer_count * n + (fields->completeness ? 2 : 0)] = (double)b->near_ties[i];
}

int erf_unchanged(const struct erf_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++)
        if (tensors_unchanged(r->models[i].decoder->tensors, e) != 0)
            return -1;
    return 0;
}

/* Keeps what was measured of `count` segments from `first` on. */
static int keep(struct erf_run *r, size_t index, size_t target, struct batch *b, size_t first, int count, struct error *e)
{
    struct erf_model *m = &r->models[index];
    struct result_field *fields = erf_fields(m, target);

    for (size_t i = 0; i < (size_t)count; i++) {
        size_t segment = first + i;
        struct journal_record record = {.kind = JOURNAL_SEGMENT, .model = (uint32_t)index};

        take_measured(b, m, fields, segment, i);
        record.segment = (struct journal_segment){.target = (uint32_t)target,
                                                  .segment = (uint32_t)segment,
                                                  .status = fields->status[segment],
                                                  .logprob = fields->logprob[segment],
                                                  .values = b->record};
        if (journal_append(r->journal, &record, e) != 0)
            return -1;
    }
    progress_step(r->progress, (size_t)count, m->argument->name);
    return 0;
}

/* The segments of a batch that is begun. */
struct span {
    size_t first;
    int count;
};

/* Measures what is missing of one target of model `index`, where the engine lets us with the next batch begun before this one is
 * ended. After an interruption what is begun is still kept. 0; -1 on failure or interruption. */
static int measure_target(struct erf_run *r, size_t index, size_t target, struct engine *g, struct error *e)
{
    struct erf_model *m = &r->models[index];
    const struct result_field *f = erf_fields(m, target);
    int plain = r->options->attribution == ATTRIBUTION_GRAD, ahead = plain ? engine_ahead(g) : 1, begun = 0, count, rc = -1;
    size_t length = f->target, whole = r->positions + 1, first = 0;
    struct span spans[ENGINE_AHEAD], now;
    struct batch b;

    if (batch_open(&b, r, m, length, (size_t)engine_plan(g)->batch, e) != 0)
        goto end;
    for (;;) {
        while (begun < ahead && !interrupt_wanted() && (count = next_batch(m, f, &first, engine_plan(g)->batch)) > 0) {
            for (size_t i = 0; i < (size_t)count; i++)
                memcpy(b.ids + i * length, m->segments.ids + (first + i) * whole, length * sizeof *b.ids);
            if (plain && engine_begin(g, b.ids, count, e) != 0)
                goto end;
            spans[begun++] = (struct span){first, count};
            first += (size_t)count;
        }
        if (begun == 0)
            break;
        now = spans[0];
        spans[0] = spans[--begun];
        if (plain ? engine_end(g, b.norm, b.logprob, e)
                  : engine_attribute(g, b.norm, b.logprob, b.completeness, b.ids, m->first + now.first, now.count, e))
            goto end;
        for (int i = 0; plain && i < now.count; i++)
            b.near_ties[i] = engine_near_ties(g, i);
        if (erf_unchanged(r, e) != 0) /* behind the work on the batch, before anything of it is kept */
            goto end;
        if (keep(r, index, target, &b, now.first, now.count, e) != 0)
            goto end;
    }
    rc = next_batch(m, f, &first, 1) > 0 ? fail(e, "interrupted") : 0;
end:
    batch_close(&b);
    return rc;
}

/* One target of a model from segments to summaries. 0, -1, or ERF_UNUSABLE when every segment is excluded. */
static int finish_target(struct erf_run *r, size_t index, size_t target, struct error *e)
{
    struct erf_model *m = &r->models[index];
    struct result_field *fields = erf_fields(m, target);
    struct engine *g = NULL;
    char text[256];
    size_t first = 0;
    int rc = -1;

    if (next_batch(m, fields, &first, 1) > 0) {
        g = erf_engine_open(r, m, fields->target, e);
        if (!g)
            return -1;
        if (target == 0)
            progress_plan(r->progress, m->argument->name, memory_plan_text(text, engine_plan(g)), engine_plan(g)->total);
        if (measure_target(r, index, target, g, e) != 0)
            goto end;
        progress_log(r->progress, "%s: target %zu is measured", m->argument->name, fields->target);
    }
    rc = erf_reduce(&r->result, m->out, fields, m->layer_count, e);
    if (rc == ERF_UNUSABLE) {
        if (!g)
            g = erf_engine_open(r, m, fields->target, e);
        if (g)
            explain_unusable(m, g, e);
    }
end:
    engine_close(g);
    return rc;
}

int erf_measure(struct erf_run *r, struct error *e)
{
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++)
        for (size_t t = 0; t < r->target_count && rc == 0; t++)
            rc = finish_target(r, i, t, e);
    if (rc == 0 && r->options->attention)
        rc = attention_measure(r, e);
    return rc == 0 && r->options->validate ? validate_measure(r, e) : rc;
}
