/* Biases over the distance, and fits to them. */
#include "plots/figure.h"
#include "plots/matrix.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>

#define LEFT_PANEL_LEFT 0.065
#define LEFT_PANEL_RIGHT 0.480
#define RIGHT_PANEL_LEFT 0.570
#define RIGHT_PANEL_RIGHT 0.975
enum { PANELS = 580, ABOVE = 74, BELOW = 72 }; /* pixels of the panels, of their titles, of their axes */
#define DEPTH_SHOWN 40.0 /* biases so far below the largest one of all are cut: e^-40 is 4e-18 */

/* Points that are drawn of many: all near ones, then every so many. */
static int is_drawn(size_t i, size_t count)
{
    return i < 512 || i % (count / 2048 + 1) == 0 || i + 1 == count;
}

/* ---- the last row of the matrix ---- */

struct bias_figure {
    const struct matrix_bias *biases;
    size_t count, length;
};

static void write_lines(FILE *f, const struct bias_figure *u, int logarithmic)
{
    const char *joint = "plot";

    for (size_t i = 0; i < u->count; i++) {
        fprintf(f, "%s $bias%zu using %s:2 with lines ", joint, i + 1, logarithmic ? "($1+1)" : "1");
        if (u->count == 1) /* may swing from point to point */
            fprintf(f, "lw 1.4 lc rgb \"%s\"", pixels_colour(i));
        else
            pixels_line(f, i);
        fputs(logarithmic ? " notitle" : " title '", f);
        if (!logarithmic) {
            pixels_quoted(f, u->biases[i].label, PIXELS_LABEL_CHARACTERS);
            fputs("'", f);
        }
        joint = ", \\\n    ";
    }
    fputs("\n", f);
}

static int write_bias(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct bias_figure *u = figure;
    struct pixels_key key = {.count = u->count};
    double most = -INFINITY, least = INFINITY, foot, height;
    int cut;

    (void)e;
    for (size_t i = 0; i < u->count; i++) {
        const double *b = u->biases[i].bias;
        size_t characters = pixels_characters(u->biases[i].label);

        key.widest = characters > key.widest ? characters : key.widest;
        fprintf(f, "$bias%zu << EOD\n", i + 1);
        for (size_t t = 0; t < u->length; t++) {
            if (isfinite(b[t]))
                most = fmax(most, b[t]), least = fmin(least, b[t]);
            if (!is_drawn(t, u->length) && isfinite(b[t]) == isfinite(b[t - 1]))
                continue;
            if (isfinite(b[t]))
                fprintf(f, "%zu %.10g\n", t, b[t]);
            else
                fprintf(f, "%zu NaN\n", t);
        }
        fputs("EOD\n", f);
    }
    if (!isfinite(most))
        most = 0, least = -1;
    cut = least < most - DEPTH_SHOWN;
    least = cut ? most - DEPTH_SHOWN : least;
    if (!(least < most))
        least = most - 1;
    foot = BELOW + pixels_key_lay(&key);
    height = ABOVE + PANELS + foot;
    pixels_head(f, stem, height);
    fputs("set multiplot\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\nset grid lw 0.6 lc rgb "
          "\"#E6E6E6\" dt solid back\n",
          f);
    fprintf(f, "set tmargin at screen %.4f\nset bmargin at screen %.4f\nset yrange [%.6g:%.6g]\n", 1 - ABOVE / height,
            foot / height, least - 0.03 * (most - least), most + 0.03 * (most - least));
    fputs("set ylabel \"bias b(t)", f);
    if (cut)
        fprintf(f, ", cut %.0f below its largest", DEPTH_SHOWN);
    fputs("\" offset 0.5,0\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", LEFT_PANEL_LEFT, LEFT_PANEL_RIGHT);
    pixels_key_place(f, &key, height);
    fputs("set label 1 \"Last row of the bias matrix\" at graph 0, graph 1.055 left font title_font\n", f);
    fprintf(f, "set xlabel \"distance t\"\nset xrange [%zu:0]\n", u->length > 1 ? u->length - 1 : 1);
    write_lines(f, u, 0);
    fputs("unset key\nunset label\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", RIGHT_PANEL_LEFT, RIGHT_PANEL_RIGHT);
    fputs("set label 1 \"The same on a logarithmic axis\" at graph 0, graph 1.055 left font title_font\n", f);
    fprintf(f, "set xlabel \"1 + t\"\nset logscale x\nset xrange [1:%zu]\nset mxtics 10\n", u->length > 1 ? u->length : 2);
    pixels_log_ticks(f, (double)u->length);
    write_lines(f, u, 1);
    fputs("unset multiplot\nunset output\n", f);
    return 0;
}

int figure_bias(const char *folder, const char *stem, const struct matrix_bias *biases, size_t count, size_t length,
                const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct bias_figure figure = {biases, count, length};

    if (count == 0 || length == 0)
        return fail(e, "%s: no bias to draw", folder);
    return pixels_make(folder, stem, comments, style, write_bias, &figure, e);
}

/* ---- a fit ---- */

struct fits_figure {
    const struct fit_figure *fits;
    size_t count;
    const char *quantity;
};

