/* MODEL arguments: names, digests, and what people are told about a model. */
#ifndef REACH_RUN_MODELS_H
#define REACH_RUN_MODELS_H

#include "io/text_list.h"
#include "model/decoder.h"
#include "run/progress.h"
#include "run/shared_options.h"

struct model_argument {
    char name[128]; /* in outputs */
    const char *model, *adapter; /* what names them; borrowed from the arguments; adapter NULL: none */
    char *path, *adapter_path; /* where they lie; NULL until model_arguments_find */
};

/* Reads NAME=MODEL or MODEL each. A text before the first `=` is a name unless it holds a slash. The default name is the last
 * part of MODEL, and `+` and that of ADAPTER behind it; default names that occur again get -2, -3 ... ADAPTER, or NULL, goes with
 * one model alone. Looks at no file. Freed by model_arguments_free. Errors are wrong usage. */
int model_arguments(struct model_argument **out, const struct text_list *texts, const char *adapter, struct error *e) MUST_USE;
/* Finds all of them (model_find). */
int model_arguments_find(struct model_argument *models, int count, struct progress *p, struct error *e) MUST_USE;
void model_arguments_free(struct model_argument *models, int count);

/* Where a model lies: MODEL if that exists, else the snapshot of ORG/NAME[@REVISION] in the local cache (io/checkpoint/hub.h),
 * which is told; hf: before a name asks for the cache. A folder that stands for a file in it (checkpoint_in_folder) becomes that.
 * NULL on failure; caller frees. */
char *model_find(const char *model, struct progress *p, struct error *e) MUST_USE;
/* The same of a folder, as that of an adapter, in which no file stands for it. */
char *folder_find(const char *folder, struct progress *p, struct error *e) MUST_USE;

/* Opens the model, with an adapter merged onto it unless that is NULL, and tells what people should know of how its checkpoint
 * was read; `strict` refuses one with keys that are not understood. The caller closes it. NULL on failure. */
struct decoder *model_open(const char *path, const char *adapter, int strict, struct progress *p, struct error *e) MUST_USE;

/* XXH3-128 of the tensors' digest and the text of the config, and of that of the adapter, as 32 hex digits. */
int model_digest(char digest[33], const struct decoder *d, struct error *e) MUST_USE;

/* Reads the whole checkpoint and checks it (io/checkpoint/verify.h); *line is what was found, with the digest, which model_digest
 * gives; the caller frees it. */
int model_verify(char **line, char digest[33], const struct decoder *d, struct error *e) MUST_USE;

/* 0, or -1 when the device or type is not here, or they do not go together. */
int run_available(const struct machine_options *o, struct error *e) MUST_USE;

/* Gives the model the length of --train-length (0: not given) where it says none itself. 1 if that is its length now, or none was
 * given. A run of which no model takes the option refuses it. */
int model_take_length(struct decoder *d, long train_length) MUST_USE;
int models_refuse_length(struct error *e);
/* Applies a run's own position encoding to a model, whose training length --logn asks for. */
int run_override(struct decoder *d, const struct encoding_options *o, struct error *e) MUST_USE;

/* Says so where a run reads more inputs than the model's configuration has positions for: its encoding allows it, or the model
 * is refused elsewhere. */
void model_tell_length(const struct decoder *d, size_t inputs, struct progress *p);

#endif
