/* What one segment of a run would take. */
#ifndef REACH_RUN_ESTIMATE_H
#define REACH_RUN_ESTIMATE_H

#include "model/engine.h"
#include "run/shared_options.h"

/* What is not known is empty or 0. */
struct run_estimate {
    char kernels[sizeof((struct kernels *)0)->name];
    int refused; /* 1: the model has learned positions for fewer inputs */
    struct memory_plan plan;
    double seconds; /* of one segment: its products and attention at the rates that this machine reaches now; norms and results
                       are extra */
};

/* 0 if inputs of layers can wait in the folder (NULL: none is asked for), or -1. */
int run_try_scratch(const char *folder, struct error *e) MUST_USE;

/* Of a segment of `length` tokens on the processor. 0 or -1, with what was found until then. */
int run_estimate(struct run_estimate *out, const struct decoder *d, long length, const struct machine_options *machine,
                 struct error *e) MUST_USE;

#endif
