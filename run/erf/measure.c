/* The measuring of `reach erf`: engines over segments with a journal, and the reduction. */
#include "run/erf/parts.h"

#include "run/attention/attention.h"
#include "run/interrupt.h"
#include "io/journal.h"
#include "io/result.h"
#include "model/engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct engine_request erf_engine_options(const struct erf_run *r, const struct erf_model *m, size_t length)
{
    return (struct engine_request){.kind = REQUEST_GRADIENT,
                                   .positions = (int)(length - 1),
                                   .memory = r->options->machine.memory,
                                   .segments = m->segments.count,
                                   .gradient = {.by_layer = m->field_count > 1,
                                                .attribution = r->options->attribution,
                                                .noise = m->noise,
                                                .noise_seed = r->options->seed}};
}

/* A segment is usable when curve_share takes its norms; what the journal and the results call its status. */
static uint8_t status_of(double *scratch, const double *norm, size_t n)
{
    return curve_share(scratch, norm, n) == 0 ? SEGMENT_DONE : SEGMENT_EXCLUDED;
}

/* Takes one record of an earlier run over. Its number is that of the target, times the segments, plus that of the segment; its
 * values are the norms of all layers, then the two of struct completeness, then nothing up to the run's record_values. */
static int take_record(void *context, const struct journal_record *record)
{
    struct erf_run *r = context;
    struct erf_model *m;
    struct erf_target *t;
    size_t i, n;

    if (record->model >= r->count)
        return -1;
    m = &r->models[record->model];
    if (record->segment / m->segments.count >= r->target_count ||
        (record->status != SEGMENT_DONE && record->status != SEGMENT_EXCLUDED))
        return -1;
    t = &m->targets[record->segment / m->segments.count];
    i = record->segment % m->segments.count;
    n = t->length - 1;
    for (int k = 0; k < m->field_count; k++)
        memcpy(t->fields[k].norm + i * n, record->norm + (size_t)k * n, n * sizeof *record->norm);
    if (t->completeness)
        t->completeness[i] = (struct completeness){record->norm[n], record->norm[n + 1]};
    t->logprob[i] = record->logprob;
    t->fields[0].status[i] = record->status;
    return 0;
}

static size_t count_done(const struct erf_run *r, const struct erf_model *m)
{
    size_t done = 0;

    for (size_t t = 0; t < r->target_count; t++)
        for (size_t i = 0; i < m->segments.count; i++)
            done += m->targets[t].fields[0].status[i] != 0;
    return done;
}

/* What there is to do, in segments, and what of it is done. */
static void count_work(const struct erf_run *r, size_t *total, size_t *done)
{
    *total = *done = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        *total += m->segments.count * (r->target_count + (r->options->attention ? 1 : 0));
        *done += count_done(r, m) + m->attention.measured;
    }
}

static struct engine *create_engine(const struct erf_run *r, const struct erf_model *m, const struct erf_target *t,
                                    struct error *e)
{
    struct engine_request options = erf_engine_options(r, m, t->length);

    return engine_create(r->kernels, m->decoder, &options, e);
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
static int next_batch(const struct erf_model *m, const struct erf_target *t, size_t *first, int most)
{
    const uint8_t *status = t->fields[0].status;
    int count = 0;

    while (*first < m->segments.count && status[*first])
        ++*first;
    while (*first + (size_t)count < m->segments.count && !status[*first + (size_t)count] && count < most)
        count++;
    return count;
}

/* Room for a batch: what the engine takes and gives. */
struct batch {
    int32_t *ids; /* [most, length] */
    double *norm; /* [most, layers, length - 1], or without layers between */
    double *logprob; /* [most] */
    struct completeness *completeness; /* [most] */
    double *record; /* [record_values] */
    double *scratch; /* [length - 1] */
};

static int batch_open(struct batch *b, const struct erf_run *r, const struct erf_model *m, const struct erf_target *t,
                      size_t most, struct error *e)
{
    size_t each = (m->field_count > 1 ? (size_t)m->decoder->layers : 1) * (t->length - 1);

    *b = (struct batch){.ids = calloc(most * t->length, sizeof *b->ids),
                        .norm = calloc(most * each, sizeof *b->norm),
                        .logprob = calloc(most, sizeof *b->logprob),
                        .completeness = calloc(most, sizeof *b->completeness),
                        .record = calloc(r->record_values, sizeof *b->record),
                        .scratch = calloc(t->length, sizeof *b->scratch)};
    return b->ids && b->norm && b->logprob && b->completeness && b->record && b->scratch
               ? 0
               : fail_memory(e, (double)(most * each) * sizeof *b->norm, "a batch");
}

static void batch_close(struct batch *b)
{
    free(b->ids);
    free(b->norm);
    free(b->logprob);
    free(b->completeness);
    free(b->record);
    free(b->scratch);
}

/* What the engine gave of segment i of the batch goes to its places, and to the record. */
static void take_measured(struct batch *b, struct erf_model *m, struct erf_target *t, size_t segment, size_t i)
{
    size_t n = t->length - 1, layers = m->field_count > 1 ? (size_t)m->decoder->layers : 1;

    for (int k = 0; k < m->field_count; k++) {
        struct erf_field *f = &t->fields[k];

        memcpy(f->norm + segment * n, b->norm + (i * layers + (size_t)f->layer) * n, n * sizeof *f->norm);
        memcpy(b->record + (size_t)k * n, f->norm + segment * n, n * sizeof *f->norm);
    }
    t->logprob[segment] = b->logprob[i];
    t->fields[0].status[segment] = status_of(b->scratch, t->fields[0].norm + segment * n, n);
    if (t->completeness) {
        t->completeness[segment] = b->completeness[i];
        b->record[n] = b->completeness[i].sum;
        b->record[n + 1] = b->completeness[i].baseline;
    }
}

int erf_unchanged(const struct erf_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++)
        if (tensors_unchanged(r->models[i].decoder->tensors, e) != 0)
            return -1;
    return 0;
}

