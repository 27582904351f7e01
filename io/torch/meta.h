/* Checkpoints as Meta publishes Llama: params.json and consolidated.NN.pth, one file for each
 * model-parallel rank, or all in the one file of torchtune. Private to io/.
 *
 * Sources: meta-llama/llama (llama/model.py), meta-llama/llama-models (models/llama3/model.py),
 * facebookresearch/fairscale (nn/model_parallel/layers.py). */
#ifndef REACH_IO_TORCH_META_H
#define REACH_IO_TORCH_META_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* 1 if the folder has both. In place of consolidated.00.pth there may be what torchtune saves:
 * model-00001-of-00001.bin, or else the last meta_model_N.pt. */
int meta_recognize(const char *folder);

/* Reads it and finishes the store. Tensors have the names of the files; those of several ranks are
 * joined in memory of the store. *own: params.json in the keys of Hugging Face's Llama, with
 * "model_type": "llama_meta"; a setting that it does not know is an error that names it. Caller
 * closes *own. */
int meta_read(struct tensors *t, const char *folder, struct config **own, struct error *e) MUST_USE;
/* Completes *own of meta_read by what only the tensors say, once their names are without parts that
 * training code added: the vocabulary of Llama 1 and 2, whether there is a head, and which scaling
 * use_scaled_rope means. */
int meta_complete(struct tensors *t, struct config *c, struct error *e) MUST_USE;

#endif
