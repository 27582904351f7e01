#include "plots/steps.h"

#include "analyze/curve.h"
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHARES_MAX = 12 };

/* Lines of a panel: a value of each curve with its interval. */
struct steps_lines {
    size_t count;
    double (*value)(const struct figure_curve *c, const double *share, double at);
    double at[SHARES_MAX]; /* descending: the order of the lines, the highest one first */
};

struct steps_figure {
    const struct step_curve *curves;
    size_t count;
    struct steps_lines fields, shares; /* by threshold; by the number of most recent tokens */
};

/* The field at a threshold of the curve `share`, or of an end of its band: a higher curve reaches
 * the threshold sooner. */
static double field_at(const struct figure_curve *c, const double *share, double threshold)
{
    return (double)curve_erf(share, c->positions, threshold);
}

/* The share of the most recent tokens. */
static double share_at(const struct figure_curve *c, const double *share, double recent)
{
    return share[c->positions - (size_t)recent];
}

/* Step; for each line its value and interval. Returns the range of these. */
static struct axis write_data(FILE *f, const struct steps_figure *u, const struct steps_lines *l,
                              const char *name)
{
    struct axis y = axis_logarithmic('y', INFINITY, 1, 0);

    fprintf(f, "$%s << EOD\n", name);
    for (size_t i = 0; i < u->count; i++) {
        const struct figure_curve *c = u->curves[i].curve;

        fprintf(f, "%.10g", u->curves[i].step);
        for (size_t k = 0; k < l->count; k++) {
            double value = l->value(c, c->c, l->at[k]), one = value, other = value;

            if (c->c_lo && c->c_hi) {
                one = l->value(c, c->c_hi, l->at[k]);
                other = l->value(c, c->c_lo, l->at[k]);
            }
            fprintf(f, " %.8g %.8g %.8g", value, fmin(one, other), fmax(one, other));
            y.low = fmin(y.low, fmin(value, fmin(one, other)));
            y.high = fmax(y.high, fmax(value, fmax(one, other)));
        }
        fputs("\n", f);
    }
    fputs("EOD\n", f);
    return y;
}

static void begin_panel(struct script *s, const struct layout *l, size_t panel,
                        const struct steps_figure *u)
{
    double first = u->curves[0].step, last = u->curves[u->count - 1].step;
    struct axis x = axis_linear('x', first - 0.04 * (last - first), last + 0.04 * (last - first),
                                l->across);

    x.logarithmic = s->style->logarithmic_x;
    if (!(last > first)) /* one alone */
        x.low = first - 1, x.high = first + 1;
    if (x.logarithmic) {
        double room = last > first ? pow(last / first, 0.04) : 2;

        x.low = first / room, x.high = last * room;
    }
    layout_panel(l, s, panel);
    fprintf(s->plot, "set xrange [%.10g:%.10g]\n", x.low, x.high);
    layout_xlabel(l, s, panel, "\"step of training\"");
    if (x.logarithmic)
        fputs("set logscale x\n", s->plot);
    ticks_round(s, &x, 0);
}

/* Bands, then lines in style `first` and on. */
static void write_lines(struct script *s, const struct steps_lines *l, const char *name,
                        size_t first)
{
    for (size_t k = 0; k < l->count; k++)
        script_add(s,
                   " $%s using 1:%zu:%zu with filledcurves ls %zu fs transparent solid 0.17 "
                   "noborder notitle",
                   name, 3 * k + 3, 3 * k + 4, first + k);
    for (size_t k = 0; k < l->count; k++)
        script_add(s, " $%s using 1:%zu with linespoints ls %zu notitle", name, 3 * k + 2,
                   first + k);
}

static void entry_text(char *text, size_t size, const struct steps_figure *u, int field, size_t k)
{
    if (field)
        snprintf(text, size, "ERF(%.6g)", u->fields.at[k]);
    else
        snprintf(text, size, "c of the last %.0f", u->shares.at[k]);
}

