/* Checkpoints whose matrices are quantised with scales in tensors of their own, as `quantization_config` of config.json says:
 * transformers' "fp8", "bitsandbytes" and "mxfp4" (doc/quantised.md).
 *
 * Each matrix becomes one tensor of a type with scales (io/scaled.h), and what belongs to it leaves the store. */
#ifndef REACH_IO_TENSORS_QUANTISED_H
#define REACH_IO_TENSORS_QUANTISED_H

#include "io/formats/json.h"
#include "io/tensors/tensors.h"

/* Joins all matrices of a finished store with what lies beside them, and checks every scale. Where another method is named, or
 * none, nothing is done; codes that are not part of such a matrix are refused. */
int quantised_join(struct tensors *t, struct config *c, struct error *e) MUST_USE;

/* "fp8", "bitsandbytes" or "mxfp4" where quantization_config names one of them, else NULL. */
const char *quantised_method(struct config *c);
/* -1 where quantization_config says anything else than one of them or nothing; the message has its method. */
int quantised_refuse(struct config *c, struct error *e) MUST_USE;

#endif
