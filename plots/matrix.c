/* Heat maps. A bias matrix is Toeplitz: the script holds one value per distance for all cells. */
#include "plots/matrix.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 256 };
#define BIAS_DEPTH 12.0 /* the colours of biases end this far below the largest: e^-12 is 6e-6 */
#define DECADES_MAX 5 /* and those of attention at 1e-5 */

struct matrix_figure {
    const struct matrix_bias *biases; /* [count] of `length` */
    size_t count, length;
    size_t step, cells; /* tokens a cell, cells a side */
    double depth; /* of the colours of biases */
    int decades; /* and of attention */
};

int matrix_is_drawn(size_t i, size_t count)
{
    return i < 512 || i % (count / 2048 + 1) == 0 || i + 1 == count;
}

static double largest_of(const double *bias, size_t length)
{
    double most = -INFINITY;

    for (size_t t = 0; t < length; t++)
        most = fmax(most, bias[t]);
    return most;
}

static void write_value(FILE *f, double value, size_t i)
{
    fputs(i ? (i % 16 ? "," : ", \\\n ") : "", f);
    if (isfinite(value))
        fprintf(f, "%.6g", value);
    else
        fputs("NaN", f);
}

/* Arrays for bias number i: BIAS, the mean over the pairs of tokens in a cell (NaN if most are
 * masked), minus the largest bias; WEIGHT, the mean of its exp; TOTAL, the sum of its exp over the
 * keys of the row in the middle of a cell. All by cell, from 1. */
static int write_arrays(FILE *f, const struct matrix_figure *u, size_t i, struct error *e)
{
    const double *b = u->biases[i].bias, most = largest_of(b, u->length);
    double *sums = malloc((u->length + 1) * sizeof *sums);

    if (!sums)
        return fail_memory(e, (double)u->length * sizeof *sums, "a heat map");
    sums[0] = 0;
    for (size_t t = 0; t < u->length; t++)
        sums[t + 1] = sums[t] + exp(b[t] - most);
    for (int kind = 0; kind < 3; kind++) {
        fprintf(f, "array %s%zu[%zu] = [",
                kind == 0   ? "BIAS"
                : kind == 1 ? "WEIGHT"
                            : "TOTAL",
                i + 1, u->cells);
        for (size_t c = 0; c < u->cells; c++) {
            double seen = 0, masked = 0, bias = 0, weight = 0;
            size_t row = c * u->step + u->step / 2;

            if (kind == 2) {
                write_value(f, sums[(row < u->length ? row : u->length - 1) + 1], c);
                continue;
            }
            for (long x = 1 - (long)u->step; x < (long)u->step; x++) {
                long t = (long)(c * u->step) + x;
                double pairs = (double)((long)u->step - labs(x));

                if (t < 0 || t >= (long)u->length)
                    continue;
                if (b[t] == -INFINITY) {
                    masked += pairs;
                    continue;
                }
                seen += pairs;
                bias += pairs * (b[t] - most);
                weight += pairs * exp(b[t] - most);
            }
            if (kind == 0)
                write_value(f, seen > 0 && seen >= masked ? bias / seen : NAN, c);
            else
                write_value(f, seen > 0 && weight > 0 ? weight / (seen + masked) : NAN, c);
        }
        fputs("]\n", f);
    }
    free(sums);
    return 0;
}

/* Bias number i, or the attention from it alone. */
static void write_panel(struct script *s, const struct layout *l, size_t panel,
                        const struct matrix_figure *u, size_t i, int attention)
{
    double high = layout_scale_height(l);
    struct axis x = axis_linear('x', 0, (double)u->length, l->across),
                y = axis_linear('y', 0, (double)u->length, l->down),
                colours = attention ? axis_logarithmic('c', pow(10, -u->decades), 1, high)
                                    : axis_linear('c', -u->depth, 0, high);
    FILE *f = s->plot;

    layout_panel(l, s, panel);
    fprintf(f,
            "set object 1 polygon from 0,0 to 0,%zu to %zu,%zu to 0,0 fs solid noborder fc rgb "
            "\"#DDDDDD\" behind\n",
            u->length, u->length, u->length);
    x.bare = l->grid && !layout_is_lowest(l, panel);
    y.bare = !layout_has_y(l, panel);
    ticks_round(s, &x, 0);
    ticks_round(s, &y, 0);
    layout_xlabel(l, s, panel, "\"key position\"");
    if (panel % l->columns == 0)
        layout_ylabel(l, s, panel, "\"query position\"");
    if (attention)
        fprintf(f, "set logscale cb\nset cbrange [1e-%d:1]\n", u->decades);
    else
        fprintf(f, "set cbrange [%.6g:0]\n", -u->depth);
    ticks_round(s, &colours, 0);
    if (!l->beside)
        layout_scale(l, s, panel,
                     attention ? "\"share of a key, by the bias alone\""
                               : "\"bias below its largest value\"");
    else if (panel == 0)
        layout_scale(l, s, l->columns - 1,
                     attention ? "\"share of a key\"" : "\"bias below its largest\"");
    fprintf(f, "plot sample [u=0:%zu:1] [v=0:%zu:1] '++' using (($1+0.5)*%zu):(($2+0.5)*%zu):",
            u->cells - 1, u->cells - 1, u->step, u->step);
    if (attention)
        fprintf(f, "(share(1.0*WEIGHT%zu[cell($2-$1)]/TOTAL%zu[int($2+1.5)], $2-$1))", i + 1,
                i + 1);
    else
        fprintf(f, "(bias(BIAS%zu[cell($2-$1)], $2-$1))", i + 1);
    fputs(" with image notitle\n", f);
}

