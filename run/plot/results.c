/* Figures of whole results: layers and targets. */
#include "run/plot/plot.h"

#include "analyze/curve.h"
#include "plots/result.h"

#include <string.h>

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
static void set_name(struct result_model *m, const char *label)
{
    size_t length = strlen(label);

    if (length >= sizeof m->name)
        for (length = sizeof m->name - 1; length > 0 && (label[length] & 0xc0) == 0x80; length--)
            ;
    memmove(m->name, label, length);
    m->name[length] = 0;
}

int plot_models(struct plot_run *r, const struct figure_place *to, struct result *all,
                const char **labels, plot_result *figure, struct error *e)
{
    unsigned char *keep = plot_new(r, all->model_count, 1, e);
    size_t kept = 0;

    if (!keep || plot_names(r, to->stem, labels, keep, all->model_count, e) != 0)
        return -1;
    for (size_t i = 0; i < all->model_count; i++)
        if (keep[i]) {
            all->models[kept] = all->models[i];
            set_name(&all->models[kept++], labels[i]);
        }
    all->model_count = kept;
    return figure(to, all, e);
}

/* A copy of a curve's model with fields at one threshold; its pointers are to the result. */
static int copy_model(struct plot_run *r, struct result_model *out, const struct plot_curve *curve,
                      struct error *e)
{
    const struct result_model *m = curve->model;
    struct result_field *fields = plot_new(r, m->field_count, sizeof *fields, e);
    struct erf_row *rows = fields ? plot_new(r, m->field_count, sizeof *rows, e) : NULL;

    if (!rows)
        return -1;
    for (size_t k = 0; k < m->field_count; k++) {
        fields[k] = m->fields[k];
        rows[k] = row_of(&fields[k], r->threshold);
        fields[k].summary.rows = &rows[k];
    }
    *out = *m;
    out->fields = fields;
    out->train_length = (size_t)curve->figure.train_length;
    return 0;
}

static int draw(struct plot_run *r, const struct figure_place *to,
                size_t (*parts)(const struct result_model *m), plot_result *figure, struct error *e)
{
    struct result all = {.main_threshold = r->threshold, .threshold_count = 1};
    const char **labels = plot_new(r, r->curve_count, sizeof *labels, e);

    all.models = labels ? plot_new(r, r->curve_count, sizeof *all.models, e) : NULL;
    if (!all.models)
        return -1;
    for (size_t i = 0; i < r->curve_count; i++)
        if (r->curves[i].model && parts(r->curves[i].model) > 1) {
            labels[all.model_count] = r->curves[i].figure.label;
            if (copy_model(r, &all.models[all.model_count++], &r->curves[i], e) != 0)
                return -1;
        }
    return plot_models(r, to, &all, labels, figure, e);
}

int plot_layers(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    return draw(r, to, result_layers, figure_layers, e);
}

int plot_targets(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    return draw(r, to, result_targets, figure_targets, e);
}
