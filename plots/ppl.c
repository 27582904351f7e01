/* Perplexity over the context, one line per model. */
#include "plots/ppl.h"

#include "plots/places.h"

#include <math.h>
#include <stdio.h>

/* Larger perplexities are not drawn: they are of no interest, and soon beyond a double's range. */
static const double most_nll = 200;

/* What is drawn, and its ranges with the bars. */
struct extent {
    double left, right; /* contexts and L_tr */
    double low, high; /* perplexities */
    double least, most; /* ratios */
    struct places contexts;
    struct axis x;
    struct verticals trained;
};

static int is_drawn(const struct ppl_point *p)
{
    return p->nll <= most_nll;
}

/* NaN: none. */
static double ratio_of(const struct ppl_point *p, double errors)
{
    double change = p->change + errors * (isnan(p->change_error) ? 0 : p->change_error);

    return fabs(change) <= most_nll ? exp(change) : NAN;
}

/* exp(NLL), moved by this many standard errors. */
static double perplexity_at(const struct ppl_point *p, double errors)
{
    double error = isnan(p->std_error) ? 0 : p->std_error;

    return exp(fmin(p->nll + errors * error, most_nll));
}

static struct extent extent_of(const struct ppl_lines *f)
{
    struct extent u = {.left = INFINITY, .low = INFINITY, .least = 1, .most = 1};

    for (size_t i = 0; i < f->count; i++) {
        const struct ppl_line *l = &f->lines[i];

        for (size_t j = 0; j < l->count; j++) {
            const struct ppl_point *p = &l->points[j];

            u.left = fmin(u.left, p->context), u.right = fmax(u.right, p->context);
            places_add(&u.contexts, p->context);
            if (!is_drawn(p))
                continue;
            u.low = fmin(u.low, perplexity_at(p, -1.96));
            u.high = fmax(u.high, perplexity_at(p, 1.96));
            u.least = fmin(u.least, ratio_of(p, -1.96)),
            u.most = fmax(u.most, ratio_of(p, 1.96)); /* NaN is ignored */
        }
        if (l->train_length > 0)
            u.left = fmin(u.left, l->train_length), u.right = fmax(u.right, l->train_length);
    }
    if (u.high == 0)
        u.low = 1, u.high = 10;
    return u;
}

/* Points: context, moved aside; perplexity with bar; ratio with interval. */
static void write_data(struct script *s, const struct ppl_lines *figure, const struct extent *u)
{
    double step = places_step(&u->contexts, &u->x, figure->count);

    for (size_t i = 0; i < figure->count; i++) {
        const struct ppl_line *l = &figure->lines[i];

        fprintf(s->data, "$line%zu << EOD\n", i + 1);
        for (size_t j = 0; j < l->count; j++) {
            const struct ppl_point *p = &l->points[j];

            fprintf(s->data, "%.10g", p->context * places_aside(step, i, figure->count));
            if (is_drawn(p))
                fprintf(s->data, " %.10g %.10g %.10g", perplexity_at(p, 0), perplexity_at(p, -1.96),
                        perplexity_at(p, 1.96));
            else
                fputs(" NaN NaN NaN", s->data);
            if (is_drawn(p) && !isnan(p->change))
                fprintf(s->data, " %.10g %.10g %.10g\n", ratio_of(p, 0), ratio_of(p, -1.96),
                        ratio_of(p, 1.96));
            else
                fputs(" NaN NaN NaN\n", s->data);
        }
        fputs("EOD\n", s->data);
    }
}

/* A range with a margin; logarithmic if it spans more than a factor of 4. */
static void write_range(struct script *s, const struct layout *l, double low, double high)
{
    int steep = high / low > 4;
    double room = steep ? 0.06 * log(high / low) : high > low ? 0.08 * (high - low) : 0.1 * high;
    struct axis y = axis_linear('y', steep ? low / exp(room) : low - room,
                                steep ? high * exp(room) : high + room, l->down);

    y.logarithmic = steep;
    fprintf(s->plot, "set yrange [%.10g:%.10g]\n", y.low, y.high);
    if (steep)
        fputs("set logscale y\n", s->plot);
    ticks_round(s, &y, 0);
}

