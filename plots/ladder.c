/* Measured fields of several models below each other. */
#include "plots/ladder.h"

#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>

enum { ABOVE = 90, ROW = 40, BELOW = 140 }; /* pixels over, of a row of, and under the panel */

struct ladder {
    const struct ladder_row *rows;
    size_t count;
    const double *thresholds;
    size_t threshold_count, main;
    int train_length;
    const char *subtitle;
};

/* Data of one threshold: field, height, interval. */
static void write_threshold(FILE *f, const struct ladder *u, size_t k)
{
    fprintf(f, "$threshold%zu << EOD\n", k + 1);
    for (size_t i = 0; i < u->count; i++)
        if (u->rows[i].erf[k] > 0)
            fprintf(f, "%.10g %zu %.10g %.10g\n", u->rows[i].erf[k], u->count - i, u->rows[i].erf_lo[k], u->rows[i].erf_hi[k]);
    fputs("EOD\n", f);
}

static int write_ladder(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct ladder *u = figure;
    double least = INFINITY, most = fmax(1, u->train_length), height = ABOVE + BELOW + ROW * (double)u->count;
    size_t widest = 0;
    const char *joint = "plot";

    (void)e;
    for (size_t i = 0; i < u->count; i++) {
        size_t characters = pixels_characters(u->rows[i].label);

        widest = characters > widest ? characters : widest;
        for (size_t k = 0; k < u->threshold_count; k++)
            if (u->rows[i].erf[k] > 0)
                least = fmin(least, u->rows[i].erf[k]), most = fmax(most, u->rows[i].erf[k]);
    }
    least = fmin(least, most);
    for (size_t k = 0; k < u->threshold_count; k++)
        write_threshold(f, u, k);
    pixels_head(f, stem, height);
    fputs("set border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\n", f);
    fprintf(f,
            "set lmargin at screen %.3f\nset rmargin at screen 0.965\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            0.03 + 0.0066 * (double)widest, 1 - ABOVE / height, BELOW / height);
    fputs("set grid xtics lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", f);
    fprintf(f, "set logscale x\nset xrange [%.10g:%.10g]\nset yrange [0.4:%.1f]\nset xlabel \"most recent tokens\"\n",
            fmax(0.7, least / 1.3), most * 1.5, (double)u->count + 0.6);
    pixels_log_ticks(f, most);
    fputs("set ytics scale 0 (", f);
    for (size_t i = 0; i < u->count; i++) {
        fputs(i ? ", '" : "'", f);
        pixels_quoted_tick(f, u->rows[i].label, PIXELS_LABEL_CHARACTERS);
        fprintf(f, "' %zu", u->count - i);
    }
    fputs(") noenhanced\nset label 1 '", f);
    pixels_quoted(f, u->subtitle, 200);
    fprintf(f, "' at graph 0, screen %.4f left noenhanced font title_font\n", 1 - 28 / height);
    if (u->train_length) {
        fprintf(f, "set arrow from %d, graph 0 to %d, graph 1 nohead back lw 1.6 dt (5,5) lc rgb \"#555555\"\n", u->train_length,
                u->train_length);
        fprintf(f, "set label 2 \"L_{tr} = %d\" at %d, graph 1 offset 0,0.6 center enhanced textcolor rgb \"#333333\"\n",
                u->train_length, u->train_length);
    }
    for (size_t i = 0; i < u->count; i++) { /* from the first to the last threshold; an arrow where the length was too short */
        double low = INFINITY, high = 0;

        for (size_t k = 0; k < u->threshold_count; k++) {
            double v = u->rows[i].erf[k];

            if (!(v > 0))
                continue;
            low = fmin(low, v), high = fmax(high, v);
            if (u->rows[i].saturated[k])
                fprintf(f, "set arrow from %.10g, %zu rto graph 0.03, 0 filled head size graph 0.008,20 lw 2 lc rgb \"%s\"\n", v,
                        u->count - i, pixels_colour(k));
        }
        if (high > low)
            fprintf(f, "set arrow from %.10g, %zu to %.10g, %zu nohead back lw 1.2 lc rgb \"#BBBBBB\"\n", low, u->count - i, high,
                    u->count - i);
    }
    fprintf(f,
            "set key at screen 0.5, screen %.4f center bottom horizontal maxrows 1 noenhanced samplen 1.5 width 1 Left reverse\n",
            14 / height);
    for (size_t k = 0; k < u->threshold_count; k++) {
        fprintf(f, "%s $threshold%zu using 1:2%s with %s pt %d ps mark%s lw 2 lc rgb \"%s\" title 'ERF(%.6g)'", joint, k + 1,
                k == u->main ? ":3:4" : "", k == u->main ? "xerrorbars" : "points", pixels_point(k), k == u->main ? "" : "*0.8",
                pixels_colour(k), u->thresholds[k]);
        joint = ", \\\n    ";
    }
    fputs("\nunset output\n", f);
    return 0;
}

int figure_ladder(const char *folder, const char *stem, const struct ladder_row *rows, size_t count, const double *thresholds,
                  size_t threshold_count, size_t main, int train_length, const char *subtitle, const char *const *comments,
                  const struct figure_style *style, struct error *e)
{
    struct ladder figure = {rows, count, thresholds, threshold_count, main, train_length, subtitle};

    if (count == 0)
        return fail(e, "%s: no fields to draw", folder);
    return pixels_make(folder, stem, comments, style, write_ladder, &figure, e);
}
