/* The figure of `reach erf`: c over the position, and 1 - c over the number of most recent tokens
 * on logarithmic axes. */
#include "plots/figure.h"

#include "io/error.h"
#include "plots/frame.h"
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 16 };

struct erf_figure {
    const struct figure_curve *curves;
    size_t count;
    const double *thresholds;
    size_t threshold_count;
    size_t n; /* positions of the longest curve */
    double floor; /* of 1 - c */
    int gathers; /* 1: a panel has an arrow at the frame */
};

static int has_mark(const struct figure_curve *c)
{
    return c->erf > 0 && c->erf <= c->positions;
}

/* The marks [curves] in a panel with the axis x, and how many of them an arrow at the frame stands
 * for. The caller frees; NULL without memory. */
static struct frame_mark *marks_of(size_t *gathered, const struct erf_figure *u,
                                   const struct axis *x, int beyond)
{
    struct frame_mark *marks = calloc(u->count, sizeof *marks);

    for (size_t i = 0; marks && i < u->count; i++) {
        const struct figure_curve *c = &u->curves[i];

        marks[i].beyond = has_mark(c) && c->saturated;
        marks[i].place = !has_mark(c) ? INFINITY
                         : beyond     ? x->size - axis_place(x, (double)c->erf)
                                      : axis_place(x, (double)(u->n + 1 - c->erf));
    }
    *gathered = marks ? frame_gather(marks, u->count) : 0;
    return marks;
}

/* Selects the visible points: one is kept when, since the last kept one, c has moved by 1/2000 of
 * its axis, 1 - c by 1/100 of its value, or the position by 1/1000 on either x axis; and the point
 * before a jump, so that steps stay steps. `keep` [positions]. */
static void choose_points(unsigned char *keep, const struct figure_curve *u)
{
    size_t n = u->positions, last = 0;

    memset(keep, 0, n);
    keep[0] = keep[n - 1] = 1;
    for (size_t m = 1; m + 1 < n; m++) {
        double step = (double)(m - last), left = (double)(n - m), tail = 1 - u->c[m],
               before = 1 - u->c[last];
        int jump = fabs(u->c[m] - u->c[last]) > 5e-4 || fabs(tail - before) > 0.01 * fabs(before);

        if (jump || step > 1e-3 * (double)n || step > 5e-3 * left) {
            if (jump)
                keep[m - 1] = 1;
            keep[m] = 1;
            last = m;
        }
    }
}

/* Points of every curve, and its mark at the ERF: tokens, c. */
static int write_data(struct script *s, const struct erf_figure *u, struct error *e)
{
    FILE *f = s->data;

    for (size_t i = 0; i < u->count; i++) {
        const struct figure_curve *c = &u->curves[i];
        unsigned char *keep = malloc(c->positions);

        if (!keep)
            return fail_memory(e, (double)c->positions, "the points of a curve");
        choose_points(keep, c);
        fprintf(f, "$curve%zu << EOD\n", i + 1);
        for (size_t m = 0; m < c->positions; m++)
            if (keep[m])
                fprintf(f, "%zu %.10g %.10g %.10g\n", m + 1, c->c[m],
                        c->c_lo ? c->c_lo[m] : c->c[m], c->c_hi ? c->c_hi[m] : c->c[m]);
        fputs("EOD\n", f);
        if (has_mark(c))
            fprintf(f, "$mark%zu << EOD\n%zu %.10g\nEOD\n", i + 1, c->erf,
                    c->c[c->positions - c->erf]);
        free(keep);
    }
    return 0;
}

/* Vertical lines for each L_tr, once: the last L_tr tokens begin at L - L_tr, and on the left also
 * position L_tr, beyond which training had no positions. `from_end`: x counts the most recent
 * tokens. */
static struct verticals train_lengths(const struct erf_figure *u, const struct axis *x,
                                      int from_end)
{
    struct verticals v = {.count = 0};

    for (size_t i = 0; i < u->count; i++) {
        int length = u->curves[i].train_length;
        char formula[64], seen[64];
        size_t at = u->n + 1 - (size_t)length;

        if (length <= 0 || (size_t)length >= u->n)
            continue;
        if (from_end) {
            verticals_add_length(&v, x, length);
            continue;
        }
        snprintf(formula, sizeof formula, "m(\"L_{tr} = %d\")", length);
        snprintf(seen, sizeof seen, "Lt = %d", length);
        verticals_add(&v, x, length, formula, seen, 1);
        snprintf(formula, sizeof formula, "m(\"L\".minus.\"L_{tr} = %zu\")", at);
        snprintf(seen, sizeof seen, "L - Lt = %zu", at);
        verticals_add(&v, x, (double)at, formula, seen, 0);
    }
    return v;
}

