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

/* Keeps the rows that are drawn, of a line for each name, layer, length and depth; returns how
 * many, or -1. */
static long keep_drawn(struct plot_run *r, struct row *rows, size_t count, struct error *e)
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
        const char *line;

        if (strcmp(row->head, heads[i]) != 0 || isnan(bound(row->trf_lo, row->log10_trf_lo)) ||
            isnan(bound(row->trf_hi, row->log10_trf_hi)) || !(row->epsilon > 0))
            continue;
        line = plot_text(r, e, "%s, %s, %s, %s, %s", row->formula, row->head, row->layer,
                         row->length, row->layers);
        if (!line)
            return -1;
        rows[kept] = *row;
        rows[kept].at.line = line;
        rows[kept++].at.along = row->epsilon;
    }
    return kept;
}

/* A line of one layer. */
struct one {
    struct epsilon_line line;
    const struct row *row; /* its first */
    size_t owner; /* the first line with the same fields, which is drawn */
};

/* 1 if two lines differ by their layers alone. */
static int are_alike(const struct one *a, const struct one *b)
{
    int same = a->line.count == b->line.count && *a->row->layer && *b->row->layer &&
               strcmp(a->row->formula, b->row->formula) == 0 &&
               strcmp(a->row->head, b->row->head) == 0 &&
               strcmp(a->row->length, b->row->length) == 0 &&
               strcmp(a->row->layers, b->row->layers) == 0;

    for (size_t k = 0; same && k < a->line.count; k++) {
        const struct epsilon_point *x = &a->line.points[k], *y = &b->line.points[k];

        same = x->epsilon == y->epsilon && x->lo == y->lo && x->hi == y->hi;
    }
    return same;
}

/* "NAME, head 2, layers 1-3, L = 512, across 4 layers" of line i and the layers that it stands for,
 * whose numbers are put into `layers`; all layers need no text. */
static const char *label_of(struct plot_run *r, const struct one *lines, size_t count, size_t i,
                            long *layers, struct error *e)
{
    const struct row *row = lines[i].row;
    int whole = strcmp(row->length, "inf") == 0, one = strcmp(row->layers, "1") == 0,
        mean = strcmp(row->head, "all") == 0, differ = 0;
    const char *which = "";
    size_t members = 0;

    for (size_t k = 0; k < count; k++) {
        if (lines[k].owner == i)
            layers[members++] = strtol(lines[k].row->layer, NULL, 10);
        else
            differ |= strcmp(lines[k].row->formula, row->formula) == 0 &&
                      strcmp(lines[lines[k].owner].row->layer, row->layer) != 0;
    }
    if (differ && *row->layer)
        which = plot_layers_text(r, layers, members, e);
    return which ? plot_text(r, e, "%s%s%s%s%s%s%s%s%s%s", row->formula, mean ? "" : ", head ",
                             mean ? "" : row->head, *which ? ", " : "", which,
                             whole ? "" : ", L = ", whole ? "" : row->length,
                             one ? "" : ", across ", one ? "" : row->layers, one ? "" : " layers")
                 : NULL;
}

/* The labelled lines of sorted rows [count], *found of them: those of layers that would lie on top
 * of one another are one. */
static struct epsilon_line *make_lines(struct plot_run *r, const struct row *rows, size_t count,
                                       size_t *found, struct error *e)
{
    struct one *lines = plot_new(r, count, sizeof *lines, e);
    struct epsilon_point *point = lines ? plot_new(r, count, sizeof *point, e) : NULL;
    struct epsilon_line *out = point ? plot_new(r, count, sizeof *out, e) : NULL;
    long *layers = out ? plot_new(r, count, sizeof *layers, e) : NULL;
    size_t all = 0;

    if (!layers)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];

        point[i] = (struct epsilon_point){row->epsilon, bound(row->trf_lo, row->log10_trf_lo),
                                          bound(row->trf_hi, row->log10_trf_hi)};
        if (row->at.begins)
            lines[all++] = (struct one){{.points = &point[i]}, row, 0};
        lines[all - 1].line.count++;
    }
    for (size_t i = 0; i < all; i++)
        while (lines[i].owner < i && !(lines[lines[i].owner].owner == lines[i].owner &&
                                       are_alike(&lines[lines[i].owner], &lines[i])))
            lines[i].owner++;
    *found = 0;
    for (size_t i = 0; i < all; i++) {
        if (lines[i].owner != i)
            continue;
        out[*found] = lines[i].line;
        out[*found].label = label_of(r, lines, all, i, layers, e);
        if (!out[(*found)++].label)
            return NULL;
    }
    return out;
}

int plot_epsilons(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    size_t count, lines;
    struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct epsilon_line *line = NULL;
    long kept = rows ? keep_drawn(r, rows, count, e) : -1;

    if (kept < 0)
        return -1;
    plot_sort(rows, (size_t)kept, sizeof *rows);
    line = make_lines(r, rows, (size_t)kept, &lines, e);
    line = line ? plot_pick(r, to->stem, line, sizeof *line, &lines, e) : NULL;
    return line ? figure_epsilons(to, &(struct epsilon_lines){line, lines}, e) : -1;
}