/* Functions that look up the cells: future ones are omitted; the arrays begin at 1. */
static void write_functions(FILE *f, const struct matrix_figure *u)
{
    fputs("cell(distance) = distance < 0 ? 1 : int(distance + 1.5)\n", f);
    fprintf(f,
            "bias(value, distance) = distance < 0 ? NaN : value != value ? NaN : value < %.6g ? "
            "%.6g : value\n",
            -u->depth, -u->depth);
    fprintf(f,
            "share(value, distance) = distance < 0 ? NaN : value != value ? NaN : value < 1e-%d ? "
            "1e-%d : value\n",
            u->decades, u->decades);
    fprintf(f,
            "set xrange [0:%zu]\nset yrange [%zu:0]\nset autoscale noextend\nset palette "
            "@map_palette\n",
            u->length, u->length);
}

/* The length of the part that all labels begin with, up to a comma and a blank; 0: none. */
static size_t common_part(const struct matrix_figure *u)
{
    const char *first = u->biases[0].label;
    size_t same = strlen(first);

    for (size_t i = 1; i < u->count; i++) {
        size_t k = 0;

        while (k < same && u->biases[i].label[k] == first[k])
            k++;
        same = k;
    }
    while (same > 0 && !(same > 2 && first[same - 1] == ' ' && first[same - 2] == ','))
        same--;
    return same;
}

/* Pairs of panels for up to three biases, with their scales; for more a grid of one kind. */
static int write_matrix(struct script *s, const void *figure, struct error *e)
{
    const struct matrix_figure *u = figure;
    const char *panels = s->style->panels;
    int bias = figure_has_panel(panels, "bias"),
        attention = figure_has_panel(panels, "attention") && (panels || u->count <= 3);
    int pairs = bias && attention;
    size_t count = u->count * (size_t)(bias + attention), panel = 0;
    char **headings = calloc(count, sizeof *headings);
    struct layout l = {.panels = count,
                       .columns = pairs || count <= 2                      ? 2
                                  : count == 3 || count == 5 || count == 6 ? 3
                                                                           : 4,
                       .least = pairs ? 300 : 120,
                       .grid = !pairs,
                       .same_x = 1,
                       .high = pairs ? 540 : 400,
                       .square = 1,
                       .left = 96,
                       .right = pairs ? SCALE : 32,
                       .above = 8,
                       .beside = pairs ? 0 : SCALE,
                       .headings = (const char *const *)headings};
    int rc = headings ? 0 : fail(e, "out of memory for the headings");
    size_t common = pairs || count == 1 ? 0 : common_part(u);
    char title[256];

    if (common) { /* "alibi, " once */
        snprintf(title, sizeof title, "%.*s", (int)common - 2, u->biases[0].label);
        l.title = title;
    }
    for (size_t i = 0; rc == 0 && i < u->count; i++) {
        const char *label = u->biases[i].label + common;

        if ((bias && asprintf(&headings[panel++], pairs ? "%s: bias" : "%s", label) < 0) ||
            (attention &&
             asprintf(&headings[panel++], pairs ? "%s: attention" : "%s", label) < 0)) {
            headings[panel - 1] = NULL;
            rc = fail(e, "out of memory for the headings");
        } else {
            rc = write_arrays(s->data, u, i, e);
        }
    }
    script_palettes(s);
    panel = 0;
    if (rc == 0 && (rc = layout_make(&l, s, e)) == 0) {
        write_functions(s->plot, u);
        for (size_t i = 0; i < u->count; i++) {
            if (bias)
                write_panel(s, &l, panel++, u, i, 0);
            if (attention)
                write_panel(s, &l, panel++, u, i, 1);
        }
        layout_end(s);
    }
    for (size_t i = 0; headings && i < count; i++)
        free(headings[i]);
    free(headings);
    return rc;
}

int figure_matrix(const struct figure_place *to, const struct matrix_biases *u, struct error *e)
{
    struct matrix_figure figure = {.biases = u->biases, .count = u->count, .length = u->length};
    size_t length = u->length;

    if (u->count == 0 || length == 0)
        return fail(e, "%s: no bias to draw", to->folder);
    figure.step = (length + CELLS_MAX - 1) / CELLS_MAX;
    figure.cells = (length + figure.step - 1) / figure.step;
    for (size_t i = 0; i < u->count; i++) {
        const double *bias = u->biases[i].bias, most = largest_of(bias, length);
        double least = 1, total = 0;

        if (most == -INFINITY)
            return fail(e, "%s: is -inf at every distance: there is nothing to draw",
                        u->biases[i].label);
        for (size_t t = 0; t < length; t++) {
            if (!isfinite(bias[t]))
                continue;
            figure.depth = fmax(figure.depth, most - bias[t]);
            least = fmin(least, exp(bias[t] - most));
            total += exp(bias[t] - most);
        }
        while (figure.decades < DECADES_MAX && least / total < pow(10, -figure.decades))
            figure.decades++;
    }
    figure.decades = figure.decades ? figure.decades : 1;
    figure.depth = figure.depth > 0 ? fmin(figure.depth, BIAS_DEPTH) : 1;
    return script_make(to, write_matrix, &figure, e);
}
