/* Curves of saved results. */
#include "run/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a curve of n positions; NULL on failure. The three arrays are one block, c first. */
static double *add_curve(struct plot_run *r, const char *label, const char *path, size_t n,
                         struct error *e)
{
    struct plot_curve *curves = reallocarray(r->curves, r->curve_count + 1, sizeof *curves);
    double *c = calloc(n, 3 * sizeof *c);
    char *text = strdup(label), *from = strdup(path);

    if (curves)
        r->curves = curves;
    if (!curves || !c || !text || !from) {
        free(c);
        free(text);
        free(from);
        fail_memory(e, 3 * (double)n * sizeof *c, "a curve");
        return NULL;
    }
    curves[r->curve_count++] = (struct plot_curve){
        .figure = {.label = text, .c = c, .c_lo = c + n, .c_hi = c + 2 * n, .positions = n},
        .path = from,
        .step = NAN};
    return c;
}

/* The result is kept for its layers and targets. */
static struct result *open_result(struct plot_run *r, const char *path, struct error *e)
{
    struct result **grown = reallocarray(r->results, r->result_count + 1, sizeof *grown),
                  *result = calloc(1, sizeof *result);

    if (grown)
        r->results = grown;
    if (!grown || !result) {
        free(result);
        fail_memory(e, sizeof *result, "a result");
        return NULL;
    }
    if (result_read(path, result, e) != 0) {
        free(result);
        return NULL;
    }
    for (size_t i = 0; i < result->model_count; i++)
        for (size_t k = 0; k < result->models[i].field_count; k++) {
            struct result_field *f = &result->models[i].fields[k];

            if (!result_has_interval(result, f))
                f->summary.c_lo = f->summary.c_hi = NULL;
        }
    return r->results[r->result_count++] = result;
}

static int add_h5(struct plot_run *r, const struct report *report, struct error *e)
{
    struct result *result = open_result(r, report->path, e);

    if (!result)
        return -1;
    for (size_t i = 0; i < result->model_count; i++) {
        const struct result_model *m = &result->models[i];
        const struct erf_summary *u = &result_main(m)->summary;
        size_t n = result_main(m)->positions;
        double *c = add_curve(r, m->name, report->path, n, e);
        struct plot_curve *added = c ? &r->curves[r->curve_count - 1] : NULL;

        if (!c)
            return -1;
        memcpy(c, u->c, n * sizeof *c);
        if (u->c_lo) {
            memcpy(c + n, u->c_lo, n * sizeof *c);
            memcpy(c + 2 * n, u->c_hi, n * sizeof *c);
        } else {
            added->figure.c_lo = added->figure.c_hi = NULL;
        }
        added->model = m;
        added->figure.train_length = (int)m->train_length;
        if (m->cone && m->cone < n)
            added->figure.cone = (double)m->cone;
        if (r->threshold == 0)
            r->threshold = result->main_threshold;
    }
    return 0;
}

/* A cell that must be a number from 0 to 1, up to rounding. */
static int share_cell(const struct report *report, size_t row, int column, double *out,
                      struct error *e)
{
    const char *text = report_cell(report, row, column);
    char *end;

    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0 && *out <= 1 + 1e-9))
        return fail(e, "%s: row %zu has \"%s\" as %s (expected a share from 0 to 1)", report->path,
                    row + 1, text, report->table.header[column]);
    return 0;
}

/* 1 if the curve from row `first` has another layer or target than the model's from row `main`. */
static int is_other_field(const struct report *report, size_t main, size_t first)
{
    int target = csv_column(&report->table, "target"), layer = csv_column(&report->table, "layer");

    return strcmp(report_cell(report, main, target), report_cell(report, first, target)) != 0 ||
           strcmp(report_cell(report, main, layer), report_cell(report, first, layer)) != 0;
}

enum { COLUMN_MODEL, COLUMN_POSITION, COLUMN_C, COLUMN_LO, COLUMN_HI, COLUMN_COUNT };

/* The row after the curve that begins at row `first`: one model, positions 1, 2, ... 0 with *e. */
static size_t find_end(const struct report *report, const int *column, size_t first,
                       struct error *e)
{
    const char *name = report_cell(report, first, column[COLUMN_MODEL]);
    size_t row = first;

