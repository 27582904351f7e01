/* Attention fields of heads: with their theoretical ones, and as a map of layers and heads. */
#include "plots/result.h"

#include "analyze/attribution.h"
#include "plots/layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heads_figure {
    const struct result *result;
    double low, high; /* of all numbers that are drawn, in tokens */
    int layers; /* of the model with the most */
    int is_map;
};

/* The row of a head at the main threshold. */
static const struct attention_row *row_of(const struct result *r, const struct result_model *m,
                                          size_t layer, size_t head)
{
    return &m->attention
                .rows[(layer * m->attention.heads + head) * r->threshold_count + r->main_row];
}

/* Tokens over which a head of a recurrence falls to epsilon; 0: there is none, or it does not fall.
 */
static double decay_of(const struct result *r, const struct result_model *m, size_t layer,
                       size_t head)
{
    const struct result_attention *a = &m->attention;
    double tokens = head < a->recurrence_heads
                        ? decay_tokens(1 - r->main_threshold,
                                       a->log_decay[layer * a->recurrence_heads + head])
                        : 0;

    return isfinite(tokens) ? tokens : 0;
}

static int attends(const struct result *r, const struct result_model *m, size_t layer)
{
    size_t most = 0;

    for (size_t head = 0; head < m->attention.heads; head++)
        most |= row_of(r, m, layer, head)->erf;
    return most > 0;
}

/* What the map shows of a head: its attention's field, in a layer without attention its decay; 0:
 * nothing. */
static double field_of(const struct result *r, const struct result_model *m, size_t layer,
                       size_t head)
{
    if (!attends(r, m, layer))
        return decay_of(r, m, layer, head);
    return head < m->attention.heads ? (double)row_of(r, m, layer, head)->erf : 0;
}

/* Columns of a model's panel. */
static size_t heads_of(const struct result_model *m)
{
    const struct result_attention *a = &m->attention;

    return a->heads > a->recurrence_heads ? a->heads : a->recurrence_heads;
}

/* 1 if decays are drawn: in the map only of layers without attention. */
static int shows_decays(const struct heads_figure *u)
{
    const struct result *r = u->result;

    for (size_t i = 0; i < r->model_count; i++)
        for (size_t l = 0; l < r->models[i].attention.layers; l++)
            if (r->models[i].attention.recurrence_heads &&
                !(u->is_map && attends(r, &r->models[i], l)))
                return 1;
    return 0;
}

/* As many panels side by side as make the picture about square; they share their axes if the models
 * have the same layers and heads. */
static struct layout lay_out(const struct result *r, double high)
{
    size_t count = r->model_count;
    int grid = 1;

    for (size_t i = 1; i < count; i++)
        grid &= r->models[i].attention.layers == r->models[0].attention.layers &&
                heads_of(&r->models[i]) == heads_of(&r->models[0]);
    size_t columns = count <= 3 ? count : (size_t)ceil(sqrt(1.6 * (double)count));

    return (struct layout){.panels = count,
                           .columns = columns,
                           .least = 100,
                           .grid = grid,
                           .high = columns <= 3 ? high : 0.55 * high,
                           .left = 86,
                           .right = 14,
                           .above = 8,
                           .beside = SCALE};
}

/* ---- points and bars ---- */

static int has_bars(const struct result *r, const struct result_model *m)
{
    for (size_t h = 0; h < m->attention.layers * m->attention.heads; h++)
        if (row_of(r, m, 0, h)->trf_length) /* heads of all layers are consecutive */
            return 1;
    return 0;
}

/* Where the point of a layer is: a head's layers are side by side. */
static double beside(size_t layers, size_t layer, size_t head)
{
    return (double)head + 1 +
           (layers > 1 ? 0.56 * ((double)layer / ((double)layers - 1) - 0.5) : 0);
}

/* Points x, attention ERF, layer, and the same of states. Bars: one per head and value. */
static void write_data(FILE *f, const struct result *r, const struct result_model *m, size_t number)
{
    size_t layers = m->attention.layers, heads = m->attention.heads;

    fprintf(f, "$heads%zu << EOD\n", number);
    for (size_t h = 0; h < heads; h++)
        for (size_t l = 0; l < layers; l++)
            if (row_of(r, m, l, h)->erf > 0)
                fprintf(f, "%.4f %zu %zu\n", beside(layers, l, h), row_of(r, m, l, h)->erf, l + 1);
    if (m->attention.recurrence_heads)
        fprintf(f, "EOD\n$states%zu << EOD\n", number);
    for (size_t h = 0; h < m->attention.recurrence_heads; h++)
        for (size_t l = 0; l < layers; l++)
            if (decay_of(r, m, l, h) > 0)
                fprintf(f, "%.4f %.6g %zu\n", beside(layers, l, h), decay_of(r, m, l, h), l + 1);
    fprintf(f, "EOD\n$fields%zu << EOD\n", number);
    for (size_t h = 0; h < heads; h++)
        for (size_t l = 0; l < layers; l++) {
            size_t trf = row_of(r, m, l, h)->trf_length;
            int seen = 0;

            for (size_t before = 0; before < l; before++)
                seen |= row_of(r, m, before, h)->trf_length == trf;
            if (seen || !trf)
                continue;
            fprintf(f, "%.2f %zu 0.84 0\n", (double)h + 0.58, trf);
        }
    fputs("EOD\n", f);
}

