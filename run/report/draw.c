/* The figures of a report: those that `reach erf` and `reach plot` draw, as SVG. */
#include "plots/draw.h"
#include "run/erf/write.h"
#include "run/plot/plot.h"
#include "run/report/run.h"
#include "run/results.h"
#include "run/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path, struct error *e)
{
    FILE *f = fopen(path, "rbe");
    char *text = NULL;
    size_t room = 0;
    ssize_t length = f ? getdelim(&text, &room, 0, f) : -1;

    if (length <= 0)
        fail(e, "%s: cannot be read: %s", path, strerror(errno));
    if (f)
        fclose(f);
    if (length > 0)
        return text;
    free(text);
    return NULL;
}

/* Takes the drawn picture STEM.svg, or reports why it is missing. */
static int take(struct report_run *r, struct report_source *s, const char *stem, int drawn,
                struct error *e)
{
    char name[32], *path, *svg;

    if (drawn == FIGURE_NOT_DRAWN)
        progress_warning(r->progress, "%s: %s", s->file.path, e->text);
    r->without_gnuplot |= drawn == FIGURE_NO_GNUPLOT;
    if (drawn != 0)
        return drawn < 0 ? -1 : 0;
    snprintf(name, sizeof name, "%s.svg", stem);
    path = results_path(r->drawn_in, name, e);
    svg = path ? read_text(path, e) : NULL;
    free(path);
    if (!svg)
        return -1;
    s->figures[s->figure_count++] = (struct report_figure){stem, svg};
    return 0;
}

/* A table or a result drawn as by `reach plot`, with these figures or, NULL, all of its own; what
 * it lacks is reported here. */
static int draw_table(struct report_run *r, struct report_source *s, const char *figures,
                      struct error *e)
{
    struct plot_options o = {.results = {(const char *[]){s->file.path}, 1},
                             .folder = r->drawn_in,
                             .figures = figures,
                             .formats = "svg",
                             .force = 1};
    struct progress quiet = {.say = progress_silent};
    struct plot_run plot = {.options = &o,
                            .progress = &quiet,
                            .command = s->file.table.command ? s->file.table.command : ""};
    int rc = plot_run(&plot, e);

    for (size_t i = 0; rc == 0 && i < plot.figure_count && s->figure_count < REPORT_FIGURES; i++)
        rc = take(r, s, plot.figures[i]->stem, plot.drawn, e);
    plot_run_free(&plot);
    return rc;
}

/* 1: its models are the steps of a training run; -1: out of memory. */
static int has_steps(const struct result *r, struct error *e)
{
    const char **names = calloc(r->model_count + 1, sizeof *names);
    double *steps = calloc(r->model_count + 1, sizeof *steps);
    int found = -1;

    for (size_t i = 0; names && i < r->model_count; i++)
        names[i] = r->models[i].name;
    if (names && steps)
        found = r->model_count > 1 && steps_find(steps, names, r->model_count) == STEPS_STATED;
    else
        fail(e, "out of memory for the steps");
    free(names);
    free(steps);
    return found;
}

int report_draw(struct report_run *r, struct report_source *s, struct error *e)
{
    int steps;

    switch (s->file.kind) {
    case REPORT_ERF:
        for (size_t i = 0; erf_figure(i); i++) {
            const struct result_figure *one = erf_figure(i);

            if (one->is_wanted(&s->result) &&
                take(r, s, one->stem, erf_draw(one, r->drawn_in, "svg", &s->result, e), e) != 0)
                return -1;
        }
        if ((steps = has_steps(&s->result, e)) > 0)
            return draw_table(r, s, "steps", e);
        return steps;
    case REPORT_TABLE:
    case REPORT_EXPLANATIONS:
    case REPORT_TARGETS: return 0; /* they need others, or have none */
    case REPORT_CURVES:
    case REPORT_LADDER:
    case REPORT_PERPLEXITY:
    case REPORT_GAIN:
    case REPORT_VALIDATION:
    case REPORT_FIELDS:
    case REPORT_WEIGHTS:
    case REPORT_BIASES:
    case REPORT_FITS:
    case REPORT_ATTENTION: break;
    }
    return draw_table(r, s, NULL, e);
}
