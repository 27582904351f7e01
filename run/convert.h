/* A checkpoint written anew: what `reach convert` does. */
#ifndef REACH_RUN_CONVERT_H
#define REACH_RUN_CONVERT_H

#include "run/progress.h"

struct convert_options {
    const char *model, *out, *adapter; /* arguments, borrowed; adapter NULL: none */
    int widen, force;
};

struct converted {
    size_t tensors;
    double bytes; /* of them */
};

/* Writes every tensor of MODEL, with the adapter merged onto them, and its tokenizer from folder to folder or out of a GGUF file,
 * to OUT, whose name says the form; quantised tensors as F32 with `widen`, else they are refused; what is there is overwritten
 * only with `force`. */
int convert_run(struct converted *done, const struct convert_options *o, struct progress *p, struct error *e) MUST_USE;

#endif
