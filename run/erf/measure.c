/* The measuring of `reach erf`: engines over segments, with a journal. */
#include "run/erf/batch.h"
#include "run/erf/deal.h"
#include "run/erf/measurements.h"
#include "run/erf/reduce.h"
#include "run/interrupt.h"
#include "run/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reports which layer spoils every segment. Always -1. */
static int explain_unusable(const struct erf_model *m, size_t target, struct engine *g,
                            struct error *e)
{
    int layer, layers = m->decoder->layers;
    const char *path = m->argument->path;
    const double *norm = erf_fields(m, target)->norm;

    if (engine_first_nonfinite(g, m->segments.ids, &layer, e) != 0)
        return -1;
    if (layer > layers && isnan(norm[0]))
        return fail(e,
                    "%s: none of %zu segments is usable: their gradients span more than the "
                    "numbers of this --dtype hold%s",
                    path, m->segments.count, m->out->wide ? "" : " (expected f64)");
    if (layer > layers)
        return fail(e,
                    "%s: none of %zu segments is usable: no gradient reaches the input embeddings "
                    "(expected norms with a "
                    "positive, finite sum)",
                    path, m->segments.count);
    if (layer == layers)
        return fail(e,
                    "%s: none of %zu segments is usable: the output of the head is not finite, all "
                    "layers before it are "
                    "(expected finite numbers)",
                    path, m->segments.count);
    if (layer < 0)
        return fail(e,
                    "%s: none of %zu segments is usable: the output of the embedding is not finite "
                    "(expected finite numbers)",
                    path, m->segments.count);
    return fail(e,
                "%s: none of %zu segments is usable: the output of layer %d of %d is the first "
                "that is not finite (expected "
                "finite numbers)",
                path, m->segments.count, layer + 1, layers);
}

int erf_unchanged(const struct erf_run *r, struct error *e)
{
    for (size_t i = 0; i < r->count; i++)
        if (tensors_unchanged(r->models[i].decoder->tensors, e) != 0)
            return -1;
    return 0;
}

/* The segments of a batch in progress. */
struct span {
    size_t first;
    int count;
};

/* Measures what is missing of one target of model `index`; if the engine allows it, begins the next
 * batch before ending this one. After an interruption batches already begun are still stored. 0; -1
 * on failure or interruption. */
static int measure_target(struct erf_run *r, size_t index, size_t target, struct engine *g,
                          struct error *e)
{
    struct erf_model *m = &r->models[index];
    const struct result_field *f = erf_fields(m, target);
    int plain = r->options->attribution == ATTRIBUTION_GRAD, ahead = plain ? engine_ahead(g) : 1,
        begun = 0, count, rc = -1;
    size_t first = 0, from;
    struct span spans[ENGINE_AHEAD], now;
    struct batch b;

    if (batch_open(&b, r, m, f->target, (size_t)engine_plan(g)->batch, e) != 0)
        goto end;
    deal_begin(r, index, target, engine_plan(g)->batch);
    for (;;) {
        while (begun < ahead && !interrupt_wanted() &&
               (count = deal_take(r, m, f, &first, &from, engine_plan(g)->batch)) > 0) {
            batch_cut(&b, r, m, from, count);
            rc = -1;
            if (plain && engine_begin(g, b.ids, count, e) != 0)
                goto end;
            spans[begun++] = (struct span){from, count};
        }
        if (begun == 0)
            break;
        now = spans[0];
        spans[0] = spans[--begun];
        rc = -1;
        if (plain ? engine_end(g, b.norm, b.logprob, e)
                  : batch_measure(&b, r, m, g, now.first, now.count, e))
            goto end;
        for (int i = 0; plain && i < now.count; i++)
            b.near_ties[i] = engine_near_ties(g, i);
        rc = erf_unchanged(r, e); /* after the work on the batch, before any of it is stored */
        if (rc != 0)
            goto end;
        run_tell_products(r->kernels, r->progress);
        deal_lock(r);
        rc = batch_keep(r, index, target, &b, now.first, now.count, e);
        deal_unlock(r);
        if (rc != 0)
            goto end;
    }
    rc = deal_end(r, e);
    first = 0;
    if (rc == 0 && batch_next(m, f, &first, 1) > 0)
        rc = fail(e, "interrupted");
end:
    batch_close(&b);
    return rc;
}

/* One target of a model from segments to summaries. 0, -1, or ERF_UNUSABLE when every segment is
 * excluded. */
static int finish_target(struct erf_run *r, size_t index, size_t target, struct error *e)
{
    struct erf_model *m = &r->models[index];
    struct result_field *fields = erf_fields(m, target);
    struct engine *g = NULL;
    char text[MEMORY_PLAN_TEXT];
    size_t first = 0;
    int rc = -1;

    if (batch_next(m, fields, &first, 1) > 0) {
        g = erf_engine_open(r, m, fields->target, e);
        if (!g)
            return -1;
        if (target == 0)
            progress_plan(r->progress, m->argument->name, memory_plan_text(text, engine_plan(g)),
                          engine_plan(g)->total);
        if (measure_target(r, index, target, g, e) != 0)
            goto end;
        progress_log(r->progress, "%s: target %zu is measured", m->argument->name, fields->target);
    }
    rc = erf_reduce(&r->result, m->out, fields, m->layer_count, e);
    if (rc == ERF_UNUSABLE) {
        if (!g)
            g = erf_engine_open(r, m, fields->target, e);
        if (g)
            explain_unusable(m, target, g, e);
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
    if (rc == 0)
        rc = measurements_measure(r, e);
    run_tell_products(r->kernels, r->progress); /* including the last ones */
    return rc;
}
