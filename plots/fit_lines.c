/* The lines of the figure of fits. */
#include "plots/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLE_MAX = 8, LINES_MAX = 24 };

/* How finely fits are grouped. */
enum { EACH, BY_LAYER, BY_NAME, ALL, LEVELS };

static int is_member(const struct fit_figure *a, const struct fit_figure *b, int level)
{
    int same_points = a->points == b->points && a->t[0] == b->t[0] &&
                      a->t[a->points - 1] == b->t[b->points - 1] && strcmp(a->form, b->form) == 0;

    if (level == EACH)
        return a == b;
    return same_points && (level == ALL || strcmp(a->name, b->name) == 0) &&
           (level != BY_LAYER || strcmp(a->layers, b->layers) == 0);
}

/* The group of each fit, `of` [u->count]; returns how many there are. */
static size_t find_groups(size_t *of, const struct fit_figures *u, int level)
{
    size_t found = 0;

    for (size_t i = 0; i < u->count; i++) {
        size_t k = 0;

        while (k < i && !is_member(&u->fits[k], &u->fits[i], level))
            k++;
        of[i] = k < i ? of[k] : found++;
    }
    return found;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void fit_spread(double out[3], double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    out[0] = values[0];
    out[1] = (values[(count - 1) / 2] + values[count / 2]) / 2;
    out[2] = values[count - 1];
}

/* ", b = -7 to -2", or one number if they are as good as equal. */
static void write_range(FILE *f, const char *before, const char *name, const char *format,
                        double *values, size_t count)
{
    double spread[3];
    char low[32], high[32];

    fit_spread(spread, values, count);
    snprintf(low, sizeof low, format, spread[0]);
    snprintf(high, sizeof high, format, spread[2]);
    fprintf(f, "%s%s = %s%s%s", before, name, low, strcmp(low, high) ? " to " : "",
            strcmp(low, high) ? high : "");
}

static int describe(struct fit_line *line, int level, int has_form, struct error *e)
{
    const struct fit_figure *one = line->members[0];
    double *values = malloc(line->count * sizeof *values);
    size_t size;
    FILE *f = open_memstream(&line->text, &size);
    int rc = values && f ? 0 : -1;

    if (rc == 0 && !has_form)
        fprintf(f, "y = %s", one->form);
    for (int c = 0; rc == 0 && c < one->result->count; c++) {
        for (size_t i = 0; i < line->count; i++)
            values[i] = line->members[i]->result->value[c];
        write_range(f, c || !has_form ? ", " : "", one->result->name[c], "%.4g", values,
                    line->count);
    }
    for (size_t i = 0; rc == 0 && i < line->count; i++)
        values[i] = line->members[i]->result->r2;
    if (rc == 0)
        write_range(f, ", ", "R\xc2\xb2", "%.3f", values, line->count);
    if (f && fclose(f) != 0)
        rc = -1;
    if (line->count == 1)
        line->label = strdup(one->label);
    else if (asprintf(&line->label, "%s%s%s, median of %zu", level == ALL ? "all" : one->name,
                      level == BY_LAYER && *one->layers ? ", " : "",
                      level == BY_LAYER ? one->layers : "", line->count) < 0)
        line->label = NULL;
    free(values);
    return rc == 0 && line->label ? 0 : fail(e, "out of memory for the key of a figure");
}

int fit_lines_make(struct fit_lines *out, const struct fit_figures *u, struct error *e)
{
    size_t *of = calloc(u->count, sizeof *of);
    int level = EACH, rc = of ? 0 : -1;

    *out = (struct fit_lines){.has_form = 1};
    for (size_t i = 1; i < u->count; i++)
        out->has_form &= strcmp(u->fits[i].form, u->fits[0].form) == 0;
    while (rc == 0 && (out->count = find_groups(of, u, level)) > SINGLE_MAX && level + 1 < LEVELS &&
           !(level == BY_NAME && out->count <= LINES_MAX))
        level++;
    if (rc == 0 && out->count > LINES_MAX) {
        fail(e, "fit.gp: has %zu ranges or forms of fits (expected at most %d in one figure)",
             out->count, LINES_MAX);
        free(of);
        out->count = 0;
        return -1;
    }
    out->lines = rc == 0 ? calloc(out->count, sizeof *out->lines) : NULL;
    rc = out->lines ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < u->count; i++) {
        struct fit_line *line = &out->lines[of[i]];
        const struct fit_figure **grown = reallocarray(line->members, line->count + 1,
                                                       sizeof *grown);

        rc = grown ? 0 : -1;
        if (grown)
            line->members = grown, line->members[line->count++] = &u->fits[i];
    }
    free(of);
    if (rc != 0) {
        out->count = out->lines ? out->count : 0;
        return fail(e, "out of memory for the lines of a figure");
    }
    for (size_t i = 0; i < out->count && rc == 0; i++)
        rc = describe(&out->lines[i], level, out->has_form, e);
    return rc;
}

void fit_lines_free(struct fit_lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->lines[i].members);
        free(l->lines[i].label);
        free(l->lines[i].text);
    }
    free(l->lines);
    *l = (struct fit_lines){0};
}
