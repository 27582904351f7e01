/* GPT-NeoX checkpoints: the directories written by DeepSpeed's pipeline, with the YAML of the
 * training run. Private to io/.
 *
 * - DIR/latest: the tag, such as global_step150000
 * - DIR/TAG/layer_XX-model_YY-model_states.pt: one for each layer and model-parallel rank
 * - DIR/TAG/mp_rank_YY_model_states.pt: the whole model under `module`, if pipe-parallel-size was 0
 *   and there are no layer files
 * - DIR/TAG/configs/NAME.yml, or DIR/configs/NAME.yml: the settings
 *
 * Sources: EleutherAI/gpt-neox (megatron/checkpointing.py, tools/merge20b.py), microsoft/DeepSpeed
 * (runtime/pipe/module.py). */
#ifndef REACH_IO_TORCH_NEOX_H
#define REACH_IO_TORCH_NEOX_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

/* 1 if the folder is such a directory, or the folder TAG in one. */
int neox_recognize(const char *folder);

/* Reads it and finishes the store. Tensors are named sequential.LAYER.KEY in both forms. *own: the
 * settings, with `-` in names read as `_`, and "model_type": "gpt_neox_megatron"; a setting with
 * different values in two files becomes text that says so. The parts of several model-parallel
 * ranks are joined in memory of the store. Caller closes *own. */
int neox_read(struct tensors *t, const char *folder, struct config **own, struct error *e) MUST_USE;

#endif
