/* The figures that --layer, --target-position and --attention add. */
#include "run/erf/parts.h"

#include "run/attention/attention.h"
#include "plots/layers.h"
#include "version.h"

#include <stdlib.h>

/* The lines above a script; the caller frees *command. */
static int make_comments(const char *comments[3], char **command, const struct erf_run *r, struct error *e)
{
    if (asprintf(command, "command: %s", r->command) < 0) {
        *command = NULL;
        return fail(e, "out of memory for a figure");
    }
    comments[0] = "reach " REACH_VERSION;
    comments[1] = *command;
    comments[2] = NULL;
    return 0;
}

int erf_layers_draw(const struct erf_run *r, const char *folder, struct error *e)
{
    struct layer_figure *models = calloc(r->count, sizeof *models);
    struct layer_curve *curves = NULL;
    const char *comments[3];
    char *command = NULL;
    size_t all = 0, at = 0;
    int rc = -1;

    for (size_t i = 0; i < r->count; i++)
        all += r->models[i].layer_count;
    curves = calloc(all, sizeof *curves);
    if (!models || !curves) {
        fail_memory(e, (double)all * sizeof *curves, "a figure");
        goto end;
    }
    if (make_comments(comments, &command, r, e) != 0)
        goto end;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        models[i] = (struct layer_figure){.label = m->argument->name,
                                          .layers = curves + at,
                                          .count = m->layer_count,
                                          .positions = r->positions,
                                          .train_length = (int)m->out->train_length};
        for (size_t k = 0; k < m->layer_count; k++) {
            const struct result_field *f = &m->out->fields[k];

            curves[at++] = (struct layer_curve){.layer = (int)f->layer,
                                                .s = f->summary.s,
                                                .c = f->summary.c,
                                                .erf = f->summary.rows[r->result.main_row].erf};
        }
    }
    rc = figure_layers(folder, "layers", models, r->count, r->options->main_threshold, comments, r->options->formats, e);
end:
    free(models);
    free(curves);
    free(command);
    return rc;
}

int erf_targets_draw(const struct erf_run *r, const char *folder, struct error *e)
{
    struct target_line *lines = calloc(r->count, sizeof *lines);
    struct target_point *points = calloc(r->count * r->target_count, sizeof *points);
    const char *comments[3];
    char *command = NULL;
    size_t at = 0;
    int rc = -1;

    if (!lines || !points) {
        fail_memory(e, (double)(r->count * r->target_count) * sizeof *points, "a figure");
        goto end;
    }
    if (make_comments(comments, &command, r, e) != 0)
        goto end;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];

        lines[i] = (struct target_line){.label = m->argument->name,
                                        .points = points + at,
                                        .count = r->target_count,
                                        .train_length = (int)m->out->train_length};
        for (size_t t = 0; t < r->target_count; t++) {
            const struct result_field *target = result_target(m->out, t);
            const struct erf_row *row = &target->summary.rows[r->result.main_row];

            points[at++] = (struct target_point){.target = (double)target->target,
                                                 .erf = (double)row->erf,
                                                 .lo = (double)row->erf_lo,
                                                 .hi = (double)row->erf_hi,
                                                 .saturated = row->saturated};
        }
    }
    rc = figure_targets(folder, "targets", lines, r->count, r->options->main_threshold, comments, r->options->formats, e);
end:
    free(lines);
    free(points);
    free(command);
    return rc;
}

int erf_attention_draw(const struct erf_run *r, const char *folder, struct error *e)
{
    struct attention_figure *models = calloc(r->count, sizeof *models);
    double *values = NULL;
    const char *comments[3];
    char *command = NULL, epsilon[32];
    size_t all = 0, at = 0;
    int rc = -1;

    for (size_t i = 0; i < r->count; i++)
        all += (size_t)r->models[i].decoder->layers * (size_t)r->models[i].decoder->heads;
    values = calloc(all, 2 * sizeof *values);
    if (!models || !values) {
        fail_memory(e, 2 * (double)all * sizeof *values, "a figure");
        goto end;
    }
    if (make_comments(comments, &command, r, e) != 0)
        goto end;
    for (size_t i = 0; i < r->count; i++) {
        const struct erf_model *m = &r->models[i];
        size_t heads = (size_t)m->decoder->layers * (size_t)m->decoder->heads;
        double *erf = values + at, *trf = erf + heads;

        for (size_t h = 0; h < heads; h++) {
            const struct attention_row *row = &m->out->attention.rows[h * r->options->threshold_count + r->result.main_row];

            erf[h] = (double)row->erf;
            trf[h] = (double)row->trf_length;
        }
        at += 2 * heads;
        models[i] = (struct attention_figure){.label = m->argument->name,
                                              .layers = m->decoder->layers,
                                              .heads = m->decoder->heads,
                                              .erf = erf,
                                              .trf = trf,
                                              .positions = r->positions};
    }
    result_epsilon(epsilon, r->options->main_threshold);
    rc = figure_attention(folder, "attention", models, r->count, epsilon, comments, r->options->formats, e);
end:
    free(models);
    free(values);
    free(command);
    return rc;
}
