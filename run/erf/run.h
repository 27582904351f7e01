/* A run of `reach erf`: from models and text to a result in a folder. */
#ifndef REACH_RUN_ERF_RUN_H
#define REACH_RUN_ERF_RUN_H

#include "io/results/journal.h"
#include "io/results/result.h"
#include "io/tokens/tokens.h"
#include "kernels/ops.h"
#include "model/decoder.h"
#include "run/erf/options.h"
#include "run/models.h"
#include "run/progress.h"
#include "run/settings.h"
#include "run/text.h"

struct deal;

enum { MEASUREMENTS_MAX = 8 }; /* beside the gradients: run/erf/measurements.c */

/* One model of a run while it goes on. */
struct erf_model {
    const struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text; /* closed once the segments are cut, but for what they begin with */
    struct segments segments; /* that this run measures */
    size_t run_segments, first; /* those of the run without --shard, and the index of the first that is measured */
    char digest[33], tokens_digest[33];
    size_t layer_count; /* fields of each target */
    double cost[TARGETS_MAX + 1]; /* operations of a segment of each target */
    double cost_beside[MEASUREMENTS_MAX]; /* of a step of each measurement */
    struct result_model *out; /* what is measured, in the run's result */
};

/* What the caller fills in is borrowed. */
struct erf_run {
    const struct erf_options *options;
    const struct settings *settings; /* all options that can change a number */
    const char *command; /* as it is recorded */
    const struct model_argument *arguments; /* [count] */
    size_t count;
    struct progress *progress;
    /* the run's own */
    struct erf_model *models;
    size_t positions; /* L-1 */
    size_t target_count;
    struct journal_sizes sizes;
    struct kernels *kernels;
    struct journal *journal;
    struct deal *deal; /* with other ranks; NULL: alone */
    struct result result;
};

/* Measures what the journal in the folder does not hold, reduces it and writes the files of a result; r->result is there then,
 * and models stay open. 0, or -1. */
int erf_run(struct erf_run *r, struct error *e) MUST_USE;
/* In place of erf_run on the other ranks (run/ranks.h): measures what rank 0 deals; rank 0 is told of a failure. */
int erf_serve(struct erf_run *r, struct error *e) MUST_USE;
/* Also after a failure. */
void erf_run_free(struct erf_run *r);

#endif
