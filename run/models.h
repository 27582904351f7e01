/* MODEL arguments: names, digests, and what people are told about a model. */
#ifndef REACH_RUN_MODELS_H
#define REACH_RUN_MODELS_H

#include "io/text_list.h"
#include "model/decoder.h"
#include "run/progress.h"
#include "run/shared_options.h"

struct model_argument {
    char name[128]; /* in outputs */
    const char *path; /* borrowed from the arguments */
};

/* Reads NAME=PATH or PATH each. A text before the first `=` is a name unless it holds a slash. The default name is the last part
 * of the path; default names that occur again get -2, -3 ... The caller frees *out. Errors are wrong usage. */
int model_arguments(struct model_argument **out, const struct text_list *texts, struct error *e) MUST_USE;

/* Opens the model and tells what people should know of how its checkpoint was read; `strict` refuses one with keys that are not
 * understood. The caller closes it. NULL on failure. */
struct decoder *model_open(const char *path, int strict, struct progress *p, struct error *e) MUST_USE;

/* XXH3-128 of the tensors' digest and the text of the config, as 32 hex digits. */
int model_digest(char digest[33], const struct decoder *d, struct error *e) MUST_USE;

/* Reads the whole checkpoint and checks it (io/verify.h); *line is what was found, with the digest, which model_digest gives; the
 * caller frees it. */
int model_verify(char **line, char digest[33], const struct decoder *d, struct error *e) MUST_USE;

/* 0, or -1 when the device or type is not here, or they do not go together. */
int run_available(const struct machine_options *o, struct error *e) MUST_USE;

/* Applies --bias, --bias-dtype, --positions none and --window to a model. */
int run_override(struct decoder *d, const struct encoding_options *o, struct error *e) MUST_USE;

#endif
