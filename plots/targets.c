/* The field over the position of the target. */
#include "plots/result.h"

#include "plots/result_script.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>

enum { ABOVE = 100, PANEL = 760, BELOW = 95 }; /* pixels above, of and below the panel, the key not counted */
#define PANEL_LEFT 0.075
#define PANEL_RIGHT 0.965

/* Ticks at the positions of the first model that are far enough apart. */
static void write_positions(FILE *f, const struct result_model *m, double left, double right)
{
    double gap = 0.04 * log(right / left), last = -INFINITY;

    fputs("set xtics (", f);
    for (size_t i = 0; i < result_targets(m); i++) {
        double target = (double)result_target(m, i)->target;
        int shown = log(target) - last >= gap;

        fprintf(f, "%s\"", i ? ", " : "");
        if (shown)
            fprintf(f, "%.0f", target), last = log(target);
        fprintf(f, "\" %.0f", target);
    }
    fputs(")\n", f);
}

/* A vertical line for each L_tr, once. */
static void write_train_lengths(FILE *f, const struct result *r, double left, double right)
{
    for (size_t i = 0; i < r->model_count; i++) {
        int length = (int)r->models[i].train_length, repeated = length < left || length > right;

        for (size_t j = 0; j < i; j++)
            repeated |= (int)r->models[j].train_length == length;
        if (repeated)
            continue;
        fprintf(f, "set arrow from %d, graph 0 to %d, graph 1 nohead back lw 1.6 dt (5,5) lc rgb \"#555555\"\n", length, length);
        fprintf(f, "set label \"L_{tr} = %d\" at %d, graph 1.03 center enhanced textcolor rgb \"#333333\"\n", length, length);
    }
}

/* One pass over all lines: bars, hollow points of what is saturated, or lines with their key. */
static void write_pass(FILE *f, const struct result *r, int pass)
{
    for (size_t i = 0; i < r->model_count; i++) {
        if (pass == 0) {
            fprintf(f, ", \\\n    $line%zu using 1:2:3:4 with yerrorbars pt %d ps 0 lw 1.5 lc rgb \"%s\" notitle", i + 1,
                    pixels_point(i), pixels_colour(i));
            continue;
        }
        if (pass == 2) {
            fprintf(f, ", \\\n    $line%zu using 1:($5 == 1 ? $2 : NaN) with points pt 7 ps 0.55*mark lc rgb \"#FFFFFF\" notitle",
                    i + 1);
            continue;
        }
        fprintf(f, ", \\\n    $line%zu using 1:2 with linespoints ", i + 1);
        pixels_line(f, i);
        fprintf(f, " pt %d ps mark title '", pixels_point(i));
        pixels_quoted(f, r->models[i].name, PIXELS_LABEL_CHARACTERS);
        fputs("'", f);
    }
}

static int write_targets(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct result *r = figure;
    struct pixels_key key = {.count = r->model_count + 1, .widest = 22};
    double left = INFINITY, right = 0, low = INFINITY, high = 0, foot, height;

    (void)e;
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];
        size_t characters = pixels_characters(m->name);

        key.widest = characters > key.widest ? characters : key.widest;
        fprintf(f, "$line%zu << EOD\n", i + 1);
        for (size_t k = 0; k < result_targets(m); k++) {
            const struct result_field *field = result_target(m, k);
            const struct erf_row *row = &field->summary.rows[r->main_row];

            fprintf(f, "%zu %zu %zu %zu %d\n", field->target, row->erf, row->erf_lo, row->erf_hi, row->saturated);
            left = fmin(left, (double)field->target), right = fmax(right, (double)field->target);
            low = fmin(low, fmax((double)row->erf_lo, 1)), high = fmax(high, (double)row->erf_hi);
        }
        fputs("EOD\n", f);
    }
    foot = BELOW + pixels_key_lay(&key);
    height = ABOVE + PANEL + foot;
    pixels_head(f, stem, height);
    fputs("set border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\nset grid lw 0.6 lc rgb \"#E6E6E6\" dt solid "
          "back\n",
          f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            PANEL_LEFT, PANEL_RIGHT, 1 - ABOVE / height, foot / height);
    pixels_key_place(f, &key, height);
    fprintf(f,
            "set label 1 \"Receptive field ERF(%.6g) of the target at position P\" at graph 0, graph 1.1 left font title_font\n",
            r->main_threshold);
    fprintf(f, "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", left * pow(right / left, -0.03),
            right * pow(right / left, 0.03), low / 1.3, high * 1.3);
    fputs("set xlabel \"position P of the target (token)\"\nset ylabel \"ERF (tokens)\" offset 0.5,0\n", f);
    fputs("set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, "
          "1000000)\n",
          f);
    write_positions(f, &r->models[0], left, right);
    write_train_lengths(f, r, left, right);
    fputs("plot x-1 with lines lw 1.8 dt (8,5) lc rgb \"#555555\" title 'all tokens (ERF = P \xe2\x88\x92 1)'", f);
    for (int pass = 0; pass < 3; pass++)
        write_pass(f, r, pass);
    fputs("\nunset output\n", f);
    return 0;
}

int figure_targets(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                   struct error *e)
{
    return pixels_of_result(folder, stem, r, style, write_targets, r, e);
}
