#include "plots/result.h"

#include "plots/figure.h"

#include <stdlib.h>

int figure_result(const struct figure_place *to, const struct result *r, struct error *e)
{
    struct figure_curve *curves = calloc(r->model_count ? r->model_count : 1, sizeof *curves);
    double thresholds[RESULT_THRESHOLDS_MAX];
    size_t count = 0;
    int rc;

    if (!curves)
        return fail(e, "%s: out of memory for the figure", to->folder);
    thresholds[count++] = r->main_threshold;
    for (size_t i = 0; i < r->threshold_count; i++)
        if (i != r->main_row)
            thresholds[count++] = r->thresholds[i];
    for (size_t i = 0; i < r->model_count; i++) {
        const struct erf_summary *u = &result_main(&r->models[i])->summary;
        const struct erf_row *row = &u->rows[r->main_row];

        curves[i] = (struct figure_curve){.label = r->models[i].name,
                                          .c = u->c,
                                          .c_lo = u->replicate_count ? u->c_lo : NULL,
                                          .c_hi = u->replicate_count ? u->c_hi : NULL,
                                          .positions = u->positions,
                                          .train_length = (int)r->models[i].train_length,
                                          .erf = row->erf,
                                          .saturated = row->saturated};
    }
    rc = figure_erf(to, &(struct figure_curves){curves, r->model_count, thresholds, count}, e);
    free(curves);
    return rc;
}
