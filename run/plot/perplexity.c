/* The figure of tables of perplexity, ppl.csv. */
#include "run/plot/plot.h"

#include "plots/ppl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PPL_MODEL, PPL_PROTOCOL, PPL_CONTEXT, PPL_NLL, PPL_ERROR, PPL_WINDOW, PPL_COLUMNS };
static const char *const ppl_columns[PPL_COLUMNS] = {"model", "protocol",  "context",
                                                     "nll",   "std_error", "window"};

/* A table and the indices of its columns. */
struct table {
    const struct report *report;
    int column[PPL_COLUMNS];
};

static const char *cell(const struct table *t, size_t row, int column)
{
    return report_cell(t->report, row, t->column[column]);
}

static int number_cell(const struct table *t, size_t row, int column, double least, double none,
                       double *out, struct error *e)
{
    return report_number(t->report, row, t->column[column], least, none, out, e);
}

struct ppl_data {
    struct ppl_line *lines;
    char **protocols; /* of each line */
    size_t count;
};

static struct ppl_line *line_of(struct ppl_data *d, const char *model, const char *protocol,
                                int train_length, struct error *e)
{
    struct ppl_line *lines;
    char **protocols, *name, *copy;

    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->lines[i].label, model) == 0 && strcmp(d->protocols[i], protocol) == 0)
            return &d->lines[i];
    lines = reallocarray(d->lines, d->count + 1, sizeof *lines);
    if (lines)
        d->lines = lines;
    protocols = reallocarray(d->protocols, d->count + 1, sizeof *protocols);
    if (protocols)
        d->protocols = protocols;
    name = strdup(model);
    copy = strdup(protocol);
    if (!lines || !protocols || !name || !copy) {
        free(name);
        free(copy);
        fail_memory(e, 0, "a line of the figure");
        return NULL;
    }
    d->protocols[d->count] = copy;
    lines[d->count] = (struct ppl_line){.label = name, .train_length = train_length};
    return &lines[d->count++];
}

/* Sorts the points by context. */
static int add_point(struct ppl_line *line, struct ppl_point p, struct error *e)
{
    struct ppl_point *points = reallocarray((struct ppl_point *)line->points, line->count + 1,
                                            sizeof *points);
    size_t at = line->count;

    if (!points)
        return fail_memory(e, 0, "a point of the figure");
    for (; at > 0 && points[at - 1].context > p.context; at--)
        points[at] = points[at - 1];
    points[at] = p;
    line->points = points;
    line->count++;
    return 0;
}

static int add_perplexities(struct ppl_data *d, const struct table *t, int train_length,
                            struct error *e)
{
    for (size_t i = 0; i < t->report->table.rows; i++) {
        struct ppl_line *line = line_of(d, cell(t, i, PPL_MODEL), cell(t, i, PPL_PROTOCOL),
                                        train_length, e);
        struct ppl_point p = {.change = NAN, .change_error = NAN};

        if (!line || number_cell(t, i, PPL_CONTEXT, 1, 0, &p.context, e) != 0 ||
            number_cell(t, i, PPL_NLL, 0, NAN, &p.nll, e) != 0 ||
            number_cell(t, i, PPL_ERROR, 0, NAN, &p.std_error, e) != 0)
            return -1;
        int cached = strcmp(cell(t, i, PPL_PROTOCOL), "cached") ==
                     0; /* one pass over a whole text: the window bounds the context */
        if ((cached || p.context == 0) &&
            number_cell(t, i, PPL_WINDOW, 1, p.context, &p.context, e) != 0)
            return -1;
        if (p.context > 0 && add_point(line, p, e) != 0)
            return -1;
    }
    return 0;
}

/* With several protocols, each line names its own. */
static int name_protocols(struct ppl_data *d, const char **title, const char **axis,
                          struct error *e)
{
    int several = 0, cached = 0;

    for (size_t i = 0; i < d->count; i++) {
        several |= strcmp(d->protocols[i], d->protocols[0]) != 0;
        cached |= strcmp(d->protocols[i], "cached") == 0;
    }
    *axis = !cached   ? "context (input tokens)"
            : several ? "context, or window (tokens)"
                      : "window (tokens)";
    for (size_t i = 0; several && i < d->count; i++) {
        char *label;

        if (asprintf(&label, "%s, %s", d->lines[i].label, d->protocols[i]) < 0)
            return fail_memory(e, 0, "a label");
        free((char *)d->lines[i].label);
        d->lines[i].label = label;
    }
    *title = several || d->count == 0               ? "Perplexity by protocol"
             : strcmp(d->protocols[0], "last") == 0 ? "Perplexity of the last token"
             : strcmp(d->protocols[0], "nonoverlapping") == 0
                 ? "Perplexity in nonoverlapping blocks"
             : strcmp(d->protocols[0], "sliding") == 0
                 ? "Perplexity in sliding windows"
                 : "Perplexity in one pass with the last keys cached";
    return 0;
}

int plot_perplexity(const struct plot_run *r, double threshold, const char *const *comments,
                    struct error *e)
{
    struct ppl_data d = {0};
    const char *title = "", *axis = "";
    int rc = 0;

    (void)threshold;
    for (size_t i = 0; rc == 0 && plot_table(r, REPORT_PERPLEXITY, i); i++) {
        struct table t = {.report = plot_table(r, REPORT_PERPLEXITY, i)};

        rc = report_columns(t.report, ppl_columns, PPL_COLUMNS, "a table of `reach ppl`", t.column,
                            e);
        if (rc == 0)
            rc = add_perplexities(&d, &t, (int)r->options->train_length, e);
    }
    for (size_t i = 0; rc == 0 && plot_table(r, REPORT_TARGETS, i); i++)
        rc = plot_add_changes(d.lines, d.count, plot_table(r, REPORT_TARGETS, i), e);
    if (rc == 0 && (rc = name_protocols(&d, &title, &axis, e)) == 0) {
        size_t count = d.count;
        struct ppl_line *lines = plot_pick(r, "ppl", d.lines, sizeof *lines, &count, e);

        rc = lines ? figure_ppl(r->options->folder, "ppl", lines, count, title, axis, comments,
                                &r->style, e)
                   : -1;
        free(lines);
    }
    for (size_t i = 0; i < d.count; i++) {
        free((char *)d.lines[i].label);
        free((struct ppl_point *)d.lines[i].points);
        free(d.protocols[i]);
    }
    free(d.lines);
    free(d.protocols);
    return rc;
}
