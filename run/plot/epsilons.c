/* Theoretical fields over epsilon. */
#include "run/plot/rows.h"

#include "plots/epsilons.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct row {
    struct plot_row at;
    const char *formula, *head, *length, *layers, *trf_lo, *trf_hi, *layer, *log10_trf_lo,
        *log10_trf_hi;
    double epsilon;
};
static const struct plot_column column[] = {
    PLOT_TEXT(row, formula),        PLOT_TEXT(row, head),         PLOT_TEXT(row, length),
    PLOT_TEXT(row, layers),         PLOT_TEXT(row, trf_lo),       PLOT_TEXT(row, trf_hi),
    PLOT_TEXT(row, layer),          PLOT_TEXT(row, log10_trf_lo), PLOT_TEXT(row, log10_trf_hi),
    PLOT_NUMBER(row, epsilon, 0, 0)};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_FIELDS, "trf.csv of `reach trf`",
                                                        column, row, NULL);

/* A bound of a field: its digits, or if too many from its logarithm; NaN: not drawable. */
static double bound(const char *digits, const char *logarithm)
{
    double value = *digits      ? strtod(digits, NULL)
                   : *logarithm ? pow(10, strtod(logarithm, NULL))
                                : NAN;
    return value >= 1 && value < 1e290 ? value : NAN;
}

/* The head used for the name of row i: `all`, or the last one in its table. */
static const char *head_of(const struct row *rows, size_t count, size_t i)
{
    const char *head = "";

    for (size_t k = 0; k < count; k++)
        if (rows[k].at.from == rows[i].at.from && strcmp(rows[k].formula, rows[i].formula) == 0 &&
            strcmp(head, "all") != 0)
            head = rows[k].head;
    return head;
}

int plot_has_epsilons(const struct plot_run *r)
{
    static const char *const name[] = {"epsilon"};
    const struct report *t;
    struct error ignored;
    int epsilon;

    for (size_t i = 0; (t = plot_table(r, REPORT_FIELDS, i)) != NULL; i++)
        if (report_columns(t, name, 1, columns.expected, &epsilon, &ignored) == 0)
            for (size_t row = 1; row < t->table.rows; row++)
                if (strtod(report_cell(t, row, epsilon), NULL) !=
                    strtod(report_cell(t, 0, epsilon), NULL))
                    return 1;
    return 0;
}

/* Keeps the rows that are drawn, and names their lines; returns how many, or -1. */
static long name_lines(struct plot_run *r, struct row *rows, size_t count, struct error *e)
{
    const char **heads = plot_new(r, count, sizeof *heads, e);
    long kept = 0;

    if (!heads)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int again = i && rows[i].at.from == rows[i - 1].at.from &&
                    strcmp(rows[i].formula, rows[i - 1].formula) == 0;

        heads[i] = again ? heads[i - 1] : head_of(rows, count, i);
    }
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        int whole = strcmp(row->length, "inf") == 0, one = strcmp(row->layers, "1") == 0,
            mean = strcmp(row->head, "all") == 0;
        const char *line;

        if (strcmp(row->head, heads[i]) != 0 || isnan(bound(row->trf_lo, row->log10_trf_lo)) ||
            isnan(bound(row->trf_hi, row->log10_trf_hi)) || !(row->epsilon > 0))
            continue;
        line = plot_text(r, e, "%s%s%s%s%s%s%s%s%s%s", row->formula, mean ? "" : ", head ",
                         mean ? "" : row->head, *row->layer ? ", layer " : "", row->layer,
                         whole ? "" : ", L = ", whole ? "" : row->length, one ? "" : ", ",
                         one ? "" : row->layers, one ? "" : " layers");
        if (!line)
            return -1;
        rows[kept] = *row;
        rows[kept].at.line = line;
        rows[kept++].at.along = row->epsilon;
    }
    return kept;
}

int plot_epsilons(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    size_t count, lines = 0;
    struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct epsilon_line *line = rows ? plot_new(r, count, sizeof *line, e) : NULL;
    struct epsilon_point *point = line ? plot_new(r, count, sizeof *point, e) : NULL;
    long kept = point ? name_lines(r, rows, count, e) : -1;

    if (kept < 0)
        return -1;
    plot_sort(rows, (size_t)kept, sizeof *rows);
    for (long i = 0; i < kept; i++) {
        const struct row *row = &rows[i];

        point[i] = (struct epsilon_point){row->epsilon, bound(row->trf_lo, row->log10_trf_lo),
                                          bound(row->trf_hi, row->log10_trf_hi)};
        if (row->at.begins)
            line[lines++] = (struct epsilon_line){.label = row->at.line, .points = &point[i]};
        line[lines - 1].count++;
    }
    line = plot_pick(r, to->stem, line, sizeof *line, &lines, e);
    return line ? figure_epsilons(to, &(struct epsilon_lines){line, lines}, e) : -1;
}