/* Entries of the key for the lines of both panels. */
static void write_entries(struct script *s, const struct steps_figure *u, const struct key *key,
                          int fields, int shares)
{
    char text[48];

    for (size_t k = 0; fields && k < u->fields.count; k++) {
        entry_text(text, sizeof text, u, 1, k);
        script_add(s, " keyentry with linespoints ls %zu title '%s'", k + 1, text);
    }
    if (fields)
        key_fill(key, s, u->fields.count);
    for (size_t k = 0; shares && k < u->shares.count; k++) {
        entry_text(text, sizeof text, u, 0, k);
        script_add(s, " keyentry with linespoints ls %zu title '%s'", u->fields.count + k + 1,
                   text);
    }
    if (shares)
        key_fill(key, s, u->shares.count);
}

static int write_steps(struct script *s, const void *figure, struct error *e)
{
    const struct steps_figure *u = figure;
    int field = figure_has_panel(s->style->panels, "field"),
        share = figure_has_panel(s->style->panels, "share");
    const char *const headings[] = {"Receptive field; bands: 95 %",
                                    "Share of the most recent tokens"};
    struct axis fields = write_data(s->data, u, &u->fields, "fields"), y;
    struct key key = {0};
    FILE *f = s->plot;

    write_data(s->data, u, &u->shares, "shares");
    for (int panel = 0; panel < 2; panel++)
        for (size_t k = 0;
             (panel ? share : field) && k < (panel ? u->shares.count : u->fields.count); k++) {
            char text[48];

            entry_text(text, sizeof text, u, !panel, k);
            key_add(&key, s, text, "");
        }
    key.group = field && share ? u->fields.count : 0;
    script_lines_in_order(s, 1, u->fields.count);
    script_lines_in_order(s, u->fields.count + 1, u->shares.count);
    struct layout l = {.panels = (size_t)(field + share),
                       .columns = 2,
                       .high = 560,
                       .left = 104,
                       .right = 40,
                       .same_x = 1,
                       .above = 8,
                       .headings = headings + !field,
                       .key = &key};
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    if (field) {
        y = axis_logarithmic('y', fmax(0.7, fields.low / 1.3), fields.high * 1.3, l.down);
        begin_panel(s, &l, 0, u);
        layout_ylabel(&l, s, 0, "\"ERF (tokens)\"");
        fprintf(f, "set logscale y\nset yrange [%.6g:%.6g]\n", y.low, y.high);
        ticks_round(s, &y, 0);
        write_lines(s, &u->fields, "fields", 1);
        write_entries(s, u, &key, 1, share);
        script_add_end(s);
    }
    if (share) {
        y = axis_linear('y', 0, 1.04, l.down);
        begin_panel(s, &l, (size_t)field, u);
        layout_ylabel(&l, s, (size_t)field, "\"cumulative normalized gradient \".m(\"c\")");
        fputs("set yrange [0:1.04]\n", f);
        ticks_round(s, &y, 0);
        write_lines(s, &u->shares, "shares", u->fields.count + 1);
        if (!field)
            write_entries(s, u, &key, 0, 1);
        script_add_end(s);
    }
    layout_end(s);
    return 0;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

int figure_steps(const struct figure_place *to, const struct step_curves *what, struct error *e)
{
    struct steps_figure figure = {.curves = what->curves,
                                  .count = what->count,
                                  .fields = {.value = field_at},
                                  .shares = {.value = share_at}};
    struct steps_lines *fields = &figure.fields, *shares = &figure.shares;
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
    while (fields->count < what->threshold_count && fields->count < SHARES_MAX) {
        fields->at[fields->count] = what->thresholds[fields->count];
        fields->count++;
    }
    for (size_t recent = 1; recent < n && shares->count < SHARES_MAX; recent *= 4)
        shares->at[shares->count++] = (double)recent;
    if (shares->count == 0)
        shares->at[shares->count++] = (double)n;
    qsort(fields->at, fields->count, sizeof *fields->at, descending);
    qsort(shares->at, shares->count, sizeof *shares->at, descending);
    return script_make(to, write_steps, &figure, e);
}
