/* Parts of tensors' names that training code put before or into those of the model. Private to io/. */
#ifndef REACH_IO_CHECKPOINT_WRAPPERS_H
#define REACH_IO_CHECKPOINT_WRAPPERS_H

#include "io/tensors/store.h"

/* Takes them away and finishes the store anew; a note says which. _orig_mod (torch.compile), _fsdp_wrapped_module and
 * _checkpoint_wrapped_module (FSDP) go wherever they stand; module (DataParallel, DeepSpeed) where all names begin with it; so
 * does a model that stands before the model's own (trainers that keep it as their member). Names that are then the same are an
 * error. */
int wrappers_remove(struct tensors *t, struct error *e) MUST_USE;

#endif
