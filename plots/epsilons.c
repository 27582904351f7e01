#include "plots/epsilons.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

enum {
    MARKED = 40 /* lines with at most this many points have all marked; others those far apart */
};
static const double APART = 1.2; /* minimum ratio of their epsilons */

static void widen(struct axis *a, double low, double high)
{
    a->low = fmin(a->low, low);
    a->high = fmax(a->high, high);
}

/* The ends of an axis for its values; at is a format for gnuplot's `set`. */
static void begin_axis(struct script *s, struct axis *a)
{
    a->logarithmic = a->high >= 10 * a->low;
    double room = a->logarithmic ? pow(a->high / a->low, 0.03) : (a->high - a->low) * 0.03;
    if (!(a->high > a->low))
        room = a->high / 2;
    a->low = a->logarithmic ? a->low / room : fmax(a->low - room, 0);
    a->high = a->logarithmic ? a->high * room : a->high + room;
    if (a->logarithmic)
        fprintf(s->plot, "set logscale %c\n", a->name);
    fprintf(s->plot, "set %crange [%.10g:%.10g]\n", a->name, a->low, a->high);
    ticks_round(s, a, 0);
}

static int write_epsilons(struct script *s, const void *figure, struct error *e)
{
    const struct epsilon_lines *u = figure;
    struct axis x = axis_linear('x', INFINITY, 0, 0), y = axis_linear('y', INFINITY, 0, 0);
    struct key key = {0};

    for (size_t i = 0; i < u->count; i++) {
        const struct epsilon_line *line = &u->lines[i];

        key_line(&key, s, i, line->label, "");
        double marked = 0;
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t k = 0; k < line->count; k++) {
            const struct epsilon_point *p = &line->points[k];

            int mark = line->count <= MARKED || p->epsilon >= APART * marked ||
                       p->epsilon <= marked / APART;

            marked = mark ? p->epsilon : marked;
            fprintf(s->data, "%.10g %.10g %.10g %.10g %d\n", p->epsilon, sqrt(p->lo) * sqrt(p->hi),
                    p->lo, p->hi, mark);
            widen(&x, p->epsilon, p->epsilon);
            widen(&y, p->lo, p->hi);
        }
        fputs("EOD\n", s->data);
    }
    script_lines(s, u->count);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = 560,
                       .left = 110,
                       .right = 40,
                       .above = 8,
                       .title = "Theoretical field over the share that it leaves out",
                       .key = &key};
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    layout_panel(&l, s, 0);
    x.size = l.across;
    y.size = l.down;
    begin_axis(s, &x);
    begin_axis(s, &y);
    fputs("set xlabel \"share left out, eps\"\n", s->plot);
    layout_ylabel(&l, s, 0, "\"TRF(eps), tokens\"");
    for (size_t i = 0; i < u->count; i++)
        script_add(s,
                   " $line%zu using 1:3:4 with filledcurves ls %zu fs transparent solid 0.17 "
                   "noborder notitle",
                   i + 1, i + 1);
    for (size_t i = 0; i < u->count; i++)
        script_add(s,
                   " $line%zu using 1:2 with lines ls %zu notitle, $line%zu using 1:($5 > 0 ? $2 : "
                   "NaN) with points ls %zu notitle, "
                   "keyentry with linespoints ls %zu title t(label%zu)",
                   i + 1, i + 1, i + 1, i + 1, i + 1, i + 1);
    script_add_end(s);
    layout_end(s);
    return 0;
}

int figure_epsilons(const struct figure_place *to, const struct epsilon_lines *u, struct error *e)
{
    return u->count ? script_make(to, write_epsilons, u, e)
                    : fail(e, "%s: no field is known at two epsilons", to->folder);
}