/* The segments of a batch that is begun. */
struct span {
    size_t first;
    int count;
};

/* Measures what is missing of one target of model `index`, where the engine lets us with the next batch begun before this one is
 * ended. After an interruption what is begun is still kept. 0; -1 on failure or interruption. */
static int measure_target(struct erf_run *r, size_t index, size_t target, struct journal *journal, struct engine *g,
                          struct error *e)
{
    struct erf_model *m = &r->models[index];
    struct erf_target *t = &m->targets[target];
    int plain = r->options->attribution == ATTRIBUTION_GRAD, ahead = plain ? engine_ahead(g) : 1, begun = 0, count, rc = -1;
    size_t length = t->length, whole = r->positions + 1, first = 0;
    struct span spans[ENGINE_AHEAD], now;
    struct batch b;

    if (batch_open(&b, r, m, t, (size_t)engine_plan(g)->batch, e) != 0)
        goto end;
    for (;;) {
        while (begun < ahead && !interrupt_wanted() && (count = next_batch(m, t, &first, engine_plan(g)->batch)) > 0) {
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
        if (erf_unchanged(r, e) != 0) /* behind the work on the batch, before anything of it is kept */
            goto end;
        for (size_t i = 0; i < (size_t)now.count; i++) {
            size_t segment = now.first + i;
            struct journal_record record = {.model = (uint32_t)index,
                                            .segment = (uint32_t)(target * m->segments.count + segment),
                                            .norm = b.record};

            take_measured(&b, m, t, segment, i);
            record.logprob = t->logprob[segment];
            record.status = t->fields[0].status[segment];
            if (journal_append(journal, &record, e) != 0)
                goto end;
        }
        progress_step(r->progress, (size_t)now.count, m->argument->name);
    }
    rc = next_batch(m, t, &first, 1) > 0 ? fail(e, "interrupted") : 0;
end:
    batch_close(&b);
    return rc;
}

static int reduce_field(struct erf_run *r, struct erf_model *m, struct erf_target *t, struct erf_field *f, struct error *e)
{
    const struct erf_options *o = r->options;
    struct erf_settings settings = {.thresholds = o->thresholds,
                                    .threshold_count = o->threshold_count,
                                    .sink = (size_t)o->sink,
                                    .bootstrap = (size_t)o->bootstrap,
                                    .seed = o->seed};
    int rc;

    if (strcmp(o->machine.dtype, "f64") != 0) /* results follow from the norms as they are stored, in float */
        for (size_t i = 0; i < m->segments.count * (t->length - 1); i++)
            f->norm[i] = (double)(float)f->norm[i];
    rc = erf_summarize(&f->summary, f->status, f->norm, t->logprob, m->segments.count, t->length - 1, &settings);
    if (rc == -2)
        return fail_memory(e, (double)o->bootstrap * (double)o->threshold_count * sizeof(size_t), "the bootstrap");
    return rc == 0 ? 0 : ERF_UNUSABLE;
}

int erf_reduce(struct erf_run *r, struct erf_model *m, size_t target, struct error *e)
{
    struct erf_target *t = &m->targets[target];
    int rc = 0;

    for (int i = 0; i < m->field_count && rc == 0; i++)
        rc = reduce_field(r, m, t, &t->fields[i], e);
    return rc;
}

/* One target of a model from segments to summaries. 0, -1, or ERF_UNUSABLE when every segment is excluded. */
static int finish_target(struct erf_run *r, size_t index, size_t target, struct journal *journal, struct error *e)
{
    struct erf_model *m = &r->models[index];
    struct erf_target *t = &m->targets[target];
    struct engine *g = NULL;
    char text[256];
    size_t first = 0;
    int rc = -1;

    if (next_batch(m, t, &first, 1) > 0) {
        g = create_engine(r, m, t, e);
        if (!g)
            return -1;
        if (target == 0)
            progress_message(r->progress, "%s: %s", m->argument->name, memory_plan_text(text, engine_plan(g)));
        if (measure_target(r, index, target, journal, g, e) != 0)
            goto end;
        progress_log(r->progress, "%s: target %zu is measured", m->argument->name, t->length);
    }
    rc = erf_reduce(r, m, target, e);
    if (rc == ERF_UNUSABLE) {
        if (!g)
            g = create_engine(r, m, t, e);
        if (g)
            explain_unusable(m, g, e);
    }
end:
    engine_close(g);
    return rc;
}

void erf_tell_found(const struct erf_run *r, const char *path, const struct journal_found *found)
{
    if (found->damaged)
        progress_warning(r->progress, "%s: %zu of %zu records %s passed over: %s (what %s held is measured again)", path,
                         found->damaged, found->damaged + found->records, found->damaged == 1 ? "is" : "are",
                         found->damaged == 1 ? "its checksum is wrong" : "their checksums are wrong",
                         found->damaged == 1 ? "it" : "they");
    if (found->torn)
        progress_message(r->progress,
                         "%s: the last record is dropped: it was not written to its end (what it held is measured again)", path);
}

void erf_sums_remove(const char *path)
{
    static const char *const ends[] = {"attention.new", "attention"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *name;

        if (asprintf(&name, "%s.%s", path, ends[i]) < 0)
            return; /* they would be refused, or taken for what they are */
        unlink(name);
        free(name);
    }
}

void erf_journal_remove(const char *path)
{
    erf_sums_remove(path);
    unlink(path);
}

static struct journal *open_journal(struct erf_run *r, const char *path, struct error *e)
{
    char *settings = erf_settings(r);
    struct journal_found found = {.absent = 1};
    struct journal *j = NULL;

