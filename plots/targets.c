/* The field over the position of the target. */
#include "plots/result.h"

#include "plots/frame.h"
#include "plots/places.h"

#include <math.h>
#include <stdio.h>

enum { ARROW = 26, ROOM = 14 }; /* units: of an arrow; above and below all points */
static const char bound_title[] = "a lower bound: all tokens needed";

/* The positions of all models, and ranges of fields with their intervals. */
struct extent {
    struct places targets;
    double low, high;
    int saturated; /* 1: a field is */
};

static struct extent extent_of(const struct result *r)
{
    struct extent u = {.low = INFINITY};

    for (size_t i = 0; i < r->model_count; i++)
        for (size_t k = 0; k < result_targets(&r->models[i]); k++) {
            const struct result_field *field = result_target(&r->models[i], k);
            const struct erf_row *row = &field->summary.rows[r->main_row];

            places_add(&u.targets, (double)field->target);
            u.low = fmin(u.low, fmax((double)row->erf_lo, 1));
            u.high = fmax(u.high, (double)row->erf_hi);
            u.saturated |= row->saturated;
        }
    return u;
}

/* Position, moved aside; field, interval, 1 for a saturated one. */
static void write_data(struct script *s, const struct result *r, double step, struct key *key)
{
    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];

        key_line(key, s, i, m->name, "");
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t k = 0; k < result_targets(m); k++) {
            const struct result_field *field = result_target(m, k);
            const struct erf_row *row = &field->summary.rows[r->main_row];

            fprintf(s->data, "%.10g %zu %zu %zu %d\n",
                    (double)field->target * places_aside(step, i, r->model_count), row->erf,
                    row->erf_lo, row->erf_hi, row->saturated);
        }
        fputs("EOD\n", s->data);
    }
}

/* Bars, then lines with their key, then arrows at saturated fields, which grow by the factor. */
static void write_lines(struct script *s, const struct result *r, const struct extent *u,
                        double factor)
{
    for (size_t i = 0; i < r->model_count; i++)
        script_add(s,
                   "$line%zu using 1:2:3:4 with yerrorbars ls %zu dt solid ps 0 lw "
                   "1.5*line_width notitle",
                   i + 1, i + 1);
    for (size_t i = 0; i < r->model_count; i++)
        script_add(s, "$line%zu using 1:2 with linespoints ls %zu title t(label%zu)", i + 1, i + 1,
                   i + 1);
    for (size_t i = 0; i < r->model_count; i++)
        script_add(s, "$line%zu using 1:($5 == 1 ? $2 : NaN):(0):(%.6g*$2) with vectors %s notitle",
                   i + 1, factor - 1, FRAME_ARROW);
    if (u->saturated)
        script_add(s, "keyentry with vectors %s title '%s'", FRAME_ARROW, bound_title);
    script_add_end(s);
}

static int write_targets(struct script *s, const void *figure, struct error *e)
{
    const struct result *r = figure;
    struct key key = {0};
    struct extent u = extent_of(r);
    double left = u.targets.at[0], right = u.targets.at[u.targets.count - 1], unit;
    char title[64];
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = 740,
                       .left = 110,
                       .right = 50,
                       .above = 8,
                       .title = title,
                       .key = &key};
    struct axis x = places_axis(left, right, layout_across(&l, s), r->model_count), y;
    struct verticals trained = {.count = 0};

    snprintf(title, sizeof title, "ERF(%.6g) of the target at position P", r->main_threshold);
    key_add(&key, s, "all tokens (ERF = P - 1)", "");
    write_data(s, r, places_step(&u.targets, &x, r->model_count), &key);
    if (u.saturated)
        key_add(&key, s, bound_title, "");
    script_lines(s, r->model_count);
    for (size_t i = 0; i < r->model_count; i++)
        verticals_add_length(&trained, &x, (double)r->models[i].train_length);
    l.lines = trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
    u.high = fmax(u.high, 2 * u.low);
    unit = log(u.high / u.low) / (l.down - 2 * ROOM - (u.saturated ? ARROW : 0));
    y = axis_logarithmic('y', u.low * exp(-ROOM * unit),
                         u.high * exp((ROOM + (u.saturated ? ARROW : 0)) * unit), l.down);
    script_frame(s, 1);
    layout_panel(&l, s, 0);
    layout_ylabel(&l, s, 0, "\"ERF (tokens)\"");
    fprintf(s->plot, "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", x.low,
            x.high, y.low, y.high);
    fprintf(s->plot, "set xlabel \"position \".m(\"P\").\" of the target%s\" enhanced\n",
            r->model_count > 1 ? "; models side by side" : " (token)");
    ticks_round(s, &y, 0);
    ticks_at(s, &x, u.targets.at, u.targets.count);
    verticals_draw(s, &trained, 0);
    script_add(s, " x-1 with lines lw 1.8 dt (8,5) lc rgb \"#555555\" title 'all tokens (ERF = "
                  "'.m(\"P\".minus.\"1\").')'");
    write_lines(s, r, &u, exp(ARROW * unit));
    layout_end(s);
    return 0;
}

int figure_targets(const struct figure_place *to, const struct result *r, struct error *e)
{
    return script_make(to, write_targets, r, e);
}
