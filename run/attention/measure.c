/* The measuring of attention, segment by segment. */
#include "model/mass.h"
#include "plots/result.h"
#include "run/attention/attention.h"
#include "run/attention/csv.h"
#include "run/interrupt.h"
#include "run/ranks.h"

#include <stdlib.h>
#include <string.h>

/* Seconds of work that a kill may lose. */
static const double saved_every = 10;

static int room(const struct measured *m, struct journal_sizes *most, struct error *e)
{
    struct result_attention *a = &m->out->attention;

    a->layers = (size_t)m->decoder->layers;
    a->heads = (size_t)m->decoder->heads;
    a->positions = m->positions;
    a->recurrence_heads = (size_t)decoder_recurrence_heads(m->decoder);
    if (!(a->mixers = mixers_text(m->decoder)))
        return fail_memory(e, 16 * (double)a->layers, "the layers");
    if (result_attention_room(a, e) != 0)
        return -1;
    most->words = attention_words(a) > most->words ? attention_words(a) : most->words;
    return 0;
}

static struct engine_request request_of(const struct measured *m)
{
    return (struct engine_request){.kind = REQUEST_ATTENTION,
                                   .positions = (int)m->positions,
                                   .memory = ranks_memory(m->memory),
                                   .segments = m->segments->count};
}

static int estimate(const struct measured *m, double *cost, struct error *e)
{
    struct engine_request request = request_of(m);
    struct memory_plan plan;

    if (engine_estimate(&plan, m->kernels, m->decoder, &request, e) != 0)
        return -1;
    *cost = plan.flops;
    return 0;
}

static int resume(struct result_model *m, const struct journal_record *kept)
{
    return attention_resume(m, &kept->attention);
}

static void count_steps(const struct result_model *m, size_t *steps, size_t *done)
{
    *steps = m->segments;
    *done = m->attention.measured;
}

/* Stores the sums of a model so far. */
static int save(const struct measured *m, struct error *e)
{
    const struct result_attention *a = &m->out->attention;
    const struct journal_record record = {
        .kind = JOURNAL_ATTENTION,
        .model = (uint32_t)m->model,
        .attention = {.measured = a->measured,
                      .used = a->used,
                      .words = attention_words(a),
                      .high = a->high,
                      .low = a->low},
    };

    return journal_append(m->journal, &record, e);
}

/* Adds the segments that are not in the sums yet. */
static int measure_all(const struct measured *m, struct engine *g, double *mass, struct error *e)
{
    struct result_attention *a = &m->out->attention;
    size_t most = (size_t)engine_plan(g)->batch, length = m->positions + 1,
           decays = a->layers * a->recurrence_heads, count = attention_words(a) - decays;
    double *decay = mass + most * count;
    double saved = progress_seconds(m->progress);

    while (a->measured < m->segments->count) {
        size_t left = m->segments->count - a->measured, now = left < most ? left : most;

        if (engine_attention(g, mass, decay, m->segments->ids + a->measured * length, (int)now,
                             e) != 0 ||
            tensors_unchanged(m->decoder->tensors, e) != 0)
            return -1;
        for (size_t i = 0; i < now; i++)
            attention_add(a, mass + i * count, decay + i * decays);
        progress_step_of(m->progress, now, m->cost, m->argument->name);
        if (interrupt_wanted() || progress_seconds(m->progress) - saved > saved_every ||
            left == now) {
            if (save(m, e) != 0)
                return -1;
            saved = progress_seconds(m->progress);
        }
        if (interrupt_wanted() && left > now)
            return fail(e, "interrupted");
    }
    return 0;
}

static int measure(const struct measured *m, struct error *e)
{
    struct engine_request request = request_of(m);
    size_t count = attention_words(&m->out->attention), most;
    struct engine *g;
    double *mass;
    int rc = -1;

    if (m->out->attention.measured == m->segments->count)
        return 0;
    if (interrupt_wanted())
        return fail(e, "interrupted");
    g = engine_create(m->kernels, m->decoder, &request, e);
    if (!g)
        return -1;
    most = (size_t)engine_plan(g)->batch;
    mass = calloc(most, count * sizeof *mass);
    if (!mass)
        fail_memory(e, (double)most * (double)count * sizeof *mass, "the attention of a batch");
    else if ((rc = measure_all(m, g, mass, e)) == 0)
        progress_log(m->progress, "%s: attention is measured", m->argument->name);
    free(mass);
    engine_close(g);
    return rc;
}

static int reduce(const struct measured *m, struct error *e)
{
    return attention_reduce(m->result, m->out, e) != 0 ||
                   attention_theory(m->result, m->out, m->decoder, e) != 0 ||
                   attention_correlate(m->result, m->out, e) != 0
               ? -1
               : 0;
}

static int is_there(const void *result)
{
    const struct result *r = result;

    return r->models[0].attention.rows != NULL;
}

static int is_drawn(const void *result)
{
    return is_there(result) && figure_has_attention(result);
}

const struct measurement attention_measurement = {
    .kind = JOURNAL_ATTENTION,
    .room = room,
    .estimate = estimate,
    .resume = resume,
    .count = count_steps,
    .measure = measure,
    .reduce = reduce,
    .file = {.is_wanted = is_there, .layout = &attention_csv, .rows = attention_rows},
    .figure = {"attention", is_drawn, figure_attention},
};