    for (; row < report->table.rows &&
           strcmp(report_cell(report, row, column[COLUMN_MODEL]), name) == 0;
         row++) {
        const char *text = report_cell(report, row, column[COLUMN_POSITION]);
        char wanted[24];

        snprintf(wanted, sizeof wanted, "%zu", row - first + 1);
        if (strcmp(text, wanted) == 0)
            continue;
        if (row > first && strcmp(text, "1") == 0)
            break; /* the next curve of the same model */
        fail(e, "%s: row %zu has position \"%s\" (expected %s)", report->path, row + 1, text,
             wanted);
        return 0;
    }
    return row;
}

static int add_table(struct plot_run *r, const struct report *report, struct error *e)
{
    static const char *const names[COLUMN_COUNT] = {"model", "position", "c", "c_lo", "c_hi"};
    const char *name, *before = NULL;
    int column[COLUMN_COUNT];

    if (report_columns(report, names, COLUMN_COUNT, "curve.csv of `reach erf`", column, e) != 0)
        return -1;
    for (size_t first = 0, last, main = 0; first < report->table.rows;
         first = last, before = name) {
        double *c;
        size_t n;

        name = report_cell(report, first, column[COLUMN_MODEL]);
        last = find_end(report, column, first, e);
        if (!last)
            return -1;
        if (before && strcmp(before, name) == 0 && is_other_field(report, main, first))
            continue; /* layers and shorter targets have separate figures */
        main = first; /* of its model */
        n = last - first;
        c = add_curve(r, name, report->path, n, e);
        if (!c)
            return -1;
        for (size_t m = 0; m < n; m++)
            for (size_t k = 0; k < 3; k++)
                if (share_cell(report, first + m, column[COLUMN_C + k], &c[k * n + m], e) != 0)
                    return -1;
        if (memcmp(c, c + n, n * sizeof *c) == 0 && memcmp(c, c + 2 * n, n * sizeof *c) == 0) {
            struct figure_curve *added = &r->curves[r->curve_count - 1].figure;

            added->c_lo = added->c_hi = NULL; /* both ends are c: no interval */
        }
    }
    return 0;
}

int plot_add_curves(struct plot_run *r, const struct report *report, struct error *e)
{
    return report->kind == REPORT_ERF ? add_h5(r, report, e) : add_table(r, report, e);
}

/* The last part of the folder of PATH; PATH itself if it has none. *length is its length. */
static const char *folder_of(const char *path, size_t *length)
{
    const char *end = strrchr(path, '/'), *start;

    while (end && end > path && end[-1] == '/')
        end--;
    if (!end)
        end = path + strlen(path);
    for (start = end; start > path && start[-1] != '/'; start--)
        ;
    *length = (size_t)(end - start);
    return start;
}

int plot_tell_apart(struct plot_run *r, struct error *e)
{
    unsigned char *twice = calloc(r->curve_count ? r->curve_count : 1, 1);

    if (!twice)
        return fail(e, "out of memory for the labels");
    for (size_t i = 0; i < r->curve_count; i++)
        for (size_t j = 0; j < r->curve_count; j++)
            twice[i] |= i != j && strcmp(r->curves[i].figure.label, r->curves[j].figure.label) == 0;
    for (size_t i = 0; i < r->curve_count; i++) {
        size_t length;
        const char *folder = folder_of(r->curves[i].path, &length);
        char *label;

        if (!twice[i])
            continue;
        if (asprintf(&label, "%.*s/%s", (int)length, folder, r->curves[i].figure.label) < 0) {
            free(twice);
            return fail(e, "out of memory for the labels");
        }
        free((char *)r->curves[i].figure.label);
        r->curves[i].figure.label = label;
    }
    free(twice);
    return 0;
}

int plot_curves(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    double thresholds[PLOT_THRESHOLDS];
    struct figure_curve *curves = plot_new(r, r->curve_count, sizeof *curves, e);
    size_t count = r->curve_count;

    if (!curves)
        return -1;
    for (size_t i = 0; i < count; i++)
        curves[i] = r->curves[i].figure;
    curves = plot_pick(r, to->stem, curves, sizeof *curves, &count, e);
    return curves ? figure_erf(to,
                               &(struct figure_curves){curves, count, thresholds,
                                                       plot_thresholds(thresholds, r)},
                               e)
                  : -1;
}

size_t plot_thresholds(double out[PLOT_THRESHOLDS], const struct plot_run *r)
{
    static const double standard[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    size_t count = 0;

    out[count++] = r->threshold;
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        if (standard[i] != r->threshold)
            out[count++] = standard[i];
    return count;
}