/* Horizontal lines at the thresholds, the first (main) one thicker. */
static void write_thresholds(struct script *s, const struct erf_figure *u, int beyond)
{
    for (size_t i = 0; i < u->threshold_count; i++) {
        double y = beyond ? 1 - u->thresholds[i] : u->thresholds[i];

        fprintf(s->plot,
                "set arrow from graph 0, first %.10g to graph 1, first %.10g nohead back %s\n", y,
                y,
                i == 0 ? "lw 1.8 dt (8,5) lc rgb \"#555555\"" : "lw 1 dt (2,4) lc rgb \"#AAAAAA\"");
    }
}

/* Bands first, then lines, then the marks at the ERF, so that none hides another. `beyond`: the
 * logarithmic panel. Curves of other lengths are aligned at the right end, since the distance from
 * the target matters. */
static void write_plot(struct script *s, const struct erf_figure *u, const struct frame_mark *marks,
                       int beyond, int with_key)
{
    FILE *f = s->plot;

    for (size_t i = 0; i < u->count; i++) {
        const struct figure_curve *c = &u->curves[i];

        if (!c->c_lo || !c->c_hi)
            continue;
        if (beyond)
            script_add(s, " $curve%zu using (%zu-$1):(beyond($3)):(beyond($4))", i + 1,
                       c->positions + 1);
        else
            script_add(s, " $curve%zu using ($1+%zu):3:4", i + 1, u->n - c->positions);
        fprintf(f, " with filledcurves ls %zu fs transparent solid 0.17 noborder notitle", i + 1);
    }
    for (size_t i = 0; i < u->count; i++) {
        const struct figure_curve *c = &u->curves[i];

        if (beyond)
            script_add(s, " $curve%zu using (%zu-$1):(beyond($2))", i + 1, c->positions + 1);
        else
            script_add(s, " $curve%zu using ($1+%zu):2", i + 1, u->n - c->positions);
        fprintf(f, " with lines ls %zu notitle", i + 1);
    }
    for (size_t i = 0; i < u->count; i++) {
        if (!has_mark(&u->curves[i]) || marks[i].gathered)
            continue;
        if (beyond)
            script_add(s, " $mark%zu using 1:(1-$2 > %.10g ? 1-$2 : %.10g)", i + 1, u->floor,
                       u->floor);
        else
            script_add(s, " $mark%zu using (%zu-$1):2", i + 1, u->n + 1);
        fprintf(f, " with points ls %zu notitle", i + 1);
    }
    for (size_t i = 0; with_key && i < u->count;
         i++) { /* the key is for both panels: one entry per curve */
        const struct figure_curve *c = &u->curves[i];

        script_add(s, " keyentry with %s ls %zu title t(label%zu)",
                   c->erf ? "linespoints" : "lines", i + 1, i + 1);
        if (c->erf)
            fprintf(f, ".\"   ERF \"%s.\"%zu\"", c->saturated ? ".at_least" : "", c->erf);
    }
    if (with_key && u->gathers)
        script_add(s, " keyentry with vectors %s title '%s'", FRAME_ARROW, FRAME_TITLE);
    script_add_end(s);
}

/* The plot of a panel, with the arrow for marks at its frame. */
static int draw_curves(struct script *s, const struct layout *l, size_t panel,
                       const struct erf_figure *u, const struct axis *x, int beyond,
                       struct error *e)
{
    size_t gathered;
    struct frame_mark *marks = marks_of(&gathered, u, x, beyond);

    if (!marks)
        return fail(e, "out of memory for the marks of a figure");
    frame_arrow(s, l, beyond ? 1 - u->thresholds[0] : u->thresholds[0], !beyond, gathered);
    write_plot(s, u, marks, beyond, panel == 0);
    free(marks);
    return 0;
}

/* The axes of tokens. */
static struct axis positions_of(const struct script *s, const struct erf_figure *u, double size)
{
    struct axis x = axis_linear('x', u->n > 1 ? 1 : 0, (double)u->n, size);

    x.logarithmic = s->style->logarithmic_x && u->n > 1;
    return x;
}
static struct axis recent_of(const struct erf_figure *u, double size)
{
    return axis_logarithmic('x', 1, (double)(u->n > 1 ? u->n : 2), size);
}

static int write_head(struct script *s, const struct layout *l, size_t panel,
                      const struct erf_figure *u, struct error *e)
{
    struct axis x = positions_of(s, u, l->across), y = axis_linear('y', 0, 1.02, l->down);
    struct verticals trained = train_lengths(u, &x, 0);

    layout_panel(l, s, panel);
    layout_ylabel(l, s, panel, "\"cumulative normalized gradient \".m(\"c_m\")");
    fprintf(s->plot,
            "set xlabel \"position \".m(\"m\").\" (token)\" enhanced\nset xrange [%.0f:%zu]\nset "
            "yrange [0:1.02]\n",
            x.low, u->n);
    ticks_round(s, &y, 0);
    if (x.logarithmic)
        fputs("set logscale x\n", s->plot);
    ticks_round(s, &x, x.high);
    write_thresholds(s, u, 0);
    verticals_draw(s, &trained, 0);
    return draw_curves(s, l, panel, u, &x, 0, e);
}

