/* For how many targets a context is enough, one line per model. */
#include "plots/gain.h"

#include "plots/places.h"

#include <math.h>
#include <stdio.h>

/* Contexts, moved aside; shares, intervals. */
static void write_data(struct script *s, const struct gain_lines *figure, double step,
                       struct key *key)
{
    for (size_t i = 0; i < figure->count; i++) {
        const struct gain_line *l = &figure->lines[i];

        key_line(key, s, i, l->label, "");
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t j = 0; j < l->count; j++) {
            const struct gain_point *p = &l->points[j];

            fprintf(s->data, "%.10g %.10g %.10g %.10g\n",
                    p->context * places_aside(step, i, figure->count), p->enough, p->lo, p->hi);
        }
        fputs("EOD\n", s->data);
    }
}

static int write_gain(struct script *s, const void *context, struct error *e)
{
    const struct gain_lines *figure = context;
    struct key key = {0};
    struct places contexts = {.count = 0};
    char heading[128];
    const char *const headings[] = {heading};

    snprintf(heading, sizeof heading,
             "Targets at most %.6g nats worse than at the longest context; bars: 95 %%",
             figure->within);
    for (size_t i = 0; i < figure->count; i++)
        for (size_t j = 0; j < figure->lines[i].count; j++)
            places_add(&contexts, figure->lines[i].points[j].context);
    script_lines(s, figure->count);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = 620,
                       .left = 104,
                       .right = 34,
                       .above = 8,
                       .headings = headings,
                       .key = &key};
    struct axis x = places_axis(contexts.at[0], contexts.at[contexts.count - 1],
                                layout_across(&l, s), figure->count),
                y;
    struct verticals trained = {.count = 0};
    write_data(s, figure, places_step(&contexts, &x, figure->count), &key);
    for (size_t i = 0; i < figure->count; i++)
        verticals_add_length(&trained, &x, figure->lines[i].train_length);
    l.lines = trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
    y = axis_linear('y', 0, 1.04, l.down);
    script_frame(s, 1);
    layout_panel(&l, s, 0);
    fprintf(s->plot,
            "set logscale x\nset xrange [%.10g:%.10g]\nset xlabel \"context (input tokens)\"\n",
            x.low, x.high);
    ticks_at(s, &x, contexts.at, contexts.count);
    verticals_draw(s, &trained, 0);
    layout_ylabel(&l, s, 0, "\"share of the targets\"");
    fputs("set yrange [0:1.04]\n", s->plot);
    ticks_round(s, &y, 0);
    layout_lines(s, figure->count, 1, 2, 1, 1);
    layout_end(s);
    return 0;
}

int figure_gain(const struct figure_place *to, const struct gain_lines *u, struct error *e)
{
    size_t points = 0;

    for (size_t i = 0; i < u->count; i++)
        points += u->lines[i].count;
    return points ? script_make(to, write_gain, u, e)
                  : fail(e, "%s: no contexts to draw", to->folder);
}
