/* Figures of summary.csv and ppl.csv. */
#include "commands/plot_tables.h"

#include "io/csv.h"
#include "plots/ladder.h"
#include "plots/ppl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum table_kind table_kind_of(const char *path)
{
    static const struct {
        const char *columns[2];
        enum table_kind kind;
    } kinds[] = {{{"verdict", "trf_hi"}, TABLE_FIELDS},
                 {{"threshold", "erf"}, TABLE_LADDER},
                 {{"protocol", "nll"}, TABLE_PERPLEXITY}};
    size_t length = strlen(path);
    enum table_kind kind = TABLE_CURVES;
    struct csv_table t;
    struct error ignored;

    if (length < 4 || strcmp(path + length - 4, ".csv") != 0 || csv_read(path, &t, &ignored) != 0)
        return TABLE_CURVES;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (csv_column(&t, kinds[i].columns[0]) >= 0 && csv_column(&t, kinds[i].columns[1]) >= 0)
            kind = kinds[i].kind;
    csv_table_free(&t);
    return kind;
}

/* A table and where its columns are. */
struct table {
    struct csv_table csv;
    const char *path;
    int column[8];
};

static int open_table(struct table *t, const char *path, const char *const *names, int count, const char *verb, struct error *e)
{
    if (csv_read(path, &t->csv, e) != 0)
        return -1;
    t->path = path;
    for (int i = 0; i < count; i++)
        if ((t->column[i] = csv_column(&t->csv, names[i])) < 0) {
            csv_table_free(&t->csv);
            return fail(e, "%s: has no column %s (expected a table of `reach %s`)", path, names[i], verb);
        }
    return 0;
}

static const char *cell(const struct table *t, size_t row, int column)
{
    return t->csv.cell[row * t->csv.columns + (size_t)t->column[column]];
}

/* A cell that must be a finite number of at least `least`; an empty one is `none`. */
static int number_cell(const struct table *t, size_t row, int column, double least, double none, double *out, struct error *e)
{
    const char *text = cell(t, row, column);
    char *end;

    *out = *text ? strtod(text, &end) : none;
    if (*text && (end == text || *end || !(*out >= least) || isinf(*out)))
        return fail(e, "%s: row %zu has \"%s\" as %s (expected a number of at least %g)", t->path, row + 1, text,
                    t->csv.header[t->column[column]], least);
    return 0;
}

/* ---- ladders ---- */

enum {
    LADDER_MODEL,
    LADDER_THRESHOLD,
    LADDER_ERF,
    LADDER_LO,
    LADDER_HI,
    LADDER_SATURATED,
    LADDER_TARGET,
    LADDER_LAYER,
    LADDER_COLUMNS
};
static const char *const ladder_columns[LADDER_COLUMNS] = {"model",  "threshold", "erf",    "erf_lo",
                                                           "erf_hi", "saturated", "target", "layer"};

struct ladder_data {
    struct ladder_row *rows;
    size_t count;
    double *thresholds;
    size_t threshold_count;
};

static void ladder_free(struct ladder_data *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free((char *)d->rows[i].label);
        free(d->rows[i].erf);
        free(d->rows[i].saturated);
    }
    free(d->rows);
    free(d->thresholds);
}

/* The thresholds of all tables, each once, ascending. */
static int add_threshold(struct ladder_data *d, double threshold, struct error *e)
{
    size_t at = 0;
    double *grown;

    while (at < d->threshold_count && d->thresholds[at] < threshold)
        at++;
    if (at < d->threshold_count && d->thresholds[at] == threshold)
        return 0;
    grown = reallocarray(d->thresholds, d->threshold_count + 1, sizeof *grown);
    if (!grown)
        return fail_memory(e, 0, "the thresholds");
    d->thresholds = grown;
    memmove(grown + at + 1, grown + at, (d->threshold_count++ - at) * sizeof *grown);
    grown[at] = threshold;
    return 0;
}

