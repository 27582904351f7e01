/* Theoretical and measured fields side by side. */
#include "plots/trf.h"

#include "plots/layout.h"

#include <math.h>
#include <stdio.h>

/* One kind of field: its name, and its place within a row, so that marks do not hide each other. */
static const struct field_kind {
    const char *title;
    double shift;
} kinds[] = {
    {"TRF of one layer", 0.20},
    {"TRF across layers", 0.07},
    {"exact cone of the windows", -0.07},
    {"measured ERF", -0.20},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], MEASURED = KINDS - 1, ROW = 52 }; /* ROW: units */
static const char train_title[] = "training length";

static double field_of(const struct field_row *r, int kind)
{
    const double values[KINDS] = {r->trf, r->trf_depth, r->cone, r->erf};

    return values[kind];
}

/* Beyond the picture: an arrow at its edge. Saturated: an arrow at the mark. */
static void write_arrows(FILE *f, const struct field_rows *u, double edge)
{
    for (size_t i = 0; i < u->count; i++) {
        const struct field_row *row = &u->rows[i];
        double y = (double)(u->count - i);

        fprintf(f,
                "set arrow from graph 0, first %.1f to graph 1, first %.1f nohead back lw 0.6 lc "
                "rgb \"#E6E6E6\"\n",
                y - 0.5, y - 0.5);
        if (row->train_length > 0)
            fprintf(f,
                    "set arrow from %.10g, %.2f to %.10g, %.2f nohead back lw 1.6 dt (5,5) lc rgb "
                    "\"#555555\"\n",
                    row->train_length, y - 0.5, row->train_length, y + 0.5);
        for (int k = 0; k < KINDS; k++)
            if (field_of(row, k) > edge)
                fprintf(f,
                        "set arrow from graph 0.965, first %.3f to graph 0.99, first %.3f filled "
                        "head size graph 0.008,20 ls %d "
                        "dt solid\n",
                        y + kinds[k].shift, y + kinds[k].shift, k + 1);
        if (row->saturated)
            fprintf(f,
                    "set arrow from %.10g, %.3f rto graph 0.03, 0 filled head size graph 0.008,20 "
                    "ls %d dt solid\n",
                    row->erf, y + kinds[MEASURED].shift, MEASURED + 1);
    }
}

static void write_data(FILE *f, const struct field_rows *u, double edge)
{
    for (int k = 0; k < KINDS; k++) {
        fprintf(f, "$kind%d << EOD\n", k + 1);
        for (size_t i = 0; i < u->count; i++) {
            double v = field_of(&u->rows[i], k);

            if (v > 0 && v <= edge)
                fprintf(f, "%.10g %.3f %.10g %.10g\n", v, (double)(u->count - i) + kinds[k].shift,
                        k == MEASURED ? u->rows[i].erf_lo : v,
                        k == MEASURED ? u->rows[i].erf_hi : v);
        }
        fputs("EOD\n", f);
    }
}

/* 1 if any row has this kind; kind KINDS: a training length. */
static int has_kind(const struct field_rows *u, int kind)
{
    for (size_t i = 0; i < u->count; i++)
        if ((kind < KINDS ? field_of(&u->rows[i], kind) : u->rows[i].train_length) > 0)
            return 1;
    return 0;
}

static int write_fields(struct script *s, const void *figure, struct error *e)
{
    const struct field_rows *u = figure;
    double least = INFINITY, most = 1, edge, widest = 0;
    struct key key = {0};
    FILE *f = s->plot;

    for (size_t i = 0; i < u->count; i++) {
        script_text(s, "label", i + 1, u->rows[i].label);
        widest = fmax(widest, script_width(s, u->rows[i].label));
        for (int k = 0; k < KINDS; k++) {
            double v = field_of(&u->rows[i], k);

            if (v > 0 && isfinite(v) && v < 1e12)
                most = fmax(most, v), least = fmin(least, v);
        }
        if (u->rows[i].train_length > 0)
            most = fmax(most, u->rows[i].train_length);
    }
    least = fmax(1, floor(fmin(least, most) / 2));
    edge = most * 3;
    write_data(s->data, u, edge);
    for (int k = 0; k <= KINDS; k++)
        if (has_kind(u, k))
            key_add(&key, s, k < KINDS ? kinds[k].title : train_title, "");
    script_lines(s, KINDS);
    struct layout l = {.panels = 1,
                       .columns = 1,
                       .high = ROW * (double)u->count + ROW / 4.0,
                       .keeps_height = 1,
                       .left = 34 + widest,
                       .right = 40,
                       .above = 8,
                       .title = u->subtitle,
                       .key = &key};
    if (layout_make(&l, s, e) != 0)
        return -1;
    struct axis x = axis_logarithmic('x', least, edge, l.across);
    layout_panel(&l, s, 0);
    fputs("set grid xtics lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", f);
    fprintf(f,
            "set logscale x\nset xrange [%.10g:%.10g]\nset yrange [0.4:%.1f]\nset xlabel \"most "
            "recent tokens\"\n",
            least, edge, (double)u->count + 0.6);
    ticks_round(s, &x, 0);
    script_row_ticks(s, u->count);
    write_arrows(f, u, edge);
    for (int k = 0; k < KINDS; k++) {
        if (!has_kind(u, k))
            continue;
        script_add(s, " $kind%d using 1:2%s with %s ls %d dt solid title '%s'", k + 1,
                   k == MEASURED ? ":3:4" : "", k == MEASURED ? "xerrorbars" : "points", k + 1,
                   kinds[k].title);
    }
    if (has_kind(u, KINDS))
        script_add(s, " keyentry with lines lw 1.6 dt (5,5) lc rgb \"#555555\" title '%s'",
                   train_title);
    script_add_end(s);
    layout_end(s);
    return 0;
}

int figure_fields(const struct figure_place *to, const struct field_rows *u, struct error *e)
{
    return u->count ? script_make(to, write_fields, u, e)
                    : fail(e, "%s: no fields to draw", to->folder);
}
