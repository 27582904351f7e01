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

static int has_layers(const struct plot_run *r)
{
    for (size_t i = 0; i < r->curve_count; i++)
        if (has_curves(r) && r->curves[i].model && result_layers(r->curves[i].model) > 1)
            return 1;
    return 0;
}

static int has_targets(const struct plot_run *r)
{
    for (size_t i = 0; i < r->curve_count; i++)
        if (has_curves(r) && r->curves[i].model && result_targets(r->curves[i].model) > 1)
            return 1;
    return 0;
}

static int has_attention(const struct plot_run *r)
{
    return plot_table(r, REPORT_ATTENTION, 0) != NULL;
}
static int has_fields(const struct plot_run *r)
{
    return plot_table(r, REPORT_FIELDS, 0) != NULL;
}
static int has_ladder(const struct plot_run *r)
{
    return plot_table(r, REPORT_LADDER, 0) != NULL;
}
static int has_perplexity(const struct plot_run *r)
{
    return plot_table(r, REPORT_PERPLEXITY, 0) != NULL;
}
static int has_gain(const struct plot_run *r)
{
    return plot_table(r, REPORT_GAIN, 0) != NULL;
}
static int has_validation(const struct plot_run *r)
{
    return plot_table(r, REPORT_VALIDATION, 0) != NULL;
}
static int has_biases(const struct plot_run *r)
{
    return plot_table(r, REPORT_BIASES, 0) != NULL;
}
static int has_fits(const struct plot_run *r)
{
    return plot_table(r, REPORT_FITS, 0) != NULL;
}

static const struct plot_figure figures[] = {
    {"erf", has_curves, plot_curves, 1, LENGTH_OF_CURVES},
    {"steps", has_steps, plot_steps, 1, LENGTH_NONE},
    {"layers", has_layers, plot_layers, 1, LENGTH_OF_CURVES},
    {"targets", has_targets, plot_targets, 1, LENGTH_OF_CURVES},
    {"attention", has_attention, plot_attention, 1, LENGTH_NONE},
    {"heads", has_attention, plot_heads, 1, LENGTH_NONE},
    {"fields", has_fields, plot_fields, 1, LENGTH_OF_CURVES},
    {"epsilon", plot_has_epsilons, plot_epsilons, 0, LENGTH_NONE},
    {"ladder", has_ladder, plot_ladder, 1, LENGTH_GIVEN},
    {"ppl", has_perplexity, plot_perplexity, 0, LENGTH_GIVEN},
    {"gain", has_gain, plot_gain, 0, LENGTH_GIVEN},
    {"validation", has_validation, plot_validation, 0, LENGTH_GIVEN},
    {"bias", has_biases, plot_bias, 0, LENGTH_NONE},
    {"matrix", has_biases, plot_matrix, 0, LENGTH_NONE},
    {"fit", has_fits, plot_fit, 0, LENGTH_NONE},
};
enum { FIGURES = sizeof figures / sizeof *figures };
_Static_assert((int)FIGURES <= (int)PLOT_FIGURES_MAX, "a run takes this many");

/* Every name of --figure must exist. */
static int check_names(const struct plot_run *r, const char *names, struct error *e)
{
    for (const char *p = names;; p++) {
        size_t length = strcspn(p, ","), used = 0;
        char there[200] = "";
        int known = 0;

        for (int i = 0; i < FIGURES; i++) {
            if (!figures[i].is_there(r))
                continue;
            known |= strlen(figures[i].stem) == length && strncmp(figures[i].stem, p, length) == 0;
            used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", used ? ", " : "",
                                     figures[i].stem);
        }
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

        if (!f->is_there(r) || !figure_has_panel(o->figures, f->stem))
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
