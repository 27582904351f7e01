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

enum { MEASUREMENTS_MAX = 8 }; /* in addition to the gradients: run/erf/measurements.c */

/* One model during a run. */
struct erf_model {
    const struct model_argument *argument; /* borrowed */
    struct decoder *decoder;
    struct model_text text; /* closed once the segments are cut, except for its bounds */
    struct segments segments; /* measured by this run */
    size_t run_segments, first; /* the number without --shard; index of the first measured one */
    char digest[33], tokens_digest[33];
    size_t layer_count; /* fields of each target */
    double cost[TARGETS_MAX + 1]; /* operations of a segment of each target */
    double attention_cost[TARGETS_MAX + 1],
        recurrence_cost[TARGETS_MAX + 1]; /* those of these among them */
    double cost_beside[MEASUREMENTS_MAX]; /* of a step of each measurement */
    struct result_model *out; /* the measurements, in the run's result */
};

/* The caller's members are borrowed. */
struct erf_run {
    const struct erf_options *options;
    const struct settings *settings; /* all options that can change a number */
    const char *command; /* as recorded */
    const struct model_argument *arguments; /* [count] */
    size_t count; /* those that are measured once they are open */
    struct progress *progress;
    /* the run's own */
    struct erf_model *models;
    const struct model_argument **unread; /* [unread_count] left out, as they could not be read */
    size_t unread_count;
    struct error unread_first; /* why the first of them could not be */
    size_t positions; /* L-1 */
    size_t target_count;
    struct journal_sizes sizes;
    struct kernels *kernels;
    struct journal *journal;
    struct deal *deal; /* with other ranks; NULL: alone */
    struct result result;
};

/* Measures what the journal in the folder lacks, reduces it and writes the files of a result.
 * Afterwards r->result is set, and models stay open. 0, or -1. */
int erf_run(struct erf_run *r, struct error *e) MUST_USE;
/* Fails, with their names, if models were left out; the others are measured. */
int erf_fail_unread(const struct erf_run *r, struct error *e) MUST_USE;
/* Replaces erf_run on the other ranks (run/ranks.h): measures what rank 0 deals, and reports a
 * failure to rank 0. */
int erf_serve(struct erf_run *r, struct error *e) MUST_USE;
/* Call it also on failure. */
void erf_run_free(struct erf_run *r);

#endif
