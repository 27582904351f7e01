/* Curves over the steps of a training run. */
#include "run/plot/plot.h"

#include "plots/steps.h"
#include "run/steps.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* 1: as given; or -1. */
static int read_steps(struct plot_run *r, const char *text, struct error *e)
{
    size_t i = 0;

    for (const char *p = text;; p++, i++) {
        char *end;
        double step = strtod(p, &end);

        if (!(isdigit((unsigned char)*p) || *p == '.') || tolower((unsigned char)p[1]) == 'x' ||
            end == p || (*end && *end != ',') || !isfinite(step) || !(step >= 0))
            return fail(
                e, "--steps: \"%s\" is not valid (expected a number for each curve, with commas)",
                text);
        if (i < r->curve_count)
            r->curves[i].step = step;
        p = end;
        if (!*p)
            break;
    }
    if (i + 1 != r->curve_count || r->named)
        return fail(e,
                    "--steps: has %zu numbers for %zu curves (expected one for each, of results of "
                    "`reach erf`)",
                    i + 1, r->named ? (size_t)0 : r->curve_count);
    return 1;
}

static int by_step(const void *a, const void *b)
{
    const struct plot_curve *x = a, *y = b;

    return (x->step > y->step) - (x->step < y->step);
}

/* Names state the steps of one training if its curves have one length. */
static int steps_of_labels(struct plot_run *r, struct error *e)
{
    const char **labels = plot_new(r, r->curve_count, sizeof *labels, e);
    double *steps = plot_new(r, r->curve_count, sizeof *steps, e);
    int all;

    if (!labels || !steps)
        return -1;
    for (size_t i = 0; i < r->curve_count; i++)
        labels[i] = r->curves[i].figure.label;
    all = steps_find(steps, labels, r->curve_count) == STEPS_STATED;
    for (size_t i = 0; i < r->curve_count; i++) {
        all &= r->curves[i].figure.positions == r->curves[0].figure.positions;
        r->curves[i].step = steps[i];
    }
    return all;
}

int plot_find_steps(struct plot_run *r, struct error *e)
{
    int all = r->options->steps ? read_steps(r, r->options->steps, e) : steps_of_labels(r, e);

    if (all < 0)
        return -1;
    all &= r->curve_count > 1;
    for (size_t i = 0; i < r->curve_count; i++)
        for (size_t j = 0; j < i; j++)
            all &= r->curves[i].step != r->curves[j].step;
    if (all)
        qsort(r->curves, r->curve_count, sizeof *r->curves, by_step);
    else if (r->options->steps)
        return fail(e, "--steps: two curves have the same one (expected a step for each of at "
                       "least two curves)");
    for (size_t i = 0; !all && i < r->curve_count; i++)
        r->curves[i].step = NAN;
    return 0;
}

int plot_steps(struct plot_run *r, const struct figure_place *to, struct error *e)
{
    double thresholds[PLOT_THRESHOLDS];
    struct step_curve *points = plot_new(r, r->curve_count, sizeof *points, e);
    size_t count = r->curve_count;

    if (r->options->labels.count)
        return fail(e, "--label: steps.gp shows no names (expected --figure with another)");
    if (!points)
        return -1;
    for (size_t i = 0; i < count; i++)
        points[i] = (struct step_curve){r->curves[i].figure.label, r->curves[i].step,
                                        &r->curves[i].figure};
    points = plot_pick(r, to->stem, points, sizeof *points, &count, e);
    return points ? figure_steps(to,
                                 &(struct step_curves){points, count, thresholds,
                                                       plot_thresholds(thresholds, r)},
                                 e)
                  : -1;
}
