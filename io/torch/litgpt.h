/* Checkpoints of litgpt: lit_model.pth with model_config.yaml. Private to io/.
 *
 * Source: Lightning-AI/litgpt (litgpt/utils.py: save_config; litgpt/config.py). */
#ifndef REACH_IO_TORCH_LITGPT_H
#define REACH_IO_TORCH_LITGPT_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* 1 if the folder has both. */
int litgpt_recognize(const char *folder);

/* Reads it and finishes the store. *own: model_config.yaml with "model_type": "litgpt". Caller
 * closes *own. */
int litgpt_read(struct tensors *t, const char *folder, struct config **own,
                struct error *e) MUST_USE;

#endif
