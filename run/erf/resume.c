/* The journal of a run: begun, or gone on with. */
#include "io/journal.h"
#include "io/result.h"
#include "run/attention/attention.h"
#include "run/erf/parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 for options of which what came of them is written instead: texts may have moved, and fewer segments fit than were asked for.
 */
static int is_above(const char *name)
{
    static const char *const names[] = {"text", "tokens", "length", "segments", "stride", "bos"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

char *erf_settings(const struct erf_run *r)
{
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
        fprintf(f, "model %zu tokens=%s\nmodel %zu segments=%zu\nmodel %zu stride=%zu\n", i + 1, m->tokens_digest, i + 1,
                m->run_segments, i + 1, m->segments.stride);
        fprintf(f, "model %zu bos=%d\n", i + 1, m->bos ? m->bos_id : -1);
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

int erf_journal_open(struct erf_run *r, const char *path, const char *attention_path, struct error *e)
{
    char *settings = erf_settings(r);
    struct journal_found found = {.absent = 1};

    if (!settings)
        return fail(e, "out of memory for the settings");
    if (r->options->resume)
        r->journal = journal_resume(path, r->record_values, settings, take_record, r, &found, e);
    else if (!r->options->force && access(path, F_OK) == 0) {
        fail(e, "%s: an unfinished run is kept here (expected --resume to go on with it, or --force to start afresh)", path);
        found.absent = 0;
    }
    if (r->journal)
        erf_tell_found(r, path, &found);
    else if (found.absent) {
        erf_sums_remove(path); /* of a run whose journal is gone */
        r->journal = journal_create(path, r->record_values, settings, e);
    }
    free(settings);
    return r->journal && (!r->options->attention || !r->options->resume || attention_resume(r, attention_path, e) == 0) ? 0 : -1;
}

static size_t count_done(const struct erf_run *r, const struct erf_model *m)
{
    size_t done = 0;

    for (size_t t = 0; t < r->target_count; t++)
        for (size_t i = 0; i < m->segments.count; i++)
            done += m->targets[t].fields[0].status[i] != 0;
    return done;
}

void erf_count_work(const struct erf_run *r, size_t *total, size_t *done)
{
    *total = *done = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        *total += m->segments.count * (r->target_count + (r->options->attention ? 1 : 0));
        *done += count_done(r, m) + m->attention.measured;
    }
}