static int write_tail(struct script *s, const struct layout *l, size_t panel,
                      const struct erf_figure *u, struct error *e)
{
    struct axis x = recent_of(u, l->across), y = axis_logarithmic('y', u->floor, 1, l->down),
                shares = y;
    struct verticals trained = train_lengths(u, &x, 1);
    double left[LABELS_MAX];
    FILE *f = s->plot;

    layout_panel(l, s, panel);
    layout_ylabel(l, s, panel, "m(\"1\".minus.\"c_m\")");
    fputs("set xlabel \"most recent tokens, \".m(\"L\".minus.\"m\") enhanced\n", f);
    fprintf(f,
            "set logscale xy\nset logscale y2\nset xrange [1:%.0f]\nset yrange [%.3g:1]\nset "
            "y2range [%.3g:1]\n",
            x.high, u->floor, u->floor);
    ticks_round(s, &y, 0);
    fputs("set y2label \"threshold \".m(\"c_m\") enhanced offset -0.6,0\nset y2tics scale 0\n", f);
    shares.name = '2';
    for (size_t i = 0; i < u->threshold_count && i < LABELS_MAX; i++)
        left[i] = 1 - u->thresholds[i];
    ticks_named(s, &shares, left, u->thresholds,
                u->threshold_count < LABELS_MAX ? u->threshold_count : LABELS_MAX);
    ticks_round(s, &x, x.high);
    write_thresholds(s, u, 1);
    verticals_draw(s, &trained, 0);
    return draw_curves(s, l, panel, u, &x, 1, e);
}

/* Sets u->gathers for a panel with this axis. */
static int count_gathered(struct erf_figure *u, const struct axis *x, int beyond, struct error *e)
{
    size_t gathered;
    struct frame_mark *marks = marks_of(&gathered, u, x, beyond);

    if (!marks)
        return fail(e, "out of memory for the marks of a figure");
    u->gathers |= gathered > 0;
    free(marks);
    return 0;
}

static int write_erf(struct script *s, const void *figure, struct error *e)
{
    struct erf_figure u = *(const struct erf_figure *)figure;
    int head = figure_has_panel(s->style->panels, "head"),
        tail = figure_has_panel(s->style->panels, "tail");
    char marked[96];
    const char *headings[2] = {"Gradient from position m on", marked};
    struct key key = {0};
    struct layout l = {.panels = (size_t)(head + tail),
                       .columns = 2,
                       .high = 700,
                       .left = 98,
                       .right = 104,
                       .above = 8,
                       .headings = headings + !head,
                       .key = &key};

    snprintf(marked, sizeof marked, "What the most recent tokens leave out (marks: ERF(%.6g))",
             u.thresholds[0]);
    for (size_t i = 0; i < u.count; i++) {
        const struct figure_curve *c = &u.curves[i];
        char note[48];

        snprintf(note, sizeof note, "   ERF %s%zu", c->saturated ? "> " : "", c->erf);
        key_line(&key, s, i, c->label, c->erf ? note : "");
    }
    script_lines(s, u.count);
    struct axis positions = positions_of(s, &u, layout_across(&l, s)),
                recent = recent_of(&u, positions.size);
    if ((head && count_gathered(&u, &positions, 0, e) != 0) ||
        (tail && count_gathered(&u, &recent, 1, e) != 0))
        return -1;
    if (u.gathers)
        key_add(&key, s, FRAME_TITLE, "");
    l.lines = (int)fmax(head ? train_lengths(&u, &positions, 0).lines : 0,
                        tail ? train_lengths(&u, &recent, 1).lines : 0);
    if (layout_make(&l, s, e) != 0 || write_data(s, &u, e) != 0)
        return -1;
    script_frame(s, 1);
    fprintf(s->plot, "beyond(c) = 1 - c > %.3g ? 1 - c : %.3g\n", u.floor / 10, u.floor / 10);
    if ((head && write_head(s, &l, 0, &u, e) != 0) ||
        (tail && write_tail(s, &l, (size_t)head, &u, e) != 0))
        return -1;
    layout_end(s);
    return 0;
}

int figure_erf(const struct figure_place *to, const struct figure_curves *what, struct error *e)
{
    struct erf_figure figure = {.curves = what->curves,
                                .count = what->count,
                                .thresholds = what->thresholds,
                                .threshold_count = what->threshold_count,
                                .floor = 1e-4};

    if (what->count == 0 || what->threshold_count == 0)
        return fail(e, "%s: no curve to draw (expected at least one model and one threshold)",
                    to->folder);
    for (size_t i = 0; i < what->threshold_count; i++)
        figure.floor = fmin(figure.floor, (1 - what->thresholds[i]) / 10);
    for (size_t i = 0; i < what->count; i++) {
        if (what->curves[i].positions == 0)
            return fail(e, "%s: has no positions to draw", what->curves[i].label);
        figure.n = what->curves[i].positions > figure.n ? what->curves[i].positions : figure.n;
    }
    return script_make(to, write_erf, &figure, e);
}
