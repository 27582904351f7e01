/* The measuring of attention, segment by segment. */
#include "io/results/journal.h"
#include "model/mass.h"
#include "run/attention/attention.h"
#include "run/erf/parts.h"
#include "run/interrupt.h"
#include "run/ranks.h"

#include <stdlib.h>
#include <string.h>

/* Seconds of work that a kill may cost. */
static const double saved_every = 10;

static struct engine_request request_of(const struct erf_run *r, const struct erf_model *m)
{
    return (struct engine_request){.kind = REQUEST_ATTENTION,
                                   .positions = (int)r->positions,
                                   .memory = ranks_memory(r->options->machine.memory),
                                   .segments = m->segments.count};
}

int attention_estimate(const struct erf_run *r, struct erf_model *m, struct error *e)
{
    struct engine_request request = request_of(r, m);
    struct memory_plan plan;

    if (engine_estimate(&plan, r->kernels, m->decoder, &request, e) != 0)
        return -1;
    m->cost_attention = plan.flops;
    return 0;
}

/* Keeps the sums of a model so far. */
static int save(struct erf_run *r, const struct erf_model *m, struct error *e)
{
    const struct result_attention *a = &m->out->attention;
    const struct journal_record record = {
        .kind = JOURNAL_ATTENTION,
        .model = (uint32_t)(m - r->models),
        .attention = {.measured = a->measured, .used = a->used, .words = attention_words(a), .high = a->high, .low = a->low},
    };

    return journal_append(r->journal, &record, e);
}

/* Adds the segments that are not in the sums yet. */
static int measure_all(struct erf_run *r, const struct erf_model *m, struct engine *g, double *mass, double *saved,
                       struct error *e)
{
    struct result_attention *a = &m->out->attention;
    size_t most = (size_t)engine_plan(g)->batch, length = r->positions + 1, count = attention_words(a);

    while (a->measured < m->segments.count) {
        size_t left = m->segments.count - a->measured, now = left < most ? left : most;

        if (engine_attention(g, mass, m->segments.ids + a->measured * length, (int)now, e) != 0 || erf_unchanged(r, e) != 0)
            return -1;
        for (size_t i = 0; i < now; i++)
            attention_add(a, mass + i * count);
        progress_step_of(r->progress, now, m->cost_attention, m->argument->name);
        if (interrupt_wanted() || progress_seconds(r->progress) - *saved > saved_every || left == now) {
            if (save(r, m, e) != 0)
                return -1;
            *saved = progress_seconds(r->progress);
        }
        if (interrupt_wanted() && left > now)
            return fail(e, "interrupted");
    }
    return 0;
}

static int measure_model(struct erf_run *r, const struct erf_model *m, double *saved, struct error *e)
{
    struct engine_request request = request_of(r, m);
    size_t count = attention_words(&m->out->attention), most;
    struct engine *g;
    double *mass;
    int rc = -1;

    if (m->out->attention.measured == m->segments.count)
        return 0;
    if (interrupt_wanted())
        return fail(e, "interrupted");
    g = engine_create(r->kernels, m->decoder, &request, e);
    if (!g)
        return -1;
    most = (size_t)engine_plan(g)->batch;
    mass = calloc(most, count * sizeof *mass);
    if (!mass)
        fail_memory(e, (double)most * (double)count * sizeof *mass, "the attention of a batch");
    else if ((rc = measure_all(r, m, g, mass, saved, e)) == 0)
        progress_log(r->progress, "%s: attention is measured", m->argument->name);
    free(mass);
    engine_close(g);
    return rc;
}

int attention_measure(struct erf_run *r, struct error *e)
{
    double saved = progress_seconds(r->progress);

    for (size_t i = 0; i < r->count; i++)
        if (measure_model(r, &r->models[i], &saved, e) != 0)
            return -1;
    for (size_t i = 0; i < r->count; i++) {
        struct erf_model *m = &r->models[i];

        if (attention_reduce(&r->result, m->out, e) != 0 || attention_theory(&r->result, m->out, m->decoder, e) != 0 ||
            attention_correlate(&r->result, m->out, e) != 0)
            return -1;
    }
    return 0;
}
