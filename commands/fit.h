/* The parts of `reach fit`: where points come from, and what is done with them. Private to commands/fit*.c. */
#ifndef REACH_COMMANDS_FIT_H
#define REACH_COMMANDS_FIT_H

#include "analyze/fit.h"
#include "run/formula_arguments.h"
#include "run/fit/options.h"

#include <stddef.h>

/* The points of one fit, and the fit. */
struct fit_points {
    char *label; /* as in the column `formula`; owned */
    char head[16]; /* "3", "all", or empty */
    char layer[16]; /* of a bias.csv, or empty */
    int *members; /* [member_count] layers of a checkpoint that share the bias, from 1; owned */
    int member_count;
    char layers[128]; /* for the screen: "layers 1-4"; empty when there is nothing to tell apart */
    double *t, *y; /* [count], t ascending; owned */
    size_t count;
    struct fit_result result;
};

struct fit_run {
    const struct fit_options *options;
    struct progress *progress;
    const char *command; /* as it is recorded */
    struct fit_form form;
    struct fit_points *points;
    size_t count;
    const char *quantity; /* what y is, for the figure */
    int is_sandwich; /* 1: the preset as [A] fits it */
};

/* Room for one more set of points of `count` values; NULL with *e. */
struct fit_points *fit_points_add(struct fit_run *r, const char *label, size_t count, struct error *e);
void fit_run_free(struct fit_run *r);

/* Points of a CSV file: curve.csv (c over the distance, a set for each model, target, layer and attribution), bias.csv (a set for
 * each formula, head and layer), or two columns t, y. Rows outside the range of the options are left out. 0 or -1. */
int fit_read_csv(struct fit_run *r, const char *path, struct error *e) MUST_USE;

/* Writes fit.csv and the figure. 0; 1 when only pictures are missing (message); -1. */
int fit_write(const struct fit_run *r, struct error *e) MUST_USE;

#endif
