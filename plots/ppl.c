/* Perplexity over the context, one line a model. */
#include "plots/ppl.h"

#include "plots/pixels.h"

#include <math.h>
#include <stdio.h>

#define PANEL_LEFT 0.075
#define PANEL_RIGHT 0.965
enum { ABOVE = 100, PANEL = 660, BELOW = 95 }; /* pixels over, of and under the panel, the key not counted */

enum { TICKS_MAX = 24 };

/* Perplexities beyond are not drawn: they are out of any reader's interest, and of a double's range soon. */
static const double most_nll = 200;

struct ppl_figure {
    const struct ppl_line *lines;
    size_t count;
    const char *title, *axis;
};

/* Ranges of what is drawn. */
struct extent {
    double left, right, low, high; /* contexts and L_tr; perplexities with their bars */
    double tick[TICKS_MAX]; /* the contexts, ascending; too many are cut */
    int ticks;
};

/* The ends of a point's bar. */
static double low_end(const struct ppl_point *p)
{
    return exp(p->nll - (isnan(p->std_error) ? 0 : 1.96 * p->std_error));
}
static double high_end(const struct ppl_point *p)
{
    return exp(p->nll + (isnan(p->std_error) ? 0 : 1.96 * p->std_error));
}

static int is_drawn(const struct ppl_point *p)
{
    return p->nll <= most_nll;
}

/* Adds a context to the ticks, in order, each once. */
static void add_tick(struct extent *u, double context)
{
    int at = 0;

    while (at < u->ticks && u->tick[at] < context)
        at++;
    if ((at < u->ticks && u->tick[at] == context) || u->ticks == TICKS_MAX)
        return;
    for (int i = u->ticks++; i > at; i--)
        u->tick[i] = u->tick[i - 1];
    u->tick[at] = context;
}

static struct extent extent_of(const struct ppl_figure *f)
{
    struct extent u = {INFINITY, 0, INFINITY, 0, {0}, 0};

    for (size_t i = 0; i < f->count; i++) {
        const struct ppl_line *l = &f->lines[i];

        for (size_t j = 0; j < l->count; j++) {
            const struct ppl_point *p = &l->points[j];

            u.left = fmin(u.left, p->context), u.right = fmax(u.right, p->context);
            add_tick(&u, p->context);
            if (is_drawn(p))
                u.low = fmin(u.low, low_end(p)), u.high = fmax(u.high, high_end(p));
        }
        if (l->train_length > 0)
            u.left = fmin(u.left, l->train_length), u.right = fmax(u.right, l->train_length);
    }
    if (u.high == 0)
        u.low = 1, u.high = 10;
    return u;
}

/* Ticks at the contexts that were measured; those that would run into the one before are left without a label. */
static void write_contexts(FILE *f, const struct extent *u)
{
    double gap = 0.045 * log(u->right / u->left), last = -INFINITY;

    fputs("set xtics (", f);
    for (int i = 0; i < u->ticks; i++) {
        int shown = log(u->tick[i]) - last >= gap;

        fprintf(f, "%s\"", i ? ", " : "");
        if (shown)
            fprintf(f, "%.0f", u->tick[i]), last = log(u->tick[i]);
        fprintf(f, "\" %.0f", u->tick[i]);
    }
    fputs(")\n", f);
}

/* A vertical line for each L_tr, once; labels that would run into each other take turns in height. */
static void write_train_lengths(FILE *f, const struct ppl_figure *figure, const struct extent *u)
{
    int drawn = 0;

    for (size_t i = 0; i < figure->count; i++) {
        int length = figure->lines[i].train_length, repeated = length <= 0;

        for (size_t j = 0; j < i; j++)
            repeated |= figure->lines[j].train_length == length;
        if (repeated)
            continue;
        fprintf(f, "set arrow from %d, graph 0 to %d, graph 1 nohead back lw 1.6 dt (5,5) lc rgb \"#555555\"\n", length, length);
        fprintf(f, "set label \"L_{tr} = %d\" at %d, graph %g %s enhanced textcolor rgb \"#333333\"\n", length, length,
                drawn++ % 2 ? 1.068 : 1.032,
                length == u->left && u->left < u->right    ? "left"
                : length == u->right && u->left < u->right ? "right"
                                                           : "center");
    }
}

