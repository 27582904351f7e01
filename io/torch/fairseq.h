/* Language models that fairseq trained: one file of torch.save with weights and the arguments of
 * the run. Private to io/.
 *
 * Source: OpenNLPLab/fairseq-evo (fairseq/checkpoint_utils.py, fairseq/trainer.py). */
#ifndef REACH_IO_TORCH_FAIRSEQ_H
#define REACH_IO_TORCH_FAIRSEQ_H

#include "io/formats/json.h"
#include "io/torch/torch.h"

/* 1 if the file's object is fairseq's: `model` with cfg or args and the trainer's state. */
int fairseq_recognize(const struct torch_file *f);

/* Adds the tensors of `model` under their names. *own: the fields of cfg["model"], with
 * "model_type": "fairseq_transformer_lm"; a field that is not a number, text, list or dict becomes
 * text that names its type. A file without cfg["model"] is refused, since the weights do not show
 * the encoding. Caller closes *own. */
int fairseq_read(struct tensors *t, const struct mapped *file, const struct torch_file *f,
                 struct config **own, struct error *e) MUST_USE;

#endif
