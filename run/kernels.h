/* The kernels of a run.
 */
#ifndef REACH_RUN_KERNELS_H
#define REACH_RUN_KERNELS_H

#include "kernels/ops.h"
#include "model/engine.h"
#include "run/progress.h"
#include "run/shared_options.h"

/* The kernel set of --device and --dtype, checked against plain loops; `progress` is told where the choice needs a word. NULL
 * with why not: there is no such set, too little memory is left for what the libraries below allocate without asking, or its
 * products are wrong. The caller closes it. */
struct kernels *run_kernels(const char *device, const char *dtype, struct progress *progress, struct error *e) MUST_USE;

/* Tells a log each kind of matrix product that the set has run since the last call, and people, once in a run, that one of them
 * is done by a kernel of the set's own because the library has no algorithm for it: it is right, and much slower. */
void run_tell_products(struct kernels *k, struct progress *progress);

/* What --keep and --scratch say, for the request of an engine. */
void run_keep(struct gradient_request *out, const struct machine_options *o);

#endif
