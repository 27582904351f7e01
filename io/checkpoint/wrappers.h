/* Parts that training code added to the tensors' names of a model. Private to io/. */
#ifndef REACH_IO_CHECKPOINT_WRAPPERS_H
#define REACH_IO_CHECKPOINT_WRAPPERS_H

#include "io/tensors/store.h"

/* Removes them and finishes the store again; a note says which were removed. _orig_mod
 * (torch.compile), _fsdp_wrapped_module and _checkpoint_wrapped_module (FSDP) are removed anywhere;
 * module (DataParallel, DeepSpeed) if all names begin with it; so is a `model` before the model's
 * own (trainers that keep the model as a member). Duplicate names afterwards are an error. */
int wrappers_remove(struct tensors *t, struct error *e) MUST_USE;

#endif
