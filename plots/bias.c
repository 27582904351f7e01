/* Biases over the distance: the last row of the matrix. */
#include "plots/matrix.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

#define DEPTH_SHOWN 40.0 /* cuts biases this far below the largest of all: e^-40 is 4e-18 */

/* Data; returns the largest bias, and in *least the smallest. */
static double write_data(struct script *s, const struct matrix_biases *u, struct key *key,
                         double *least)
{
    double most = -INFINITY;
    FILE *f = s->data;

    *least = INFINITY;
    for (size_t i = 0; i < u->count; i++) {
        const double *b = u->biases[i].bias;

        key_line(key, s, i, u->biases[i].label, "");
        fprintf(f, "$bias%zu << EOD\n", i + 1);
        for (size_t t = 0; t < u->length; t++) {
            if (isfinite(b[t]))
                most = fmax(most, b[t]), *least = fmin(*least, b[t]);
            if (!matrix_is_drawn(t, u->length) && isfinite(b[t]) == isfinite(b[t - 1]))
                continue;
            if (isfinite(b[t]))
                fprintf(f, "%zu %.10g\n", t, b[t]);
            else
                fprintf(f, "%zu NaN\n", t);
        }
        fputs("EOD\n", f);
    }
    if (!isfinite(most))
        most = 0, *least = -1;
    return most;
}

static void write_panel(struct script *s, const struct layout *l, size_t panel,
                        const struct matrix_biases *u, int logarithmic)
{
    struct axis x = axis_linear('x', logarithmic,
                                (double)(u->length > 1 ? u->length - 1 : 1) + logarithmic,
                                l->across);
    FILE *f = s->plot;

    x.logarithmic = logarithmic;
    if (logarithmic)
        fprintf(f, "set logscale x\nset xrange [1:%.0f]\nset xlabel m(\"1 + t\")\n", x.high);
    else
        fprintf(f, "set xrange [%.0f:0]\nset xlabel \"distance \".m(\"t\").\" (tokens)\"\n",
                x.high);
    ticks_round(s, &x, logarithmic ? x.high : 0);
    for (size_t i = 0; i < u->count; i++) {
        script_add(s, " $bias%zu using %s:2 with lines ls %zu%s", i + 1,
                   logarithmic ? "($1+1)" : "1", i + 1,
                   u->count == 1 ? " lw 1.4*line_width"
                                 : ""); /* one alone may swing from point to point */
        if (panel)
            fputs(" notitle", f);
        else
            fprintf(f, " title t(label%zu)", i + 1);
    }
    script_add_end(s);
}

static int write_bias(struct script *s, const void *figure, struct error *e)
{
    const struct matrix_biases *u = figure;
    int linear = figure_has_panel(s->style->panels, "linear"),
        logarithmic = figure_has_panel(s->style->panels, "log");
    const char *const headings[] = {"Last row of the bias matrix",
                                    "The same on a logarithmic axis"};
    struct key key = {0};
    double least, most = write_data(s, u, &key, &least);
    int cut = least < most - DEPTH_SHOWN;
    struct layout l = {.panels = (size_t)(linear + logarithmic),
                       .columns = 2,
                       .high = 560,
                       .left = 92,
                       .right = 40,
                       .above = 8,
                       .headings = linear ? headings : NULL,
                       .key = &key};
    struct axis y;
    char label[96];

    least = cut ? most - DEPTH_SHOWN : least;
    if (!(least < most))
        least = most - 1;
    snprintf(label, sizeof label,
             cut ? "\"bias \".m(\"b(t)\").\", cut %.0f below its largest (nats)\""
                 : "\"bias \".m(\"b(t)\").\" (nats)\"",
             DEPTH_SHOWN);
    script_lines(s, u->count);
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    y = axis_linear('y', least - 0.03 * (most - least), most + 0.03 * (most - least), l.down);
    fprintf(s->plot, "set yrange [%.6g:%.6g]\n", y.low, y.high);
    ticks_round(s, &y, 0);
    for (size_t panel = 0; panel < l.panels; panel++) {
        layout_panel(&l, s, panel);
        layout_ylabel(&l, s, panel, label);
        write_panel(s, &l, panel, u, panel == 1 || !linear);
    }
    layout_end(s);
    return 0;
}

int figure_bias(const struct figure_place *to, const struct matrix_biases *u, struct error *e)
{
    return u->count && u->length ? script_make(to, write_bias, u, e)
                                 : fail(e, "%s: no bias to draw", to->folder);
}
