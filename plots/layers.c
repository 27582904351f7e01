/* Fields by layer. */
#include "plots/result.h"

#include "plots/frame.h"
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 240, LABELLED = 6 }; /* of the heat map; curves with the number of their layer */
#define DECADES 3.0 /* of the colours, at most, */
#define DARK 0.05 /* and only this share of the cells is below them */
#define BEYOND_FLOOR 1e-4

/* Tokens k = L - m from `first` to `last` covered by bin i of n positions; at least one, so that
 * near ones are drawn at full width. */
static void bin_range(size_t *first, size_t *last, size_t i, size_t n)
{
    double step = log((double)n + 1) / BINS;

    *first = (size_t)exp(step * (double)i);
    *last = (size_t)ceil(exp(step * (double)(i + 1))) - 1;
    *first = *first < 1 ? 1 : *first > n ? n : *first;
    *last = *last < *first ? *first : *last > n ? n : *last;
}

/* Values of all maps. */
struct cells {
    double *value; /* [count] those with gradient */
    size_t count;
};

/* The gradient in each bin by doubling of the distance, which the axis shows as one width: shares
 * of single tokens would fall with the distance of their own. A row per layer; NaN without
 * gradient. */
static void write_map(FILE *f, const struct result_model *m, size_t number, struct cells *cells)
{
    size_t n = m->fields[0].positions;

    fprintf(f, "$map%zu << EOD\n", number);
    for (size_t l = 0; l < result_layers(m); l++) {
        for (size_t i = 0; i < BINS; i++) {
            size_t first, last;
            double sum = 0, value;

            bin_range(&first, &last, i, n);
            for (size_t k = first; k <= last; k++)
                sum += m->fields[l].summary.s[n - k];
            value = sum / log2((double)(last + 1) / (double)first);
            if (value > 0) {
                cells->value[cells->count++] = value;
                fprintf(f, "%s%.4g", i ? " " : "", value);
            } else {
                fprintf(f, "%sNaN", i ? " " : "");
            }
        }
        fputs("\n", f);
    }
    fputs("EOD\n", f);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The ends of the colours: the largest value, and that below which few cells are. */
static void find_range(struct cells *cells, double *low, double *high)
{
    size_t dark = (size_t)(DARK * (double)cells->count);

    *low = 0.1, *high = 1;
    if (cells->count == 0)
        return;
    qsort(cells->value, cells->count, sizeof *cells->value, by_value);
    *high = cells->value[cells->count - 1];
    *low = fmin(fmax(cells->value[dark], *high / pow(10, DECADES)), *high / 2);
}

/* Which of the layers have labels: at most LABELLED, evenly spread. */
static size_t labelled(const struct result_model *m, size_t i)
{
    size_t layers = result_layers(m), count = layers < LABELLED ? layers : LABELLED;

    return count > 1 ? i * (layers - 1) / (count - 1) : 0;
}

/* Numbers of layers on their curves, each at another distance, before the curve falls: k, 1 - c,
 * layer. */
static void write_numbers(FILE *f, const struct result_model *m, size_t row, size_t number)
{
    size_t n = m->fields[0].positions, layers = result_layers(m),
           count = layers < LABELLED ? layers : LABELLED;

    fprintf(f, "$numbers%zu << EOD\n", number);
    for (size_t i = 0; i < count; i++) {
        const struct result_field *field = &m->fields[labelled(m, i)];
        double end = log(fmax(0.7 * (double)field->summary.rows[row].erf, 1)),
               at = exp(end * (0.1 + 0.8 * ((double)i + 0.5) / (double)count));
        size_t k = (size_t)fmax(at, 1);

        fprintf(f, "%zu %.6g %zu\n", k, fmax(1 - field->summary.c[n - k], BEYOND_FLOOR),
                field->layer);
    }
    fputs("EOD\n", f);
}

/* Points k, 1 - c of every layer as one block each, at distinguishable distances. */
static void write_curves(FILE *f, const struct result_model *m, size_t row, size_t number)
{
    size_t n = m->fields[0].positions;

    fprintf(f, "$curves%zu << EOD\n", number);
    for (size_t l = 0; l < result_layers(m); l++) {
        const double *c = m->fields[l].summary.c;
        size_t last = 0;

        for (size_t k = 1; k <= n; k++) {
            if (last && k < n && (double)k < 1.01 * (double)last)
                continue;
            fprintf(f, "%zu %.6g %zu\n", k, fmax(1 - c[n - k], BEYOND_FLOOR / 10),
                    m->fields[l].layer);
            last = k;
        }
        fputs("\n\n", f);
    }
    fputs("EOD\n", f);
    write_numbers(f, m, row, number);
    fprintf(f, "$fields%zu << EOD\n", number);
    for (size_t l = 0; l < result_layers(m); l++) {
        const struct erf_summary *u = &m->fields[l].summary;

        fprintf(f, "%zu %zu\n", l, u->rows[row].erf);
    }
    fputs("EOD\n", f);
}

static int is_marked(const struct result_model *m)
{
    return m->train_length >= 1 && m->train_length < m->fields[0].positions;
}

static void mark_length(struct script *s, const struct result_model *m, const struct axis *x,
                        int over)
{
    struct verticals trained = {.count = 0};

    if (is_marked(m))
        verticals_add_length(&trained, x, (double)m->train_length);
    verticals_draw(s, &trained, over);
}

/* The contents of the figure. */
struct layers_figure {
    const struct result *result;
    double low, high; /* of the maps' colours: one scale for all models, for comparison */
};

enum { ROWS_MAX = 512 };

/* Ticks at rows 0, 1, ... of the map, with the numbers of their layers. */
static void write_rows(struct script *s, const struct layout *l, const struct result_model *m)
{
    size_t layers = result_layers(m), every = (size_t)ceil(24 * (double)layers / l->down),
           count = 0;
    struct axis y = axis_linear('y', -0.5, (double)layers - 0.5, l->down);
    double at[ROWS_MAX], names[ROWS_MAX];

    for (size_t i = 0; i < layers && count < ROWS_MAX; i += every, count++)
        at[count] = (double)i, names[count] = (double)m->fields[i].layer;
    ticks_named(s, &y, at, names, count);
}

/* The heat map of model i, with an axis linear in log tokens, since image cells have one width. */
static void write_map_panel(struct script *s, const struct layout *l, size_t panel,
                            const struct layers_figure *u, size_t i)
{
    const struct result_model *m = &u->result->models[i];
    double n = (double)m->fields[0].positions;
    struct axis x = axis_logarithmic('x', 1, n > 1 ? n : 2, l->across),
                colours = axis_logarithmic('c', u->low, u->high, l->down);
    FILE *f = s->plot;

    x.of_logarithms = 1;
    layout_panel(l, s, panel);
    fputs("set palette @map_palette\nset object 1 rectangle from graph 0, 0 to graph 1, 1 fs solid "
          "noborder fc rgb \"#DDDDDD\" "
          "behind\n",
          f);
    fprintf(f, "set xrange [0:%.8g]\nset yrange [-0.5:%.1f]\n", log(x.high),
            (double)result_layers(m) - 0.5);
    layout_xlabel(l, s, panel, "\"most recent tokens, \".m(\"L\".minus.\"m\")");
    layout_ylabel(l, s, panel, "\"input of block\"");
    ticks_round(s, &x, x.high);
    write_rows(s, l, m);
    fprintf(f, "set logscale cb\nset cbrange [%.6g:%.6g]\n", colours.low, colours.high);
    ticks_round(s, &colours, 0);
    layout_scale(l, s, panel, "\"share per doubling of distance\"");
    mark_length(s, m, &x, 1);
    fprintf(f,
            "plot $map%zu matrix using (($1+0.5)*%.8g):2:($3 < %.6g ? %.6g : $3) with "
            "@map_image notitle, \\\n",
            i + 1, log(n + 1) / BINS, u->low, u->low);
    fprintf(f,
            "    $fields%zu using (log($2)):1 with linespoints lw 2.2 lc rgb \"#FFFFFF\" pt 7 ps "
            "mark notitle, \\\n",
            i + 1);
    fprintf(f,
            "    $fields%zu using (log($2)):1 with points pt 6 lw 1.4 lc rgb \"#000000\" ps mark "
            "notitle\n",
            i + 1);
}

/* The marks [layers] of model i: field, 1 - c, layer, without those that an arrow at the frame
 * stands for. Returns how many these are. */
static size_t write_marks(FILE *f, const struct layers_figure *u, size_t i, const struct axis *x,
                          struct frame_mark *marks)
{
    const struct result_model *m = &u->result->models[i];
    size_t layers = result_layers(m), n = m->fields[0].positions, row = u->result->main_row,
           gathered;

    for (size_t l = 0; l < layers; l++) {
        const struct erf_row *field = &m->fields[l].summary.rows[row];

        marks[l].beyond = field->saturated;
        marks[l].place = x->size - axis_place(x, (double)field->erf);
    }
    gathered = frame_gather(marks, layers);
    fprintf(f, "$marks%zu << EOD\n", i + 1);
    for (size_t l = 0; l < layers; l++) {
        const struct erf_summary *s = &m->fields[l].summary;

        if (!marks[l].gathered)
            fprintf(f, "%zu %.6g %zu\n", s->rows[row].erf,
                    fmax(1 - s->c[n - s->rows[row].erf], BEYOND_FLOOR / 10), m->fields[l].layer);
    }
    fputs("EOD\n", f);
    return gathered;
}

static int write_tail_panel(struct script *s, const struct layout *l, size_t panel,
                            const struct layers_figure *u, size_t i, struct error *e)
{
    const struct result_model *m = &u->result->models[i];
    size_t layers = result_layers(m), last = m->fields[layers - 1].layer;
    double n = (double)m->fields[0].positions, threshold = u->result->main_threshold;
    struct axis x = axis_logarithmic('x', 1, n > 1 ? n : 2, l->across),
                y = axis_logarithmic('y', fmin(BEYOND_FLOOR, (1 - threshold) / 10), 1, l->down),
                colours = axis_linear('c', 0, last > 0 ? (double)last : 1, l->down);
    struct frame_mark *marks = calloc(layers, sizeof *marks);
    FILE *f = s->plot;

    if (!marks)
        return fail(e, "out of memory for the marks of a figure");
    colours.whole = 1;
    layout_panel(l, s, panel);
    fputs("set palette @line_palette\nset logscale xy\n", f);
    fprintf(f, "set xrange [1:%.0f]\nset yrange [%.3g:1]\n", x.high, y.low);
    layout_xlabel(l, s, panel, "\"most recent tokens, \".m(\"L\".minus.\"m\")");
    layout_ylabel(l, s, panel, "m(\"1\".minus.\"c_m\")");
    ticks_round(s, &x, x.high);
    ticks_round(s, &y, 0);
    fprintf(f, "set cbrange [0:%.0f]\n", colours.high);
    ticks_round(s, &colours, 0);
    layout_scale(l, s, panel, "\"input of block\"");
    layout_level(s, 1 - threshold);
    frame_arrow(s, l, 1 - threshold, 0, write_marks(s->data, u, i, &x, marks));
    free(marks);
    mark_length(s, m, &x, 0);
    for (size_t k = 0; k < layers; k++)
        script_add(s,
                   " $curves%zu index %zu using 1:2:3 with lines lw 2.4*line_width lc palette "
                   "notitle",
                   i + 1, k);
    script_add(s, " $marks%zu using 1:2:3 with points pt 7 ps mark lc palette notitle", i + 1);
    script_add(s, " $numbers%zu using 1:2:(sprintf('%%d', $3)) with labels boxed notitle", i + 1);
    script_add_end(s);
    return 0;
}

/* The headings of all panels; the caller frees the texts. */
static int make_headings(char **headings, const struct result *r, int map, int tail,
                         struct error *e)
{
    size_t count = 0;

    for (size_t i = 0; i < r->model_count; i++) {
        if (map && asprintf(&headings[count++], "%s: share of the gradient", r->models[i].name) < 0)
            headings[count - 1] = NULL;
        if (tail && asprintf(&headings[count++], "%s: what the most recent tokens leave out",
                             r->models[i].name) < 0)
            headings[count - 1] = NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (!headings[i])
            return fail(e, "out of memory for the headings");
    return 0;
}

static int write_layers(struct script *s, const void *figure, struct error *e)
{
    struct layers_figure u = {figure, 0.1, 1};
    struct cells cells = {0};
    size_t models = u.result->model_count, panel = 0;
    int map = figure_has_panel(s->style->panels, "map"),
        tail = figure_has_panel(s->style->panels, "tail");
    char **headings = calloc(2 * models + 1, sizeof *headings), title[96];
    struct layout l = {.panels = models * (size_t)(map + tail),
                       .columns = 2,
                       .high = models <= 2 ? 400 : fmax(180, 1200 / (double)models),
                       .left = 96,
                       .right = SCALE,
                       .same_x = 1,
                       .above = 8,
                       .title = title,
                       .headings = (const char *const *)headings};
    for (size_t i = 0; i < models; i++)
        l.lines |= is_marked(&u.result->models[i]);
    int rc = headings ? make_headings(headings, u.result, map, tail, e)
                      : fail(e, "out of memory for the headings");

    snprintf(title, sizeof title, "The field by layer (marks: ERF(%.6g); arrows: at the frame)",
             u.result->main_threshold);
    for (size_t i = 0; i < models; i++)
        cells.count += BINS * result_layers(&u.result->models[i]);
    cells.value = malloc(cells.count * sizeof *cells.value);
    if (rc == 0 && !cells.value)
        rc = fail_memory(e, (double)cells.count * sizeof *cells.value, "the maps");
    cells.count = 0;
    for (size_t i = 0; rc == 0 && i < models; i++) {
        write_map(s->data, &u.result->models[i], i + 1, &cells);
        write_curves(s->data, &u.result->models[i], u.result->main_row, i + 1);
    }
    find_range(&cells, &u.low, &u.high);
    free(cells.value);
    script_palettes(s);
    if (rc == 0 && (rc = layout_make(&l, s, e)) == 0) {
        fputs("set autoscale noextend\n", s->plot);
        for (size_t i = 0; i < models; i++) {
            if (map)
                write_map_panel(s, &l, panel++, &u, i);
            if (tail)
                rc = rc == 0 ? write_tail_panel(s, &l, panel++, &u, i, e) : rc;
        }
        layout_end(s);
    }
    for (size_t i = 0; headings && i < 2 * models; i++)
        free(headings[i]);
    free(headings);
    return rc;
}

int figure_layers(const struct figure_place *to, const struct result *r, struct error *e)
{
    return script_make(to, write_layers, r, e);
}
