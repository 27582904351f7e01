#include "plots/steps.h"

#include "analyze/curve.h"
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

enum { SHARES_MAX = 12 };

struct steps_figure {
    const struct step_curve *curves;
    size_t count;
    const double *thresholds;
    size_t threshold_count;
    size_t recent[SHARES_MAX], recent_count; /* tokens with a drawn share */
};

/* Step, ERF at every threshold, interval of the first; step, c of the most recent tokens. Returns
 * the largest field. */
static double write_data(FILE *f, const struct steps_figure *u, double *least)
{
    double most = 1;

    *least = INFINITY;
    fputs("$fields << EOD\n", f);
    for (size_t i = 0; i < u->count; i++) {
        const struct figure_curve *c = u->curves[i].curve;

        fprintf(f, "%.10g", u->curves[i].step);
        for (size_t k = 0; k < u->threshold_count; k++) {
            double erf = (double)curve_erf(c->c, c->positions, u->thresholds[k]);

            fprintf(f, " %.0f", erf);
            most = fmax(most, erf), *least = fmin(*least, erf);
        }
        fprintf(f, " %zu %zu\n",
                curve_erf(c->c_hi ? c->c_hi : c->c, c->positions, u->thresholds[0]),
                curve_erf(c->c_lo ? c->c_lo : c->c, c->positions, u->thresholds[0]));
    }
    fputs("EOD\n$shares << EOD\n", f);
    for (size_t i = 0; i < u->count; i++) {
        const struct figure_curve *c = u->curves[i].curve;

        fprintf(f, "%.10g", u->curves[i].step);
        for (size_t k = 0; k < u->recent_count; k++)
            fprintf(f, " %.8g", c->c[c->positions - u->recent[k]]);
        fputs("\n", f);
    }
    fputs("EOD\n", f);
    return most;
}

static void begin_panel(struct script *s, const struct layout *l, size_t panel,
                        const struct steps_figure *u)
{
    double first = u->curves[0].step, last = u->curves[u->count - 1].step;
    int logarithmic = s->style->logarithmic_x;
    struct axis x = axis_linear('x', first, last, l->across);

    x.logarithmic = logarithmic;
    if (!(last > first)) /* one alone */
        x.low = logarithmic ? first / 2 : first - 1, x.high = logarithmic ? 2 * first : first + 1;
    layout_panel(l, s, panel);
    fprintf(s->plot, "set xrange [%.10g:%.10g]\nset xlabel \"step of training\"\n", x.low, x.high);
    if (logarithmic)
        fputs("set logscale x\n", s->plot);
    ticks_round(s, &x, 0);
}

/* Entries of the key for lines in the other panel. */
static void write_entries(struct script *s, const struct steps_figure *u, int fields, int shares)
{
    for (size_t k = 0; fields && k < u->threshold_count; k++)
        script_add(s, "keyentry with linespoints ls %zu title 'ERF(%.6g)'", k + 1,
                   u->thresholds[k]);
    for (size_t k = 0; shares && k < u->recent_count; k++)
        script_add(s, "keyentry with linespoints ls %zu title 'c of the last %zu'",
                   u->threshold_count + k + 1, u->recent[k]);
    script_add_end(s);
}

static int write_steps(struct script *s, const void *figure, struct error *e)
{
    const struct steps_figure *u = figure;
    int field = figure_has_panel(s->style->panels, "field"),
        share = figure_has_panel(s->style->panels, "share");
    double least, most = write_data(s->data, u, &least);
    const char *const headings[] = {"Receptive field", "Share of the most recent tokens"};
    struct key key = {0};
    FILE *f = s->plot;

    for (size_t k = 0; k < u->threshold_count + u->recent_count; k++)
        if (k < u->threshold_count ? field : share)
            key_add(&key, s, k < u->threshold_count ? "ERF(0.999)" : "c of the last 16384", "");
    script_lines(s, u->threshold_count + u->recent_count);
    struct layout l = {.panels = (size_t)(field + share),
                       .columns = 2,
                       .high = 560,
                       .left = 104,
                       .right = 40,
                       .above = 8,
                       .headings = headings + !field,
                       .key = &key};
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    if (field) {
        struct axis y = axis_logarithmic('y', fmax(0.7, least / 1.3), most * 1.3, l.down);

        begin_panel(s, &l, 0, u);
        layout_ylabel(&l, s, 0, "\"ERF (tokens)\"");
        fprintf(f, "set logscale y\nset yrange [%.6g:%.6g]\n", y.low, y.high);
        ticks_round(s, &y, 0);
        script_add(s,
                   " $fields using 1:%zu:%zu with filledcurves ls 1 fs transparent solid 0.17 "
                   "noborder notitle",
                   u->threshold_count + 2, u->threshold_count + 3);
        for (size_t k = 0; k < u->threshold_count; k++)
            script_add(s, "$fields using 1:%zu with linespoints ls %zu notitle", k + 2, k + 1);
        write_entries(s, u, 1, share);
    }
    if (share) {
        struct axis y = axis_linear('y', 0, 1.02, l.down);

        begin_panel(s, &l, (size_t)field, u);
        layout_ylabel(&l, s, (size_t)field, "\"cumulative normalized gradient \".m(\"c\")");
        fputs("set yrange [0:1.02]\n", f);
        ticks_round(s, &y, 0);
        for (size_t k = 0; k < u->recent_count; k++)
            script_add(s, " $shares using 1:%zu with linespoints ls %zu notitle", k + 2,
                       u->threshold_count + k + 1);
        write_entries(s, u, 0, !field);
    }
    layout_end(s);
    return 0;
}

int figure_steps(const struct figure_place *to, const struct step_curves *what, struct error *e)
{
    struct steps_figure figure = {.curves = what->curves,
                                  .count = what->count,
                                  .thresholds = what->thresholds,
                                  .threshold_count = what->threshold_count};
    const struct step_curve *curves = what->curves;
    size_t n = what->count ? curves[0].curve->positions : 0;

    if (what->count == 0)
        return fail(e, "%s: no steps to draw", to->folder);
    for (size_t i = 0; i < what->count; i++)
        if (curves[i].curve->positions != n || n == 0)
            return fail(
                e, "steps.gp: %s has %zu positions, and %s has %zu (expected curves of one length)",
                curves[i].label, curves[i].curve->positions, curves[0].label, n);
    if (to->style->logarithmic_x && !(curves[0].step > 0))
        return fail(e, "--xlog: steps.gp begins at step 0 (expected steps above 0, or --only "
                       "without that one)");
    for (size_t recent = 1; recent < n && figure.recent_count < SHARES_MAX; recent *= 4)
        figure.recent[figure.recent_count++] = recent;
    if (figure.recent_count == 0)
        figure.recent[figure.recent_count++] = n;
    return script_make(to, write_steps, &figure, e);
}
