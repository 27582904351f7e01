/* Theoretical and measured fields side by side. */
#include "plots/trf.h"

#include "plots/frame.h"

#include <math.h>
#include <stdio.h>

/* One kind of field: its name, its place within a row, so that marks do not hide each other, and
 * its hollow mark. */
static const struct field_kind {
    const char *title;
    double shift;
    int hollow;
} kinds[] = {
    {"TRF of one layer", 0.27, 6},
    {"TRF across layers", 0.09, 4},
    {"exact cone of the windows", -0.09, 8},
    {"measured ERF", -0.27, 12},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], MEASURED = KINDS - 1 };
enum { ROW = 56, ARROW = 26, MARK = 16 }; /* units: of a row, an arrow, and a mark */
static const char train_title[] = "training length",
                  beyond_title[] = "beyond the measured length, or unbounded";
#define FURTHEST 1e12 /* of a mark on the axis */

static double field_of(const struct field_row *r, int kind)
{
    const double values[KINDS] = {r->trf, r->trf_depth, r->cone, r->erf};

    return values[kind];
}

/* 1 for a field that the measured length could not show, or the axis. */
static int is_beyond(const struct field_row *r, int kind)
{
    double v = field_of(r, kind);

    return kind != MEASURED && v > 0 && (v >= FURTHEST || (r->length > 0 && v > r->length));
}

/* Lines between rows and at training lengths; arrows to the frame and at saturated fields. */
static void write_arrows(FILE *f, const struct field_rows *u, const struct axis *x)
{
    double from = 1 - (ARROW + 4) / x->size;

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
            if (is_beyond(row, k))
                fprintf(f, "set arrow from graph %.5f, first %.3f to graph 0.993, first %.3f %s\n",
                        from, y + kinds[k].shift, y + kinds[k].shift, FRAME_ARROW);
        if (row->saturated)
            fprintf(f, "set arrow from %.10g, %.3f rto graph %.5f, 0 %s\n", row->erf,
                    y + kinds[MEASURED].shift, ARROW / x->size, FRAME_ARROW);
    }
}

/* Marks of each kind, and the hollow ones before the arrows at the frame. */
static void write_data(FILE *f, const struct field_rows *u, const struct axis *x)
{
    double hollow = x->high * exp(-(ARROW + 4 + MARK / 2.0) / x->size * log(x->high / x->low));

    for (int k = 0; k < KINDS; k++)
        for (int beyond = 0; beyond < 2; beyond++) {
            fprintf(f, "$%s%d << EOD\n", beyond ? "beyond" : "kind", k + 1);
            for (size_t i = 0; i < u->count; i++) {
                const struct field_row *row = &u->rows[i];
                double v = field_of(row, k);

                if (v > 0 && is_beyond(row, k) == beyond)
                    fprintf(f, "%.10g %.3f %.10g %.10g\n", beyond ? hollow : v,
                            (double)(u->count - i) + kinds[k].shift,
                            k == MEASURED ? row->erf_lo : v, k == MEASURED ? row->erf_hi : v);
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
    double least = INFINITY, most = 1, widest = 0, room;
    int beyond = 0;
    struct key key = {0};
    FILE *f = s->plot;

    for (size_t i = 0; i < u->count; i++) {
        script_text(s, "label", i + 1, u->rows[i].label);
        widest = fmax(widest, script_width(s, u->rows[i].label));
        for (int k = 0; k < KINDS; k++) {
            double v = field_of(&u->rows[i], k);

            if (v > 0 && !is_beyond(&u->rows[i], k))
                most = fmax(most, v), least = fmin(least, v);
            beyond |= is_beyond(&u->rows[i], k);
        }
        beyond |= u->rows[i].saturated;
        most = fmax(most, u->rows[i].erf_hi);
        if (u->rows[i].train_length > 0)
            most = fmax(most, u->rows[i].train_length);
    }
    least = fmax(1, floor(fmin(least, most) / 2));
    for (int k = 0; k <= KINDS; k++)
        if (has_kind(u, k))
            key_add(&key, s, k < KINDS ? kinds[k].title : train_title, "");
    if (beyond)
        key_add(&key, s, beyond_title, "");
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
    room = MARK + (beyond ? ARROW + 2 * MARK : 0);
    struct axis x = axis_logarithmic(
        'x', least, most * pow(fmax(most / least, 2), room / fmax(l.across - room, 1)), l.across);
    write_data(s->data, u, &x);
    layout_panel(&l, s, 0);
    fputs("set grid xtics lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", f);
    fprintf(f,
            "set logscale x\nset xrange [%.10g:%.10g]\nset yrange [0.4:%.1f]\nset xlabel \"most "
            "recent tokens\"\n",
            least, x.high, (double)u->count + 0.6);
    ticks_round(s, &x, 0);
    script_row_ticks(s, u->count);
    write_arrows(f, u, &x);
    for (int k = 0; k < KINDS; k++) {
        if (!has_kind(u, k))
            continue;
        script_add(s, " $kind%d using 1:2%s with %s ls %d dt solid ps 0.85*mark title '%s'", k + 1,
                   k == MEASURED ? ":3:4" : "", k == MEASURED ? "xerrorbars" : "points", k + 1,
                   kinds[k].title);
        if (k != MEASURED)
            script_add(s,
                       " $beyond%d using 1:2 with points ls %d dt solid pt %d ps 0.85*mark notitle",
                       k + 1, k + 1, kinds[k].hollow);
    }
    if (has_kind(u, KINDS))
        script_add(s, " keyentry with lines lw 1.6 dt (5,5) lc rgb \"#555555\" title '%s'",
                   train_title);
    if (beyond)
        script_add(s, " keyentry with vectors %s title '%s'", FRAME_ARROW, beyond_title);
    script_add_end(s);
    layout_end(s);
    return 0;
}

int figure_fields(const struct figure_place *to, const struct field_rows *u, struct error *e)
{
    return u->count ? script_make(to, write_fields, u, e)
                    : fail(e, "%s: no fields to draw", to->folder);
}
