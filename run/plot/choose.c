/* The available figures, and the options of each. */
#include "run/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Curves make separate figures if no table was named. */
static int has_curves(const struct plot_run *r)
{
    return r->curve_count > 0 && !r->named;
}

static int has_steps(const struct plot_run *r)
{
    return has_curves(r) && !isnan(r->curves[0].step);
}

static int has_several(const struct plot_run *r, size_t (*parts)(const struct result_model *m))
{
    for (size_t i = 0; i < r->curve_count; i++)
        if (has_curves(r) && r->curves[i].model && parts(r->curves[i].model) > 1)
            return 1;
    return 0;
}

static int has_layers(const struct plot_run *r)
{
    return has_several(r, result_layers);
}

static int has_targets(const struct plot_run *r)
{
    return has_several(r, result_targets);
}

static const struct plot_figure figures[] = {
    {"erf", REPORT_CURVES, has_curves, plot_curves, 1, LENGTH_OF_CURVES},
    {"steps", REPORT_CURVES, has_steps, plot_steps, 1, LENGTH_NONE},
    {"layers", REPORT_ERF, has_layers, plot_layers, 1, LENGTH_OF_CURVES},
    {"targets", REPORT_ERF, has_targets, plot_targets, 1, LENGTH_OF_CURVES},
    {"attention", REPORT_ATTENTION, NULL, plot_attention, 1, LENGTH_NONE},
    {"heads", REPORT_ATTENTION, NULL, plot_heads, 1, LENGTH_NONE},
    {"fields", REPORT_FIELDS, NULL, plot_fields, 1, LENGTH_OF_CURVES},
    {"epsilon", REPORT_FIELDS, plot_has_epsilons, plot_epsilons, 0, LENGTH_NONE},
    {"trf", REPORT_WEIGHTS, NULL, plot_weights, 0, LENGTH_NONE},
    {"ladder", REPORT_LADDER, NULL, plot_ladder, 1, LENGTH_GIVEN},
    {"ppl", REPORT_PERPLEXITY, NULL, plot_perplexity, 0, LENGTH_GIVEN},
    {"gain", REPORT_GAIN, NULL, plot_gain, 0, LENGTH_GIVEN},
    {"validation", REPORT_VALIDATION, NULL, plot_validation, 0, LENGTH_GIVEN},
    {"bias", REPORT_BIASES, NULL, plot_bias, 0, LENGTH_NONE},
    {"matrix", REPORT_BIASES, NULL, plot_matrix, 0, LENGTH_NONE},
    {"fit", REPORT_FITS, NULL, plot_fit, 0, LENGTH_NONE},
};
enum { FIGURES = sizeof figures / sizeof *figures };
_Static_assert((int)FIGURES <= (int)PLOT_FIGURES_MAX, "a run takes this many");

static int is_there(const struct plot_run *r, const struct plot_figure *f)
{
    return f->has ? f->has(r) : plot_table(r, f->table, 0) != NULL;
}

/* Every name of --figure must exist. */
static int check_names(const struct plot_run *r, const char *names, struct error *e)
{
    for (const char *p = names;; p++) {
        size_t length = strcspn(p, ","), used = 0;
        char there[200] = "";
        int known = 0;

        for (int i = 0; i < FIGURES; i++) {
            if (!is_there(r, &figures[i]))
                continue;
            known |= strlen(figures[i].stem) == length && strncmp(figures[i].stem, p, length) == 0;
            used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", used ? ", " : "",
                                     figures[i].stem);
        }
        if (!known && length == 3 && strncmp(p, "trf", 3) == 0 && plot_table(r, REPORT_FIELDS, 0))
            return fail(e, "--figure trf: is drawn from weights.csv, which is not among the "
                           "results (expected a folder that `reach trf` has written since 0.3.0, "
                           "of at least one series)");
        if (!known)
            return fail(e, "--figure: these results have no figure \"%.*s\" (expected %s)",
                        (int)length, p, there);
        p += length;
        if (!*p)
            return 0;
    }
}

/* Sets the training length of the curves that lack one; a curve's own is kept. `marked`: 1 if a
 * figure marks the given length, whatever the curves say. */
static int set_lengths(struct plot_run *r, int marked, struct error *e)
{
    size_t lacking = 0;

    for (size_t i = 0; i < r->curve_count; i++)
        if (!r->curves[i].figure.train_length) {
            r->curves[i].figure.train_length = (int)r->options->train_length;
            lacking++;
        }
    if (lacking || marked)
        return 0;
    return fail(
        e, "--train-length: %s",
        r->curve_count
            ? "the results state the training lengths themselves"
            : "fields.gp marks those of models (expected a result of `reach erf` beside trf.csv)");
}

int plot_choose(struct plot_run *r, struct error *e)
{
    const struct plot_options *o = r->options;
    int marked = 0;

    if (o->figures && check_names(r, o->figures, e) != 0)
        return -1;
    for (int i = 0; i < FIGURES; i++) {
        const struct plot_figure *f = &figures[i];

        if (!is_there(r, f) || !figure_has_panel(o->figures, f->stem))
            continue;
        if (figure_check_style(f->stem, &r->style, e) != 0)
            return -1;
        if (o->threshold > 0 && !f->takes_threshold)
            return fail(
                e,
                "--threshold: %s.gp shows no field of a threshold (expected --figure with another)",
                f->stem);
        if (o->train_length > 0 && !f->takes_length)
            return fail(e, "--train-length: %s.gp marks none (expected --figure with another)",
                        f->stem);
        marked |= f->takes_length == LENGTH_GIVEN;
        r->figures[r->figure_count++] = f;
    }
    return o->train_length > 0 ? set_lengths(r, marked, e) : 0;
}
