/* The work of `reach erf`: opening, measuring with a journal, reducing. */
#include "commands/erf.h"

#include "commands/interrupt.h"
#include "commands/run_options.h"
#include "io/element.h"
#include "io/journal.h"
#include "io/result.h"
#include "model/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *erf_path(const char *folder, const char *name, struct error *e)
{
    char *path;

    if (asprintf(&path, "%s/%s", folder, name) >= 0)
        return path;
    fail(e, "%s: out of memory", folder);
    return NULL;
}

static int open_model(struct erf_model *m, const struct erf_options *o, struct error *e)
{
    struct decoder *d = m->decoder = decoder_open(m->argument->path, e);

    if (!d || run_override(d, o->bias, o->positions_none, o->window, e) != 0)
        return -1;
    if (model_text_open(&m->text, d, m->argument->path, o->text.count > 0, e) != 0)
        return -1;
    m->bos = o->cut.bos || m->text.adds_bos;
    if (m->bos && m->text.bos < 0)
        return fail(e, "%s: names no beginning-of-text token for --bos (expected bos_token_id, or bos in our own layout, in config.json)", m->argument->path);
    m->train_length = o->train_length && !d->train_length ? (int)o->train_length : d->train_length;
    return 0;
}

static int cut_segments(struct erf_model *m, const struct erf_options *o, const struct run_text *text, struct error *e)
{
    struct segments_request request = o->cut;
    const struct decoder *d = m->decoder;
    const struct tokens *tokens = model_text_tokens(&m->text, text, e);
    size_t n, cells;

    if (!tokens)
        return -1;
    tokens_digest(m->tokens_digest, tokens);
    request.bos = m->bos;
    request.bos_id = m->bos_id = m->text.bos;
    if (segments_cut(&m->segments, tokens, &request, (size_t)d->vocabulary, e) != 0)
        return -1;
    n = m->segments.length - 1;
    if (n < 1 || n > (1UL << 30))
        return fail(e, "segments of %zu tokens (expected 2 to %lu)", m->segments.length, 1UL << 30);
    if (d->position_limit > 0 && n > (size_t)d->position_limit)
        return fail(e, "%s: has learned positions for %d inputs, and a segment of %zu tokens has %zu (expected --length %d at most)", m->argument->path,
                    d->position_limit, n + 1, n, d->position_limit + 1);
    if (size_multiply(&cells, m->segments.count, n) != 0 || cells > SIZE_MAX / sizeof *m->norm)
        return fail_memory(e, (double)m->segments.count * (double)n * sizeof *m->norm, "the norms");
    m->norm = malloc(cells * sizeof *m->norm);
    m->logprob = calloc(m->segments.count, sizeof *m->logprob);
    m->status = calloc(m->segments.count, sizeof *m->status);
    if (!m->norm || !m->logprob || !m->status)
        return fail_memory(e, (double)cells * sizeof *m->norm, "the norms");
    return 0;
}

int erf_prepare(struct erf_run *r, struct error *e)
{
    const struct erf_options *o = r->options;
    struct run_text text = {0};
    int rc = -1;

    r->models = calloc(r->count, sizeof *r->models);
    r->command = erf_options_command(o);
    if (!r->models || !r->command) {
        fail(e, "out of memory for the run");
        goto end;
    }
    for (size_t i = 0; i < r->count; i++) {
        r->models[i].argument = &r->arguments[i];
        if (open_model(&r->models[i], o, e) != 0)
            goto end;
    }
    if (run_text_read(&text, &o->text, &o->tokens, e) != 0)
        goto end;
    for (size_t i = 0; i < r->count; i++) {
        if (cut_segments(&r->models[i], o, &text, e) != 0)
            goto end;
        model_text_close(&r->models[i].text); /* its segments are all that is needed */
    }
    r->positions = r->models[0].segments.length - 1;
    for (r->main_row = 0; o->thresholds[r->main_row] != o->main_threshold; r->main_row++)
        ;
    rc = 0;
end:
    run_text_free(&text);
    return rc;
}

void erf_run_free(struct erf_run *r)
{
    for (size_t i = 0; r->models && i < r->count; i++) {
        struct erf_model *m = &r->models[i];

        erf_summary_free(&m->summary);
        free(m->norm);
        free(m->logprob);
        free(m->status);
        segments_free(&m->segments);
        model_text_close(&m->text);
        decoder_close(m->decoder);
    }
    free(r->models);
    free(r->command);
    if (r->kernels)
        r->kernels->close(r->kernels);
}

