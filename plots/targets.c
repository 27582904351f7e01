/* The field over the position of the target. */
#include "plots/result.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

/* Ranges of positions, and of fields with their intervals. */
struct extent {
    double left, right, low, high;
};

static struct extent write_data(struct script *s, const struct result *r, struct key *key)
{
    struct extent u = {INFINITY, 0, INFINITY, 0};

    for (size_t i = 0; i < r->model_count; i++) {
        const struct result_model *m = &r->models[i];

        key_line(key, s, i, m->name, "");
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t k = 0; k < result_targets(m); k++) {
            const struct result_field *field = result_target(m, k);
            const struct erf_row *row = &field->summary.rows[r->main_row];

            fprintf(s->data, "%zu %zu %zu %zu %d\n", field->target, row->erf, row->erf_lo,
                    row->erf_hi, row->saturated);
            u.left = fmin(u.left, (double)field->target),
            u.right = fmax(u.right, (double)field->target);
            u.low = fmin(u.low, fmax((double)row->erf_lo, 1)),
            u.high = fmax(u.high, (double)row->erf_hi);
        }
        fputs("EOD\n", s->data);
    }
    return u;
}

/* Ticks at the positions of the first model. */
static void write_positions(struct script *s, const struct axis *x, const struct result_model *m)
{
    double at[128];
    size_t count = 0;

    for (; count < result_targets(m) && count < sizeof at / sizeof *at; count++)
        at[count] = (double)result_target(m, count)->target;
    ticks_at(s, x, at, count);
}

/* Bars, then lines with their key, then hollow points for saturated ones. */
static void write_lines(struct script *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        script_add(s,
                   "$line%zu using 1:2:3:4 with yerrorbars ls %zu dt solid ps 0 lw "
                   "1.5*line_width notitle",
                   i + 1, i + 1);
    for (size_t i = 0; i < count; i++)
        script_add(s, "$line%zu using 1:2 with linespoints ls %zu title t(label%zu)", i + 1, i + 1,
                   i + 1);
    for (size_t i = 0; i < count; i++)
        script_add(s,
                   "$line%zu using 1:($5 == 1 ? $2 : NaN) with points pt 7 ps 0.55*mark lc "
                   "rgb \"#FFFFFF\" notitle",
                   i + 1);
    script_add_end(s);
}

static int write_targets(struct script *s, const void *figure, struct error *e)
{
    const struct result *r = figure;
    struct key key = {0};
    struct extent u = write_data(s, r, &key);
    double across = pow(u.right / u.left, 0.03);
    char title[80];

    snprintf(title, sizeof title, "Receptive field ERF(%.6g) of the target at position P",
             r->main_threshold);
    key_add(&key, s, "all tokens (ERF = P - 1)", "");
    script_lines(s, r->model_count);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = 740,
                       .left = 110,
                       .right = 50,
                       .above = 8,
                       .title = title,
                       .key = &key};
    struct axis x = axis_logarithmic('x', u.left / across, u.right * across, layout_across(&l, s)),
                y = axis_logarithmic('y', u.low / 1.3, u.high * 1.3, 0);
    struct verticals trained = {.count = 0};
    for (size_t i = 0; i < r->model_count; i++)
        verticals_add_length(&trained, &x, (double)r->models[i].train_length);
    l.lines = trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
    y.size = l.down;
    script_frame(s, 1);
    layout_panel(&l, s, 0);
    layout_ylabel(&l, s, 0, "\"ERF (tokens)\"");
    fprintf(s->plot, "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", x.low,
            x.high, y.low, y.high);
    fputs("set xlabel \"position \".m(\"P\").\" of the target (token)\" enhanced\n", s->plot);
    ticks_round(s, &y, 0);
    write_positions(s, &x, &r->models[0]);
    verticals_draw(s, &trained, 0);
    script_add(s, " x-1 with lines lw 1.8 dt (8,5) lc rgb \"#555555\" title 'all tokens (ERF = "
                  "'.m(\"P\".minus.\"1\").')'");
    write_lines(s, r->model_count);
    layout_end(s);
    return 0;
}

int figure_targets(const struct figure_place *to, const struct result *r, struct error *e)
{
    return script_make(to, write_targets, r, e);
}
