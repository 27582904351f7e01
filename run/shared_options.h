/* What several verbs that run a model are asked for alike, within the options of each. */
#ifndef REACH_RUN_SHARED_OPTIONS_H
#define REACH_RUN_SHARED_OPTIONS_H

#include <stddef.h>

/* What a run computes on and with. */
struct machine_options {
    const char *device, *dtype;
    size_t memory; /* bytes; 0: most of what is free */
    long threads; /* 0: all */
    int keep_bf16; /* inputs of layers wait for reverse in bf16 */
    const char *scratch; /* a folder where they may wait; NULL: in memory */
};

/* Whether each segment begins with the model's beginning-of-text token: `auto` as its own tokenizer does with a text, and never
 * before token ids that are given as such. */
enum bos_choice { BOS_AUTO, BOS_ALWAYS, BOS_NEVER };

/* How texts become segments. */
struct reading_options {
    enum bos_choice bos;
    const char *boundary; /* the token between documents, by its id or its text; NULL: segments lie anywhere */
};

/* Changes of a model's position encoding. */
struct encoding_options {
    const char *bias, *bias_dtype, *rope; /* NULL: as the checkpoint says */
    int positions_none, window; /* window -1: as the checkpoint says */
    int keep_first, logn; /* keep_first 0: none */
};

#endif
