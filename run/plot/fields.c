/* Theoretical and measured fields. */
#include "run/plot/rows.h"

#include "analyze/curve.h"
#include "plots/trf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    struct plot_row at;
    const char *formula, *head, *length, *layers, *verdict, *trf_hi, *log10_trf_hi;
    double epsilon;
};
static const struct plot_column column[] = {
    PLOT_TEXT(row, formula),      PLOT_TEXT(row, head),           PLOT_TEXT(row, length),
    PLOT_TEXT(row, layers),       PLOT_TEXT(row, verdict),        PLOT_TEXT(row, trf_hi),
    PLOT_TEXT(row, log10_trf_hi), PLOT_NUMBER(row, epsilon, 0, 0)};
static const struct plot_columns columns = PLOT_COLUMNS(REPORT_FIELDS, "trf.csv of `reach trf`",
                                                        column, row, NULL);

/* What is drawn, while it is collected. */
struct fields {
    struct field_row *rows; /* [count] */
    size_t count;
    double epsilon; /* of the last table */
    long layers; /* of the fields across layers; 0: there are none */
};

static struct field_row *field_named(struct fields *all, const char *label)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->rows[i].label, label) == 0)
            return &all->rows[i];
    all->rows[all->count] = (struct field_row){.label = label};
    return &all->rows[all->count++];
}

/* 1 if this name has a row for all heads, which is then used; else the largest head. */
static int has_all_heads(const struct row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].formula, name) == 0 && strcmp(rows[i].head, "all") == 0)
            return 1;
    return 0;
}

/* Upper end of a row's field; +inf if the series does not converge, 0 if there is none. */
static double field_of_row(const struct row *row)
{
    if (*row->trf_hi && strlen(row->trf_hi) < 300)
        return strtod(row->trf_hi, NULL);
    if (*row->log10_trf_hi)
        return pow(10, strtod(row->log10_trf_hi, NULL));
    return strcmp(row->verdict, "not applicable") == 0 ? 0 : INFINITY;
}

/* The rows of one table, of its epsilon nearest to that of the table before. */
static int add_table(struct fields *all, const struct row *rows, size_t count, struct error *e)
{
    all->epsilon = plot_nearest(&rows->epsilon, sizeof *rows, count, all->epsilon);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        long depth = strtol(row->layers, NULL, 10);
        struct field_row *field;
        double value;

        if (row->epsilon != all->epsilon || strcmp(row->length, "inf") != 0)
            continue;
        field = field_named(all, row->formula);
        if (has_all_heads(rows, count, row->formula) && strcmp(row->head, "all") != 0)
            continue;
        value = field_of_row(row);
        if (isnan(value))
            return fail(e,
                        "%s: row %zu has \"%s\" as trf_hi and \"%s\" as log10_trf_hi (expected "
                        "numbers, or inf)",
                        row->at.from->path, row->at.number, row->trf_hi, row->log10_trf_hi);
        if (depth > 1) {
            field->trf_depth = fmax(field->trf_depth, value);
            all->layers = depth;
        } else {
            field->trf = fmax(field->trf, value);
        }
    }
    return 0;
}

static void add_curve(struct fields *all, const struct figure_curve *c, double threshold)
{
    struct field_row *field = field_named(all, c->label);

    field->erf = (double)c->erf;
    field->saturated = c->saturated;
    field->train_length = c->train_length;
    field->cone = c->cone;
    field->length = (double)c->positions;
    /* a higher curve reaches the threshold sooner */
    field->erf_lo = c->c_hi ? (double)curve_erf(c->c_hi, c->positions, threshold) : field->erf;
    field->erf_hi = c->c_lo ? (double)curve_erf(c->c_lo, c->positions, threshold) : field->erf;
}

static int is_matched(const struct field_row *f)
{
    return f->erf > 0 && (f->trf > 0 || f->trf_depth > 0 || f->cone > 0);
}

/* The names of rows without the other field, measured or theoretical, with commas. */
static const char *names_without(struct plot_run *r, const struct field_row *rows, size_t count,
                                 int measured, struct error *e)
{
    const char *names = "";

    for (size_t i = 0; names && i < count; i++)
        if (!is_matched(&rows[i]) && (rows[i].erf > 0) != measured)
            names = plot_text(r, e, "%s%s%s", names, *names ? ", " : "", rows[i].label);
    return names;
}

/* Of results and tables drawn together, keeps the rows with both fields, if there are any; says
 * which names do not match. */
static int keep_matched(struct plot_run *r, struct field_row *rows, size_t *count, struct error *e)
{
    const char *theory = names_without(r, rows, *count, 1, e),
               *measured = theory ? names_without(r, rows, *count, 0, e) : NULL;
    size_t kept = 0;

    if (!measured)
        return -1;
    if (!*theory && !*measured)
        return 0;
    for (size_t i = 0; i < *count; i++)
        kept += (size_t)is_matched(&rows[i]);
    progress_warning(r->progress,
                     "fields.gp: %s%s%s%s%s%s (expected equal names, as NAME= sets them in `reach "
                     "trf` and `reach erf`)",
                     *measured ? "no theoretical field of " : "", measured,
                     *measured && *theory ? "; " : "", *theory ? "no measured field of " : "",
                     theory, kept ? ": left out" : ": no name has both");
    if (!kept)
        return 0;
    kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (is_matched(&rows[i]))
            rows[kept++] = rows[i];
    *count = kept;
    return 0;
}

int plot_fields(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    struct fields all = {.epsilon = 1 - r->threshold};
    struct field_row *picked;
    size_t count;
    const struct row *rows = plot_rows(r, &columns, NULL, &count, e);
    char subtitle[128];
    int used;

    all.rows = rows ? plot_new(r, count + r->curve_count, sizeof *all.rows, e) : NULL;
    if (!all.rows)
        return -1;
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count && rows[last].at.from == rows[first].at.from;)
            last++;
        if (add_table(&all, &rows[first], last - first, e) != 0)
            return -1;
    }
    for (size_t i = 0; i < r->curve_count; i++)
        add_curve(&all, &r->curves[i].figure, r->threshold);
    used = snprintf(subtitle, sizeof subtitle, "Theoretical field TRF(%.6g)", all.epsilon);
    if (r->curve_count)
        used += snprintf(subtitle + used, sizeof subtitle - (size_t)used,
                         " beside measured ERF(%.6g)", r->threshold);
    if (all.layers)
        snprintf(subtitle + used, sizeof subtitle - (size_t)used, "; across %ld layers",
                 all.layers);
    picked = plot_pick(r, to->stem, all.rows, sizeof *picked, &all.count, e);
    if (!picked ||
        (r->curve_count && !r->options->only.count && keep_matched(r, picked, &all.count, e) != 0))
        return -1;
    return figure_fields(to, &(struct field_rows){picked, all.count, subtitle}, e);
}
