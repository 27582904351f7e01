#include "run/plot/plot.h"

#include "analyze/curve.h"
#include "run/results.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Named tables are drawn without curves and only one kind at a time, except theoretical fields. */
static int check_named(const struct plot_run *r, struct error *e)
{
    const struct plot_table *first = NULL;

    for (size_t i = 0; i < r->table_count; i++) {
        const struct plot_table *t = &r->tables[i];
        int pair = first &&
                   (first->report.kind == REPORT_PERPLEXITY ||
                    first->report.kind == REPORT_TARGETS) &&
                   (t->report.kind == REPORT_PERPLEXITY || t->report.kind == REPORT_TARGETS);

        if (t->in_folder)
            continue;
        first = first ? first : t;
        if (t->report.kind != first->report.kind && !pair)
            return fail(e, "%s: is another kind of table than %s (expected tables of one kind)",
                        t->report.path, first->report.path);
    }
    if (first && r->curve_count && first->report.kind != REPORT_FIELDS)
        return fail(e,
                    "%s: cannot be drawn with curves (expected tables of one kind, or results of "
                    "`reach erf`)",
                    first->report.path);
    if (plot_table(r, REPORT_TARGETS, 0) && !plot_table(r, REPORT_PERPLEXITY, 0))
        return fail(e, "%s: holds only single targets (expected ppl.csv of the same run beside it)",
                    plot_table(r, REPORT_TARGETS, 0)->path);
    return 0;
}

/* The options as figures take them. */
static int make_style(struct plot_run *r, struct error *e)
{
    const struct plot_options *o = r->options;
    int wide_pixels = 0, high_pixels = 0;

    r->style = (struct figure_style){.formats = o->formats,
                                     .font = o->font,
                                     .font_size = o->font_size,
                                     .title = o->no_title ? "" : o->title,
                                     .panels = o->panels,
                                     .legend = o->legend,
                                     .logarithmic_x = o->logarithmic_x,
                                     .sequential = o->sequential};
    if ((o->width && figure_read_length(o->width, &r->style.width, &wide_pixels, e) != 0) ||
        (o->height && figure_read_length(o->height, &r->style.height, &high_pixels, e) != 0))
        return -1;
    if (wide_pixels || high_pixels)
        r->style.dpi = 96;
    else if (o->width || o->height)
        r->style.dpi = 300;
    return 0;
}

/* None of the scripts may exist. */
static int check_new(const struct plot_run *r, struct error *e)
{
    for (size_t i = 0; i < r->figure_count; i++) {
        char *script = NULL;
        int there;

        if (asprintf(&script, "%s/%s.gp", r->options->folder, r->figures[i]->stem) < 0)
            return fail(e, "%s: out of memory", r->options->folder);
        there = access(script, F_OK) == 0;
        if (there)
            fail(e, "%s: exists (expected --force to overwrite it, or another folder with -o)",
                 script);
        free(script);
        if (there)
            return -1;
    }
    return 0;
}

/* Draws figure after figure, and continues if gnuplot fails. Returns -1, or the worst result of
 * drawing, with its message. */
static int draw(struct plot_run *r, const char *const *comments, struct error *e)
{
    int worst = 0;

    r->threshold = r->options->threshold > 0              ? r->options->threshold
                   : r->threshold > 0 && r->threshold < 1 ? r->threshold
                                                          : 0.99;
    for (size_t i = 0; i < r->curve_count; i++) {
        struct figure_curve *u = &r->curves[i].figure;

        u->erf = curve_erf(u->c, u->positions, r->threshold);
        u->saturated = u->erf == u->positions;
    }
    for (size_t i = 0; i < r->figure_count; i++) {
        const struct figure_place to = {r->options->folder, r->figures[i]->stem, comments,
                                        &r->style};
        struct error own;
        int rc = r->figures[i]->draw(r, &to, &own);

        if (rc != 0)
            *e = own;
        if (rc < 0)
            return -1;
        worst = rc > worst ? rc : worst;
    }
    return worst;
}

int plot_run(struct plot_run *r, struct error *e)
{
    const struct plot_options *o = r->options;
    struct results place = {.lock = -1};
    char *command = NULL;
    int rc = make_style(r, e);

    for (int i = 0; i < o->results.count && rc == 0; i++)
        rc = plot_add(r, o->results.item[i], e);
    if (rc != 0 || check_named(r, e) != 0 || plot_tell_apart(r, e) != 0 ||
        plot_find_steps(r, e) != 0 || plot_choose(r, e) != 0)
        return -1;
    rc = -1;
    command = command_comment(r->command);
    if (!command)
        fail(e, "%s: out of memory", o->folder);
    else if (results_open(&place, o->folder, NULL, 1, e) == 0 &&
             (o->force || check_new(r, e) == 0)) {
        r->drawn = draw(r, (const char *const[]){"reach " REACH_VERSION, command, NULL}, e);
        rc = results_drawn(r->drawn, o->folder, o->formats, o->font, r->progress, e);
    }
    results_close(&place);
    free(command);
    return rc;
}

void plot_run_free(struct plot_run *r)
{
    for (size_t i = 0; i < r->curve_count; i++) {
        free((double *)r->curves[i].figure.c);
        free((char *)r->curves[i].figure.label);
        free(r->curves[i].path);
    }
    for (size_t i = 0; i < r->result_count; i++) {
        result_free(r->results[i]);
        free(r->results[i]);
    }
    for (size_t i = 0; i < r->table_count; i++)
        report_close(&r->tables[i].report);
    for (size_t i = 0; i < r->kept_count; i++)
        free(r->kept[i]);
    free(r->curves);
    free(r->results);
    free(r->tables);
    free(r->kept);
    *r = (struct plot_run){.options = r->options};
}
