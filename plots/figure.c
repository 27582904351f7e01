/* The figure of `reach erf`: c over the position, and 1 - c over the number of most recent tokens on logarithmic axes. */
#include "plots/figure.h"

#include "io/error.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 16 };

/* Panels and key in fractions of the picture. */
#define LEFT_PANEL_LEFT 0.060
#define LEFT_PANEL_RIGHT 0.480
#define RIGHT_PANEL_LEFT 0.560
#define RIGHT_PANEL_RIGHT 0.935
#define PANEL_TOP 0.905
#define PANEL_BOTTOM 0.115
#define KEY_ROW 0.028

static size_t longest(const struct figure_curve *curves, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n = curves[i].positions > n ? curves[i].positions : n;
    return n;
}

/* The points that can be seen: one is kept when, since the last one kept, c has moved by 1/2000 of its axis, 1 - c by 1/100 of
 * its own size, or the position by 1/1000 on either x axis; and the point before a jump, so that steps stay steps. `keep`
 * [positions]. */
static void choose_points(unsigned char *keep, const struct figure_curve *u)
{
    size_t n = u->positions, last = 0;

    memset(keep, 0, n);
    keep[0] = keep[n - 1] = 1;
    for (size_t m = 1; m + 1 < n; m++) {
        double step = (double)(m - last), left = (double)(n - m), tail = 1 - u->c[m], before = 1 - u->c[last];
        int jump = fabs(u->c[m] - u->c[last]) > 5e-4 || fabs(tail - before) > 0.01 * fabs(before);

        if (jump || step > 1e-3 * (double)n || step > 5e-3 * left) {
            if (jump)
                keep[m - 1] = 1;
            keep[m] = 1;
            last = m;
        }
    }
}

static int write_data(FILE *f, const struct figure_curve *curves, size_t count, struct error *e)
{
    for (size_t i = 0; i < count; i++) {
        const struct figure_curve *u = &curves[i];
        unsigned char *keep = malloc(u->positions);

        if (!keep)
            return fail_memory(e, (double)u->positions, "the points of a curve");
        choose_points(keep, u);
        fprintf(f, "$curve%zu << EOD\n", i + 1);
        for (size_t m = 0; m < u->positions; m++)
            if (keep[m])
                fprintf(f, "%zu %.10g %.10g %.10g\n", m + 1, u->c[m], u->c_lo ? u->c_lo[m] : u->c[m],
                        u->c_hi ? u->c_hi[m] : u->c[m]);
        fputs("EOD\n", f);
        free(keep);
    }
    return 0;
}

/* Ticks 1, step, 2 step ... n, with n always shown and its neighbours not crowding it. */
static void write_position_ticks(FILE *f, size_t n)
{
    double step = pow(10, floor(log10((double)(n > 10 ? n : 10))));
    size_t whole;

    if ((double)n / step < 2)
        step /= 5;
    else if ((double)n / step < 5)
        step /= 2;
    whole = step < 1 ? 1 : (size_t)step;
    fprintf(f, "set xtics (\"1\" 1");
    for (size_t m = whole; (double)m < (double)n - 0.6 * (double)whole; m += whole)
        if (m > 1 && (double)m > 0.08 * (double)n)
            fprintf(f, ", \"%zu\" %zu", m, m);
    if (n > 1)
        fprintf(f, ", \"%zu\" %zu", n, n);
    fputs(")\n", f);
}

/* Labels above a panel: a label goes one line up where it would run into one that is there. */
struct labels {
    double at[LABELS_MAX]; /* 0..1 of the panel's width, of the labels on the lower line */
    int count;
};

static double label_height(struct labels *l, double at)
{
    for (int i = 0; i < l->count; i++)
        if (fabs(l->at[i] - at) < 0.21)
            return 1.055;
    if (l->count < LABELS_MAX)
        l->at[l->count++] = at;
    return 1.022;
}

static void write_vertical(FILE *f, size_t x, double at, const char *text, const char *line, struct labels *labels)
{
    fprintf(f, "set arrow from %zu, graph 0 to %zu, graph 1 nohead back %s\n", x, x, line);
    fprintf(f, "set label \"%s\" at graph %.4f, graph %g center enhanced textcolor rgb \"#333333\"\n", text, at,
            label_height(labels, at));
}

/* Vertical lines for each L_tr, once: the last L_tr tokens begin at L - L_tr, and on the left also position L_tr, beyond which no
 * position was seen in training. `from_end`: x counts the most recent tokens, on a logarithmic axis. */
