/* Heat maps. A bias matrix is Toeplitz: the script holds one value a distance, and gnuplot looks the cells up. */
#include "plots/matrix.h"

#include "plots/figure.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CELLS_MAX = 256,
    WIDTH = 1600,
    LEFT = 115,
    RIGHT = 140,
    GAP = 44, /* pixels beside the panels of a grid and between them; axes are labelled on the left, colours on the right */
    CHARACTER = 9 /* pixels of a letter in a panel's title, at most */
};
#define BIAS_DEPTH 12.0 /* the colours of biases end so far below the largest: e^-12 is 6e-6 */
#define DECADES_MAX 5 /* and those of attention at 1e-5 */

struct matrix_figure {
    const struct matrix_bias *biases;
    size_t count, length;
    size_t step, cells; /* tokens a cell, cells a side */
    double depth; /* of the colours of biases */
    int decades; /* and of attention */
};

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

/* Arrays of bias number i: BIAS, the mean over the pairs of tokens in a cell (NaN where most are masked), minus the largest bias;
 * WEIGHT, the mean of exp of it; TOTAL, the sum of exp of it over the keys of the row in a cell's middle. All by cell, from 1. */
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
        fprintf(f, "array %s%zu[%zu] = [", kind == 0 ? "BIAS" : kind == 1 ? "WEIGHT" : "TOTAL", i + 1, u->cells);
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

