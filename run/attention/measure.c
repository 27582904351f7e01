/* The measuring of attention, segment by segment. */
#include "io/journal.h"
#include "io/result.h"
#include "model/mass.h"
#include "run/attention/attention.h"
#include "run/erf/parts.h"
#include "run/interrupt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds of work that a kill may cost. */
static const double saved_every = 10;

static struct engine_request request_of(const struct erf_run *r, const struct erf_model *m)
{
    return (struct engine_request){.kind = REQUEST_ATTENTION,
                                   .positions = (int)r->positions,
                                   .memory = r->options->machine.memory,
                                   .segments = m->segments.count};
}

int attention_estimate(const struct erf_run *r, const struct erf_model *m, struct error *e)
{
    struct engine_request request = request_of(r, m);
    struct memory_plan plan;

    return engine_estimate(&plan, r->kernels, m->decoder, &request, e);
}

enum { SUM_DOUBLES = sizeof *((struct erf_attention *)0)->sum / sizeof(double) };

/* Values of the longest record: the bytes of a model's sums. */
static size_t longest_record(const struct erf_run *r)
{
    size_t most = 0;

    for (size_t i = 0; i < r->count; i++)
        most = attention_words(r, &r->models[i]) > most ? attention_words(r, &r->models[i]) : most;
    return SUM_DOUBLES * most;
}

/* Keeps the sums so far in PATH, whole or not at all: a journal with one record a model, whose number is that of the segments
 * that are in the sums, whose log p that of those that were usable, and whose values are the bytes of the sums. */
static int save(const struct erf_run *r, const char *path, struct error *e)
{
    size_t values = longest_record(r);
    double *record = calloc(values, sizeof *record);
    char *fresh = NULL, *settings = erf_settings(r);
    struct journal *j = NULL;
    int rc = -1;

    if (!record || !settings || asprintf(&fresh, "%s.new", path) < 0) {
        fresh = NULL;
        fail_memory(e, (double)values * sizeof *record, "the attention of all heads");
        goto end;
    }
    j = journal_create(fresh, values, settings, e);
    rc = j ? 0 : -1;
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        const struct erf_attention *a = &r->models[i].attention;
        struct journal_record one = {.model = (uint32_t)i,
                                     .segment = (uint32_t)a->measured,
                                     .status = SEGMENT_DONE,
                                     .logprob = (double)a->used,
                                     .norm = record};

        memset(record, 0, values * sizeof *record);
        memcpy(record, a->sum, attention_words(r, &r->models[i]) * sizeof *a->sum);
        rc = journal_append(j, &one, e);
    }
    if (j && journal_close(j, rc == 0 ? e : NULL) != 0)
        rc = -1;
    if (rc == 0 && rename(fresh, path) != 0)
        rc = fail(e, "%s: cannot be written: %s", path, strerror(errno));
    if (rc != 0)
        unlink(fresh);
end:
    free(record);
    free(settings);
    free(fresh);
    return rc;
}

static int take_sums(void *context, const struct journal_record *record)
{
    struct erf_run *r = context;
    struct erf_model *m;

    if (record->model >= r->count)
        return -1;
    m = &r->models[record->model];
    if (record->segment > m->segments.count || !(record->logprob >= 0 && record->logprob <= record->segment))
        return -1;
    memcpy(m->attention.sum, record->norm, attention_words(r, m) * sizeof *m->attention.sum);
    m->attention.measured = record->segment;
    m->attention.used = (size_t)record->logprob;
    return 0;
}

int attention_resume(struct erf_run *r, const char *path, struct error *e)
{
    char *settings = erf_settings(r);
    struct journal *j;
    struct journal_found found;

    if (!settings)
        return fail(e, "out of memory for the settings");
    if (attention_room(r, e) != 0) {
        free(settings);
        return -1;
    }
    j = journal_resume(path, longest_record(r), settings, take_sums, r, &found, e);
    free(settings);
    if (!j)
        return found.absent ? 0 : -1;
    erf_tell_found(r, path, &found);
    return journal_close(j, e);
}

static int measure_model(struct erf_run *r, struct erf_model *m, const char *path, double *saved, struct error *e)
{
    struct engine_request options = request_of(r, m);
    struct erf_attention *a = &m->attention;
    size_t length = r->positions + 1, count = attention_words(r, m), most;
    struct engine *g;
    double *mass = NULL;
    int rc = -1;

    if (a->measured == m->segments.count)
        return 0;
    g = engine_create(r->kernels, m->decoder, &options, e);
    if (!g)
        return -1;
    most = (size_t)engine_plan(g)->batch;
    mass = calloc(most, count * sizeof *mass);
    if (!mass) {
        fail_memory(e, (double)most * (double)count * sizeof *mass, "the attention of a batch");
        goto end;
    }
    while (a->measured < m->segments.count) {
        size_t left = m->segments.count - a->measured, now = left < most ? left : most;

        if (interrupt_wanted() || progress_seconds(r->progress) - *saved > saved_every) {
            *saved = progress_seconds(r->progress);
            if (save(r, path, e) != 0)
                goto end;
        }
        if (interrupt_wanted()) {
            fail(e, "interrupted");
            goto end;
        }
        if (engine_attention(g, mass, m->segments.ids + a->measured * length, (int)now, e) != 0 || erf_unchanged(r, e) != 0)
            goto end;
        for (size_t i = 0; i < now; i++)
            attention_add(a, mass + i * count, count);
        progress_step(r->progress, now, m->argument->name);
    }
    progress_log(r->progress, "%s: attention is measured", m->argument->name);
    rc = 0;
end:
    free(mass);
    engine_close(g);
    return rc;
}

int attention_measure(struct erf_run *r, const char *path, struct error *e)
{
    double saved = progress_seconds(r->progress);

    if (attention_room(r, e) != 0)
        return -1;
    for (size_t i = 0; i < r->count; i++)
        if (measure_model(r, &r->models[i], path, &saved, e) != 0)
            return -1;
    for (size_t i = 0; i < r->count; i++)
        if (attention_reduce(r, &r->models[i], NULL, e) != 0)
            return -1;
    return 0;
}
