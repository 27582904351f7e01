/* Theoretical receptive fields: weights and partial sums of kernels. */
#include "plots/trf.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first point from k on that no line reaches, since weights beside it are 0; c->points:
 * none. */
static size_t first_alone(const struct trf_curve *c, size_t k)
{
    while (k < c->points && !(c->weight[k] > 0 && (k == 0 || !(c->weight[k - 1] > 0)) &&
                              (k + 1 == c->points || !(c->weight[k + 1] > 0))))
        k++;
    return k;
}

char *trf_curve_label(const char *formula, const char *layers, const char *head, int alone)
{
    int mean = strcmp(head, "mean") == 0, all = strcmp(head, "all") == 0;
    char *label;

    return asprintf(&label, "%s%s%s%s%s", formula, *layers ? ", " : "", layers,
                    all    ? ""
                    : mean ? alone ? "" : ", all (mean)"
                           : ", head ",
                    all || mean ? "" : head) < 0
               ? NULL
               : label;
}

/* The first curves that are heads of one encoding, if at most one curve is not; else 0. */
static size_t heads_of(const struct trf_curves *u)
{
    size_t heads = 0;

    while (heads < u->count && u->curves[heads].head > (heads ? u->curves[heads - 1].head : 0))
        heads++;
    return heads > 1 && heads + 1 >= u->count && (heads == u->count || !u->curves[heads].head)
               ? heads
               : 0;
}

static void set_lines(struct script *s, const struct trf_curves *u)
{
    size_t heads = heads_of(u);

    if (!heads || s->style->sequential) {
        script_lines(s, u->count);
        return;
    }
    script_lines_in_order(s, 1, heads);
    if (heads < u->count)
        fprintf(s->settings,
                "set style line %zu lw 5*line_width pt 15 ps 1.2*mark dt solid lc rgb "
                "\"#000000\"\n",
                u->count);
}

/* What is said of a curve in the key. */
static const char *note_of(char note[200], const struct trf_curve *c)
{
    int whole = strcmp(c->length, "inf") == 0;

    if (*c->field_text)
        snprintf(note, 200, "TRF %s%s%s", c->field_text, whole ? "" : " of the first ",
                 whole ? "" : c->length);
    else
        snprintf(note, 200, "%s", c->verdict);
    return note;
}

/* The weight at the field; 0: the curve has no such point. */
static double weight_at_field(const struct trf_curve *c)
{
    size_t k = 0;

    while (k < c->points && c->tokens[k] < c->field)
        k++;
    return k < c->points && c->tokens[k] == c->field ? c->weight[k] : 0;
}

/* Lines of a panel, and dots for isolated weights, then the marks; with the key for both panels. */
static void write_lines(struct script *s, const struct trf_curves *u, int beyond, double most,
                        int with_key)
{
    for (size_t i = 0; i < u->count; i++)
        if (!beyond || u->curves[i].beyond)
            script_add(s, " $curve%zu using 1:%d with lines ls %zu notitle", i + 1, beyond ? 3 : 2,
                       i + 1);
    for (size_t i = 0; !beyond && i < u->count; i++)
        if (first_alone(&u->curves[i], 0) < u->curves[i].points)
            script_add(s, " $alone%zu using 1:2 with points ls %zu pt 7 ps 0.3 notitle", i + 1,
                       i + 1);
    for (size_t i = 0; i < u->count; i++) {
        const struct trf_curve *c = &u->curves[i];

        if (c->field > 0 && c->field <= most && (!beyond || c->beyond))
            script_add(s, " $mark%zu using 1:%d with points ls %zu notitle", i + 1, beyond ? 3 : 2,
                       i + 1);
    }
    for (size_t i = 0; with_key && i < u->count; i++)
        script_add(s, " keyentry with %s ls %zu title t(label%zu).\"   \".t(note%zu)",
                   u->curves[i].field > 0 && u->curves[i].field <= most ? "linespoints" : "lines",
                   i + 1, i + 1, i + 1);
    script_add_end(s);
}

