#include "run/erf/batch.h"

#include "io/results/journal.h"
#include "run/erf/reduce.h"

#include <stdlib.h>
#include <string.h>

/* A segment is usable if curve_share accepts its norms; its status in journal and results. */
static uint8_t status_of(double *scratch, const double *norm, size_t n)
{
    return curve_share(scratch, norm, n) == 0 ? SEGMENT_DONE : SEGMENT_EXCLUDED;
}

int batch_next(const struct erf_model *m, const struct result_field *f, size_t *first, int most)
{
    int count = 0;

    while (*first < m->segments.count && f->status[*first])
        ++*first;
    while (*first + (size_t)count < m->segments.count && !f->status[*first + (size_t)count] &&
           count < most)
        count++;
    return count;
}

int batch_open(struct batch *b, const struct erf_run *r, const struct erf_model *m, size_t length,
               size_t most, struct error *e)
{
    size_t layers = m->layer_count > 1 ? (size_t)m->decoder->layers : 1,
           each = layers * (length - 1);

    *b = (struct batch){.length = length,
                        .layers = layers,
                        .ids = calloc(most * length, sizeof *b->ids),
                        .norm = calloc(most * each, sizeof *b->norm),
                        .logprob = calloc(most, sizeof *b->logprob),
                        .completeness = calloc(most, sizeof *b->completeness),
                        .near_ties = calloc(most, sizeof *b->near_ties),
                        .record = calloc(r->sizes.values, sizeof *b->record),
                        .scratch = calloc(length, sizeof *b->scratch)};
    return b->ids && b->norm && b->logprob && b->completeness && b->near_ties && b->record &&
                   b->scratch
               ? 0
               : fail_memory(e, (double)(most * each) * sizeof *b->norm, "a batch");
}

void batch_close(struct batch *b)
{
    free(b->ids);
    free(b->norm);
    free(b->logprob);
    free(b->completeness);
    free(b->near_ties);
    free(b->record);
    free(b->scratch);
}

void batch_cut(struct batch *b, const struct erf_run *r, const struct erf_model *m, size_t first,
               int count)
{
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy(b->ids + i * b->length, m->segments.ids + (first + i) * (r->positions + 1),
               b->length * sizeof *b->ids);
}

int batch_measure(struct batch *b, const struct erf_run *r, const struct erf_model *m,
                  struct engine *g, size_t first, int count, struct error *e)
{
    if (r->options->attribution != ATTRIBUTION_GRAD)
        return engine_attribute(g, b->norm, b->logprob, b->completeness, b->ids, m->first + first,
                                count, e);
    if (engine_measure(g, b->norm, b->logprob, b->ids, count, e) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        b->near_ties[i] = engine_near_ties(g, i);
    return 0;
}

/* Copies the engine's values of segment i of the batch to their places and to the record. */
static void take_measured(struct batch *b, const struct erf_model *m, struct result_field *fields,
                          size_t segment, size_t i)
{
    size_t n = b->length - 1;
    uint8_t status = status_of(b->scratch, b->norm + i * b->layers * n, n); /* of the embeddings */

    for (size_t k = 0; k < m->layer_count; k++) {
        struct result_field *f = &fields[k];

        memcpy(f->norm + segment * n, b->norm + (i * b->layers + f->layer) * n,
               n * sizeof *f->norm);
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

int batch_keep(struct erf_run *r, size_t index, size_t target, struct batch *b, size_t first,
               int count, struct error *e)
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
    progress_step_of(r->progress, (size_t)count, m->cost[target], m->argument->name);
    return 0;
}
