/* The figure of tables of gain.csv. */
#include "run/plot/rows.h"

#include "analyze/perplexity.h"
#include "plots/gain.h"

struct row {
    struct plot_row at;
    const char *model, *protocol;
    double context, tokens, within, enough;
};
static const struct plot_column column[] = {
    PLOT_LINE(row, model),          PLOT_LINE(row, protocol),       PLOT_NUMBER(row, context, 1, 1),
    PLOT_NUMBER(row, tokens, 1, 1), PLOT_NUMBER(row, within, 0, 0), PLOT_NUMBER(row, enough, 0, 0)};
static const struct plot_columns columns =
    PLOT_COLUMNS(REPORT_GAIN, "gain.csv of `reach ppl --gain`", column, row, NULL);

int plot_gain(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    size_t count, lines = 0;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    struct gain_line *line = rows ? plot_new(r, count, sizeof *line, e) : NULL;
    struct gain_point *point = line ? plot_new(r, count, sizeof *point, e) : NULL;

    if (!point)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct row *at = &rows[i];

        point[i] = (struct gain_point){at->context, at->enough, at->enough, at->enough};
        if (i + 1 < count && !rows[i + 1].at.begins) /* the longest is enough by definition */
            share_interval(&point[i].lo, &point[i].hi, at->enough, (size_t)at->tokens);
        if (rows[i].within != rows[0].within)
            return fail(e,
                        "%s: row %zu is within %g nats, others within %g (expected tables of one "
                        "--gain-within)",
                        rows[i].at.from->path, rows[i].at.number, rows[i].within, rows[0].within);
        if (rows[i].at.begins)
            line[lines++] = (struct gain_line){rows[i].model, &point[i], 0,
                                               (int)r->options->train_length};
        line[lines - 1].count++;
    }
    line = plot_pick(r, to->stem, line, sizeof *line, &lines, e);
    return line ? figure_gain(to, &(struct gain_lines){line, lines, count ? rows[0].within : 0}, e)
                : -1;
}
