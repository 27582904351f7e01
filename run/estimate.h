/* The time and memory of one segment of a run. */
#ifndef REACH_RUN_ESTIMATE_H
#define REACH_RUN_ESTIMATE_H

#include "model/engine.h"
#include "run/shared_options.h"

/* Unknown values are empty or 0. */
struct run_estimate {
    char kernels[sizeof((struct kernels *)0)->name];
    int refused; /* 1: the model reads fewer inputs */
    struct memory_plan plan;
    double seconds; /* of one segment: matrix products and attention, at this machine's current
                       rates */
    double record_bytes; /* of one segment on the disk, in the journal and in erf.h5 */
};

/* 0 if inputs of layers can be stored in the folder (NULL: none is given), or -1. */
int run_try_scratch(const char *folder, struct error *e) MUST_USE;

/* For a segment of `length` tokens on the processor. 0, or -1 with what was found so far. */
int run_estimate(struct run_estimate *out, const struct decoder *d, long length,
                 const struct machine_options *machine, struct error *e) MUST_USE;

#endif
