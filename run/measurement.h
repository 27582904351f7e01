/* Measurements of the segments in a run of `reach erf`, in addition to their gradients. Each is a
 * row of the table in run/erf/measurements.c, and the run accesses it only by that row. */
#ifndef REACH_RUN_MEASUREMENT_H
#define REACH_RUN_MEASUREMENT_H

#include "io/results/journal.h"
#include "io/results/result.h"
#include "io/tokens/tokens.h"
#include "kernels/ops.h"
#include "model/decoder.h"
#include "plots/style.h"
#include "run/models.h"
#include "run/progress.h"
#include "run/results.h"

/* One model of a run as seen by a measurement; all is borrowed. Kernels, journal and cost are set
 * before measuring begins. */
struct measured {
    long asked; /* value of the option that requests the measurement; not 0 */
    uint64_t seed;
    size_t memory; /* bytes that the run may take; 0: most of what is free */
    size_t positions; /* inputs of a segment */
    size_t model; /* its number in the run */
    const struct model_argument *argument;
    const struct decoder *decoder;
    const struct segments *segments;
    const struct segment_bounds *bounds;
    const struct result *result; /* of the run */
    struct result_model *out; /* of the model, part of `result` */
    struct kernels *kernels;
    struct journal *journal;
    size_t record_values; /* the largest number of values in a record of the journal */
    struct progress *progress;
    double cost; /* operations of one step */
};

/* A figure of a result of `reach erf`. */
struct result_figure {
    const char *stem;
    int (*is_wanted)(const void *result);
    int (*draw)(const struct figure_place *to, const struct result *r, struct error *e);
};

struct measurement {
    enum journal_kind kind; /* of its records */
    /* Allocates its data in m->out, which then show that it was asked for; raises `most` to the
     * needs of its records. */
    int (*room)(const struct measured *m, struct journal_sizes *most, struct error *e);
    /* Refuses what cannot fit, before anything is measured; *cost as in struct measured. */
    int (*estimate)(const struct measured *m, double *cost, struct error *e);
    /* Restores a record of an earlier run. -1 if it is not of this run. */
    int (*resume)(struct result_model *m, const struct journal_record *kept);
    /* Its steps, as counted by progress, and those of them that are done. */
    void (*count)(const struct result_model *m, size_t *steps, size_t *done);
    /* measure: measures what is missing, after the gradients. reduce: once all models are
     * measured. */
    int (*measure)(const struct measured *m, struct error *e);
    int (*reduce)(const struct measured *m, struct error *e);
    void (*close)(struct result_model *m); /* NULL: result_free frees its data */
    struct results_file file; /* from a struct result */
    struct result_figure figure;
};

#endif
