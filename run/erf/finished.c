/* The complete result of an earlier run, with --resume. */
#include "io/results/result.h"
#include "run/command.h"
#include "run/erf/deal.h"
#include "run/erf/measurements.h"
#include "run/erf/parts.h"
#include "run/erf/reduce.h"

#include <stdlib.h>
#include <string.h>

/* 1 for attributes that say where an input was, or what of a shard's attention is in the file. */
static int is_apart(const char *name)
{
    static const char *const names[] = {"path", "adapter", "attention_segments", "attention_used",
                                        "attention_trf"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

static int has_all(const struct result_field *a, const struct result_field *b)
{
    for (size_t i = 0; i < a->attribute_count; i++) {
        const char *name = a->attributes[i].name, *there = result_attribute(b, name);

        if (!is_apart(name) && (!there || strcmp(a->attributes[i].value, there) != 0))
            return 0;
    }
    return 1;
}

/* 1 if the saved model has the segments and fields of this run's. */
static int is_alike(const struct result_model *m, const struct result_model *saved)
{
    if (strcmp(m->name, saved->name) != 0 || m->segments != saved->segments ||
        m->field_count != saved->field_count ||
        memcmp(m->start, saved->start, m->segments * sizeof *m->start) != 0)
        return 0;
    for (size_t k = 0; k < m->field_count; k++) {
        const struct result_field *f = &m->fields[k], *g = &saved->fields[k];

        if (f->target != g->target || f->layer != g->layer || !f->completeness != !g->completeness)
            return 0;
    }
    return 1;
}

/* Copies what was measured. */
static void take(struct result_model *m, const struct result_model *saved)
{
    for (size_t k = 0; k < m->field_count; k++) {
        struct result_field *f = &m->fields[k];
        const struct result_field *g = &saved->fields[k];

        memcpy(f->norm, g->norm, m->segments * f->positions * sizeof *f->norm);
        memcpy(f->logprob, g->logprob, m->segments * sizeof *f->logprob);
        memcpy(f->status, g->status, m->segments * sizeof *f->status);
        if (f->completeness)
            memcpy(f->completeness, g->completeness, 2 * m->segments * sizeof *f->completeness);
        f->near_ties = g->near_ties;
    }
}

/* 1 if both commands have the same options, 0 if not, -1 with *e. */
static int is_same_command(const struct erf_run *r, const struct result *saved, struct error *e)
{
    char *here = command_options(r->command, e),
         *there = here ? command_options(saved->command, e) : NULL;
    int same = there ? strcmp(here, there) == 0 : -1;

    free(here);
    free(there);
    return same;
}

/* Takes the saved numbers, reduces them as the run did, and compares all that the file would say.
 * 1 if it is the same run, 0 if not, -1 with *e. */
static int take_result(struct erf_run *r, const struct result *saved, struct error *e)
{
    struct result *out = &r->result;
    int same = is_same_command(r, saved, e), reduced;

    if (same != 1 || strcmp(out->version, saved->version) != 0 ||
        out->model_count != saved->model_count)
        return same < 0 ? -1 : 0;
    for (size_t i = 0; i < out->model_count; i++) {
        struct result_model *m = &out->models[i];

        if (!is_alike(m, &saved->models[i]))
            return 0;
        take(m, &saved->models[i]);
        reduced = erf_reduce(out, m, m->fields, m->field_count, e);
        if (reduced != 0)
            return reduced == ERF_UNUSABLE ? 0 : -1;
    }
    if (result_describe(out, e) != 0)
        return -1;
    for (size_t i = 0; i < out->model_count; i++)
        for (size_t k = 0; k < out->models[i].field_count; k++) {
            const struct result_field *f = &out->models[i].fields[k],
                                      *g = &saved->models[i].fields[k];

            if (!has_all(f, g) || !has_all(g, f))
                return 0;
        }
    return 1;
}

/* Ranks that wait for work are told that there is none. */
static int dismiss(struct erf_run *r, struct error *e)
{
    return deal_open(r, e) != 0 ? -1 : deal_close(r, 0, e);
}

int erf_finished(struct erf_run *r, const char *path, struct error *e)
{
    struct result saved;
    int same = -1;

    if (erf_open_kernels(r, e) != 0 || erf_identify(r, e) != 0 || result_read(path, &saved, e) != 0)
        return -1;
    same = take_result(r, &saved, e);
    result_free(&saved);
    if (same != 1)
        return same;
    for (size_t i = 0; i < r->count; i++)
        measurements_close(&r->models[i]); /* only their tables have them */
    progress_message(r->progress, "%s: this run is complete, and nothing is measured again%s", path,
                     measurements_asked(r->options)
                         ? " (what --attention and --validate add is in the CSV files beside it)"
                         : "");
    return dismiss(r, e) == 0 ? 1 : -1;
}
