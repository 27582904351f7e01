/* Adapters: what PEFT trains beside a model (LoRA) and saves in a folder of its own, adapter_config.json with
 * adapter_model.safetensors or adapter_model.bin, merged onto the tensors of the model.
 *
 * W + scale B A is summed in double, in one order, and rounded once to float (double where the base has double). Merged matrices
 * lie in memory that a file stands behind (io/system/spill.h), so they may be larger than memory. */
#ifndef REACH_IO_ADAPTERS_ADAPTER_H
#define REACH_IO_ADAPTERS_ADAPTER_H

#include "io/formats/json.h"
#include "io/tensors/tensors.h"

/* Merges the adapter in FOLDER onto the base's tensors, which are marked as merged. `transposed` ends with NULL: the last parts
 * of the names of modules whose matrices are stored as [in, out]; may be NULL. The adapter's file counts in the store's digest,
 * and both of its files must stay as they are. What the base has no tensor for, and what is not done, is refused by name. Returns
 * adapter_config.json, which the caller closes; NULL on failure. */
struct config *adapter_merge(struct tensors *base, const char *folder, const char *const *transposed, struct error *e) MUST_USE;

/* If FOLDER holds an adapter, or folders of them: -1, with an error that says what to do: the base model, the option. */
int adapter_alone(const char *folder, struct error *e) MUST_USE;

#endif
