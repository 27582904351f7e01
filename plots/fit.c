/* Fits to biases and other points over the distance. */
#include "plots/matrix.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 1 if there are points, and so residuals. */
static int has_points(const struct fit_figures *u)
{
    return u->fits[0].y != NULL;
}

/* A vertical axis that holds all values it was widened by. */
static void widen(struct axis *y, double value)
{
    if (isfinite(value))
        y->low = fmin(y->low, value), y->high = fmax(y->high, value);
}

/* Ranges of the distances that are drawn, of y and of its residuals. */
static void write_data(struct script *s, const struct fit_figures *u, struct key *key,
                       double *first, double *last, struct axis y[2])
{
    *first = INFINITY, *last = -INFINITY;
    for (size_t i = 0; i < u->count; i++) {
        const struct fit_figure *fit = &u->fits[i];
        char text[256];

        *first = fmin(*first, fit->t[0]);
        *last = fmax(*last, fit->t[fit->points - 1]);
        snprintf(text, sizeof text, ":  %s", fit->curve);
        script_text(s, "label", i + 1, fit->label);
        script_text_long(s, "curve", i + 1, fit->curve);
        key->count++;
        key->widest = fmax(key->widest, script_width(s, fit->label) + text_width(text));
        key->characters = (size_t)fmax((double)key->characters,
                                       (double)(script_characters(s, fit->label) + strlen(text)));
        fprintf(s->data, "$fit%zu << EOD\n", i + 1);
        for (size_t k = 0; k < fit->points; k++) {
            widen(&y[0], fit->fitted[k]);
            widen(&y[0], has_points(u) ? fit->y[k] : NAN);
            widen(&y[1], has_points(u) ? fit->y[k] - fit->fitted[k] : NAN);
            if (matrix_is_drawn(k, fit->points))
                fprintf(s->data, "%.10g %.10g %.10g\n", fit->t[k], has_points(u) ? fit->y[k] : NAN,
                        fit->fitted[k]);
        }
        fputs("EOD\n", s->data);
    }
    if (!(*last > *first))
        *last = *first + 1;
    for (int k = 0; k < 2; k++) {
        double room = 0.04 * (y[k].high - y[k].low);

        if (!(room > 0 && isfinite(room)))
            room = isfinite(y[k].low) && y[k].low != 0 ? fabs(y[k].low) / 2 : 1;
        y[k].low = (isfinite(y[k].low) ? y[k].low : 0) - room;
        y[k].high = (isfinite(y[k].high) ? y[k].high : 0) + room;
    }
}

/* The points with their curves, or the residuals. A single fit has points and curve in two colours.
 * `in_lines`: a curve's entry in the key is on a separate line. */
static void write_lines(struct script *s, const struct fit_figures *u, int logarithmic,
                        int residuals, int with_key, int in_lines)
{
    const char *x = logarithmic ? "($1+1)" : "1";
    FILE *f = s->plot;

    for (size_t i = 0; has_points(u) && i < u->count; i++) {
        script_add(s, " $fit%zu using %s:%s with lines ls %zu lw 1.4*line_width dt solid", i + 1, x,
                   residuals ? "($2-$3)" : "2", i + 1);
        if (with_key && u->count == 1)
            fputs(" title t(quantity1)", f);
        else
            fputs(" notitle", f);
    }
    for (size_t i = 0; i < u->count && !residuals; i++) {
        size_t style = u->count == 1 && has_points(u) ? 2 : i + 1;

        script_add(s, " $fit%zu using %s:3 with lines ls %zu%s", i + 1, x, style,
                   u->count == 1 ? " dt solid" : "");
        if (with_key)
            fprintf(f,
                    in_lines ? " title t(label%zu).':', \\\n    keyentry with lines lt nodraw "
                               "title t(curve%zu)"
                             : " title t(label%zu).':  '.t(curve%zu)",
                    i + 1, i + 1);
        else
            fputs(" notitle", f);
    }
    script_add_end(s);
}

static int write_fit(struct script *s, const void *figure, struct error *e)
{
    const struct fit_figures *u = figure;
    int linear = figure_has_panel(s->style->panels, "linear"),
        logarithmic = figure_has_panel(s->style->panels, "log");
    int points = has_points(u), across = linear + logarithmic;
    const char *headings[4] = {points ? "Points and fitted curve" : "Fitted curve",
                               "The same on a logarithmic axis", "", ""};
    struct key key = {.count = points && u->count == 1}; /* for a single fit also the points */
    struct axis y[2] = {axis_linear('y', INFINITY, -INFINITY, 0),
                        axis_linear('y', INFINITY, -INFINITY, 0)};
    double first, last;
    int in_lines;
    struct layout l = {.panels = (size_t)(points ? 2 * across : across),
                       .columns = (size_t)across,
                       .high = points ? 330 : 500,
                       .left = 100,
                       .right = 40,
                       .above = 8,
                       .headings = linear ? headings : NULL,
                       .key = &key};

    write_data(s, u, &key, &first, &last, y);
    in_lines = key.widest > s->width - 110; /* otherwise there is no room for both */
    if (in_lines)
        key.count += u->count, key.widest = s->width - 110,
                               key.characters = (size_t)(key.widest / 9);
    key.widest = fmax(key.widest, s->width / 2); /* one column */
    script_text_long(s, "quantity", 1, u->quantity);
    script_lines(s, u->count == 1 ? 2 : u->count);
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    for (size_t panel = 0; panel < l.panels; panel++) {
        int residuals = panel >= (size_t)across,
            in_logarithm = linear && logarithmic ? panel % 2 == 1 : logarithmic;
        struct axis x = axis_linear('x', first + in_logarithm, last + in_logarithm, l.across);

        x.logarithmic = in_logarithm;
        y[residuals].size = l.down;

        layout_panel(&l, s, panel);
        layout_ylabel(&l, s, panel, residuals ? "\"residual\"" : "t(quantity1)");
        fprintf(s->plot, "set xrange [%.10g:%.10g]\nset xlabel %s\n", x.low, x.high,
                in_logarithm ? "m(\"1 + t\")" : "\"distance \".m(\"t\").\" (tokens)\"");
        if (in_logarithm)
            fputs("set logscale x\n", s->plot);
        if (residuals)
            fputs("set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead lw 1.2 lc rgb "
                  "\"#555555\"\n",
                  s->plot);
        fprintf(s->plot, "set yrange [%.10g:%.10g]\n", y[residuals].low, y[residuals].high);
        ticks_round(s, &x, 0);
        ticks_round(s, &y[residuals], 0);
        write_lines(s, u, in_logarithm, residuals, panel == 0, in_lines);
    }
    layout_end(s);
    return 0;
}

int figure_fit(const struct figure_place *to, const struct fit_figures *u, struct error *e)
{
    return u->count ? script_make(to, write_fit, u, e) : fail(e, "%s: no fit to draw", to->folder);
}