static void begin_panel(struct script *s, const struct layout *l, size_t panel,
                        const struct ppl_lines *figure, const struct extent *u)
{
    layout_panel(l, s, panel);
    fprintf(s->plot, "set logscale x\nset xrange [%.10g:%.10g]\nset xlabel \"%s\"\n", u->x.low,
            u->x.high, figure->axis);
    ticks_at(s, &u->x, u->contexts.at, u->contexts.count);
    verticals_draw(s, &u->trained, 0);
}

static int has_changes(const struct ppl_lines *figure)
{
    for (size_t i = 0; i < figure->count; i++)
        if (figure->lines[i].reference > 0)
            return 1;
    return 0;
}

/* The heading of ratios: over the perplexity at 128 tokens, or at each line's own. */
static void describe_reference(char *text, size_t size, const struct ppl_lines *figure)
{
    double one = 0;
    int several = 0;

    for (size_t i = 0; i < figure->count; i++) {
        double own = figure->lines[i].reference;

        several |= own > 0 && one > 0 && own != one;
        one = own > 0 ? own : one;
    }
    if (several)
        snprintf(text, size,
                 "Perplexity over that at each model's training length; bars: 95 %% of pairs");
    else
        snprintf(text, size, "Perplexity over that at %.0f tokens; bars: 95 %% of pairs", one);
}

static int write_ppl(struct script *s, const void *context, struct error *e)
{
    const struct ppl_lines *figure = context;
    struct extent u = extent_of(figure);
    struct key key = {0};
    int perplexity = figure_has_panel(s->style->panels, "ppl"),
        ratio = figure_has_panel(s->style->panels, "ratio") && has_changes(figure);
    char described[128], drawn[256];
    const char *const headings[] = {drawn, described};
    struct layout l = {.panels = (size_t)(perplexity + ratio),
                       .columns = 2,
                       .high = 620,
                       .left = 104,
                       .right = 34,
                       .above = 8,
                       .headings = headings + !perplexity,
                       .key = &key};

    if (!perplexity && !ratio)
        return fail(e, "--panels ratio: no differences over the same targets are known (expected "
                       "the FILE of `reach ppl "
                       "--per-token` beside ppl.csv)");
    describe_reference(described, sizeof described, figure);
    snprintf(drawn, sizeof drawn, "%s; bars: 1.96 standard errors", figure->title);
    script_lines(s, figure->count);
    u.x = places_axis(u.left, u.right, layout_across(&l, s), figure->count);
    write_data(s, figure, &u);
    for (size_t i = 0; i < figure->count; i++)
        key_line(&key, s, i, figure->lines[i].label, "");
    for (size_t i = 0; i < figure->count; i++)
        verticals_add_length(&u.trained, &u.x, figure->lines[i].train_length);
    l.lines = u.trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
    fputs("set datafile missing \"NaN\"\n", s->plot);
    script_frame(s, 1);
    if (perplexity) {
        begin_panel(s, &l, 0, figure, &u);
        layout_ylabel(&l, s, 0, "\"perplexity\"");
        write_range(s, &l, u.low, u.high);
        layout_lines(s, figure->count, 1, 2, 1, 1);
    }
    if (ratio) {
        begin_panel(s, &l, (size_t)perplexity, figure, &u);
        layout_ylabel(&l, s, (size_t)perplexity, "\"ratio of perplexities\"");
        layout_level(s, 1);
        write_range(s, &l, u.least, u.most);
        layout_lines(s, figure->count, 1, 5, 1, !perplexity);
    }
    layout_end(s);
    return 0;
}

double ppl_reference(const struct ppl_line *l)
{
    double at = l->count ? l->points[0].context : 0;

    for (size_t i = 0; i < l->count; i++)
        if (l->points[i].context <= l->train_length)
            at = l->points[i].context;
    return at;
}

int figure_ppl(const struct figure_place *to, const struct ppl_lines *u, struct error *e)
{
    for (size_t i = 0; i < u->count; i++)
        if (u->lines[i].count == 0)
            return fail(e, "%s: has no perplexity to draw", u->lines[i].label);
    return u->count ? script_make(to, write_ppl, u, e)
                    : fail(e, "%s: no perplexity to draw", to->folder);
}
