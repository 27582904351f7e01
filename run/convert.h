/* A checkpoint written anew: what `reach convert` does. */
#ifndef REACH_RUN_CONVERT_H
#define REACH_RUN_CONVERT_H

#include "io/error.h"

#include <stddef.h>

struct converted {
    size_t tensors;
    double bytes; /* of them */
};

/* Writes every tensor of MODEL, and its tokenizer from folder to folder, to OUT, whose name says the form; what is there is
 * overwritten only with `force`. */
int convert_run(struct converted *done, const char *model, const char *out, int force, struct error *e) MUST_USE;

#endif
