/* The losses of `reach erf --validate`: one engine for each number of inputs read alone, and one
 * for all losses with the full context. */
#include "model/score.h"
#include "run/interrupt.h"
#include "run/validate/validate.h"
#include "run/validate/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct engine_request request_of(const struct measured *m, size_t positions, size_t segments)
{
    return (struct engine_request){.kind = REQUEST_SCORE,
                                   .positions = (int)positions,
                                   .memory = m->memory,
                                   .segments = segments,
                                   .score = {.outputs = 1}};
}

static int estimate(const struct measured *m, double *cost, struct error *e)
{
    struct engine_request request = request_of(m, m->positions, m->segments->count);
    struct memory_plan plan;

    if (engine_estimate(&plan, m->kernels, m->decoder, &request, e) != 0)
        return -1;
    *cost = plan.flops; /* for the full context, used by most losses */
    return 0;
}

/* The donor of inputs for segment i: the segment half of the text away. */
static const int32_t *donor_of(const struct segments *s, size_t i)
{
    return s->ids + (i + s->count / 2) % s->count * s->length;
}

/* Replaces input p by another token: the donor's there, or its next different one. */
static void replace_one(int32_t *ids, const int32_t *donor, size_t p, size_t first, size_t n)
{
    for (size_t i = 0; i < n - first; i++) {
        size_t from = first + (p - first + i) % (n - first);

        if (donor[from] != ids[p]) {
            ids[p] = donor[from];
            return;
        }
    }
}

/* Inputs and target of loss `value` of v->nll: ids [inputs + 1]. Keeps a beginning-of-text
 * token. */
static void make_ids(int32_t *ids, const struct validation *v, const struct measured *m,
                     size_t value, size_t inputs)
{
    const struct segments *s = m->segments;
    size_t n = v->positions, each = 1 + v->kept_count + v->single_count,
           first = (size_t)m->bounds->begins, test, change;
    const int32_t *own, *donor;

    if (value < v->kept_count * v->tests) {
        own = s->ids + v->segment[value % v->tests] * s->length;
        memcpy(ids, own + n - inputs, (inputs + 1) * sizeof *ids);
        return;
    }
    test = (value - v->kept_count * v->tests) / each;
    change = (value - v->kept_count * v->tests) % each;
    own = s->ids + v->segment[test] * s->length;
    donor = donor_of(s, v->segment[test]);
    memcpy(ids, own, (n + 1) * sizeof *ids);
    if (change > v->kept_count)
        replace_one(ids, donor, n - v->where[test * v->single_count + change - 1 - v->kept_count],
                    first, n);
    else if (change > 0 && n - v->kept[change - 1] > first)
        memcpy(ids + first, donor + first, (n - v->kept[change - 1] - first) * sizeof *ids);
}

/* The next unmeasured losses, from *first below `end`, consecutive, at most `most`: how many. */
static size_t next_run(const struct validation *v, size_t *first, size_t end, size_t most)
{
    size_t count = 0;

    while (*first < end && !isnan(v->nll[*first]))
        ++*first;
    while (*first + count < end && isnan(v->nll[*first + count]) && count < most)
        count++;
    return count;
}

static int keep(const struct measured *m, size_t first, size_t count, struct error *e)
{
    const struct validation *v = m->out->validation;
    const struct journal_record record = {
        .kind = JOURNAL_LOSSES,
        .model = (uint32_t)m->model,
        .losses = {.first = first, .count = count, .values = v->nll + first},
    };

    for (size_t i = first; i < first + count; i++)
        if (!isfinite(v->nll[i]))
            return fail(e,
                        "%s: --validate: log p of a target is not finite with changed inputs "
                        "(expected finite numbers)",
                        m->argument->path);
    if (journal_append(m->journal, &record, e) != 0)
        return -1;
    progress_step_of(m->progress, count, m->cost, m->argument->name);
    return 0;
}

/* Measures the losses [first, end) with this many inputs. */
static int measure_range(const struct measured *m, size_t first, size_t end, size_t inputs,
                         struct error *e)
{
    struct engine_request request = request_of(m, inputs, end - first);
    struct validation *v = m->out->validation;
    size_t most, count, width = inputs + 1;
    struct engine *g = NULL;
    int32_t *ids = NULL;
    double *logprob = NULL;
    int rc = -1;

    if (next_run(v, &first, end, 1) == 0)
        return 0;
    if (interrupt_wanted())
        return fail(e, "interrupted");
    if (!(g = engine_create(m->kernels, m->decoder, &request, e)))
        return -1;
    most = (size_t)engine_plan(g)->batch;
    most = most < m->record_values ? most : m->record_values;
    ids = reallocarray(NULL, most, width * sizeof *ids);
    logprob = calloc(most, sizeof *logprob);
    if (!ids || !logprob) {
        fail_memory(e, (double)most * (double)width * sizeof *ids, "a batch of the validation");
        goto end;
    }
    while ((count = next_run(v, &first, end, most)) > 0) {
        if (interrupt_wanted()) {
            fail(e, "interrupted");
            goto end;
        }
        for (size_t i = 0; i < count; i++)
            make_ids(ids + i * width, v, m, first + i, inputs);
        if (engine_score(g, logprob, ids, (int)count, e) != 0 ||
            tensors_unchanged(m->decoder->tensors, e) != 0)
            goto end;
        for (size_t i = 0; i < count; i++)
            v->nll[first + i] = -logprob[i];
        if (keep(m, first, count, e) != 0)
            goto end;
    }
    rc = 0;
end:
    free(ids);
    free(logprob);
    engine_close(g);
    return rc;
}

/* Tests of excluded segments are not reported, so not measured. */
static void pass_excluded(struct validation *v, const struct result_field *f)
{
    size_t each = 1 + v->kept_count + v->single_count;

    for (size_t i = 0; i < v->tests; i++) {
        if (f->status[v->segment[i]] == SEGMENT_DONE)
            continue;
        for (size_t k = 0; k < v->kept_count; k++)
            v->nll[k * v->tests + i] = 0;
        memset(v->nll + v->kept_count * v->tests + i * each, 0, each * sizeof *v->nll);
    }
}

static int measure(const struct measured *m, struct error *e)
{
    struct validation *v = m->out->validation;

    pass_excluded(v, result_main(m->out));
    for (size_t k = 0; k < v->kept_count; k++)
        if (measure_range(m, k * v->tests, (k + 1) * v->tests, v->kept[k], e) != 0)
            return -1;
    if (measure_range(m, v->kept_count * v->tests, v->values, v->positions, e) != 0)
        return -1;
    progress_log(m->progress, "%s: the validation is measured", m->argument->name);
    return 0;
}

static int reduce(const struct measured *m, struct error *e)
{
    return validate_reduce(m->out->validation, m->out, e);
}

static int is_there(const void *result)
{
    const struct result *r = result;

    return r->models[0].validation != NULL;
}

const struct measurement validation_measurement = {
    .kind = JOURNAL_LOSSES,
    .room = validate_room,
    .estimate = estimate,
    .resume = validate_resume,
    .count = validate_count,
    .measure = measure,
    .reduce = reduce,
    .close = validate_close,
    .file = {.is_wanted = is_there, .layout = &validation_csv, .rows = validate_rows},
    .figure = {"validation", is_there, validate_draw},
};
