/* GPT-2 as llm.c writes it: 256 numbers, then the weights in a fixed order. Private to io/.
 *
 * Source: karpathy/llm.c, train_gpt2.py (write_model) and train_gpt2.c
 * (gpt2_build_from_checkpoint). */
#ifndef REACH_IO_CONTAINERS_LLMC_H
#define REACH_IO_CONTAINERS_LLMC_H

#include "io/formats/json.h"
#include "io/tensors/store.h"

enum { LLMC_MAGIC = 20240326 };

/* Adds the tensors with the names and shapes of Hugging Face's GPT-2 (matrices as transposed views,
 * without the rows that pad the vocabulary). *own: the same model as a config of type gpt2. Caller
 * closes *own. */
int llmc_read(struct tensors *t, const struct mapped *file, struct config **own,
              struct error *e) MUST_USE;

#endif