static void write_train_lengths(FILE *f, const struct figure_curve *curves, size_t count, size_t n, int from_end)
{
    static const char strong[] = "lw 1.6 dt (5,5) lc rgb \"#555555\"", weak[] = "lw 1.2 dt (2,4) lc rgb \"#888888\"";
    struct labels labels = {.count = 0};

    for (size_t i = 0; i < count; i++) {
        int length = curves[i].train_length, repeated = 0;
        char text[64];

        for (size_t j = 0; j < i; j++)
            repeated |= curves[j].train_length == length;
        if (length <= 0 || repeated || (size_t)length >= n)
            continue;
        snprintf(text, sizeof text, "L_{tr} = %d", length);
        if (from_end) {
            write_vertical(f, (size_t)length, log(length) / log((double)n), text, strong, &labels);
            continue;
        }
        write_vertical(f, (size_t)length, (double)(length - 1) / (double)(n - 1), text, weak, &labels);
        snprintf(text, sizeof text, "L \xe2\x88\x92 L_{tr} = %zu", n + 1 - (size_t)length);
        write_vertical(f, n + 1 - (size_t)length, (double)(n - (size_t)length) / (double)(n - 1), text, strong, &labels);
    }
}

/* Horizontal lines at the thresholds, the first (main) one stronger. */
static void write_thresholds(FILE *f, const double *thresholds, size_t count, int beyond)
{
    for (size_t i = 0; i < count; i++) {
        double y = beyond ? 1 - thresholds[i] : thresholds[i];

        fprintf(f, "set arrow from graph 0, first %.10g to graph 1, first %.10g nohead back %s\n", y, y,
                i == 0 ? "lw 1.8 dt (8,5) lc rgb \"#555555\"" : "lw 1 dt (2,4) lc rgb \"#AAAAAA\"");
    }
}

/* Bands first, then lines, then the marks at the ERF, so that none hides another. `beyond`: the logarithmic panel. Curves of
 * other lengths are set at the right end: what counts is the distance from the target. */
static void write_plot(FILE *f, const struct figure_curve *curves, size_t count, size_t n, int beyond, double floor_value)
{
    const char *joint = "plot";

    for (size_t i = 0; i < count; i++) {
        if (!curves[i].c_lo || !curves[i].c_hi)
            continue;
        if (beyond)
            fprintf(f, "%s $curve%zu using (%zu-$1):(beyond($3)):(beyond($4)) with filledcurves", joint, i + 1,
                    curves[i].positions + 1);
        else
            fprintf(f, "%s $curve%zu using ($1+%zu):3:4 with filledcurves", joint, i + 1, n - curves[i].positions);
        fprintf(f, " fs transparent solid 0.17 noborder fc rgb \"%s\" notitle", pixels_colour(i));
        joint = ", \\\n    ";
    }
    for (size_t i = 0; i < count; i++) {
        if (beyond)
            fprintf(f, "%s $curve%zu using (%zu-$1):(beyond($2)) with lines ", joint, i + 1, curves[i].positions + 1);
        else
            fprintf(f, "%s $curve%zu using ($1+%zu):2 with lines ", joint, i + 1, n - curves[i].positions);
        pixels_line(f, i);
        fputs(" notitle", f);
        joint = ", \\\n    ";
    }
    for (size_t i = 0; i < count; i++) {
        size_t erf = curves[i].erf, at;

        if (erf == 0 || erf > curves[i].positions)
            continue;
        at = curves[i].positions - erf;
        fprintf(f, "%s '+' using (%zu):(%.10g) every ::0::0 with points pt %d ps mark lw 1.5 lc rgb \"%s\" notitle", joint,
                beyond ? erf : n + 1 - erf, beyond ? fmax(1 - curves[i].c[at], floor_value) : curves[i].c[at], pixels_point(i),
                pixels_colour(i));
    }
    if (!beyond) /* the key belongs to both panels: one entry a curve */
        for (size_t i = 0; i < count; i++) {
            fprintf(f, "%s keyentry with %s ", joint, curves[i].erf ? "linespoints" : "lines");
            pixels_line(f, i);
            if (curves[i].erf)
                fprintf(f, " pt %d ps mark", pixels_point(i));
            fputs(" title '", f);
            pixels_quoted(f, curves[i].label, PIXELS_LABEL_CHARACTERS);
            if (curves[i].erf)
                fprintf(f, "   ERF %s%zu", curves[i].saturated ? "\xe2\x89\xa5 " : "", curves[i].erf);
            fputs("'", f);
        }
    fputs("\n", f);
}

/* Columns of the key: as many as fit beside each other with the longest entry, whose characters go to *widest. */
static size_t key_columns(size_t *widest_entry, const struct figure_curve *curves, size_t count)
{
    size_t widest = 0, columns;

    for (size_t i = 0; i < count; i++) {
        size_t characters = 0;

        for (const char *p = curves[i].label; *p; p++)
            characters += (*p & 0xc0) != 0x80;
        widest = characters > widest ? characters : widest;
    }
    widest = (widest < PIXELS_LABEL_CHARACTERS ? widest : PIXELS_LABEL_CHARACTERS) + 13; /* the ERF */
    *widest_entry = widest;
    columns = 150 / (widest + 8); /* and the sample line */
    columns = columns < 1 ? 1 : columns > 4 ? 4 : columns;
    return columns < count ? columns : count;
}