    if (!settings) {
        fail(e, "out of memory for the settings");
        return NULL;
    }
    if (r->options->resume)
        j = journal_resume(path, r->record_values, settings, take_record, r, &found, e);
    else if (!r->options->force && access(path, F_OK) == 0) {
        fail(e, "%s: an unfinished run is kept here (expected --resume to go on with it, or --force to start afresh)", path);
        found.absent = 0;
    }
    if (j)
        erf_tell_found(r, path, &found);
    else if (found.absent) {
        erf_sums_remove(path); /* of a run whose journal is gone */
        j = journal_create(path, r->record_values, settings, e);
    }
    free(settings);
    return j;
}

int erf_measure(struct erf_run *r, const char *path, struct error *e)
{
    struct journal *journal = NULL;
    size_t total, done;
    char *attention_path = NULL;
    struct error closing, note;
    int rc = 0;

    r->kernels = kernels_open_on(r->options->machine.device, r->options->machine.dtype, &note, e);
    if (!r->kernels || kernels_check(r->kernels, e) != 0)
        return -1;
    if (*note.text)
        progress_message(r->progress, "%s", note.text);
    progress_log(r->progress, "kernels %s", r->kernels->name);
    for (size_t i = 0; i < r->count; i++) { /* what cannot fit is refused before anything is measured */
        struct erf_model *m = &r->models[i];
        struct engine_request options = erf_engine_options(r, m, r->positions + 1), attention = attention_options(r, m);
        struct memory_plan plan;

        if (engine_estimate(&plan, r->kernels, m->decoder, &options, e) != 0 ||
            (r->options->attention && engine_estimate(&plan, r->kernels, m->decoder, &attention, e) != 0) ||
            (!*m->digest && model_digest(m->digest, m->decoder, e) != 0))
            return -1;
    }
    if (asprintf(&attention_path, "%s.attention", path) < 0)
        return fail(e, "%s: out of memory", path);
    journal = open_journal(r, path, e);
    if (!journal || (r->options->attention && r->options->resume && attention_resume(r, attention_path, e) != 0)) {
        rc = -1;
        goto end;
    }
    count_work(r, &total, &done);
    if (done)
        progress_message(r->progress, "resuming: %zu of %zu segments are in %s", done, total, path);
    progress_start(r->progress, total, done);
    interrupt_watch();
    for (size_t i = 0; i < r->count && rc == 0; i++)
        for (size_t t = 0; t < r->target_count && rc == 0; t++)
            rc = finish_target(r, i, t, journal, e);
    if (rc == 0 && r->options->attention)
        rc = attention_measure(r, attention_path, e);
    progress_end(r->progress);
    count_work(r, &total, &done);
    if (rc == -1 && interrupt_wanted())
        fail(e, "%s: interrupted; %zu of %zu segments are kept (go on with --resume)", path, done, total);
    if (rc == ERF_UNUSABLE || done == 0) /* --resume would find nothing to go on with */
        erf_journal_remove(path);
end:
    if (journal_close(journal, rc == 0 ? e : &closing) != 0)
        rc = rc == 0 ? -1 : rc;
    free(attention_path);
    return rc == 0 ? 0 : -1;
}
