/* A segment of a result of `reach erf`. */
#include "run/explain/explain.h"

#include "io/results/result.h"
#include "run/erf/options.h"
#include "run/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The named model, or the only one. NULL: an error. */
static struct result_model *find_model(struct result *r, const char *name, const char *path,
                                       struct error *e)
{
    char names[256] = "";

    for (size_t i = 0; i < r->model_count; i++) {
        size_t length = strlen(names);

        if (name ? strcmp(r->models[i].name, name) == 0 : r->model_count == 1)
            return &r->models[i];
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", r->models[i].name);
    }
    if (name)
        fail(e, "%s: has no model %s (expected one of: %s)", path, name, names);
    else
        fail(e, "%s: has %zu models (expected --model with one of: %s)", path, r->model_count,
             names);
    return NULL;
}

/* The field of the target, at the embeddings. */
static const struct result_field *find_field(const struct result_model *m, size_t target,
                                             const char *path, struct error *e)
{
    char targets[256] = "";

    for (size_t i = 0; i < result_targets(m); i++) {
        const struct result_field *f = result_target(m, i);
        size_t length = strlen(targets);

        if (f->target == (target ? target : m->fields[0].target))
            return f;
        snprintf(targets + length, sizeof targets - length, "%s%zu", i ? ", " : "", f->target);
    }
    fail(e, "%s: --target-position %zu was not measured of %s (expected one of: %s)", path, target,
         m->name, targets);
    return NULL;
}

/* The constant with this name. */
static const char *attribution_of(const char *text)
{
    for (size_t i = 0; text && attribution_names[i]; i++)
        if (strcmp(text, attribution_names[i]) == 0)
            return attribution_names[i];
    return "grad";
}

static int copy_segment(struct explanation *x, struct result *r, struct result_model *m,
                        const struct result_field *f, size_t segment, struct error *e)
{
    size_t n = f->positions;

    x->count = n;
    x->segment = segment;
    x->attribution = attribution_of(r->attribution);
    x->model = strdup(m->name);
    x->path = m->path ? strdup(m->path) : strdup(m->name);
    x->position_encoding = strdup(m->position_encoding ? m->position_encoding : "");
    x->id = calloc(n + 1, sizeof *x->id);
    x->norm = calloc(n, sizeof *x->norm);
    if (!x->model || !x->path || !x->position_encoding || !x->id || !x->norm)
        return fail_memory(e, (double)n * (sizeof *x->id + sizeof *x->norm), "the segment");
    memcpy(x->id, m->tokens + (segment - 1) * m->fields[0].target, (n + 1) * sizeof *x->id);
    memcpy(x->norm, f->norm + (segment - 1) * n, n * sizeof *x->norm);
    x->target = (struct prediction){x->id[n], f->logprob[segment - 1]};
    if (f->completeness) {
        x->integrated = 1;
        x->attributed = f->completeness[2 * (segment - 1)];
        x->baseline = f->completeness[2 * (segment - 1) + 1];
    }
    return 0;
}

/* At one target; 0: the first. */
static int take_target(struct explanation *x, struct result *r, struct result_model *m,
                       size_t target, size_t segment, const char *path, struct error *e)
{
    const struct result_field *f = find_field(m, target, path, e);

    if (!f)
        return -1;
    if (f->status[segment - 1] != SEGMENT_DONE)
        return fail(e,
                    "%s: segment %zu of %s is excluded: its norms are not finite, or sum to zero "
                    "(expected another one)",
                    path, segment, m->name);
    return copy_segment(x, r, m, f, segment, e);
}

static int take_segment(struct explanations *out, struct result *r, const struct explain_options *o,
                        const char *path, struct error *e)
{
    struct result_model *m = find_model(r, o->model, path, e);
    size_t count = o->position_count ? o->position_count : 1;

    if (!m)
        return -1;
    if (!m->tokens)
        return fail(e,
                    "%s: holds no token ids, because an older version wrote it (expected a result "
                    "of this version of `reach erf`)",
                    path);
    if (o->segment > m->segments)
        return fail(e, "%s: --segment %zu: %s has %zu segments (expected 1 to %zu)", path,
                    o->segment, m->name, m->segments, m->segments);
    if (!(out->item = calloc(count, sizeof *out->item)))
        return fail_memory(e, (double)count * sizeof *out->item, "the explanations");
    while (out->count < count) {
        struct explanation *x = &out->item[out->count];
        size_t target = o->position_count ? o->positions[out->count] : 0;

        x->pieces = &out->pieces;
        out->count++; /* freed also after a failure */
        if (take_target(x, r, m, target, o->segment, path, e) != 0)
            return -1;
    }
    if (!m->pieces.count && m->vocabulary == 256)
        return texts_of_bytes(&out->pieces, e);
    return texts_add(&out->pieces, &m->pieces, e); /* the result's memory is separate */
}

int explain_read(struct explain_run *r, struct error *e)
{
    struct report report;
    struct result result = {0};
    int rc;

    if (report_open(&report, r->options->source, e) != 0)
        return -1;
    if (report.kind != REPORT_ERF)
        rc =
            fail(e,
                 "%s: is a table (expected a folder of `reach erf`, or its erf.h5, with --segment)",
                 report.path);
    else
        rc = result_read(report.path, &result, e);
    if (rc == 0)
        rc = take_segment(&r->found, &result, r->options, report.path, e);
    result_free(&result);
    report_close(&report);
    return rc;
}
