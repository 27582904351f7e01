/* For how many targets a context is enough, one line per model. */
#include "plots/gain.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

enum { TICKS_MAX = 64 };

struct gain_figure {
    const struct gain_line *lines;
    size_t count;
    double within;
};

static void write_data(struct script *s, const struct gain_figure *figure, struct key *key,
                       double *left, double *right)
{
    for (size_t i = 0; i < figure->count; i++) {
        const struct gain_line *l = &figure->lines[i];

        script_text(s, "label", i + 1, l->label);
        key_add(key, s, l->label, "");
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t j = 0; j < l->count; j++) {
            fprintf(s->data, "%.10g %.10g\n", l->points[j].context, l->points[j].enough);
            *left = fmin(*left, l->points[j].context), *right = fmax(*right, l->points[j].context);
        }
        fputs("EOD\n", s->data);
    }
}

/* Ticks at the first line's contexts, and a vertical line per visible L_tr; labels alternate. */
static void write_contexts(struct script *s, const struct gain_figure *figure, const struct axis *x)
{
    const struct gain_line *l = &figure->lines[0];
    double ticks[TICKS_MAX];
    size_t count = 0;
    int drawn = 0;

    for (; count < l->count && count < TICKS_MAX; count++)
        ticks[count] = l->points[count].context;
    ticks_at(s, x, ticks, count);
    for (size_t i = 0; i < figure->count; i++) {
        int length = figure->lines[i].train_length, is_out = length < x->low || length > x->high;

        for (size_t j = 0; j < i; j++)
            is_out |= figure->lines[j].train_length == length;
        if (!is_out)
            layout_train_length(s, length, (size_t)length, 1 + drawn++ % 2);
    }
}

static int write_gain(struct script *s, const void *context, struct error *e)
{
    const struct gain_figure *figure = context;
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
                       .least = 380,
                       .high = 620,
                       .left = 104,
                       .right = 34,
                       .above = 54,
                       .below = BELOW,
                       .headings = headings,
                       .key = &key};
    if (layout_make(&l, s, e) != 0)
        return -1;
    room = right > left ? pow(right / left, 0.05) : 2;
    struct axis x = {'x', left / room, right * room, l.across, 1, 0};
    script_frame(s, 1);
    layout_panel(&l, s, 0);
    layout_key(&l, s);
    fprintf(s->plot,
            "set logscale x\nset xrange [%.10g:%.10g]\nset xlabel \"context (input tokens)\"\n",
            x.low, x.high);
    write_contexts(s, figure, &x);
    layout_ylabel(&l, s, 0, "\"share of the targets\"");
    fputs("set yrange [0:1.02]\nset ytics 0.2 format \"%.1f\"\n", s->plot);
    for (size_t i = 0; i < figure->count; i++)
        fprintf(s->plot, "%s $line%zu using 1:2 with linespoints ls %zu title t(label%zu)",
                i ? ", \\\n    " : "plot", i + 1, i + 1, i + 1);
    fputs("\n", s->plot);
    layout_end(s);
    return 0;
}

int figure_gain(const char *folder, const char *stem, const struct gain_line *lines, size_t count,
                double within, const char *const *comments, const struct figure_style *style,
                struct error *e)
{
    struct gain_figure figure = {lines, count, within};

    return count ? script_make(folder, stem, comments, style, write_gain, &figure, e)
                 : fail(e, "%s: no contexts to draw", folder);
}
