/* Writing a converted checkpoint: the work of `reach convert`. */
#ifndef REACH_RUN_CONVERT_H
#define REACH_RUN_CONVERT_H

#include "io/text_list.h"
#include "run/progress.h"
#include "run/shared_options.h"

struct convert_options {
    const char *model, *out; /* arguments, borrowed */
    struct text_list adapters; /* DIR or DIR=FACTOR */
    int widen, force;
    struct shown_options shown;
};

struct converted {
    size_t tensors;
    double bytes; /* of them */
};

/* Writes MODEL to OUT: every tensor, with the adapter merged, and the tokenizer, copied from the
 * folder or taken from the GGUF file. OUT's name determines the form. Quantised tensors are written
 * as F32 with `widen`, else refused. Existing files are overwritten only with `force`. */
int convert_run(struct converted *done, const struct convert_options *o, struct progress *p,
                struct error *e) MUST_USE;

#endif