/* Panel i; colours show layers. */
static void write_points(struct script *s, const struct layout *l, const struct heads_figure *u,
                         size_t i)
{
    const struct result_model *m = &u->result->models[i];
    int layers = (int)m->attention.layers, heads = (int)heads_of(m);
    struct axis colours = axis_linear('c', 1, u->layers > 1 ? u->layers : 2,
                                      layout_scale_height(l));
    double apart = 0.56 * l->across / (heads + 0.2) / layers,
           size = fmin(0.9, fmax(0.3, apart / 12)); /* units between layers; of a point, in marks */
    struct axis y = axis_logarithmic('y', u->low / 1.5, 1.3 * u->high, l->down);
    FILE *f = s->plot;

    write_data(s->data, u->result, m, i + 1);
    fprintf(f, "set grid y lw 0.6 lc rgb \"#E6E6E6\" dt solid back\nset xrange [0.4:%.1f]\n",
            heads + 0.6);
    fprintf(f,
            "set logscale y\nset yrange [%.6g:%.6g]\nset palette @line_palette\nset cbrange "
            "[1:%.0f]\n",
            y.low, y.high, colours.high);
    y.bare = !layout_has_y(l, i);
    ticks_round(s, &y, 0);
    colours.whole = 1;
    ticks_round(s, &colours, 0);
    fputs("plot ", f);
    if (has_bars(u->result, m))
        fprintf(f,
                "$fields%zu using 1:2:3:4 with vectors nohead lw 3 lc rgb \"#000000\" notitle, "
                "\\\n     ",
                i + 1);
    fprintf(
        f,
        "$heads%zu using 1:2 with points pt 7 ps %.2f*mark lc rgb \"#FFFFFF\" notitle, \\\n     ",
        i + 1, size + 0.2);
    fprintf(f, "$heads%zu using 1:2:3 with points pt 7 ps %.2f*mark lc palette notitle", i + 1,
            size);
    if (m->attention.recurrence_heads)
        fprintf(
            f, ", \\\n     $states%zu using 1:2:3 with points pt 9 ps %.2f*mark lc palette notitle",
            i + 1, size + 0.2);
    fputs("\n", f);
}

/* ---- the map ---- */

enum { NUMBER_HIGH = 24, NUMBER_ROOM = 10 }; /* units: of a cell with a number; beside it */

/* The number in each cell, if the widest of all has room: dark on light cells. */
static void write_numbers(FILE *f, const struct layout *l, const struct heads_figure *u, size_t i)
{
    const struct result_model *m = &u->result->models[i];
    char widest[32];

    snprintf(widest, sizeof widest, "%.0f", u->high);
    if (l->across < (text_width(widest) + NUMBER_ROOM) * (double)heads_of(m) ||
        l->down < NUMBER_HIGH * (double)m->attention.layers)
        return;
    for (int light = 0; light < 2; light++)
        fprintf(f,
                ", \\\n     $map%zu matrix using ($1+1):($3 %s %.6g ? $2+1 : "
                "NaN):(sprintf(\"%%.0f\", $3)) with labels tc rgb \"%s\" notitle",
                i + 1, light ? ">=" : "<", pow(u->low, 0.4) * pow(u->high, 0.6),
                light ? "#000000" : "#FFFFFF");
}

static void write_map(struct script *s, const struct layout *l, const struct heads_figure *u,
                      size_t i)
{
    const struct result_model *m = &u->result->models[i];
    size_t layers = m->attention.layers, heads = heads_of(m);
    struct axis colours = axis_logarithmic('c', u->low, u->high > u->low ? u->high : 2 * u->low,
                                           l->down);
    struct axis rows = axis_linear('y', 0.5, (double)layers + 0.5, l->down);
    FILE *f = s->data;

    fprintf(f, "$map%zu << EOD\n", i + 1);
    for (size_t layer = 0; layer < layers; layer++)
        for (size_t head = 0; head < heads; head++) {
            double field = field_of(u->result, m, layer, head);
            const char *behind = head + 1 < heads ? " " : "\n";

            if (field > 0)
                fprintf(f, "%.6g%s", field, behind);
            else
                fprintf(f, "NaN%s", behind);
        }
    fputs("EOD\n", f);
    f = s->plot;
    fputs("set object 1 rectangle from graph 0, 0 to graph 1, 1 fs solid noborder fc rgb "
          "\"#DDDDDD\" behind\n",
          f);
    fprintf(f, "set xrange [0.5:%zu.5]\nset yrange [0.5:%zu.5]\n", heads, layers);
    rows.whole = 1;
    rows.bare = !layout_has_y(l, i);
    ticks_round(s, &rows, 0);
    fprintf(f, "set palette @map_palette\nset logscale cb\nset cbrange [%.6g:%.6g]\n", colours.low,
            colours.high);
    ticks_round(s, &colours, 0);
    fprintf(f, "plot $map%zu matrix using ($1+1):($2+1):3 with @map_image notitle", i + 1);
    write_numbers(f, l, u, i);
    fputs("\n", f);
}

