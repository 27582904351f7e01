/* Attention fields of heads beside their theoretical ones. */
#include "plots/result.h"

#include "plots/result_script.h"
#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMNS_MAX = 3,
    PANEL = 430,
    ABOVE = 110,
    BETWEEN = 110,
    BELOW = 75,
    PICTURE_WIDTH = 1600,
    LEFT = 100,
    RIGHT = 130,
    GAP = 70
};

struct heads_figure {
    const struct result *result;
    double low; /* of the axis of tokens */
};

/* The row of a head at the main threshold. */
static const struct attention_row *row_of(const struct result *r, const struct result_model *m, size_t layer, size_t head)
{
    return &m->attention.rows[(layer * m->attention.heads + head) * r->threshold_count + r->main_row];
}

/* Points x, attention ERF, layer: the layers of a head side by side. Bars: one a head and value. Returns 1 if there are bars. */
static int write_data(FILE *f, const struct result *r, const struct result_model *m, size_t number)
{
    size_t layers = m->attention.layers, heads = m->attention.heads;
    int bars = 0;

    fprintf(f, "$heads%zu << EOD\n", number);
    for (size_t h = 0; h < heads; h++)
        for (size_t l = 0; l < layers; l++)
            if (row_of(r, m, l, h)->erf > 0)
                fprintf(f, "%.4f %zu %zu\n", (double)h + 1 + (layers > 1 ? 0.56 * ((double)l / ((double)layers - 1) - 0.5) : 0),
                        row_of(r, m, l, h)->erf, l + 1);
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
            bars = 1;
        }
    fputs("EOD\n", f);
    return bars;
}

static void write_panel(FILE *f, const struct heads_figure *u, size_t i, int bars, double left, double top, double width,
                        double height, int is_first)
{
    const struct result_model *m = &u->result->models[i];
    int layers = (int)m->attention.layers, heads = (int)m->attention.heads;
    double apart = 0.56 * width / (heads + 0.2) / layers,
           size = fmin(0.9, fmax(0.3, apart / 12)); /* pixels between layers; of a point, in marks */

    fprintf(f,
            "\nset lmargin at screen %.4f\nset rmargin at screen %.4f\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            left / PICTURE_WIDTH, (left + width) / PICTURE_WIDTH, 1 - top / height, 1 - (top + PANEL) / height);
    fputs("set label 1 '", f);
    pixels_quoted(f, m->name, PIXELS_LABEL_CHARACTERS);
    fprintf(f, "%s' at graph 0, graph 1.05 left noenhanced\n", bars ? "" : " (no TRF)");
    fprintf(f, "set xrange [0.4:%.1f]\nset xtics %d\nset yrange [%.4g:%.0f]\nset xlabel \"head\" offset 0,0.3\n", heads + 0.6,
            heads / 17 + 1, u->low, 1.15 * (double)m->attention.positions + 1);
    fputs(is_first ? "set ylabel \"tokens\" offset 0.6,0\n" : "unset ylabel\n", f);
    fputs("plot ", f);
    if (bars)
        fprintf(f, "$fields%zu using 1:2:3:4 with vectors nohead lw 3 lc rgb \"#000000\" notitle, \\\n     ", i + 1);
    fprintf(f, "$heads%zu using 1:2 with points pt 7 ps %.2f*mark lc rgb \"#FFFFFF\" notitle, \\\n     ", i + 1, size + 0.2);
    fprintf(f, "$heads%zu using 1:2:3 with points pt 7 ps %.2f*mark lc palette notitle\n", i + 1, size);
}

static int write_attention(FILE *f, const char *stem, const void *figure, struct error *e)
{
    const struct heads_figure *u = figure;
    const struct result *r = u->result;
    size_t count = r->model_count,
           columns = count == 4            ? 2
                     : count < COLUMNS_MAX ? count
                                           : COLUMNS_MAX,
           rows = (count + columns - 1) / columns;
    double width = (double)(PICTURE_WIDTH - LEFT - RIGHT - GAP * (int)(columns - 1)) / (double)columns;
    double height = ABOVE + PANEL * (double)rows + BETWEEN * (double)(rows - 1) + BELOW;
    char epsilon[32];
    int layers = 1;

    (void)e;
    result_epsilon(epsilon, r->main_threshold);
    for (size_t i = 0; i < count; i++)
        layers = (int)r->models[i].attention.layers > layers ? (int)r->models[i].attention.layers : layers;
    pixels_head(f, stem, height);
    pixels_palette(f);
    fprintf(f,
            "set multiplot\nset label 100 \"Window that holds more than 1 \xe2\x88\x92 %s of a head's attention (points) and of "
            "the sum of exp(bias): TRF(%s) (bars)\" at screen %.4f, screen %.4f left font title_font\n",
            epsilon, epsilon, (double)LEFT / PICTURE_WIDTH, 1 - 38 / height);
    fputs("set border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.7\nset grid y lw 0.6 lc rgb \"#E6E6E6\" dt "
          "solid back\nunset key\n",
          f);
    fputs("set logscale y\nset ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, "
          "500000, 1000000)\n",
          f);
    fprintf(f, "set cbrange [1:%d]\nset cbtics %d format \"%%g\"\nset cblabel \"layer\" offset 0.5,0\n", layers > 1 ? layers : 2,
            layers / 12 + 1);
    fprintf(f, "set colorbox user origin screen %.4f, screen %.4f size screen 0.012, screen %.4f\n",
            (PICTURE_WIDTH - RIGHT + 25.0) / PICTURE_WIDTH, 1 - (ABOVE + PANEL) / height, PANEL / height);
    for (size_t i = 0; i < count; i++) {
        int bars = write_data(f, r, &r->models[i], i + 1);

        write_panel(f, u, i, bars, LEFT + (width + GAP) * (double)(i % columns),
                    ABOVE + (PANEL + BETWEEN) * (double)(i / columns), width, height, i % columns == 0);
        if (i == 0)
            fputs("unset label 100\nunset colorbox\n", f);
    }
    fputs("unset multiplot\nunset output\n", f);
    return 0;
}

int figure_attention(const char *folder, const char *stem, const struct result *r, const struct figure_style *style,
                     struct error *e)
{
    struct heads_figure figure = {r, INFINITY};

    for (size_t i = 0; i < r->model_count; i++)
        for (size_t h = 0; h < r->models[i].attention.layers * r->models[i].attention.heads; h++) {
            const struct attention_row *row = row_of(r, &r->models[i], 0, h); /* heads of all layers lie one after the other */

            if (row->erf > 0)
                figure.low = fmin(figure.low, (double)row->erf);
            if (row->trf_length > 0)
                figure.low = fmin(figure.low, (double)row->trf_length);
        }
    if (!isfinite(figure.low))
        return fail(e, "%s: no attention to draw", folder);
    figure.low = figure.low / 1.5;
    return pixels_of_result(folder, stem, r, style, write_attention, &figure, e);
}