/* Stands for a share of 0, below the panel: a line leads there. */
static double least_share(const struct trf_curves *u)
{
    return u->epsilon / 1e4;
}

/* Returns the end of the axis of tokens; *least: the smallest weight. */
static double write_data(struct script *s, const struct trf_curves *u, struct key *key,
                         double *least)
{
    double most = 2;

    *least = 1;
    for (size_t i = 0; i < u->count; i++) {
        const struct trf_curve *c = &u->curves[i];
        char note[204] = "   ";

        note_of(note + 3, c);
        key_line(key, s, i, c->label, note);
        script_text(s, "note", i + 1, note + 3);
        most = fmax(most, c->tokens[c->points - 1]);
        fprintf(s->data, "$curve%zu << EOD\n", i + 1);
        for (size_t k = 0; k < c->points; k++) {
            fprintf(s->data, "%.10g %.10g %.10g\n", c->tokens[k], c->weight[k],
                    c->beyond ? fmax(c->beyond[k], least_share(u)) : 1.0);
            if (c->weight[k] > 0)
                *least = fmin(*least, c->weight[k]);
        }
        fputs("EOD\n", s->data);
        size_t alone = first_alone(c, 0);
        if (alone < c->points) {
            fprintf(s->data, "$alone%zu << EOD\n", i + 1);
            for (; alone < c->points; alone = first_alone(c, alone + 1))
                fprintf(s->data, "%.10g %.10g\n", c->tokens[alone], c->weight[alone]);
            fputs("EOD\n", s->data);
        }
        if (c->field > 0)
            fprintf(s->data, "$mark%zu << EOD\n%.10g %.10g %.10g\nEOD\n", i + 1, c->field,
                    weight_at_field(c), u->epsilon);
    }
    return most;
}

static void begin_panel(struct script *s, const struct layout *l, size_t panel,
                        const struct axis *x, const struct axis *y)
{
    layout_panel(l, s, panel);
    fprintf(s->plot,
            "set logscale xy\nset xrange [1:%.10g]\nset yrange [%.3g:%g]\nset xlabel \"most recent "
            "tokens \".m(\"j\") enhanced\n",
            x->high, y->low, y->high);
    ticks_round(s, x, 0);
    ticks_round(s, y, 0);
}

/* A part of a panel, in units from its lower left corner. */
struct box {
    double left, low, right, high;
};

/* 1 if a straight line passes through the box. */
static int is_crossed(const struct box *b, double x0, double y0, double x1, double y1)
{
    enum { STEPS = 64 };

    if (fmax(x0, x1) < b->left || fmin(x0, x1) > b->right || fmax(y0, y1) < b->low ||
        fmin(y0, y1) > b->high)
        return 0;
    for (int step = 0; step <= STEPS; step++) {
        double x = x0 + (x1 - x0) * step / STEPS, y = y0 + (y1 - y0) * step / STEPS;

        if (x > b->left && x < b->right && y > b->low && y < b->high)
            return 1;
    }
    return 0;
}

/* 1 if no curve of shares passes through the box. */
static int is_free(const struct box *b, const struct trf_curves *u, const struct axis *x,
                   const struct axis *y)
{
    for (size_t i = 0; i < u->count; i++) {
        const struct trf_curve *c = &u->curves[i];
        double across = 0, up = 0;

        for (size_t k = 0; c->beyond && k < c->points; k++) {
            double next = axis_place(x, c->tokens[k]),
                   height = axis_place(y, fmax(c->beyond[k], least_share(u)));

            if (k && is_crossed(b, across, up, next, height))
                return 0;
            across = next, up = height;
        }
    }
    return 1;
}

/* Names the line of epsilon, as far to the left as the text covers no curve, above the line or
 * below; nowhere if there is no room, since the heading says it too. */
