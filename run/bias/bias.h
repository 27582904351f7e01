/* Position biases at all distances: what `reach bias` evaluates and writes. */
#ifndef REACH_RUN_BIAS_BIAS_H
#define REACH_RUN_BIAS_BIAS_H

#include "run/bias/options.h"
#include "run/formula_arguments.h"
#include "run/results.h"

/* One bias of one argument, with its values at all distances. */
struct bias_values {
    const struct formula_argument *argument;
    int bias, rows;
    double *table; /* [rows, length] */
};

struct bias_run {
    const struct bias_options *options;
    struct progress *progress;
    const char *command; /* as recorded; borrowed, used only with options->folder */
    struct formula_argument *arguments;
    int count;
    struct bias_values *values; /* of all biases with a formula */
    int value_count;
};

/* Reads the arguments, evaluates their biases, and writes the files of options->folder. Caller
 * frees the run, also on failure. */
enum run_status bias_run(struct bias_run *r, struct error *e) MUST_USE;
void bias_run_free(struct bias_run *r);

/* Writes bias.csv and the figures. Returns the same as figure_draw. */
int bias_write(const struct bias_run *r, struct error *e) MUST_USE;
extern const struct results_file *const bias_files[]; /* ended by NULL */
extern const struct results_layout bias_layout;

#endif
