/* Saved results as figures: the work of `reach plot`. */
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
    const struct result_model *model; /* NULL: from a table, which has only the curve */
    double step; /* of training; NaN: unknown */
};

/* A table that does not hold curves. */
struct plot_table {
    struct report report;
    int in_folder; /* 1: found in a folder, 0: given by name */
};

struct plot_figure;

enum { PLOT_FIGURES_MAX = 16 };

struct plot_run {
    const struct plot_options *options;
    struct progress *progress;
    const char *command; /* as recorded; borrowed */
    struct figure_style style; /* from the options */
    struct plot_curve *curves; /* [curve_count] */
    size_t curve_count;
    struct result **results; /* [result_count] of the curves' models */
    size_t result_count;
    double threshold; /* of the first result with one, 0: none; while drawing that of the figures */
    struct plot_table *tables; /* [table_count] */
    size_t table_count;
    int named; /* 1: a table was given by name: tables in folders do not count */
    const struct plot_figure *figures[PLOT_FIGURES_MAX]; /* [figure_count] to be drawn */
    size_t figure_count;
    int drawn; /* the worst value returned by drawing (plots/figure.h) */
    void **kept; /* [kept_count] memory of figures: plot_new */
    size_t kept_count;
};

/* The training lengths marked in a figure: none, those of the curves that state theirs, or only
 * that of --train-length. */
enum { LENGTH_NONE, LENGTH_OF_CURVES, LENGTH_GIVEN };

/* Draws one kind of figure; returns the same as figure_draw. */
typedef int plot_draw(struct plot_run *r, const struct figure_place *to, struct error *e);

/* A kind of figure. */
struct plot_figure {
    const char *stem; /* of its files */
    enum report_kind table; /* what it is drawn from, if `has` is NULL */
    int (*has)(const struct plot_run *r); /* 1 if the results have it */
    plot_draw *draw;
    int takes_threshold, takes_length; /* --threshold; of LENGTH_, --train-length */
};

/* Reads the results and draws their figures. 0, or -1; if gnuplot failed, *e says why. Caller frees
 * the run, also on failure. */
int plot_run(struct plot_run *r, struct error *e) MUST_USE;
void plot_run_free(struct plot_run *r);

/* The steps of plot_run. Opens a RESULT; for a folder everything in it that can be drawn. */
int plot_add(struct plot_run *r, const char *path, struct error *e) MUST_USE;
/* Adds the curves of an erf.h5 or a curve.csv. */
int plot_add_curves(struct plot_run *r, const struct report *report, struct error *e) MUST_USE;
/* Prefixes repeated labels with the folder of their result. */
int plot_tell_apart(struct plot_run *r, struct error *e) MUST_USE;
/* Training steps: from the option, or from labels such as step-1000. */
int plot_find_steps(struct plot_run *r, struct error *e) MUST_USE;
/* Chooses the figures, and refuses options that do not apply to all of them. */
int plot_choose(struct plot_run *r, struct error *e) MUST_USE;

/* Zeroed memory that lasts as long as the run; a text in such memory. NULL with *e. */
void *plot_new(struct plot_run *r, size_t count, size_t size, struct error *e) MUST_USE;
char *plot_text(struct plot_run *r, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4))) MUST_USE;

/* The thresholds in figures of curves, the run's first. Returns how many. */
enum { PLOT_THRESHOLDS = 6 };
size_t plot_thresholds(double out[PLOT_THRESHOLDS], const struct plot_run *r);

/* "layer 2" or "layers 1-4, 7" of ascending numbers [count]; in memory that lasts as long as the
 * run. NULL with *e. */
const char *plot_layers_text(struct plot_run *r, const long *layers, size_t count,
                             struct error *e) MUST_USE;

/* --only and --label: keep[i] is 0 for names that are left out, labels[i] becomes the text shown
 * for a name (borrowed). A name in the options that is not among them is refused. `stem` is for
 * messages. */
int plot_names(const struct plot_run *r, const char *stem, const char **labels, unsigned char *keep,
               size_t count, struct error *e) MUST_USE;

/* The same for rows of `size` bytes, structs whose first member is `const char *label`: returns a
 * copy of the kept rows with their new labels, *count of them, that lasts as long as the run. NULL
 * with *e. */
void *plot_pick(struct plot_run *r, const char *stem, const void *rows, size_t size, size_t *count,
                struct error *e) MUST_USE;

/* The same for the models of a result, named `labels`, which a figure then draws. */
typedef int plot_result(const struct figure_place *to, const struct result *r, struct error *e);
int plot_models(struct plot_run *r, const struct figure_place *to, struct result *all,
                const char **labels, plot_result *figure, struct error *e) MUST_USE;

/* Table number nth of a kind, from 0; NULL: no more. */
const struct report *plot_table(const struct plot_run *r, enum report_kind kind, size_t nth);

/* Each draws the figure in its name. The threshold is the run's. */
/* The curves; their fields over the training step. */
plot_draw plot_curves, plot_steps;
/* For models of erf.h5 with several layers, or targets. */
plot_draw plot_layers, plot_targets;
/* From attention.csv: points by head, and a map of layers and heads. */
plot_draw plot_attention, plot_heads;
/* For each name in the tables its TRF of one layer and, if the table has one, across layers; for
 * each curve of that name the measured ERF at the threshold with the interval from its band. Uses
 * the epsilon nearest to 1 - threshold. */
plot_draw plot_fields;
/* From the same tables, if they have several epsilons: TRF over epsilon, a line for each name,
 * length and depth, of all its heads or the last one. */
plot_draw plot_epsilons;
int plot_has_epsilons(const struct plot_run *r);
/* From weights.csv: weights by distance, and shares beyond the most recent tokens. */
plot_draw plot_weights;
/* ERF at every threshold of all models of the tables, in order; the threshold nearest to the
 * figure's gets intervals. Other targets and layers of a model are left out. */
plot_draw plot_ladder;
/* Perplexity over the context, a line for each model and protocol; without a context (cached) over
 * the window. With log p of single targets, over that at L_tr. */
plot_draw plot_perplexity;
/* From gain.csv: the share of targets for which a context is enough, a line for each model. */
plot_draw plot_gain;
/* From validation.csv: change of loss over tokens kept, and over the replaced gradient share. */
plot_draw plot_validation;
/* From bias.csv: the last row, and the matrix; from fit.csv: the fitted curves. */
plot_draw plot_bias, plot_matrix, plot_fit;

/* Adds changes of NLL to the lines' points [count], labelled by model, from a --per-token table. */
struct ppl_line;
int plot_add_changes(struct plot_run *r, struct ppl_line *lines, size_t count,
                     const struct report *targets, struct error *e) MUST_USE;

#endif
