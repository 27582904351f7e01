/* Figures of whole results: layers and targets. */
#include "run/plot/plot.h"

#include "analyze/curve.h"
#include "plots/result.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies of the drawn models, with fields at one threshold; their pointers are to the results. */
struct drawn {
    struct result result;
    const char **labels;
    unsigned char *keep;
};

/* The field of a curve, and its interval from its band: a higher curve reaches the threshold
 * sooner. */
static struct erf_row row_of(const struct result_field *f, double threshold)
{
    const struct erf_summary *u = &f->summary;
    struct erf_row row = {.threshold = threshold, .erf = curve_erf(u->c, f->positions, threshold)};

    row.erf_lo = u->c_hi ? curve_erf(u->c_hi, f->positions, threshold) : row.erf;
    row.erf_hi = u->c_lo ? curve_erf(u->c_lo, f->positions, threshold) : row.erf;
    row.saturated = row.erf == f->positions;
    return row;
}

/* Cut at a whole character. */
void plot_set_name(struct result_model *m, const char *label)
{
    size_t length = strlen(label);

    if (length >= sizeof m->name)
        for (length = sizeof m->name - 1; length > 0 && (label[length] & 0xc0) == 0x80; length--)
            ;
    memmove(m->name, label, length);
    m->name[length] = 0;
}

static int copy_model(struct result_model *out, const struct plot_curve *curve, const char *label,
                      double threshold, struct error *e)
{
    const struct result_model *m = curve->model;
    struct result_field *fields = calloc(m->field_count, sizeof *fields);
    struct erf_row *rows = calloc(m->field_count, sizeof *rows);

    if (!fields || !rows) {
        free(fields);
        free(rows);
        return fail_memory(e, (double)m->field_count * sizeof *fields, "the fields of a model");
    }
    for (size_t k = 0; k < m->field_count; k++) {
        fields[k] = m->fields[k];
        rows[k] = row_of(&fields[k], threshold);
        fields[k].summary.rows = &rows[k];
    }
    *out = *m;
    out->fields = fields;
    out->train_length = (size_t)curve->figure.train_length;
    plot_set_name(out, label);
    return 0;
}

static int draw(const struct plot_run *r, const char *stem,
                size_t (*parts)(const struct result_model *m), double threshold,
                int (*figure)(const char *, const char *, const struct result *,
                              const struct figure_style *, struct error *),
                struct error *e)
{
    struct result all = {.version = (char *)REACH_VERSION,
                         .command = (char *)r->command,
                         .main_threshold = threshold};
    const struct plot_curve **curves = calloc(r->curve_count, sizeof *curves);
    const char **labels = calloc(r->curve_count, sizeof *labels);
    unsigned char *keep = calloc(r->curve_count, 1);
    size_t count = 0;
    int rc = 0;

    all.threshold_count = 1;
    all.models = calloc(r->curve_count, sizeof *all.models);
    if (!curves || !labels || !keep || !all.models)
        rc = fail_memory(e, (double)r->curve_count * sizeof *all.models, "the models of a figure");
    for (size_t i = 0; rc == 0 && i < r->curve_count; i++)
        if (r->curves[i].model && parts(r->curves[i].model) > 1) {
            labels[count] = r->curves[i].figure.label;
            curves[count++] = &r->curves[i];
        }
    if (rc == 0)
        rc = plot_names(r, stem, labels, keep, count, e);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (keep[i] && (rc = copy_model(&all.models[all.model_count], curves[i], labels[i],
                                        threshold, e)) == 0)
            all.model_count++;
    if (rc == 0)
        rc = figure(r->options->folder, stem, &all, &r->style, e);
    for (size_t i = 0; i < all.model_count; i++) {
        free(all.models[i].fields[0].summary.rows);
        free(all.models[i].fields);
    }
    free(all.models);
    free(curves);
    free(labels);
    free(keep);
    return rc;
}

int plot_layers(const struct plot_run *r, double threshold, const char *const *comments,
                struct error *e)
{
    (void)comments;
    return draw(r, "layers", result_layers, threshold, figure_layers, e);
}

int plot_targets(const struct plot_run *r, double threshold, const char *const *comments,
                 struct error *e)
{
    (void)comments;
    return draw(r, "targets", result_targets, threshold, figure_targets, e);
}
