/* MODEL arguments: names, digests, and notes about a model for people. */
#ifndef REACH_RUN_MODELS_H
#define REACH_RUN_MODELS_H

#include "io/text_list.h"
#include "model/decoder.h"
#include "run/progress.h"
#include "run/shared_options.h"

struct model_argument {
    char name[128]; /* in outputs */
    const char
        *model; /* as given; borrowed from the arguments, and so are adapters, DIR or DIR=N */
    const struct text_list *adapters;
    char *path, *adapter_path; /* their paths, of adapters as a text; NULL until found, or none */
    struct adapter_list adapted; /* as found */
};

/* Reads arguments of the form NAME=MODEL or MODEL. A text before the first `=` is a name unless it
 * contains a slash. The default name is the last part of MODEL, followed by `+` and the last part
 * of each adapter; repeated default names get -2, -3 ... Adapters are allowed with only one model.
 * Accesses no file. Freed by model_arguments_free. Errors are wrong usage. */
int model_arguments(struct model_argument **out, const struct text_list *texts,
                    const struct text_list *adapters, struct error *e) MUST_USE;
/* Finds all of them (model_find). */
int model_arguments_find(struct model_argument *models, int count, struct progress *p,
                         struct error *e) MUST_USE;
void model_arguments_free(struct model_argument *models, int count);

/* The path of a model: MODEL if that exists, else the snapshot of ORG/NAME[@REVISION] in the local
 * cache (io/checkpoint/hub.h), which is reported to `p`; hf: before a name requests the cache. For
 * a folder in place of a single file (checkpoint_in_folder) the path of that file, for one of
 * several steps of training (checkpoint_last_step) that of the last, which is reported too. NULL on
 * failure; caller frees. */
char *model_find(const char *model, struct progress *p, struct error *e) MUST_USE;
/* The same for a folder such as an adapter's, never replaced by a file in it. */
char *folder_find(const char *folder, struct progress *p, struct error *e) MUST_USE;
/* The same for each of DIR or DIR=FACTOR. The caller frees the list, also after a failure. */
int adapters_find(struct adapter_list *out, const struct text_list *adapters, struct progress *p,
                  struct error *e) MUST_USE;

/* Opens the model, with adapters merged onto it unless that is NULL, and reports notes about
 * reading its checkpoint; `strict` refuses a checkpoint with unknown keys. The caller closes it.
 * NULL on failure. */
struct decoder *model_open(const char *path, const struct adapter_list *adapters, int strict,
                           struct progress *p, struct error *e) MUST_USE;
/* The same with an open one, or NULL. */
struct decoder *model_told(struct decoder *d, int strict, struct progress *p,
                           struct error *e) MUST_USE;

/* 1 if MODEL is described without its weights: a path to a config.json, or shape:NAME=NUMBER,... */
int model_is_described(const char *model);
/* Opens that (decoder_suppose). `shape:` takes layers, hidden, heads, and if given kv_heads
 * (default heads), head_size (hidden / heads), mlp (4 hidden), vocabulary (32000), positions, tied
 * (0 or 1) and dtype (f32, f16, bf16), for a model with rotary positions and a gated MLP, as Llama.
 */
struct decoder *model_describe(const char *model, struct error *e) MUST_USE;

/* XXH3-128 of the tensors' digest and the model's and adapter's configs, as 32 hex digits. */
int model_digest(char digest[33], const struct decoder *d, struct error *e) MUST_USE;

/* Reads and checks the whole checkpoint (io/checkpoint/verify.h); *line is what was found and the
 * digest (model_digest); caller frees it. */
int model_verify(char **line, char digest[33], const struct decoder *d, struct error *e) MUST_USE;

/* Fails if the device or type is not available, or they do not go together. */
int run_available(const struct machine_options *o, struct error *e) MUST_USE;

/* Gives the model the length of --train-length (0: not given) if it states none itself. 1 if the
 * model now has that length, or none was given. A run in which no model takes the option refuses
 * it. */
int model_take_length(struct decoder *d, long train_length) MUST_USE;
int models_refuse_length(struct error *e);
/* Applies a run's own position encoding to a model; --logn needs the model's training length. */
int run_override(struct decoder *d, const struct encoding_options *o, struct error *e) MUST_USE;

/* Reports if a run reads more inputs than the configuration has positions for, which its encoding
 * allows (otherwise the model is refused elsewhere). */
void model_tell_length(const struct decoder *d, size_t inputs, struct progress *p);

#endif