static struct ladder_row *add_row(struct ladder_data *d, const char *label, struct error *e)
{
    struct ladder_row *grown = reallocarray(d->rows, d->count + 1, sizeof *grown);
    size_t n = d->threshold_count;
    double *fields = calloc(n, 3 * sizeof *fields);
    unsigned char *saturated = calloc(n, 1);
    char *copy = strdup(label);

    if (grown)
        d->rows = grown;
    if (!grown || !fields || !saturated || !copy) {
        free(fields);
        free(saturated);
        free(copy);
        fail_memory(e, 0, "a row of the figure");
        return NULL;
    }
    grown[d->count] = (struct ladder_row){copy, fields, fields + n, fields + 2 * n, saturated};
    return &grown[d->count++];
}

/* Rows of one table: those of a model's first target and layer, which are the largest segment's and the embedding's. */
static int add_ladder(struct ladder_data *d, const struct table *t, struct error *e)
{
    struct ladder_row *row = NULL;
    size_t main = 0;

    for (size_t i = 0; i < t->csv.rows; i++) {
        double threshold, erf, lo, hi;
        size_t k = 0;

        if (i == 0 || strcmp(cell(t, i, LADDER_MODEL), cell(t, main, LADDER_MODEL)) != 0) {
            main = i;
            row = add_row(d, cell(t, i, LADDER_MODEL), e);
            if (!row)
                return -1;
        }
        if (strcmp(cell(t, i, LADDER_TARGET), cell(t, main, LADDER_TARGET)) != 0 ||
            strcmp(cell(t, i, LADDER_LAYER), cell(t, main, LADDER_LAYER)) != 0)
            continue;
        if (number_cell(t, i, LADDER_THRESHOLD, 0, 0, &threshold, e) != 0 || number_cell(t, i, LADDER_ERF, 0, 0, &erf, e) != 0 ||
            number_cell(t, i, LADDER_LO, 0, erf, &lo, e) != 0 || number_cell(t, i, LADDER_HI, 0, erf, &hi, e) != 0)
            return -1;
        while (k < d->threshold_count && d->thresholds[k] != threshold)
            k++;
        if (k == d->threshold_count)
            continue;
        row->erf[k] = erf, row->erf_lo[k] = lo, row->erf_hi[k] = hi;
        row->saturated[k] = strcmp(cell(t, i, LADDER_SATURATED), "1") == 0;
    }
    return 0;
}

int plot_ladder(const char *folder, const struct text_list *tables, double threshold, int train_length,
                const char *const *comments, const char *formats, struct error *e)
{
    struct table *all = calloc((size_t)tables->count, sizeof *all);
    struct ladder_data d = {0};
    int opened = 0, rc = all ? 0 : fail_memory(e, 0, "the tables");
    size_t main = 0;

    for (; opened < tables->count && rc == 0; opened += rc == 0)
        rc = open_table(&all[opened], tables->item[opened], ladder_columns, LADDER_COLUMNS, "erf", e);
    for (int i = 0; i < opened && rc == 0; i++)
        for (size_t row = 0; row < all[i].csv.rows && rc == 0; row++) {
            double value;

            rc = number_cell(&all[i], row, LADDER_THRESHOLD, 0, 0, &value, e) == 0 ? add_threshold(&d, value, e) : -1;
        }
    for (int i = 0; i < opened && rc == 0; i++)
        rc = add_ladder(&d, &all[i], e);
    for (size_t k = 1; k < d.threshold_count; k++)
        if (fabs(d.thresholds[k] - threshold) < fabs(d.thresholds[main] - threshold))
            main = k;
    if (rc == 0) {
        char subtitle[64];

        snprintf(subtitle, sizeof subtitle, "Empirical receptive field; interval of ERF(%.6g)",
                 d.threshold_count ? d.thresholds[main] : threshold);
        rc = figure_ladder(folder, "ladder", d.rows, d.count, d.thresholds, d.threshold_count, main, train_length, subtitle,
                           comments, formats, e);
    }
    for (int i = 0; i < opened; i++)
        csv_table_free(&all[i].csv);
    free(all);
    ladder_free(&d);
    return rc;
}

/* ---- perplexity ---- */

