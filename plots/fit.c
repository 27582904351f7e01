/* Fits to biases and other points over the distance. */
#include "plots/fit.h"

#include "plots/layout.h"
#include "plots/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is drawn. */
struct drawn {
    const struct fit_figures *fits;
    struct fit_lines lines;
    int has_points; /* and so residuals */
    double first, last; /* distances */
    struct axis y[2]; /* of y, of residuals */
};

/* A vertical axis that holds all values it was widened by. */
static void widen(struct axis *y, double value)
{
    if (isfinite(value))
        y->low = fmin(y->low, value), y->high = fmax(y->high, value);
}

static void add_room(struct axis *y)
{
    double room = 0.04 * (y->high - y->low);

    if (!(room > 0 && isfinite(room)))
        room = isfinite(y->low) && y->low != 0 ? fabs(y->low) / 2 : 1;
    y->low = (isfinite(y->low) ? y->low : 0) - room;
    y->high = (isfinite(y->high) ? y->high : 0) + room;
}

/* A line: t, y of a single fit; least, median and greatest fitted value, and the same of
 * residuals. */
static int write_line(struct script *s, struct drawn *u, size_t i, struct error *e)
{
    const struct fit_line *line = &u->lines.lines[i];
    const struct fit_figure *one = line->members[0];
    double *values = malloc(line->count * sizeof *values), spread[3];

    if (!values)
        return fail_memory(e, (double)line->count * sizeof *values, "a line of a figure");
    fprintf(s->data, "$fit%zu << EOD\n", i + 1);
    for (size_t k = 0; k < one->points; k++) {
        if (!matrix_is_drawn(k, one->points))
            continue;
        fprintf(s->data, "%.10g %.10g", one->t[k],
                u->has_points && line->count == 1 ? one->y[k] : NAN);
        if (u->has_points && line->count == 1)
            widen(&u->y[0], one->y[k]);
        for (int residual = 0; residual < 2; residual++) {
            for (size_t m = 0; m < line->count; m++) {
                const struct fit_figure *f = line->members[m];

                values[m] = !residual ? f->fitted[k] : u->has_points ? f->y[k] - f->fitted[k] : NAN;
            }
            fit_spread(spread, values, line->count);
            for (int side = 0; side < 3; side++) {
                widen(&u->y[residual], spread[side]);
                fprintf(s->data, " %.10g", spread[side]);
            }
        }
        fputs("\n", s->data);
    }
    fputs("EOD\n", s->data);
    u->first = fmin(u->first, one->t[0]);
    u->last = fmax(u->last, one->t[one->points - 1]);
    free(values);
    return 0;
}

/* Units for the texts of a key in one column. */
static double room_of(const struct script *s)
{
    return s->width - 140;
}

/* The length of the part of a text before the last comma that fits into a line; 0: all fits. */
static size_t first_part(const char *text, const struct script *s)
{
    size_t part = 0;

    if (text_width(text) <= room_of(s))
        return 0;
    for (const char *p = text; (p = strstr(p, ", ")); p++)
        if (!part || text_width_to(text, p) <= room_of(s))
            part = (size_t)(p - text) + 1;
    return part;
}

/* The points with their curves, or the residuals. A single fit has points and curve in two colours.
 * `in_lines`: a curve's entry in the key is on a separate line. */
static void write_lines(struct script *s, const struct drawn *u, int logarithmic, int residuals,
                        int with_key, int in_lines)
{
    const char *x = logarithmic ? "($1+1)" : "1";
    const struct fit_lines *l = &u->lines;
    int alone = l->count == 1 && l->lines[0].count == 1 && u->has_points,
        column = residuals ? 7 : 4; /* of the median */
    FILE *f = s->plot;

    for (size_t i = 0; i < l->count; i++)
        if (l->lines[i].count > 1)
            script_add(s,
                       " $fit%zu using %s:%d:%d with filledcurves ls %zu fs transparent solid "
                       "0.17 noborder notitle",
                       i + 1, x, column - 1, column + 1, i + 1);
    for (size_t i = 0; u->has_points && !residuals && i < l->count; i++) {
        if (l->lines[i].count > 1)
            continue;
        script_add(s, " $fit%zu using %s:2 with lines ls %zu lw 1.4*line_width dt solid", i + 1, x,
                   i + 1);
        fputs(with_key && alone ? " title t(quantity1)" : " notitle", f);
    }
    for (size_t i = 0; i < l->count; i++) {
        size_t style = alone && !residuals ? 2 : i + 1;

        script_add(s, " $fit%zu using %s:%d with lines ls %zu%s", i + 1, x, column, style,
                   alone                                 ? " dt solid"
                   : residuals && l->lines[i].count == 1 ? " lw 1.6*line_width"
                                                         : "");
        if (alone && residuals)
            fputs(" lw 1.4*line_width", f);
        if (with_key && !residuals && in_lines) {
            fprintf(f,
                    " title t(label%zu).':', \\\n    keyentry with lines lt nodraw title "
                    "t(curve%zu)",
                    i + 1, i + 1);
            if (first_part(l->lines[i].text, s))
                fprintf(f, ", \\\n    keyentry with lines lt nodraw title t(rest%zu)", i + 1);
        } else if (with_key && !residuals) {
            fprintf(f, " title t(label%zu).':  '.t(curve%zu)", i + 1, i + 1);
        } else {
            fputs(" notitle", f);
        }
    }
    script_add_end(s);
}

