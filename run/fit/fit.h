/* Least squares on points: the work of `reach fit`. */
#ifndef REACH_RUN_FIT_FIT_H
#define REACH_RUN_FIT_FIT_H

#include "analyze/fit.h"
#include "run/fit/options.h"
#include "run/formula_arguments.h"
#include "run/results.h"

#include <stddef.h>

/* The points of one fit, and the fit. */
struct fit_points {
    char *label; /* as in the column `formula`; owned */
    char head[16]; /* "3", "all", or empty */
    char layer[16]; /* of a bias.csv, or empty */
    int *members; /* [member_count] layers of a checkpoint that share the bias, from 1; owned */
    int member_count;
    char layers[128]; /* for printing: "layers 1-4"; empty if not needed */
    double *t, *y; /* [count], t ascending; owned */
    size_t count;
    struct fit_result result;
};

/* [A] prints one log curve for Sandwich (h' = 8, dbar = 128, 8192 tokens), but does not say where
 * the index starts and which points were used: one fit for each reading. */
#define FIT_SANDWICH_SLOPE (-0.825)
#define FIT_SANDWICH_INTERCEPT (-0.8)
enum { FIT_READINGS = 4, FIT_SANDWICH_POINTS = 8192 };
struct fit_reading {
    int first; /* of the index */
    size_t points; /* the most recent ones */
    struct fit_result result;
    double away; /* from the printed curve: distance of slope and intercept */
};

struct fit_run {
    const struct fit_options *options;
    struct progress *progress;
    const char *command; /* as recorded; borrowed, used only with options->folder */
    struct fit_form form;
    struct fit_points *points;
    size_t count;
    const char *quantity; /* what y is, for the figure */
    int is_sandwich; /* 1: the preset as [A] fits it, with its readings */
    struct fit_reading readings[FIT_READINGS];
};

/* Reads the points, fits the form, and writes the files of options->folder. Caller frees the run,
 * also on failure. */
enum run_status fit_run(struct fit_run *r, struct error *e) MUST_USE;
void fit_run_free(struct fit_run *r);
/* The name of a set of points: its label, layers and head. */
void fit_points_name(char *out, size_t size, const struct fit_points *p);

/* The steps of fit_run. */

/* Adds a set of `count` points; NULL with *e. */
struct fit_points *fit_points_add(struct fit_run *r, const char *label, size_t count,
                                  struct error *e);

/* Points of a CSV file: curve.csv (c over the distance, a set for each model, target, layer and
 * attribution), bias.csv (a set for each formula, head and layer), or two columns t, y. Rows
 * outside the options' range are left out. 0 or -1. */
int fit_read_csv(struct fit_run *r, const char *path, struct error *e) MUST_USE;

/* The points of the biases of a FORMULA, PRESET or MODEL. */
enum run_status fit_read_biases(struct fit_run *r, struct error *e) MUST_USE;
/* Fits the readings of Sandwich. */
int fit_sandwich(struct fit_run *r, struct error *e) MUST_USE;

/* Writes fit.csv and the figure. Returns the same as figure_draw. */
int fit_write(const struct fit_run *r, struct error *e) MUST_USE;
extern const struct results_file *const fit_files[]; /* ended by NULL */
extern const struct results_layout fit_layout;

#endif
