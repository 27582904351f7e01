/* Figures of theoretical receptive fields: weights and partial sums of kernels, and fields beside each other. */
#include "plots/trf.h"

#include "plots/figure.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEFT_PANEL_LEFT 0.065
#define LEFT_PANEL_RIGHT 0.480
#define RIGHT_PANEL_LEFT 0.570
#define RIGHT_PANEL_RIGHT 0.975
enum { PANELS = 640, ABOVE = 78, BELOW = 72 }; /* pixels of the panels, of their titles, of their axes */

struct trf_figure {
    const struct trf_curve *curves;
    size_t count;
    double epsilon;
};

static void write_panel(FILE *f, const struct trf_figure *u, int beyond, double most)
{
    const char *joint = "plot";

    for (size_t i = 0; i < u->count; i++) {
        if (beyond && !u->curves[i].beyond)
            continue;
        fprintf(f, "%s $curve%zu using 1:%d with lines ", joint, i + 1, beyond ? 3 : 2);
        pixels_line(f, i);
        fputs(" notitle", f);
        joint = ", \\\n    ";
    }
    for (size_t i = 0; i < u->count; i++) {
        const struct trf_curve *c = &u->curves[i];

        if (!(c->field > 0 && c->field <= most) || (beyond && !c->beyond))
            continue;
        fprintf(f, "%s '+' using (%.10g):(%.10g) every ::0::0 with points pt %d ps mark lw 1.5 lc rgb \"%s\" notitle", joint,
                c->field, beyond ? u->epsilon : c->weight_at_field, pixels_point(i), pixels_colour(i));
        joint = ", \\\n    ";
    }
    if (!beyond) /* the key belongs to both panels */
        for (size_t i = 0; i < u->count; i++) {
            fprintf(f, "%s keyentry with %s ", joint, u->curves[i].field > 0 ? "linespoints" : "lines");
            pixels_line(f, i);
            if (u->curves[i].field > 0)
                fprintf(f, " pt %d ps mark", pixels_point(i));
            fputs(" title '", f);
            pixels_quoted(f, u->curves[i].label, PIXELS_LABEL_CHARACTERS);
            fputs("   ", f);
            pixels_quoted(f, u->curves[i].note, PIXELS_LABEL_CHARACTERS);
            fputs("'", f);
        }
    else if (strcmp(joint, "plot") == 0)
        fputs("plot 2 notitle", f); /* nothing converges: an empty panel */
    fputs("\n", f);
}