/* The entries of the key, each in one line or in two; returns 1 if in two. */
static int make_key(struct script *s, const struct drawn *u, struct key *key)
{
    double one = 0, two = 0;
    size_t parts = 0;

    for (size_t i = 0; i < u->lines.count; i++) {
        const struct fit_line *line = &u->lines.lines[i];
        char text[256];

        snprintf(text, sizeof text, ":  %s", line->text);
        script_text(s, "label", i + 1, line->label);
        key->count++;
        one = fmax(one, script_width(s, line->label) + text_width(text));
        key->characters = (size_t)fmax((double)key->characters,
                                       (double)(script_characters(s, line->label) + strlen(text)));
    }
    for (size_t i = 0; i < u->lines.count; i++) {
        const struct fit_line *line = &u->lines.lines[i];
        size_t part = one > room_of(s) ? first_part(line->text, s) : 0;
        char text[256];

        snprintf(text, sizeof text, "%.*s", part ? (int)part : 255, line->text);
        script_text_long(s, "curve", i + 1, text);
        two = fmax(two, fmax(script_width(s, line->label), text_width(text)));
        if (part) {
            script_text_long(s, "rest", i + 1, line->text + part + 1);
            two = fmax(two, text_width(line->text + part + 1));
        }
        parts += 1 + (part > 0);
    }
    key->widest = one;
    if (one > room_of(s))
        key->count += parts, key->widest = fmin(two, room_of(s)),
                             key->characters = (size_t)(key->widest / 9);
    return one > room_of(s);
}

static int write_panels(struct script *s, struct drawn *u, struct error *e)
{
    const struct fit_lines *lines = &u->lines;
    int linear = figure_has_panel(s->style->panels, "linear"),
        logarithmic = figure_has_panel(s->style->panels, "log"), across = linear + logarithmic,
        points = u->has_points, bands = 0, in_lines;
    char drawn[256];
    const char *headings[4] = {drawn, "The same on a logarithmic axis", points ? "Residuals" : "",
                               points ? "Residuals" : ""};
    struct key key = {.count = 0};
    struct layout l = {.panels = (size_t)(points ? 2 * across : across),
                       .columns = (size_t)across,
                       .high = points ? 330 : 500,
                       .left = 114,
                       .right = 40,
                       .above = 8,
                       .headings = headings,
                       .key = &key};

    for (size_t i = 0; i < lines->count; i++)
        bands |= lines->lines[i].count > 1;
    snprintf(drawn, sizeof drawn, "Fit%s%.120s%s", lines->has_form ? " y = " : "",
             lines->has_form ? lines->lines[0].members[0]->form : "", bands ? "; band: all" : "");
    if (across == 1)
        headings[1] = headings[2];
    in_lines = make_key(s, u, &key);
    key.count += points && lines->count == 1 && !bands; /* for a single fit also the points */
    script_text_long(s, "quantity", 1, u->fits->quantity);
    script_lines(s, lines->count == 1 ? 2 : lines->count);
    if (layout_make(&l, s, e) != 0)
        return -1;
    script_frame(s, 1);
    for (size_t panel = 0; panel < l.panels; panel++) {
        int residuals = panel >= (size_t)across,
            in_logarithm = linear && logarithmic ? panel % 2 == 1 : logarithmic;
        struct axis x = axis_linear('x', u->first + in_logarithm, u->last + in_logarithm, l.across),
                    *y = &u->y[residuals];

        x.logarithmic = in_logarithm;
        y->size = l.down;
        layout_panel(&l, s, panel);
        layout_ylabel(&l, s, panel, residuals ? "\"residual\"" : "t(quantity1)");
        fprintf(s->plot, "set xrange [%.10g:%.10g]\nset xlabel %s\n", x.low, x.high,
                in_logarithm ? "m(\"1 + t\")" : "\"distance \".m(\"t\").\" (tokens)\"");
        if (in_logarithm)
            fputs("set logscale x\n", s->plot);
        if (residuals)
            fputs("set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead lw 1.2 lc rgb "
                  "\"#555555\"\n",
                  s->plot);
        fprintf(s->plot, "set yrange [%.10g:%.10g]\n", y->low, y->high);
        ticks_round(s, &x, 0);
        ticks_round(s, y, 0);
        write_lines(s, u, in_logarithm, residuals, panel == 0, in_lines);
    }
    layout_end(s);
    return 0;
}

static int write_fit(struct script *s, const void *figure, struct error *e)
{
    const struct fit_figures *fits = figure;
    struct drawn u = {.fits = fits,
                      .has_points = fits->fits[0].y != NULL,
                      .first = INFINITY,
                      .last = -INFINITY,
                      .y = {axis_linear('y', INFINITY, -INFINITY, 0),
                            axis_linear('y', INFINITY, -INFINITY, 0)}};
    int rc = fit_lines_make(&u.lines, fits, e);

    for (size_t i = 0; i < u.lines.count && rc == 0; i++)
        rc = write_line(s, &u, i, e);
    if (!(u.last > u.first))
        u.last = u.first + 1;
    add_room(&u.y[0]);
    add_room(&u.y[1]);
    rc = rc == 0 ? write_panels(s, &u, e) : rc;
    fit_lines_free(&u.lines);
    return rc;
}

int figure_fit(const struct figure_place *to, const struct fit_figures *u, struct error *e)
{
    return u->count ? script_make(to, write_fit, u, e) : fail(e, "%s: no fit to draw", to->folder);
}
