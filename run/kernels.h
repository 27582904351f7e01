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

/* What --keep and --scratch say, for the request of an engine. */
void run_keep(struct gradient_request *out, const struct machine_options *o);

#endif