static void write_epsilon(struct script *s, const struct trf_curves *u, const struct axis *x,
                          const struct axis *y)
{
    enum { PLACES = 40, HIGH = TEXT + 8, BESIDE = 12 }; /* room for half a mark */
    char text[48];
    int place = 0, below = 0;
    double wide, step, line = axis_place(y, u->epsilon);

    snprintf(text, sizeof text, "eps = %.6g", u->epsilon);
    wide = text_width(text) + 2 * BESIDE;
    step = fmax(x->size - wide, 0) / PLACES;
    while (place <= PLACES &&
           !is_free(&(struct box){place * step, below ? line - HIGH : line, place * step + wide,
                                  below ? line : line + HIGH},
                    u, x, y)) {
        place += below;
        below = !below;
    }
    if (place > PLACES)
        return;
    fprintf(s->plot,
            "set label \"%s\" at graph %.4g, first %.10g left offset 0,%s textcolor rgb "
            "\"#333333\"\n",
            text, (place * step + BESIDE) / x->size, u->epsilon, below ? "-0.65" : "0.55");
}

enum { MARK = 14 }; /* units: half of a mark, and its distance from the frame */

/* The end of the axis of tokens: the last one, or as much more as a mark near it needs. */
static double end_of_axis(const struct trf_curves *u, double most, double across)
{
    double end = most;

    for (size_t i = 0; i < u->count; i++)
        if (u->curves[i].field <= most)
            end = fmax(end, pow(u->curves[i].field, 1 / (1 - MARK / across)));
    return end;
}

static int write_trf(struct script *s, const void *figure, struct error *e)
{
    const struct trf_curves *u = figure;
    int weight = figure_has_panel(s->style->panels, "weight"), tail = 0;
    struct key key = {0};
    char marked[96];
    const char *headings[2] = {"Weight of a token by its distance", marked};
    double least, most = write_data(s, u, &key, &least);
    struct axis x, y;

    for (size_t i = 0; i < u->count; i++) /* nothing converges: no second panel */
        tail |= u->curves[i].beyond != NULL && figure_has_panel(s->style->panels, "tail");
    if (!weight && !tail)
        return fail(e,
                    "--panels tail: no sum converges, so no share lies beyond (expected weight)");
    snprintf(marked, sizeof marked, "What the j most recent tokens leave out (marks: TRF(%.6g))",
             u->epsilon);
    set_lines(s, u);
    struct layout l = {.panels = (size_t)(weight + tail),
                       .columns = 2,
                       .high = 620,
                       .left = 100,
                       .right = 44,
                       .above = 8,
                       .headings = headings + !weight,
                       .key = &key};
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    x = axis_logarithmic('x', 1, end_of_axis(u, most, l.across), l.across);
    if (weight) {
        least = fmax(least, 1e-8) / 1.3;
        y = axis_logarithmic('y', least, fmax(1.3, pow(least, -MARK / (l.down - MARK))), l.down);
        begin_panel(s, &l, 0, &x, &y);
        layout_ylabel(&l, s, 0, "m(\"f(j\".minus.\"1)\").\" over its largest value\"");
        write_lines(s, u, 0, most, 1);
    }
    if (tail) {
        y = axis_logarithmic('y', u->epsilon / 100, 1, l.down);
        begin_panel(s, &l, (size_t)weight, &x, &y);
        layout_ylabel(&l, s, (size_t)weight, "m(\"1\".minus.\"S_j / B\")");
        layout_level(s, u->epsilon);
        write_epsilon(s, u, &x, &y);
        write_lines(s, u, 1, most, !weight);
    }
    layout_end(s);
    return 0;
}

int figure_trf(const struct figure_place *to, const struct trf_curves *u, struct error *e)
{
    return u->count ? script_make(to, write_trf, u, e)
                    : fail(e, "%s: no kernel to draw", to->folder);
}
