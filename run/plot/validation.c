/* The figure of tables of validation.csv. */
#include "run/plot/rows.h"

#include "plots/validation.h"

#include <math.h>

struct row {
    struct plot_row at;
    const char *change, *model;
    double tokens, size, size_lo, size_hi, gradient, within;
};
static const struct plot_column column[] = {
    PLOT_TEXT(row, change),
    PLOT_LINE(row, model),
    PLOT_NUMBER(row, tokens, 1, 1),
    PLOT_NUMBER(row, size, 0, 0),
    PLOT_NUMBER(row, size_lo, -1e300, NAN),
    PLOT_NUMBER(row, size_hi, 0, NAN),
    PLOT_NUMBER(row, gradient, -1e-9, 0),
    PLOT_NUMBER(row, within, 0, 0),
};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_VALIDATION,
                                                        "validation.csv of `reach erf --validate`",
                                                        column, row, "replaced");

int plot_validation(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    size_t count, lines = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct validation_line *line = rows ? plot_new(r, count, sizeof *line, e) : NULL;
    struct validation_point *point = line ? plot_new(r, count, sizeof *point, e) : NULL;

    if (!point)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];

        point[i] = (struct validation_point){row->tokens, row->size, row->size_lo, row->size_hi,
                                             row->gradient};
        if (row->at.begins)
            line[lines++] = (struct validation_line){row->model, &point[i], 0,
                                                     (int)r->options->train_length};
        line[lines - 1].count++;
    }
    line = plot_pick(r, to->stem, line, sizeof *line, &lines, e);
    return line ? figure_validation(
                      to, &(struct validation_lines){line, lines, count ? rows[0].within : 0}, e)
                : -1;
}
