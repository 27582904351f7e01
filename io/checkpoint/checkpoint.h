/* Opening a checkpoint in any format: its tensors and the description of the model.
 *
 * A file's first bytes determine its format, not its name:
 *
 * - safetensors, PyTorch (zip and the older stream of pickles), HDF5: tensors; config.json beside
 *   the file, in HDF5 also the attribute `config`;
 * - a Hugging Face index (.index.json) and its shards: the same;
 * - fairseq transformer_rpe_lm, nanoGPT, llm.c's GPT-2, GGUF: tensors and description in one;
 * - a folder: config.json with model.safetensors, else its index and shards, else
 *   pytorch_model.bin, else its index and shards (the order of transformers), or Meta's params.json
 *   with consolidated.NN.pth, or litgpt's lit_model.pth with model_config.yaml, or a GPT-NeoX
 * directory made by DeepSpeed.
 *
 * Removes parts of names added by training code (io/checkpoint/wrappers.h).
 */
#ifndef REACH_IO_CHECKPOINT_CHECKPOINT_H
#define REACH_IO_CHECKPOINT_CHECKPOINT_H

#include "io/formats/json.h"
#include "io/tensors/tensors.h"

struct checkpoint {
    struct tensors *tensors;
    struct config *config;
};

/* Opens the checkpoint at PATH, a folder or one of its files. Caller closes both parts
 * (checkpoint_close does). */
int checkpoint_open(struct checkpoint *out, const char *path, struct error *e) MUST_USE;
void checkpoint_close(struct checkpoint *c);

/* The single file to open for a folder without config.json, else NULL: its only GGUF model,
 * nanoGPT's ckpt.pt, or fairseq's checkpoint_best.pt, else checkpoint_last.pt, with dict.txt beside
 * it. Several GGUF
 * models are an error that names them. Caller frees. */
int checkpoint_in_folder(char **file, const char *path, struct error *e) MUST_USE;
/* In a folder of transformers' Trainer without a model of its own, checkpoint-N of the last step,
 * else NULL. Caller frees. */
int checkpoint_last_step(char **step, const char *folder, struct error *e) MUST_USE;
/* From now on quantised tensors count as F32 (tensors_widen), and the description no longer calls
 * them quantised. */
int checkpoint_widen(struct checkpoint *c, struct error *e) MUST_USE;

/* Converts what GGUF files store in their own way, so that the library can load the written files:
 * each expert of a layer becomes a matrix (refused if the library orders them otherwise), and
 * divisors of rotary frequencies go to the configuration, as for longrope. */
int checkpoint_to_library(struct checkpoint *c, struct error *e) MUST_USE;

/* Forms of a written checkpoint: a folder with model.safetensors and config.json, a safetensors
 * file with config.json beside it, or one HDF5 file. */
enum checkpoint_form { CHECKPOINT_FOLDER, CHECKPOINT_SAFETENSORS, CHECKPOINT_HDF };

/* The form that OUT's name asks for: .h5 or .hdf5, .safetensors, else a folder. */
enum checkpoint_form checkpoint_form(const char *out);

/* Writes the checkpoint as OUT, every tensor with its type and values, so that it reads back the
 * same. An existing file is an error unless `force`; an identical config.json is allowed. */
int checkpoint_write(struct checkpoint *c, const char *out, int force, struct error *e) MUST_USE;

/* The tensors alone. *own is the description inside the container itself, or NULL when it is in
 * config.json. Caller closes both. */
struct tensors *checkpoint_tensors(const char *path, struct config **own, struct error *e) MUST_USE;

/* The GGUF name of the architecture that is read as this model_type; "": none. */
const char *checkpoint_gguf_name(const char *model_type);

#endif
