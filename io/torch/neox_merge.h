/* Joins the tensors of the model-parallel ranks of a GPT-NeoX checkpoint. Private to io/torch. */
#ifndef REACH_IO_TORCH_NEOX_MERGE_H
#define REACH_IO_TORCH_NEOX_MERGE_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* Settings that decide how tensors are joined. */
struct neox_settings {
    int sums_row_biases; /* gpt_j_residual: each rank adds its own bias of a row-parallel product */
    int head_by_columns; /* output_layer_parallelism: column */
    int gated; /* geglu: a rank's rows of dense_h_to_4h are two halves */
    int grouped; /* fewer heads for keys and values: how ranks share them is unknown */
};

/* Adds to `out` every tensor of parts[0], joined with those of the same name in the other parts
 * (finished stores, one for each rank). */
int neox_merge(struct tensors *out, const struct mapped *file, struct tensors *const *parts,
               size_t ranks, const struct neox_settings *settings, struct error *e) MUST_USE;

#endif
