/* Fields by layer. */
#include "plots/result.h"

#include "plots/result_script.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>

enum {
    BINS = 240,
    PANEL = 400,
    ABOVE = 96,
    BELOW = 92,
    WIDTH = 1600
}; /* bins of the heat map; pixels of a panel, above and below it */
#define MAP_LEFT 0.060
#define MAP_RIGHT 0.440
#define CURVES_LEFT 0.590
#define CURVES_RIGHT 0.930
#define DECADES_MAX 8 /* the colours end so far below the largest share */
#define BEYOND_FLOOR 1e-4

/* Tokens k = L - m from `first` to `last` that bin i of n positions covers; at least one, so that near ones are as wide as they
 * look. */
static void bin_range(size_t *first, size_t *last, size_t i, size_t n)
{
    double step = log((double)n + 1) / BINS;

    *first = (size_t)exp(step * (double)i);
    *last = (size_t)ceil(exp(step * (double)(i + 1))) - 1;
    *first = *first < 1 ? 1 : *first > n ? n : *first;
    *last = *last < *first ? *first : *last > n ? n : *last;
}

/* log10 of the mean share in each bin, a row a layer; NaN where no gradient arrives. Returns the range that was seen. */
static void write_map(FILE *f, const struct result_model *m, size_t number, double *low, double *high)
{
    size_t n = m->fields[0].positions;

    *low = INFINITY, *high = -INFINITY;
    fprintf(f, "$map%zu << EOD\n", number);
    for (size_t l = 0; l < result_layers(m); l++) {
        for (size_t i = 0; i < BINS; i++) {
            size_t first, last;
            double sum = 0, value;

            bin_range(&first, &last, i, n);
            for (size_t k = first; k <= last; k++)
                sum += m->fields[l].summary.s[n - k];
            value = log10(sum / (double)(last - first + 1));
            if (isfinite(value)) {
                *low = fmin(*low, value), *high = fmax(*high, value);
                fprintf(f, "%s%.4g", i ? " " : "", value);
            } else {
                fprintf(f, "%sNaN", i ? " " : "");
            }
        }
        fputs("\n", f);
    }
    fputs("EOD\n", f);
}

/* Points k, 1 - c of every layer as one block each, at distances that can be told apart. */
static void write_curves(FILE *f, const struct result_model *m, size_t row, size_t number)
{
    size_t n = m->fields[0].positions;

    fprintf(f, "$curves%zu << EOD\n", number);
    for (size_t l = 0; l < result_layers(m); l++) {
        const double *c = m->fields[l].summary.c;
        size_t last = 0;

        for (size_t k = 1; k <= n; k++) {
            if (last && k < n && (double)k < 1.01 * (double)last)
                continue;
            fprintf(f, "%zu %.6g %zu\n", k, fmax(1 - c[n - k], BEYOND_FLOOR / 10), m->fields[l].layer);
            last = k;
        }
        fputs("\n\n", f);
    }
    fputs("EOD\n", f);
    fprintf(f, "$fields%zu << EOD\n", number);
    for (size_t l = 0; l < result_layers(m); l++) {
        const struct erf_summary *u = &m->fields[l].summary;

        fprintf(f, "%zu %zu %.6g %zu\n", l, u->rows[row].erf, fmax(1 - u->c[n - u->rows[row].erf], BEYOND_FLOOR / 10),
                m->fields[l].layer);
    }
    fputs("EOD\n", f);
}

/* Ticks 1 2 5 10 ... n; `logarithm`: at their logarithms, for an axis that gnuplot takes for a plain one. */
static void write_ticks(FILE *f, double n, int logarithm)
{
    static const int leading[] = {1, 2, 5};
    const char *joint = "";

    fputs("set xtics (", f);
    for (double power = 1; power < n; power *= 10)
        for (int i = 0; i < 3; i++) {
            double tick = power * leading[i];

            if ((n > 5000 && i) || tick > 0.6 * n)
                continue;
            fprintf(f, "%s\"%.0f\" %.8g", joint, tick, logarithm ? log(tick) : tick);
            joint = ", ";
        }
    fprintf(f, "%s\"%.0f\" %.8g)\n", joint, n, logarithm ? log(n) : n);
}

static void write_train_length(FILE *f, const struct result_model *m, int logarithm)
{
    double at = logarithm ? log((double)m->train_length) : (double)m->train_length;

    if (m->train_length < 1 || m->train_length >= m->fields[0].positions)
        return;
    fprintf(f, "set arrow from first %.8g, graph 0 to first %.8g, graph 1 nohead front lw 1.6 dt (5,5) lc rgb \"%s\"\n", at, at,
            logarithm ? "#FFFFFF" : "#555555");
    fprintf(f, "set label \"L_{tr} = %zu\" at first %.8g, graph 1.035 center enhanced textcolor rgb \"#333333\"\n",
            m->train_length, at);
}

