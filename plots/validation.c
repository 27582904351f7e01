#include "plots/validation.h"

#include "plots/places.h"

#include <math.h>
#include <stdio.h>

/* Ranges of what is drawn. */
struct extent {
    double left, right, low, high, least, most; /* kept, size, gradient */
    struct places kept;
    int reaches_zero; /* 1: an interval does */
};

static int is_drawn(const struct validation_point *p)
{
    return p->size > 0 && p->gradient > 0;
}

static struct extent extent_of(const struct validation_lines *f)
{
    struct extent u = {.left = INFINITY, .low = f->within, .high = f->within, .least = INFINITY};

    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < f->lines[i].count; j++) {
            const struct validation_point *p = &f->lines[i].points[j];

            u.left = fmin(u.left, p->kept), u.right = fmax(u.right, p->kept);
            places_add(&u.kept, p->kept);
            if (!is_drawn(p))
                continue;
            u.low = fmin(u.low, p->lo > 0 ? p->lo : p->size),
            u.high = fmax(u.high, fmax(p->size, p->hi));
            u.reaches_zero |= p->lo <= 0;
            u.least = fmin(u.least, p->gradient), u.most = fmax(u.most, p->gradient);
        }
    u.low = fmax(u.low, u.high * 1e-4); /* lower values are noise */
    if (u.most == 0)
        u.least = 0.1, u.most = 1;
    u.least = fmax(u.least, u.most * 1e-5);
    return u;
}

/* Tokens kept, moved aside; size of the change, its interval down to the end of the axis at least;
 * share of the gradient. */
static void write_data(struct script *s, const struct validation_lines *figure, double step,
                       double least, struct key *key)
{
    for (size_t i = 0; i < figure->count; i++) {
        const struct validation_line *l = &figure->lines[i];

        double aside = places_aside(step, i, figure->count);

        key_line(key, s, i, l->label, "");
        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t j = 0; j < l->count; j++) {
            const struct validation_point *p = &l->points[j];

            if (is_drawn(p))
                fprintf(s->data, "%.10g %.10g %.10g %.10g %.10g\n", p->kept * aside, p->size,
                        fmax(p->lo, least), isnan(p->hi) ? p->size : p->hi, p->gradient);
            else
                fprintf(s->data, "%.10g NaN NaN NaN NaN\n", p->kept * aside);
        }
        fputs("EOD\n", s->data);
    }
}

/* An axis from `low` to `high` with a small margin, logarithmic. */
static struct axis axis_with_room(char name, double low, double high, double size)
{
    double room = high > low ? pow(high / low, 0.05) : 2;

    return axis_logarithmic(name, low / room, high * room, size);
}

static void write_axis(struct script *s, const struct axis *a)
{
    fprintf(s->plot, "set logscale %c\nset %crange [%.10g:%.10g]\n", a->name, a->name, a->low,
            a->high);
    ticks_round(s, a, 0);
}

static int write_validation(struct script *s, const void *context, struct error *e)
{
    const struct validation_lines *figure = context;
    const struct extent u = extent_of(figure);
    struct key key = {0};
    int by_kept = figure_has_panel(s->style->panels, "size"),
        by_share = figure_has_panel(s->style->panels, "share");
    const char *const headings[] = {
        u.reaches_zero
            ? "Loss with other text before the last k tokens; bars: 95 %, at the frame down to 0"
            : "Loss with other text before the last k tokens; bars: 95 %",
        "The same by the gradient of that text"};
    struct layout l = {.panels = (size_t)(by_kept + by_share),
                       .columns = 2,
                       .high = 620,
                       .left = 104,
                       .right = 34,
                       .above = 8,
                       .headings = headings + !by_kept,
                       .key = &key};

    script_lines(s, figure->count);
    struct axis kept = places_axis(u.left, u.right, layout_across(&l, s), figure->count),
                share = axis_with_room('x', u.least, u.most, kept.size),
                y = axis_with_room('y', u.low, u.high, 0);
    struct verticals trained = {.count = 0};
    write_data(s, figure, places_step(&u.kept, &kept, figure->count), y.low, &key);
    for (size_t i = 0; by_kept && i < figure->count; i++)
        verticals_add_length(&trained, &kept, figure->lines[i].train_length);
    l.lines = trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
    y.size = l.down;
    fputs("set datafile missing \"NaN\"\n", s->plot);
    script_frame(s, 1);
    if (by_kept) {
        layout_panel(&l, s, 0);
        write_axis(s, &kept);
        write_axis(s, &y);
        fputs("set xlabel \"tokens kept, k\"\n", s->plot);
        layout_ylabel(&l, s, 0, "\"mean size of the change (nats)\"");
        layout_level(s, figure->within);
        verticals_draw(s, &trained, 0);
        layout_lines(s, figure->count, 1, 2, 1, 1);
    }
    if (by_share) {
        layout_panel(&l, s, (size_t)by_kept);
        write_axis(s, &share);
        write_axis(s, &y);
        fputs("set xlabel \"share of the gradient before the last k tokens\"\n", s->plot);
        layout_ylabel(&l, s, (size_t)by_kept, "\"mean size of the change (nats)\"");
        layout_lines(s, figure->count, 5, 2, 0, !by_kept);
    }
    layout_end(s);
    return 0;
}

int figure_validation(const struct figure_place *to, const struct validation_lines *u,
                      struct error *e)
{
    return u->count ? script_make(to, write_validation, u, e)
                    : fail(e, "%s: no validation to draw", to->folder);
}