/* `key=value` lines: everything that results depend on. NULL when memory runs out. */
static char *settings_text(const struct erf_run *r)
{
    const struct erf_options *o = r->options;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    fprintf(f, "models=%zu\n", r->count);
    for (size_t i = 0; i < r->count; i++) { /* each has its own segments, because each may have its own tokenizer */
        const struct erf_model *m = &r->models[i];

        fprintf(f, "model %zu name=%s\nmodel %zu digest=%s\n", i + 1, m->argument->name, i + 1, m->digest);
        fprintf(f, "model %zu tokens=%s\nmodel %zu segments=%zu\nmodel %zu stride=%zu\n", i + 1, m->tokens_digest, i + 1, m->segments.count, i + 1,
                m->segments.stride);
        fprintf(f, "model %zu bos=%d\n", i + 1, m->bos ? m->bos_id : -1);
    }
    fprintf(f, "length=%zu\noffset=%zu\n", r->models[0].segments.length, o->cut.offset);
    fprintf(f, "dtype=%s\nkernels=%s\n", o->dtype, r->kernels->name);
    fprintf(f, "bias=%s\npositions=%s\nwindow=%d\n", o->bias ? o->bias : "", o->positions_none ? "none" : "", o->window);
    fprintf(f, "train_length=%ld\nsink=%ld\nbootstrap=%ld\nseed=%llu\nmain_threshold=%.17g\nthresholds=", o->train_length, o->sink, o->bootstrap,
            (unsigned long long)o->seed, o->main_threshold);
    for (size_t i = 0; i < o->threshold_count; i++)
        fprintf(f, "%s%.17g", i ? "," : "", o->thresholds[i]);
    fputc('\n', f);
    failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* A segment is usable when curve_share takes its norms; what the journal and the results call its status. */
static uint8_t status_of(double *scratch, const double *norm, size_t n)
{
    return curve_share(scratch, norm, n) == 0 ? SEGMENT_DONE : SEGMENT_EXCLUDED;
}

/* Takes one record of an earlier run over. */
static int take_record(void *context, const struct journal_record *record)
{
    struct erf_run *r = context;
    struct erf_model *m;

    if (record->model >= r->count)
        return -1;
    m = &r->models[record->model];
    if (record->segment >= m->segments.count || (record->status != SEGMENT_DONE && record->status != SEGMENT_EXCLUDED))
        return -1;
    memcpy(m->norm + record->segment * r->positions, record->norm, r->positions * sizeof *m->norm);
    m->logprob[record->segment] = record->logprob;
    m->status[record->segment] = record->status;
    return 0;
}

static size_t count_done(const struct erf_model *m)
{
    size_t done = 0;

    for (size_t i = 0; i < m->segments.count; i++)
        done += m->status[i] != 0;
    return done;
}

static struct engine *create_engine(const struct erf_run *r, const struct erf_model *m, struct error *e)
{
    struct engine_options options = {.positions = (int)r->positions, .memory = r->options->memory, .segments = m->segments.count, .keep = KEEP_AUTO,
                                     .resident = -1, .seed = 1};

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
        return fail(e, "%s: none of %zu segments is usable: no gradient reaches the input embeddings (expected norms with a positive, finite sum)", path,
                    m->segments.count);
    if (layer == layers)
        return fail(e, "%s: none of %zu segments is usable: the output of the head is not finite, all layers before it are (expected finite numbers)", path,
                    m->segments.count);
    if (layer < 0)
        return fail(e, "%s: none of %zu segments is usable: the output of the embedding is not finite (expected finite numbers)", path, m->segments.count);
    return fail(e, "%s: none of %zu segments is usable: the output of layer %d of %d is not finite, the first to be so (expected finite numbers)", path,
                m->segments.count, layer + 1, layers);
}

/* The next segments that are not done, at most `most`, as a run without gaps: *first and the number of them; 0 at the end. */
static int next_batch(const struct erf_model *m, size_t *first, int most)
{
    int count = 0;

    while (*first < m->segments.count && m->status[*first])
        ++*first;
    while (*first + (size_t)count < m->segments.count && !m->status[*first + (size_t)count] && count < most)
        count++;
    return count;
}

/* Measures what is missing of model `index`. 0; -1 on failure or interruption. */
static int measure_model(struct erf_run *r, size_t index, struct journal *journal, struct engine *g, struct error *e)
{
    struct erf_model *m = &r->models[index];
    size_t n = r->positions, first = 0;
    double *scratch = malloc(n * sizeof *scratch);
    int count, rc = -1;

    if (!scratch)
        return fail_memory(e, (double)n * sizeof *scratch, "a segment");
    while ((count = next_batch(m, &first, engine_plan(g)->batch)) > 0) {
        if (interrupt_wanted()) {
            fail(e, "interrupted");
            goto end;
        }
        if (engine_measure(g, m->norm + first * n, m->logprob + first, m->segments.ids + first * (n + 1), count, e) != 0)
            goto end;
        for (int i = 0; i < count; i++, first++) {
            struct journal_record record = {.model = (uint32_t)index, .segment = (uint32_t)first, .logprob = m->logprob[first], .norm = m->norm + first * n};

            record.status = m->status[first] = status_of(scratch, record.norm, n);
            if (journal_append(journal, &record, e) != 0)
                goto end;
        }
        progress_step(r->progress, (size_t)count, m->argument->name);
    }
    rc = 0;
end:
    free(scratch);
    return rc;
}

enum { UNUSABLE = -2 }; /* every segment of a model is excluded */

static int reduce_model(struct erf_run *r, struct erf_model *m, struct error *e)
{
    const struct erf_options *o = r->options;
    struct erf_settings settings = {.thresholds = o->thresholds, .threshold_count = o->threshold_count, .sink = (size_t)o->sink,
                                    .bootstrap = (size_t)o->bootstrap, .seed = o->seed};
    int rc;

    if (strcmp(o->dtype, "f64") != 0) /* results follow from the norms as they are stored, in float */
        for (size_t i = 0; i < m->segments.count * r->positions; i++)
            m->norm[i] = (double)(float)m->norm[i];
    rc = erf_summarize(&m->summary, m->status, m->norm, m->logprob, m->segments.count, r->positions, &settings);
    if (rc == -2)
        return fail_memory(e, (double)o->bootstrap * (double)o->threshold_count * sizeof(size_t), "the bootstrap");
    return rc == 0 ? 0 : UNUSABLE;
}

/* One model from segments to summary. 0, -1, or UNUSABLE when every segment is excluded. */
static int finish_model(struct erf_run *r, size_t index, struct journal *journal, struct error *e)
{
    struct erf_model *m = &r->models[index];
    struct engine *g = NULL;
    char text[256];
    int rc = -1;

    if (count_done(m) < m->segments.count) {
        g = create_engine(r, m, e);
        if (!g)
            return -1;
        progress_message(r->progress, "%s: %s", m->argument->name, memory_plan_text(text, engine_plan(g)));
        if (measure_model(r, index, journal, g, e) != 0)
            goto end;
        progress_log(r->progress, "%s: measured", m->argument->name);
    }
    rc = reduce_model(r, m, e);
    if (rc == UNUSABLE) {
        if (!g)
            g = create_engine(r, m, e);
        if (g)
            explain_unusable(m, g, e);
    }
end:
    engine_close(g);
    return rc;
}

static struct journal *open_journal(struct erf_run *r, const char *path, struct error *e)
{
    char *settings = settings_text(r);
    struct journal *j = NULL;
    int absent = 1;

    if (!settings) {
        fail(e, "out of memory for the settings");
        return NULL;
    }
    if (r->options->resume)
        j = journal_resume(path, r->positions, settings, take_record, r, &absent, e);
    else if (!r->options->force && access(path, F_OK) == 0) {
        fail(e, "%s: an unfinished run is kept here (expected --resume to go on with it, or --force to start afresh)", path);
        absent = 0;
    }
    if (!j && absent)
        j = journal_create(path, r->positions, settings, e);
    free(settings);
    return j;
}

int erf_measure(struct erf_run *r, const char *path, struct error *e)
{
    struct journal *journal = NULL;
    size_t total = 0, done = 0;
    struct error closing, note;
    int rc = 0;

    r->kernels = kernels_open_on(r->options->device, r->options->dtype, &note, e);
    if (!r->kernels)
        return -1;
    if (*note.text)
        progress_message(r->progress, "%s", note.text);
    progress_log(r->progress, "kernels %s", r->kernels->name);
    for (size_t i = 0; i < r->count; i++) { /* what cannot fit is refused before anything is measured */
        struct engine_options options = {.positions = (int)r->positions, .memory = r->options->memory, .segments = r->models[i].segments.count,
                                         .keep = KEEP_AUTO, .resident = -1, .seed = 1};
        struct memory_plan plan;

        if (engine_estimate(&plan, r->kernels, r->models[i].decoder, &options, e) != 0 || model_digest(r->models[i].digest, r->models[i].decoder, e) != 0)
            return -1;
    }
    journal = open_journal(r, path, e);
    if (!journal)
        return -1;
    for (size_t i = 0; i < r->count; i++) {
        total += r->models[i].segments.count;
        done += count_done(&r->models[i]);
    }
    if (done)
        progress_message(r->progress, "goes on with %zu of %zu segments from %s", done, total, path);
    progress_start(r->progress, total, done);
    interrupt_watch();
    for (size_t i = 0; i < r->count && rc == 0; i++)
        rc = finish_model(r, i, journal, e);
    progress_clear(r->progress);
    done = 0;
    for (size_t i = 0; i < r->count; i++)
        done += count_done(&r->models[i]);
    if (journal_close(journal, rc == 0 ? e : &closing) != 0)
        rc = rc == 0 ? -1 : rc;
    if (rc == -1 && interrupt_wanted())
        fail(e, "%s: interrupted; %zu of %zu segments are kept (go on with --resume)", path, done, total);
    if (rc == UNUSABLE || done == 0)
        unlink(path); /* --resume would find nothing to go on with */
    rc = rc == 0 ? 0 : -1;
    return rc;
}
