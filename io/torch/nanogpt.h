/* Checkpoints of nanoGPT: one file of torch.save with weights, the sizes of the model and the state
 * of the training. Private to io/.
 *
 * Source: karpathy/nanoGPT (train.py, model.py). */
#ifndef REACH_IO_TORCH_NANOGPT_H
#define REACH_IO_TORCH_NANOGPT_H

#include "io/formats/json.h"
#include "io/torch/torch.h"

/* 1 if the file's object is nanoGPT's: `model` with `model_args`. */
int nanogpt_recognize(const struct torch_file *f);

/* Adds the tensors of `model` under their names. *own: model_args, with "model_type": "nanogpt".
 * Caller closes *own. */
int nanogpt_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                 struct config **own, struct error *e) MUST_USE;

#endif