enum { PPL_MODEL, PPL_PROTOCOL, PPL_CONTEXT, PPL_NLL, PPL_ERROR, PPL_WINDOW, PPL_COLUMNS };
static const char *const ppl_columns[PPL_COLUMNS] = {"model", "protocol", "context", "nll", "std_error", "window"};

struct ppl_data {
    struct ppl_line *lines;
    char **protocols; /* of each line */
    size_t count;
};

static struct ppl_line *line_of(struct ppl_data *d, const char *model, const char *protocol, int train_length, struct error *e)
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

/* Keeps the points in ascending order of context. */
static int add_point(struct ppl_line *line, struct ppl_point p, struct error *e)
{
    struct ppl_point *points = reallocarray((struct ppl_point *)line->points, line->count + 1, sizeof *points);
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

static int add_perplexities(struct ppl_data *d, const struct table *t, int train_length, struct error *e)
{
    for (size_t i = 0; i < t->csv.rows; i++) {
        struct ppl_line *line = line_of(d, cell(t, i, PPL_MODEL), cell(t, i, PPL_PROTOCOL), train_length, e);
        struct ppl_point p;

        if (!line || number_cell(t, i, PPL_CONTEXT, 1, 0, &p.context, e) != 0 ||
            number_cell(t, i, PPL_NLL, 0, NAN, &p.nll, e) != 0 || number_cell(t, i, PPL_ERROR, 0, NAN, &p.std_error, e) != 0)
            return -1;
        int cached = strcmp(cell(t, i, PPL_PROTOCOL), "cached") ==
                     0; /* one pass over a whole text: the window is what bounds the context */
        if ((cached || p.context == 0) && number_cell(t, i, PPL_WINDOW, 1, p.context, &p.context, e) != 0)
            return -1;
        if (p.context > 0 && add_point(line, p, e) != 0)
            return -1;
    }
    return 0;
}

/* With several protocols, each line says its own. */
static int name_protocols(struct ppl_data *d, const char **title, const char **axis, struct error *e)
{
    int several = 0, cached = 0;

    for (size_t i = 0; i < d->count; i++) {
        several |= strcmp(d->protocols[i], d->protocols[0]) != 0;
        cached |= strcmp(d->protocols[i], "cached") == 0;
    }
    *axis = !cached ? "context (input tokens)" : several ? "context, or window (tokens)" : "window (keys)";
    for (size_t i = 0; several && i < d->count; i++) {
        char *label;

        if (asprintf(&label, "%s, %s", d->lines[i].label, d->protocols[i]) < 0)
            return fail_memory(e, 0, "a label");
        free((char *)d->lines[i].label);
        d->lines[i].label = label;
    }
    *title = several || d->count == 0                         ? "Perplexity by protocol"
             : strcmp(d->protocols[0], "last") == 0           ? "Perplexity of the last token"
             : strcmp(d->protocols[0], "nonoverlapping") == 0 ? "Perplexity in nonoverlapping blocks"
             : strcmp(d->protocols[0], "sliding") == 0        ? "Perplexity in sliding windows"
                                                              : "Perplexity in one pass with the last keys cached";
    return 0;
}

int plot_perplexity(const char *folder, const struct text_list *tables, int train_length, const char *const *comments,
                    const char *formats, struct error *e)
{
    struct ppl_data d = {0};
    const char *title = "", *axis = "";
    int rc = 0;

    for (int i = 0; i < tables->count && rc == 0; i++) {
        struct table t;

        rc = open_table(&t, tables->item[i], ppl_columns, PPL_COLUMNS, "ppl", e);
        if (rc == 0) {
            rc = add_perplexities(&d, &t, train_length, e);
            csv_table_free(&t.csv);
        }
    }
    if (rc == 0 && (rc = name_protocols(&d, &title, &axis, e)) == 0)
        rc = figure_ppl(folder, "ppl", d.lines, d.count, title, axis, comments, formats, e);
    for (size_t i = 0; i < d.count; i++) {
        free((char *)d.lines[i].label);
        free((struct ppl_point *)d.lines[i].points);
        free(d.protocols[i]);
    }
    free(d.lines);
    free(d.protocols);
    return rc;
}
