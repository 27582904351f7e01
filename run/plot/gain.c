/* The figure of tables of gain.csv. */
#include "run/plot/plot.h"

#include "plots/gain.h"

#include <stdlib.h>
#include <string.h>

enum { MODEL, PROTOCOL, CONTEXT, WITHIN, ENOUGH, COLUMNS };
static const char *const names[COLUMNS] = {"model", "protocol", "context", "within", "enough"};

/* Memory for the lines of all tables, at most one per row. */
struct lines {
    struct gain_line *line;
    struct gain_point *point; /* of all lines, one after the other */
    size_t count, points;
    double within; /* the same in all tables; 0: none yet */
};

static int add_table(struct lines *all, const struct report *t, int train_length, struct error *e)
{
    int column[COLUMNS];
    double within;

    if (report_columns(t, names, COLUMNS, "gain.csv of `reach ppl --gain`", column, e) != 0)
        return -1;
    for (size_t i = 0; i < t->table.rows; i++) {
        struct gain_point *p = &all->point[all->points++];
        int goes_on = i > 0 &&
                      strcmp(report_cell(t, i, column[MODEL]),
                             report_cell(t, i - 1, column[MODEL])) == 0 &&
                      strcmp(report_cell(t, i, column[PROTOCOL]),
                             report_cell(t, i - 1, column[PROTOCOL])) == 0;

        if (report_number(t, i, column[CONTEXT], 1, 1, &p->context, e) != 0 ||
            report_number(t, i, column[ENOUGH], 0, 0, &p->enough, e) != 0 ||
            report_number(t, i, column[WITHIN], 0, 0, &within, e) != 0)
            return -1;
        if (all->points > 1 && within != all->within)
            return fail(e,
                        "%s: row %zu is within %g nats, others within %g (expected tables of one "
                        "--gain-within)",
                        t->path, i + 1, within, all->within);
        all->within = within;
        if (!goes_on)
            all->line[all->count++] = (struct gain_line){report_cell(t, i, column[MODEL]), p, 0,
                                                         train_length};
        all->line[all->count - 1].count++;
    }
    return 0;
}

int plot_gain(const struct plot_run *r, double threshold, const char *const *comments,
              struct error *e)
{
    struct lines all = {0};
    const struct report *t;
    size_t rows = 1;
    int rc = 0;

    (void)threshold;
    for (size_t i = 0; (t = plot_table(r, REPORT_GAIN, i)); i++)
        rows += t->table.rows;
    all.line = calloc(rows, sizeof *all.line);
    all.point = calloc(rows, sizeof *all.point);
    if (!all.line || !all.point)
        rc = fail_memory(e, (double)rows * (sizeof *all.line + sizeof *all.point), "the figure");
    for (size_t i = 0; rc == 0 && (t = plot_table(r, REPORT_GAIN, i)); i++)
        rc = add_table(&all, t, (int)r->options->train_length, e);
    if (rc == 0) {
        size_t count = all.count;
        struct gain_line *lines = plot_pick(r, "gain", all.line, sizeof *lines, &count, e);

        rc = lines ? figure_gain(r->options->folder, "gain", lines, count, all.within, comments,
                                 &r->style, e)
                   : -1;
        free(lines);
    }
    free(all.line);
    free(all.point);
    return rc;
}
