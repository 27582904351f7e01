/* The journal of a run, new or resumed. */
#include "io/element.h"
#include "io/results/journal.h"
#include "run/erf/measurements.h"
#include "run/erf/parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 for options that are replaced by their effect: an adapter and texts may have moved, and fewer
 * segments may fit than requested. */
static int is_above(const char *name)
{
    static const char *const names[] = {"adapter",  "text",   "tokens", "length",
                                        "segments", "stride", "bos",    "boundary"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

char *erf_settings_text(const struct erf_run *r)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int failed;

    if (!f)
        return NULL;
    fprintf(f, "models=%zu\n", r->count);
    for (size_t i = 0; i < r->count;
         i++) { /* each has its own segments, because each may have its own tokenizer */
        const struct erf_model *m = &r->models[i];

        fprintf(f, "model %zu name=%s\nmodel %zu digest=%s\n", i + 1, m->argument->name, i + 1,
                m->digest);
        fprintf(f, "model %zu tokens=%s\nmodel %zu segments=%zu\nmodel %zu stride=%zu\n", i + 1,
                m->tokens_digest, i + 1, m->run_segments, i + 1, m->segments.stride);
        fprintf(f, "model %zu bos=%d\n", i + 1, m->text.bounds.begins ? m->text.bounds.bos : -1);
        if (m->text.bounds.boundary >= 0)
            fprintf(f, "model %zu boundary=%d\n", i + 1, m->text.bounds.boundary);
    }
    fprintf(f, "segment length=%zu\nkernels=%s\n", r->models[0].segments.length, r->kernels->name);
    for (size_t i = 0; i < r->settings->count; i++)
        if (!is_above(r->settings->item[i].name))
            fprintf(f, "%s=%s\n", r->settings->item[i].name, r->settings->item[i].value);
    failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* The values of a segment are the norms of all layers, then the two of struct completeness, then
 * with experts the near ties, then unused up to the record's values. */
static int take_segment(struct erf_run *r, const struct erf_model *m,
                        const struct journal_segment *s)
{
    struct result_field *fields;
    size_t n;

    if (s->target >= r->target_count || s->segment >= m->segments.count ||
        (s->status != SEGMENT_DONE && s->status != SEGMENT_EXCLUDED))
        return -1;
    fields = erf_fields(m, s->target);
    n = fields->positions;
    for (size_t k = 0; k < m->layer_count; k++) {
        if (decoder_has_experts(m->decoder) && !fields[k].status[s->segment])
            fields[k].near_ties +=
                (size_t)s->values[m->layer_count * n + (fields->completeness ? 2 : 0)];
        memcpy(fields[k].norm + s->segment * n, s->values + k * n, n * sizeof *s->values);
        fields[k].logprob[s->segment] = s->logprob;
        fields[k].status[s->segment] = s->status;
    }
    if (fields->completeness)
        memcpy(fields->completeness + 2 * s->segment, s->values + n, 2 * sizeof *s->values);
    return 0;
}

/* Restores one record of an earlier run. */
static int take_record(void *context, const struct journal_record *record)
{
    struct erf_run *r = context;
    struct erf_model *m;

    if (record->model >= r->count)
        return -1;
    m = &r->models[record->model];
    return record->kind == JOURNAL_SEGMENT ? take_segment(r, m, &record->segment)
                                           : measurements_resume(m, record);
}

/* Reports what could not be restored from a journal. */
static void tell_found(const struct erf_run *r, const char *path, const struct journal_found *found)
{
    if (found->damaged)
        progress_warning(r->progress,
                         "%s: %zu of %zu records %s skipped: %s (what %s held is measured again)",
                         path, found->damaged, found->damaged + found->records,
                         found->damaged == 1 ? "is" : "are",
                         found->damaged == 1 ? "its checksum is wrong"
                                             : "their checksums are wrong",
                         found->damaged == 1 ? "it" : "they");
    if (found->torn)
        progress_message(r->progress,
                         "%s: the last record is dropped: it was not written to its end (what it "
                         "held is measured again)",
                         path);
}

/* The other file of reach 0.1.0, beside its journal. */
static void remove_sums(const char *path)
{
    static const char *const ends[] = {"attention.new", "attention"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *name;

        if (asprintf(&name, "%s.%s", path, ends[i]) < 0)
            return;
        unlink(name);
        free(name);
    }
}

void erf_journal_remove(const char *path)
{
    remove_sums(path);
    unlink(path);
}

int erf_journal_open(struct erf_run *r, const char *path, struct error *e)
{
    struct journal_found found = {.absent = 1};
    char *settings = erf_settings_text(r);

    if (!settings)
        return fail(e, "out of memory for the settings");
    if (r->options->resume)
        r->journal = journal_resume(path, &r->sizes, settings, take_record, r, &found, e);
    else if (!r->options->force && access(path, F_OK) == 0) {
        fail(e,
             "%s: an unfinished run is kept here (expected --resume to continue it, or --force to "
             "start again)",
             path);
        found.absent = 0;
    }
    if (r->journal)
        tell_found(r, path, &found);
    else if (found.absent) {
        remove_sums(path);
        r->journal = journal_create(path, &r->sizes, settings, e);
    }
    free(settings);
    return r->journal ? 0 : -1;
}

void erf_count_work(const struct erf_run *r, size_t *total, size_t *done)
{
    *total = *done = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        *total += m->segments.count * r->target_count;
        measurements_count(r, m, total, done);
        for (size_t t = 0; t < r->target_count; t++)
            for (size_t k = 0; k < m->segments.count; k++)
                *done += erf_fields(m, t)->status[k] != 0;
    }
}

void erf_count_costs(const struct erf_run *r, double *total, double *done)
{
    *total = *done = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        measurements_costs(r, m, total, done);
        for (size_t t = 0; t < r->target_count; t++)
            for (size_t k = 0; k < m->segments.count; k++) {
                *total += m->cost[t];
                *done += erf_fields(m, t)->status[k] ? m->cost[t] : 0;
            }
    }
}