/* A panel of `size` pixels whose upper left corner is at (left, top) in a picture of the given height. */
static void write_panel(FILE *f, const struct matrix_figure *u, size_t i, int attention, double left, double top, double size,
                        double height, int with_key_axis, int with_query_axis, int with_scale)
{
    double length = (double)u->length, tick = pow(10, floor(log10(length > 1 ? length : 10)));

    tick = length / tick < 2 ? tick / 2 : length / tick < 5 ? tick : 2 * tick;
    tick = tick < 1 ? 1 : tick;
    fprintf(f, "\nunset label\nunset object\nset lmargin at screen %.4f\nset rmargin at screen %.4f\n", left / WIDTH,
            (left + size) / WIDTH);
    fprintf(f, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", 1 - top / height, 1 - (top + size) / height);
    fputs("set label 1 '", f);
    pixels_quoted(f, u->biases[i].label,
                  u->count <= 3 || size > CHARACTER * PIXELS_LABEL_CHARACTERS ? PIXELS_LABEL_CHARACTERS
                                                                              : (size_t)(size / CHARACTER));
    fprintf(f, "%s' at graph 0.5, graph 1.0 offset 0,0.9 center noenhanced%s\n",
            attention       ? ": attention"
            : u->count <= 3 ? ": bias"
                            : "",
            u->count <= 3 ? " font title_font" : "");
    fprintf(f, "set object 1 polygon from 0,0 to 0,%zu to %zu,%zu to 0,0 fs solid noborder fc rgb \"#DDDDDD\" behind\n",
            u->length, u->length, u->length);
    fprintf(f, "set xtics %.0f format \"%s\"\nset ytics %.0f format \"%s\"\n", tick, with_key_axis ? "% h" : "", tick,
            with_query_axis ? "% h" : "");
    fputs(with_key_axis ? "set xlabel \"key position\" offset 0,0.3\n" : "unset xlabel\n", f);
    fputs(with_query_axis ? "set ylabel \"query position\" offset 0.8,0\n" : "unset ylabel\n", f);
    if (with_scale) {
        fprintf(f, "set colorbox user origin screen %.4f, screen %.4f size screen %.4f, screen %.4f\n",
                (left + size + 22) / WIDTH, 1 - (top + size) / height, 18.0 / WIDTH, size / height);
        fprintf(f, "set cblabel \"%s\" offset 0.5,0\n",
                attention ? "share of a key, by the bias alone" : "bias below its largest value");
    } else {
        fputs("unset colorbox\n", f);
    }
    if (attention) {
        fprintf(f, "set logscale cb\nset cbrange [1e-%d:1]\nset cbtics (\"1\" 1", u->decades);
        for (int k = 1; k <= u->decades; k++)
            fprintf(f, ", \"10^{-%d}\" 1e-%d", k, k);
        fputs(") enhanced\n", f);
    } else {
        fprintf(f, "unset logscale cb\nset cbrange [%.6g:0]\nset cbtics autofreq format \"%%g\"\n", -u->depth);
    }
    fprintf(f, "plot sample [u=0:%zu:1] [v=0:%zu:1] '++' using (($1+0.5)*%zu):(($2+0.5)*%zu):", u->cells - 1, u->cells - 1,
            u->step, u->step);
    if (attention)
        fprintf(f, "(share(1.0*WEIGHT%zu[cell($2-$1)]/TOTAL%zu[int($2+1.5)], $2-$1))", i + 1, i + 1);
    else
        fprintf(f, "(bias(BIAS%zu[cell($2-$1)], $2-$1))", i + 1);
    fputs(" with image notitle\n", f);
}

static int write_matrix(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct matrix_figure *u = figure;
    int pairs = u->count <= 3;
    size_t columns = pairs ? 2 : u->count <= 6 ? 3 : 4, rows = pairs ? u->count : (u->count + columns - 1) / columns;
    double size = pairs ? 535 : (double)(WIDTH - LEFT - RIGHT - GAP * (columns - 1)) / (double)columns,
           across = pairs ? 790 : size + GAP, down = size + (pairs ? 140 : 60);
    double height = 30 + down * (double)rows + (pairs ? 0 : 75);

    for (size_t i = 0; i < u->count; i++)
        if (write_arrays(f, u, i, e) != 0)
            return -1;
    pixels_head(f, stem, height);
    fputs("# cells of the future are left out; the arrays begin at 1\ncell(distance) = distance < 0 ? 1 : int(distance + 1.5)\n",
          f);
    fprintf(f, "bias(value, distance) = distance < 0 ? NaN : value != value ? NaN : value < %.6g ? %.6g : value\n", -u->depth,
            -u->depth);
    fprintf(f, "share(value, distance) = distance < 0 ? NaN : value != value ? NaN : value < 1e-%d ? 1e-%d : value\n", u->decades,
            u->decades);
    fputs("set multiplot\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.6\n", f);
    fprintf(f, "set xrange [0:%zu]\nset yrange [%zu:0]\nunset key\nset autoscale noextend\n", u->length, u->length);
    pixels_palette(f);
    for (size_t i = 0; i < u->count; i++) {
        double top = 60 + down * (double)(pairs ? i : i / columns), left = LEFT + across * (double)(pairs ? 0 : i % columns);

        write_panel(f, u, i, 0, left, top, size, height, pairs || i + columns >= u->count, pairs || i % columns == 0,
                    pairs || i % columns + 1 == columns || i + 1 == u->count);
        if (pairs)
            write_panel(f, u, i, 1, left + across, top, size, height, 1, 1, 1);
    }
    fputs("unset multiplot\nunset output\n", f);
    return 0;
}

int figure_matrix(const char *folder, const char *stem, const struct matrix_bias *biases, size_t count, size_t length,
                  const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct matrix_figure figure = {.biases = biases, .count = count, .length = length};

    if (count == 0 || length == 0)
        return fail(e, "%s: no bias to draw", folder);
    figure.step = (length + CELLS_MAX - 1) / CELLS_MAX;
    figure.cells = (length + figure.step - 1) / figure.step;
    for (size_t i = 0; i < count; i++) {
        double most = largest_of(biases[i].bias, length), least = 1, total = 0;

        if (most == -INFINITY)
            return fail(e, "%s: is -inf at every distance: there is nothing to draw", biases[i].label);
        for (size_t t = 0; t < length; t++) {
            if (!isfinite(biases[i].bias[t]))
                continue;
            figure.depth = fmax(figure.depth, most - biases[i].bias[t]);
            least = fmin(least, exp(biases[i].bias[t] - most));
            total += exp(biases[i].bias[t] - most);
        }
        while (figure.decades < DECADES_MAX && least / total < pow(10, -figure.decades))
            figure.decades++;
    }
    figure.decades = figure.decades ? figure.decades : 1;
    figure.depth = figure.depth > 0 ? fmin(figure.depth, BIAS_DEPTH) : 1;
    return pixels_make(folder, stem, comments, style, write_matrix, &figure, e);
}
