/* validation.gp of a run. */
#include "run/validate/write.h"

#include "plots/validation.h"
#include "run/validate/validate.h"

#include <stdlib.h>

int validate_draw(const struct figure_place *to, const struct result *r, struct error *e)
{
    struct validation_line *lines = calloc(r->model_count, sizeof *lines);
    struct validation_point *points = calloc(r->model_count, VALIDATION_KEPT_MAX * sizeof *points);
    int rc = lines && points ? 0 : fail(e, "%s: out of memory for the figure", to->folder);

    for (size_t i = 0; i < r->model_count && rc == 0; i++) {
        const struct validation *v = r->models[i].validation;
        struct validation_point *p = points + i * VALIDATION_KEPT_MAX;

        lines[i] = (struct validation_line){r->models[i].name, p, 0,
                                            (int)r->models[i].train_length};
        for (size_t k = 0; k < v->row_count; k++) {
            const struct validation_row *row = &v->rows[k];
            const struct validation_mean *size = &row->loss.size;

            if (row->kind == VALIDATION_REPLACED)
                p[lines[i].count++] = (struct validation_point){(double)row->tokens, size->mean,
                                                                size->lo, size->hi, row->gradient};
        }
    }
    if (rc == 0)
        rc = figure_validation(to,
                               &(struct validation_lines){lines, r->model_count, validation_within},
                               e);
    free(lines);
    free(points);
    return rc;
}
