/* The kernels of a run.
 */
#ifndef REACH_RUN_KERNELS_H
#define REACH_RUN_KERNELS_H

#include "kernels/ops.h"
#include "model/engine.h"
#include "run/progress.h"
#include "run/shared_options.h"

/* The kernel set of --device and --dtype, checked against plain loops; notes about the choice go to
 * `progress`. The caller closes it. NULL with the reason: no such set, too little memory for the
 * unchecked allocations of the libraries below, or wrong products. */
struct kernels *run_kernels(const char *device, const char *dtype, struct progress *progress,
                            struct error *e) MUST_USE;

/* Reports to a log each kind of matrix product used since the last call, and to people, once in a
 * run, that the set's own kernel did one of them because the library has no algorithm for it:
 * correct, but much slower. */
void run_tell_products(struct kernels *k, struct progress *progress);

/* Puts --keep and --scratch into the request of an engine. */
void run_keep(struct gradient_request *out, const struct machine_options *o);

#endif