static int write_trf(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct trf_figure *u = figure;
    struct pixels_key key = {.count = u->count};
    double most = 2, least = 1, foot, height;

    (void)e;
    for (size_t i = 0; i < u->count; i++) {
        const struct trf_curve *c = &u->curves[i];
        size_t characters = pixels_characters(c->label) + 3 + pixels_characters(c->note);

        key.widest = characters > key.widest ? characters : key.widest;
        most = fmax(most, c->tokens[c->points - 1]);
        fprintf(f, "$curve%zu << EOD\n", i + 1);
        for (size_t k = 0; k < c->points; k++) {
            fprintf(f, "%.10g %.10g %.10g\n", c->tokens[k], c->weight[k], c->beyond ? c->beyond[k] : 1.0);
            if (c->weight[k] > 0)
                least = fmin(least, c->weight[k]);
        }
        fputs("EOD\n", f);
    }
    foot = BELOW + pixels_key_lay(&key);
    height = ABOVE + PANELS + foot;
    pixels_head(f, stem, height);
    fputs("set multiplot\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\nset grid lw 0.6 lc rgb "
          "\"#E6E6E6\" dt solid back\n",
          f);
    fprintf(f, "set samples 2\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n", 1 - ABOVE / height, foot / height);
    fprintf(f, "set logscale xy\nset xrange [1:%.10g]\nset xlabel \"most recent tokens j\"\nset mytics 10\n", most);
    pixels_log_ticks(f, most);

    fputs("\n# the weights\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", LEFT_PANEL_LEFT, LEFT_PANEL_RIGHT);
    pixels_key_place(f, &key, height);
    fputs("set label 1 \"Weight of a token by its distance\" at graph 0, graph 1.055 left font title_font\n", f);
    fprintf(f,
            "set ylabel \"f(j \xe2\x88\x92 1) over its largest value\" offset 0.8,0\nset yrange [%.3g:1.3]\nset ytics autofreq "
            "format \"10^{%%L}\" enhanced\n",
            fmax(least, 1e-8) / 1.3);
    write_panel(f, u, 0, most);

    fputs("\n# the share beyond\n", f);
    fputs("unset label\nunset key\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\n", RIGHT_PANEL_LEFT, RIGHT_PANEL_RIGHT);
    fprintf(f,
            "set label 1 \"What the j most recent tokens leave out (marks: TRF(%.6g))\" at graph 0, graph 1.055 left font "
            "title_font\n",
            u->epsilon);
    fputs("set ylabel \"1 \xe2\x88\x92 S_j / B\" enhanced offset 0.8,0\n", f);
    fprintf(f, "set yrange [%.3g:1]\n", u->epsilon / 100);
    fprintf(f, "set arrow from graph 0, first %.10g to graph 1, first %.10g nohead back lw 1.8 dt (8,5) lc rgb \"#555555\"\n",
            u->epsilon, u->epsilon);
    fprintf(f, "set label 2 \"eps = %.6g\" at graph 0.012, first %.10g left offset 0,0.55 textcolor rgb \"#333333\"\n",
            u->epsilon, u->epsilon);
    write_panel(f, u, 1, most);
    fputs("unset multiplot\nunset output\n", f);
    return 0;
}

int figure_trf(const char *folder, const char *stem, const struct trf_curve *curves, size_t count, double epsilon,
               const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct trf_figure figure = {curves, count, epsilon};

    if (count == 0)
        return fail(e, "%s: no kernel to draw", folder);
    return pixels_make(folder, stem, comments, style, write_trf, &figure, e);
}

/* ---- fields beside each other ---- */

struct fields_figure {
    const struct field_row *rows;
    size_t count;
    const char *subtitle;
};

/* One kind of field: how it is drawn and called. */
static const struct field_kind {
    const char *title, *colour;
    int point;
    double shift; /* within a row, so that marks do not hide each other */
} kinds[] = {
    {"TRF of one layer", "#0072B2", 7, 0.20},
    {"TRF across layers", "#009E73", 5, 0.07},
    {"exact cone of the windows", "#E69F00", 9, -0.07},
    {"measured ERF", "#D55E00", 13, -0.20},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], MEASURED = KINDS - 1 };

static double field_of(const struct field_row *r, int kind)
{
    const double values[KINDS] = {r->trf, r->trf_depth, r->cone, r->erf};

    return values[kind];
}

