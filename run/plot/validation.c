/* The figure of tables of validation.csv. */
#include "run/plot/plot.h"

#include "plots/validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL, CHANGE, TOKENS, SIZE, SIZE_LO, SIZE_HI, GRADIENT, WITHIN, COLUMNS };
static const char *const names[COLUMNS] = {"model",   "change",  "tokens",   "size",
                                           "size_lo", "size_hi", "gradient", "within"};

/* Memory for the lines of all tables, at most one per row. */
struct lines {
    struct validation_line *line;
    struct validation_point *point; /* of all lines, one after the other */
    size_t count, points;
    double within; /* of the first */
};

static int add_table(struct lines *all, const struct report *t, int train_length, struct error *e)
{
    int column[COLUMNS];
    const char *model = NULL; /* of the current line */

    if (report_columns(t, names, COLUMNS, "validation.csv of `reach erf --validate`", column, e) !=
        0)
        return -1;
    for (size_t i = 0; i < t->table.rows; i++) {
        struct validation_point *p = &all->point[all->points];
        double within;

        if (strcmp(report_cell(t, i, column[CHANGE]), "replaced") != 0)
            continue;
        if (report_number(t, i, column[TOKENS], 1, 1, &p->kept, e) != 0 ||
            report_number(t, i, column[SIZE], 0, 0, &p->size, e) != 0 ||
            report_number(t, i, column[SIZE_LO], -1e300, NAN, &p->lo, e) != 0 ||
            report_number(t, i, column[SIZE_HI], 0, NAN, &p->hi, e) != 0 ||
            report_number(t, i, column[GRADIENT], -1e-9, 0, &p->gradient, e) != 0 ||
            report_number(t, i, column[WITHIN], 0, 0, &within, e) != 0)
            return -1;
        if (!model || strcmp(report_cell(t, i, column[MODEL]), model) != 0) {
            model = report_cell(t, i, column[MODEL]);
            all->line[all->count++] = (struct validation_line){model, p, 0, train_length};
        }
        all->line[all->count - 1].count++;
        all->within = all->points++ ? all->within : within;
    }
    return 0;
}

int plot_validation(const struct plot_run *r, double threshold, const char *const *comments,
                    struct error *e)
{
    struct lines all = {0};
    const struct report *t;
    size_t rows = 1;
    int rc = 0;

    (void)threshold;
    for (size_t i = 0; (t = plot_table(r, REPORT_VALIDATION, i)); i++)
        rows += t->table.rows;
    all.line = calloc(rows, sizeof *all.line);
    all.point = calloc(rows, sizeof *all.point);
    if (!all.line || !all.point)
        rc = fail_memory(e, (double)rows * (sizeof *all.line + sizeof *all.point), "the figure");
    for (size_t i = 0; rc == 0 && (t = plot_table(r, REPORT_VALIDATION, i)); i++)
        rc = add_table(&all, t, (int)r->options->train_length, e);
    if (rc == 0) {
        size_t count = all.count;
        struct validation_line *lines = plot_pick(r, "validation", all.line, sizeof *lines, &count,
                                                  e);

        rc = lines ? figure_validation(r->options->folder, "validation", lines, count, all.within,
                                       comments, &r->style, e)
                   : -1;
        free(lines);
    }
    free(all.line);
    free(all.point);
    return rc;
}
