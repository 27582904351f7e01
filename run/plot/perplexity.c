/* The figure of tables of perplexity, ppl.csv. */
#include "run/plot/rows.h"

#include "plots/ppl.h"

#include <math.h>
#include <string.h>

struct row {
    struct plot_row at;
    const char *model, *protocol;
    double context, nll, std_error, window;
};
static const struct plot_column column[] = {PLOT_TEXT(row, model),
                                            PLOT_TEXT(row, protocol),
                                            PLOT_NUMBER(row, context, 1, 0),
                                            PLOT_NUMBER(row, nll, 0, NAN),
                                            PLOT_NUMBER(row, std_error, 0, NAN),
                                            PLOT_NUMBER(row, window, 1, NAN)};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_PERPLEXITY, "a table of `reach ppl`",
                                                        column, row, NULL);

/* What the protocols of all rows have in common. */
static void describe(struct ppl_lines *u, int *several, const struct row *rows, size_t count)
{
    const char *first = count ? rows[0].protocol : "";
    int cached = 0;

    *several = 0;
    for (size_t i = 0; i < count; i++) {
        *several |= strcmp(rows[i].protocol, first) != 0;
        cached |= strcmp(rows[i].protocol, "cached") == 0;
    }
    u->axis = !cached    ? "context (input tokens)"
              : *several ? "context, or window (tokens)"
                         : "window (tokens)";
    u->title = *several || !count                     ? "Perplexity by protocol"
               : strcmp(first, "last") == 0           ? "Perplexity of the last token"
               : strcmp(first, "nonoverlapping") == 0 ? "Perplexity in nonoverlapping blocks"
               : strcmp(first, "sliding") == 0        ? "Perplexity in sliding windows"
                                               : "Perplexity in one pass with the last keys cached";
}

int plot_perplexity(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    struct ppl_lines u = {0};
    size_t count, lines = 0, points = 0;
    int several;
    struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct ppl_line *line = rows ? plot_new(r, count, sizeof *line, e) : NULL;
    struct ppl_point *point = line ? plot_new(r, count, sizeof *point, e) : NULL;

    if (!point)
        return -1;
    describe(&u, &several, rows, count);
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows[i];
        int cached = strcmp(row->protocol, "cached") ==
                     0; /* one pass over a whole text: the window bounds the context */

        if ((cached || row->context == 0) && !isnan(row->window))
            row->context = row->window;
        row->at.along = row->context;
        row->at.line = plot_text(r, e, "%s, %s", row->model, row->protocol);
        if (!row->at.line)
            return -1;
    }
    plot_sort(rows, count, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];

        if (row->at.begins)
            line[lines++] = (struct ppl_line){.label = row->model,
                                              .points = &point[points],
                                              .train_length = (int)r->options->train_length};
        if (row->context > 0) {
            point[points++] = (struct ppl_point){row->context, row->nll, row->std_error, NAN, NAN};
            line[lines - 1].count++;
        }
    }
    for (size_t i = 0; plot_table(r, REPORT_TARGETS, i); i++)
        if (plot_add_changes(r, line, lines, plot_table(r, REPORT_TARGETS, i), e) != 0)
            return -1;
    for (size_t i = 0, k = 0; several && i < count; i++)
        if (rows[i].at.begins)
            line[k++].label = rows[i].at.line; /* each names its own protocol */
    u.lines = plot_pick(r, to->stem, line, sizeof *line, &lines, e);
    u.count = lines;
    return u.lines ? figure_ppl(to, &u, e) : -1;
}
