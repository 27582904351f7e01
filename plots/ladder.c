/* Measured fields of several models below each other. */
#include "plots/ladder.h"

#include "plots/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ROW = 44,
    MARK = 15,
    ARROW = 26,
    APART = 12
}; /* units: of a row; a mark; an arrow; between
     marks below each other */
static const char bound_title[] = "a lower bound: all tokens";

/* How far up the mark of each threshold is moved, in units: marks of a row that would overlap lie
 * below each other, in order. `up` [thresholds]. Returns the height of the row that they need. */
static double find_places(double *up, const struct ladder *u, const struct ladder_row *row,
                          const struct axis *x)
{
    size_t first = 0, members = 0, most = 1;
    double before = -INFINITY;

    for (size_t k = 0; k <= u->threshold_count; k++) {
        double at = k < u->threshold_count && row->erf[k] > 0 ? axis_place(x, row->erf[k]) : NAN;

        if (k < u->threshold_count)
            up[k] = 0;
        if (k < u->threshold_count && isnan(at))
            continue;
        if (k < u->threshold_count && at - before < MARK) {
            members++;
        } else { /* the marks before are one group */
            double next = members > 1 ? APART * ((double)members - 1) / 2 : 0;

            most = members > most ? members : most;
            for (size_t i = first; i < k; i++)
                if (row->erf[i] > 0)
                    up[i] = next, next -= APART;
            first = k, members = 1;
        }
        before = at;
    }
    return fmax(ROW, APART * (double)most + MARK / 2.0);
}

/* Data of each threshold: field, height, interval; an arrow for a field of the whole length;
 * rows are `high` units. */
static void write_marks(struct script *s, const struct ladder *u, const struct axis *x, double *up,
                        double high)
{
    for (size_t k = 0; k < u->threshold_count; k++) {
        fprintf(s->data, "$threshold%zu << EOD\n", k + 1);
        for (size_t i = 0; i < u->count; i++) {
            const struct ladder_row *row = &u->rows[i];

            (void)find_places(up, u, row, x);
            if (row->erf[k] > 0)
                fprintf(s->data, "%.10g %.6g %.10g %.10g\n", row->erf[k],
                        (double)(u->count - i) + up[k] / high, row->erf_lo[k], row->erf_hi[k]);
            if (row->erf[k] > 0 && row->saturated[k])
                fprintf(s->plot, "set arrow from %.10g, %.6g rto graph %.5f, 0 %s\n", row->erf[k],
                        (double)(u->count - i) + up[k] / high, ARROW / x->size, FRAME_ARROW);
        }
        fputs("EOD\n", s->data);
    }
}

/* A line from the first to the last threshold of each row, and one between rows. */
static void write_rows(FILE *f, const struct ladder *u)
{
    for (size_t i = 0; i < u->count; i++) {
        double low = INFINITY, high = 0;

        for (size_t k = 0; k < u->threshold_count; k++)
            if (u->rows[i].erf[k] > 0)
                low = fmin(low, u->rows[i].erf[k]), high = fmax(high, u->rows[i].erf[k]);
        fprintf(f,
                "set arrow from graph 0, first %.1f to graph 1, first %.1f nohead back lw 0.6 lc "
                "rgb \"#E6E6E6\"\n",
                (double)(u->count - i) - 0.5, (double)(u->count - i) - 0.5);
        if (high > low)
            fprintf(
                f,
                "set arrow from %.10g, %zu to %.10g, %zu nohead back lw 1.2 lc rgb \"#BBBBBB\"\n",
                low, u->count - i, high, u->count - i);
    }
}

static int write_ladder(struct script *s, const void *figure, struct error *e)
{
    const struct ladder *u = figure;
    double least = INFINITY, most = fmax(1, u->train_length), widest = 0;
    double *up = calloc(u->threshold_count ? u->threshold_count : 1, sizeof *up);
    int saturated = 0;
    struct key key = {0};
    FILE *f = s->plot;

    if (!up)
        return fail(e, "out of memory for the marks of a figure");

    for (size_t i = 0; i < u->count; i++) {
        script_text(s, "label", i + 1, u->rows[i].label);
        widest = fmax(widest, script_width(s, u->rows[i].label));
        for (size_t k = 0; k < u->threshold_count; k++)
            if (u->rows[i].erf[k] > 0) {
                least = fmin(least, u->rows[i].erf[k]), most = fmax(most, u->rows[i].erf[k]);
                saturated |= u->rows[i].saturated[k];
            }
    }
    least = fmin(least, most);
    for (size_t k = 0; k < u->threshold_count; k++) {
        char name[40];

        snprintf(name, sizeof name, "ERF(%.6g)", u->thresholds[k]);
        key_add(&key, s, name, "");
    }
    if (saturated)
        key_add(&key, s, bound_title, "");
    script_lines(s, u->threshold_count);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .keeps_height = 1,
                       .left = 34 + widest,
                       .right = 40,
                       .above = 8,
                       .title = u->subtitle,
                       .key = &key};
    double high = ROW, across = layout_across(&l, s), room = saturated ? ARROW + MARK : MARK,
           low = fmax(0.7, least / 1.3);
    struct axis x = axis_logarithmic('x', low,
                                     most * pow(fmax(most, 2 * low) / low, room / (across - room)),
                                     across);
    struct verticals trained = {.count = 0};
    verticals_add_length(&trained, &x, u->train_length);
    l.lines = trained.lines;
    for (size_t i = 0; i < u->count; i++)
        high = fmax(high, find_places(up, u, &u->rows[i], &x));
    l.high = high * (double)u->count + high / 4;
    if (layout_make(&l, s, e) != 0) {
        free(up);
        return -1;
    }
    layout_panel(&l, s, 0);
    fputs("set grid xtics lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", f);
    fprintf(f,
            "set logscale x\nset xrange [%.10g:%.10g]\nset yrange [0.4:%.1f]\nset xlabel \"most "
            "recent tokens\"\n",
            x.low, x.high, (double)u->count + 0.6);
    ticks_round(s, &x, 0);
    script_row_ticks(s, u->count);
    verticals_draw(s, &trained, 0);
    write_rows(f, u);
    write_marks(s, u, &x, up, high);
    free(up);
    for (size_t k = 0; k < u->threshold_count; k++)
        script_add(s,
                   " $threshold%zu using 1:2%s with %s ls %zu dt solid ps mark%s title "
                   "'ERF(%.6g)'",
                   k + 1, k == u->main ? ":3:4" : "", k == u->main ? "xerrorbars" : "points", k + 1,
                   k == u->main ? "" : "*0.8", u->thresholds[k]);
    if (saturated)
        script_add(s, " keyentry with vectors %s title '%s'", FRAME_ARROW, bound_title);
    script_add_end(s);
    layout_end(s);
    return 0;
}

int figure_ladder(const struct figure_place *to, const struct ladder *u, struct error *e)
{
    return u->count ? script_make(to, write_ladder, u, e)
                    : fail(e, "%s: no fields to draw", to->folder);
}
