/* Options shared by several verbs that run a model. */
#ifndef REACH_RUN_SHARED_OPTIONS_H
#define REACH_RUN_SHARED_OPTIONS_H

#include "io/tokens/tokens.h"

#include <stddef.h>

/* The hardware and precision of a run. */
struct machine_options {
    const char *device, *dtype;
    size_t memory; /* bytes; 0: most of what is free */
    long threads; /* 0: all */
    int keep_bf16; /* 1: inputs of layers are kept for reverse in bf16 */
    const char *scratch; /* a folder for inputs of layers; NULL: in memory */
};

/* Whether each segment begins with the model's beginning-of-text token: `auto` means as its own
 * tokenizer does for a text, and never before ids given as such. */
enum bos_choice { BOS_AUTO, BOS_ALWAYS, BOS_NEVER };

/* How texts become segments. */
struct reading_options {
    enum bos_choice bos;
    const char *boundary; /* between documents, by its id or text; NULL: not given */
    struct records_request records; /* of --text */
    enum token_type tokens_dtype; /* of --tokens */
};

/* What is printed, and how; no job reads it. */
struct shown_options {
    int quiet, wide, json, table; /* table: which format, 0 for none */
};

/* Changes to a model's position encoding. */
struct encoding_options {
    const char *bias, *bias_dtype, *rope; /* NULL: as in the checkpoint */
    int positions_none, window; /* window -1: as in the checkpoint */
    int keep_first, logn; /* keep_first 0: none */
};

#endif