/* The points with their curves, or (`residuals`) what is left of them. */
static void write_fits(FILE *f, const struct fits_figure *u, int logarithmic, int residuals)
{
    const char *joint = "plot", *x = logarithmic ? "($1+1)" : "1";

    for (size_t i = 0; i < u->count; i++) {
        fprintf(f, "%s $fit%zu using %s:%s with lines lw 1.4 lc rgb \"%s\" notitle", joint, i + 1, x, residuals ? "($2-$3)" : "2",
                u->count == 1 ? "#0072B2" : pixels_colour(i));
        joint = ", \\\n    ";
    }
    if (u->count == 1 && !residuals && !logarithmic)
        fprintf(f, "%s keyentry with lines lw 1.4 lc rgb \"#0072B2\" title '%s'", joint, u->quantity);
    for (size_t i = 0; i < u->count && !residuals; i++) {
        const char *colour = u->count == 1 ? "#D55E00" : pixels_colour(i);

        fprintf(f, "%s $fit%zu using %s:3 with lines lw 2.8 dt %s lc rgb \"%s\" notitle", joint, i + 1, x,
                u->count == 1 ? "solid" : "(10,5)", colour);
        if (logarithmic)
            continue;
        fprintf(f, "%s keyentry with lines lw %s dt %s lc rgb \"%s\" title '", joint, u->count == 1 ? "2.8" : "2", "solid",
                colour);
        pixels_quoted(f, u->fits[i].label, PIXELS_LABEL_CHARACTERS);
        fputs(":  ", f);
        pixels_quoted(f, u->fits[i].curve, 120);
        fputs("'", f);
    }
    fputs("\n", f);
}

static int write_fit(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct fits_figure *u = figure;
    double entries = u->count == 1 ? 2 : (double)u->count; /* in the key: of one fit the points, too */
    double first = INFINITY, last = -INFINITY, height = 850 + 30 * entries, key = (30 + 30 * entries) / height, upper, lower;

    (void)e;
    for (size_t i = 0; i < u->count; i++) {
        const struct fit_figure *fit = &u->fits[i];

        first = fmin(first, fit->t[0]);
        last = fmax(last, fit->t[fit->points - 1]);
        fprintf(f, "$fit%zu << EOD\n", i + 1);
        for (size_t k = 0; k < fit->points; k++)
            if (is_drawn(k, fit->points))
                fprintf(f, "%.10g %.10g %.10g\n", fit->t[k], fit->y[k], fit->fitted[k]);
        fputs("EOD\n", f);
    }
    if (!(last > first))
        last = first + 1;
    upper = key + 0.38 * (1 - key) + 0.015;
    lower = key + 70 / height;
    pixels_head(f, stem, height);
    fputs("set multiplot\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\nset grid lw 0.6 lc rgb "
          "\"#E6E6E6\" dt solid back\n",
          f);
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", logarithmic ? RIGHT_PANEL_LEFT : LEFT_PANEL_LEFT,
                logarithmic ? RIGHT_PANEL_RIGHT : LEFT_PANEL_RIGHT);
        if (logarithmic)
            fprintf(f, "unset key\nset logscale x\nset xrange [%.10g:%.10g]\nset mxtics 10\n", first + 1, last + 1);
        else
            fprintf(f, "set xrange [%.10g:%.10g]\n", first, last);
        fprintf(f, "set tmargin at screen %.4f\nset bmargin at screen %.4f\nset format x \"\"\nunset xlabel\n", 1 - 80 / height,
                upper);
        fprintf(f, "set label 1 \"%s\" at graph 0, graph 1.0 offset 0,1.1 left font title_font\nset ylabel \"%s\" offset 0.5,0\n",
                logarithmic ? "The same on a logarithmic axis" : "Points and fitted curve", u->quantity);
        if (!logarithmic)
            fprintf(f,
                    "set key at screen 0.5, screen %.4f center bottom vertical maxcols 1 noenhanced samplen 4 spacing 1.15 Left "
                    "reverse\n",
                    18 / height);
        write_fits(f, u, logarithmic, 0);
        fprintf(f,
                "unset label\nunset key\nset tmargin at screen %.4f\nset bmargin at screen %.4f\nset format x \"%%g\"\nset "
                "xlabel \"%s\"\n",
                upper - 0.022, lower, logarithmic ? "1 + t" : "distance t");
        fputs("set ylabel \"residual\" offset 0.5,0\nset arrow 1 from graph 0, first 0 to graph 1, first 0 nohead lw 1.2 lc rgb "
              "\"#555555\"\n",
              f);
        write_fits(f, u, logarithmic, 1);
        fputs("unset arrow\n", f);
    }
    fputs("unset multiplot\nunset output\n", f);
    return 0;
}

int figure_fit(const char *folder, const char *stem, const struct fit_figure *fits, size_t count, const char *quantity,
               const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct fits_figure figure = {fits, count, quantity};

    if (count == 0)
        return fail(e, "%s: no fit to draw", folder);
    return pixels_make(folder, stem, comments, style, write_fit, &figure, e);
}
