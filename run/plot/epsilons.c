/* Theoretical fields over epsilon. */
#include "run/plot/plot.h"

#include "plots/epsilons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMULA, HEAD, LENGTH, LAYERS, EPSILON, TRF_LO, TRF_HI, LAYER, LOG10_LO, LOG10_HI, COLUMNS };
static const char *const column_names[COLUMNS] = {"formula",      "head",        "length", "layers",
                                                  "epsilon",      "trf_lo",      "trf_hi", "layer",
                                                  "log10_trf_lo", "log10_trf_hi"};

struct lines {
    struct epsilon_line *line; /* labels and points are owned */
    size_t count;
};

/* A bound of a field: its digits, or if too many from its logarithm; NaN: not drawable. */
static double bound(const char *digits, const char *logarithm)
{
    double value = *digits      ? strtod(digits, NULL)
                   : *logarithm ? pow(10, strtod(logarithm, NULL))
                                : NAN;
    return value >= 1 && value < 1e290 ? value : NAN;
}

/* The head used for a name: `all`, or the last one. */
static const char *head_of(const struct report *t, const int column[COLUMNS], const char *name)
{
    const char *head = "";

    for (size_t row = 0; row < t->table.rows; row++) {
        const char *of_row = report_cell(t, row, column[HEAD]);
        if (strcmp(report_cell(t, row, column[FORMULA]), name) == 0 && strcmp(head, "all") != 0)
            head = of_row;
    }
    return head;
}

static struct epsilon_line *line_named(struct lines *all, char *label)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->line[i].label, label) == 0) {
            free(label);
            return &all->line[i];
        }
    struct epsilon_line *grown = reallocarray(all->line, all->count + 1, sizeof *grown);
    if (!grown) {
        free(label);
        return NULL;
    }
    all->line = grown;
    grown[all->count] = (struct epsilon_line){.label = label};
    return &grown[all->count++];
}

static int add_point(struct epsilon_line *line, struct epsilon_point point)
{
    struct epsilon_point *grown = reallocarray((void *)line->points, line->count + 1,
                                               sizeof *grown);
    size_t at = line->count;

    if (!grown)
        return -1;
    line->points = grown;
    line->count++;
    for (; at > 0 && grown[at - 1].epsilon > point.epsilon; at--)
        grown[at] = grown[at - 1];
    grown[at] = point;
    return 0;
}

static int add_row(struct lines *all, const struct report *t, const int column[COLUMNS], size_t row,
                   struct error *e)
{
    const char *name = report_cell(t, row, column[FORMULA]),
               *head = report_cell(t, row, column[HEAD]),
               *layer = report_cell(t, row, column[LAYER]),
               *length = report_cell(t, row, column[LENGTH]),
               *layers = report_cell(t, row, column[LAYERS]);
    struct epsilon_point point = {strtod(report_cell(t, row, column[EPSILON]), NULL),
                                  bound(report_cell(t, row, column[TRF_LO]),
                                        report_cell(t, row, column[LOG10_LO])),
                                  bound(report_cell(t, row, column[TRF_HI]),
                                        report_cell(t, row, column[LOG10_HI]))};
    int whole = strcmp(length, "inf") == 0, one = strcmp(layers, "1") == 0,
        mean = strcmp(head, "all") == 0;
    struct epsilon_line *line;
    char *label;

    if (strcmp(head, head_of(t, column, name)) != 0 || isnan(point.lo) || isnan(point.hi) ||
        !(point.epsilon > 0))
        return 0;
    if (asprintf(&label, "%s%s%s%s%s%s%s%s%s%s", name, mean ? "" : ", head ", mean ? "" : head,
                 *layer ? ", layer " : "", layer, whole ? "" : ", L = ", whole ? "" : length,
                 one ? "" : ", ", one ? "" : layers, one ? "" : " layers") < 0)
        return fail(e, "%s: out of memory for the figure", name);
    line = line_named(all, label);
    return line && add_point(line, point) == 0 ? 0
                                               : fail(e, "%s: out of memory for the figure", name);
}

int plot_has_epsilons(const struct plot_run *r)
{
    static const char *const name[] = {"epsilon"};
    const struct report *t;
    struct error ignored;
    int column;

    for (size_t i = 0; (t = plot_table(r, REPORT_FIELDS, i)) != NULL; i++)
        if (report_columns(t, name, 1, "trf.csv of `reach trf`", &column, &ignored) == 0)
            for (size_t row = 1; row < t->table.rows; row++)
                if (strtod(report_cell(t, row, column), NULL) !=
                    strtod(report_cell(t, 0, column), NULL))
                    return 1;
    return 0;
}

int plot_epsilons(const struct plot_run *r, double threshold, const char *const *comments,
                  struct error *e)
{
    struct lines all = {0};
    const struct report *t;
    int rc = 0, column[COLUMNS];

    (void)threshold;
    for (size_t i = 0; rc == 0 && (t = plot_table(r, REPORT_FIELDS, i)) != NULL; i++) {
        rc = report_columns(t, column_names, COLUMNS, "trf.csv of `reach trf`", column, e);
        for (size_t row = 0; rc == 0 && row < t->table.rows; row++)
            rc = add_row(&all, t, column, row, e);
    }
    if (rc == 0) {
        size_t count = all.count;
        struct epsilon_line *picked = plot_pick(r, "epsilon", all.line, sizeof *picked, &count, e);

        rc = picked ? figure_epsilons(r->options->folder, "epsilon", picked, count, comments,
                                      &r->style, e)
                    : -1;
        free(picked);
    }
    for (size_t i = 0; i < all.count; i++) {
        free((char *)all.line[i].label);
        free((void *)all.line[i].points);
    }
    free(all.line);
    return rc;
}
