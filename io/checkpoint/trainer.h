/* Folders that programs for training leave, in which the model is elsewhere or in pieces. Private
 * to io/. */
#ifndef REACH_IO_CHECKPOINT_TRAINER_H
#define REACH_IO_CHECKPOINT_TRAINER_H

#include "io/error.h"

/* Refuses what is saved for training to continue: DeepSpeed's folders, of the step or of all steps,
 * shards of FSDP and of torch.distributed.checkpoint, torchtune's own files. The message says what
 * makes a model of them. Returns 1 then, else 0. */
int trainer_refuse(const char *folder, struct error *e);

#endif
