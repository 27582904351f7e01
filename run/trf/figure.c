/* The figure of `reach trf`. */
#include "run/trf/trf.h"

#include "plots/trf.h"

#include <math.h>
#include <stdlib.h>

/* 1 if the curves beside curve i are of other arguments. */
static int is_alone(const struct trf_run *r, int i)
{
    int argument = r->curves[i].head->argument;

    return (i == 0 || r->curves[i - 1].head->argument != argument) &&
           (i + 1 == r->curve_count || r->curves[i + 1].head->argument != argument);
}

int trf_write_figure(const struct trf_run *r, const char *const *comments, struct error *e)
{
    const struct trf_options *o = r->options;
    struct curve_texts {
        char head[16], length[24], field[128];
    } *texts = calloc((size_t)r->curve_count + 1, sizeof *texts);
    struct trf_curve *curves = calloc((size_t)r->curve_count + 1, sizeof *curves);
    int rc = texts && curves ? 0 : fail(e, "out of memory for the figure");

    for (int i = 0; i < r->curve_count && rc == 0; i++) {
        const struct kernel_curve *c = &r->curves[i];
        const struct formula_argument *a = &r->arguments[c->head->argument];
        const char *head = kernel_curve_head(texts[i].head, c);
        char layers[128];

        bias_layers_text(layers, sizeof layers, &a->set, c->head->bias);
        trf_count_text(texts[i].field, &c->value->count);
        curves[i] =
            (struct trf_curve){.label = trf_curve_label(a->label, layers, head, is_alone(r, i)),
                               .head = c->head->head,
                               .verdict = series_verdict_name(c->value->verdict),
                               .field_text = isnan(c->value->count.log10_lo) ? "" : texts[i].field,
                               .length = kernel_curve_length(texts[i].length, c),
                               .tokens = c->tokens,
                               .weight = c->weight,
                               .beyond = c->beyond,
                               .points = c->points,
                               .field = c->field};
        if (!curves[i].label)
            rc = fail(e, "out of memory for the figure");
    }
    if (rc == 0 && r->curve_count > 0) /* else nothing has a series */
        rc = figure_trf(&(struct figure_place){o->folder, "trf", comments,
                                               &(struct figure_style){.formats = o->formats}},
                        &(struct trf_curves){curves, (size_t)r->curve_count,
                                             fmax(strtod(o->epsilons[0], NULL), 1e-300)},
                        e);
    for (int i = 0; curves && i < r->curve_count; i++)
        free((char *)curves[i].label);
    free(curves);
    free(texts);
    return rc;
}
