/* For how many targets a context is enough, one line per model. */
#include "plots/gain.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

enum { TICKS_MAX = 64 };

static void write_data(struct script *s, const struct gain_lines *figure, struct key *key,
                       double *left, double *right)
{
    for (size_t i = 0; i < figure->count; i++) {
        const struct gain_line *l = &figure->lines[i];

        key_line(key, s, i, l->label, "");
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t j = 0; j < l->count; j++) {
            fprintf(s->data, "%.10g %.10g\n", l->points[j].context, l->points[j].enough);
            *left = fmin(*left, l->points[j].context), *right = fmax(*right, l->points[j].context);
        }
        fputs("EOD\n", s->data);
    }
}

/* Ticks at the first line's contexts. */
static void write_contexts(struct script *s, const struct gain_lines *figure, const struct axis *x)
{
    const struct gain_line *l = &figure->lines[0];
    double ticks[TICKS_MAX];
    size_t count = 0;

    for (; count < l->count && count < TICKS_MAX; count++)
        ticks[count] = l->points[count].context;
    ticks_at(s, x, ticks, count);
}

static int write_gain(struct script *s, const void *context, struct error *e)
{
    const struct gain_lines *figure = context;
    struct key key = {0};
    double left = INFINITY, right = 0, room;
    char heading[120];
    const char *const headings[] = {heading};

    snprintf(heading, sizeof heading,
             "Targets whose NLL lies at most %.6g nats above that at the longest context",
             figure->within);
    write_data(s, figure, &key, &left, &right);
    script_lines(s, figure->count);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = 620,
                       .left = 104,
                       .right = 34,
                       .above = 8,
                       .headings = headings,
                       .key = &key};
    room = right > left ? pow(right / left, 0.05) : 2;
    struct axis x = axis_logarithmic('x', left / room, right * room, layout_across(&l, s)), y;
    struct verticals trained = {.count = 0};
    for (size_t i = 0; i < figure->count; i++)
        verticals_add_length(&trained, &x, figure->lines[i].train_length);
    l.lines = trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
    y = axis_linear('y', 0, 1.02, l.down);
    script_frame(s, 1);
    layout_panel(&l, s, 0);
    fprintf(s->plot,
            "set logscale x\nset xrange [%.10g:%.10g]\nset xlabel \"context (input tokens)\"\n",
            x.low, x.high);
    write_contexts(s, figure, &x);
    verticals_draw(s, &trained, 0);
    layout_ylabel(&l, s, 0, "\"share of the targets\"");
    fputs("set yrange [0:1.02]\n", s->plot);
    ticks_round(s, &y, 0);
    layout_lines(s, figure->count, 1, 2, 0, 1);
    layout_end(s);
    return 0;
}

int figure_gain(const struct figure_place *to, const struct gain_lines *u, struct error *e)
{
    return u->count ? script_make(to, write_gain, u, e)
                    : fail(e, "%s: no contexts to draw", to->folder);
}