/* Panels of model i, whose upper edge is `top` pixels below that of the picture. */
static void write_panels(FILE *f, const struct result *r, size_t i, double top, double height, double low, double high)
{
    const struct result_model *m = &r->models[i];
    size_t layers = result_layers(m), last = m->fields[layers - 1].layer;
    double n = (double)m->fields[0].positions, step = log(n + 1) / BINS;

    fprintf(f,
            "\nunset label\nunset arrow\nunset object\nunset logscale\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            1 - top / height, 1 - (top + PANEL) / height);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", MAP_LEFT, MAP_RIGHT);
    fputs("set label 1 '", f);
    pixels_quoted(f, m->name, PIXELS_LABEL_CHARACTERS);
    fputs(": share of the gradient by layer' at graph 0, graph 1.12 left noenhanced font title_font\n", f);
    fputs("set object 1 rectangle from graph 0, 0 to graph 1, 1 fs solid noborder fc rgb \"#DDDDDD\" behind\n", f);
    fprintf(f,
            "set xrange [0:%.8g]\nset yrange [-0.5:%.1f]\nset xlabel \"most recent tokens, L \xe2\x88\x92 m\" offset 0,0.3\nset "
            "ylabel \"input of block\" offset 0.8,0\n",
            log(n > 1 ? n : 2), (double)layers - 0.5);
    write_ticks(f, n, 1);
    fputs("set ytics format \"%g\" (", f);
    for (size_t l = 0, every = layers / 16 + 1; l < layers; l += every)
        fprintf(f, "%s\"%zu\" %zu", l ? ", " : "", m->fields[l].layer, l);
    fputs(")\n", f);
    fprintf(f, "set cbrange [%.6g:%.6g]\nset cbtics autofreq format \"10^{%%g}\" enhanced\n", low, high > low ? high : low + 1);
    fprintf(f,
            "set colorbox user origin screen %.4f, screen %.4f size screen 0.011, screen %.4f\nset cblabel \"share s_m of a "
            "token\" enhanced offset 0.5,0\n",
            MAP_RIGHT + 0.012, 1 - (top + PANEL) / height, PANEL / height);
    write_train_length(f, m, 1);
    fprintf(f, "plot $map%zu matrix using (($1+0.5)*%.8g):2:($3 < %.6g ? %.6g : $3) with image notitle, \\\n", i + 1, step, low,
            low);
    fprintf(f, "    $fields%zu using (log($2)):1 with linespoints lw 2.2 lc rgb \"#FFFFFF\" pt 7 ps mark notitle, \\\n", i + 1);
    fprintf(f, "    $fields%zu using (log($2)):1 with points pt 6 lw 1.4 lc rgb \"#000000\" ps mark notitle\n", i + 1);

    fputs("unset label\nunset arrow\nunset object\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", CURVES_LEFT, CURVES_RIGHT);
    fprintf(
        f,
        "set label 1 \"What the most recent tokens leave out (marks: ERF(%.6g))\" at graph 0, graph 1.12 left font title_font\n",
        r->main_threshold);
    fputs("set ylabel \"1 \xe2\x88\x92 c_m\" enhanced offset 0.8,0\nset logscale xy\n", f);
    fprintf(f, "set xrange [1:%.0f]\nset yrange [%.3g:1]\nset ytics autofreq format \"10^{%%L}\" enhanced\nset mytics 10\n",
            n > 1 ? n : 2, fmin(BEYOND_FLOOR, (1 - r->main_threshold) / 10));
    write_ticks(f, n, 0);
    fprintf(f, "set cbrange [0:%zu]\nset cbtics %zu format \"%%g\"\n", last > 0 ? last : 1, last / 8 + 1);
    fprintf(f,
            "set colorbox user origin screen %.4f, screen %.4f size screen 0.011, screen %.4f\nset cblabel \"input of block\" "
            "offset 0.5,0\n",
            CURVES_RIGHT + 0.012, 1 - (top + PANEL) / height, PANEL / height);
    fprintf(f, "set arrow from graph 0, first %.10g to graph 1, first %.10g nohead back lw 1.8 dt (8,5) lc rgb \"#555555\"\n",
            1 - r->main_threshold, 1 - r->main_threshold);
    write_train_length(f, m, 0);
    for (size_t l = 0; l < layers; l++)
        fprintf(f, "%s $curves%zu index %zu using 1:2:3 with lines lw 2.4 lc palette notitle", l ? ", \\\n    " : "plot", i + 1,
                l);
    fprintf(f, ", \\\n     $fields%zu using 2:3:4 with points pt 7 ps mark lc palette notitle\n", i + 1);
    fputs("unset mytics\n", f);
}

static int write_layers(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct result *r = figure;
    double down = ABOVE + PANEL + BELOW, height = down * (double)r->model_count, low = INFINITY, high = -INFINITY, lowest,
           highest;

    (void)e;
    for (size_t i = 0; i < r->model_count; i++) {
        write_map(f, &r->models[i], i + 1, &lowest, &highest);
        write_curves(f, &r->models[i], r->main_row, i + 1);
        low = fmin(low, lowest), high = fmax(high, highest);
    }
    low = floor(fmax(low, high - DECADES_MAX)), high = ceil(high); /* one scale, so that models can be compared */
    pixels_head(f, stem, height);
    fputs("set multiplot\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.7\nunset key\nset autoscale "
          "noextend\n",
          f);
    pixels_palette(f);
    for (size_t i = 0; i < r->model_count; i++)
        write_panels(f, r, i, down * (double)i + ABOVE, height, low, high);
    fputs("unset multiplot\nunset output\n", f);
    return 0;
}

int figure_layers(const char *folder, const char *stem, const struct result *r, const struct figure_style *style, struct error *e)
{
    return pixels_of_result(folder, stem, r, style, write_layers, r, e);
}
