/* Checkpoints with quantised matrices whose scales are separate tensors, by `quantization_config`
 * of config.json: "fp8", "bitsandbytes", "mxfp4", "compressed-tensors", "gptq" and "awq"
 * (doc/quantised.md).
 *
 * Each matrix becomes one tensor of a type with scales (io/scaled.h), and its other tensors leave
 * the store. */
#ifndef REACH_IO_TENSORS_QUANTISED_H
#define REACH_IO_TENSORS_QUANTISED_H

#include "io/formats/json.h"
#include "io/tensors/tensors.h"

/* Joins all matrices of a finished store with their other tensors, and checks every scale. Does
 * nothing if another method, or none, is named; codes that are not part of such a matrix are
 * refused. */
int quantised_join(struct tensors *t, struct config *c, struct error *e) MUST_USE;

/* The method of quantization_config if it is one of those, else NULL. */
const char *quantised_method(struct config *c);
/* Fails unless quantization_config is absent or names one of them; the message gives its method. */
int quantised_refuse(struct config *c, struct error *e) MUST_USE;

#endif