static void write_script(FILE *f, const char *stem, const struct figure_curve *curves, size_t count, const double *thresholds,
                         size_t threshold_count)
{
    size_t n = longest(curves, count), widest, columns = key_columns(&widest, curves, count),
           rows = (count + columns - 1) / columns;
    double floor_value = 1e-4, grown, height;

    for (size_t i = 0; i < threshold_count; i++)
        floor_value = fmin(floor_value, (1 - thresholds[i]) / 10);
    /* the picture grows with the key, the panels keep their size */
    grown = 1 + KEY_ROW * (double)(rows > 3 ? rows - 3 : 0);
    height = floor(1000 * grown + 0.5);

    pixels_head(f, stem, height);
    fprintf(f, "beyond(c) = 1 - c > %.3g ? 1 - c : %.3g\n", floor_value / 10, floor_value / 10);
    fputs("set multiplot\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\nset grid lw 0.6 lc rgb "
          "\"#E6E6E6\" dt solid back\n",
          f);
    fputs("set samples 2\nset xrange [*:*]\n", f); /* '+' is one point, repeated: only its first is taken */
    fprintf(f, "set tmargin at screen %.4f\nset bmargin at screen %.4f\n", 1 - (1 - PANEL_TOP) / grown,
            (PANEL_BOTTOM + KEY_ROW * (double)rows + 0.012 * grown) / grown);

    fputs("\n# c over the position\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", LEFT_PANEL_LEFT, LEFT_PANEL_RIGHT);
    /* gnuplot takes every character for a wide one: the negative width draws the columns together */
    fprintf(f,
            "set key at screen 0.5, screen %.4f center bottom vertical maxrows %zu noenhanced samplen 4 spacing 1.15 width %.1f "
            "Left reverse\n",
            0.018 / grown, rows, 2 - 0.18 * (double)widest);
    fputs("set label 1 \"Share of the gradient from position m on\" at graph 0, graph 1.1 left font title_font\n", f);
    fputs("set xlabel \"position m (token)\"\nset ylabel \"cumulative normalized gradient c_m\" enhanced offset 0.5,0\n", f);
    fprintf(f, "set xrange [%s:%zu]\nset yrange [0:1.02]\nset ytics 0.1 format \"%%.1f\"\n", n > 1 ? "1" : "0", n);
    write_position_ticks(f, n);
    write_thresholds(f, thresholds, threshold_count, 0);
    write_train_lengths(f, curves, count, n, 0);
    write_plot(f, curves, count, n, 0, floor_value);

    fputs("\n# 1 - c over the number of most recent tokens\n", f);
    fputs("unset label\nunset arrow\nunset key\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", RIGHT_PANEL_LEFT, RIGHT_PANEL_RIGHT);
    fprintf(
        f,
        "set label 1 \"What the most recent tokens leave out (marks: ERF(%.6g))\" at graph 0, graph 1.1 left font title_font\n",
        thresholds[0]);
    fputs("set xlabel \"most recent tokens, L \xe2\x88\x92 m\"\nset ylabel \"1 \xe2\x88\x92 c_m\" enhanced offset 0.8,0\n", f);
    fprintf(f, "set logscale xy\nset logscale y2\nset xrange [1:%zu]\nset yrange [%.3g:1]\nset y2range [%.3g:1]\n", n > 1 ? n : 2,
            floor_value, floor_value);
    fputs("set ytics autofreq format \"10^{%L}\" enhanced\nset mytics 10\nset border 31\n", f);
    fputs("set y2label \"threshold c_m\" enhanced offset -0.6,0\nset y2tics (", f);
    for (size_t i = 0; i < threshold_count; i++)
        fprintf(f, "%s\"%.6g\" %.10g", i ? ", " : "", thresholds[i], 1 - thresholds[i]);
    fputs(") scale 0\n", f);
    pixels_log_ticks(f, (double)n);
    write_thresholds(f, thresholds, threshold_count, 1);
    write_train_lengths(f, curves, count, n, 1);
    write_plot(f, curves, count, n, 1, floor_value);
    fputs("unset multiplot\nunset output\n", f);
}

struct erf_figure {
    const struct figure_curve *curves;
    size_t count;
    const double *thresholds;
    size_t threshold_count;
};

static int write_erf(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct erf_figure *u = figure;

    if (write_data(f, u->curves, u->count, e) != 0)
        return -1;
    write_script(f, stem, u->curves, u->count, u->thresholds, u->threshold_count);
    return 0;
}

int figure_erf(const char *folder, const char *stem, const struct figure_curve *curves, size_t count, const double *thresholds,
               size_t threshold_count, const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct erf_figure figure = {curves, count, thresholds, threshold_count};

    if (count == 0 || threshold_count == 0)
        return fail(e, "%s: no curve to draw (expected at least one model and one threshold)", folder);
    for (size_t i = 0; i < count; i++)
        if (curves[i].positions == 0)
            return fail(e, "%s: has no positions to draw", curves[i].label);
    return pixels_make(folder, stem, comments, style, write_erf, &figure, e);
}
