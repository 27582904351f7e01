/* Adapters: the low-rank matrices (LoRA) that PEFT trains for a model and saves in a separate
 * folder, adapter_config.json with adapter_model.safetensors or adapter_model.bin. They are merged
 * onto the tensors of the model.
 *
 * W + scale B A is summed in double, in a fixed order, and rounded once to float (double where the
 * base has double). Merged matrices are in memory backed by a file (io/system/spill.h), so they may
 * be larger than memory. */
#ifndef REACH_IO_ADAPTERS_ADAPTER_H
#define REACH_IO_ADAPTERS_ADAPTER_H

#include "io/formats/json.h"
#include "io/tensors/tensors.h"

/* Merges the adapter in FOLDER onto the base's tensors and marks these as merged. `transposed`,
 * ended by NULL, lists the last parts of the names of modules whose matrices are stored as [in,
 * out]; may be NULL. The adapter's file counts in the store's digest, and both of its files must
 * stay unchanged. Parts without a tensor in the base, and unsupported features, are refused by
 * name. Returns adapter_config.json, which the caller closes; NULL on failure. */
struct config *adapter_merge(struct tensors *base, const char *folder,
                             const char *const *transposed, struct error *e) MUST_USE;

/* An adapter, and what its changes are multiplied by; a list of them owns its folders. */
struct adapter_part {
    char *folder;
    double factor;
};
struct adapter_list {
    struct adapter_part *part;
    int count;
};
/* Merges all of them: each as adapter_merge does, times its factor, so that their changes add up,
 * as add_weighted_adapter of PEFT by "cat" does. With a factor other than 1, or more than one
 * adapter, what is no sum is refused by name: magnitudes (DoRA), modules and rows of tables that
 * were trained by themselves. Returns the adapter_config.json of the only adapter without a factor,
 * else an object of all configurations and factors. */
struct config *adapters_merge(struct tensors *base, const struct adapter_list *list,
                              const char *const *transposed, struct error *e) MUST_USE;
void adapter_list_free(struct adapter_list *list);

/* Fails if FOLDER holds an adapter or folders of adapters: -1, with an error that names the base
 * model and the option to use. */
int adapter_alone(const char *folder, struct error *e) MUST_USE;

#endif
