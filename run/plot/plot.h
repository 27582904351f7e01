/* Saved results as figures: what `reach plot` collects and draws. */
#ifndef REACH_RUN_PLOT_PLOT_H
#define REACH_RUN_PLOT_PLOT_H

#include "io/results/result.h"
#include "plots/figure.h"
#include "run/plot/options.h"
#include "run/progress.h"
#include "run/report.h"

#include <stddef.h>

/* A curve of a saved result. */
struct plot_curve {
    struct figure_curve figure; /* its label and arrays are owned */
    char *path; /* of the file it came from; owned */
    const struct result_model *model; /* NULL: of a table, which has no more than the curve */
    double step; /* of training; NaN: not known */
};

/* A table that is no curves. */
struct plot_table {
    struct report report;
    int in_folder; /* 1: found in a folder, 0: named by itself */
};

struct plot_figure;

enum { PLOT_FIGURES_MAX = 16 };

struct plot_run {
    const struct plot_options *options;
    struct progress *progress;
    const char *command; /* as it is recorded; borrowed */
    struct figure_style style; /* what the options say of it */
    struct plot_curve *curves; /* [curve_count] */
    size_t curve_count;
    struct result **results; /* [result_count] that curves' models are of */
    size_t result_count;
    double threshold; /* of the first result that says one; 0: none */
    struct plot_table *tables; /* [table_count] */
    size_t table_count;
    int named; /* 1: a table was named by itself: tables in folders do not count */
    const struct plot_figure *figures[PLOT_FIGURES_MAX]; /* [figure_count] that are drawn */
    size_t figure_count;
    int drawn; /* what drawing returned (plots/figure.h), the worst */
};

/* The training lengths that a figure marks: none, those of curves, which may say theirs, or that of --train-length alone. */
enum { LENGTH_NONE, LENGTH_OF_CURVES, LENGTH_GIVEN };

/* A kind of figure. */
struct plot_figure {
    const char *stem; /* of its files */
    int (*is_there)(const struct plot_run *r); /* 1 if the results have it */
    /* Returns as figure_draw does. */
    int (*draw)(const struct plot_run *r, double threshold, const char *const *comments, struct error *e);
    int takes_threshold, takes_length; /* --threshold; of LENGTH_, --train-length */
};

/* Reads the results and draws what follows from them. 0, or -1; where gnuplot has failed, *e says why. The caller frees the run,
 * also when it fails. */
int plot_run(struct plot_run *r, struct error *e) MUST_USE;
void plot_run_free(struct plot_run *r);

/* The steps of plot_run. Opens a RESULT; of a folder all that can be drawn. */
int plot_add(struct plot_run *r, const char *path, struct error *e) MUST_USE;
/* Adds the curves of an erf.h5 or a curve.csv. */
int plot_add_curves(struct plot_run *r, const struct report *report, struct error *e) MUST_USE;
/* Labels that occur twice get the folder of their result in front. */
int plot_tell_apart(struct plot_run *r, struct error *e) MUST_USE;
/* Steps of training: of the option, or of labels such as step-1000. */
int plot_find_steps(struct plot_run *r, struct error *e) MUST_USE;
/* Chooses the figures, and refuses options that one of them cannot take. */
int plot_choose(struct plot_run *r, struct error *e) MUST_USE;

/* The thresholds that figures of curves show, that one first. Returns how many. */
enum { PLOT_THRESHOLDS = 6 };
size_t plot_thresholds(double out[PLOT_THRESHOLDS], double threshold);

/* --only and --label: keep[i] is 0 for names that are left out, labels[i] becomes the text that stands for a name (borrowed).
 * A name that is not among them is refused. `stem` is for messages. */
int plot_names(const struct plot_run *r, const char *stem, const char **labels, unsigned char *keep, size_t count,
               struct error *e) MUST_USE;

/* The same of rows of `size` bytes, each of a struct whose first member is its `const char *label`: a copy of those that are
 * kept, under their texts, *count of them. The caller frees it, and it alone; NULL with *e. */
void *plot_pick(const struct plot_run *r, const char *stem, const void *rows, size_t size, size_t *count,
                struct error *e) MUST_USE;

/* Table number nth of a kind, from 0; NULL: there are fewer. */
const struct report *plot_table(const struct plot_run *r, enum report_kind kind, size_t nth);

/* Draw what the name says; all as the `draw` of a figure. `threshold` is that of --threshold, of the first result, or 0.99. */
typedef int plot_draw(const struct plot_run *r, double threshold, const char *const *comments, struct error *e);
/* The curves, and their fields over the step of training. */
plot_draw plot_curves, plot_steps;
/* Of the models of erf.h5 that have several layers, or targets. */
plot_draw plot_layers, plot_targets;
/* Of attention.csv: points by head, and a map of layers and heads. */
plot_draw plot_attention, plot_heads;
/* Of each name in the tables its TRF of one layer and, where the table has one, across layers, and of each curve of that name the
 * measured ERF at `threshold` with the interval that its band gives. The epsilon nearest to 1 - threshold is taken. */
plot_draw plot_fields;
/* Of the same tables, where they have several epsilons: TRF over epsilon, a line for each name, length and depth, of all its
 * heads or the last one. */
plot_draw plot_epsilons;
int plot_has_epsilons(const struct plot_run *r);
/* ERF at every threshold of all models of the tables, in order; `threshold` is the one with intervals (the nearest counts). Other
 * targets and layers of a model are left out. */
plot_draw plot_ladder;
/* Perplexity over the context, a line for each model and protocol; where there is no context (cached) the window takes its place.
 * With the log p of single targets beside it, over that at L_tr. */
plot_draw plot_perplexity;
/* Of gain.csv: the share of the targets for which a context is enough, a line for each model. */
plot_draw plot_gain;
/* Of validation.csv: the change of loss over the tokens kept, and over the share of the gradient that was replaced. */
plot_draw plot_validation;
/* Of bias.csv: the last row, and the matrix; of fit.csv: the fitted curves. */
plot_draw plot_bias, plot_matrix, plot_fit;

/* Changes of NLL of the lines' points [count], whose labels are models, over the targets of a table of --per-token. */
struct ppl_line;
int plot_add_changes(struct ppl_line *lines, size_t count, const struct report *targets, struct error *e) MUST_USE;

/* The name of a model that is drawn, cut where a character begins. */
void plot_set_name(struct result_model *m, const char *label);

#endif
