/* Theoretical receptive fields: weights and partial sums of kernels. */
#include "plots/trf.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

/* Widths of a label on the line of epsilon and of half a mark, as shares of the axis. */
static const double LABEL_ROOM = 0.2, MARK_ROOM = 0.015;

/* The first point from k on that no line reaches, since weights beside it are 0; c->points:
 * none. */
static size_t first_alone(const struct trf_curve *c, size_t k)
{
    while (k < c->points && !(c->weight[k] > 0 && (k == 0 || !(c->weight[k - 1] > 0)) &&
                              (k + 1 == c->points || !(c->weight[k + 1] > 0))))
        k++;
    return k;
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
                   u->curves[i].field > 0 ? "linespoints" : "lines", i + 1, i + 1, i + 1);
    script_add_end(s);
}

/* Returns the end of the axis of tokens; *least: the smallest weight. */
static double write_data(struct script *s, const struct trf_curves *u, struct key *key,
                         double *least)
{
    double most = 2;

    *least = 1;
    for (size_t i = 0; i < u->count; i++) {
        const struct trf_curve *c = &u->curves[i];
        char note[SCRIPT_LABEL_CHARACTERS * 4];

        snprintf(note, sizeof note, "   %s", c->note);
        key_line(key, s, i, c->label, note);
        script_text(s, "note", i + 1, c->note);
        most = fmax(most, c->tokens[c->points - 1]);
        fprintf(s->data, "$curve%zu << EOD\n", i + 1);
        for (size_t k = 0; k < c->points; k++) {
            fprintf(s->data, "%.10g %.10g %.10g\n", c->tokens[k], c->weight[k],
                    c->beyond ? c->beyond[k] : 1.0);
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
                    c->weight_at_field, u->epsilon);
    }
    return most;
}

/* The axis of tokens ends at `most`, the other one is from `least` to `high`. */
static void begin_panel(struct script *s, const struct layout *l, size_t panel, double most,
                        double least, double high)
{
    struct axis x = axis_logarithmic('x', 1, most, l->across),
                y = axis_logarithmic('y', least, high, l->down);

    layout_panel(l, s, panel);
    fprintf(s->plot,
            "set logscale xy\nset xrange [1:%.10g]\nset yrange [%.3g:%g]\nset xlabel \"most recent "
            "tokens \".m(\"j\") enhanced\n",
            most, least, high);
    ticks_round(s, &x, 0);
    ticks_round(s, &y, 0);
}

/* The place of the label on the line of epsilon, as a share of the axis: at the start of the line
 * if there is room, else after the mark that is farthest from the next one. */
static double label_place(const struct trf_curves *u, double most)
{
    double place = 0, room = 0;
    for (size_t i = 0; i <= u->count; i++) { /* the start, then each mark */
        double from = i ? log(u->curves[i - 1].field) / log(most) : 0, to = 1;
        for (size_t k = 0; k < u->count; k++) {
            double at = log(u->curves[k].field) / log(most);
            to = u->curves[k].field > 0 && at >= from && (i == 0 || at > from) ? fmin(to, at) : to;
        }
        if ((i == 0 || u->curves[i - 1].field > 0) && room < LABEL_ROOM && to - from > room) {
            room = to - from;
            place = i ? from + MARK_ROOM : from;
        }
    }
    return place;
}

static int write_trf(struct script *s, const void *figure, struct error *e)
{
    const struct trf_curves *u = figure;
    int weight = figure_has_panel(s->style->panels, "weight"), tail = 0;
    struct key key = {0};
    char marked[96];
    const char *headings[2] = {"Weight of a token by its distance", marked};
    double least, most = write_data(s, u, &key, &least);

    for (size_t i = 0; i < u->count; i++) /* nothing converges: no second panel */
        tail |= u->curves[i].beyond != NULL && figure_has_panel(s->style->panels, "tail");
    if (!weight && !tail)
        return fail(e,
                    "--panels tail: no sum converges, so no share lies beyond (expected weight)");
    snprintf(marked, sizeof marked, "What the j most recent tokens leave out (marks: TRF(%.6g))",
             u->epsilon);
    script_lines(s, u->count);
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
    if (weight) {
        begin_panel(s, &l, 0, most, fmax(least, 1e-8) / 1.3, 1.3);
        layout_ylabel(&l, s, 0, "m(\"f(j\".minus.\"1)\").\" over its largest value\"");
        write_lines(s, u, 0, most, 1);
    }
    if (tail) {
        begin_panel(s, &l, (size_t)weight, most, u->epsilon / 100, 1);
        layout_ylabel(&l, s, (size_t)weight, "m(\"1\".minus.\"S_j / B\")");
        layout_level(s, u->epsilon);
        fprintf(s->plot,
                "set label \"eps = %.6g\" at graph %.4g, first %.10g left offset 0,0.55 textcolor "
                "rgb \"#333333\"\n",
                u->epsilon, 0.012 + label_place(u, most), u->epsilon);
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