static int write_ppl(FILE *f, const char *stem, const void *context, struct error *e)
{
    const struct ppl_figure *figure = context;
    struct extent u = extent_of(figure);
    struct pixels_key key = {.count = figure->count};
    double foot, height, room = u.right > u.left ? pow(u.right / u.left, 0.03) : 2, span;
    int steep = u.high / u.low > 4;
    const char *joint = "plot";

    (void)e;
    for (size_t i = 0; i < figure->count; i++) {
        const struct ppl_line *l = &figure->lines[i];
        size_t characters = pixels_characters(l->label);

        key.widest = characters > key.widest ? characters : key.widest;
        fprintf(f, "$line%zu << EOD\n", i + 1);
        for (size_t j = 0; j < l->count; j++)
            if (is_drawn(&l->points[j]))
                fprintf(f, "%.10g %.10g %.10g %.10g\n", l->points[j].context, exp(l->points[j].nll), low_end(&l->points[j]),
                        high_end(&l->points[j]));
            else
                fprintf(f, "%.10g NaN NaN NaN\n", l->points[j].context);
        fputs("EOD\n", f);
    }
    foot = BELOW + pixels_key_lay(&key);
    height = ABOVE + PANEL + foot;
    pixels_head(f, stem, height);
    fputs("set datafile missing \"NaN\"\nset border 31 lw 1.2 lc rgb \"#333333\"\nset tics nomirror out scale 0.8\n", f);
    fputs("set grid lw 0.6 lc rgb \"#E6E6E6\" dt solid back\n", f);
    fprintf(f, "set lmargin at screen %.3f\nset rmargin at screen %.3f\nset tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            PANEL_LEFT, PANEL_RIGHT, 1 - ABOVE / height, foot / height);
    pixels_key_place(f, &key, height);
    fputs("set label 1 '", f);
    pixels_quoted(f, figure->title, 200);
    fputs("' at graph 0, graph 1.1 left noenhanced font title_font\n", f);
    fprintf(f, "set logscale x\nset xrange [%.10g:%.10g]\nset xlabel \"%s\"\n", u.left / room, u.right * room, figure->axis);
    write_contexts(f, &u);
    if (steep) {
        span = pow(u.high / u.low, 0.05);
        fprintf(f, "set logscale y\nset yrange [%.10g:%.10g]\nset mytics 10\n", u.low / span, u.high * span);
        if (u.high / u.low < 100) /* powers of ten alone would be too few */
            fputs("set ytics (1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, "
                  "2000, 3000, 5000, 7000, 10000)\n",
                  f);
    } else {
        span = u.high > u.low ? 0.06 * (u.high - u.low) : 0.1 * u.high;
        fprintf(f, "set yrange [%.10g:%.10g]\n", u.low - span, u.high + span);
    }
    fputs("set ylabel \"perplexity\" offset 0.5,0\n", f);
    write_train_lengths(f, figure, &u);
    for (size_t i = 0; i < figure->count; i++) {
        fprintf(f, "%s $line%zu using 1:2:3:4 with yerrorbars pt %d ps 0 lw 1.5 lc rgb \"%s\" notitle", joint, i + 1,
                pixels_point(i), pixels_colour(i));
        joint = ", \\\n    ";
    }
    for (size_t i = 0; i < figure->count; i++) {
        fprintf(f, "%s $line%zu using 1:2 with linespoints ", joint, i + 1);
        pixels_line(f, i);
        fprintf(f, " pt %d ps mark title '", pixels_point(i));
        pixels_quoted(f, figure->lines[i].label, PIXELS_LABEL_CHARACTERS);
        fputs("'", f);
    }
    fputs("\nunset output\n", f);
    return 0;
}

int figure_ppl(const char *folder, const char *stem, const struct ppl_line *lines, size_t count, const char *title,
               const char *axis, const char *const *comments, const struct figure_style *style, struct error *e)
{
    struct ppl_figure figure = {lines, count, title, axis};

    for (size_t i = 0; i < count; i++)
        if (lines[i].count == 0)
            return fail(e, "%s: has no perplexity to draw", lines[i].label);
    if (count == 0)
        return fail(e, "%s: no perplexity to draw", folder);
    return pixels_make(folder, stem, comments, style, write_ppl, &figure, e);
}
