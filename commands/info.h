/* The parts of the verb `info`. */
#ifndef REACH_COMMANDS_INFO_H
#define REACH_COMMANDS_INFO_H

#include "io/tokenizer/chat.h"
#include "model/decoder.h"
#include "run/estimate.h"
#include "run/results.h"
#include "run/trf/trf.h"

#include <stdio.h>

enum info_text { INFO_TYPES, INFO_MLP, INFO_EXPERTS, INFO_BLOCKS, INFO_TEXTS };

/* What is found out. */
struct info_found {
    const struct chat *chat; /* borrowed; NULL: not asked for, else the rest is not found out */
    struct decoder *decoder; /* owned, like the following pointers but for the constants */
    const char *adapter, *dtype; /* borrowed; adapter NULL: none */
    double parameters, bytes; /* of all tensors */
    char digest[33], *verified, *windows; /* verified NULL: not asked for */
    char *text[INFO_TEXTS]; /* descriptions; may be empty */
    long length; /* of a segment */
    long segments; /* of a run; 0: not asked for */
    struct trf_run fields; /* TRF(0.01) */
    struct run_estimate estimate;
};

/* Everything, to standard output. */
int info_print(const struct info_found *x, struct error *e) MUST_USE;
void info_print_chat(const struct chat *c);

/* Each writes a description without a newline. */
void info_put_types(FILE *f, struct tensors *t); /* the types that tensors are stored as */
void info_put_mlp(FILE *f, const struct decoder *d); /* of blocks without experts; may be nothing */
void info_put_experts(FILE *f, const struct decoder *d); /* of the others */
void info_put_blocks(FILE *f, const struct decoder *d); /* other parts, the same for all blocks */

/* What --json has of a struct info_found. */
extern const struct results_file *const info_shown[];

#endif
