/* Measured fields of several models below each other. */
#include "plots/ladder.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

enum { ROW = 40 }; /* units of a row */

/* Data of one threshold: field, height, interval. */
static void write_threshold(FILE *f, const struct ladder *u, size_t k)
{
    fprintf(f, "$threshold%zu << EOD\n", k + 1);
    for (size_t i = 0; i < u->count; i++)
        if (u->rows[i].erf[k] > 0)
            fprintf(f, "%.10g %zu %.10g %.10g\n", u->rows[i].erf[k], u->count - i,
                    u->rows[i].erf_lo[k], u->rows[i].erf_hi[k]);
    fputs("EOD\n", f);
}

/* A line from the first to the last threshold of each row; an arrow if the length was too short. */
static void write_rows(FILE *f, const struct ladder *u)
{
    for (size_t i = 0; i < u->count; i++) {
        double low = INFINITY, high = 0;

        for (size_t k = 0; k < u->threshold_count; k++) {
            double v = u->rows[i].erf[k];

            if (!(v > 0))
                continue;
            low = fmin(low, v), high = fmax(high, v);
            if (u->rows[i].saturated[k])
                fprintf(f,
                        "set arrow from %.10g, %zu rto graph 0.03, 0 filled head size graph "
                        "0.008,20 ls %zu dt solid\n",
                        v, u->count - i, k + 1);
        }
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
    struct key key = {0};
    FILE *f = s->plot;

    for (size_t i = 0; i < u->count; i++) {
        script_text(s, "label", i + 1, u->rows[i].label);
        widest = fmax(widest, script_width(s, u->rows[i].label));
        for (size_t k = 0; k < u->threshold_count; k++)
            if (u->rows[i].erf[k] > 0)
                least = fmin(least, u->rows[i].erf[k]), most = fmax(most, u->rows[i].erf[k]);
    }
    least = fmin(least, most);
    for (size_t k = 0; k < u->threshold_count; k++) {
        char name[40];

        write_threshold(s->data, u, k);
        snprintf(name, sizeof name, "ERF(%.6g)", u->thresholds[k]);
        key_add(&key, s, name, "");
    }
    script_lines(s, u->threshold_count);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = ROW * (double)u->count + ROW / 4.0,
                       .keeps_height = 1,
                       .left = 34 + widest,
                       .right = 40,
                       .above = 8,
                       .title = u->subtitle,
                       .key = &key};
    struct axis x = axis_logarithmic('x', fmax(0.7, least / 1.3), most * 1.5, layout_across(&l, s));
    struct verticals trained = {.count = 0};
    verticals_add_length(&trained, &x, u->train_length);
    l.lines = trained.lines;
    if (layout_make(&l, s, e) != 0)
        return -1;
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
    for (size_t k = 0; k < u->threshold_count; k++)
        script_add(s,
                   " $threshold%zu using 1:2%s with %s ls %zu dt solid ps mark%s title "
                   "'ERF(%.6g)'",
                   k + 1, k == u->main ? ":3:4" : "", k == u->main ? "xerrorbars" : "points", k + 1,
                   k == u->main ? "" : "*0.8", u->thresholds[k]);
    script_add_end(s);
    layout_end(s);
    return 0;
}

int figure_ladder(const struct figure_place *to, const struct ladder *u, struct error *e)
{
    return u->count ? script_make(to, write_ladder, u, e)
                    : fail(e, "%s: no fields to draw", to->folder);
}
