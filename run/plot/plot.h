/* Saved results in one figure: what `reach plot` collects and draws. */
#ifndef REACH_RUN_PLOT_PLOT_H
#define REACH_RUN_PLOT_PLOT_H

#include "plots/figure.h"
#include "run/plot/options.h"
#include "run/progress.h"
#include "run/report.h"

#include <stddef.h>

/* A curve of a saved result. */
struct plot_curve {
    struct figure_curve figure; /* its label and arrays are owned */
    char *path; /* of the file it came from; owned */
};

struct plot_run {
    const struct plot_options *options;
    struct progress *progress;
    const char *command; /* as it is recorded; borrowed */
    struct plot_curve *curves; /* [curve_count] */
    size_t curve_count;
    double threshold; /* of the first result that says one; 0: none */
    struct report *tables; /* [table_count] that are not curves, all of one kind */
    size_t table_count;
    const char *stem; /* of the figure's files */
    int drawn; /* what drawing returned (plots/figure.h) */
};

/* Reads the results and draws what follows from them. 0, or -1; where gnuplot has failed, *e says why. The caller frees the run,
 * also when it fails. */
int plot_run(struct plot_run *r, struct error *e) MUST_USE;
void plot_run_free(struct plot_run *r);

/* The steps of plot_run. Adds the curves of an erf.h5 or a curve.csv. */
int plot_add_curves(struct plot_run *r, const struct report *report, struct error *e) MUST_USE;
/* Labels that occur twice get the folder of their result in front. */
int plot_tell_apart(struct plot_run *r, struct error *e) MUST_USE;

/* Draws fields.gp: of each name in the tables its TRF of one layer and, where the table has one, across layers, and of each curve
 * of that name the measured ERF at `threshold` with the interval that its band gives. The epsilon nearest to 1 - threshold is
 * taken. Returns as figure_draw does. */
int plot_fields(const struct plot_run *r, double threshold, const char *const *comments, struct error *e) MUST_USE;
/* Draws ladder.gp: ERF at every threshold of all models of the tables, in order; `threshold` is the one with intervals (the
 * nearest counts). Other targets and layers of a model are left out. Returns as figure_draw does. */
int plot_ladder(const struct plot_run *r, double threshold, const char *const *comments, struct error *e) MUST_USE;
/* Draws ppl.gp: perplexity over the context, a line for each model and protocol of the tables; where there is no context (cached)
 * the window takes its place. Returns as figure_draw does. */
int plot_perplexity(const struct plot_run *r, const char *const *comments, struct error *e) MUST_USE;

#endif