static int write_fields(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct fields_figure *u = figure;
    double least = INFINITY, most = 1, height = 226 + 52 * (double)u->count, edge;
    size_t widest = 0;
    const char *joint = "plot";

    (void)e;
    for (size_t i = 0; i < u->count; i++) {
        size_t characters = pixels_characters(u->rows[i].label);

        widest = characters > widest ? characters : widest;
        for (int k = 0; k < KINDS; k++) {
            double v = field_of(&u->rows[i], k);

            if (v > 0 && isfinite(v) && v < 1e12)
                most = fmax(most, v), least = fmin(least, v);
        }
        if (u->rows[i].train_length > 0)
            most = fmax(most, u->rows[i].train_length);
    }
    least = fmax(1, floor(fmin(least, most) / 2));
    edge = most * 3;
    for (int k = 0; k < KINDS; k++) {
        fprintf(f, "$kind%d << EOD\n", k + 1);
        for (size_t i = 0; i < u->count; i++) {
            double v = field_of(&u->rows[i], k);

            if (v > 0 && v <= edge)
                fprintf(f, "%.10g %.3f %.10g %.10g\n", v, (double)(u->count - i) + kinds[k].shift,
                        k == MEASURED ? u->rows[i].erf_lo : v, k == MEASURED ? u->rows[i].erf_hi : v);
        }
        fputs("EOD\n", f);
    }
    pixels_head(f, stem, height);
    fputs("set border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\n", f);
    fprintf(f,
            "set lmargin at screen %.3f\nset rmargin at screen 0.965\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            0.03 + 0.0066 * (double)widest, 1 - 72 / height, 146 / height);
    fputs("set grid xtics lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", f);
    fprintf(f, "set logscale x\nset xrange [%.10g:%.10g]\nset yrange [0.4:%.1f]\nset xlabel \"most recent tokens\"\n", least,
            edge, (double)u->count + 0.6);
    fputs("set xtics autofreq\nset mxtics 10\nset ytics scale 0 (", f);
    for (size_t i = 0; i < u->count; i++) {
        fputs(i ? ", '" : "'", f);
        pixels_quoted_tick(f, u->rows[i].label, PIXELS_LABEL_CHARACTERS);
        fprintf(f, "' %zu", u->count - i);
    }
    fputs(") noenhanced\n", f);
    fputs("set label 1 '", f);
    pixels_quoted(f, u->subtitle, 200);
    fprintf(f, "' at graph 0, graph 1 offset 0,1.2 left noenhanced font title_font\n");
    for (size_t i = 0; i < u->count; i++) {
        double y = (double)(u->count - i);

        fprintf(f, "set arrow from graph 0, first %.1f to graph 1, first %.1f nohead back lw 0.6 lc rgb \"#E6E6E6\"\n", y - 0.5,
                y - 0.5);
        if (u->rows[i].train_length > 0)
            fprintf(f, "set arrow from %.10g, %.2f to %.10g, %.2f nohead back lw 1.6 dt (5,5) lc rgb \"#555555\"\n",
                    u->rows[i].train_length, y - 0.5, u->rows[i].train_length, y + 0.5);
        for (int k = 0; k < KINDS; k++) { /* beyond the picture: an arrow at its edge */
            double v = field_of(&u->rows[i], k);

            if (v > edge)
                fprintf(f,
                        "set arrow from graph 0.965, first %.3f to graph 0.99, first %.3f filled head size graph 0.008,20 lw 2 "
                        "lc rgb \"%s\"\n",
                        y + kinds[k].shift, y + kinds[k].shift, kinds[k].colour);
        }
        if (u->rows[i].saturated)
            fprintf(f, "set arrow from %.10g, %.3f rto graph 0.03, 0 filled head size graph 0.008,20 lw 2 lc rgb \"%s\"\n",
                    u->rows[i].erf, y + kinds[MEASURED].shift, kinds[MEASURED].colour);
    }
    fprintf(f,
            "set key at screen 0.5, screen %.4f center bottom horizontal maxrows 2 noenhanced samplen 2 spacing 1.15 width 1 "
            "Left reverse\n",
            14 / height);
    for (int k = 0; k < KINDS; k++) {
        int any = 0;

        for (size_t i = 0; i < u->count; i++)
            any |= field_of(&u->rows[i], k) > 0;
        if (!any)
            continue;
        fprintf(f, "%s $kind%d using 1:2%s with %s pt %d ps mark lw 2 lc rgb \"%s\" title '%s'", joint, k + 1,
                k == MEASURED ? ":3:4" : "", k == MEASURED ? "xerrorbars" : "points", kinds[k].point, kinds[k].colour,
                kinds[k].title);
        joint = ", \\\n    ";
    }
    for (size_t i = 0; i < u->count; i++)
        if (u->rows[i].train_length > 0) {
            fprintf(f, "%s keyentry with lines lw 1.6 dt (5,5) lc rgb \"#555555\" title 'training length'", joint);
            break;
        }
    fputs("\nunset output\n", f);
    return 0;
}

int figure_fields(const char *folder, const char *stem, const struct field_row *rows, size_t count, const char *subtitle,
                  const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct fields_figure figure = {rows, count, subtitle};

    if (count == 0)
        return fail(e, "%s: no fields to draw", folder);
    return pixels_make(folder, stem, comments, style, write_fields, &figure, e);
}