/* ---- both ---- */

static int write_heads(struct script *s, const void *figure, struct error *e)
{
    const struct heads_figure *u = figure;
    const struct result *r = u->result;
    char **headings = calloc(r->model_count, sizeof *headings);
    struct layout l = lay_out(r, 430);
    char epsilon[32], title[320];
    int rc = 0, bars = 0;

    if (!headings)
        return fail(e, "out of memory for the headings");
    for (size_t i = 0; i < r->model_count; i++)
        bars |= has_bars(r, &r->models[i]);
    result_epsilon(epsilon, r->main_threshold);
    snprintf(title, sizeof title,
             u->is_map || !bars
                 ? "Window that holds more than 1 \xe2\x88\x92 %s of a head's attention"
                 : "Window that holds more than 1 \xe2\x88\x92 %s of a head's attention "
                   "(points) and of the first L \xe2\x88\x92 1 terms of exp(bias) (bars)",
             epsilon);
    if (shows_decays(u))
        snprintf(title + strlen(title), sizeof title - strlen(title),
                 u->is_map ? "; of layers without attention, tokens over which a recurrence's "
                             "state falls to %s"
                           : "; triangles: tokens over which a recurrence's state falls to %s",
                 epsilon);
    for (size_t i = 0; rc == 0 && i < r->model_count; i++)
        if (asprintf(&headings[i], "%s%s", r->models[i].name,
                     u->is_map || !bars || has_bars(r, &r->models[i]) ? "" : " (no TRF)") < 0) {
            headings[i] = NULL;
            rc = fail(e, "out of memory for the headings");
        }
    l.title = title;
    l.headings = (const char *const *)headings;
    script_palettes(s);
    rc = rc == 0 ? layout_make(&l, s, e) : -1;
    for (size_t i = 0; rc == 0 && i < r->model_count; i++) {
        layout_panel(&l, s, i);
        if (i == 0)
            layout_scale(&l, s, l.columns - 1,
                         !u->is_map        ? "\"layer, from left to right\""
                         : shows_decays(u) ? "\"tokens\""
                                           : "\"attention field (tokens)\"");
        if (i % l.columns == 0)
            layout_ylabel(&l, s, i, u->is_map ? "\"layer\"" : "\"tokens\"");
        struct axis x = axis_linear('x', 0.5, (double)heads_of(&r->models[i]) + 0.5, l.across);
        x.whole = 1;
        x.bare = l.grid && !layout_is_lowest(&l, i);
        ticks_round(s, &x, 0);
        layout_xlabel(&l, s, i, "\"head\"");
        (u->is_map ? write_map : write_points)(s, &l, u, i);
    }
    if (rc == 0)
        layout_end(s);
    for (size_t i = 0; i < r->model_count; i++)
        free(headings[i]);
    free(headings);
    return rc;
}

static void extend(struct heads_figure *u, double tokens)
{
    if (tokens > 0)
        u->low = fmin(u->low, tokens), u->high = fmax(u->high, tokens);
}

static void extend_by_layer(struct heads_figure *u, const struct result_model *m, size_t layer)
{
    const struct result *r = u->result;

    for (size_t head = 0; head < heads_of(m); head++)
        if (u->is_map) {
            extend(u, field_of(r, m, layer, head));
        } else {
            extend(u, decay_of(r, m, layer, head));
            if (head < m->attention.heads) {
                extend(u, (double)row_of(r, m, layer, head)->erf);
                extend(u, (double)row_of(r, m, layer, head)->trf_length);
            }
        }
}

static struct heads_figure figure_of(const struct result *r, int is_map)
{
    struct heads_figure u = {r, INFINITY, 0, 1, is_map};

    for (size_t i = 0; i < r->model_count; i++) {
        int layers = (int)r->models[i].attention.layers;

        u.layers = layers > u.layers ? layers : u.layers;
        for (int l = 0; l < layers; l++)
            extend_by_layer(&u, &r->models[i], (size_t)l);
    }
    return u;
}

static int draw(const struct figure_place *to, const struct result *r, int is_map, struct error *e)
{
    struct heads_figure u = figure_of(r, is_map);

    return isfinite(u.low) ? script_make(to, write_heads, &u, e)
                           : fail(e, "%s: no attention to draw", to->folder);
}

int figure_has_attention(const struct result *r)
{
    return isfinite(figure_of(r, 0).low);
}

int figure_attention(const struct figure_place *to, const struct result *r, struct error *e)
{
    return draw(to, r, 0, e);
}

int figure_heads(const struct figure_place *to, const struct result *r, struct error *e)
{
    return draw(to, r, 1, e);
}
